"""Comparison on a page: the numbers of ``bvb.compare``, also of fits on two scales."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.page import page_summary
from bayesvb.reports.sections.comparison import comparison

FEW = {"seed": 1, "restarts": 1, "draws": 60}


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    data = pd.DataFrame({"x": x, "y": np.exp(1.0 + 0.5 * x + 0.3 * rng.normal(size=80))})
    made = {
        name: bvb.DensityRegression(f"{name} ~ x", data, n_components=1).fit(**FEW)
        for name in ("log(y)", "log1p(y)")
    }
    others = data.assign(z=data["y"])
    return made | {"z": bvb.DensityRegression("log(z) ~ x", others, n_components=1).fit(**FEW)}


def test_fits_of_one_response_on_two_scales_are_compared_as_it_is_in_the_data(fits):
    two = {name: fits[name] for name in ("log(y)", "log1p(y)")}
    found, expected = comparison(two), bvb.compare(two, jacobian=True)
    assert found["why_not"] is None
    assert found["best"] == expected.index[0] == "log(y)"
    assert "log densities refer to y in the units of the data" in found["left_out"]
    at = [found["table"]["titles"].index(name) for name in ("elpd", "difference")]
    for row in found["table"]["rows"]:
        given = expected.loc[row["heads"][0], ["elpd", "elpd_diff"]]
        np.testing.assert_allclose([row["cells"][i] for i in at], given.astype(float), atol=1e-8)


def test_other_responses_are_still_refused_and_said_to_be(fits):
    found = comparison({"y": fits["log(y)"], "z": fits["z"]})
    assert "densities describe different responses" in found["why_not"]


def test_one_scale_is_not_spoken_of(fits):
    found = comparison({"a": fits["log(y)"], "b": fits["log(y)"]})
    assert "scale" not in found["left_out"]


def test_the_first_screen_has_the_difference_the_best_fit_and_how_rows_were_held_out(fits):
    two = {name: fits[name] for name in ("log(y)", "log1p(y)")}
    told = page_summary(two)["comparison"]
    strip = told["answer"]["strip"]
    assert [cell["title"] for cell in strip] == [
        "Difference", "Best fit, log(y)", "Held-out scores"
    ]  # fmt: skip
    frame = bvb.compare(two, jacobian=True)
    errors = -frame["elpd_diff"].iloc[1] / frame["dse"].iloc[1]
    assert float(strip[0]["says"].split()[0]) == pytest.approx(errors, abs=0.006)
    assert "same 80 rows" in strip[2]["says"]
    (panel,) = told["answer"]["panels"]
    assert [row["label"] for row in panel["rows"]] == list(frame.index)
    assert panel["rows"][1]["estimate"] == pytest.approx(frame["elpd_diff"].iloc[1])
    assert len(told["finding"]["multiples"]) == 2


def test_fits_are_drawn_along_one_covariate():
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "w"])
    data["y"] = data["x"] + 0.4 * data["w"] + 0.3 * rng.normal(size=80)
    formulas = {"both": "y ~ x + w", "one": "y ~ w", "most": "y ~ w + x:w"}
    made = {name: bvb.DensityRegression(formula, data, n_components=1).fit(**FEW)
            for name, formula in formulas.items()}  # fmt: skip
    along = {one["name"]: one["along"] for one in page_summary(made)["fits"]}
    assert along == {"both": "x", "one": "w", "most": "x"}
