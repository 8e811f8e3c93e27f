"""Draws that have a robust covariance, and their density."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.stats import multivariate_normal, multivariate_t

from bayesvb.sensitivity.robust import RobustCovariance
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.model import AbstractVariationalModel

COVARIANCE = np.array([[2.0, 0.5], [0.5, 1.0]])


class Plain(AbstractCoordinates):
    """Parameters that are standard normal already."""

    def expectations(self):
        return np.zeros(2)

    def perturbations(self):
        return np.eye(2)

    def standard(self, draws):
        return draws["z"]

    def parameters(self, standard):
        return {"z": standard}

    def log_volume(self, draws):
        return np.zeros(len(draws["z"]))


class PlainModel(AbstractVariationalModel):
    """A model with such a posterior, and no other methods."""

    def coordinates(self, posterior):
        return Plain()

    def log_posterior(self, posterior, draws):
        return multivariate_normal(np.zeros(2)).logpdf(draws["z"])


PlainModel.__abstractmethods__ = frozenset()


def moved(n_clusters, n_draws=40_000):
    rng = np.random.default_rng(1)
    draws = {"z": rng.standard_normal((n_draws, 2))}
    robust = RobustCovariance(COVARIANCE, n_clusters, True)
    found, log_q = robust.move(PlainModel(), None, draws, rng)
    return robust, found["z"], log_q


@pytest.mark.parametrize("n_clusters", [6.0, 21.0])
def test_draws_are_multivariate_t(n_clusters):
    robust, draws, log_q = moved(n_clusters)
    law = multivariate_t(np.zeros(2), COVARIANCE, df=n_clusters - 1.0)
    assert robust.dof == n_clusters - 1.0
    compared = law.rvs(40_000, random_state=2)
    assert_allclose(np.quantile(draws, [0.05, 0.5, 0.95], axis=0),
                    np.quantile(compared, [0.05, 0.5, 0.95], axis=0), atol=0.05)  # fmt: skip
    near = (draws**2).sum(axis=1) < 9.0
    assert_allclose(log_q[near], law.logpdf(draws[near]), atol=0.02)


def test_with_many_clusters_they_are_normal_and_the_density_exact():
    _, draws, log_q = moved(1e4)
    assert_allclose(np.cov(draws.T), COVARIANCE, atol=0.05)
    assert_allclose(log_q, multivariate_normal(np.zeros(2), COVARIANCE).logpdf(draws))


def test_a_covariance_without_volume_has_draws():
    flat = RobustCovariance(np.diag([1.0, 0.0]), 30.0, False)
    draws = {"z": np.random.default_rng(1).standard_normal((100, 2))}
    found, log_q = flat.move(PlainModel(), None, draws, np.random.default_rng(2))
    assert np.isfinite(log_q).all()
    assert np.abs(found["z"][:, 1]).max() < 1e-3
    assert flat.words == "30 rows, each a cluster of its own"
    assert flat.described() == {"n_clusters": 30.0, "clustered": False}
