"""Tables of parameters and components."""

import warnings
from io import StringIO
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines.cavi import Cavi
from bayesvb.gates import GATES
from bayesvb.results.base import AbstractFit, AbstractPublicModel
from bayesvb.results.named_draws import NamedDraws
from bayesvb.results.summary import coefficient_table, in_reading_order

COLUMNS = ["mean", "sd", "lower", "upper", "p_positive"]


pytestmark = pytest.mark.quick(fit=("softmax", "dirichlet"))


@pytest.fixture(scope="module", params=GATES)
def fit(request, regimes):
    model = bvb.DensityRegression("y ~ x + z | gating(x)", regimes, n_components=3,
                                  gate=request.param)  # fmt: skip
    return model.fit(seed=1, restarts=1, draws=150, tol=1e-5)


@pytest.mark.parametrize("prob", [0.5, 0.89])
@pytest.mark.quick(prob=(0.5,))
def test_rows_are_the_moments_of_the_draws(fit, prob):
    table, posterior = fit.summary(prob), fit.posterior
    assert list(table) == COLUMNS
    assert table.index.names == ["part", "component", "term"]
    assert table.index.is_unique
    names = {"mean": "beta", "gating": "gamma", "sigma": "sigma", "share": "share"}
    names |= {"between components": "scale_between", "gating scale": "scale_gating"}
    if not fit.core.gate_coefficients(fit.draws):
        del names["gating"], names["gating scale"]
    assert set(table.index.get_level_values("part")) == set(names)
    for part, name in names.items():
        draws = posterior[name].to_numpy()[0].reshape(150, -1)
        rows = table.loc[part]
        assert len(rows) == draws.shape[1]
        assert_allclose(rows["mean"], draws.mean(axis=0))
        assert_allclose(rows["sd"], draws.std(axis=0, ddof=1), atol=1e-14 * np.abs(draws).max())
        assert_allclose(rows["lower"], np.quantile(draws, 0.5 - prob / 2, axis=0))
        assert_allclose(rows["upper"], np.quantile(draws, 0.5 + prob / 2, axis=0))
        if part in ("sigma", "share", "between components", "gating scale"):
            assert rows["p_positive"].isna().all()
        else:
            assert_allclose(rows["p_positive"], (draws > 0.0).mean(axis=0))


def test_labels_are_those_of_the_draws(fit):
    draws = fit.posterior["beta"].sel(component=2, term_mean="z").to_numpy()[0]
    assert fit.summary().loc[[("mean", 2, "z")], "mean"].item() == pytest.approx(draws.mean())


def test_several_responses_have_their_own_rows(regimes):
    data = regimes.assign(u=regimes["x"] + np.cos(np.arange(150)))
    fit = bvb.DensityRegression("y + u ~ x | gating(x)", data, n_components=2).fit(
        seed=1, restarts=1, draws=50
    )
    table = fit.summary()
    assert table.index.is_unique
    terms = table.loc["mean"].loc[1].index.tolist()
    assert terms == ["y: Intercept", "y: x", "u: Intercept", "u: x"]
    slope = fit.posterior["beta"].sel(component=1, response="u", term_mean="x")
    row = table.loc["mean"].loc[1].loc["u: x"]
    assert row["mean"] == pytest.approx(float(slope.mean()))
    assert table.loc["sigma"].loc[2].index.tolist() == ["y", "u"]


def test_components_add_up(fit):
    table, posterior = fit.components(), fit.posterior
    assert table.index.tolist() == [1, 2, 3]
    assert table.index.name == "component"
    assert list(table)[:5] == ["share", "share_lower", "share_upper", "rows", "membership_prob"]
    assert table["share"].sum() == pytest.approx(1.0)
    assert_allclose(table["share"], posterior["share"].mean(("chain", "draw")))
    assert_allclose(table["sigma"], posterior["sigma"].mean(("chain", "draw")))
    assert (table["share_lower"] <= table["share_upper"]).all()
    likely = fit.responsibilities()
    counts = likely.idxmax(axis=1).value_counts().reindex([1, 2, 3], fill_value=0)
    assert_array_equal(table["rows"], counts)
    for component, row in table.iterrows():
        own = likely.loc[likely.idxmax(axis=1) == component, component]
        assert row["membership_prob"] == pytest.approx(own.mean(), nan_ok=True)


def test_shares_are_averages_of_the_weights_over_rows(fit, regimes):
    weights = fit.weights_at(regimes).mean(axis=1)
    assert_allclose(fit.posterior["share"].to_numpy()[0], weights, rtol=1e-9)


def test_shares_count_rows_by_their_case_weight(regimes):
    heavy = np.where(regimes["y"] > 0.0, 9.0, 1.0)
    fit = bvb.DensityRegression("y ~ x", regimes, n_components=2, weights=heavy).fit(
        seed=1, restarts=1, draws=50
    )
    weights = fit.weights_at(regimes)
    expected = np.average(weights, axis=1, weights=heavy)
    assert_allclose(fit.posterior["share"].to_numpy()[0], expected, rtol=1e-9)
    assert fit.components()["share"].iloc[0] > 0.7


def test_the_table_is_a_plain_frame(fit):
    text = fit.summary().reset_index().to_json(orient="records")
    back = pd.read_json(StringIO(text), orient="records")
    assert len(back) == len(fit.summary())


def test_parts_of_the_table_are_found_without_a_warning(fit):
    table = fit.summary()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        first = table.loc[("mean", 1)]
        shown = table.loc[("gating", 2)] if "gating" in table.index else first
        slopes = table.loc[("mean", slice(None), "x")]
    assert first.index.tolist() == ["Intercept", "x", "z"] and len(shown) >= 2
    assert slopes.index.get_level_values("component").tolist() == [1, 2, 3]
    parts = list(dict.fromkeys(table.index.get_level_values("part")))
    assert parts[0] == "mean" and parts[-1] == "share"
    assert not in_reading_order(table.index[::-1]).equals(table.index)
    assert in_reading_order(table.index[::-1]).equals(table.index[::-1])


def test_what_is_known_has_no_spread():
    """Not that of rounding: the weights of a gate that knows them."""
    values = np.full((33, 2), 1.0 / 3.0)
    known = NamedDraws({"share": values}, {"share": ["component"]}, {"component": [1, 2]},
                       {"share": "share"})  # fmt: skip
    fit = Mock(spec=AbstractFit, covariance="mean-field", response=SimpleNamespace(failure=None))
    fit.model, fit.named_draws = Mock(spec=AbstractPublicModel), known
    fit.is_point_estimate, fit.engine, fit.chains = False, Cavi(), 1
    assert (values.std(axis=0, ddof=1) > 0.0).all()
    assert coefficient_table(fit)["sd"].tolist() == [0.0, 0.0]
