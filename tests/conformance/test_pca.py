"""Bayesian PCA: the bound written out twice, ascent, stationary steps, what the paper misprints."""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, gammaln
from scipy.stats import multivariate_normal

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.factors.loadings import Loadings
from bayesvb.models.pca.model import PcaPosterior, PrincipalComponents
from bayesvb.models.pca.prior import PcaPrior
from bayesvb.models.pca.scores import LatentPosterior
from bayesvb.models.pca.starts import PrincipalAxes

LOG_2PI = np.log(2.0 * np.pi)
both = pytest.mark.parametrize("gapped", [False, True], ids=["complete", "gapped"])


@dataclass(frozen=True)
class Problem:
    model: PrincipalComponents
    block: Block
    posterior: PcaPosterior

    @property
    def source(self):
        return InMemorySource((self.block,))

    @property
    def bound(self):
        return self.bound_of(self.posterior)

    def bound_of(self, posterior):
        return self.model.e_step(posterior, self.block).bound - self.model.kl(posterior)

    def following(self, posterior):
        """Statistics after one sweep."""
        return self.model.global_step(posterior, self.model.e_step(posterior, self.block).stats)


def problem(
    seed, *, gapped=False, weighted=False, rows=None, dims=None, units=False, located=False
):
    """Random data, prior and posterior, the latter with a centre that depends on the loadings."""
    rng = np.random.default_rng(seed)
    dims = dims or int(rng.integers(2, 7))
    rows = rows or int(rng.integers(3, 30))
    q = int(rng.integers(1, dims))
    t = rng.normal(size=(dims, 2)) @ rng.normal(size=(2, rows)) + rng.normal(size=(dims, rows))
    seen = (rng.random(t.shape) > 0.3).astype(float) if gapped else np.ones_like(t)
    seen[0, seen.sum(axis=0) == 0.0] = 1.0
    designs = {"variables": t * seen} | ({"observed": seen} if gapped else {})
    weight = rng.integers(0, 4, rows).astype(float) if weighted else None
    block = Block(designs, np.empty((0, rows)), weight)
    axes = (
        PrincipalAxes.of(InMemorySource((block,)))
        if not weighted
        else PrincipalAxes.of(InMemorySource((replace(block, weight=None),)))
    )
    prior = PcaPrior(*rng.uniform(0.2, 2.0, 5))
    if located:
        m0, s0 = rng.normal(size=dims), rng.normal(size=q)
        prior = replace(prior, centre_mean=tuple(m0), centre_scores=tuple(s0))
    log_jacobian = rng.normal(size=dims) if units else np.zeros(dims)
    model = PrincipalComponents(prior, q, log_jacobian, axes, q)
    root = rng.normal(size=(dims if gapped else 1, q + 1, q + 3))
    precision = root @ np.swapaxes(root, 1, 2)
    loadings = Loadings.from_precision(
        rng.normal(size=(dims, q + 1)), precision, *rng.uniform(2.0, 9.0, 2)
    )
    shape = prior.relevance_shape + 0.5 * dims
    return Problem(model, block, PcaPosterior(loadings, shape, rng.uniform(0.5, 3.0, q)))


# The bound, entry by entry; and as the paper has it


def kl_gamma(a, b, a0, b0):
    terms = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0)
    return np.sum(terms + a0 * (np.log(b) - np.log(b0)) + a * (b0 - b) / b)


def scores(p, posterior):
    """Mean and covariance of every row's scores, from normal equations written out."""
    q, t = posterior.loadings, p.block.designs["variables"]
    seen = p.block.designs.get("observed", np.ones_like(t))
    mean, covariance = [], []
    for n in range(t.shape[1]):
        precision, pull = np.eye(p.model.n_scores), np.zeros(p.model.n_scores)
        for i in np.flatnonzero(seen[:, n]):
            c = q.covariance[i % len(q.covariance)]
            second = c + q.shape / q.rate * np.outer(q.mean[i], q.mean[i])
            precision += second[:-1, :-1]
            pull += q.shape / q.rate * q.mean[i, :-1] * t[i, n] - second[:-1, -1]
        covariance.append(np.linalg.inv(precision))
        mean.append(covariance[-1] @ pull)
    return np.array(mean), np.array(covariance)


