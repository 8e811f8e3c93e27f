"""Rows that are similar: along an order that means something, in groups, and along no order."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results.checks.scope import SCOPE
from bayesvb.results.checks.table import checks


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x, noise = rng.normal(size=(2, 300))
    return pd.DataFrame({"x": x, "noise": noise, "g": rng.choice(list("abc"), 300)})


def problems(table: pd.DataFrame) -> set[str]:
    return set(table.index[table["grade"] == "problem"])


def line(rows: pd.DataFrame, formula: str = "y ~ x"):
    model = bvb.DensityRegression(formula, rows, n_components=1)
    return model.fit(seed=1, restarts=1, draws=60)


def moving_sum(noise: pd.Series, sign: float) -> np.ndarray:
    return (noise + sign * noise.shift(1, fill_value=0.0)).to_numpy()


@pytest.mark.parametrize(("sign", "words"), [(1.0, "are similar"), (-1.0, "alternate")])
def test_autocorrelation_along_an_order_is_a_problem_whose_sign_is_told(rows, sign, words):
    fit = line(rows.assign(y=rows["x"] + moving_sum(rows["noise"], sign)))
    assert problems(fit.check()) == set()  # nobody has said that the order means something
    table = fit.check(order=np.arange(300))
    assert "Serial correlation" in problems(table)
    assert words in table.loc["Serial correlation", "remedy"]


@pytest.mark.heavy
def test_an_order_counts_wherever_the_rows_stand(rows):
    made = rows.assign(y=rows["x"] + moving_sum(rows["noise"], 1.0), time=np.arange(300.0))
    shuffled = made.sample(frac=1.0, random_state=1)
    plain, other = line(made), line(shuffled)
    assert other.check().loc["Serial correlation", "grade"] == "ok"
    one, same = plain.check(order=made["time"]), other.check(order=shuffled["time"].to_numpy())
    assert same.loc["Serial correlation", "number"] == pytest.approx(
        one.loc["Serial correlation", "number"]
    )
    assert "Serial correlation" in problems(same)


def test_cells_that_stand_together_are_a_note_that_names_the_order(rows):
    cells = np.sort(np.arange(300) % 6)
    made = rows.assign(y=rows["x"] + rows["noise"] + 1.5 * (cells == 2) - 1.5 * (cells == 5))
    table = line(made).check()
    assert table.loc["Serial correlation", "grade"] == "note"
    assert "`fit.check(order=...)`" in table.loc["Serial correlation", "remedy"]


def test_a_column_of_dates_orders_the_rows(rows):
    days = pd.Timestamp("2024-01-01") + pd.to_timedelta(np.arange(300), unit="D")
    made = rows.assign(y=moving_sum(rows["noise"], 1.0), day=days)
    shuffled = made.sample(frac=1.0, random_state=1)
    assert "Serial correlation" in problems(line(shuffled, "y ~ x + day").check())


def test_runs_are_a_problem_of_an_order_and_a_note_without(rows):
    spread = 1 + 2.0 * (np.arange(300) // 50 % 2)
    fit = line(rows.assign(y=rows["noise"] * spread))
    assert fit.check().loc["Spread by row order", "grade"] == "note"
    table = fit.check(order=np.arange(300))
    assert "Spread by row order" in problems(table)
    assert "runs" in table.loc["Spread by row order", "remedy"]


def test_an_order_is_one_value_per_row_that_can_be_sorted(rows):
    fit = line(rows.assign(y=rows["noise"]))
    with pytest.raises(DataError, match="order='z' is not a column that the formula reads"):
        fit.check(order="z")
    with pytest.raises(DataError, match="order has 7 labels"):
        fit.check(order=np.arange(7))
    with pytest.raises(DataError, match="order has 1 missing values"):
        fit.check(order=np.append(np.arange(299.0), np.nan))
    with pytest.raises(DataError, match="cannot be sorted"):
        fit.check(order=np.array([1, "b"] * 150, dtype=object))


@pytest.mark.heavy
def test_rows_of_a_group_that_are_alike_beyond_their_component_want_effects_of_the_group(rows):
    rng = np.random.default_rng(3)
    who = np.arange(300) // 6
    class_, own = 4.0 * (who % 2), rng.normal(size=50)[who]
    frame = rows.assign(who=who, y=class_ + own + 0.5 * rows["noise"])
    options = {"n_components": 2, "group": "who"}
    model = bvb.DensityRegression("y ~ x | gating(1)", frame, **options)
    table = model.fit(seed=1, restarts=2, draws=60).check()
    assert table.loc["Serial correlation", "grade"] == "problem"
    assert "`(1 | who)`" in table.loc["Serial correlation", "remedy"]
    model = bvb.DensityRegression("y ~ x + (1 | who) | gating(1)", frame, **options)
    mended = model.fit(seed=1, restarts=2, draws=60).check()
    assert mended.loc["Serial correlation", "grade"] != "problem"


def test_rows_sorted_by_the_response_say_nothing_of_their_order(rows):
    y = rows["x"] + rows["noise"]
    table = line(rows.assign(y=y).sort_values("y")).check()
    assert "Serial correlation" not in table.index


def test_groups_that_are_alike_are_found_wherever_their_rows_are(rows):
    of = np.random.default_rng(3).permutation(np.arange(300) % 30)
    y = rows["x"] + rows["noise"] + np.random.default_rng(4).normal(size=30)[of]
    frame = rows.assign(y=y, site=of)
    fit = bvb.DensityRegression("y ~ x", frame, n_components=1).fit(seed=1, restarts=1, draws=60)
    assert fit.check().attrs["verdict"] == "ok"
    table = fit.check(groups=frame["site"])
    assert problems(table) == {"Correlation within site"}


def test_the_largest_groups_are_compared(monkeypatch, rows):
    monkeypatch.setitem(vars(SCOPE), "groups", 2)
    fit = bvb.DensityRegression("noise ~ x", rows, n_components=1).fit(seed=1, restarts=1, draws=60)
    assert any(one.name == "Correlation within g" for one in checks(fit, groups=rows["g"]))
