"""Rows left out a fifth at a time, and restarts that differ in their prior."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb import ConditionalMixtureNetwork, NetworkPriors
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.folds import (
    FOLDS,
    assigned,
    by_fold,
    continued,
    folds,
    held_out_density,
)
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.evaluation.information_criteria import loo
from bayesvb.numerics.streams import Streams
from bayesvb.results.criteria import predictive_log_lik

ENGINE = Cavi(), Streams(1).branch("held out")

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*unreliable", "ignore:the ELBO was still increasing"
)


@pytest.fixture(params=["classes", "responses"])
def problem(request, make_problem):
    return make_problem(request.param, 3, rows=40)


def test_folds_are_a_partition_with_all_responses_in_each(problem):
    block, source = problem.block, problem.source()
    fold = assigned(source)
    assert_array_equal(np.bincount(fold), [8] * FOLDS)
    assert_array_equal(fold, assigned(source))
    for rows, rest in folds(source):
        assert rest.n_rows == 32
        assert set(rows) == set(np.flatnonzero(fold == fold[rows[0]]))
        spread = np.abs(np.mean(block.response[0, rows]) - np.mean(block.response[0]))
        assert spread < np.std(block.response[0])


def test_a_row_is_predicted_by_an_ascent_without_its_fold(problem):
    model, block = problem.model, problem.block
    stats = model.e_step(problem.posterior(), block).stats
    found = held_out_density(model, problem.source(), stats, *ENGINE)
    rows, rest = next(iter(folds(problem.source())))
    changed = block.take(np.arange(block.n_rows))
    changed.response[:, rows] = problem.block.response[:, rows[::-1]]
    q = model.update(continued(model, rest, stats, *ENGINE))
    assert_allclose(found[rows], model.log_predictive(q, block.take(rows)), rtol=1e-12)


def test_densities_of_a_choice_of_rows_are_those_of_all(problem):
    source = problem.source()
    each = [float(one) for one in range(FOLDS)]

    def value(stats, rows):
        return np.stack([stats + 10.0 * rows, -rows])

    whole, at = by_fold(source, each, value), np.array([3, 4, 9])
    assert_array_equal(whole[0], assigned(source) + 10.0 * np.arange(source.n_rows))
    assert_array_equal(by_fold(source, each, value, at), whole[:, at])


def test_rows_left_out_are_less_probable(problem):
    model, block = problem.model, problem.block
    q = problem.posterior(40)
    found = held_out_density(model, problem.source(), model.e_step(q, block).stats, *ENGINE)
    assert found.mean() < model.log_predictive(q, block).mean()


def test_the_criterion_of_a_network_is_sober():
    """Eleven columns of noise: ratios of likelihoods say next to nothing of what they cost."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(1000, 12))
    label = np.where(x[:, 0] + 0.8 * rng.normal(size=1000) > 0.0, "a", "b")
    frame = {f"x{i}": x[:, i] for i in range(12)} | {"label": label}
    train, test = ({name: v[rows] for name, v in frame.items()}
                   for rows in (slice(0, 200), slice(200, None)))  # fmt: skip
    priors = NetworkPriors(coefficient_variance=1.0)
    model = ConditionalMixtureNetwork("label ~ .", train, n_experts=3, priors=priors)
    fit = model.fit(combine="best", restarts=1, draws=200, seed=1)
    left_out = read_elpd(fit.loo())
    by_ratios = loo(predictive_log_lik(fit)).elpd / 200
    new = float(fit.log_density(test).mean())
    assert left_out.elpd / 200 == pytest.approx(new, abs=0.1)
    assert by_ratios > new + 0.15
    assert left_out.pareto_k is None
    assert "by five folds" in str(fit)


@pytest.mark.heavy
def test_restarts_take_turns_in_starts_and_priors(regimes):
    model = ConditionalMixtureNetwork("y ~ x", regimes, n_experts=2)
    fit = model.fit(restarts=9, draws=25, max_iter=3, seed=1, combine="average")
    pairs = set(zip(fit.restarts["initialisation"], fit.restarts["prior"], strict=True))
    assert len(pairs) == 9
    assert fit.restarts["initialisation"].eq("one component").tolist() == [False] * 7 + [
        True,
        False,
    ]
    variances = [float(member.fit.core.experts.prior.covariance[0, 0]) for member in fit.members]
    assert len({round(v, 9) for v in variances}) == 3


@pytest.mark.heavy
def test_a_straight_boundary_in_many_columns_is_found():
    """Ascents from divided rows end where each expert has learned its own rows by heart."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(600, 30))
    label = np.where(x @ rng.normal(size=30) > 0.0, "a", "b")
    train, test = (
        {f"x{i}": x[rows, i] for i in range(30)} | {"label": label[rows]}
        for rows in (slice(0, 100), slice(100, None))
    )
    fit = ConditionalMixtureNetwork("label ~ .", train, n_experts=5).fit(seed=1, draws=25)
    assert (
        fit.restarts["weight"].idxmax()
        == fit.restarts["initialisation"].eq("one component").idxmax()
    )
    assert float(fit.log_density(test).mean()) > -0.35


@pytest.mark.parametrize("weight", [1.0, 100.0])
def test_prior_variances_are_one_geometric_grid_for_any_number_of_rows(regimes, weight):
    weights = np.full(len(regimes), weight)
    core = ConditionalMixtureNetwork("y ~ x", regimes, n_experts=2, weights=weights).core
    own = core.experts.prior.covariance[0, 0]
    grid = sorted(one.experts.prior.covariance[0, 0] for one in core.starts(1).priors.values())
    assert grid == pytest.approx([0.1 * own, own, 10.0 * own])