def m0_of(p):
    return np.array(p.model.prior.centre_mean or np.zeros(len(p.model.log_jacobian)))


def s0_of(p):
    return np.array(p.model.prior.centre_scores or np.zeros(p.model.n_scores))


def bound_by_entries(p, posterior, x, s):
    """Every expectation of the model, for any scores with means ``x`` and covariances ``s``."""
    q, c, d, prior = posterior.loadings, posterior.relevance_shape, None, p.model.prior
    d = posterior.relevance_rate
    t = p.block.designs["variables"]
    seen = p.block.designs.get("observed", np.ones_like(t))
    weight = np.ones(t.shape[1]) if p.block.weight is None else p.block.weight
    tau, log_tau = q.shape / q.rate, digamma(q.shape) - np.log(q.rate)
    n_scores = x.shape[1]
    total = 0.0
    for n in range(t.shape[1]):
        z = np.append(x[n], 1.0)
        zz = np.outer(z, z)
        zz[:-1, :-1] += s[n]
        row = -0.5 * (np.trace(s[n]) + x[n] @ x[n] - n_scores - np.linalg.slogdet(s[n])[1])
        for i in np.flatnonzero(seen[:, n]):
            second = q.covariance[i % len(q.covariance)] + tau * np.outer(q.mean[i], q.mean[i])
            square = tau * t[i, n] ** 2 - 2.0 * tau * t[i, n] * (q.mean[i] @ z)
            row += 0.5 * (log_tau - LOG_2PI - square - (second * zz).sum())
        total += weight[n] * row
    log_weights = (digamma(c) - np.log(d)).sum() + np.log(prior.centre_precision)
    for i in range(len(t)):
        covariance = q.covariance[i % len(q.covariance)]
        norm = np.diag(covariance) + tau * q.mean[i] ** 2
        from_centre = np.append(-s0_of(p), 1.0)  # mu - W s0, of which m0 is the prior mean
        square = from_centre @ covariance @ from_centre
        square += tau * (from_centre @ q.mean[i] - m0_of(p)[i]) ** 2
        log_det = np.linalg.slogdet(covariance)[1]
        total += 0.5 * (log_weights - (c / d) @ norm[:-1] + n_scores + 1 + log_det)
        total -= 0.5 * prior.centre_precision * square
    total -= kl_gamma(q.shape, q.rate, prior.noise_shape, prior.noise_rate)
    return total - kl_gamma(c, d, prior.relevance_shape, prior.relevance_rate)


@dataclass(frozen=True)
class Paper:
    """``q(mu | W, tau) = N(W s + m, 1 / (beta tau))``, ``q(w | tau) = N(M, 1 / (tau L))``."""

    s: np.ndarray
    m: np.ndarray
    beta: float
    M: np.ndarray
    L: np.ndarray
    a: float
    b: float

    @classmethod
    def of(cls, q):
        (v,) = q.precision
        beta = v[-1, -1]
        s = -v[:-1, -1] / beta
        m = q.mean[:, -1] - q.mean[:, :-1] @ s
        return cls(
            s, m, beta, q.mean[:, :-1].T, v[:-1, :-1] - beta * np.outer(s, s), q.shape, q.rate
        )


