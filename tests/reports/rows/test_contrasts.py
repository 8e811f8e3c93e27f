"""Average contrasts: the same whatever reads them, between round values of the observed range."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.average_effects import compared_values, rounded_ends
from bayesvb.reports.rows.contrasts import by_size, contrasts, main_covariate
from bayesvb.reports.rows.profiles import most_moving, quantiles_moved


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
    first = fit.model.design.frame["g"].mode()[0]
    assert [one.words[0] for one in by_size(fit)][:2] == [first, first]
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


def test_contrasts_of_whole_numbers_are_between_whole_numbers():
    rng = np.random.default_rng(5)
    for _ in range(100):
        counts = rng.poisson(rng.uniform(0.5, 40.0), 60)
        least, low, high, most = np.quantile(counts, [0.0, 0.1, 0.9, 1.0])
        if round(low) < round(high):
            ends = rounded_ends(least, low, high, most, is_whole=True)
            assert all(end == round(end) for end in ends) and least <= ends[0] < ends[1] <= most
    assert rounded_ends(7.0, 8.0, 11.0, 12.0, is_whole=True) == [8.0, 11.0]
    assert rounded_ends(7.0, 8.1, 10.9, 12.0) == [8.0, 11.0]
    assert rounded_ends(7.0, 8.1, 8.4, 12.0, is_whole=True) == [8.1, 8.4]
    data = pd.DataFrame({"n": np.arange(40) % 9, "z": rng.normal(size=40)})
    data["y"] = data["n"] + data["z"]
    fit = bvb.DensityRegression("y ~ n + z", data, n_components=1).fit(seed=1, draws=50)
    assert compared_values(fit, "n") == [0.0, 7.0]


@pytest.fixture(scope="module")
def stepped():
    """Levels that move the mean both ways, none of them clearly; a weaker, clear effect of `u`."""
    rng = np.random.default_rng(16)
    data = pd.DataFrame({"g": np.tile(list("abc"), 40), "t": np.repeat([1.0, 2.0, 4.0, 9.0], 30)})
    data.loc[0, "t"] = 20.0
    data["u"] = rng.normal(size=120)
    moves = {"a": 0.0, "b": 0.12, "c": -0.38}
    data["y"] = data["g"].map(moves) + 0.2 * data["u"] + rng.normal(size=120)
    return bvb.DensityRegression("y ~ g + t + u", data, n_components=1).fit(seed=2, draws=100)


def test_a_number_with_few_values_is_compared_between_two_of_them(stepped):
    (one,) = (one for one in contrasts(stepped) if one.covariate == "t")
    assert one.ends == (1.0, 9.0) and not one.discrete


def test_a_covariate_whose_change_is_clear_leads(stepped):
    clear = {one.covariate for one in contrasts(stepped) if one.of_mean.is_clear}
    assert clear == {"u"} and main_covariate(stepped, quantiles_moved, "y") == "u"
    assert most_moving(stepped, quantiles_moved, "y") == "g"


def test_a_curve_that_turns_leads_though_its_ends_are_alike():
    rng = np.random.default_rng(6)
    data = pd.DataFrame(rng.uniform(-1.0, 1.0, (120, 2)), columns=["x", "z"])
    data["y"] = 3.0 * data["x"] ** 2 + 0.6 * data["z"] + 0.3 * rng.normal(size=120)
    fit = bvb.DensityRegression("y ~ poly(x, 2) + z", data, n_components=1).fit(seed=1, draws=100)
    assert max(contrasts(fit), key=lambda one: one.size).covariate == "z"
    assert main_covariate(fit, quantiles_moved, "y") == "x"
