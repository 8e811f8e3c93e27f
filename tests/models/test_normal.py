"""One Gaussian sample: alternation, closed form, exact answer, both divergences, prediction."""

from dataclasses import astuple, replace
from functools import partial
from itertools import islice, pairwise

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import digamma, gammaln

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.normal_scale_mixture import NormalScaleMixture
from bayesvb.engines.cavi import cavi
from bayesvb.errors import DataError
from bayesvb.factors import FactorisedNormalGamma, NormalGamma
from bayesvb.factors.normal_gamma import ScalarGamma
from bayesvb.models.normal import SampleStats, UnivariateGaussian, contours


def problem(seed, rows=None, weighted=False):
    rng = np.random.default_rng(seed)
    rows = rows or int(rng.integers(2, 40))
    x = rng.normal(size=(1, rows)) * rng.uniform(0.3, 3.0) + rng.normal()
    law = ScalarGamma(float(rng.uniform(0.3, 3.0)), float(rng.uniform(0.3, 3.0)))
    model = UnivariateGaussian(NormalGamma(float(rng.normal()), float(rng.uniform(0.1, 3.0)), law))
    weight = rng.integers(0, 4, rows).astype(float) if weighted else None
    block = Block({}, x, weight)
    start = FactorisedNormalGamma(
        float(rng.normal()), float(rng.uniform(0.2, 4.0)), ScalarGamma(*rng.uniform(0.3, 4.0, 2))
    )
    return model, block, SampleStats.of_rows(block), start


def bound_written_out(model, x, q):
    """The equation in the notation of the slides: mean m, precisions k, gamma a, b."""
    m, k, a, b = q.mean, q.mean_precision, q.precision.shape, q.precision.rate
    m0, k0 = model.prior.mean, model.prior.strength
    a0, b0 = model.prior.precision.shape, model.prior.precision.rate
    log_2pi = np.log(2.0 * np.pi)
    bracket = k0 * ((m - m0) ** 2 + 1 / k) + ((x - m) ** 2).sum() + len(x) / k
    total = 0.5 * (len(x) + 1) * (digamma(a) - np.log(b) - log_2pi) + 0.5 * np.log(k0)
    total += -0.5 * a / b * bracket + 0.5 * (1 + log_2pi - np.log(k))
    kl = (a - a0) * digamma(a) - gammaln(a) + gammaln(a0) + a0 * (np.log(b) - np.log(b0))
    return total - kl - a * (b0 - b) / b


def test_the_bound_is_the_formula_written_out():
    for seed in range(50):
        model, block, stats, start = problem(seed)
        for q in (start, model.update(stats)):
            expected = bound_written_out(model, block.response[0], q)
            assert model.bound(q, stats) == pytest.approx(expected, rel=1e-11, abs=1e-11)


def test_no_half_step_lowers_the_bound():
    for seed in range(200):
        model, _, stats, start = problem(seed)
        bounds = [model.bound(start, stats)]
        bounds += [step.bound for step in islice(model.alternation(start, stats), 12)]
        assert (np.diff(bounds) > -1e-12 * np.abs(bounds[:-1])).all()


def test_the_gradient_is_zero_after_each_half_step():
    h = 1e-5
    for seed in range(50):
        model, _, stats, start = problem(seed)
        for step in islice(model.alternation(start, stats), 4):
            q = step.posterior
            if step.updated == "mean":
                response_coordinates = [
                    lambda t, q=q: replace(q, mean=q.mean + t / np.sqrt(q.mean_precision)),
                    lambda t, q=q: replace(q, mean_precision=q.mean_precision * np.exp(t)),
                ]
            else:
                a, b = q.precision.shape, q.precision.rate
                response_coordinates = [
                    lambda t, q=q, a=a, b=b: replace(q, precision=ScalarGamma(a * np.exp(t), b)),
                    lambda t, q=q, a=a, b=b: replace(q, precision=ScalarGamma(a, b * np.exp(t))),
                ]
            for move in response_coordinates:
                ahead, behind = (model.bound(move(t), stats) for t in (h, -h))
                # rounding of the bound over the step: 1e-16 / 1e-5; its third derivative: 1e-10
                size = 1.0 + abs(step.bound) + q.precision.shape
                assert abs(ahead - behind) / (2 * h) < 1e-9 * size
                assert max(ahead, behind) < step.bound


def test_the_alternation_ends_at_the_closed_form():
    for seed in range(20):
        model, _, stats, start = problem(seed)
        last = list(islice(model.alternation(start, stats), 120))[-1].posterior
        fixed = model.update(stats)
        found = last.mean, last.mean_precision, last.precision.shape, last.precision.rate
        request = fixed.mean, fixed.mean_precision, fixed.precision.shape, fixed.precision.rate
        assert_allclose(found, request, rtol=1e-12)
        assert model.mean_step(fixed, stats).mean_precision == pytest.approx(
            fixed.mean_precision, rel=1e-12
        )


