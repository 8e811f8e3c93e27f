"""Covariates: which are discrete, their grids, and what they are held at."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.effects.covariates import (
    covariate,
    held_value,
    levels_from_reference,
    quantiles,
    value_text,
)
from bayesvb.errors import DataError
from bayesvb.formula.design import build_design
from bayesvb.formula.limits import LIMITS
from bayesvb.formula.parser import parse_formula


def read(frame, terms):
    """The design of these terms."""
    given = frame.assign(response=np.arange(len(frame)))
    return build_design(parse_formula(f"response ~ {terms}"), given, warn=False)


@pytest.fixture
def frame():
    few = np.repeat([0, 1, 7], [20, 8, 12])
    text = np.repeat(["b", "a", "c"], [10, 25, 5])
    skewed = np.arange(40.0) ** 2
    return pd.DataFrame({"few": few, "text": text, "true": few > 0, "skewed": skewed})


@pytest.mark.parametrize("centre", ["mean", "median"])
def test_a_number_of_few_values_is_held_at_the_most_frequent_like_levels(frame, centre):
    design = read(frame, ".")
    held = {name: held_value(design, name, centre=centre) for name in frame}
    assert held["few"] == 0.0
    assert held["text"] == "a" and not held["true"]
    assert held["skewed"] == pytest.approx(frame["skewed"].agg(centre))


def test_of_numbers_that_are_equally_frequent_one_near_the_mean_is_held(frame):
    design = read(frame.assign(age=np.tile([8, 10, 12, 14.5], 10)), "age")
    assert held_value(design, "age", centre="mean") == 12.0


def test_numbers_with_more_than_a_few_values_are_curves(frame):
    design = read(frame, ".")
    assert covariate(design, "few").grid(5) == [0.0, 1.0, 7.0]
    assert covariate(design, "skewed").grid(3) == [0.0, 39.0**2 / 2, 39.0**2]
    for different, discrete in ((LIMITS.few_levels, True), (LIMITS.few_levels + 1, False)):
        numbers = pd.DataFrame({"x": np.arange(100.0) % different})
        assert covariate(read(numbers, "x"), "x").discrete == discrete


@pytest.mark.parametrize("seed", range(5))
def test_weighted_rows_are_as_repeated_rows(frame, seed):
    rng = np.random.default_rng(seed)
    frame = frame.sample(frac=1.0, random_state=seed, ignore_index=True)
    frame["level"] = pd.Categorical(frame["text"], ["c", "b", "a"], ordered=True)
    weights = rng.integers(0, 4, 40) * (frame["text"] != "c").to_numpy()
    weighted = replace(read(frame, "."), weights=weights.astype(float))
    repeated = read(frame.loc[frame.index.repeat(weights)].reset_index(drop=True), ".")
    for name in frame:
        assert covariate(weighted, name, most=2) == covariate(repeated, name, most=2)
        for centre in ("mean", "median"):
            held = [held_value(one, name, centre=centre) for one in (weighted, repeated)]
            assert held[0] == (held[1] if name != "skewed" else pytest.approx(held[1], rel=1e-12))
    q = np.linspace(0.0, 1.0, 41).tolist()
    found = [quantiles(one, "skewed", q) for one in (weighted, repeated)]
    np.testing.assert_allclose(*found, rtol=1e-12)
    fractions = quantiles(replace(weighted, weights=weights / 7.0), "skewed", q)
    assert (np.diff(fractions) >= 0.0).all() and (fractions[[0, -1]] == found[0][[0, -1]]).all()


def test_values_that_come_late_count():
    numbers = pd.DataFrame({"x": np.r_[np.zeros(50), np.arange(LIMITS.few_levels + 1.0)]})
    assert not covariate(read(numbers, "x"), "x").discrete
    assert covariate(read(numbers[:-1], "x"), "x").discrete


def test_of_many_levels_the_frequent_ones_stay_in_their_order(frame):
    design = read(frame, "text")
    assert covariate(design, "text").values == ("a", "b", "c")
    assert covariate(design, "text", most=2).values == ("a", "b")
    ordered = frame.assign(text=pd.Categorical(frame["text"], ["c", "b", "a"]))
    assert covariate(read(ordered, "text"), "text", most=2).values == ("b", "a")


def test_levels_are_compared_with_the_most_frequent_one_and_numbers_ascend(frame):
    ordered = pd.Categorical(frame["text"], ["c", "b", "a"])
    dose = ordered.as_ordered()
    design = read(frame.assign(ordered=ordered, dose=dose, one=1 - frame["true"].astype(int)), ".")
    assert covariate(design, "text").values == ("a", "b", "c")
    assert covariate(design, "ordered").values == ("c", "b", "a")
    assert levels_from_reference(design, "text") == ["a", "b", "c"]
    assert levels_from_reference(design, "ordered") == ["a", "c", "b"]
    assert levels_from_reference(design, "dose") == ["c", "b", "a"]
    assert levels_from_reference(design, "few") == [0, 1, 7]
    assert levels_from_reference(design, "true") == [False, True]
    assert levels_from_reference(design, "one") == [0, 1]


def test_numbers_that_a_term_takes_by_their_levels_are_levels(frame):
    many = frame.assign(place=np.arange(40) % 8 + 0.5)
    for terms in ("C(place)", "skewed + (1 | place)", "skewed + hashed(place, levels=5)",
                  "place + C(place)", "s(skewed, by=C(place))"):  # fmt: skip
        one = covariate(read(many, terms), "place")
        assert one.discrete and one.grid(50) == [k + 0.5 for k in range(8)], terms
    assert not covariate(read(many, "place"), "place").discrete


def test_what_only_tells_groups_is_held_at_the_typical_one(frame):
    for terms, typical in (("skewed + (1 | few)", True), ("few + (1 | few)", False)):
        assert (held_value(read(frame, terms), "few", centre="mean") == "new group") is typical


def test_the_typical_group_and_the_kind_of_slope_are_named(frame):
    rows = frame.assign(y=np.sqrt(np.arange(40.0) % 7))
    model = bvb.DensityRegression("y ~ skewed + (1 | few)", rows, n_components=1)
    fit = model.fit(seed=1, draws=25)
    text = str(bvb.effects.slopes(fit, "skewed", {}, slope="eyex"))
    assert text.startswith("Slopes: elasticity of mean of y\n")
    assert "Held at the typical group, whose effect is 0: few." in text and "new group" not in text


@pytest.mark.parametrize(
    "terms", ["x + C(place)", "x + (1 | place)", "x + C(place) | gating(x + (x | place))"]
)
@pytest.mark.heavy
@pytest.mark.quick(terms=("x + (1 | place)",))
def test_numbers_as_levels_have_the_effects_of_the_same_levels_as_text(terms):
    rng = np.random.default_rng(3)
    numbers = pd.DataFrame({"x": rng.normal(size=120), "place": 10 * (np.arange(120) % 9) + 10})
    numbers["y"] = numbers["x"] + rng.normal(size=9)[np.arange(120) % 9] + rng.normal(size=120)
    found = []
    for data in (numbers, numbers.astype({"place": str})):
        fit = bvb.DensityRegression(f"y ~ {terms}", data, n_components=2).fit(seed=1, restarts=1)
        typical = bvb.effects.slopes(fit, "x", {}, target="quantile", q=0.9)
        along = bvb.effects.predictions(fit, "place").summary
        pairs = bvb.effects.comparisons(fit, "place", {}).summary
        assert len(along) == 9 and len(pairs) == 36
        assert pairs["contrast"].iloc[0] == "20 - 10"
        with pytest.raises(DataError, match="has levels, and no slope"):
            bvb.effects.slopes(fit, "place")
        found.append(np.r_[typical.summary["estimate"], along["estimate"], pairs["estimate"]])
    np.testing.assert_allclose(*found, rtol=1e-9)


def test_values_of_many_digits_are_told_apart():
    assert [value_text(one) for one in (12345.0, 12346.0, 1980.0)] == ["12345", "12346", "1980"]
    assert [value_text(one) for one in (0.0, 0.123456, -25000.25, 3, "a")] == [
        "0", "0.1235", "-25000", "3", "a"
    ]  # fmt: skip
    assert value_text(3e20) == "3e+20"
