"""The library of an array, and what is computed by either."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.special
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.numerics.array_library import log_expit, namespace, special


def test_arrays_and_numbers_are_those_of_numpy():
    assert namespace(np.ones(2)) is namespace(np.float64(1.0)) is namespace(1.0) is np
    assert special(np.ones(2)) is scipy.special


def test_another_library_is_asked_of_its_array():
    other = SimpleNamespace(name="other")
    array = SimpleNamespace(__array_namespace__=lambda: other)
    assert namespace(array) is other


def test_jax_is_imported_for_its_own_arrays_only():
    before = set(sys.modules)
    log_expit(np.zeros(2))
    assert not {name for name in set(sys.modules) - before if name.startswith("jax")}


def test_log_expit_keeps_its_digits_at_both_ends():
    logit = np.array([-800.0, -1.0, 0.0, 40.0])
    assert_array_equal(log_expit(logit), scipy.special.log_expit(logit))


@pytest.mark.mcmc
def test_functions_of_jax_have_the_values_of_numpys(x64):
    import jax.numpy as jnp

    logit = np.array([-800.0, -1.0, 0.0, 40.0])
    found = log_expit(jnp.asarray(logit))
    assert namespace(found) is jnp
    assert_allclose(found, log_expit(logit), rtol=1e-14)
    assert_allclose(special(found).gammaln(jnp.arange(1.0, 5.0)), np.log([1, 1, 2, 6]), atol=1e-14)
