"""Gates whose draws hold effects of groups are gates with a column for each effect."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp, softmax

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GATE_GROUPS
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.gates.gaussian_logits import slopes_in_means
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.linear.precisions import with_complete_draws
from bayesvb.models.drawn_effects import GATE_EFFECT_KEY, EffectLaws, with_gate_keys
from bayesvb.variational.linear_predictors import logit_moments

GROUPS, ROWS = 5, 40


def law(precisions):
    """Independent coefficients with mean zero."""
    return Normal.from_precision(np.zeros(len(precisions)), np.diag(precisions))


@pytest.fixture(params=["softmax", "stick-breaking"])
def pair(request):
    """The same gate of two columns and one effect: rows by group, then with columns."""
    rng = np.random.default_rng(0)
    place = rng.integers(0, GROUPS - 1, ROWS)
    x = np.vstack([np.ones(ROWS), rng.normal(size=ROWS)])
    groups = {"gating": x, GATE_GROUPS: np.vstack([place, np.ones(ROWS)])}
    columns = {"gating": np.vstack([x, np.eye(GROUPS)[place].T])}
    first = np.array([1.0, 0.0])
    prior = GatePrior(law([1.0, 2.0]), first, 1.0, effects=(3.0,), n_groups=GROUPS)
    dense = GatePrior(law([1.0, 2.0, *GROUPS * [3.0]]), np.pad(first, (0, GROUPS)), 1.0)
    make, y = GATES[request.param].from_prior, np.zeros((1, ROWS))
    both = (make(3, prior), Block(groups, y)), (make(3, dense), Block(columns, y))
    return both, rng.dirichlet(np.ones(3), ROWS).T


def posteriors(pair):
    """After a step with these memberships."""
    both, share = pair
    for gate, block in both:
        sums = gate.local(gate.start(), block).sufficient_stats(share)
        yield gate.update(gate.global_step(gate.start(), sums))


def test_draws_that_hold_effects_are_those_of_columns(pair):
    (gate, rows), (dense, columns) = pair[0]
    q, p = posteriors(pair)
    complete = with_complete_draws(gate)
    law = with_complete_draws(q)
    draws = complete.draws(law, 20, np.random.default_rng(0))
    assert draws.shape[2] == 2 + GROUPS == complete.support().size // draws.shape[1]
    weights = complete.log_weights(draws, rows), dense.log_weights(draws, columns)
    assert_allclose(*weights, rtol=1e-10)
    assert_allclose(complete.log_density(law, draws), dense.log_density(p, draws), rtol=1e-9)
    assert_allclose(complete.log_density(None, draws), dense.log_density(None, draws), rtol=1e-9)
    squares = dense.drawn_squares(draws)
    own = complete.drawn_squares(draws)
    assert_allclose(own[:, :2], squares[:, :2])
    assert_allclose(own[:, 2], squares[:, 2:].sum(axis=1))


def test_completed_draws_have_the_weights_and_the_density_of_all_coefficients(pair):
    (gate, rows), _ = pair[0]
    q, _ = posteriors(pair)
    laws, rng = EffectLaws((), q), np.random.default_rng(0)
    draws = with_gate_keys({"gate": gate.draws(q, 20, rng)}, len(q.mean), rng)
    whole, of_effects = laws.completed(draws)
    assert GATE_EFFECT_KEY in draws and GATE_EFFECT_KEY not in whole
    expected = gate.drawn_log_weights(laws.at_logits(draws, rows), rows)
    assert_allclose(gate.drawn_log_weights(whole, rows), expected, rtol=1e-10)
    total = with_complete_draws(gate).log_density(with_complete_draws(q), whole["gate"])
    assert_allclose(gate.log_density(q, draws["gate"]) + of_effects, total, rtol=1e-9)


def test_the_covariance_of_statistics_is_the_derivative_of_expectations(pair):
    """Of an exponential family, in its natural parameters."""
    (_, (gate, rows)), share = pair
    first = gate.local(gate.start(), rows).sufficient_stats(share)
    stats = gate.global_step(gate.start(), first)
    centre, step = stats.to_vector(), 1e-4

    def expectations(change):
        return gate.coordinates(gate.update(stats.with_vector(centre + change))).expectations()

    shifts = step * np.eye(len(centre))
    expected = [(expectations(one) - expectations(-one)) / (2.0 * step) for one in shifts]
    assert_allclose(gate.update(stats).statistics_covariance(), expected, atol=1e-6)


def test_derivatives_in_the_means_of_logits_are_differences(rng):
    n, rows, step = 2, 5, 1e-4
    logit, constants = rng.normal(size=(n, rows)), rng.normal(size=(3, 1, rows))
    slopes = rng.normal(size=(3, 2 * n, rows))

    def terms(mean):
        scalars = np.concatenate([-0.5 * mean**2, mean])
        return (constants + slopes * scalars).sum(axis=1)

    def bound(*moved):
        shift = step * np.eye(n)[:, :, None]
        return logsumexp(terms(logit + sum(sign * shift[at] for at, sign in moved)), axis=0)

    share = softmax(terms(logit), axis=0)
    first, second, weight = slopes_in_means(logit, share, slopes, np.zeros((2 * n, 2 * n, rows)))
    assert_allclose(weight, (share[:, None] * slopes[:, :n]).sum(axis=0))
    for a in range(n):
        difference = bound((a, 1)) - bound((a, -1))
        assert_allclose(first[:, a], difference / (2.0 * step), rtol=1e-6)
        for b in range(n):
            corners = [i * j * bound((a, i), (b, j)) for i in (1, -1) for j in (1, -1)]
            assert_allclose(second[:, a, b], sum(corners) / (4.0 * step**2), atol=1e-6)


@pytest.mark.parametrize("order", [None, (2, 0, 1)])
def test_slopes_of_sticks_are_derivatives_in_both_moments(pair, order):
    """Of the expected log weights in ``-E u^2 / 2`` and ``E u``; bends in the first of these."""
    _, (gate, block) = pair[0]
    if not isinstance(gate, StickBreakingGate):
        return
    gate, share = replace(gate, order=order), pair[1]
    *_, posterior = posteriors(pair)
    design, step = gate.design(block), 1e-5
    logit, variance = logit_moments(posterior, design)
    square = variance + logit**2
    slopes, bends = gate.logit_slopes(posterior, block, share)

    def at(half, mean):
        """Log weights where these are the changes of the moments of one stick."""
        centre = logit + mean
        local = gate.rows_of(centre, square - 2.0 * half - centre**2, design)
        return local.expected_log_density

    for stick, unit in enumerate(step * np.eye(len(logit))[:, :, None]):
        up, down = at(unit, 0.0), at(-unit, 0.0)
        assert_allclose(slopes[:, stick], (up - down) / (2.0 * step), atol=1e-6)
        curvature = ((up - 2.0 * at(0.0, 0.0) + down) * share).sum(axis=0) / step**2
        assert_allclose(bends[stick, stick], curvature, atol=2e-4)
        linear = (at(0.0, unit) - at(0.0, -unit)) / (2.0 * step)
        assert_allclose(slopes[:, len(logit) + stick], linear, atol=1e-6)
