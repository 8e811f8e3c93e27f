"""What all tests share: the import path, a random generator, a quiet plotting backend."""

import functools
import gc
import importlib.util
import inspect
import os
import shutil
import sys
from collections import Counter
from collections.abc import Callable, Hashable, Iterator
from pathlib import Path
from typing import Any

import jaxtyping
import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result
from hypothesis import settings

ROOT = Path(__file__).resolve().parents[1]

# `python -m pytest` puts the checkout on the path. Its folders `reports` and `datasets` would then
# be importable under names they do not have, and after a plain install hide `bayesvb.reports`.
sys.path[:] = [entry for entry in sys.path if Path(entry or ".").resolve() != ROOT]

os.environ.setdefault("MPLBACKEND", "Agg")

# Texts are compared whole: they are as wide as the terminal, of which workers keep the width.
os.environ.pop("COLUMNS", None)

# NumPy defines the numbers, to the bit. Tests of the compiled core turn it on; `.ci/run` repeats
# others with it.
os.environ.setdefault("BAYESVB_COMPILED", "0")

# Times per example say nothing on a shared machine. In CI the examples are the same each time.
settings.register_profile("local", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "local")

CALLS: Counter[Hashable] = Counter()
"""Calls of each function in the present test, where annotations are checked."""
ALWAYS_CHECKED = 8


def is_traced() -> bool:
    """Whether JAX is tracing a function."""
    core = sys.modules.get("jax._src.core")  # JAX has no public name for it
    return core is not None and not core.trace_state_clean()


def checked_sparsely(
    fn: Callable[..., Any], checked: Callable[..., Any], *, by_caller: bool = False
) -> Callable[..., Any]:
    """Function whose calls 1 to 8, 16, 32, 64, ... in a test are checked, if asked of each caller.

    Many functions construct an object of the same class, each from arrays of its own.
    """

    @functools.wraps(fn)
    def call(*args: Any, **kwargs: Any) -> Any:
        key = (fn, sys._getframe(1).f_code) if by_caller else fn
        CALLS[key] = number = CALLS[key] + 1
        is_checked = number <= ALWAYS_CHECKED or not number & (number - 1)
        return (checked if is_checked and not is_traced() else fn)(*args, **kwargs)

    return call


def sparsely(jaxtyped: Callable[..., Any]) -> Callable[..., Any]:
    """Decorator of jaxtyping that checks the calls 1 to 8, 16, 32, 64, ... of a test.

    An optimisation run calls the same few functions thousands of times with the same shapes. To
    check every call takes 3.4 times the time of the tests; to check these takes 1.9 times.
    """

    def decorator(*, typechecker: Any) -> Callable[..., Any]:
        def wrapped(fn: Any) -> Any:
            if not inspect.isclass(fn):
                return checked_sparsely(fn, jaxtyped(fn, typechecker=typechecker))
            plain = fn.__init__
            if getattr(plain, "__globals__", None) is globals():
                return fn  # jaxtyping knows constructors that are wrapped by its own module only
            checked = jaxtyped(fn, typechecker=typechecker)
            if checked.__init__ is not plain:
                checked.__init__ = checked_sparsely(plain, checked.__init__, by_caller=True)
            return checked

        return wrapped

    return decorator


# Before anything of ours is imported. The option `--jaxtyping-packages` puts it on all functions.
jaxtyping.jaxtyped = sparsely(jaxtyping.jaxtyped)  # type: ignore[assignment]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup() -> None:
    CALLS.clear()


