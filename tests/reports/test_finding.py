"""The sentence and the picture with which a page begins."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.sections import SECTIONS
from bayesvb.reports.sections.finding import Told, finding


def lines(slope=2.0, growth=0.0, n=200):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, n)
    return pd.DataFrame({"x": x, "y": slope * x + np.exp(growth * x) * rng.normal(size=n)})


def fitted(formula, data, **options):
    model = bvb.DensityRegression(formula, data, n_components=options.pop("n_components", 1))
    return model.fit(seed=1, restarts=2, draws=400, **options)


def sentences(fit, *names):
    kept = {name: SECTIONS[name].summary(fit) for name in names}
    return finding(fit, kept)[0]["sentences"]


@pytest.mark.usefixtures("without_pictures")
def test_a_line_is_told_with_its_change_and_an_even_width():
    fit = fitted("y ~ x", lines())
    (told,) = sentences(fit, "conditional")
    low, high = np.quantile(fit.model.design.frame["x"], [0.1, 0.9])
    assert told.startswith(
        f"From x = {low:.2f} to {high:.2f} (its 10\u202f% and 90\u202f% quantiles)"
    )
    found = bvb.effects.comparisons(fit, {"x": [low, high]}, {}, target="quantile", q=0.5).summary
    assert " rises from " in told and "its middle 90\u202f% stays as wide" in told
    lower, upper = found["lower"].item(), found["upper"].item()
    interval = re.search(r"interval (\S+) to (\S+)\)", told)
    assert [float(interval[1]), float(interval[2])] == pytest.approx([lower, upper], abs=0.01)


@pytest.mark.usefixtures("without_pictures")
def test_a_fall_and_a_growing_spread_are_told():
    (told,) = sentences(fitted("y ~ x", lines(-1.0, 0.25, 500), n_components=2), "conditional")
    assert " falls from " in told and "becomes" in told


@pytest.mark.usefixtures("without_pictures")
def test_a_turn_between_the_ends_is_told():
    data = lines(0.0)
    data["y"] += (data["x"] - 5.0) ** 2
    told = sentences(fitted("y ~ poly(x, 2)", data), "conditional")
    assert len(told) == 2 and told[1].startswith("In between the median falls to ")


@pytest.mark.usefixtures("without_pictures")
def test_levels_without_a_covariate_and_several_responses_are_told():
    data = lines().assign(g=lambda frame: np.where(frame["x"] > 5, "b", "a"), z=1.0)
    data["y2"] = -data["y"]
    (told,) = sentences(fitted("y ~ g", data), "conditional")
    assert told.startswith(
        "Between g = a and b, the levels that differ most, the median of y rises"
    )
    (told,) = sentences(fitted("y ~ 1", data), "conditional")
    assert told.startswith("No covariate changes the distribution of y: its median is ")
    (told,) = sentences(fitted("y2 + y ~ x", data), "conditional")
    assert "the median of y2 falls" in told


@pytest.mark.usefixtures("without_pictures")
def test_the_other_models_are_told(class_fit):
    (told,) = sentences(class_fit, "classes")
    assert "the probability of " in told
    data = lines()
    (told,) = sentences(bvb.Normal("y ~ 1", data).fit(seed=1), "exact")
    assert told.startswith("y has mean ") and f"{data['y'].mean():.1f}" in told
    (told,) = sentences(bvb.BayesianPCA("~ x + y", data).fit(seed=1), "scores")
    assert told.startswith("Of 1 component 1 stands out of the noise and explains ")
    (told,) = sentences(bvb.GaussianMixture("~ x + y", data, n_components=2).fit(seed=1), "pairs")
    assert told.startswith("All 2 components ") and "% of them (89" in told


def test_a_direction_needs_more_where_more_was_compared():
    draws = np.random.default_rng(1).normal(2.0, 1.0, 20_000)
    assert Told(1, False).is_clear(draws, 0.0)
    assert not Told(10, False).is_clear(draws, 0.0)


def test_without_a_section_nothing_is_said():
    assert finding(None, {}) == ({"sentences": [], "figure": None}, {})
