"""Scales that are learned, of every gate and likelihood: bound, optimum, derivatives, draws."""

from dataclasses import dataclass, replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.optimize import minimize
from scipy.special import digamma
from scipy.stats import chi2, gamma, kstest, multivariate_t, t

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts import EXPERTS
from bayesvb.experts.regression import RegressionPrior
from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.coupled_normal_gamma import CommonColumns
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.half_t import HalfTScale
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.models.scaled_coordinates import SCALE_DRAWS, joined
from bayesvb.models.scaled_mixture import ScaledMixture
from bayesvb.models.term_scales import TermScales
from bayesvb.sensitivity.covariance import linear_response
from bayesvb.sensitivity.operator import change_along, expectations_along
from bayesvb.sensitivity.solvers import _by_differences, choose_solver

HALF_T = HalfTScale(1.0)

LIKELIHOODS = {
    "noise": ("gaussian", {"in_noise": True}),
    "response": ("gaussian", {"in_noise": False}),
    "student": ("student", {"in_noise": True}),
    "common": ("gaussian", {"in_noise": True}),
    "common student": ("student", {"in_noise": True}),
}
"""Families and units of coefficients; those of ``common`` scatter around common ones."""


@dataclass(frozen=True)
class Problem:
    """Rows, a mixture that learns scales, and a soft partition of the rows."""

    model: ScaledMixture
    block: Block
    partition: np.ndarray

    def source(self, size: int | None = None, workers: int = 1) -> InMemorySource:
        return InMemorySource(tuple(self.block.split(size or self.block.n_rows)), workers=workers)

    def start(self):
        return self.model.first_stats(self.model.partition_stats(self.block, self.partition))

    def bound(self, stats):
        q = self.model.update(stats)
        return self.model.e_step(q, self.block).bound - self.model.kl(q)

    def settled(self, tol=1e-12):
        return cavi(self.model, self.source(), self.start(), tol=tol, max_iter=5000).stats


def make(gate="softmax", likelihood="noise", *, seed=1, experts=2, rows=120, terms=3, responses=1):
    """Two regimes told apart by a covariate, among columns that matter and some that do not."""
    rng = np.random.default_rng(seed)
    coupled = likelihood.startswith("common") and experts > 1
    responses = 1 if likelihood.startswith("common") else responses
    x = np.vstack([np.ones(rows), rng.normal(size=(terms - 1, rows))])
    z = x[: max(terms - 1, 2)]
    regime = rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-2.0 * z[1]))
    slopes = rng.normal(size=(2, responses, terms)) * (np.arange(terms) < 2)
    y = np.where(regime, 1.0 + slopes[0] @ x, slopes[1] @ x - 1.0)
    y = y + 0.4 * rng.normal(size=y.shape)
    family, options = LIKELIHOODS[likelihood]
    prior = RegressionPrior(responses, terms, 10.0, noise_shape=0.5, noise_rate=0.01, **options)
    sds = np.append(5.0, np.full(len(z) - 1, 1.5))
    logits = Normal.from_precision(np.zeros(len(z)), np.diag(sds**-2.0))
    built = GATES[gate].from_prior(experts, GatePrior(logits, np.eye(len(z))[0], 1.0))
    columns = [(j,) for j in range(1, terms)] if terms < 4 else [(1,), tuple(range(2, terms))]
    common, of_experts = None, TermScales.of(columns, np.full(terms, 0.01), experts * responses)
    if coupled:
        common, of_experts = coupled_columns(columns, terms, experts)
    learns = built.learns_scales and experts > 1
    own = [(j,) for j in range(1, len(z))] if learns else []
    of_gate = TermScales.of(own, sds**-2.0, len(built.prior.mean) if learns else 0)
    hyper = Gamma(np.array(0.5), np.array(0.05))
    half_t = ((len(columns), HALF_T),) if coupled and likelihood == "common" else ()
    experts_at = EXPERTS[family](prior)
    model = ScaledMixture(experts_at, built, of_experts, of_gate, hyper, common, half_t)
    partition = rng.dirichlet(np.full(experts, 0.5), size=rows).T.copy()
    if experts == 2:
        partition = np.where(regime, 0.8, 0.2) * np.array([[1.0], [-1.0]]) + [[0.0], [1.0]]
    return Problem(model, Block({"mean": x, "gating": z}, y), partition)


