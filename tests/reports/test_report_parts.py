"""Parts of a report on their own: numerals, tables, figures, profiles, the linear baseline."""

import json
import re
from importlib.resources import files

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import bayesvb as bvb
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.reports.cells.numerals import numeral
from bayesvb.reports.cells.plain import plain
from bayesvb.reports.cells.tables import MOST_ROWS, shaded, table
from bayesvb.reports.page import twin
from bayesvb.reports.rows.profiles import (
    covariate,
    labels,
    most_moving,
    profile,
    quantiles_moved,
    weights_moved,
)
from bayesvb.reports.sections.reproduce import data_hash


@given(st.floats(-1e300, 1e300), st.integers(0, 4))
def test_a_numeral_reads_back_as_its_number(value, decimals):
    text = numeral(value, decimals)
    back = text.replace(",", "").replace("−", "-")
    if "×10" in back:
        mantissa, exponent = back.split("×10")
        back = mantissa + "e" + exponent.translate(str.maketrans("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789"))
    assert float(back) == pytest.approx(value, rel=0.05, abs=0.5001 * 10.0**-decimals)
    assert "e" not in text and "-" not in text


def test_thousands_have_commas_unless_a_covariate_may_be_a_year():
    assert numeral(1234) == numeral(1234.4) == "1,234" and numeral(-12345.5, 1) == "−12,345.5"
    assert labels([1990.0, 2010.0]) == ["1990", "2010"]
    assert labels([500.0, 2010.0]) == ["500", "2,010"]
    assert labels([1990.5, 2010.0]) == ["1,990.5", "2,010.0"]
    assert labels([-12345.0, 1990.0]) == ["−12,345", "1,990"]
    assert numeral([0.25, -1.0], 2) == "0.25 to −1.00"


def test_plain_values_survive_json_without_special_numbers():
    given_values = {"a": np.float64("nan"), "b": [np.inf, -np.inf], 3: np.array([[1, 2]]),
                    "c": pd.NA, "d": np.bool_(True)}  # fmt: skip
    found = plain(given_values)
    assert found == {"a": None, "b": ["∞", "−∞"], "3": [[1, 2]], "c": "<NA>", "d": True}
    json.dumps(found, allow_nan=False)


def test_the_twin_cannot_end_its_own_element():
    text = twin({"name": "</script><!--&amp;"})
    assert not re.search("[<>&]", text) and json.loads(text)["name"] == "</script><!--&amp;"


def test_a_long_table_is_cut_and_says_how_much_is_missing():
    frame = pd.DataFrame({"a": np.arange(400.0), "t": "text"}, index=pd.RangeIndex(400, name="i"))
    found = table(frame, "Rows.", titles={"a": "A"}, decimals={"a": 1}, rest="all()")
    assert (len(found["rows"]), found["left_out"]) == (MOST_ROWS, 400 - MOST_ROWS)
    assert found["titles"] == ["A", "t"] and found["text"] == ["", "text"] and found["folded"]
    assert found["rows"][3] == {"heads": [3], "cells": [3.0, "text"], "decimals": [1, None]}


def mixed() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    n = 90
    columns = {
        "x": rng.normal(size=n),
        "k": rng.integers(0, 2, n),
        "b": rng.random(n) < 0.3,
        "g": pd.Categorical(rng.choice(["lo", "hi"], n), ["lo", "mid", "hi"]),
        "t": rng.choice(list("abcdefghijklmnop"), n),
        "y": rng.normal(size=n),
    }
    return pd.DataFrame(columns)


def test_numbers_with_few_values_truth_values_and_text_are_levels():
    design = build_design(parse_formula("y ~ x + k + b + g + t"), mixed())
    kinds = {name: covariate(design, name).discrete for name in design.covariates}
    assert kinds == {"x": False, "k": True, "b": True, "g": True, "t": True}
    assert covariate(design, "g").values == ("lo", "hi")  # the order of the levels, without empty
    assert covariate(design, "k").values == (0.0, 1.0) and len(covariate(design, "t").values) == 12


@pytest.mark.heavy
def test_a_profile_varies_one_covariate_and_holds_the_others_at_typical_values():
    frame = mixed()
    model = bvb.DensityRegression("y ~ x + k + b + g + t", frame, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=30)
    for name in model.design.covariates:
        found = profile(fit, name)
        others = found.frame.drop(columns=name)
        assert (others.nunique() == 1).all() and len(found.frame) == len(found.values)
        assert fit.predict(found.frame).notna().all()
    along_x = profile(fit, "x")
    assert along_x.x[0] == frame["x"].min() and along_x.x[-1] == frame["x"].max()
    assert along_x.frame["k"].iloc[0] == frame["k"].mode().iloc[0]
    assert along_x.fixed.startswith("at k = ")
    assert profile(fit, "k").frame["x"].iloc[0] == pytest.approx(frame["x"].median())


