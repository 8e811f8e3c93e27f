"""Average contrasts: the same whatever reads them, between round values of the observed range."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.average_effects import rounded_ends
from bayesvb.reports.rows.contrasts import by_size, contrasts


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=80), "g": rng.choice(list("abc"), 80)})
    data["y"] = 0.2 * data["x"] + 2.0 * (data["g"] == "b") + rng.normal(size=80)
    return bvb.DensityRegression("y ~ x + g", data, n_components=1).fit(seed=1, draws=60)


def test_contrasts_are_those_of_comparisons(fit):
    for one in contrasts(fit):
        expected = bvb.effects.comparisons(fit, {one.covariate: list(one.ends)}, average_by=True)
        row = expected.summary.iloc[0]
        change = one.changes[0]
        found = [change.estimate, change.lower, change.upper]
        assert found == pytest.approx([row["estimate"], row["lower"], row["upper"]])


def test_the_largest_come_first_and_the_fit_keeps_them(fit):
    assert contrasts(fit) is contrasts(fit)
    assert [one.covariate for one in by_size(fit)] == ["g", "g", "x"]
    assert [one.words for one in by_size(fit)][:2] == [("a", "b"), ("a", "c")]
    assert contrasts(fit)[0].error == pytest.approx(0.05 / 2)
    assert contrasts(fit)[1].error == pytest.approx(0.05 / 4)  # one of two levels of two covariates


def test_ends_are_round_near_the_quantiles_and_inside_the_range():
    rng = np.random.default_rng(4)
    for _ in range(200):
        size = 10.0 ** rng.uniform(-4.0, 4.0)
        least, low, high, most = size * np.sort(rng.normal(rng.normal(), 1.0, 4))
        first, last = rounded_ends(least, low, high, most)
        assert least <= first < last <= most
        assert abs(first - low) + abs(last - high) <= 0.2 * (high - low) * (1.0 + 1e-9)
    assert rounded_ends(20.0, 37.0, 98.0, 160.0) == [40.0, 100.0]
    assert rounded_ends(20.0, 37.0, 98.0, 99.0) == [40.0, 98.0]
