"""Files of earlier versions: a gate of one component that kept its prior."""

import numpy as np
import pandas as pd
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.estimators.base import empty_stats
from bayesvb.estimators.older_files import without_lone_gate


def test_the_gate_of_one_component_is_left_out():
    """Coefficients of the gate stood between those of the experts and the prior scales."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(
        {"x": rng.normal(size=40), "y": rng.normal(size=40), "g": np.arange(40) % 5}
    )
    fit = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1).fit(seed=1, draws=50)
    core, n_gate = fit.core, 8
    covariance = fit.with_covariance("linear-response").response.covariance
    first = core.experts.coordinates(fit.q.experts).size
    assert 0 < first < len(covariance)
    place = np.r_[:first, first + n_gate : len(covariance) + n_gate]
    old = np.eye(len(covariance) + n_gate)
    old[np.ix_(place, place)] = covariance
    state = {
        "part1.sums.experts.weight": fit.stats.experts.weight,
        "part1.sums.gate.curvature": np.zeros((1, 36)),
        "part1.sums.gate.linear": np.zeros((1, 8)),
        "part1.draws.gate": rng.normal(size=(50, 1, 8)),
        "part1.response": old,
    }
    found = without_lone_gate(
        state, "part1.", core, core.first_stats(empty_stats(core, fit.model.source))
    )
    assert set(found) == {
        "part1.sums.experts.weight", "part1.sums.gate.weight", "part1.draws.gate", "part1.response"
    }  # fmt: skip
    assert_array_equal(found["part1.sums.gate.weight"], fit.stats.gate.weight)
    assert_array_equal(found["part1.draws.gate"], fit.q_draws["gate"])
    assert_array_equal(found["part1.response"], covariance)
    assert without_lone_gate(found, "part1.", core, None) is found