def paper_bound(p, posterior, *, log_of_means=False):
    """The compact bound, eq. 38 with ``E|W s0 + m0 - mu|^2``; ``log_of_means`` as eq. 39 is."""
    g, prior, t = Paper.of(posterior.loadings), p.model.prior, p.block.designs["variables"].T
    c, d = posterior.relevance_shape, posterior.relevance_rate
    (n_rows, dims), q = t.shape, len(g.s)
    tau, log_tau = g.a / g.b, digamma(g.a) - np.log(g.b)
    tau_w = tau * g.M.T
    tau_ww = dims * np.linalg.inv(g.L) + tau * g.M @ g.M.T
    tau_w_mu = tau_ww @ g.s + tau * g.M @ g.m
    sigma = np.linalg.inv(np.eye(q) + tau_ww)
    x = (t @ tau_w - tau_w_mu) @ sigma
    total = 0.5 * n_rows * dims * (log_tau - LOG_2PI)
    for n in range(n_rows):
        u, diff = x[n] + g.s, t[n] - g.m
        total -= 0.5 * (dims / g.beta + tau * diff @ diff - 2.0 * diff @ tau_w @ u)
        total -= 0.5 * np.trace(tau_ww @ (sigma + np.outer(u, u)))
        total -= 0.5 * (np.trace(sigma) + x[n] @ x[n])
    total += 0.5 * n_rows * (np.linalg.slogdet(sigma)[1] + q)
    beta0 = prior.centre_precision
    total += 0.5 * dims * (np.log(beta0 / g.beta) + 1.0)
    scores, centre = g.s - s0_of(p), g.m - m0_of(p)
    square = dims / g.beta + scores @ tau_ww @ scores
    square += 2.0 * scores @ tau_w.T @ centre + tau * centre @ centre
    total -= 0.5 * beta0 * square
    log_alpha = (digamma(c) - np.log(d)).sum()
    if log_of_means:
        log_alpha = np.log(c / d).sum() + q * (np.log(tau) - log_tau)
    total += 0.5 * dims * (log_alpha - np.linalg.slogdet(g.L)[1] + q)
    total -= 0.5 * (c / d) @ np.diag(tau_ww)
    total -= kl_gamma(g.a, g.b, prior.noise_shape, prior.noise_rate)
    return total - kl_gamma(c, d, prior.relevance_shape, prior.relevance_rate)


@both
@pytest.mark.parametrize("weighted", [False, True])
def test_the_bound_is_the_sum_over_entries(gapped, weighted):
    for seed in range(20):
        p = problem(seed, gapped=gapped, weighted=weighted, located=seed % 2 == 1)
        for posterior in (p.posterior, p.model.update(p.following(p.posterior))):
            expected = bound_by_entries(p, posterior, *scores(p, posterior))
            assert p.bound_of(posterior) == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_the_bound_is_that_of_the_paper_in_its_own_parameters():
    for seed in range(50):
        p = problem(seed, located=seed % 2 == 1)
        for posterior in (p.posterior, p.model.update(p.following(p.posterior))):
            expected = paper_bound(p, posterior)
            assert p.bound_of(posterior) == pytest.approx(expected, rel=1e-10, abs=1e-9)


def test_the_update_is_that_of_the_paper_for_any_prior_of_the_centre():
    """Equations 17 to 23, in the parameters of the paper."""
    for seed in range(20):
        p = problem(seed, located=True)
        prior, t, q = p.model.prior, p.block.designs["variables"].T, p.model.n_scores
        x, sigma = scores(p, p.posterior)
        stats = p.following(p.posterior)
        g = Paper.of(p.model.update(stats).loadings)
        s0, m0, beta0 = s0_of(p), m0_of(p), prior.centre_precision
        beta = beta0 + len(t)
        s = (beta0 * s0 - x.sum(axis=0)) / beta
        m = (beta0 * m0 + t.sum(axis=0)) / beta
        alpha = (prior.relevance_shape + 0.5 * t.shape[1]) / stats.relevance
        precision = np.diag(alpha) + beta0 * np.outer(s0, s0) - beta * np.outer(s, s)
        precision += x.T @ x + sigma.sum(axis=0)
        pull = x.T @ t - beta0 * np.outer(s0, m0) + beta * np.outer(s, m)
        M = np.linalg.solve(precision, pull)
        b = prior.noise_rate + 0.5 * (t**2).sum() + 0.5 * beta0 * m0 @ m0 - 0.5 * beta * m @ m
        b -= 0.5 * np.trace(M.T @ precision @ M)
        assert_allclose(g.s, s, atol=1e-10)
        assert_allclose(g.m, m, atol=1e-10)
        assert_allclose(g.M, M.reshape(q, -1), rtol=1e-8, atol=1e-10)
        assert_allclose(g.L, precision, rtol=1e-8, atol=1e-8)
        assert g.b == pytest.approx(b, rel=1e-8)


