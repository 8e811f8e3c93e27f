"""What every gate promises, for every entry of the table ``GATES``."""

from importlib.resources import files
from itertools import pairwise
from types import SimpleNamespace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax, logsumexp

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.factors import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior, drawn_components, expectations_of

pytestmark = pytest.mark.quick(n_experts=(1, 4))

N_DRAWS = 20_000
EXPERTS = (1, 2, 4)
TERMS = ("Intercept", "x")


@pytest.fixture
def make_case(make_gate):
    """Gate, rows, responsibilities, and a posterior that has seen these rows twice."""

    def build(name, *, n_experts=4, n_rows=25, n_terms=2, seed=0, weighted=False):
        rng = np.random.default_rng(seed)
        design = np.vstack([np.ones((1, n_rows)), 2.0 * rng.normal(size=(n_terms - 1, n_rows))])
        weight = rng.integers(0, 4, size=n_rows).astype(float) if weighted else None
        block = Block({"gating": design}, np.zeros((0, n_rows)), weight)
        gate = make_gate(name, n_experts, n_terms, rng)
        logits = 1.5 * design[-1] * np.arange(n_experts)[:, None]
        logits = logits + rng.normal(size=(n_experts, n_rows))
        responsibilities = np.exp(log_softmax(logits, axis=0))
        case = SimpleNamespace(gate=gate, block=block, responsibilities=responsibilities, rng=rng)
        case.posterior = refine(case, gate.start(), 2)
        return case

    return build


def following(case, posterior):
    """Statistics of the next posterior, the responsibilities held."""
    weighted = case.block.weighted(case.responsibilities)
    stats = case.gate.local(posterior, case.block).sufficient_stats(weighted)
    return case.gate.global_step(posterior, stats)


def refine(case, posterior, steps):
    for _ in range(steps):
        posterior = case.gate.update(following(case, posterior))
    return posterior


def objective(case, posterior):
    """Part of the lower bound that the gate's posterior enters."""
    terms = case.gate.local(posterior, case.block).expected_log_density
    weighted = case.block.weighted(case.responsibilities)
    return float((weighted * terms).sum()) - case.gate.kl(posterior)


def all_rows(values, block):
    return np.broadcast_to(values, (*values.shape[:-1], block.n_rows))


def is_softmax(gate):
    """Whether the weights are a softmax, by whatever bound."""
    return gate.formula == "softmax"


def assert_same_sums(one, other, rtol=1e-10):
    size = np.abs(other.to_vector()).max(initial=1.0)
    assert_allclose(one.to_vector(), other.to_vector(), rtol=rtol, atol=rtol * size)


# Expected log weights


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_terms_are_below_the_expected_log_weights(gate_name, make_case, n_experts):
    for seed in range(5):
        case = make_case(gate_name, n_experts=n_experts, n_rows=12, seed=seed)
        terms = all_rows(
            case.gate.local(case.posterior, case.block).expected_log_density, case.block
        )
        draws = case.gate.draws(case.posterior, N_DRAWS, case.rng)
        values = all_rows(case.gate.log_weights(draws, case.block), case.block)
        error = 4.5 * values.std(axis=0) / np.sqrt(N_DRAWS) + 1e-11
        gap = values.mean(axis=0) - terms
        assert (gap >= -error).all()


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_terms_are_exact_without_uncertainty(logit_gate_name, make_case, n_experts):
    """But for the product bound: it is above by up to one, and log 2 at most for two components."""
    case = make_case(logit_gate_name, n_experts=n_experts, n_rows=30)
    mean = case.posterior.mean
    certain = Normal.from_precision(mean, np.tile(1e14 * np.eye(2), (len(mean), 1, 1)))
    expected = case.gate.log_weights(mean[None], case.block)[0]
    terms = case.gate.local(certain, case.block).expected_log_density
    if logit_gate_name == "softmax-bouchard":
        gap = expected - terms
        assert_allclose(gap - gap[0], 0.0, atol=1e-9)
        assert (gap > -1e-9).all()
        assert (gap < {1: 1e-9, 2: np.log(2.0) + 1e-9, 4: 1.0}[n_experts]).all()
        terms = terms + case.gate.bound_gap(certain, case.block)
    assert_allclose(terms, expected, rtol=1e-9, atol=2e-11)


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_log_weights_normalise(gate_name, make_case, n_experts):
    case = make_case(gate_name, n_experts=n_experts)
    scale = 10.0 if isinstance(case.posterior, Normal) else 1.0  # far out, where there is a far out
    draws = scale * case.gate.draws(case.posterior, 50, case.rng)
    log_weights = case.gate.log_weights(draws, case.block)
    assert log_weights.shape[:2] == (50, n_experts)
    assert_allclose(logsumexp(log_weights, axis=1), 0.0, atol=1e-11)