def coupled_columns(columns, terms, experts):
    """The last block has common coefficients with a scale of its own, the others share one."""
    places = np.arange(1, terms)
    wide = ~np.isin(places, columns[-1])
    spread = BoundedScale.half_normal(1.0, lowest=0.2)
    after = [terms - 1 + j for j in columns[-1]]
    blocks = [*columns, after, *([(terms - 1 + places[wide]).tolist()] if wide.any() else [])]
    sizes = np.concatenate([np.ones(terms), np.full(terms - 1, 1.0 / experts)])
    precision = np.concatenate([np.full(terms, 0.01), np.ones(terms - 1)])
    return CommonColumns(places, wide, spread), TermScales.of(blocks, precision, experts, sizes)


USUAL = ("softmax", "dirichlet")
"""Gates of quick runs: the others have Gaussian logits as the first has."""


@pytest.fixture(
    params=[
        name if name in USUAL else pytest.param(name, marks=pytest.mark.heavy) for name in GATES
    ]
)
def gate(request) -> str:
    """Every gate in turn."""
    return request.param


@pytest.fixture(params=LIKELIHOODS)
def likelihood(request) -> str:
    """Every likelihood in turn."""
    return request.param


# The bound


@pytest.mark.parametrize(
    "seeds", [range(2), pytest.param(range(2, 16), marks=pytest.mark.heavy)], ids=["few", "many"]
)
def test_a_plain_sweep_never_lowers_the_bound(gate, likelihood, seeds):
    """240 problems."""
    for seed in seeds:
        rng = np.random.default_rng(100 + seed)
        problem = make(
            gate,
            likelihood,
            seed=seed,
            experts=int(rng.integers(1, 6)),
            rows=int(rng.integers(10, 200)),
            terms=int(rng.integers(2, 6)),
            responses=int(rng.integers(1, 3)),
        )
        q, last = problem.model.update(problem.start()), -np.inf
        for _ in range(12):
            sweep = problem.model.e_step(q, problem.block)
            bound = sweep.bound - problem.model.kl(q)
            assert bound >= last - 1e-9 * abs(bound)
            q, last = problem.model.update(problem.model.global_step(q, sweep.stats)), bound


def test_at_the_end_no_perturbation_gains(gate, likelihood, rng):
    problem = make(gate, likelihood)
    ascent = cavi(problem.model, problem.source(), problem.start(), tol=1e-13, max_iter=5000)
    assert ascent.converged
    assert (np.diff(ascent.trace) >= -1e-9 * np.abs(ascent.trace[1:])).all()
    vector = ascent.stats.to_vector()
    for _ in range(60):
        step = 10.0 ** rng.uniform(-4.0, -1.0) * rng.normal(size=vector.size)
        try:
            moved = problem.bound(ascent.stats.with_vector(vector * (1.0 + step)))
        except np.linalg.LinAlgError:
            continue
        assert moved <= ascent.bound + 1e-8


@pytest.mark.parametrize("likelihood", ["noise", "response"])
def test_with_one_expert_the_bound_is_an_average_over_the_posterior(likelihood, rng):
    """Of log joint less log posterior: a Gaussian likelihood has no bound of its own."""
    problem = make(likelihood=likelihood, experts=1, responses=2)
    stats = problem.start()
    q, n = problem.model.update(stats), 10_000
    draws = problem.model.draws(q, n, rng)
    log_joint = problem.model.log_prior(draws)
    log_joint = log_joint + problem.model.log_lik(draws, problem.block).sum(axis=1)
    each = log_joint - problem.model.log_posterior(q, draws)
    assert problem.bound(stats) == pytest.approx(each.mean(), abs=4.5 * each.std() / n**0.5)