def test_the_bound_is_the_mean_log_ratio_of_draws(rng):
    """Over draws of scores as well: the number itself, constants included."""
    p = problem(3, rows=5, dims=3, located=True)
    posterior = p.model.update(p.following(p.posterior))
    n = 40_000
    draws = p.model.draws(posterior, n, rng)
    ratio = p.model.log_prior(draws) - p.model.log_posterior(posterior, draws)
    t, (x, s) = p.block.designs["variables"], scores(p, posterior)
    for row in range(t.shape[1]):
        drawn = rng.multivariate_normal(x[row], s[row], n)
        centre = (draws["loadings"] @ drawn[:, :, None])[..., 0] + draws["centre"]
        square = draws["precision"] * ((t[:, row] - centre) ** 2).sum(axis=1)
        ratio += 0.5 * (len(t) * (np.log(draws["precision"]) - LOG_2PI) - square)
        ratio -= 0.5 * ((drawn**2).sum(axis=1) + x.shape[1] * LOG_2PI)
        ratio -= multivariate_normal(x[row], s[row]).logpdf(drawn)
    error = ratio.std() / n**0.5
    assert abs(ratio.mean() - p.bound_of(posterior)) < 4.0 * error
    assert paper_bound(p, posterior, log_of_means=True) > ratio.mean() + 10.0 * error


# Ascent


@both
@pytest.mark.parametrize(
    "seeds", [range(40), pytest.param(range(40, 200), marks=pytest.mark.heavy)], ids=["few", "many"]
)
def test_the_bound_never_falls(gapped, seeds):
    for seed in seeds:
        p = problem(seed, gapped=gapped, weighted=seed % 3 == 0)
        bounds, posterior = [p.bound], p.posterior
        for _ in range(12):
            posterior = p.model.update(p.following(posterior))
            bounds.append(p.bound_of(posterior))
        assert (np.diff(bounds) > -1e-10 * np.abs(bounds[:-1])).all(), seed


@pytest.mark.heavy
@both
def test_acceleration_goes_at_least_as_far(gapped):
    for seed in range(5):
        p = problem(seed, gapped=gapped, rows=40, dims=5)
        start = p.following(p.posterior)
        plain = cavi(p.model, p.source, start, tol=1e-7, accelerate=False, max_iter=2000)
        fast = cavi(p.model, p.source, start, tol=1e-7, max_iter=2000)
        assert (np.diff(fast.trace) >= -1e-10 * abs(fast.bound)).all()
        assert fast.bound > plain.bound - 1e-3


def moved_loadings(loadings, rng, size):
    """Another law nearby: every parameter of the factor moves."""
    turn = rng.normal(size=loadings.precision.shape)
    return Loadings.from_precision(
        loadings.mean + size * rng.normal(size=loadings.mean.shape),
        loadings.precision + size * (turn + np.swapaxes(turn, 1, 2)),
        loadings.shape * np.exp(size * rng.normal()),
        loadings.rate * np.exp(size * rng.normal()),
    )


def slope(value, size):
    """Derivative along a direction, and what a move of this size gains at most."""
    return (value(size) - value(-size)) / (2.0 * size), max(value(100 * size), value(-100 * size))


@both
@pytest.mark.quick(gapped=(True,))
def test_every_step_is_stationary_and_a_maximum(gapped):
    size = 1e-5
    for seed in range(25):
        p = problem(seed, gapped=gapped)
        before, rng = p.posterior, np.random.default_rng(seed)
        x, s = scores(p, before)
        after = p.model.update(p.following(before))
        relevance = replace(before, relevance_rate=after.relevance_rate)

        def along_loadings(step, after=after, p=p, x=x, s=s, seed=seed):
            law = moved_loadings(after.loadings, np.random.default_rng(seed), step)
            return bound_by_entries(p, replace(after, loadings=law), x, s)

        direction = rng.normal(size=p.model.n_scores)

        def along_relevance(step, relevance=relevance, p=p, x=x, s=s, direction=direction):
            rate = relevance.relevance_rate * np.exp(step * direction)
            shape = relevance.relevance_shape * np.exp(step * direction[0])
            law = replace(relevance, relevance_rate=rate, relevance_shape=shape)
            return bound_by_entries(p, law, x, s)

        dx, ds = rng.normal(size=x.shape), rng.normal(size=s.shape)

        def along_scores(step, before=before, p=p, x=x, s=s, dx=dx, ds=ds):
            turned = s + step * s @ (ds + np.swapaxes(ds, 1, 2)) @ s
            return bound_by_entries(p, before, x + step * dx, turned)

        for value in (along_loadings, along_relevance, along_scores):
            here = value(0.0)
            gradient, most = slope(value, size)
            assert abs(gradient) < 1e-5 * (1.0 + abs(here)), (seed, value.__name__)
            assert most <= here + 1e-11 * abs(here), (seed, value.__name__)