@pytest.hookimpl(wrapper=True)
def pytest_collection(session: pytest.Session) -> Iterator[None]:
    """What is collected stays to the end: the garbage collector need not look for it."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


def is_quick(item: pytest.Item) -> bool:
    """Whether the parameters of a test have the values that its marks call quick."""
    params = item.callspec.params if hasattr(item, "callspec") else {}
    marked = [pair for mark in item.iter_markers("quick") for pair in mark.kwargs.items()]
    return all(params[name] in values for name, values in marked if name in params)


def check_that_some_are_quick(items: list[pytest.Item]) -> None:
    """Raise if a ``quick`` mark names values that no example has: a gate renamed, say."""
    quick: dict[str, bool] = {}
    for item in items:
        if any(item.iter_markers("quick")) and not item.get_closest_marker("heavy"):
            name = item.nodeid.split("[")[0]
            quick[name] = quick.get(name, False) or is_quick(item)
    none = [name for name, some in quick.items() if not some]
    if none:
        raise pytest.UsageError(f"no parameter has a value of the mark `quick`: {', '.join(none)}")


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """More examples of a claim are heavy.

    Tests of engines that differentiate by JAX, and of the page of the workbench, are skipped where
    the extra is not installed.
    """
    if os.environ.get("CI"):  # whole files are collected there
        check_that_some_are_quick(items)
    for item in items:
        if not is_quick(item):
            item.add_marker(pytest.mark.heavy)
    if importlib.util.find_spec("numpyro") is None:
        for item in items:
            if item.get_closest_marker("mcmc"):
                item.add_marker(pytest.mark.skip('needs pip install "bayesvb[mcmc]"'))
    packages = all(map(importlib.util.find_spec, ("shiny", "playwright", "axe_core_python")))
    if not (packages and shutil.which("chromium")):
        reason = 'needs chromium, and pip install "bayesvb[workbench]" playwright axe-core-python'
        for item in items:
            if item.get_closest_marker("browser"):
                item.add_marker(pytest.mark.skip(reason))


@pytest.fixture(autouse=True)
def no_open_figures() -> Iterator[None]:
    """Figures that a test leaves open are closed after it."""
    yield
    if "matplotlib.pyplot" in sys.modules:
        sys.modules["matplotlib.pyplot"].close("all")


@pytest.fixture
def x64() -> Iterator[None]:
    """Double precision in JAX during a test."""
    from bayesvb.engines.differentiated import double_precision

    with double_precision():
        yield


@pytest.fixture(scope="session")
def root() -> Path:
    return ROOT


@pytest.fixture
def command() -> Callable[..., Result]:
    """Runs ``bayesvb`` with these words. Click 8.1 joins errors to output unless told not to."""
    from bayesvb.cli.main import main

    apart = "mix_stderr" in inspect.signature(CliRunner).parameters
    runner = CliRunner(mix_stderr=False) if apart else CliRunner()
    return lambda *words, **more: runner.invoke(main, [str(word) for word in words], **more)


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(20260711)


@pytest.fixture(scope="session")
def regimes() -> pd.DataFrame:
    """Two straight lines with noise; which one a row follows depends on ``x``, not on ``z``."""
    rng = np.random.default_rng(20260712)
    x, z = rng.uniform(-2.0, 2.0, 150), rng.normal(size=150)
    first = rng.uniform(size=150) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 4.0 + 2.0 * x, -3.0 - x + 0.5 * z) + 0.4 * rng.normal(size=150)
    return pd.DataFrame({"y": y, "x": x, "z": z})


@pytest.fixture(scope="session")
def regimes_fit(regimes):
    """Fit of the two lines with two experts."""
    from bayesvb import DensityRegression

    model = DensityRegression("y ~ x + z | gating(x)", regimes, n_components=2)
    return model.fit(seed=1, restarts=2, draws=200)


@pytest.fixture(scope="session")
def class_fit():
    """Network for three classes that overlap, two covariates, two restarts of equal weights."""
    import bayesvb as bvb

    frame = bvb.datasets.load("iris").iloc[::2][["sepal_length", "petal_width", "label"]]
    model = bvb.ConditionalMixtureNetwork("label ~ .", frame, n_experts=2)
    return model.fit(seed=1, restarts=2, draws=60, combine="average")


@pytest.fixture
def unchecked(request):
    """Values of the wrong type, which checked annotations refuse before we can."""
    if request.config.getoption("--jaxtyping-packages", None):
        pytest.skip("annotations are checked")
