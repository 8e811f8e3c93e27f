"""Every factor against scipy, Monte Carlo and dense algebra of its own."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose

from bayesvb.factors import (
    FACTORS,
    Dirichlet,
    FactorisedNormalGamma,
    Gamma,
    MatrixNormalGamma,
    Normal,
    NormalGamma,
    NormalWishart,
)
from bayesvb.factors.normal_gamma import ScalarGamma
from bayesvb.numerics.linalg import pack

N_DRAWS = 40_000


def spd(rng, n_terms, *batch):
    root = rng.normal(size=(*batch, n_terms, n_terms + 3))
    return root @ np.swapaxes(root, -1, -2) / n_terms + 0.2 * np.eye(n_terms)


@dataclass(frozen=True)
class NormalCase:
    """Three vectors of two terms; the prior shares one precision."""

    def prior(self, rng):
        return Normal.from_precision(rng.normal(size=(3, 2)), spd(rng, 2))

    def posterior(self, rng):
        return Normal.from_precision(rng.normal(size=(3, 2)), spd(rng, 2, 3))

    def draws(self, factor, n, rng):
        return (factor.draws(n, rng),)

    def log_density(self, factor, draws):
        return factor.log_density(*draws).sum(axis=-1)

    def by_scipy(self, factor, draws):
        covariances = np.broadcast_to(np.linalg.inv(factor.precision), (3, 2, 2))
        laws = [
            scipy.stats.multivariate_normal(*law)
            for law in zip(factor.mean, covariances, strict=True)
        ]
        return sum(law.logpdf(draws[0][:, k]) for k, law in enumerate(laws))

    def moments(self, factor, draws):
        """Functions of draws whose means are known, with those means."""
        (value,) = draws
        second = factor.covariance + factor.mean[:, :, None] * factor.mean[:, None, :]
        return [(value, factor.mean), (value[..., :, None] * value[..., None, :], second)]


@dataclass(frozen=True)
class GammaCase:
    """Three experts, two responses."""

    def prior(self, rng):
        return Gamma(np.full(2, 1.5), rng.uniform(0.5, 2.0, size=2))

    def posterior(self, rng):
        return Gamma(*rng.uniform(1.0, 6.0, size=(2, 3, 2)))

    def draws(self, factor, n, rng):
        return (factor.draws(n, rng),)

    def log_density(self, factor, draws):
        return factor.log_density(*draws).sum(axis=(1, 2))

    def by_scipy(self, factor, draws):
        law = scipy.stats.gamma(factor.shape, scale=1.0 / factor.rate)
        return law.logpdf(draws[0]).sum(axis=(1, 2))

    def moments(self, factor, draws):
        return [(draws[0], factor.mean), (np.log(draws[0]), factor.expected_log)]


@dataclass(frozen=True)
class MatrixNormalGammaCase:
    """Two experts, two responses, three terms."""

    def prior(self, rng):
        mean, precision = rng.normal(size=(2, 3)), spd(rng, 3)
        return MatrixNormalGamma.prior(mean, precision, 2.5, rng.uniform(0.5, 2.0, size=2))

    def posterior(self, rng):
        x, y = rng.normal(size=(3, 9)), rng.normal(size=(2, 2, 9))
        xx = pack(np.broadcast_to(x @ x.T, (2, 3, 3)))
        return self.prior(rng).posterior(np.full(2, 9.0), xx, y @ x.T, (y**2).sum(axis=2))

    def draws(self, factor, n, rng):
        return factor.draws(n, rng)

    def log_density(self, factor, draws):
        return factor.log_density(*draws).sum(axis=(-2, -1))

    def by_scipy(self, factor, draws):
        coefficients, precision = draws
        total = np.zeros(len(precision))
        covariance = np.linalg.inv(np.broadcast_to(factor.precision, (2, 3, 3)))
        mean = np.broadcast_to(factor.mean, (2, 2, 3))
        shape, rate = np.broadcast_to(factor.shape, 2), np.broadcast_to(factor.rate, (2, 2))
        for k, i in np.ndindex(2, 2):
            tau = precision[:, k, i]
            scaled = (coefficients[:, k, i] - mean[k, i]) * np.sqrt(tau)[:, None]
            total += scipy.stats.multivariate_normal(np.zeros(3), covariance[k]).logpdf(scaled)
            total += 1.5 * np.log(tau) + scipy.stats.gamma(shape[k], scale=1.0 / rate[k, i]).logpdf(
                tau
            )
        return total

    def moments(self, factor, draws):
        coefficients, precision = draws
        shift = (coefficients - factor.mean) * np.sqrt(precision)[..., None]
        covariance = np.broadcast_to(factor.covariance[:, None], (2, 2, 3, 3))
        return [
            (coefficients, factor.mean),
            (shift[..., :, None] * shift[..., None, :], covariance),
            (precision, factor.expected_precision),
            (np.log(precision), factor.expected_log_precision),
        ]


@dataclass(frozen=True)
class NormalWishartCase:
    """Two experts, three variables."""

    def prior(self, rng):
        return NormalWishart.prior(rng.normal(size=3), 0.7, 4.5, spd(rng, 3))

    def posterior(self, rng):
        x = rng.normal(size=(2, 12, 3))
        xx = np.swapaxes(x, 1, 2) @ x
        return self.prior(rng).posterior(np.full(2, 12.0), x.sum(axis=1), xx)

    def draws(self, factor, n, rng):
        return factor.draws(n, rng)

    def log_density(self, factor, draws):
        return factor.log_density(*draws).sum(axis=-1)

    def by_scipy(self, factor, draws):
        means, precisions = draws
        total = np.zeros(len(means))
        mean = np.broadcast_to(factor.mean, (2, 3))
        beta, dof = (np.broadcast_to(v, 2) for v in (factor.mean_precision, factor.dof))
        scatter = np.broadcast_to(factor.scatter, (2, 3, 3))
        for d, k in np.ndindex(len(means), 2):
            spread = np.linalg.inv(beta[k] * precisions[d, k])
            total[d] += scipy.stats.multivariate_normal(mean[k], spread).logpdf(means[d, k])
            total[d] += scipy.stats.wishart(dof[k], np.linalg.inv(scatter[k])).logpdf(
                precisions[d, k]
            )
        return total

    def moments(self, factor, draws):
        mean, precision = draws
        shift = mean - factor.mean
        scaled = (precision @ shift[..., None])[..., 0] * shift
        log_det = np.linalg.slogdet(precision)[1]
        inverse_dof = factor.dof - 4.0  # E[inverse Wishart] = W^-1 / (nu - D - 1)
        return [
            (mean, factor.mean),
            (precision, factor.expected_precision),
            (log_det, factor.expected_log_det),
            (scaled.sum(axis=-1), 3.0 / factor.mean_precision),
            (np.linalg.inv(precision), factor.scatter / inverse_dof[:, None, None]),
        ]


@dataclass(frozen=True)
class NormalGammaCase:
    """One mean and one precision, coupled or factorised."""

    family: type

    def prior(self, rng):
        return self.family(
            rng.normal(), rng.uniform(0.5, 2.0), ScalarGamma(2.5, rng.uniform(1.0, 3.0))
        )

    def posterior(self, rng):
        law = ScalarGamma(rng.uniform(5.0, 9.0), rng.uniform(5.0, 9.0))
        return self.family(rng.normal(), rng.uniform(5.0, 9.0), law)

    def draws(self, factor, n, rng):
        return factor.draws(n, rng)

    def log_density(self, factor, draws):
        return factor.log_density(*draws)

    def by_scipy(self, factor, draws):
        mean, precision = draws
        coupled = self.family is NormalGamma
        narrow = factor.strength * precision if coupled else factor.mean_precision
        total = scipy.stats.norm(factor.mean, narrow**-0.5).logpdf(mean)
        law = factor.precision
        return total + scipy.stats.gamma(law.shape, scale=1.0 / law.rate).logpdf(precision)

    def moments(self, factor, draws):
        mean, precision = draws
        return [
            (mean, np.asarray(factor.mean)),
            (precision, np.asarray(factor.precision.mean)),
            (np.log(precision), np.asarray(factor.precision.expected_log)),
            (1.0 / precision, np.asarray(factor.precision.expected_inverse)),
            ((mean - 0.3) ** 2, np.asarray(factor.expected_square(0.3))),
            (precision * (mean - 0.3) ** 2, np.asarray(factor.expected_scaled_square(0.3))),
        ]


@dataclass(frozen=True)
class DirichletCase:
    """Four classes."""

    def prior(self, rng):
        return Dirichlet(rng.uniform(0.5, 3.0, size=4))

    def posterior(self, rng):
        return Dirichlet(rng.uniform(1.0, 9.0, size=4))

    def draws(self, factor, n, rng):
        return (factor.draws(n, rng),)

    def log_density(self, factor, draws):
        return factor.log_density(*draws)

    def by_scipy(self, factor, draws):
        return scipy.stats.dirichlet(factor.concentration).logpdf(draws[0].T)

    def moments(self, factor, draws):
        return [(draws[0], factor.mean), (np.log(draws[0]), factor.expected_log)]


CASES = {
    "normal": NormalCase(),
    "gamma": GammaCase(),
    "matrix-normal-gamma": MatrixNormalGammaCase(),
    "normal-wishart": NormalWishartCase(),
    "normal-gamma": NormalGammaCase(NormalGamma),
    "factorised-normal-gamma": NormalGammaCase(FactorisedNormalGamma),
    "dirichlet": DirichletCase(),
}
every_factor = pytest.mark.parametrize("case", CASES.values(), ids=CASES)


def assert_mean(values, expected, n_sigmas=5.0):
    error = values.std(axis=0) / np.sqrt(len(values))
    assert (np.abs(values.mean(axis=0) - expected) < n_sigmas * error + 1e-12).all()


def test_every_factor_has_a_case():
    assert CASES.keys() == FACTORS.keys()


@every_factor
def test_the_divergence_from_itself_is_zero(case, rng):
    factor = case.posterior(rng)
    assert abs(factor.kl(factor)) < 1e-12


@every_factor
def test_the_divergence_is_not_negative_and_falls_towards_the_prior(case):
    for seed in range(50):
        rng = np.random.default_rng(seed)
        assert case.posterior(rng).kl(case.prior(rng)) > 0.0


@every_factor
def test_the_divergence_is_the_mean_log_ratio_of_draws(case, rng):
    posterior, prior = case.posterior(rng), case.prior(rng)
    draws = case.draws(posterior, N_DRAWS, rng)
    ratio = case.log_density(posterior, draws) - case.log_density(prior, draws)
    assert_mean(ratio, posterior.kl(prior))
    assert ratio.std() / np.sqrt(N_DRAWS) < 0.02 * posterior.kl(prior)


@every_factor
def test_densities_are_those_of_scipy(case, rng):
    posterior, prior = case.posterior(rng), case.prior(rng)
    draws = case.draws(posterior, 30, rng)
    for factor in (posterior, prior):
        expected = case.by_scipy(factor, draws)
        assert_allclose(case.log_density(factor, draws), expected, rtol=1e-10)


@every_factor
def test_moments_are_those_of_draws(case, rng):
    factor = case.posterior(rng)
    for values, expected in case.moments(factor, case.draws(factor, N_DRAWS, rng)):
        assert values.shape[1:] == expected.shape
        assert_mean(values, expected)


@every_factor
def test_the_same_generator_gives_the_same_draws(case, rng):
    factor = case.posterior(rng)
    one, other = (case.draws(factor, 5, np.random.default_rng(3)) for _ in range(2))
    for mine, theirs in zip(one, other, strict=True):
        assert (mine == theirs).all()


# Conjugate updates


def regression(rng, n_rows=12, n_terms=3, n_responses=2):
    x = rng.normal(size=(n_rows, n_terms))
    y = x @ rng.normal(size=(n_terms, n_responses)) + rng.normal(size=(n_rows, n_responses))
    prior = MatrixNormalGamma.prior(
        rng.normal(size=(n_responses, n_terms)), spd(rng, n_terms), 1.7, np.array([0.4, 2.0])
    )
    return x, y, rng.uniform(size=n_rows), prior


def conjugate(prior, x, y, weight):
    """Posterior through the package, of one expert."""
    w = weight[:, None]
    stats = weight.sum(), pack((w * x).T @ x), (w * y).T @ x, (w * y**2).sum(axis=0)
    return prior.posterior(*(np.asarray(s)[None] for s in stats))


def test_the_posterior_of_a_regression_agrees_with_stacked_least_squares(rng):
    """Prior as extra rows: ``chol(L0)' B = chol(L0)' M0`` with unit weight, solved by lstsq."""
    x, y, weight, prior = regression(rng)
    found = conjugate(prior, x, y, weight)
    root = np.linalg.cholesky(prior.precision).T
    stacked = np.vstack([np.sqrt(weight)[:, None] * x, root])
    for i in range(2):
        target = np.concatenate([np.sqrt(weight) * y[:, i], root @ prior.mean[i]])
        solution, residual, *_ = np.linalg.lstsq(stacked, target)
        assert_allclose(found.mean[0, i], solution, rtol=1e-10)
        assert_allclose(found.rate[0, i], prior.rate[i] + 0.5 * residual[0], rtol=1e-10)
    assert_allclose(found.precision[0], stacked.T @ stacked, rtol=1e-10)
    assert_allclose(found.shape[0], 1.7 + 0.5 * weight.sum())


def test_prior_times_likelihood_is_proportional_to_the_posterior(rng):
    x, y, weight, prior = regression(rng)
    posterior = conjugate(prior, x, y, weight)
    coefficients, precision = (value[:, 0] for value in posterior.draws(40, rng))
    fitted = np.einsum("nt,dit->dni", x, coefficients)
    law = scipy.stats.norm(fitted, 1.0 / np.sqrt(precision)[:, None, :])
    joint = np.einsum("n,dni->di", weight, law.logpdf(y)) + prior.log_density(
        coefficients, precision
    )
    constant = joint - posterior.log_density(coefficients[:, None], precision[:, None])[:, 0]
    assert_allclose(constant, np.broadcast_to(constant[0], constant.shape), rtol=1e-9)


def test_without_data_the_posterior_is_the_prior(rng):
    *_, prior = regression(rng)
    empty = conjugate(prior, np.zeros((0, 3)), np.zeros((0, 2)), np.zeros(0))
    assert empty.kl(prior) == pytest.approx(0.0, abs=1e-12)
    assert_allclose(empty.mean[0], prior.mean, rtol=1e-12)


@pytest.mark.parametrize("offset", [1e4, 1e6])
def test_the_rate_is_rounded_relative_to_the_sum_of_squares(rng, offset):
    """Not worse, that is: a response far from zero costs twice the digits of its offset."""
    x = np.column_stack([np.ones(200), rng.normal(size=200)])
    y = offset + x[:, 1:] + 0.1 * rng.normal(size=(200, 1))
    prior = MatrixNormalGamma.prior(np.array([[offset, 0.0]]), 1e-4 * np.eye(2), 1.0, np.ones(1))
    found = conjugate(prior, x, y, np.ones(200))
    centred = MatrixNormalGamma.prior(np.zeros((1, 2)), 1e-4 * np.eye(2), 1.0, np.ones(1))
    expected = conjugate(centred, x, y - offset, np.ones(200))
    assert_allclose(found.rate, expected.rate, atol=200.0 * offset**2 * 1e-15)


@pytest.mark.parametrize("spoil", ["xx", "weight", "yy"])
def test_sums_of_no_data_are_refused(rng, spoil):
    *_, prior = regression(rng)
    stats = {
        "weight": np.full(1, -9.0 if spoil == "weight" else 1.0),
        "xx": pack(np.full((1, 3, 3), 0.0) - (1e3 * np.eye(3) if spoil == "xx" else 0.0)),
        "xy": np.zeros((1, 2, 3)),
        "yy": np.full((1, 2), -1e4 if spoil == "yy" else 1.0),
    }
    with pytest.raises(np.linalg.LinAlgError):
        prior.posterior(**stats)


def test_natural_parameters_describe_the_same_gaussian(rng):
    factor = CASES["normal"].posterior(rng)
    linear = np.einsum("kij,kj->ki", factor.precision, factor.mean)
    again = Normal.from_natural(linear, factor.precision)
    assert_allclose(again.mean, factor.mean, rtol=1e-10)
    assert abs(again.kl(factor)) < 1e-10


# Powers


def along_logarithms(factor, draws):
    """Log density of draws, as of log precisions and log odds; of a normal vector as it is."""
    if isinstance(factor, Normal):
        return factor.log_density(*draws).sum(axis=-1)
    if isinstance(factor, Gamma):
        return (factor.log_density(*draws) + np.log(draws[0])).sum(axis=(1, 2))
    if isinstance(factor, Dirichlet):
        return factor.log_density(*draws) + np.log(draws[0]).sum(axis=-1)
    if isinstance(factor, MatrixNormalGamma):
        return (factor.log_density(*draws) + np.log(draws[1])).sum(axis=(1, 2))
    half = 0.5 * (factor.n_dims + 1.0)
    log_det = np.linalg.slogdet(draws[1]).logabsdet
    return (factor.log_density(*draws) + half * log_det).sum(axis=-1)


@pytest.mark.parametrize(
    "name", ["normal", "gamma", "matrix-normal-gamma", "normal-wishart", "dirichlet"]
)
def test_a_power_of_a_law_has_that_power_of_its_density_in_logarithms(name):
    rng = np.random.default_rng(11)
    case = CASES[name]
    law = case.posterior(rng)
    draws = case.draws(law, 20, rng)
    gap = along_logarithms(law.to_the_power(7.0), draws) - 7.0 * along_logarithms(law, draws)
    assert_allclose(gap, gap[0], rtol=1e-9, atol=1e-8)
