"""Covariates: which are discrete, their grids, and what they are held at."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.effects.covariates import FEW_VALUES, covariate, held_value


@pytest.fixture
def frame():
    few = np.repeat([0, 1, 7], [20, 8, 12])
    text = np.repeat(["b", "a", "c"], [10, 25, 5])
    skewed = np.arange(40.0) ** 2
    return pd.DataFrame({"few": few, "text": text, "true": few > 0, "skewed": skewed})


@pytest.mark.parametrize("centre", ["mean", "median"])
def test_a_number_of_few_values_is_held_at_the_most_frequent_like_levels(frame, centre):
    held = {name: held_value(frame, name, centre=centre) for name in frame}
    assert held["few"] == 0.0
    assert held["text"] == "a" and not held["true"]
    assert held["skewed"] == pytest.approx(frame["skewed"].agg(centre))


def test_numbers_with_more_than_a_few_values_are_curves(frame):
    assert covariate(frame, "few").grid(5) == [0.0, 1.0, 7.0]
    assert covariate(frame, "skewed").grid(3) == [0.0, 39.0**2 / 2, 39.0**2]
    for different, discrete in ((FEW_VALUES, True), (FEW_VALUES + 1, False)):
        numbers = pd.DataFrame({"x": np.arange(100.0) % different})
        assert covariate(numbers, "x").discrete == discrete


def test_of_many_levels_the_frequent_ones_stay_in_their_order(frame):
    assert covariate(frame, "text").values == ("a", "b", "c")
    assert covariate(frame, "text", most=2).values == ("a", "b")
    ordered = frame.assign(text=pd.Categorical(frame["text"], ["c", "b", "a"]))
    assert covariate(ordered, "text", most=2).values == ("b", "a")