def test_log_weights_are_the_same_a_few_draws_at_a_time(gate_name, make_case, monkeypatch):
    case = make_case(gate_name)
    draws = case.gate.draws(case.posterior, 50, case.rng)
    found = []
    for cells in (1, 300, 1 << 20):
        for module in ("softmax_base", "stick_breaking"):
            monkeypatch.setattr(f"bayesvb.gates.{module}.IN_CACHE", cells)
        found.append(case.gate.log_weights(draws, case.block))
    assert_array_equal(found[0], found[2])
    assert_array_equal(found[1], found[2])


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_components_are_drawn_with_the_weights(gate_name, make_case, n_experts):
    case = make_case(gate_name, n_experts=n_experts, n_rows=3)
    draws = np.repeat(case.gate.draws(case.posterior, 1, case.rng), N_DRAWS, axis=0)
    weights = case.gate.log_weights(draws, case.block)
    chosen = drawn_components(weights, case.block.n_rows, case.rng)
    assert chosen.shape == (N_DRAWS, 3)
    weights = np.exp(all_rows(case.gate.log_weights(draws[:1], case.block), case.block))[0]
    share = (chosen[:, None] == np.arange(n_experts)[:, None]).mean(axis=0)
    assert (np.abs(share - weights) < 4.5 * np.sqrt(weights / N_DRAWS) + 1e-9).all()


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_mean_weights_are_means_of_drawn_weights(gate_name, make_case, n_experts):
    case = make_case(gate_name, n_experts=n_experts, n_rows=12)
    found = case.gate.mean_weights(case.posterior, case.block)
    draws = case.gate.draws(case.posterior, N_DRAWS, case.rng)
    weights = np.exp(all_rows(case.gate.log_weights(draws, case.block), case.block))
    error = 4.5 * weights.std(axis=0) / np.sqrt(N_DRAWS)
    # The quasi-Monte Carlo points of the softmax leave 0.003 from three components on.
    error += 3e-3 if is_softmax(case.gate) and n_experts > 2 else 1e-8
    assert found.shape == (n_experts, 12)
    assert (np.abs(found - weights.mean(axis=0)) < error).all()
    assert_allclose(found.sum(axis=0), 1.0, rtol=1e-12)


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_components_weigh_the_same_a_priori(logit_gate_name, make_gate, n_experts):
    """At the prior mean of the coefficients, where all covariates are zero."""
    gate = make_gate(logit_gate_name, n_experts, 3, np.random.default_rng(5), centred=True)
    origin = Block({"gating": np.array([[1.0], [0.0], [0.0]])}, np.zeros((0, 1)))
    assert_allclose(np.exp(gate.log_weights(gate.prior.mean[None], origin)), 1.0 / n_experts)


def test_the_slack_is_that_of_the_tilted_bound(logit_gate_name, make_case):
    case = make_case(logit_gate_name)
    rows, bound_gap = case.gate.local(case.posterior, case.block), case.gate.bound_gap
    if logit_gate_name != "softmax-bouchard":
        assert_array_equal(bound_gap(case.posterior, case.block), 0.0)
        return
    tilted = GATES["softmax"](case.gate.prior).local(case.posterior, case.block)
    gained = np.maximum(tilted.expected_log_density - rows.expected_log_density, 0.0)
    assert (gained.max(axis=1) > 0.3).all()
    assert_allclose(gained, np.tile(bound_gap(case.posterior, case.block), (4, 1)), atol=1e-12)


