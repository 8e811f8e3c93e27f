"""Parameters of a fit as a table for a paper."""

import sys
from types import SimpleNamespace

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
    assert head == "| part | term | estimate | sd | 50% interval |"
    assert rule == "|---|---|---:|---:|---:|"
    assert len(lines) == len(fit.summary()) - 1  # without the share of the only component
    row = fit.summary(prob=0.5).loc[("mean", 1, "a_b")]
    cells = next(line for line in lines if "| a_b |" in line).strip("| ").split(" | ")
    low, high = cells[-1].split(" to ")
    found = [float(one.replace("−", "-")) for one in (*cells[-3:-1], low, high)]
    expected = row[["mean", "sd", "lower", "upper"]].to_numpy(dtype=float)
    assert found == pytest.approx(list(expected), abs=0.06 * row["sd"])


def test_signs_of_the_format_are_escaped(fit):
    line = next(line for line in fit.table().splitlines() if "p\\|q" in line)
    assert line.replace("\\|", "").count("|") == 6
    latex = fit.table("latex")
    assert r"a\_b" in latex and r"89\% interval" in latex and "−" not in latex
    assert latex.startswith(r"\begin{tabular}{llrrr}")
    rows = [line for line in latex.splitlines() if line.endswith(r"\\")]
    assert all(line.count("&") == 4 for line in rows) and len(rows) == len(fit.summary())


def test_html_has_a_row_for_each_parameter(fit):
    text = fit.table("html")
    assert text.count("<tr>") == len(fit.summary()) - 1 and "<th>term</th>" in text
    assert "<td>p|q</td>" in text


def test_components_ratios_and_scales_stand_where_they_say_something():
    rng = np.random.default_rng(4)
    data = pd.DataFrame({"x": rng.normal(size=80), "g": np.repeat(list("abcdefgh"), 10)})
    data["n"] = rng.poisson(np.exp(1.0 + 0.5 * data["x"]))
    data["y"] = data["x"] * np.sign(rng.normal(size=80)) + 0.1 * rng.normal(size=80)
    few = {"seed": 1, "restarts": 1, "draws": 200}
    counts = bvb.DensityRegression("n ~ x", data, n_components=1, family="poisson").fit(**few)
    head, _, _, second = counts.table().splitlines()
    assert head.endswith("| 89% interval | rate ratio |")
    ratio = float(second.strip("| ").split(" | ")[-1])
    assert ratio == pytest.approx(counts.summary().loc[("mean", 1, "x"), "rate_ratio"], abs=0.01)
    mixture = bvb.DensityRegression("y ~ x", data, n_components=2).fit(**few).table()
    assert mixture.startswith("| part | component |") and mixture.count("| share |") == 2
    groups = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1).fit(**few).table()
    assert "| sd of groups |" in groups and "| scale |" not in groups
    formula = "n ~ s(x) + (1 | g)"
    many = bvb.DensityRegression(formula, data, n_components=1, family="poisson").fit(**few)
    assert [line.split("|")[2].strip() for line in many.table().splitlines()[2:4]] == [
        "Intercept", "s(x).line"
    ]  # fmt: skip
    assert many.table().count("s(x)") == many.table().count("(1 \\|") + 1 == 2


def test_great_tables_takes_the_rows_by_part(fit, monkeypatch):
    monkeypatch.setitem(sys.modules, "great_tables", None)
    with pytest.raises(DataError, match="needs the package great_tables"):
        fit.table("gt")

    class Recorded:
        def __init__(self, rows, **columns):
            self.rows, self.columns = rows, columns

        def cols_align(self, align, names):
            return (self.rows, self.columns, align, names)

    monkeypatch.setitem(sys.modules, "great_tables", SimpleNamespace(GT=Recorded))
    rows, columns, *aligned = fit.table("gt")
    assert columns == {"rowname_col": "term", "groupname_col": "part"}
    assert aligned == ["right", ["estimate", "sd", "89% interval"]]
    assert len(rows) == len(fit.summary()) - 1


def test_another_format_gets_a_message(fit):
    with pytest.raises(DataError, match="format='docx' is not known; it is one of 'markdown'"):
        fit.table("docx")