def test_the_exact_answer_is_that_of_the_product_rule():
    """Each value is Student t given the ones before; the posterior is fed one at a time."""
    for seed in range(20):
        model, block, stats, _ = problem(seed)
        expected, law = 0.0, model.prior
        for x in block.response[0]:
            scale = np.sqrt((1.0 + 1.0 / law.strength) / law.precision.mean)
            expected += scipy.stats.t(2 * law.precision.shape, law.mean, scale).logpdf(x)
            one = SampleStats(np.ones(1), np.full(1, x), np.full(1, x * x))
            law = UnivariateGaussian(law).exact(one)
        assert model.log_evidence(stats) == pytest.approx(expected, rel=1e-10)
        exact = model.exact(stats)
        assert_allclose((exact.mean, exact.strength), (law.mean, law.strength), rtol=1e-11)
        assert_allclose(astuple(exact.precision), astuple(law.precision), rtol=1e-11)


def test_the_bound_is_below_the_evidence_by_the_divergence_and_keeps_the_mean_precision():
    for seed in range(50):
        model, _, stats, start = problem(seed)
        exact, fixed = model.exact(stats), model.update(stats)
        assert fixed.precision.mean == pytest.approx(exact.precision.mean, rel=1e-12)
        for q in (start, fixed):
            gap = model.log_evidence(stats) - model.bound(q, stats)
            assert gap > 0.0
            assert q.kl(exact) == pytest.approx(gap, rel=1e-8, abs=1e-10)