# Statistics and updates


@pytest.mark.parametrize("weighted", [False, True])
def test_statistics_add_over_any_split_of_the_rows(gate_name, make_case, weighted, total):
    case = make_case(gate_name, n_rows=40, weighted=weighted)

    def stats(start, stop):
        part = case.block.part(start, stop)
        return case.gate.local(case.posterior, part).sufficient_stats(
            part.weighted(case.responsibilities[:, start:stop])
        )

    for _ in range(5):
        cuts = [0, *np.sort(case.rng.integers(0, 41, size=4)).tolist(), 40]
        parts = [stats(start, stop) for start, stop in pairwise(cuts)]
        assert_same_sums(total(parts), stats(0, 40))


def test_sums_over_many_terms_are_those_of_rows(make_case):
    for name in ("softmax", "stick-breaking"):
        case = make_case(name, n_terms=24, n_rows=70)
        local = case.gate.local(case.posterior, case.block)
        sums, rows = (
            one(case.responsibilities) for one in (local.sufficient_stats, local.row_stats)
        )
        assert_allclose(rows.curvature.sum(axis=0), sums.curvature, atol=1e-10)


def test_integer_weights_are_repeated_rows(gate_name, make_case):
    case = make_case(gate_name, n_rows=40, weighted=True)
    times = case.block.weight.astype(int)
    long = Block(
        {"gating": np.repeat(case.block.designs["gating"], times, axis=1)},
        np.zeros((0, times.sum())),
    )
    long_case = SimpleNamespace(
        gate=case.gate, block=long, responsibilities=np.repeat(case.responsibilities, times, axis=1)
    )
    assert_same_sums(following(case, case.posterior), following(long_case, case.posterior), 1e-8)
    assert objective(case, case.posterior) == pytest.approx(objective(long_case, case.posterior))


def test_every_update_raises_the_bound(gate_name, make_case):
    """Also the steps of the softmax gate, on problems as tame as these."""
    for seed in range(10):
        case = make_case(gate_name, seed=seed)
        posterior, last = case.gate.start(), -np.inf
        for _ in range(20):
            posterior = refine(case, posterior, 1)
            now = objective(case, posterior)
            assert now >= last - 1e-12 * abs(now)
            last = now


@pytest.mark.quick(seed=(0,))
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n_experts", EXPERTS)
def test_no_perturbation_of_the_fixed_point_raises_the_bound(gate_name, make_case, n_experts, seed):
    case = make_case(gate_name, n_experts=n_experts, seed=seed)
    posterior = refine(case, case.gate.start(), 300)
    stats, best = following(case, posterior), objective(case, posterior)
    centre = stats.to_vector()
    assert_allclose(objective(case, case.gate.update(stats)), best, rtol=1e-10, atol=1e-10)
    for _ in range(60):
        size = 10.0 ** case.rng.uniform(-3.0, 0.0) * (1.0 + np.abs(centre))
        other = stats.with_vector(centre + size * case.rng.normal(size=centre.size))
        try:
            moved = case.gate.update(other)
        except np.linalg.LinAlgError:
            continue
        assert objective(case, moved) <= best + 1e-10 * (1.0 + abs(best))


