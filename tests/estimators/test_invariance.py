"""Fits again to the rows in other forms: nothing moves, or the prior that is to blame is found."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError

RNG = np.random.default_rng(3)
DATA = pd.DataFrame({"x": RNG.normal(size=50), "z": 1.0 + RNG.random(50)})
DATA["g"] = RNG.choice(list("abc"), 50)
DATA["y"] = DATA["x"] + (DATA["g"] == "b") + 0.5 * RNG.normal(size=50)
FEW = {"seed": 1, "restarts": 1, "draws": 25}


def test_a_default_prior_is_invariant():
    model = bvb.DensityRegression("y ~ x * g + log(z)", DATA, n_components=1)
    table = model.fit(**FEW).invariance()
    assert list(table.index) == [
        "rows in another order", "columns shifted", "columns scaled", "levels in another order",
        "response in other units",
    ]  # fmt: skip
    assert not table["moved"].any()
    assert table["largest"].max() < 1e-6
    assert table["elbo"].abs().max() < 1e-6


def test_a_prior_without_standardisation_is_found_out():
    priors = bvb.Priors(standardize=False, coefficient_sd=0.5)
    model = bvb.DensityRegression("y ~ x", DATA, n_components=1, priors=priors)
    fit = model.fit(**FEW)
    assert "Invariance" not in bvb.report_section(fit, "computation").html
    fit.cache["report parts"] = {"computation": "as written before"}
    table = fit.invariance()
    assert not fit.cache.get("report parts")
    assert table.loc[["columns shifted", "response in other units"], "moved"].all()
    assert not table.loc["rows in another order", "moved"]
    section = bvb.report_section(fit, "computation")
    said = section.numbers["invariance"]
    assert said["changed"] == list(table.index[table["moved"]])
    assert said["largest"] == pytest.approx(table["largest"].max(), rel=1e-3)
    assert "The fit changes with columns shifted" in section.html


@pytest.mark.parametrize(
    ("model", "changes"),
    [
        (lambda: bvb.BayesianPCA("~ x + z + y", DATA), 2),
        (lambda: bvb.DensityRegression("log(z) ~ x", DATA, n_components=1), 3),
        (lambda: bvb.DensityRegression("y ~ s(x, k=4) + (1 | g)", DATA, n_components=1), 5),
        (lambda: bvb.Normal("y ~ 1", DATA), 2),
    ],
)
def test_only_what_leaves_the_model_as_it_is_is_changed(model, changes):
    """No unit within a function, no scale of variables that share one."""
    table = model().fit(**FEW).invariance()
    assert len(table) == changes
    assert table["largest"].max() < 1e-5


def test_all_rows_are_needed():
    fit = bvb.DensityRegression("y ~ x", DATA[:30], n_components=1).fit(**FEW)
    with pytest.raises(DataError, match="invariance needs all rows in memory"):
        fit.update(DATA[30:]).invariance()
