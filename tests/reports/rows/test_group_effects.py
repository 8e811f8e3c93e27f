"""Sentences and panels about groups agree with the variance components of the fit."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.panels.groups import groups_panel
from bayesvb.reports.rows.group_effects import group_sentences, group_spreads
from bayesvb.reports.sections.finding import sentences

FEW = {"seed": 1, "restarts": 1, "draws": 80}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    number = np.repeat(np.arange(14), 5)
    x = rng.normal(size=70)
    level, slope = 2.0 * rng.normal(size=14), rng.normal(size=14)
    frame = pd.DataFrame({"x": x, "g": [f"g{i}" for i in number]})
    frame["y"] = level[number] + (1.0 + slope[number]) * x + rng.normal(size=70)
    frame["n"] = rng.poisson(np.exp(0.5 * level[number]))
    return frame


def fitted(formula, data, **options):
    return bvb.DensityRegression(formula, data, n_components=1, **options).fit(**FEW)


def test_the_sentence_and_the_panel_show_the_variance_components_and_the_effects(data):
    fit = fitted("y ~ x + (1 | g)", data)
    table = fit.variance_components().loc[("sd", "(1 | g)", "")]
    (spread,) = group_spreads(fit)
    assert spread.sd == pytest.approx(tuple(table[["estimate", "lower", "upper"]]))
    *_, last = sentences(fit, [])
    assert last.startswith("14 groups of g differ by ±") and last.endswith("% of the variance.")
    panel = groups_panel(fit)
    effects = bvb.effects.groups(fit).set_index("group")["estimate"].drop("new group")
    ends = effects.sort_values(ascending=False).iloc[[*range(3), *range(-3, 0)]]
    assert [row["label"] for row in panel["rows"]] == list(ends.index)
    assert [row["estimate"] for row in panel["rows"]] == pytest.approx(list(ends))
    assert panel["title"] == "3 highest and 3 lowest of 14 groups of g"
    assert panel["more"] == "8 groups between them"


def test_slopes_are_stated_and_shown_where_they_differ(data):
    fit = fitted("y ~ x + (x || g)", data)
    assert "at the mean of x" in group_sentences(fit)["g"]
    assert "; their slopes of x differ by ±" in group_sentences(fit)["g"]
    assert groups_panel(fit)["title"].startswith("Slopes of x: ")


def test_effects_of_levels_are_stated_at_the_first_one_for_the_groups_of_the_data(data):
    data = data.assign(f=np.where(data["x"] > 0.0, "high", "low"))
    fit = fitted("y ~ f + (f | g)", data)
    components = fit.variance_components()["estimate"]
    first, second = group_spreads(fit)
    assert first.sd[0] == components["sd", "(1 | g)", "f = high"]
    assert second.sd[0] == components["sd", "(f[T.low] | g)", ""]
    words = group_sentences(fit)["g"]
    assert " at f = high (" in words and "; their effects of f[T.low] differ by ±" in words
    assert " on average over the 14 groups of g " in sentences(fit, [])[0]
    fit = fitted("y ~ low + f + (f | g)", data.assign(low=2.0 * data["x"] + data["y"]))
    first = sentences(fit, [])[0]  # `low` is a level of the factor too
    assert first.startswith("From low = ") and " on average (" in first


def test_groups_of_counts_differ_by_a_factor_and_are_the_whole_answer_without_covariates(data):
    fit = fitted("n ~ (1 | g)", data, family="poisson")
    (only,) = sentences(fit, [])
    (spread,) = group_spreads(fit)
    assert only.startswith(f"14 groups of g differ by a factor of {np.exp(spread.sd[0]):.1f}")
    assert spread.share is None and "variance" not in only
    assert (
        not group_sentences(fitted("y ~ x", data)) and groups_panel(fitted("y ~ x", data)) is None
    )