def test_one_expert_is_ridge_regression_with_the_variances_that_maximise_the_bound():
    """Maximised over the precisions directly, with the evidence of scipy's multivariate t."""
    problem = make("dirichlet", experts=1, rows=60, terms=3)
    q = problem.model.update(problem.settled())
    x, y = problem.block.designs["mean"].T, problem.block.response[0]
    shape, shape0, rate0 = 1.0, 0.5, 0.05

    def minus_bound(log_mean):
        mean = np.exp(log_mean)
        spread = x @ np.diag(1.0 / np.append(0.01, mean)) @ x.T + np.eye(len(y))
        evidence = multivariate_t(np.zeros(len(y)), 0.02 * spread, df=1.0).logpdf(y)
        rate = shape / mean
        expected_log = digamma(shape) - np.log(rate)
        own = gamma(shape, scale=1.0 / rate)
        log_prior = shape0 * np.log(rate0) - 0.5 * np.log(np.pi)
        log_prior = log_prior + (shape0 - 1.0) * expected_log - rate0 * mean
        return -(evidence + (0.5 * (expected_log - log_mean) + log_prior + own.entropy()).sum())

    found = minimize(minus_bound, np.zeros(2), method="Nelder-Mead", options={"fatol": 1e-12})
    assert -found.fun == pytest.approx(problem.bound(problem.settled()), abs=1e-8)
    assert_allclose(q.scales.mean, np.exp(found.x), rtol=1e-4)
    ridge = np.linalg.solve(x.T @ x + np.diag(np.append(0.01, np.exp(found.x))), x.T @ y)
    assert_allclose(q.experts.mean[0, 0], ridge, rtol=1e-4, atol=1e-5)


def test_fixed_precisions_are_the_mixture_that_has_them(gate, likelihood):
    problem = make(gate, likelihood)
    stats = problem.start()
    given = problem.model.given(stats.scales.precision)
    q, other = problem.model.update(stats), given.update(stats)
    sweep = problem.model.e_step(q, problem.block)
    same = given.e_step(other, problem.block)
    assert_array_equal(sweep.stats.to_vector(), same.stats.to_vector())
    assert sweep.bound == same.bound
    assert problem.model.for_points() == replace(problem.model.fixed)


# Blocks, labels


@pytest.mark.parametrize("size", [7])
def test_blocks_are_the_whole(gate, likelihood, size):
    problem = make(gate, likelihood)
    whole, parts = (
        cavi(problem.model, problem.source(s, 2), problem.start(), max_iter=9) for s in (None, size)
    )
    assert_allclose(parts.trace, whole.trace, rtol=1e-9)


def test_labels_do_not_matter(gate, likelihood):
    problem = make(gate, likelihood, experts=3)
    stats = problem.settled(1e-6)
    model, moved = problem.model.permuted([2, 0, 1], stats)
    other = replace(problem, model=model)
    assert other.bound(moved) == pytest.approx(problem.bound(stats), rel=1e-12)
    assert_array_equal(moved.scales.squares, stats.scales.squares)


# Derivatives


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking"])
def test_the_derivative_of_a_sweep_is_that_of_differences(gate):
    problem = make(gate, terms=4, responses=2)
    stats = problem.settled()
    found = choose_solver(problem.model, problem.source(), stats).whole()
    expected = _by_differences(problem.model, problem.source(), stats)
    # Precisions and sums of squares have entries of their own, in the last rows and columns.
    assert_allclose(found, expected, atol=2e-5 * np.abs(expected).max())


@pytest.mark.parametrize("formula", ["y ~ x + (x | g) + s(z, k=4)", "y + z ~ x + (1 | g)"])
def test_the_linear_response_of_one_component_is_a_closed_form(formula, rng, monkeypatch):
    data = {"x": rng.normal(size=60), "z": rng.normal(size=60), "g": np.arange(60) % 6}
    data["y"] = rng.normal(size=60) + data["x"] + 0.3 * data["g"]
    fit = bvb.DensityRegression(formula, data, n_components=1).fit(seed=1, draws=25, tol=1e-10)
    state = fit.core, fit.model.source, fit.stats
    found = linear_response(*state)
    assert found.n_iter == 1
    monkeypatch.setattr(ScaledMixture, "known_response", lambda *_: None)
    assert_allclose(found.covariance, linear_response(*state).covariance, atol=1e-9)
    assert np.diag(found.covariance).max() > 1.1


