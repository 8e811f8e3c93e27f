"""What the author of a page chooses: the covariate of the finding, and labels of columns."""

import inspect
import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports import page as page_module
from bayesvb.reports.cells.names import LONGEST, cut
from bayesvb.reports.choices import Choices, labelled_fits
from bayesvb.reports.page import html, page_summary

LABELS = {
    "x": "Years of education",
    "y": "Hourly wage",
    "z": "A name that is " + 10 * "long, " + "end",
}


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(60, 2)), columns=["x", "z"])
    data["y"] = 3.0 * data["x"] + data["z"] + rng.normal(size=60)
    return bvb.DensityRegression("y ~ x + z", data, n_components=1).fit(seed=1, draws=50)


def short(fit, **choices):
    return page_summary({"": fit}, Choices(edition="short", **choices))


@pytest.mark.parametrize("label", ["Age", "Age (years)"])
def test_a_unit_is_written_once(fit, label):
    (named,) = labelled_fits({"": fit.with_units({"x": "years"})}, {"x": label}).values()
    assert named.model.design.label("x") == "Age (years)"


def test_the_covariate_that_is_asked_for_is_stated_drawn_and_checked(fit):
    first = short(fit)["fits"][0]
    assert first["finding"]["sentences"][0].startswith("From x = ")
    chosen = short(fit, along="z")["fits"][0]
    assert chosen["finding"]["sentences"][0].startswith("From z = ")
    assert chosen["finding"]["figure"]["x_title"] == "z"
    (response,) = chosen["sections"]["calibration"]["responses"]
    assert response["coverage_by"]["heads"] == ["z"]
    assert chosen["answer"]["panels"] == first["answer"]["panels"]  # which has all covariates
    assert chosen["finding"]["sentences"][0] in fit.report_text(along="z")
    several = page_summary({"a": fit, "b": fit}, Choices(edition="short", along="z"))
    assert [one["finding"]["sentences"][0][:6] for one in several["fits"]] == ["From z"] * 2


def test_a_choice_of_components_and_a_comparison_are_reported_with_the_same_arguments(
    fit, tmp_path
):
    chosen = bvb.select(fit.model, [1], seed=1, restarts=1, draws=50)
    choices = {"edition": "short", "question": "Does it pay?", "along": "z", "source": "A survey",
               "labels": {"z": "Tenure"}, "notes": ["One of three formulas."]}  # fmt: skip
    given = set(inspect.signature(type(fit).report).parameters)
    assert set(inspect.signature(type(chosen).report).parameters) == given
    pages = [
        chosen.report(tmp_path / "chosen.html", **choices).read_text("utf-8"),
        bvb.report({"a": fit, "b": fit}, tmp_path / "both.html", **choices).read_text("utf-8"),
    ]
    for page in pages:
        heading = page[: page.index('id="summary"')]
        for text in (
            "<h1>Does it pay?</h1>",
            "From Tenure = ",
            "A survey",
            "One of three formulas.",
        ):
            assert text in heading
        assert 'full" class="f' not in heading  # the full edition


@pytest.mark.parametrize(
    ("choices", "message"),
    [
        ({"along": "Z"}, r"along='Z' is not a covariate of the fit(?s:.*)did you mean `z`\?"),
        ({"along": "y"}, r"along='y' is not a covariate of the fit(?s:.*)the columns are `x`, `z`"),
        ({"labels": {"xx": "X"}}, r"labels: the formula does not use 'xx'"),
        ({"labels": {"x": " "}}, r"labels: the label of 'x' is empty"),
    ],
)
def test_what_is_not_there_is_refused_with_the_remedy(fit, choices, message, tmp_path):
    with pytest.raises(DataError, match=message):
        fit.report(tmp_path / "page.html", **choices)
    with pytest.raises(DataError, match=message):
        fit.report_text(**choices)
    assert list(tmp_path.iterdir()) == []


def test_labels_are_wherever_a_reader_looks_and_names_in_the_code(fit):
    summary = short(fit, labels=LABELS)
    found, page = summary["fits"][0], html(summary)
    sentence = found["finding"]["sentences"][0]
    assert re.match(r"From Years of education = .* the mean of Hourly wage rises by ", sentence)
    assert sentence in fit.report_text(labels=LABELS)
    long = cut(LABELS["z"])
    assert len(long) == LONGEST and "…" in long and long != LABELS["z"]
    assert summary["question"] == f"How does Hourly wage depend on Years of education and {long}?"
    figure = found["finding"]["figure"]
    assert (figure["x_title"], figure["y_title"]) == ("Years of education", "Hourly wage")
    assert "Hourly wage given Years of education" in figure["caption"]
    (panel,) = found["answer"]["panels"]
    assert [row["label"] for row in panel["rows"]] == [LABELS["x"], LABELS["z"]]
    assert f'title="{LABELS["z"]}">{long} <small>' in page
    table = found["sections"]["effects"]["table"]["rows"]
    assert [row["heads"][0] for row in table] == [LABELS["x"], LABELS["z"]]
    assert found["formula"].startswith("y ~ x + z") and "y ~ x + z" in page
    assert short(fit)["question"] == "How does y depend on x and z?"  # the fit has no labels


def test_a_page_with_labels_uses_what_the_fit_has_computed_and_is_kept(fit, monkeypatch):
    short(fit, labels=LABELS)
    fit.loo()
    other = {**LABELS, "x": "Education"}
    (named,) = labelled_fits({"": fit}, other).values()
    assert named.cache.get("leave-one-out predictions") is not None
    assert named.model.design.label("x") == "Education"
    monkeypatch.setattr(page_module, "_made", None)
    assert short(fit, labels=LABELS)["question"].startswith("How does Hourly wage")
