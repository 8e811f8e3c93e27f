"""The printed verdict on a fit."""

import pandas as pd

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
