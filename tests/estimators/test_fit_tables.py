"""The plug-in protocol of maketables: columns, names and statistics that it asks for."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.estimators.fit_tables import INTERNAL


@pytest.fixture(scope="module")
def data() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.standard_normal(300)
    first = rng.random(300) < 0.5
    y = np.where(first, 2.0 + x, -2.0 - x) + 0.4 * rng.standard_normal(300)
    return pd.DataFrame({"x": x, "y": y, "line": x + rng.standard_normal(300)})


def test_the_table_has_the_columns_of_the_protocol(data):
    fit = bvb.DensityRegression("line ~ x", data, n_components=1).fit(seed=1)
    table = fit.__maketables_coef_table__
    assert table.index.name == "Coefficient"
    assert list(table.index) == ["Intercept", "x"]
    assert {"b", "se", "t", "p", "ci95l", "ci95u", "ci90l", "ci90u"} == set(table)
    summary = fit.summary(prob=0.9).loc[("mean", 1)]
    np.testing.assert_allclose(table["b"], summary["mean"][:2])
    np.testing.assert_allclose(table["ci90l"], summary["lower"][:2])
    assert (table["ci95l"] < table["ci90l"]).all()


def test_the_p_value_is_that_of_a_z_test_in_large_samples(data):
    from scipy.stats import norm

    weak = data.assign(x=np.random.default_rng(5).standard_normal(300))
    fit = bvb.DensityRegression("line ~ x", weak, n_components=1).fit(seed=1, draws=4000)
    table = fit.__maketables_coef_table__.loc["x"]
    assert table["p"] == pytest.approx(2.0 * norm.sf(abs(table["b"] / table["se"])), abs=0.05)


def test_names_have_part_and_component_where_there_are_several(data):
    fit = bvb.DensityRegression("y ~ x", data, n_components=2).fit(seed=1, restarts=2)
    names = list(fit.__maketables_coef_table__.index)
    assert len(set(names)) == len(names)
    assert "mean: x[1]" in names and any(name.startswith("gating: ") for name in names)


def test_statistics_are_known_by_their_keys(data):
    fit = bvb.DensityRegression("line ~ x", data, n_components=1).fit(seed=1)
    assert fit.__maketables_stat__("N") == 300
    assert fit.__maketables_stat__("r2") == pytest.approx(float(fit.r2()["estimate"].iloc[0]))
    assert fit.__maketables_stat__("family") == "gaussian"
    assert fit.__maketables_stat__("unknown") is None
    assert fit.__maketables_depvar__ == "line"
    assert set(fit.__maketables_default_stat_keys__) <= set(fit.__maketables_stat_labels__)


def test_models_without_a_response_have_a_table_too(data):
    fit = bvb.GaussianMixture("~ x + y", data, n_components=2).fit(seed=1, restarts=1)
    assert fit.__maketables_coef_table__["b"].notna().all()
    assert fit.__maketables_stat__("r2") is None


def test_completion_lists_public_names_only(data):
    fit = bvb.DensityRegression("line ~ x", data, n_components=1).fit(seed=1)
    names = [name for name in dir(fit) if not name.startswith("_")]
    assert len(names) < 70 and {"predict", "summary", "plot", "report", "elbo"} < set(names)
    assert all(hasattr(fit, name) for name in INTERNAL)