@pytest.mark.parametrize("n_experts", [2, 4])
@pytest.mark.quick(n_experts=(4,))
def test_the_gradient_vanishes_at_the_fixed_point(logit_gate_name, make_case, n_experts):
    case = make_case(logit_gate_name, n_experts=n_experts)
    posterior = refine(case, case.gate.start(), 400)
    size, step = 1.0 + abs(objective(case, posterior)), 1e-4
    for _ in range(20):
        d_mean = case.rng.normal(size=posterior.mean.shape)
        root = case.rng.normal(size=posterior.covariance.shape)
        d_cov = 0.1 * (root + np.swapaxes(root, -1, -2)) * posterior.covariance.min()
        for mean_part, cov_part in ((1.0, 0.0), (0.0, 1.0)):
            up, down = (
                objective(
                    case,
                    Normal.from_precision(
                        posterior.mean + sign * step * mean_part * d_mean,
                        np.linalg.inv(posterior.covariance + sign * step * cov_part * d_cov),
                    ),
                )
                for sign in (1.0, -1.0)
            )
            assert abs(up - down) / (2.0 * step) < 1e-6 * size


@pytest.mark.parametrize("name", ["softmax", "softmax-jensen"])
def test_softmax_sums_are_derivatives_of_the_rows_part(make_case, name):
    case = make_case(name, weighted=True)
    stats = case.gate.local(case.posterior, case.block).sufficient_stats(
        case.block.weighted(case.responsibilities)
    )
    mean, covariance = case.posterior.mean, case.posterior.covariance
    curvature = np.zeros_like(covariance)
    rows, columns = np.tril_indices(2)
    curvature[:, rows, columns] = curvature[:, columns, rows] = stats.curvature

    def rows_part(mean, covariance):
        posterior = Normal.from_precision(mean, np.linalg.inv(covariance))
        return objective(case, posterior) + case.gate.kl(posterior)

    for _ in range(10):
        d_mean = 1e-5 * case.rng.normal(size=mean.shape)
        root = case.rng.normal(size=covariance.shape)
        d_cov = 1e-6 * (root + np.swapaxes(root, -1, -2))
        slope = rows_part(mean + d_mean, covariance) - rows_part(mean - d_mean, covariance)
        assert slope / 2.0 == pytest.approx((stats.gradient * d_mean).sum(), rel=1e-5, abs=1e-9)
        slope = rows_part(mean, covariance + d_cov) - rows_part(mean, covariance - d_cov)
        assert slope == pytest.approx(-(curvature * d_cov).sum(), rel=1e-4, abs=1e-9)


# Densities and labels


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_the_divergence_is_the_mean_log_ratio_of_densities(gate_name, make_case, n_experts):
    case = make_case(gate_name, n_experts=n_experts)
    draws = case.gate.draws(case.posterior, N_DRAWS, case.rng)
    ratio = case.gate.log_density(case.posterior, draws) - case.gate.log_density(None, draws)
    assert ratio.shape == (N_DRAWS,)
    error = 4.5 * ratio.std() / np.sqrt(N_DRAWS) + 1e-10
    assert abs(ratio.mean() - case.gate.kl(case.posterior)) < error


def test_a_new_labelling_changes_nothing_but_labels(gate_name, make_case):
    case, order = make_case(gate_name), [2, 0, 3, 1]
    stats = following(case, case.posterior)
    gate, new_sums = case.gate.permuted(order, stats)
    old, new = case.gate.update(stats), gate.update(new_sums)
    assert gate.n_components == 4
    assert_allclose(gate.kl(new), case.gate.kl(old), rtol=1e-12)
    rows, new_rows = case.gate.local(old, case.block), gate.local(new, case.block)
    assert_allclose(new_rows.expected_log_density, rows.expected_log_density[order], rtol=1e-12)
    weights = case.gate.mean_weights(old, case.block)[order]
    # The quasi-Monte Carlo points of the softmax are not the same for all components.
    assert_allclose(gate.mean_weights(new, case.block), weights, atol=3e-3)
    draws = gate.draws(new, N_DRAWS, case.rng)
    drawn = np.exp(all_rows(gate.log_weights(draws, case.block), case.block))
    assert_allclose(drawn.mean(axis=0), weights, atol=0.02)

    new_case = SimpleNamespace(
        gate=gate, block=case.block, responsibilities=case.responsibilities[order]
    )
    again = following(new_case, new)
    assert_same_sums(again, gate.permuted(order, following(case, old))[1])


