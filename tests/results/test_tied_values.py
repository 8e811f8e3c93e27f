"""Components that hold the rows of one value: found where there are, and nowhere else."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb

NAME = "Degenerate component"


def table_of(y, x, **options):
    rows = pd.DataFrame({"y": y, "x": x})
    model = bvb.DensityRegression("y ~ x | 1", rows, **({"n_components": 2} | options))
    return model.fit(seed=1, restarts=2, draws=60).check()


@pytest.fixture
def x(rng):
    return rng.normal(size=200)


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
def test_a_component_of_zeros_is_a_problem_with_its_remedy(rng, x):
    y = np.where(rng.uniform(size=200) < 0.4, 0.0, 3.0 + x + rng.normal(size=200))
    found = table_of(y, x).loc[NAME]
    assert found["grade"] == "problem" and found["number"] > 0.95
    assert "exactly 0:" in found["remedy"]


def test_no_word_where_no_value_is_shared(rng, x):
    assert NAME not in table_of(x + rng.normal(size=200), x).index


def test_rounding_is_in_order(rng, x):
    found = table_of((10.0 * (x + rng.normal(size=200))).round() / 10.0, x).loc[NAME]
    assert found["grade"] == "ok" and 0.0 < found["number"] < 0.1 and found["remedy"] == ""


def test_one_component_shrinks_to_nothing(rng, x):
    rounded = (4.0 * (x + rng.normal(size=200))).round() / 4.0
    assert NAME not in table_of(rounded, x, n_components=1).index


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
@pytest.mark.heavy
def test_rows_count_by_their_weights(rng, x):
    y = np.where(rng.uniform(size=200) < 0.4, 0.0, 3.0 + x + rng.normal(size=200))
    rows = pd.DataFrame({"y": y, "x": x, "w": rng.integers(1, 4, 200)})
    weighted = bvb.DensityRegression("y ~ x | 1", rows, n_components=2, weights="w")
    repeated = rows.loc[rows.index.repeat(rows["w"])].reset_index(drop=True)
    same = bvb.DensityRegression("y ~ x | 1", repeated, n_components=2)
    options = {"seed": 1, "restarts": 2, "draws": 60}
    numbers = [m.fit(**options).check().loc[NAME, "number"] for m in (weighted, same)]
    assert numbers[0] == pytest.approx(numbers[1], abs=1e-3)
