"""Experts of every family with effects by group are those with columns, and draw such effects."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.errors import DataError
from bayesvb.experts import EXPERTS
from bayesvb.experts.linear import LinearStats
from bayesvb.experts.regression import RegressionPrior
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.linear.precisions import with_complete_draws
from bayesvb.models.drawn_effects import EFFECT_KEY, EffectLaws, with_line_keys
from bayesvb.models.mixture import Mixture, MixturePosterior

GROUPS, TERMS, ROWS = 6, 2, 50

BY_GROUP = RegressionPrior(1, TERMS, 2.0, True, 1.5, 0.7, n_effects=1, n_groups=GROUPS)

FAMILIES = [name for name, make in EXPERTS.items() if make(BY_GROUP).line_laws(None)]
"""Families whose effects of groups need no columns."""


class Pair:
    """Experts of a family and rows, with effects by group and with a column for each effect."""

    def __init__(self, family, n_effects=2, n_responses=2):
        rng = np.random.default_rng(3)
        place = rng.integers(0, GROUPS - 1, ROWS)  # the last group has no rows
        x = np.vstack([np.ones(ROWS), rng.normal(size=ROWS)])
        z = np.vstack([np.ones(ROWS), rng.normal(size=ROWS)])[:n_effects]
        y = rng.standard_t(3.0, size=(n_responses, ROWS)) + rng.normal(size=GROUPS)[place]
        prior = RegressionPrior(n_responses, TERMS, 2.0, True, 1.5, 0.7)
        many = replace(prior, n_effects=n_effects, n_groups=GROUPS)
        self.grouped = EXPERTS[family](many)
        self.dense = EXPERTS[family](replace(prior, n_terms=TERMS + n_effects * GROUPS))
        self.rows = Block({"mean": x, GROUP_ROWS: np.vstack([place, z])}, y)
        self.columns = Block({"mean": self.grouped.design(self.rows).columns}, y)
        self.share = rng.dirichlet(np.ones(2), ROWS).T

    def posteriors(self, n_passes=3):
        """Posteriors after some passes with these memberships."""
        found = []
        for experts, block in ((self.grouped, self.rows), (self.dense, self.columns)):
            q = experts.update(experts.partition_stats(self.share, block))
            for _ in range(n_passes):
                q = experts.update(experts.local(q, block).sufficient_stats(self.share))
            found.append(q)
        return found

    def keyed(self, q, n, seed):
        """Distributions of the effects under a posterior, and draws with keys of these."""
        rng = np.random.default_rng(seed)
        laws = EffectLaws(tuple(self.grouped.line_laws(q)))
        return laws, with_line_keys(self.grouped.draws(q, n, rng), rng)

    def log_lik(self, laws, draws, rows):
        """Log likelihood of rows with the effects of their groups."""
        return self.grouped.log_lik(laws.at_lines(draws, rows), rows)


@pytest.fixture(params=FAMILIES)
def pair(request):
    return Pair(request.param)


def test_passes_bounds_and_predictions_are_those_of_columns(pair):
    q, p = pair.posteriors()
    assert_allclose(pair.grouped.kl(q), pair.dense.kl(p), rtol=1e-10)
    found, expected = pair.grouped.local(q, pair.rows), pair.dense.local(p, pair.columns)
    assert_allclose(found.expected_log_density, expected.expected_log_density, atol=1e-10)
    for i in range(2):
        one = pair.grouped.predictive(q, pair.share, pair.rows, i)
        other = pair.dense.predictive(p, pair.share, pair.columns, i)
        for name in ("location", "scale", "dof"):
            assert_allclose(getattr(one, name), getattr(other, name), rtol=1e-9, atol=1e-10)
    squares = pair.dense.coefficient_squares(p)
    expected = np.concatenate([squares[:TERMS], squares[TERMS:].reshape(2, -1).sum(axis=1)])
    assert_allclose(pair.grouped.coefficient_squares(q), expected, rtol=1e-9)


def test_statistics_times_expectations_do_not_depend_on_the_structure(pair):
    q, p = pair.posteriors()
    totals = []
    for experts, block, law in ((pair.grouped, pair.rows, q), (pair.dense, pair.columns, p)):
        sums = experts.local(law, block).sufficient_stats(pair.share).to_vector()
        totals.append(sums @ experts.coordinates(law).expectations())
        tilts = experts.coordinates(law).perturbations()
        assert tilts.shape == (experts.coordinates(law).size, len(sums))
    assert_allclose(*totals, rtol=1e-10)


def test_rows_are_left_out_exactly_given_memberships(pair):
    """The sums without a row, its precision as it was, are those that the downdate stands for."""
    q, _ = pair.posteriors()
    experts, left_out = pair.grouped, 0.7 * pair.share
    weights = np.full((2, ROWS), 0.5)
    local = experts.local(q, pair.rows)
    q = experts.update(local.sufficient_stats(pair.share))
    found = experts.predictive_without(q, weights, pair.rows, left_out)
    stats = local.sufficient_stats(pair.share)
    if hasattr(stats, "tail"):
        experts = replace(experts, learns_dof=False, prior=replace(experts.prior, dof=q.dof))
    for row in (0, 7):
        one = pair.rows.take(np.array([row]))
        own = experts.local(q, one).sufficient_stats(left_out[:, [row]])
        rest = experts.update(stats + -1.0 * own)
        for i, each in enumerate(found):
            expected = experts.predictive(rest, weights[:, :1], one, i)
            for name in ("location", "scale"):
                assert_allclose(getattr(each, name)[:, [row]], getattr(expected, name), rtol=1e-8)
    assert pair.dense.predictive_without(q, weights, pair.columns, left_out) is None


def test_draws_hold_keys_of_effects_which_are_the_same_wherever_asked(pair):
    q, _ = pair.posteriors()
    laws, draws = pair.keyed(q, 40, 0)
    assert draws["coefficients"].shape == (40, 2, 2, TERMS)
    assert draws[EFFECT_KEY].shape == (40, 2, 2)
    whole = pair.log_lik(laws, draws, pair.rows)
    few = pair.log_lik(laws, draws, pair.rows.take(np.arange(5)))
    assert_allclose(whole[:, :, :5], few, atol=1e-12)
    thinned = {name: values[::7] for name, values in draws.items()}
    assert_array_equal(pair.log_lik(laws, thinned, pair.rows), whole[::7])
    prior = EffectLaws(tuple(pair.grouped.line_laws(None)))
    assert not np.allclose(pair.log_lik(prior, draws, pair.rows), whole)
    with pytest.raises(ValueError, match="draws do not contain group effects"):
        pair.grouped.log_lik(draws, pair.rows)


def test_draws_that_hold_effects_are_those_of_columns(pair):
    complete = with_complete_draws(pair.grouped)
    sums = pair.grouped.local(pair.posteriors()[0], pair.rows).sufficient_stats(pair.share)
    q, p = complete.update(sums), pair.posteriors(4)[1]
    assert not complete.line_laws(None) and not complete.posterior_by_row
    draws = complete.draws(q, 20, np.random.default_rng(0))
    assert draws.keys() == pair.dense.draws(p, 1, np.random.default_rng(0)).keys()
    rows, columns = complete.log_lik(draws, pair.rows), pair.dense.log_lik(draws, pair.columns)
    assert_allclose(rows, columns, rtol=1e-9, atol=1e-9)
    for own, other in ((q, p), (None, None)):
        densities = complete.log_density(own, draws), pair.dense.log_density(other, draws)
        assert_allclose(*densities, rtol=1e-8)
    both = [e.coordinates(law) for e, law in ((complete, q), (pair.dense, p))]
    standard = [one.standard(draws) for one in both]
    assert_allclose(*standard, rtol=1e-6, atol=1e-6)
    assert_allclose(both[0].parameters(standard[0])["coefficients"], draws["coefficients"])
    spaces = [experts.supports(2)["coefficients"].size for experts in (complete, pair.dense)]
    assert spaces == 2 * [2 * 2 * (TERMS + 2 * GROUPS)]
    squares = pair.dense.drawn_squares(draws)
    expected = np.split(squares, [TERMS, TERMS + GROUPS], axis=1)
    summed = np.concatenate([expected[0], *(one.sum(1, keepdims=True) for one in expected[1:])], 1)
    assert_allclose(complete.drawn_squares(draws), summed)


def test_changes_of_expectations_are_those_of_columns():
    pair, rng = Pair("gaussian"), np.random.default_rng(0)
    sums = pair.grouped.local(pair.posteriors()[0], pair.rows).sufficient_stats(pair.share)
    complete = with_complete_draws(pair.grouped)
    q, p = complete.update(sums), pair.posteriors(4)[1]
    weights, precision = rng.normal(size=(3, 2, ROWS)), rng.normal(size=(3, TERMS + 2))
    both = []
    for experts, law, block, sizes in (
        (complete, q, pair.rows, 1),
        (pair.dense, p, pair.columns, [1] * TERMS + [GROUPS] * 2),
    ):
        design = experts.design(block)
        each = [design.sums(one, block.response) for one in weights]
        change = LinearStats(*(np.stack(parts) for parts in zip(*each, strict=True)))
        own = np.repeat(precision, sizes, axis=1)
        moved, squares = experts.expectations_along(law, change, own)
        total = experts.local(law, block).sufficient_stats(pair.share).to_vector()
        both.append((moved.to_vectors() @ total, squares))
    assert_allclose(both[0][0], both[1][0], rtol=1e-8)
    summed = np.add.reduceat(both[1][1], [0, 1, TERMS, TERMS + GROUPS], axis=1)
    assert_allclose(both[0][1], summed, rtol=1e-8, atol=1e-10)


def test_completed_draws_have_the_lines_and_the_density_of_all_coefficients(pair):
    sums = pair.grouped.local(pair.posteriors()[0], pair.rows).sufficient_stats(pair.share)
    q, complete = pair.grouped.update(sums), with_complete_draws(pair.grouped)
    laws, draws = pair.keyed(q, 20, 0)
    whole, of_effects = laws.completed(draws)
    assert EFFECT_KEY not in whole
    expected = pair.log_lik(laws, draws, pair.rows)
    assert_allclose(complete.log_lik(whole, pair.rows), expected, rtol=1e-10)
    assert_allclose(pair.log_lik(laws, whole, pair.rows), expected, rtol=1e-10)
    total = complete.log_density(complete.update(sums), whole)
    assert_allclose(pair.grouped.log_density(q, draws) + of_effects, total, rtol=1e-9)
    again, nothing = laws.completed(whole)
    assert again == whole and not nothing.any()


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.quick(family=("student",))
def test_drawn_densities_have_the_mean_of_columns(family):
    pair = Pair(family)
    q, p = pair.posteriors()
    laws, keyed = pair.keyed(q, 4000, 1)
    found = pair.log_lik(laws, keyed, pair.rows)
    drawn = pair.dense.draws(p, 4000, np.random.default_rng(2))
    expected = pair.dense.log_lik(drawn, pair.columns)
    error = np.sqrt((found.var(axis=0) + expected.var(axis=0)) / 4000)
    assert (np.abs(found.mean(axis=0) - expected.mean(axis=0)) < 5.0 * error).all()
    every = np.zeros((4000, ROWS), dtype=int)
    drawn = laws.at_lines(keyed, pair.rows)
    made = pair.grouped.responses(drawn, every, pair.rows, np.random.default_rng(5))
    one = pair.dense.predictive(p, np.repeat([[1.0], [0.0]], ROWS, axis=1), pair.columns, 0)
    middle = np.median(made[:, 0], axis=0)
    assert np.abs(one.cdf(middle) - 0.5).max() < 0.05


def test_what_needs_all_effects_in_the_draws_says_so(pair):
    q, rng = pair.posteriors(0)[0], np.random.default_rng(0)
    gate = DirichletGate(Dirichlet(np.ones(2)))
    grouped, dense = (Mixture(experts, gate) for experts in (pair.grouped, pair.dense))
    draws = grouped.draws(MixturePosterior(q, gate.prior), 3, rng)
    with pytest.raises(DataError, match="effects of 5 groups"):
        grouped.log_prior(draws)
    with pytest.raises(NotImplementedError, match=r"point estimates .* need a column"):
        grouped.with_prior_power(0.0)
    assert grouped.parameter_space() is None and dense.parameter_space() is not None
    assert not pair.grouped.posterior_by_row and pair.dense.posterior_by_row


def test_locals_of_parts_are_the_local_of_all_rows(pair):
    q, _ = pair.posteriors()
    first, *rest = [pair.grouped.local(q, part) for part in pair.rows.split(17)]
    whole = first.joined(rest).sufficient_stats(pair.share)
    expected = pair.grouped.local(q, pair.rows).sufficient_stats(pair.share)
    assert_allclose(whole.to_vector(), expected.to_vector(), rtol=1e-10, atol=1e-12)
