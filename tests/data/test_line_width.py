"""Printed output within the width of a terminal."""

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.line_width import PrintedTable, line_width, table_text, wrapped_text

TABLE = pd.DataFrame({
    "name": ["first", "second"], **{f"number_{i}": [i + 0.5, -i] for i in range(12)}
})  # fmt: skip


def widest(text: object) -> int:
    return max(map(len, str(text).split("\n")))


@pytest.fixture(params=[60, 80, 120])
def columns(request, monkeypatch):
    monkeypatch.setenv("COLUMNS", str(request.param))
    return request.param


def test_nothing_is_wrapped_without_a_terminal(monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)
    assert line_width() is None
    assert table_text(TABLE) == TABLE.to_string(index=False)
    assert wrapped_text("x " * 500) == "x " * 500


def test_a_notebook_has_the_digits_of_the_terminal():
    table = PrintedTable({"mean": [1.2345678]}, index=pd.Index(["x"], name="term"))
    assert "1.235</td>" in table._repr_html_() and "1.2345" not in table._repr_html_()


def test_blocks_repeat_the_first_column_and_hold_all_others(columns):
    text = table_text(TABLE)
    assert widest(text) <= columns
    assert all(f"number_{i}" in text for i in range(12))
    assert text.count("second") == len(text.split("\n\n")) > 1


def test_sentences_lose_no_word(columns):
    text = "  note: " + " ".join(f"word{i}" for i in range(60))
    found = wrapped_text(text)
    assert widest(found) <= columns and found.split() == text.split()


@pytest.fixture(scope="module")
def fit():
    data = bvb.datasets.load("cps1985")
    formula = "log(wage) ~ education + experience + gender"
    return bvb.DensityRegression(formula, data, n_components=2).fit(seed=1, restarts=2)


@pytest.mark.heavy
def test_every_print_fits(fit, columns):
    effects = bvb.effects.predictions(
        fit, ["education", "gender"], target="quantile", q=[0.1, 0.5, 0.9]
    )
    one = bvb.DensityRegression("log(wage) ~ education", fit.model.design.given, n_components=1)
    compared = bvb.compare({"two": fit, "one": one.fit(seed=1)})
    for printed in (fit, fit.model, fit.check(), effects, compared):
        assert widest(printed) <= columns, type(printed)
