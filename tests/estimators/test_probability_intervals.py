"""Credible intervals of class probabilities."""

import io

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.models.ensemble import MEMBER, thinned
from bayesvb.results.limits import LIMITS


@pytest.fixture(scope="module")
def flowers():
    return bvb.datasets.load("iris")


@pytest.fixture(scope="module")
def found(class_fit, flowers):
    return class_fit.predict(flowers, "probability", prob=0.9)


def parts(table):
    """Mean, lower and upper end, each rows x classes."""
    return [table.xs(name, axis=1, level="statistic") for name in ("mean", "lower", "upper")]


def width(fit, rows):
    """Median width: where classes are certain all intervals are narrow."""
    _, lower, upper = parts(fit.predict(rows, "probability", prob=0.9))
    return (upper - lower).max(axis=1).median()


def test_the_ends_are_in_order_and_the_probability_lies_between(found, class_fit, flowers):
    mean, lower, upper = parts(found)
    pd.testing.assert_frame_equal(mean, class_fit.predict(flowers, "probability"))
    assert found.columns.names == ["level", "statistic"]
    assert found.attrs["covariance"] == "mean-field"
    assert (lower >= 0.0).all(axis=None) and (upper <= 1.0).all(axis=None)
    assert (lower <= upper).all(axis=None)
    assert ((lower <= mean) & (mean <= upper)).mean(axis=None) > 0.95


def test_the_ends_are_quantiles_of_the_draws_of_all_restarts(found, class_fit, flowers):
    assert len(class_fit.members) == 2
    drawn = class_fit.model.probability_draws(class_fit, flowers, few_points=True)
    _, lower, upper = parts(found)
    assert_allclose(lower, np.quantile(drawn, 0.05, axis=0), rtol=1e-12)
    assert_allclose(upper, np.quantile(drawn, 0.95, axis=0), rtol=1e-12)


@pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")
def test_fewer_rows_make_wider_intervals(class_fit, flowers):
    rows = class_fit.model.design.frame.iloc[::5]
    few = bvb.ConditionalMixtureNetwork("label ~ .", rows, n_experts=2)
    short = few.fit(seed=1, restarts=1, draws=60, max_iter=40)
    assert width(short, flowers) > 1.5 * width(class_fit, flowers)


def test_blocks_of_rows_change_nothing(found, class_fit, flowers, monkeypatch):
    monkeypatch.setitem(vars(LIMITS), "entries_in_memory", 60 * 3 * 7)
    again = class_fit.predict(flowers, "probability", prob=0.9)
    pd.testing.assert_frame_equal(again, found, rtol=1e-12)


def test_a_row_that_lacks_a_value_has_no_interval(class_fit, flowers):
    new = flowers.head(3).copy()
    new.loc[1, "petal_width"] = np.nan
    found = class_fit.predict(new, "probability", prob=0.5, missing="keep")
    assert found.isna().all(axis=1).tolist() == [False, True, False]
    assert found.isna().any(axis=1).tolist() == [False, True, False]
    none = class_fit.predict(new.iloc[[1]], "probability", prob=0.5, missing="keep")
    assert none.shape == (1, 9) and none.isna().all(axis=None)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"prob": 1.0}, "prob=1.0 must lie between 0 and 1"),
        ({"prob": 90.0}, "prob=90.0 must lie between 0 and 1"),
        ({"n": 20}, "reads n=20 only with prob"),
        ({"prob": 0.9, "n": 61}, "n=61 is more than the 60 draws of the fit"),
        ({"prob": 0.9, "q": 0.5}, "does not use q=0.5"),
    ],
)
def test_what_is_no_interval_is_refused(class_fit, options, message):
    with pytest.raises(DataError) as caught:
        class_fit.predict(kind="probability", **options)
    assert message in str(caught.value)


def test_fewer_draws_keep_the_share_of_every_member():
    member = np.random.default_rng(1).permutation(np.repeat([0.0, 1.0, 2.0], [60, 30, 10]))
    few = thinned({"a": np.arange(100.0), MEMBER: member}, 20)
    assert_array_equal(np.bincount(few[MEMBER].astype(int)), [12, 6, 2])
    assert (np.diff(few["a"]) > 0.0).all()
    assert_array_equal(thinned({"a": np.arange(7.0)}, 7)["a"], np.arange(7.0))


def test_the_command_line_writes_intervals(found, class_fit, flowers, tmp_path, command):
    path, rows = tmp_path / "a.nc", tmp_path / "new.csv"
    class_fit.save(path)
    flowers.to_csv(rows, index=False)
    done = command("predict", path, rows, "--kind", "probability", "--prob", "0.9")
    assert done.exit_code == 0, done.output
    written = pd.read_csv(io.StringIO(done.output))
    assert written.columns.tolist()[:4] == [
        "setosa_mean", "setosa_lower", "setosa_upper", "versicolor_mean",
    ]  # fmt: skip
    assert_allclose(written, found, rtol=1e-9)