# Sums over rows


@both
@pytest.mark.quick(gapped=(True,))
def test_many_blocks_are_one_block_and_threads_keep_every_bit(gapped):
    p = problem(5, gapped=gapped, rows=300, dims=5, weighted=True)
    pieces = tuple(p.block.split(37))
    local = partial(p.model.e_step, p.posterior)
    whole, split = local(p.block), InMemorySource(pieces).map_reduce(local)
    assert_allclose(split.stats.to_vector(), whole.stats.to_vector(), rtol=1e-11)
    assert split.bound == pytest.approx(whole.bound, rel=1e-12)
    start = p.following(p.posterior)
    one = cavi(p.model, InMemorySource(pieces), start, max_iter=30, tol=0.0)
    two = cavi(p.model, InMemorySource(pieces, workers=3), start, max_iter=30, tol=0.0)
    assert (one.stats.to_vector() == two.stats.to_vector()).all()
    assert (one.trace == two.trace).all()


@both
def test_integer_weights_are_repeated_rows(gapped):
    p = problem(7, gapped=gapped, weighted=True)
    repeated = replace(
        p.block.take(np.repeat(np.arange(p.block.n_rows), p.block.weight.astype(int))), weight=None
    )
    one, two = (p.model.e_step(p.posterior, block) for block in (p.block, repeated))
    assert one.bound == pytest.approx(two.bound, rel=1e-12)
    assert_allclose(one.stats.to_vector(), two.stats.to_vector(), rtol=1e-11, atol=1e-12)


def test_entries_that_are_all_observed_are_no_gaps():
    p = problem(11)
    t = p.block.designs["variables"]
    told = replace(p.block, designs={"variables": t, "observed": np.ones_like(t)})
    one, two = p.model.e_step(p.posterior, p.block), p.model.e_step(p.posterior, told)
    assert one.bound == pytest.approx(two.bound, rel=1e-12)
    assert_allclose(np.repeat(one.stats.xx, len(t), axis=0), two.stats.xx, rtol=1e-11, atol=1e-12)


@both
def test_units_are_lost_once_for_every_observed_value(gapped):
    p = problem(13, gapped=gapped, units=True)
    plain = replace(p.model, log_jacobian=np.zeros_like(p.model.log_jacobian))
    seen = p.block.designs.get("observed", np.ones_like(p.block.designs["variables"]))
    lost = p.model.log_jacobian @ seen
    assert p.bound == pytest.approx(replace(p, model=plain).bound - lost.sum(), rel=1e-12)
    draws = p.model.draws(p.posterior, 5, np.random.default_rng(0))
    assert_allclose(p.model.log_lik(draws, p.block), plain.log_lik(draws, p.block) - lost)


def test_a_new_order_and_new_signs_keep_the_bound():
    for gapped in (False, True):
        p = problem(17, gapped=gapped, dims=5)
        stats = p.following(p.posterior)
        order = np.random.default_rng(0).permutation(p.model.n_scores).tolist()
        sign = np.where(np.arange(len(order)) % 2, -1.0, 1.0)
        turned = p.model.permuted(order, sign, stats)
        one, two = p.model.update(stats), p.model.update(turned)
        assert_allclose(two.loadings.mean[:, :-1], one.loadings.mean[:, order] * sign, rtol=1e-9)
        assert p.bound_of(one) == pytest.approx(p.bound_of(two), rel=1e-12)


# Densities and prediction


@both
def test_densities_are_those_of_scipy(gapped, rng):
    p = problem(19, gapped=gapped, rows=12, dims=4)
    draws = p.model.draws(p.posterior, 70, rng)
    found = p.model.log_lik(draws, p.block)
    t = p.block.designs["variables"]
    seen = p.block.designs.get("observed", np.ones_like(t)) > 0.0
    for s in (0, 69):
        w, tau = draws["loadings"][s], draws["precision"][s]
        covariance = w @ w.T + np.eye(len(t)) / tau
        for n in range(t.shape[1]):
            some = seen[:, n]
            law = multivariate_normal(draws["centre"][s][some], covariance[np.ix_(some, some)])
            assert found[s, n] == pytest.approx(law.logpdf(t[some, n]), rel=1e-9)


