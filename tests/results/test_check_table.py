"""The printed verdict on a fit."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb


def test_table_prints_what_is_not_in_order_with_its_remedy_whatever_the_terminal_is() -> None:
    data = bvb.datasets.load("mcycle")
    fit = bvb.DensityRegression("accel ~ times", data, n_components=1).fit(seed=1, restarts=1)
    table = fit.check()
    text = str(table)
    assert text.startswith(f"Verdict: {table.attrs['verdict']} ({len(table)} checks, ")
    assert max(map(len, text.splitlines())) <= 100
    told = " ".join(text.split())
    for name, row in table.iterrows():
        assert str(name) in told
        assert row["remedy"] in told
    assert type(table[table["grade"] == "problem"]) is pd.DataFrame


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
def test_zeros_in_excess_come_first_and_are_not_called_rounding(rng: np.random.Generator) -> None:
    x = rng.normal(size=400)
    y = np.where(rng.uniform(size=400) < 0.6, 0.0, np.exp(x + rng.normal(size=400)))
    rows = pd.DataFrame({"y": y, "x": x})
    model = bvb.DensityRegression("y ~ x | 1", rows, n_components=2)
    table = model.fit(seed=1, restarts=2, draws=60).check()
    assert table.loc["Discreteness", "grade"] == "problem"
    assert "exactly 0:" in table.loc["Discreteness", "remedy"]
    told = " ".join(str(table).split())
    assert "fit Fix Discreteness, Degenerate component first: the other checks" in told


def test_nothing_comes_first_where_the_response_is_continuous() -> None:
    data = bvb.datasets.load("mcycle")
    fit = bvb.DensityRegression("accel ~ times", data, n_components=1).fit(seed=1, restarts=1)
    assert "Fix Discreteness" not in str(fit.check())
