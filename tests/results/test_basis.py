"""A smooth with too few basis functions is named, with a basis that is large enough."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb

NAME = "Basis of s(x)"


@pytest.fixture(scope="module")
def waves() -> pd.DataFrame:
    """Eight periods along x, rows in random order."""
    rng = np.random.default_rng(2)
    x = rng.uniform(size=300)
    y = np.sin(16.0 * np.pi * x) + 0.3 * rng.normal(size=300)
    return pd.DataFrame({"x": x, "z": rng.normal(size=300), "y": y})


def table_of(data: pd.DataFrame, formula: str) -> pd.DataFrame:
    model = bvb.DensityRegression(formula, data, n_components=1)
    return model.fit(seed=1, restarts=1, draws=60).check()


def test_a_small_basis_is_a_problem_and_the_remedy_can_be_fitted(waves):
    table = table_of(waves, "y ~ s(x)")
    found = table.loc[NAME]
    assert found["grade"] == "problem" and "`s(x, k=20)`" in found["remedy"]
    assert table.index[0] == NAME  # the waves make the noise light-tailed
    assert table_of(waves, "y ~ s(x, k=40)").loc[NAME, "grade"] == "ok"


@pytest.mark.heavy
def test_a_small_basis_is_found_whatever_the_order_and_the_units(waves):
    numbers = [
        table_of(data, "y ~ s(x)").loc[NAME, "number"]
        for data in (waves, waves.sort_values("x"), waves.assign(x=100.0 * waves["x"] - 7.0))
    ]
    assert numbers == pytest.approx([numbers[0]] * 3, abs=1e-4)


def test_a_basis_that_is_large_enough_is_in_order(waves):
    data = waves.assign(y=np.sin(4.0 * waves["x"]) + waves["z"])
    assert table_of(data, "y ~ s(x)").loc[NAME, "grade"] == "ok"


def test_there_is_no_larger_basis_than_there_are_values(waves):
    coarse = waves.assign(x=(10.0 * waves["x"]).round())
    assert NAME not in table_of(coarse, "y ~ s(x, k=11)").index
    assert NAME not in table_of(waves, "y ~ x").index


def test_ties_do_not_borrow_the_order_of_their_rows(waves):
    """Rows that are alike along time are not alike along a coarse covariate."""
    rng = np.random.default_rng(5)
    noise = np.cumsum(rng.normal(size=300)) / 5.0
    data = waves.assign(x=np.repeat(np.arange(15.0), 20)[rng.permutation(300)], y=noise)
    assert table_of(data, "y ~ s(x)").loc[NAME, "grade"] == "ok"