def by_quadrature(p, q):
    """``E_p[log p - log q]``: Gauss-Hermite for the mean, adaptive for log lambda."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    weights = weights / weights.sum()
    law = scipy.stats.gamma(p.precision.shape, scale=1.0 / p.precision.rate)

    def inner(log_lambda):
        precision = np.full(20, np.exp(log_lambda))
        mean = p.mean + nodes / np.sqrt(p.normal(precision))
        ratio = p.log_density(mean, precision) - q.log_density(mean, precision)
        return law.pdf(precision[0]) * precision[0] * (weights @ ratio)

    low, high = np.log(law.ppf(1e-16)) - 2.0, np.log(law.isf(1e-17))
    edges = np.linspace(low, high, 9)
    pieces = pairwise(edges)
    return sum(quad(inner, *piece, epsabs=1e-13, epsrel=1e-12)[0] for piece in pieces)


@pytest.mark.parametrize("rows", [4, 10, 40, 1000])
@pytest.mark.quick(rows=(4, 1000))
def test_both_divergences_are_those_of_quadrature(rows):
    for seed in range(3):
        model, _, stats, start = problem(seed, rows)
        exact = model.exact(stats)
        laws = [model.update(stats)] + ([start] if rows <= 40 else [])
        for q in laws:
            assert exact.kl(q) == pytest.approx(by_quadrature(exact, q), rel=1e-10, abs=1e-10)
        q = laws[0]
        assert q.kl(exact) == pytest.approx(by_quadrature(q, exact), rel=1e-10, abs=1e-10)


def test_divergences_keep_their_digits_in_a_large_sample():
    """At the fixed point both fall as one over the rows."""
    values = []
    for rows in (10_000, 1_000_000):
        model = UnivariateGaussian(NormalGamma(0.0, 1.0, ScalarGamma(1.0, 1.0)))
        stats = SampleStats(np.array([float(rows)]), np.zeros(1), np.array([float(rows)]))
        fixed, exact = model.update(stats), model.exact(stats)
        values.append((rows * fixed.kl(exact), rows * exact.kl(fixed)))
    assert_allclose(values[0], values[1], rtol=2e-3)


def test_the_forward_divergence_is_infinite_without_a_mean_variance():
    exact = NormalGamma(0.0, 1.0, ScalarGamma(0.9, 1.0))
    q = FactorisedNormalGamma(0.0, 1.0, ScalarGamma(0.9, 1.0))
    assert exact.kl(q) == np.inf
    assert np.isfinite(q.kl(exact))


# As a model among others


def test_the_engine_is_done_after_one_sweep_and_blocks_and_threads_change_nothing():
    model, block, stats, _ = problem(4, 3000, weighted=True)
    sources = [
        InMemorySource((block,)),
        *(InMemorySource(tuple(block.split(500)), workers=n) for n in (1, 2, 4)),
    ]
    zero = 0.0 * stats
    runs = [cavi(model, source, zero, tol=1e-12, max_iter=50) for source in sources]
    for run in runs:
        assert run.converged
        assert run.trace[-1] == pytest.approx(model.bound(model.update(stats), stats), rel=1e-11)
        assert run.trace[1] == pytest.approx(run.trace[-1], rel=1e-12)
    for run in runs[2:]:
        assert (run.trace == runs[1].trace).all()
        assert (run.stats.to_vector() == runs[1].stats.to_vector()).all()
    swept = sources[2].map_reduce(partial(model.e_step, model.update(stats)))
    assert_allclose(swept.stats.to_vector(), stats.to_vector(), rtol=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_predictions_without_a_row_are_those_of_the_sums_without_it(weighted):
    model, block, stats, _ = problem(11, rows=9, weighted=weighted)
    weight = np.ones(9) if block.weight is None else block.weight
    copies = np.minimum(weight, 1.0)
    found = model.row_predictions_without(model.update(stats), block, copies)
    for n in range(9):
        one = replace(block.part(n, n + 1), weight=None)
        rest = stats + (-copies[n]) * SampleStats.of_rows(one)
        expected = model.row_predictions(model.update(rest), one)
        assert_allclose(found[:, [n]], expected, rtol=1e-9)


def test_predictions_without_all_there_is_are_not_known():
    model, block, _, _ = problem(12, rows=2)
    nothing = NormalGamma(0.0, 0.0, model.prior.precision)
    model = replace(model, prior=nothing)
    block = block.part(0, 1)
    posterior = model.update(SampleStats.of_rows(block))
    assert np.isnan(model.row_predictions_without(posterior, block, np.ones(1))).all()


def test_integer_weights_are_repeated_rows():
    model, block, stats, _ = problem(5, weighted=True)
    long = Block({}, np.repeat(block.response, block.weight.astype(int), axis=1))
    there = SampleStats.of_rows(long)
    assert_allclose(stats.to_vector(), there.to_vector(), rtol=1e-12)
    assert model.log_evidence(stats) == pytest.approx(model.log_evidence(there), rel=1e-12)


def test_sums_of_no_data_are_refused():
    model, _, stats, _ = problem(6)
    for bad in (replace(stats, weight=np.array([-99.0])), replace(stats, xx=np.array([-1e6]))):
        with pytest.raises(np.linalg.LinAlgError):
            model.update(bad)


def test_the_bound_is_the_mean_log_ratio_of_draws(rng):
    model, block, stats, _ = problem(7, 20)
    q = model.update(stats)
    draws = model.draws(q, 40_000, rng)
    values = model.log_lik(draws, block).sum(axis=1) + model.log_prior(draws)
    values -= model.log_posterior(q, draws)
    error = 5.0 * values.std() / np.sqrt(len(values))
    assert abs(values.mean() - model.bound(q, stats)) < error


def test_contours_are_densities_before_and_after_each_half_step():
    model, _, stats, start = problem(8, 12)
    exact = model.exact(stats)
    width = 9.0 / np.sqrt(exact.strength * exact.precision.mean)
    mean = exact.mean + np.linspace(-width, width, 400)
    precision = np.linspace(1e-4, 6.0 * exact.precision.mean, 500)
    found = contours(model, stats, start, half_steps=4, mean=mean, precision=precision)
    assert found.exact.shape == (500, 400)
    assert found.steps.shape == (5, 500, 400)
    cell = (mean[1] - mean[0]) * (precision[1] - precision[0])
    for density in (found.exact, *found.steps[2:]):
        assert np.exp(density).sum() * cell == pytest.approx(1.0, abs=5e-3)
    steps = list(islice(model.alternation(start, stats), 4))
    for values, q in zip(found.steps, [start, *(s.posterior for s in steps)], strict=True):
        law = scipy.stats.norm(q.mean, q.mean_precision**-0.5).logpdf(mean[30])
        law += scipy.stats.gamma(q.precision.shape, scale=1 / q.precision.rate).logpdf(
            precision[70]
        )
        assert values[70, 30] == pytest.approx(law, rel=1e-10)


# Prediction

LAWS = {
    "few rows": FactorisedNormalGamma(1.5, 3.0, ScalarGamma(1.2, 2.0)),
    "no moments": FactorisedNormalGamma(-1.0, 0.2, ScalarGamma(0.4, 0.3)),
    "ten rows": FactorisedNormalGamma(0.3, 30.0, ScalarGamma(6.0, 2.0)),
    "many rows": FactorisedNormalGamma(0.0, 1e5, ScalarGamma(5e4, 5e4)),
}
every_law = pytest.mark.parametrize("q", LAWS.values(), ids=LAWS)


def integral(q, function):
    """``E[function(sd of x)]``: Gauss-Legendre on panels of ``log lambda``."""
    law = scipy.stats.gamma(q.precision.shape, scale=1.0 / q.precision.rate)
    nodes, weights = np.polynomial.legendre.leggauss(30)
    edges = np.linspace(np.log(law.ppf(1e-25)), np.log(law.isf(1e-25)), 81)
    half = 0.5 * np.diff(edges)[:, None]
    t = edges[:-1, None] + half * (nodes + 1.0)
    mass = half * weights * law.pdf(np.exp(t)) * np.exp(t)
    sd = np.sqrt(np.exp(-t) + 1.0 / q.mean_precision)
    return (mass * function(sd)).sum() / mass.sum()


@every_law
def test_predictive_density_and_distribution_are_those_of_another_rule(q):
    found = NormalScaleMixture.predictive(q)
    unit = 1.0 / np.sqrt(q.precision.mean)
    x = q.mean + unit * np.array([-30.0, -5.0, -1.0, 0.0, 0.4, 3.0, 12.0])
    density = [integral(q, lambda sd, at=at: scipy.stats.norm.pdf(at, q.mean, sd)) for at in x]
    below = [integral(q, lambda sd, at=at: scipy.stats.norm.cdf(at, q.mean, sd)) for at in x]
    assert_allclose(np.exp(found.log_density(x)), density, rtol=1e-10, atol=1e-15)
    assert_allclose(found.cdf(x), below, rtol=1e-10, atol=1e-15)


@every_law
def test_quantiles_invert_the_distribution_function(q):
    found = NormalScaleMixture.predictive(q)
    probs = np.array([1e-12, 1e-4, 0.05, 0.3, 0.5, 0.7, 0.95, 1 - 1e-4])
    at = found.quantile(probs)
    assert_allclose(found.cdf(at), probs, rtol=1e-10)
    # the mirror of 1e-4 is known to 1e-16 / 1e-4 of itself
    assert_allclose(at[1:] + found.quantile(1.0 - probs[1:]), 2.0 * q.mean, rtol=1e-9, atol=1e-9)
    assert (found.quantile(np.array([0.0, 1.0])) == [-np.inf, np.inf]).all()
    assert (np.diff(at) > 0.0).all()


@every_law
def test_moments_of_the_predictive(q):
    found = NormalScaleMixture.predictive(q)
    variance = q.precision.expected_inverse + 1.0 / q.mean_precision
    assert found.sd() == pytest.approx(np.sqrt(variance), rel=1e-10)
    assert found.mean() == q.mean


def test_the_predictive_of_a_known_mean_is_a_student():
    """With ``kappa`` infinite the integral has a closed form, tails included."""
    for shape in (0.7, 3.0, 40.0, 3e3):
        found = NormalScaleMixture.predictive(
            FactorisedNormalGamma(0.0, 1e300, ScalarGamma(shape, 2.0 * shape))
        )
        law = scipy.stats.t(2.0 * shape, 0.0, np.sqrt(2.0))
        x = np.array([-40.0, -6.0, -1.0, 0.0, 2.0])
        assert_allclose(found.log_density(x), law.logpdf(x), rtol=1e-11, atol=1e-11)
        assert_allclose(found.cdf(x), law.cdf(x), rtol=1e-9)
        probs = np.array([1e-6, 0.025, 0.4, 0.9])
        assert_allclose(found.quantile(probs), law.ppf(probs), rtol=1e-9)


def test_the_predictive_is_close_to_the_exact_student_in_a_large_sample():
    model, _, stats, _ = problem(9, 2000)
    mine = model.predictive(model.update(stats))
    exact = model.exact_predictive(model.exact(stats))
    probs = np.array([0.01, 0.5, 0.99])
    assert_allclose(mine.quantile(probs), exact.quantile(probs)[:, 0], rtol=1e-3, atol=1e-3)


def test_draws_and_units_of_the_predictive(rng):
    found = NormalScaleMixture.predictive(LAWS["ten rows"])
    moved = found.affine(2.0, -3.0)
    values = moved.draws(20_000, rng)
    assert scipy.stats.kstest(values, moved.cdf).pvalue > 1e-3
    probs = np.array([0.1, 0.6])
    assert_allclose(moved.quantile(probs), 2.0 - 3.0 * found.quantile(1.0 - probs), rtol=1e-9)


@pytest.mark.parametrize("q", [np.nan, -0.1, 1.1])
def test_a_quantile_of_no_probability_is_refused(q):
    with pytest.raises(DataError, match="not a probability"):
        NormalScaleMixture.predictive(LAWS["ten rows"]).quantile(np.array([0.5, q]))
