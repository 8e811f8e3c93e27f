"""Chains in pieces: the same draws whatever the pieces, progress between them, and Ctrl-C."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.engines import chains
from bayesvb.engines.chains import Chains, Transitions, next_count
from bayesvb.errors import ConvergenceWarning


class State:
    """Of a chain that counts its steps."""


def counting(n_chains, *, interrupt_at=None):
    """Transitions whose vectors are the number of the step, and what was asked of them."""
    asked = []

    def advance(state, count, *_):
        if interrupt_at is not None and state + count > interrupt_at:
            raise KeyboardInterrupt
        asked.append(count)
        steps = np.arange(chains.PIECE) + state
        shape = (chains.PIECE, n_chains) if n_chains > 1 else (chains.PIECE,)
        each = np.broadcast_to(steps.reshape(-1, *[1] * (len(shape) - 1)), shape)
        zeros = 0.0 * each
        return state + count, (1.0 * each[..., None], zeros, zeros, each < 0, each, zeros, zeros)

    return Transitions(lambda *_: 0, advance, n_chains, chains_first=False), asked


def sampled(transitions, warmup, n_each, progress=None):
    pytest.importorskip("jax")
    import jax

    return Chains(transitions, np.ones(1), ()).sampled(
        jax.random.PRNGKey(0), np.zeros(1), warmup, n_each, progress=progress
    )


@pytest.mark.mcmc
@pytest.mark.parametrize("n_chains", [1, 3])
def test_every_step_is_told_once_and_in_its_order(n_chains):
    told = []
    transitions, asked = counting(n_chains)
    found = sampled(transitions, 30, 200, progress=lambda *values: told.append(values))
    assert_array_equal(found.vectors[:, 0], np.tile(np.arange(30, 230), n_chains))
    assert_array_equal(found.statistics["n_steps"], found.vectors[:, 0])
    assert not found.interrupted
    assert sum(asked) == 230 and [steps for steps, _ in told] == np.cumsum(asked).tolist()
    assert max(asked) <= chains.PIECE


@pytest.mark.mcmc
def test_ctrl_c_keeps_draws_if_there_are_enough():
    found = sampled(counting(2, interrupt_at=150)[0], 30, 2000)
    assert found.interrupted
    n_each = len(found.vectors) // 2
    assert chains.ENOUGH <= n_each <= 120
    assert_array_equal(found.vectors[:, 0], np.tile(np.arange(30, 30 + n_each), 2))
    with pytest.raises(KeyboardInterrupt):
        sampled(counting(2, interrupt_at=40)[0], 30, 2000)


def test_pieces_take_about_as_long_as_one_waits_for():
    assert next_count(1, 100.0) == 1
    count = 1
    for _ in range(20):
        count = next_count(count, 0.01 * count)
    assert 13 <= count <= 25


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    data = pd.DataFrame({"x": x, "y": x + np.where(rng.uniform(size=80) < 0.5, 2.0, -2.0)})
    return bvb.DensityRegression("y ~ x", data, n_components=2)


@pytest.mark.mcmc
@pytest.mark.parametrize("vectorized", [True, False])
def test_how_long_pieces_are_changes_no_draw(model, monkeypatch, vectorized):
    few = {"seed": 1, "restarts": 1, "draws": 60, "chains": 2, "warmup": 60}
    usual = model.fit("nuts", vectorized=vectorized, **few)
    monkeypatch.setattr(chains, "next_count", lambda *_: 7)
    again = model.fit("nuts", vectorized=vectorized, **few)
    for name, values in usual.draws.items():
        assert_array_equal(again.draws[name], values)


class Stopping:
    """Progress that presses Ctrl-C after so many steps of the sampler."""

    def __init__(self, after):
        self.after, self.told = after, []

    def __call__(self, run, passes, bound):
        if run > 1:
            self.told.append(passes)
            if passes >= self.after:
                raise KeyboardInterrupt


@pytest.mark.mcmc
def test_an_interrupted_fit_has_the_draws_so_far(model):
    few = {"seed": 1, "restarts": 1, "draws": 100_000, "chains": 2, "warmup": 60}
    stopping = Stopping(200)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = model.fit("nuts", progress=stopping, **few)
    n_each = stopping.told[-1] - 60
    assert len(fit.draws["gate"]) == 2 * n_each and fit.n_chains == 2
    assert not fit.converged and fit.is_sampled
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        early = model.fit("nuts", progress=Stopping(10), **few)
    assert not early.is_sampled  # the variational optimum from which chains set out


@pytest.mark.mcmc
def test_interrupted_steps_of_a_gaussian_keep_it_if_it_is_better(model):
    stopping = Stopping(1000)
    few = {"seed": 1, "restarts": 1, "draws": 100, "steps": 100_000}
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = model.fit("bbvi", progress=stopping, **few)
    assert fit.n_iter in (1000, 1) and not fit.converged
    assert fit.is_sampled == (fit.n_iter == 1000)
