"""Mixtures of continuous laws of a predictor: moments, quantiles, draws and members agree."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import gamma, kstest

from bayesvb.distributions.gamma_mixture import DrawnGammaMixture, GammaMixture
from bayesvb.errors import DataError

Q = np.array([0.05, 0.5, 0.99])


def mixture(variance=0.3, further=0.2, n_rows=2):
    """Two components, two of three parts of the weight with the first."""
    ones = np.ones((2, n_rows))
    weights = np.array([[2.0], [1.0]]) / 3.0 * ones
    predictor = np.array([[0.0, 1.0], [2.0, 0.5]])[:, :n_rows]
    return GammaMixture(
        weights, predictor, variance * ones, np.log([[3.0], [1.5]]) * ones, further * ones
    )


def exact(y, row):
    """Densities of known parameters, by SciPy."""
    y = np.asarray(y)
    each = [
        share * gamma.pdf(y, shape, scale=np.exp(predictor) / shape)
        for share, shape, predictor in zip((2 / 3, 1 / 3), (3.0, 1.5), row, strict=True)
    ]
    return np.sum(each, axis=0)


def test_without_variance_it_is_the_mixture_of_gammas():
    known, at = mixture(0.0, 0.0), np.array([0.2, 3.0, -1.0, 0.0])
    expected = np.stack([exact(at, (0.0, 2.0)), exact(at, (1.0, 0.5))], axis=1)
    assert_allclose(known.density_at(at)[:2], expected[:2], rtol=1e-9)
    assert (known.density_at(at)[2:] == 0.0).all()
    weights, predictor = known.weights[:, None], known.predictor[:, None]
    drawn = DrawnGammaMixture(weights, predictor, np.exp(known.log_further)[:, None])
    assert_allclose(drawn.mean()[0], known.mean())
    assert_allclose(drawn.sd()[0], known.sd())
    assert_allclose(drawn.quantile(0.3)[0], known.quantile(np.array([0.3]))[0], rtol=1e-8)
    assert_allclose(drawn.below(1.0)[0], known.cdf(np.ones(2)))
    assert_allclose(drawn.above(1.0) + drawn.below(1.0), 1.0)
    assert_allclose(drawn.density(1.0)[0], known.density_at(np.ones(1))[0])


def test_moments_and_quantiles_are_those_of_draws(rng):
    law = mixture()
    draws = law.draws(20_000, rng)
    assert (np.abs(draws.mean(axis=0) - law.mean()) < 4.0 * law.sd() / 20_000**0.5).all()
    for row in range(2):
        one = GammaMixture(
            *(np.repeat(v[:, row : row + 1], 200, axis=1) for v in vars(law).values())
        )
        assert kstest(one.cdf(draws[:200, row]), "uniform").pvalue > 0.01
    found = law.quantile(Q)
    assert_allclose([law.cdf(one) for one in found], np.repeat(Q[:, None], 2, axis=1), rtol=1e-8)
    assert_allclose(law.quantile(np.array([0.0, 1.0])), [[0.0, 0.0], [np.inf, np.inf]])
    logs = np.linspace(-14.0, 5.0, 101)
    density = law.density_at(np.exp(logs))[:, 0] * np.exp(logs)
    assert np.trapezoid(density, logs) == pytest.approx(
        law.cdf_at(np.exp(logs[-1:]))[0, 0], abs=1e-4
    )


def test_stacks_labels_and_units():
    law = mixture()
    stacked = law.stacked([law], np.array([0.3, 0.7]))
    assert_allclose(stacked.mean(), law.mean())
    assert_allclose(stacked.by_label(2).weights, law.weights)
    assert law.joined([law]).mean().shape == (4,)
    assert law.affine(0.0, 1.0) is law
    with pytest.raises(DataError, match="positive numbers cannot be shifted by 1"):
        law.affine(1.0, 1.0)
