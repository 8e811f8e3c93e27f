"""Versions of everything that a result may depend on."""

from __future__ import annotations

import platform
from importlib.metadata import PackageNotFoundError, version

from bayesvb.numerics.compiled import describe_core

PACKAGES = ("bayesvb", "numpy", "scipy", "pandas", "xarray", "formulaic", "arviz", "matplotlib")


def show_versions() -> None:
    """Print the versions of the package and of its dependencies, for a report of an error.

    The last line says whether the compiled core runs. It makes fits of a few thousand rows two to
    six times as fast; without it, results are the same up to rounding.

    Examples
    --------
    >>> show_versions()  # doctest: +ELLIPSIS
    bayesvb: ...
    compiled core: ...
    """
    for name in PACKAGES:
        try:
            versions = version(name)
        except PackageNotFoundError:
            versions = "not installed"
        print(f"{name}: {versions}")
    print(f"python: {platform.python_version()}, {platform.platform()}")
    print(f"compiled core: {describe_core()}")