def test_one_component_at_no_maximum_has_no_closed_form(rng):
    data = {"x": rng.normal(size=60), "g": np.arange(60) % 12, "y": rng.normal(size=60)}
    fit = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1).fit(seed=1, draws=25)
    posterior, source = fit.q, fit.model.source
    assert fit.core.known_response(posterior, source) is not None
    vague = replace(posterior.scales, shape=1e-6 * posterior.scales.shape,
                    rate=1e-6 * posterior.scales.rate)  # fmt: skip
    assert fit.core.known_response(replace(posterior, scales=vague), source) is None


@pytest.mark.parametrize("gate", sorted(GATES))
@pytest.mark.parametrize("likelihood", ["noise", "student"])
@pytest.mark.parametrize("responses", [1, 2])
@pytest.mark.quick(gate=("softmax", "dirichlet"), responses=(2,))
def test_changes_of_expectations_along_directions_are_differences(gate, likelihood, responses, rng):
    problem = make(gate, likelihood, terms=5, responses=responses)
    model, stats = problem.model, problem.settled(tol=1e-6)
    centre = stats.to_vector()
    directions = rng.normal(size=(4, len(centre))) * np.maximum(np.abs(centre), 1.0)
    expected = [change_along(model, stats, 1e-5 * one) / 1e-5 for one in directions]
    found = expectations_along(model, stats, model.update(stats), directions)
    assert_allclose(found, expected, rtol=1e-5, atol=1e-6 * np.abs(expected).max())


@pytest.mark.parametrize("likelihood", ["noise", "student"])
def test_stand_ins_of_the_coordinates_are_uncorrelated_with_variance_one(gate, likelihood):
    problem = make(gate, likelihood, responses=2)
    model, stats = problem.model, problem.start()
    tilts = model.coordinates(model.update(stats)).perturbations()
    centre, step, found = stats.to_vector(), 1e-3, []
    for tilt in tilts:
        ends = [
            model.coordinates(
                model.update(stats.with_vector(centre + side * step * tilt))
            ).expectations()
            for side in (1.0, -1.0)
        ]
        found.append((ends[0] - ends[1]) / (2.0 * step))
    assert_allclose(np.array(found) @ tilts.T, np.eye(len(tilts)), atol=3e-6)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking", "dirichlet"])
@pytest.mark.parametrize("likelihood", ["noise", "student"])
@pytest.mark.quick(gate=("softmax", "dirichlet"))
def test_linear_response_is_the_change_of_tilted_optima(gate, likelihood):
    """Tilts of coefficients and of precisions: plain sweeps with the tilt settle elsewhere."""
    problem = make(gate, likelihood)
    model, source, stats = problem.model, problem.source(), problem.settled(1e-13)
    found = linear_response(model, source, stats)
    assert found.failure is None
    tilts = model.coordinates(model.update(stats)).perturbations()
    derivative = choose_solver(model, source, stats).whole()
    answers = np.linalg.solve(np.eye(len(derivative)) - derivative, tilts.T).T
    centre, step, expected = stats.to_vector(), 1e-4, []
    for answer in answers:
        ends = [
            model.coordinates(
                model.update(stats.with_vector(centre + side * step * answer))
            ).expectations()
            for side in (1.0, -1.0)
        ]
        expected.append((ends[0] - ends[1]) / (2.0 * step))
    expected = np.array(expected) @ tilts.T
    assert_allclose(found.covariance, expected, atol=1e-3 * np.abs(expected).max())


