"""Coverage for groups that were left out."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.new_groups import new_group_coverage

FEW = {"seed": 1, "restarts": 1, "draws": 50}


def groups(n_groups, sd, n_each=4):
    rng = np.random.default_rng(1)
    number = np.repeat(np.arange(n_groups), n_each)
    data = pd.DataFrame({"x": rng.normal(size=len(number)), "g": [f"g{i}" for i in number]})
    data["y"] = data["x"] + sd * rng.normal(size=n_groups)[number] + rng.normal(size=len(number))
    return data


@pytest.mark.heavy
def test_rows_of_new_groups_are_in_nine_of_ten_intervals():
    data = groups(40, 2.0)
    fit = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1).fit(**FEW)
    found = new_group_coverage(fit)
    assert found.n_groups == 40 and 0.01 < found.standard_error < 0.08
    assert abs(found.share - 0.9) < 3.0 * found.standard_error
    own = np.abs(fit.pit() - 0.5) < 0.45  # without the row alone
    assert found.share != pytest.approx(own.mean())


def test_few_groups_and_other_models_have_none():
    few = bvb.DensityRegression("y ~ x + (1 | g)", groups(8, 1.0), n_components=1)
    without = bvb.DensityRegression("y ~ x", groups(8, 1.0), n_components=1)
    assert new_group_coverage(few.fit(**FEW)) is None
    assert new_group_coverage(without.fit(**FEW)) is None
