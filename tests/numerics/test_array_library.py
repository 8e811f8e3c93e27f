"""The library of an array, and what is computed by either."""

import sys
from types import ModuleType, SimpleNamespace

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose

from bayesvb.numerics.array_library import namespace, special


def test_arrays_and_numbers_are_those_of_numpy():
    assert namespace(np.ones(2)) is namespace(np.float64(1.0)) is namespace(1.0) is np
    assert special(np.ones(2)) is scipy.special


def test_another_library_is_asked_of_its_array():
    other = ModuleType("other")
    array = SimpleNamespace(__array_namespace__=lambda: other)
    assert namespace(array) is other


def test_numbers_of_numpy_do_not_import_jax():
    before = set(sys.modules)
    special(np.zeros(2))
    assert not {name for name in set(sys.modules) - before if name.startswith("jax")}


@pytest.mark.mcmc
def test_functions_of_jax_have_the_values_of_numpys(x64):
    import jax.numpy as jnp

    given = jnp.arange(1.0, 5.0)
    assert namespace(given) is jnp
    assert_allclose(special(given).gammaln(given), np.log([1, 1, 2, 6]), atol=1e-14)
