"""Maximum of a log likelihood by L-BFGS."""

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import minimize

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.point_estimates import PointEstimates
from bayesvb.engines.quasi_newton import maximum


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(2)
    x, z = rng.normal(size=(2, 60))
    label = np.where(rng.logistic(size=60) < 0.3 + x - 0.5 * z, "a", "b")
    return pd.DataFrame({"x": x, "z": z, "label": label})


@pytest.fixture(scope="module")
def problem(rows):
    model = bvb.ConditionalMixtureNetwork("label ~ x + z", rows, n_experts=1)
    points = PointEstimates.of(model.core, penalised=False)
    start = points.partition_stats(model.source.whole(), np.ones((1, 60)))
    return points.likelihood(), model.source, start


def test_one_expert_and_two_classes_are_logistic_regression(rows, problem):
    likelihood, source, start = problem
    found = maximum(likelihood, source, start, Budget(tol=1e-8))
    design = np.column_stack([np.ones(60), rows[["x", "z"]]])
    sign = np.where(rows["label"] == "a", -1.0, 1.0)
    loss = minimize(lambda b: np.logaddexp(0.0, sign * (design @ b)).sum(), np.zeros(3), tol=1e-9)
    assert found.converged and found.bound == pytest.approx(-loss.fun, abs=1e-6)
    gradient = likelihood.value_and_gradient(
        likelihood.vector(found.stats), source.whole()
    ).gradient
    assert np.abs(gradient).max() < 1e-3
    assert (np.diff(found.trace) > 0.0).all()


def test_it_ends_after_the_passes_that_it_may_make(problem):
    found = maximum(*problem, Budget(max_iter=3))
    assert (found.n_iter, found.converged) == (3, False)


def test_ctrl_c_leaves_the_best_state_so_far(problem):
    def interrupted(n_iter, bound):
        if n_iter >= 3:
            raise KeyboardInterrupt

    found = maximum(*problem, Budget(progress=interrupted))
    assert found.interrupted and found.n_iter == 3 and len(found.trace) >= 2