def test_the_covariate_that_moves_the_weights_most_is_found():
    rng = np.random.default_rng(2)
    x, z, noise = rng.normal(size=(3, 300))
    y = np.where(rng.random(300) < 1.0 / (1.0 + np.exp(-4.0 * z)), 3.0, -3.0) + x + 0.3 * noise
    data = pd.DataFrame({"x": x, "z": z, "y": y})
    fit = bvb.DensityRegression("y ~ x + z", data, n_components=2).fit(seed=1, restarts=3, draws=30)
    assert most_moving(fit, weights_moved) == "z"
    flat = bvb.DensityRegression("y ~ x", data, n_components=2, gate="dirichlet")
    assert most_moving(flat.fit(seed=1, restarts=1, draws=30), weights_moved) is None


def test_labels_have_the_decimals_that_tell_values_apart():
    assert labels([0.0, 1.0]) == ["0", "1"] and labels([0.0347, 1.68]) == ["0.03", "1.68"]
    assert labels(["a", "b"]) == ["a", "b"]


def test_a_row_without_counts_has_no_shares():
    counts = pd.DataFrame([[3, 1], [0, 0]], index=["some", "none"], columns=["a", "b"])
    found = shaded(counts, "Counts.", corner="row", across="column")["lines"]
    assert [line["total"] for line in found] == [4, 0]
    np.testing.assert_array_equal([line["shares"] for line in found], [[0.75, 0.25], [0.0, 0.0]])


def test_a_response_moves_as_far_as_its_line_relative_to_its_width(rng):
    """One line: quantiles move by slope times range, and are 2 x 1.645 noise sd apart."""
    x = np.linspace(0.0, 10.0, 400)
    data = pd.DataFrame({"x": x, "y": 0.5 * x + 2.0 * rng.normal(size=400)})
    fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit(seed=1, restarts=1, draws=30)
    slope, noise = (fit.summary()["mean"].loc[part].iloc[-1] for part in ("mean", "sigma"))
    rows = profile(fit, "x", [2.0, 5.0, 8.0])
    expected = 6.0 * slope / (2.0 * 1.645 * noise)
    # Student t with 400 degrees of freedom, and the uncertainty of the line: less than 1 %
    assert quantiles_moved(fit, rows, "y") == pytest.approx(expected, rel=0.02)


@pytest.mark.parametrize(("n_others", "ending"), [(5, "x5 = 0"), (6, "x5 = 0 and 1 more")])
def test_a_caption_names_five_covariates_and_counts_the_others(n_others, ending):
    names = [f"x{i}" for i in range(n_others + 1)]
    data = pd.DataFrame(np.linspace(-1.0, 1.0, 21)[:, None] ** np.arange(1, 14, 2)[None])
    data = data.iloc[:, : len(names)].set_axis(names, axis=1).assign(y=np.arange(21.0) ** 1.5)
    model = bvb.DensityRegression("y ~ .", data, n_components=1)
    found = profile(model.fit(seed=1, restarts=1, draws=30), "x0")
    assert found.fixed.startswith("at x1 = 0, x2 = 0, ")
    assert found.fixed.endswith(f"{ending} (medians, or the most frequent value)")


def test_the_hash_knows_values_but_not_the_index():
    data = mixed()[["x", "g"]]
    assert data_hash(data) == data_hash(data.set_index(data.index + 5))
    assert data_hash(data) != data_hash(data.assign(x=data["x"] + 1e-12))


def schemes() -> dict[str, dict[str, str]]:
    """Colours of the style sheet by scheme."""
    css = files("bayesvb.reports").joinpath("static/report.css").read_text(encoding="utf-8")
    roots = re.findall(r":root \{(.*?)\}", css, flags=re.DOTALL)
    found = [dict(re.findall(r"--([\w-]+): (#\w+)", root)) for root in roots]
    return dict(zip(("light", "dark", "paper"), found, strict=True))


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * one for one in colour[1:])
    share = np.array([int(digits[i : i + 2], 16) for i in (0, 2, 4)]) / 255.0
    linear = np.where(share <= 0.04045, share / 12.92, ((share + 0.055) / 1.055) ** 2.4)
    return float(linear @ [0.2126, 0.7152, 0.0722])


def contrast(one: str, other: str) -> float:
    dark, light = sorted([luminance(one), luminance(other)])
    return (light + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("scheme", ["light", "dark", "paper"])
def test_text_and_lines_stand_out_from_what_is_behind_them(scheme):
    colours = schemes()[scheme]
    for behind in (colours["bg"], colours["panel"]):
        for name in ("fg", "mute", "accent", "ok", "note", "problem"):
            assert contrast(colours[name], behind) >= 4.5, name
        for name in (one for one in colours if one.startswith("series")):
            assert contrast(colours[name], behind) >= 3.0, name
    for name in ("ok", "note", "problem"):
        assert contrast(colours[name], colours[f"{name}-bg"]) >= 4.5
