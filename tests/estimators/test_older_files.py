"""Files of earlier versions: a gate of one component, sums of effects by group."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.errors import FileWarning
from bayesvb.estimators.base import empty_stats
from bayesvb.estimators.older_files import (
    with_further_predictors,
    with_packed_groups,
    without_lone_gate,
)
from bayesvb.linear.structure import LIMITS


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
    assert_array_equal(found["part1.draws.gate"], fit.variational_draws["gate"])
    assert_array_equal(found["part1.response"], covariance)
    assert without_lone_gate(found, "part1.", core, None) is found


def test_sums_by_group_are_packed_behind_the_others():
    rng = np.random.default_rng(0)
    shapes = {
        "experts.linear.weight": (2,), "experts.linear.xx": (2, 3), "experts.linear.xy": (2, 1, 2),
        "experts.linear.yy": (2, 1), "experts.zz": (2, 3, 5), "experts.zx": (2, 2, 2, 5),
        "experts.zy": (2, 1, 2, 5), "gate.curvature": (1, 3), "gate.linear": (1, 2),
        "gate.zz": (1, 1, 5), "gate.zx": (1, 1, 2, 5), "gate.zl": (1, 1, 5),
    }  # fmt: skip
    state = {f"part1.sums.{name}": rng.normal(size=shape) for name, shape in shapes.items()}
    found = with_packed_groups(state, "part1.")
    each = {name.removeprefix("part1.sums."): array for name, array in found.items()}
    assert {name: array.shape for name, array in each.items()} == {
        "experts.weight": (2,), "experts.xx": (2, 3 + 15 + 20), "experts.xy": (2, 1, 2 + 10),
        "experts.yy": (2, 1), "gate.curvature": (1, 3 + 5 + 10), "gate.linear": (1, 2 + 5),
    }  # fmt: skip
    assert_array_equal(each["experts.xx"][:, 3:8], state["part1.sums.experts.zz"][:, 0])
    assert_array_equal(each["experts.xy"][:, 0, 2:7], state["part1.sums.experts.zy"][:, 0, 0])
    assert_array_equal(each["gate.linear"][:, 2:], state["part1.sums.gate.zl"][:, 0])
    assert with_packed_groups(found, "part1.").keys() == found.keys()


@pytest.mark.parametrize(
    ("part", "sums"), [("x + (1 | g) | 1", "experts"), ("x | (1 | g)", "gate")]
)
@pytest.mark.quick(sums=("gate",))
def test_effects_that_were_columns_stay_columns(part, sums, tmp_path, monkeypatch):
    """Of a file of a version that had more of them as columns; of today's their numbers stay."""
    rng = np.random.default_rng(0)
    g = np.arange(40) % 8
    data = pd.DataFrame({"x": rng.normal(size=40), "g": g, "y": rng.normal(size=40) + g % 2})
    options = {"n_components": 2, "priors": bvb.Priors(scales="learned")}
    fitted = {"seed": 1, "restarts": 1, "draws": 25, "covariance": "mean-field", "tol": 0.01}
    columns = bvb.DensityRegression(f"y ~ {part}", data, **options).fit(**fitted)
    paths = [columns.save(tmp_path / "columns.nc")]
    monkeypatch.setitem(vars(LIMITS), "columns", 5)
    apart = bvb.DensityRegression(f"y ~ {part}", data, **options).fit(**fitted)
    assert (sums == "gate") == (apart.model.design.gate_groups is not None)
    paths.append(apart.save(tmp_path / "apart.nc"))
    for path, fit in zip(paths, (columns, apart), strict=True):
        again = bvb.load(path)
        assert again.model.design.terms == fit.model.design.terms
        assert_array_equal(again.predict(), fit.predict())
    assert columns.model.design.terms != apart.model.design.terms


def test_sums_with_a_further_predictor_have_the_names_of_today():
    old = {
        "part1.sums.experts.lines.linear.xx": "experts.linear.xx",
        "part1.sums.experts.spread.linear": "further.linear",
        "part1.sums.experts.counts.nodes": "experts.nodes",
        "part1.sums.experts.zero.curvature": "further.curvature",
    }
    others = ["part1.sums.gate.linear", "part1.draws.zero", "part2.sums.experts.zero.linear"]
    found = with_further_predictors({name: np.ones(1) for name in (*old, *others)}, "part1.")
    assert list(found) == [*(f"part1.sums.experts.{name}" for name in old.values()), *others]


def test_curves_with_half_t_scales_are_named(tmp_path, monkeypatch):
    rng = np.random.default_rng(0)
    data = pd.DataFrame({"x": rng.normal(size=40), "y": rng.normal(size=40)})
    model = bvb.DensityRegression("y ~ s(x, k=5)", data, n_components=1)
    fit = model.fit(seed=1, draws=50)
    known = {k: v for k, v in vars(model.priors).items() if k != "group_scale_rate"}
    older = {**model.options(), "priors": {**known, "scale_rate": 0.005}}
    monkeypatch.setattr(type(model), "options", lambda self: older)
    path = fit.save(tmp_path / "fit.nc")
    with pytest.warns(FileWarning, match=r"half-t prior .* Gamma\(0.5, 0.005\) now.*again"):
        bvb.load(path)