@pytest.mark.parametrize("likelihood", ["noise", "student"])
def test_coordinates_are_one_to_one(gate, likelihood, rng):
    problem = make(gate, likelihood)
    q = problem.model.update(problem.start())
    draws, own = problem.model.draws(q, 5, rng), problem.model.coordinates(q)
    again = own.parameters(own.standard(draws))
    assert again.keys() == draws.keys()
    for name, values in draws.items():
        assert_allclose(again[name], values, rtol=1e-8)


# Draws


def test_coefficients_drawn_from_the_prior_are_normal_given_their_scales(gate, likelihood, rng):
    problem = make(gate, likelihood, experts=3)
    draws = problem.model.prior_draws(400, rng)
    noise = draws["precision"][..., None] if likelihood != "response" else 1.0
    precision = noise * draws[SCALE_DRAWS[0]][:, None, None]
    slopes = draws["coefficients"][..., 1:]
    if likelihood.startswith("common"):  # around their mean, which is that of common coefficients
        shift = slopes - (precision * slopes).sum(axis=1, keepdims=True) / precision.sum(
            axis=1, keepdims=True
        )
        squares = (precision * shift**2).sum(axis=1)
        assert kstest(squares.ravel(), chi2(2).cdf).pvalue > 1e-3
    else:
        assert kstest((slopes * np.sqrt(precision)).ravel(), "norm").pvalue > 1e-3
    law = gamma(0.5, scale=20.0)
    kept = np.concatenate([draws[name].ravel() for name in SCALE_DRAWS[::2] if name in draws])
    assert kstest(kept, law.cdf).pvalue > 1e-3
    if SCALE_DRAWS[1] in draws:
        sd = draws[SCALE_DRAWS[1]].ravel() ** -0.5
        known = t(3).cdf if likelihood == "common" else lambda s: 0.5 + 0.5 * law.sf(s**-2.0)
        assert kstest(sd, lambda s: 2.0 * known(s) - 1.0).pvalue > 1e-3
    if SCALE_DRAWS[2] in draws:
        slopes = draws["gate"][..., 1:] * np.sqrt(draws[SCALE_DRAWS[2]][:, None])
        assert kstest(slopes.ravel(), "norm").pvalue > 1e-3
    assert np.isfinite(problem.model.log_prior(draws)).all()


def test_the_log_prior_is_that_given_the_scales_times_theirs(gate, likelihood, rng):
    problem = make(gate, likelihood)
    q = problem.model.update(problem.start())
    draws = problem.model.draws(q, 4, rng)
    scales = joined(draws)
    found = problem.model.log_prior(draws)
    for s, precision in enumerate(scales):
        one = {name: values[s : s + 1] for name, values in draws.items()}
        whole = np.ones(len(problem.model.counts))  # that of wide columns is integrated out
        whole[problem.model.has_draws] = precision
        given = problem.model.given(whole).log_prior(one)[0]
        own = gamma(0.5, scale=20.0).logpdf(precision)
        if problem.model.half_t:  # the density of a half-t standard deviation, of its precision
            at = problem.model.half_t[0][0]
            sd = precision[at] ** -0.5
            own[at] = np.log(2.0 * t(3).pdf(sd) * sd / (2.0 * precision[at]))
        own = own.sum()
        assert found[s] == pytest.approx(given + own, rel=1e-10)


def test_the_space_of_parameters_holds_the_scales(gate, likelihood, rng):
    model = make(gate, likelihood).model
    draws = model.prior_draws(3, rng)
    space = model.parameter_space()
    assert set(space.supports) == set(draws)
    again, _ = space.draws(space.vectors(draws))
    for name, values in draws.items():
        assert_allclose(again[name], values, rtol=1e-9)


def test_draws_are_relabelled_without_their_scales(rng):
    problem = make("softmax", experts=2)
    q = problem.model.update(problem.settled(1e-6))
    draws = dict(problem.model.draws(q, 6, rng))
    turned = {
        name: values if name in SCALE_DRAWS else values[:, ::-1].copy()
        for name, values in draws.items()
    }
    found, changed = problem.model.relabelled_draws(turned, q, problem.block)
    assert changed == 6
    for name, values in draws.items():
        assert_array_equal(found[name], values)
