"""Distributions of transformed responses: Jacobians, quantiles and draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.distributions.transformations import TRANSFORMATIONS
from bayesvb.distributions.transformed import Transformed, TransformedMixture
from bayesvb.errors import DataError

WEIGHTS = np.array([[0.4, 0.9], [0.6, 0.1]])
LOCATION = np.array([[-1.0, 0.2], [0.7, 0.4]])
SCALE = np.array([[0.3, 0.5], [0.6, 0.2]])
Q = np.array([0.0, 0.05, 0.5, 0.95, 1.0])


@pytest.fixture(params=TRANSFORMATIONS)
def change(request):
    return TRANSFORMATIONS[request.param]


@pytest.fixture
def rows(change):
    return Transformed(StudentMixture(WEIGHTS, LOCATION, SCALE, np.array([6.0, 9.0])), change)


@pytest.fixture
def drawn(change):
    return TransformedMixture(NormalMixture(WEIGHTS, LOCATION, SCALE), change)


def test_the_density_integrates_to_the_distribution_function(rows, change):
    ends = change.apply(np.array([-2.0, 1.5]))
    for row in range(2):
        mass = integrate.quad(lambda z, row=row: rows.density_at(np.array([z]))[0, row], *ends,
                              points=change.apply(LOCATION[:, row]), epsabs=1e-11)[0]  # fmt: skip
        assert_allclose(mass, np.diff(rows.cdf_at(ends)[:, row])[0], rtol=1e-8)


def test_densities_by_row_are_those_at_points(rows, change):
    points = change.apply(np.array([0.1, 0.9]))
    assert_allclose(np.exp(rows.log_density(points)), np.diag(rows.density_at(points)))
    assert_allclose(rows.cdf(points), np.diag(rows.cdf_at(points)))


def test_nothing_lies_beyond_the_range(rows, drawn):
    beyond = np.array([-2.0, -1.5])
    assert (rows.log_density(beyond) == -np.inf).all() and (rows.density_at(beyond) == 0.0).all()
    assert (rows.cdf(beyond) == 0.0).all()
    assert (drawn.density(-2.0) == 0.0).all() and (drawn.above(-2.0) == 1.0).all()


def test_quantiles_and_draws_are_transformed(rows, change):
    assert_allclose(rows.quantile(Q), change.apply(rows.plain.quantile(Q)))
    inner = rows.quantile(Q)[1:4]
    assert_allclose([rows.cdf(each) for each in inner], np.tile(Q[1:4, None], 2), rtol=1e-8)
    same = [one.draws(3, np.random.default_rng(1)) for one in (rows, rows.plain)]
    assert_allclose(same[0], change.apply(same[1]))


def test_a_missing_value_stays_missing(rows):
    assert np.isnan(rows.log_density(np.array([np.nan, 0.5]))).tolist() == [True, False]


def test_averages_over_parameters_are_refused(rows):
    for moment in (rows.mean, rows.sd):
        with pytest.raises(DataError, match="quantile"):
            moment()


def test_every_draw_has_the_moments_and_probabilities_of_simulated_values(drawn, change):
    rng = np.random.default_rng(1)
    label = (rng.random((400_000, 2)) > WEIGHTS[0]).astype(int)
    at = np.arange(2)
    z = change.apply(LOCATION[label, at] + SCALE[label, at] * rng.normal(size=label.shape))
    error = z.std(axis=0) / np.sqrt(len(z))
    assert (np.abs(z.mean(axis=0) - drawn.mean()) < 4.0 * error).all()
    assert_allclose(z.std(axis=0), drawn.sd(), rtol=0.05)
    value = float(np.median(z))
    assert_allclose((z > value).mean(axis=0), drawn.above(value), atol=0.004)
    assert_allclose(drawn.below(value) + drawn.above(value), 1.0)
    assert_allclose(np.quantile(z, 0.9, axis=0), drawn.quantile(0.9), rtol=0.02)
    step = 1e-5 * value
    slope = (drawn.below(value + step) - drawn.below(value - step)) / (2.0 * step)
    assert_allclose(drawn.density(value), slope, rtol=1e-5)
