"""Parameters of a fit as a table for a paper."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"a_b": rng.normal(size=60), "p|q": rng.normal(size=60)})
    data["y"] = data["a_b"] + 0.1 * rng.normal(size=60)
    model = bvb.DensityRegression("y ~ a_b + `p|q`", data, n_components=1)
    return model.fit(seed=1, restarts=1, draws=200)


def test_a_line_has_the_numbers_of_the_summary(fit):
    head, rule, *lines = fit.table(prob=0.5).splitlines()
    assert head == "| part | component | term | estimate | sd | 50% interval |"
    assert rule == "|---|---|---|---:|---:|---:|"
    assert len(lines) == len(fit.summary())
    row = fit.summary(prob=0.5).loc[("mean", 1, "a_b")]
    cells = next(line for line in lines if "| a_b |" in line).strip("| ").split(" | ")
    low, high = cells[-1].split(" to ")
    found = [float(one.replace("−", "-")) for one in (*cells[-3:-1], low, high)]
    expected = row[["mean", "sd", "lower", "upper"]].to_numpy(dtype=float)
    assert found == pytest.approx(list(expected), abs=0.06 * row["sd"])


def test_signs_of_the_format_are_escaped(fit):
    line = next(line for line in fit.table().splitlines() if "p\\|q" in line)
    assert line.replace("\\|", "").count("|") == 7
    latex = fit.table("latex")
    assert r"a\_b" in latex and r"89\% interval" in latex and "−" not in latex
    assert latex.startswith(r"\begin{tabular}{lllrrr}")
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert all(line.count("&") == 5 for line in rows) and len(rows) == len(fit.summary()) + 1


def test_html_has_a_row_for_each_parameter(fit):
    text = fit.table("html")
    assert text.count("<tr>") == len(fit.summary()) and "<th>component</th>" in text
    assert "<td>p|q</td>" in text


def test_another_format_gets_a_message(fit):
    with pytest.raises(DataError, match="format='docx' is not known; it is one of 'markdown'"):
        fit.table("docx")