def test_labellings_compose(gate_name, make_case):
    case = make_case(gate_name)
    first, second = [1, 2, 3, 0], [3, 1, 0, 2]
    stats = following(case, case.posterior)
    gate, new_sums = case.gate.permuted(first, stats)
    gate, new_sums = gate.permuted(second, new_sums)
    direct, direct_sums = case.gate.permuted([first[k] for k in second], stats)
    assert_array_equal(new_sums.to_vector(), direct_sums.to_vector())
    terms = gate.local(gate.update(new_sums), case.block).expected_log_density
    assert_array_equal(
        terms, direct.local(direct.update(direct_sums), case.block).expected_log_density
    )


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_coefficients_are_log_odds(gate_name, make_case, n_experts):
    """Of a component against the first, or against all that come after its stick."""
    case = make_case(gate_name, n_experts=n_experts)
    draws = case.gate.draws(case.posterior, 3, case.rng)
    log_weights = case.gate.log_weights(draws, case.block)
    coefficients = case.gate.coefficients(draws)
    left = list(range(n_experts))
    for k, values in coefficients.items():
        left.remove(k)
        against = [0] if is_softmax(case.gate) else left
        odds = log_weights[:, k] - logsumexp(log_weights[:, against], axis=1)
        assert_allclose(values @ case.block.designs["gating"], odds, rtol=1e-8, atol=1e-8)
    assert len(coefficients) == (n_experts - 1 if isinstance(case.posterior, Normal) else 0)


def test_one_component_has_weight_one_and_costs_nothing(gate_name, make_case):
    case = make_case(gate_name, n_experts=1)
    assert case.gate.n_components == 1
    posterior = refine(case, case.posterior, 1)
    assert abs(case.gate.kl(posterior)) < 1e-12
    assert_allclose(case.gate.local(posterior, case.block).expected_log_density, 0.0, atol=1e-12)
    assert_allclose(case.gate.mean_weights(posterior, case.block), 1.0)


# What a gate says of itself


@pytest.fixture
def described(make_described_gate):
    """Gate with the prior that a model gives it, and the rows that it adds to the prior table."""

    def build(name, n_experts):
        scaling = Scaling(np.array([0.0, 3.0]), np.array([1.0, 2.0]), 0)
        coefficients = Normal.from_precision(np.zeros(2), np.diag([0.5, 2.0]))
        prior = GatePrior(coefficients, np.array([1.0, 0.0]), 1.5)
        gate = make_described_gate(name, n_experts, prior)
        return gate, scaling, type(gate).prior_rows(n_experts, prior, scaling, TERMS)

    return build


@pytest.mark.parametrize("n_experts", [2, 4])
def test_prior_rows_are_those_of_draws_from_the_prior(gate_name, described, rng, n_experts):
    """In the units of the terms; a gate whose draws have no entries adds no row, and no other."""
    gate, scaling, rows = described(gate_name, n_experts)
    draws = gate.draws(gate.prior, N_DRAWS, rng)
    assert bool(rows) == bool(draws[0].size)
    assert all(row.part == "gating" and row.prior for row in rows)
    by_term = [row.term for row in rows] == list(TERMS)
    assert by_term or [row.term for row in rows] == [""] * len(rows)
    for number, row in enumerate(rows):
        values = scaling.coefficients(draws)[..., number] if by_term else draws
        spread, mean = values.std(axis=0), values.mean(axis=0)
        if not np.isnan(row.scale):  # standard error of a standard deviation: sd / sqrt(2 n)
            assert_allclose(spread, row.scale, rtol=4.5 / np.sqrt(2 * N_DRAWS))
        if not np.isnan(row.centre):
            assert (np.abs(mean - row.centre) <= 4.5 * spread / np.sqrt(N_DRAWS)).all()


