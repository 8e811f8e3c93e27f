"""Loadings of the first component, and whether the variance is that of standardised variables."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.panels.loadings import loadings_panel
from bayesvb.reports.sections.finding import sentences


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(1)
    score = rng.normal(size=60)
    noise = 0.3 * rng.normal(size=(3, 60))
    return pd.DataFrame({"a": score, "b": -100.0 * score, "c": score}) + (noise.T * [1, 100, 1])


def fitted(data, **options):
    model = bvb.BayesianPCA("~ a + b + c", data, n_components=1, **options)
    return model.fit(seed=1, restarts=1, draws=80)


def test_the_sentence_says_what_the_component_sets_against_what(data):
    fit = fitted(data, scale=True)
    (sentence,) = sentences(fit, [])
    ends = re.search(r"of the standardised variance; it sets (.+) against (.+)\.", sentence)
    assert {frozenset(end.split(" and ")) for end in ends.groups()} == {
        frozenset("ac"),
        frozenset("b"),
    }
    panel = loadings_panel(fit)
    sizes = [abs(row["estimate"]) for row in panel["rows"]]
    assert sizes == sorted(sizes, reverse=True) and 0.8 < sizes[0] < 1.2
    assert "Variables are standardised" in panel["caption"]


def test_the_variable_that_dominates_is_named_where_variables_are_not_standardised(data):
    fit = fitted(data)
    (sentence,) = sentences(fit, [])
    assert "standardised" not in sentence
    caption = loadings_panel(fit)["caption"]
    assert "not standardised: b has more than 99.9% of the variance" in caption
