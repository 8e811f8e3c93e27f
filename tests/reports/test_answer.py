"""The first screen of a page: question, verdicts, effects and data, equal wherever written."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.answer import answer, question_of, strip
from bayesvb.reports.cells.plain import plain
from bayesvb.reports.choices import labelled_fits
from bayesvb.reports.page import Choices, html, page_summary
from bayesvb.reports.panels.effects import MOST_EFFECTS, effects_panel
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.finding import sentences
from bayesvb.results.checks.base import Check

FEW = {"seed": 1, "restarts": 1, "draws": 80}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    frame = pd.DataFrame(rng.normal(size=(90, 9)), columns=list("abcdefghx"))
    frame["w"] = rng.choice(["low", "high"], 90)
    frame["y"] = 3.0 * frame["x"] - 2.0 * frame["a"] + rng.normal(size=90)
    return frame


@pytest.fixture(scope="module")
def fit(data):
    return bvb.DensityRegression("y ~ x + a + w", data, n_components=1).fit(**FEW)


def check(name="Mean by x", group="fit", grade="ok", p_value=0.5):
    return Check(name, group, grade, 1.0, "", p_value, "", "do this", "calibration")


def test_sentence_panel_table_and_text_show_the_same_numbers(fit):
    panel = effects_panel(fit)["rows"][0]
    stated = re.search(r"From x = .* rises by (\S+) on average \(89% interval (\S+) to ([^)]+)\)",
                       sentences(fit, [])[0])  # fmt: skip
    decimals = len(stated[1].partition(".")[2])
    shown = [f"{number:.{decimals}f}" for number in (panel["estimate"], *panel["interval"])]
    assert list(stated.groups()) == shown
    table = SECTIONS["effects"].summary(fit)["table"]["rows"]
    assert table[0]["cells"] == [panel["estimate"], panel["interval"]]
    assert f"rises by {stated[1]} on average" in fit.report_text()


def test_effects_are_sorted_and_those_that_include_zero_are_counted(data):
    formula = "y ~ " + " + ".join("abcdefghxw")
    fit = bvb.DensityRegression(formula, data, n_components=1).fit(**FEW)
    panel = effects_panel(fit)
    sizes = [abs(row["estimate"]) for row in panel["rows"]]
    assert [row["label"] for row in panel["rows"][:2]] == ["x", "a"]
    assert sizes == sorted(sizes, reverse=True) and len(sizes) <= MOST_EFFECTS
    assert all(np.prod(row["interval"]) > 0.0 for row in panel["rows"])
    assert len(sizes) + panel["n_smaller"] + panel["n_unclear"] == 10
    places = np.array([row["places"] for row in panel["rows"]])
    assert (np.diff(places) >= 0.0).all() and places.min() == 0.0 and places.max() == 100.0


def test_the_question_names_columns_until_there_are_too_many(fit, data):
    assert question_of(fit) == "How does y depend on a, x and w?"
    many = bvb.DensityRegression("y ~ " + " + ".join("abcdefgh"), data, n_components=1)
    assert question_of(many.fit(**FEW)) == "How does y depend on a, b, c, d, e and 3 more?"
    alone = bvb.DensityRegression("y ~ 1", data, n_components=1).fit(**FEW)
    assert question_of(alone) == "How is y distributed?"
    assert question_of(bvb.Normal("y ~ 1", data).fit(seed=1)) == "What is the mean of y?"
    two = bvb.GaussianMixture("~ x + y", data, n_components=2).fit(**FEW)
    assert question_of(two) == "Which clusters are there in x and y?"


@pytest.mark.parametrize(
    ("checks", "grade", "says"),
    [
        ([check(), check("Tails")], "ok", "No misfit detected in 2 tests."),
        ([check(grade="note"), check("Tails")], "note", "Mean by x: do this"),
        ([check(grade="problem"), check("Tails", grade="problem"), check("Shape", grade="note")],
         "problem", "Mean by x and 1 more: do this"),
        ([replace(check(grade="problem"), remedy="do " + "much " * 30)], "problem", "Mean by x."),
        ([replace(check(grade="note"), remedy="Do it. Then " + "do much " * 20)], "note",
         "Mean by x: Do it."),
    ],
)  # fmt: skip
def test_the_first_cell_has_the_grade_of_the_worst_check(checks, grade, says):
    (cell, *_) = strip({}, checks)
    assert (cell["grade"], cell["says"], cell["remedy"]) == (grade, says, grade != "ok")


@pytest.mark.parametrize(
    ("deviation", "left_out", "says", "grade"),
    [
        (0.3, "row", "90% intervals hold 91.0% of 90 held-out rows (leave-one-out).", "ok"),
        (-2.5, "fold", "held-out rows (folds). That is 2.5 standard errors from 90%.", "note"),
    ],
)
def test_the_second_cell_has_the_coverage_of_rows_left_out(deviation, left_out, says, grade):
    row = {"heads": ["middle 90%"], "cells": [90.0, 91.0, 3.0, deviation]}
    found = {
        "left_out": left_out,
        "n_rows": 90,
        "responses": [{"name": "y", "coverage": {"rows": [row]}}],
    }
    (cell,) = strip({"calibration": found}, [])
    assert cell["grade"] == grade and cell["says"].endswith(says)
    (cell,) = strip({"calibration": {**found, "censored": True}}, [])
    assert cell["word"] == "not tested" and "some values are censored" in cell["says"]
    seen = {**found, "left_out": ""}
    assert strip({"calibration": seen}, []) == []  # rows of the fit say nothing of new ones
    worse = check("Beside a linear model", "accuracy", "problem", float("nan"))
    (cell,) = strip({"calibration": found}, [worse])
    assert cell["says"] == "Beside a linear model: do this" and cell["grade"] == "problem"


def test_a_spread_that_no_covariate_can_change_is_stated(fit, data):
    says = answer(fit, {}, [check()])["strip"][0]["says"]
    assert says == "No misfit detected in 1 test. The model holds the spread constant."
    counts = data.assign(n=np.arange(90) % 5)
    model = bvb.DensityRegression("n ~ x", counts, n_components=1, family="poisson")
    assert "constant" not in answer(model.fit(**FEW), {}, [check()])["strip"][0]["says"]


def test_censored_rows_and_the_labels_of_columns_that_lack_values_are_in_the_data_line(data):
    rows = data.head(60).assign(top=data["y"] > 3.0)
    rows.loc[:2, "a"] = np.nan
    model = bvb.DensityRegression("cens(y, top) ~ a", rows, n_components=1)
    labelled = labelled_fits({"": model.fit(**FEW)}, {"a": "the label"})[""]
    line = answer(labelled, {}, [])["data"]
    assert line["censored"] == rows["top"].iloc[3:].sum() and line["given"] == 60
    (response,) = SECTIONS["calibration"].summary(labelled)["responses"]
    assert response["coverage_by"] is None
    assert line["missing_in"] == "`the label` in 3"


@pytest.mark.parametrize(("p", "grade", "says"), [
    (0.4, "ok", "No miscalibration of probabilities detected in 90 held-out rows (leave-one-out)"
                ", p = 0.40."),
    (0.004, "note", "Miscalibrated in 90 held-out rows (leave-one-out), p < 0.01."),
])  # fmt: skip
def test_the_second_cell_of_events_and_classes_is_their_calibration(p, grade, says):
    found = {"left_out": "row", "n_rows": 90, "responses": [], "p_value": p}
    (cell,) = strip({"calibration": found}, [])
    assert (cell["grade"], cell["says"]) == (grade, says)
    (_, cell) = strip({}, [check("Class probabilities", p_value=p)])
    assert cell["grade"] == grade and "held-out rows (folds)" in cell["says"]


def test_editions_differ_in_what_follows_and_the_author_has_a_word(fit):
    pages = {
        name: html(page_summary({"": fit}, Choices(edition=name, notes=("Chosen among five.",))))
        for name in (None, "short", "full")
    }
    assert '<details id="full" class="full">' in pages[None]
    assert '<details id="full" class="full" open>' in pages["full"]
    assert 'id="full"' not in pages["short"] and '"#full"' not in pages["short"]
    assert all("<li>Chosen among five.</li>" in page for page in pages.values())
    own = Choices(question="Does x matter?", source="Survey of 2026")
    page = html(page_summary({"": fit}, own))
    assert "<h1>Does x matter?</h1>" in page and "Survey of 2026" in page


def test_the_short_edition_computes_only_what_it_shows(fit, monkeypatch):
    page = html(page_summary({"": fit}, Choices(edition="short")))
    for name, section in SECTIONS.items():
        needed = section.short is section.summary
        monkeypatch.setitem(SECTIONS, name, section if needed else replace(section, summary=None))
    fresh = page_summary({"": replace(fit)}, Choices(edition="short"))
    assert html(fresh) == page  # whatever the fit keeps


def is_part_of(few, many):
    """Whether all values of a summary are in another one, by name."""
    if isinstance(few, dict):
        return all(is_part_of(value, many[name]) for name, value in few.items())
    if isinstance(few, list):
        return len(few) == len(many) and all(map(is_part_of, few, many))
    return few == many


@pytest.mark.parametrize(
    "name", [name for name, one in SECTIONS.items() if one.short not in (None, one.summary)]
)
def test_what_the_short_edition_reads_is_in_the_section(name, fit, class_fit):
    for each in (fit, class_fit):
        section = SECTIONS[name]
        assert is_part_of(plain(section.short(each)), plain(section.summary(each)))


@pytest.mark.heavy
def test_a_best_fit_with_a_problem_is_announced_as_such():
    x = np.linspace(-2.0, 2.0, 120)
    noise = np.random.default_rng(2).normal(size=120)
    data = pd.DataFrame({"x": x, "y": x**2 + 0.4 * noise})
    fits = {
        name: bvb.DensityRegression(formula, data, n_components=1).fit(**FEW)
        for name, formula in (("line", "y ~ x"), ("mean", "y ~ 1"))
    }
    told = page_summary(fits)
    lead = told["comparison"]["reading"]
    assert re.match(r"\w+ predicts best but does not fit the data \(.+\)\. ", lead)
    assert told["question"] == "Which of 2 models predicts y best?"
    assert page_summary({"a": replace(fits["line"])})["comparison"] is None


def test_missing_values_that_the_fit_keeps_are_counted(tmp_path):
    data = bvb.datasets.load("iris").drop(columns="label")
    data.iloc[:3, 0] = np.nan
    fit = bvb.BayesianPCA("~ .", data).fit(seed=1, restarts=1)
    page = fit.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert "150 of 150 rows used; 3 missing values in them" in page
    assert "none with missing values" not in page