@pytest.mark.parametrize("n_experts", [2, 4])
def test_coefficients_have_a_prior_row_each(gate_name, described, rng, n_experts):
    gate, _, rows = described(gate_name, n_experts)
    coefficients = gate.coefficients(gate.draws(gate.prior, 3, rng))
    terms = [row.term for row in rows if row.term]
    assert set(coefficients) <= set(range(n_experts))
    assert bool(coefficients) == bool(terms)
    assert {values.shape for values in coefficients.values()} <= {(3, len(terms))}


def test_the_meaning_is_words_and_the_formula_a_template(gate_name, described):
    gate, _, _ = described(gate_name, 3)
    assert len(gate.coefficient_meaning().split()) > 1
    assert not gate.coefficient_meaning().endswith(".")
    template = files("bayesvb.reports").joinpath(f"templates/gate-{gate.formula}.html")
    assert template.is_file()


# Points


@pytest.mark.parametrize("power", [0.0, 1e10])
@pytest.mark.parametrize("n_experts", EXPERTS)
def test_the_bound_is_tight_at_a_point_or_the_gate_has_no_point_estimates(
    gate_name, make_case, n_experts, power
):
    case = make_case(gate_name, n_experts=n_experts)
    try:
        gate = case.gate.with_prior_power(power)
    except NotImplementedError as error:
        assert "point estimates" in str(error)
        return
    weighted = case.block.weighted(case.responsibilities)
    stats = case.gate.local(case.posterior, case.block).sufficient_stats(weighted)
    point = gate.update(1e10 * case.gate.global_step(case.posterior, stats))
    terms = all_rows(gate.local(point, case.block).expected_log_density, case.block)
    draws = gate.draws(point, 50, case.rng)
    assert_allclose(all_rows(gate.log_weights(draws, case.block), case.block).mean(axis=0),
                    terms, atol=2e-4)  # fmt: skip
    assert_allclose(np.exp(terms), gate.mean_weights(point, case.block), atol=1e-7)


def test_the_covariance_of_statistics_is_the_derivative_of_expectations(gate_name, make_case):
    case = make_case(gate_name, n_experts=3)
    statistics = following(case, case.posterior)
    centre, update = statistics.to_vector(), case.gate.update
    if not centre.size:
        return
    found = update(statistics).statistics_covariance()
    changes = [
        expectations_of(case.gate, update(statistics.with_vector(centre + step)))
        - expectations_of(case.gate, update(statistics.with_vector(centre - step)))
        for step in 1e-4 * np.eye(len(centre))
    ]
    assert_allclose(found, np.array(changes) / 2e-4, atol=1e-6 * np.abs(found).max())


@pytest.mark.parametrize("n_experts", EXPERTS)
def test_coordinates_without_prior_are_those_that_the_weights_depend_on(
    gate_name, make_case, n_experts
):
    case = make_case(gate_name, n_experts=n_experts)
    try:
        gate = case.gate.with_prior_power(0.0)
    except NotImplementedError:
        return
    coordinates = gate.coordinates(case.posterior)
    size = len(coordinates.perturbations())
    n_terms = 1 if gate_name == "dirichlet" else 2
    assert size == (n_experts - 1) * n_terms
    standard = case.rng.normal(size=(6, size))
    assert_allclose(coordinates.standard(coordinates.parameters(standard)), standard, atol=1e-8)
    if is_softmax(gate):  # a shift of all logits changes nothing
        shifted = coordinates.parameters(standard) + np.array([3.0, -2.0])
        assert_allclose(coordinates.standard(shifted), standard, atol=1e-8)
    # tilts are uncorrelated and of variance one: changes of the expectations along them
    statistics = following(case, case.posterior)
    tilts, centre = coordinates.perturbations(), statistics.to_vector()
    posterior = gate.update(statistics)
    tilts = gate.coordinates(posterior).perturbations()
    changes = [
        expectations_of(gate, gate.update(statistics.with_vector(centre + 1e-3 * tilt)))
        - expectations_of(gate, gate.update(statistics.with_vector(centre - 1e-3 * tilt)))
        for tilt in tilts
    ]
    if size:
        assert_allclose(np.array(changes) @ tilts.T / 2e-3, np.eye(size), atol=1e-3)
