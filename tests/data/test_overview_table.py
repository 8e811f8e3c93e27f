"""The overview of a table: numbers as pandas has them, groups, differences, missing values."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError


def rows() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    return pd.DataFrame({
        "age": np.append(rng.normal(50.0, 10.0, 99), np.nan), "arm": ["a", "b"] * 50,
        "sex": rng.choice(["f", "m"], 100), "smokes": rng.random(100) < 0.3,
        "day": pd.date_range("2024-01-01", periods=100), "id": [f"p{i}" for i in range(100)],
    })  # fmt: skip


def test_numbers_are_those_of_pandas():
    data = rows()
    table = bvb.describe(data)
    assert table.loc[("age", "mean (SD)"), "all"] == f"{data.age.mean():.1f} ({data.age.std():.1f})"
    assert table.loc[("age", "mean (SD)"), "missing"] == "1"
    n = int((data.sex == "f").sum())
    assert table.loc[("sex", "f"), "all"] == f"{n} ({n}%)"
    assert table.loc[("id", "levels"), "all"] == "100"
    assert table.loc[("day", "range"), "all"].startswith("2024-01-01")
    assert "difference" not in table


def test_a_mean_that_rounds_to_zero_has_no_sign():
    values = np.arange(50.0)
    table = bvb.describe(pd.DataFrame({"x": values - values.mean() - 0.01}))
    assert table.loc[("x", "mean (SD)"), "all"].startswith("0 (")


def test_groups_have_columns_and_two_of_them_a_difference():
    data = rows()
    table = bvb.describe(data, by="arm")
    assert list(table) == ["all", "a", "b", "missing", "difference"]
    own = {arm: data.age[data.arm == arm] for arm in "ab"}
    expected = (own["b"].mean() - own["a"].mean()) / np.sqrt((own["a"].var() + own["b"].var()) / 2)
    assert table.loc[("age", "mean (SD)"), "difference"] == f"{expected:.2f}"
    p = {arm: data.smokes[data.arm == arm].mean() for arm in "ab"}
    spread = np.sqrt(sum(one * (1 - one) for one in p.values()) / 2)
    assert table.loc[("smokes", "True"), "difference"] == f"{(p['b'] - p['a']) / spread:.2f}"
    assert table.attrs["rows"] == {"all": "100", "a": "50", "b": "50"}
    assert "arm" not in table.index.get_level_values("variable")


def test_ordered_levels_keep_their_order():
    data = {"o": pd.Categorical(["hi", "lo", "hi"], ["lo", "mid", "hi"], ordered=True)}
    assert list(bvb.describe(data).loc["o"].index) == ["lo", "mid", "hi"]


@pytest.mark.parametrize(
    "data",
    [{"x": [1.0]}, {"x": [np.nan, np.nan]}, {"x": [1e300, -1e300, 0.0]}, {"x": [[1], [2]]},
     {"x": [1, "a", None]}, {"x": [np.inf, 1.0, 2.0]}],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_odd_columns_are_described(data):
    assert len(bvb.describe(data)) >= 1


def test_an_unknown_group_is_an_error():
    with pytest.raises(DataError, match="by='ag'"):
        bvb.describe(rows(), by="ag")
