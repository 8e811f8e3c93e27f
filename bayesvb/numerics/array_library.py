"""The library of an array: code for NumPy also runs, and is differentiated, in JAX.

Code that is to run in both takes its functions from ``namespace(x)`` and ``special(x)``, writes no
entry of an array in place, and makes no NumPy array of one that it is given. Operators such as
``+=`` are fine: an array of JAX is then replaced by a new one. Annotations name NumPy's arrays.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType
from typing import Any

import numpy as np
import scipy.special

AnyArray = Any
"""An array of NumPy or of JAX, or a tree of JAX's: naming JAX's types would import it."""

ArrayFunction = Callable[..., AnyArray]
"""A function that JAX traces or has compiled."""


def namespace(array: AnyArray) -> ModuleType:
    """Functions of the array's library: ``numpy`` or ``jax.numpy``.

    References
    ----------
    Python array API standard, https://data-apis.org/array-api/latest, ``__array_namespace__``.

    Examples
    --------
    >>> namespace(np.ones(2)) is np
    True
    """
    lookup = getattr(array, "__array_namespace__", None)
    library: ModuleType = np if lookup is None else lookup()
    return library


def special(array: AnyArray) -> ModuleType:
    """Special functions of the array's library: ``scipy.special`` or ``jax.scipy.special``.

    Examples
    --------
    >>> float(special(np.ones(2)).gammaln(3.0))
    0.6931471805599453
    """
    functions: ModuleType = scipy.special
    if namespace(array) is not np:
        import jax.scipy.special

        functions = jax.scipy.special
    return functions
