"""The joint model of covariates: draws have the conditional distribution, and observed values."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.data.covariate_model import CovariateModel, NumericValues, put_in


def table(n: int = 4000) -> pd.DataFrame:
    """Two correlated numbers, a skewed one, and levels that go with the first."""
    rng = np.random.default_rng(0)
    x = rng.standard_normal(n)
    z = 0.8 * x + 0.6 * rng.standard_normal(n)
    g = np.where(rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x)), "high", "low")
    return pd.DataFrame({"x": x, "z": z, "skewed": np.exp(z), "g": g, "n": rng.poisson(3.0, n)})


def with_gaps(frame: pd.DataFrame, *names: str) -> tuple[pd.DataFrame, np.ndarray]:
    lacking = np.arange(len(frame)) % 4 == 0
    return frame.assign(**{name: frame[name].mask(lacking) for name in names}), lacking


def after_rounds(gaps: pd.DataFrame, name: str, seed: int) -> np.ndarray:
    """Proposals once the sampler has forgotten its start."""
    model, rng = CovariateModel.from_frame(gaps), np.random.default_rng(seed)
    frame = model.fill_in(gaps, rng)
    for _ in range(20):
        drawn = model.propose(frame, name, 1, rng)[0]
        frame = put_in(frame, name, model.missing[name], drawn)
    return model.propose(frame, name, 200, rng)


def test_normal_scores_are_increasing_and_come_back():
    values = NumericValues.from_observed(np.array([3.0, 1.0, 1.0, 8.5]))
    assert (np.diff(values.scores) > 0.0).all()
    assert values.from_scores(values.to_scores(np.array([1.0, 3.0]))).tolist() == [1.0, 3.0]
    assert values.from_scores(np.array([-9.0, 9.0])).tolist() == [1.0, 8.5]


@pytest.mark.parametrize("name", ["z", "skewed", "n"])
def test_proposals_keep_the_range_and_the_steps(name: str):
    gaps, lacking = with_gaps(table(400), name)
    model, rng = CovariateModel.from_frame(gaps), np.random.default_rng(1)
    drawn = model.propose(model.fill_in(gaps, rng), name, 50, rng)
    observed = gaps[name].dropna()
    assert drawn.shape == (50, lacking.sum())
    assert drawn.min() >= observed.min() and drawn.max() <= observed.max()
    assert name != "n" or (drawn == np.round(drawn)).all()


def test_a_number_is_drawn_given_the_others():
    """Regression of z on x: slope 0.8, noise 0.6."""
    gaps, lacking = with_gaps(table()[["x", "z"]], "z")
    drawn = after_rounds(gaps, "z", 2)
    slope = np.polyfit(gaps["x"][lacking], drawn.mean(axis=0), 1)[0]
    assert slope == pytest.approx(0.8, abs=0.05)
    assert drawn.std(axis=0).mean() == pytest.approx(0.6, abs=0.03)


def test_levels_are_drawn_given_the_others():
    whole = table()[["x", "g"]]
    gaps, lacking = with_gaps(whole, "g")
    share = (after_rounds(gaps, "g", 3) == "high").mean(axis=0)
    expected = 1.0 / (1.0 + np.exp(-2.0 * whole["x"][lacking]))
    assert np.abs(share - expected).mean() < 0.05


def test_parameters_are_drawn_anew_for_each_proposal():
    """Means of two calls differ by more than their Monte Carlo error: 20 rows say little."""
    gaps, _ = with_gaps(table(20)[["x", "z"]], "z")
    model, rng = CovariateModel.from_frame(gaps), np.random.default_rng(4)
    filled = model.fill_in(gaps, rng)
    means = [model.propose(filled, "z", 2000, rng).mean() for _ in range(20)]
    assert np.std(means) > 0.05


@pytest.mark.parametrize("dtype", ["object", "category", "string"])
def test_values_are_put_in_as_the_column_holds_them(dtype: str):
    column = pd.Series(["a", "b", None, "b"], dtype=dtype)
    gaps = pd.DataFrame({"g": column, "x": [1.0, 2.0, 3.0, 4.0]})
    filled = CovariateModel.from_frame(gaps).fill_in(gaps, np.random.default_rng(0))
    assert filled["g"].dtype == column.dtype
    assert filled["g"].isin(["a", "b"]).all()
    assert gaps["g"].isna().sum() == 1


@pytest.mark.parametrize("dtype", ["Int64", "boolean", "Float64"])
def test_nullable_columns_keep_their_type(dtype: str):
    gaps = pd.DataFrame({"x": pd.array([1, 0, None, 1], dtype=dtype), "z": [1.0, 2.0, 3.0, 0.0]})
    filled = CovariateModel.from_frame(gaps).fill_in(gaps, np.random.default_rng(0))
    assert filled["x"].dtype == dtype and filled["x"].notna().all()


def test_what_was_imputed_comes_back_from_numbers():
    gaps, _ = with_gaps(table(40), "z", "g", "n")
    model = CovariateModel.from_frame(gaps)
    filled = model.fill_in(gaps, np.random.default_rng(5))
    other = model.fill_in(gaps, np.random.default_rng(6))
    pd.testing.assert_frame_equal(model.from_numbers(other, model.to_numbers(filled)), filled)


def test_a_table_that_is_filled_is_not_changed():
    frame = pd.DataFrame({"x": [1.0, np.nan]})
    put_in(frame, "x", np.array([False, True]), np.array([2.0]))
    assert frame["x"].isna().sum() == 1