def simulated(posterior, x, n, rng):
    """New rows given scores ``x``, or given none, under q."""
    both, tau = posterior.loadings.draws(n, rng)
    z = rng.standard_normal((n, both.shape[2] - 1)) if x is None else np.tile(x, (n, 1))
    mean = (both[:, :, :-1] @ z[:, :, None])[..., 0] + both[:, :, -1]
    return mean + rng.standard_normal(mean.shape) / np.sqrt(tau)[:, None]


@both
@pytest.mark.quick(gapped=(True,))
@pytest.mark.heavy
def test_predictive_mean_and_covariance_match_a_million_simulations(gapped, rng):
    p = problem(23, gapped=gapped, dims=4, rows=30)
    q = p.model.update(p.following(p.posterior))
    t = np.concatenate([simulated(q, None, 100_000, rng) for _ in range(10)])
    mean, covariance = q.mean, q.covariance
    error = t.std(axis=0) / 1e3
    assert (np.abs(t.mean(axis=0) - mean) < 3.0 * error).all()
    centred = t - mean
    for i in range(4):
        for j in range(4):
            product = centred[:, i] * centred[:, j]
            assert abs(product.mean() - covariance[i, j]) < 3.0 * product.std() / 1e3


def test_the_printed_logs_of_means_are_too_high_by_a_constant():
    """Eq. 39 has log E where E log belongs: the bound still rises, but is none."""
    p = problem(31)
    for posterior in (p.posterior, p.model.update(p.following(p.posterior))):
        q, c = posterior.loadings, posterior.relevance_shape
        excess = np.log(c) - digamma(c) + np.log(q.shape) - digamma(q.shape)
        expected = 0.5 * len(q.mean) * p.model.n_scores * excess
        printed = paper_bound(p, posterior, log_of_means=True)
        assert printed - p.bound_of(posterior) == pytest.approx(expected, rel=1e-8)


@both
@pytest.mark.quick(gapped=(True,))
def test_entries_given_scores_have_their_simulated_moments(gapped, rng):
    p = problem(37, gapped=gapped, dims=3, rows=4)
    q = p.model.update(p.following(p.posterior))
    rows, n = LatentPosterior.of(q.loadings, p.block), 300_000
    x, s = scores(p, q)
    for row in range(2):
        drawn = rng.multivariate_normal(x[row], s[row], n)
        both_of, tau = q.loadings.draws(n, rng)
        mean = (both_of[:, :, :-1] @ drawn[:, :, None])[..., 0] + both_of[:, :, -1]
        t = mean + rng.standard_normal(mean.shape) / np.sqrt(tau)[:, None]
        error = t.std(axis=0) / n**0.5
        assert (np.abs(t.mean(axis=0) - rows.fitted(q.loadings)[:, row]) < 4.0 * error).all()
        square = (t - t.mean(axis=0)) ** 2
        error = square.std(axis=0) / n**0.5
        assert (np.abs(square.mean(axis=0) - rows.variance(q.loadings)[:, row]) < 4.0 * error).all()


def test_new_rows_have_the_moments_of_their_draw(rng):
    p = problem(41, dims=3, rows=60_000)
    draws = p.model.draws(p.posterior, 2, rng)
    t = p.model.responses(draws, p.block, rng)
    for s in range(2):
        w = draws["loadings"][s]
        covariance = w @ w.T + np.eye(3) / draws["precision"][s]
        assert_allclose(t[s].mean(axis=1), draws["centre"][s], atol=0.03 * covariance.max() ** 0.5)
        assert_allclose(np.cov(t[s]), covariance, atol=0.05 * covariance.max())


@pytest.mark.parametrize(("n", "ranks"), [(1, [6]), (3, [1, 2, 6]), (8, [1, 2, 3, 4, 5, 6])])
def test_starts_differ_in_the_number_of_columns_in_use(n, ranks):
    p = problem(43, dims=7, rows=30)
    model = replace(p.model, n_scores=6)
    starts = model.starts(n).models
    assert [m.rank for m in starts.values()] == ranks
    assert list(starts) == [f"rank {rank}" for rank in ranks]
    for start in starts.values():
        norms = np.linalg.norm(start.initial.mean[:, :-1], axis=0)
        assert (norms[start.rank :] < 0.01 * norms[start.rank - 1]).all()
