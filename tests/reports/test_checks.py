"""Checks as a report shows them, and limits of what it says, on both sides of each."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.cells.checks import checks_table, shown
from bayesvb.reports.cells.markup import code
from bayesvb.reports.sections import calibration, comparison, computation, replicates
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.table import checks


def check(grade="ok", *, group="fit", p=0.5, weighs=True):
    remedy = "" if grade == "ok" else "Do so."
    return Check("Tails", group, grade, 0.25, "excess kurtosis", p, "note: p < 0.1", remedy,
                 "calibration", weighs)  # fmt: skip


def test_a_card_says_what_was_found_and_what_to_do():
    card = shown(check("problem", p=0.002))
    assert card["value"] == "excess kurtosis: 0.250; adjusted p = 0.002"
    assert (card["remedy"], card["grade"], card["section"]) == ("Do so.", "problem", "calibration")
    assert shown(check(p=np.nan))["value"] == "excess kurtosis: 0.250"
    assert shown(check("problem", p=1e-9))["value"].endswith("adjusted p < 0.001")


def test_only_backticks_make_code_of_a_text():
    assert str(code("a < b: `x:z` & `y`")) == "a &lt; b: <code>x:z</code> &amp; <code>y</code>"


def test_the_table_of_the_page_is_that_of_the_fit(regimes_fit):
    """Every cell, in the same order."""
    given, on_page = regimes_fit.check().drop(columns="edits"), checks_table(checks(regimes_fit))
    assert [row["heads"][0] for row in on_page["rows"]] == list(given.index)
    assert on_page["titles"] == ["p" if one == "p_value" else one for one in given]
    for row, (_, cells) in zip(on_page["rows"], given.iterrows(), strict=True):
        for cell, value in zip(row["cells"], cells, strict=True):
            assert cell == value or (np.isnan(cell) and np.isnan(value))


@pytest.mark.parametrize(("gap", "near"), [(0.999, 2), (1.001, 1)])
def test_a_restart_is_near_if_its_bound_is_within_a_nat(gap, near, regimes_fit):
    restarts = regimes_fit.restarts.copy()
    restarts["elbo"] = restarts["elbo"].max()
    restarts.loc[restarts.index != regimes_fit.best_restart, "elbo"] -= gap
    found = computation.summary(replace(regimes_fit, restarts=restarts))
    assert found["n_near"] == near


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.005, None), (0.004, "largest (too small)"), (0.995, None), (0.996, "largest (too large)")],
)
def test_a_statistic_is_named_if_its_p_value_is_in_a_tail(p, words):
    said = replicates.reading({"mean": 0.5, "largest": p})
    assert said.endswith("in all of these respects.") if words is None else words in said


@pytest.mark.parametrize(("gap", "clear"), [(6.01, True), (5.99, False)])
def test_the_best_fit_is_clearly_better_from_two_errors_on(gap, clear):
    frame = pd.DataFrame({"elpd_diff": [0.0, -gap], "dse": [0.0, 3.0]}, index=["one", "other"])
    said = comparison.reading(frame)
    assert said.startswith("one is clearly better than other" if clear else "one is ahead of, but")


def test_the_shading_of_pit_medians_is_two_standard_errors():
    """The median of n uniform values has variance 1 / (4 n) for large n, 1 / (4 n + 8) exactly."""
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"g": np.repeat(list("abc"), [90, 30, 9]), "y": rng.normal(size=129)})
    data["y"] += np.where(data["g"] == "a", 3.0, 0.0)
    fit = bvb.DensityRegression("y ~ g", data, n_components=1).fit(seed=1, restarts=1, draws=30)
    figure = calibration.summary(fit)["responses"][0]["bins"]
    labels = [text for _, text in figure["y_labels"]]
    assert labels == ["a", "b"]  # nine rows say too little
    boxes = re.search(r'class="shade" d="([^"]*)"', figure["drawing"])[1].split("Z")
    ends_of = (re.findall(r"M(\d+) .*H(\d+)", box) for box in boxes if box)
    shading = {label: ends[0] for label, ends in zip(labels, ends_of, strict=True)}
    for label, n_rows in (("a", 90), ("b", 30)):
        ends = tuple(float(end) / 1000.0 for end in shading[label])
        medians = np.median(rng.uniform(size=(20_000, n_rows)), axis=1)
        assert ends == pytest.approx((0.5 - 2 * medians.std(), 0.5 + 2 * medians.std()), abs=0.01)
