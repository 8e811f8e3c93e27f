"""Densities of draws, written once: JAX finds the values of NumPy, and differentiates them."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import logsumexp

from bayesvb.engines.compiled import potential_of
from bayesvb.engines.differentiated import Target

STEP = 1e-5
"""Of differences, whose rounding is about 1e-16 of the log joint over this."""


@pytest.fixture
def problem(case, table):
    """A model, its rows, and draws from its prior."""
    model = case.model(table, weights="weight")
    core, rows = model.core, model.source.take(np.arange(model.source.n_rows))
    return core, rows, core.prior_draws(3, np.random.default_rng(1))


def log_joint(core, rows, draws):
    return core.log_prior(draws) + (core.log_lik(draws, rows) * rows.weight).sum(axis=1)


def differentiable(problem):
    if problem[0].parameter_space() is None:
        pytest.skip("a part of the model is for arrays of NumPy only, and says so")
    return problem


def rounding(case):
    """Relative error of sums; JAX's log of the normal distribution function has fewer digits."""
    return 1e-11 if case.family == "ordinal-probit" else 1e-12


def test_the_likelihood_is_the_sum_over_components(problem):
    core, rows, draws = problem
    terms = core.component_log_lik(draws, rows)
    assert terms.shape == (3, core.n_components, rows.n_rows)
    assert_allclose(logsumexp(terms, axis=1), core.log_lik(draws, rows), rtol=1e-9)


@pytest.mark.mcmc
def test_jax_finds_the_values_of_numpy(case, problem, x64):
    import jax

    core, rows, draws = differentiable(problem)
    traced = jax.jit(lambda given: log_joint(core, rows, given))(dict(draws))
    assert_allclose(traced, log_joint(core, rows, draws), rtol=rounding(case))


@pytest.mark.mcmc
def test_rows_may_be_arguments_of_what_is_compiled(case, problem, x64):
    import jax

    core, rows, draws = differentiable(problem)
    target = Target(core, core.parameter_space(), rows)
    potential, arrays = potential_of(target)
    vector = target.space.vectors(draws)[0]
    found = jax.jit(potential)(vector, arrays)
    assert_allclose(found, target.potential(vector), rtol=rounding(case))


@pytest.mark.mcmc
def test_the_derivative_by_jax_is_the_limit_of_differences(problem, x64, rng):
    import jax

    core, rows, draws = differentiable(problem)
    size = {name: STEP * np.abs(values) for name, values in draws.items()}
    way = {name: size[name] * rng.uniform(-1.0, 1.0, draws[name].shape) for name in draws}
    if "precision" in way and way["precision"].ndim == 4:  # matrices stay symmetric
        way["precision"] = way["precision"] + np.swapaxes(way["precision"], -1, -2)

    def total(given):
        return log_joint(core, rows, given).sum()

    ahead, behind = ({name: draws[name] + sign * way[name] for name in draws} for sign in (1, -1))
    slope = jax.jit(jax.grad(total))(dict(draws))
    along = sum(float((slope[name] * way[name]).sum()) for name in draws)
    change = 0.5 * (total(ahead) - total(behind))
    assert_allclose(along, change, rtol=1e-4, atol=1e-9 * abs(total(draws)))
