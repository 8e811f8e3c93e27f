"""Criteria of rows that were really left out: what they say, of all rows and of some."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.results.class_evaluation import held_out_classes
from bayesvb.results.criteria import left_out


@pytest.fixture(scope="module")
def one(class_fit):
    """The heaviest restart alone."""
    return class_fit.parts[0].fit


def test_the_effective_number_of_parameters_is_what_seeing_the_rows_gains(one):
    found = left_out(one)
    seen = one.log_density(one.model.design.frame).to_numpy()
    assert found.p == pytest.approx((seen - found.pointwise).sum(), rel=1e-6)
    assert found.p > 1.0


def test_densities_left_out_are_the_probabilities_left_out_of_the_observed_classes(one):
    found = left_out(replace(one, held_out=None))
    classes = held_out_classes(one)
    at = np.arange(len(classes.codes))
    assert_allclose(np.exp(found.pointwise), classes.probabilities[at, classes.codes], rtol=1e-6)
    weighed = left_out(one)  # before the restarts that count went on: nearly the same
    assert_allclose(np.exp(weighed.pointwise), np.exp(found.pointwise), rtol=0.05)
    assert weighed.elpd == pytest.approx(found.elpd, abs=0.2)
    assert not found.warning and found.pareto_k is None


def test_some_rows_have_the_densities_that_they_have_among_all(one):
    at = np.array([3, 10, 11, 40])
    whole, some = left_out(one), left_out(one, at)
    assert_allclose(some.pointwise, whole.pointwise[at], rtol=1e-12)
    assert list(some.labels) == list(one.model.design.index[at])
    assert some.p < whole.p
