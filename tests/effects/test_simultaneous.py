"""Simultaneous intervals and comparisons of all pairs of effects."""

import numpy as np
import pytest
from scipy.stats import norm, studentized_range

import bayesvb as bvb
from bayesvb.effects.simultaneous import joint_intervals
from bayesvb.errors import DataError


@pytest.fixture(scope="module")
def fit():
    data = bvb.datasets.load("iris")
    return bvb.DensityRegression("sepal_width ~ label", data, n_components=1).fit(seed=1)


@pytest.mark.parametrize("rows", [1, 2, 6])
def test_independent_rows_have_the_critical_value_of_sidak(rows):
    draws = 3.0 + 2.0 * np.random.default_rng(rows).standard_normal((40_000, rows))
    lower, upper = joint_intervals(draws, 0.9)
    expected = 2.0 * norm.ppf((1.0 + 0.9 ** (1.0 / rows)) / 2.0)
    np.testing.assert_allclose((upper - lower) / 2.0, expected, rtol=0.02)


def test_all_differences_have_the_critical_value_of_tukey():
    draws = np.random.default_rng(0).standard_normal((40_000, 5))
    a, b = np.triu_indices(5, 1)
    lower, upper = joint_intervals(draws[:, b] - draws[:, a], 0.95)
    expected = studentized_range.ppf(0.95, 5, np.inf)
    np.testing.assert_allclose((upper - lower) / 2.0, expected, rtol=0.02)


def test_a_constant_row_has_no_width():
    draws = np.random.default_rng(0).standard_normal((100, 2)) * [1.0, 0.0]
    lower, upper = joint_intervals(draws, 0.9)
    assert lower[1] == upper[1] == 0.0 and upper[0] > 1.0


def test_pairs_are_comparisons_draw_by_draw(fit):
    pairs = bvb.effects.predictions(fit, "label").pairs(simultaneous=False)
    same = bvb.effects.comparisons(fit, "label", {})
    np.testing.assert_allclose(pairs.draws, same.draws, rtol=1e-12, atol=1e-12)
    assert pairs.summary["contrast"].tolist() == same.summary["contrast"].tolist()
    np.testing.assert_allclose(pairs.summary["lower"], same.summary["lower"], rtol=1e-12)


def test_effects_that_are_equal_in_all_rows_are_printed_once(fit):
    text = str(bvb.effects.comparisons(fit, "label", data=fit.model.design.given))
    assert text.count("virginica - versicolor") == 1 and "Equal in all rows of the data." in text


def test_pairs_of_single_rows_of_the_data_are_refused(fit):
    rows = bvb.effects.predictions(fit)
    assert "more: .summary; average_by=True averages over the rows" in str(rows)
    with pytest.raises(DataError, match=r"150 single rows of the data(?s:.*)average_by=True"):
        rows.pairs()
    few = bvb.effects.predictions(fit, data=fit.model.design.given.iloc[::50])
    assert len(few.pairs().summary) == 3
    averaged = bvb.effects.comparisons(fit, "label", average_by=True)
    assert not averaged.of_rows
    with pytest.raises(DataError, match=r"for comparisons use \.adjusted"):
        averaged.pairs()


def test_pairs_of_slopes_are_named(fit):
    slopes = bvb.effects.slopes(
        fit.refit("~ . + petal_width", bvb.datasets.load("iris")), "petal_width", average_by="label"
    )
    assert str(slopes.pairs()).startswith("Comparisons: difference of derivative of ")


def test_simultaneous_intervals_contain_the_draws_of_all_rows_together(fit):
    pairs = bvb.effects.predictions(fit, "label").pairs()
    table, draws = pairs.summary, pairs.draws.to_numpy()
    inside = (table["lower"].to_numpy() <= draws) & (draws <= table["upper"].to_numpy())
    assert abs(inside.all(axis=1).mean() - pairs.prob) < 0.01
    assert inside.mean() > pairs.prob + 0.01
    assert "89% simultaneous intervals" in str(pairs)
    assert "simultaneous" not in str(bvb.effects.predictions(fit, "label"))


def test_ratios_are_adjusted_on_the_scale_of_logarithms(fit):
    ratios = bvb.effects.predictions(fit, "label").pairs("ratio")
    table = ratios.summary
    middle = np.log(ratios.draws.to_numpy()).mean(axis=0)
    np.testing.assert_allclose(np.log(table["lower"] * table["upper"]) / 2.0, middle, rtol=1e-6)


def test_pairs_stay_within_a_quantile(fit):
    found = bvb.effects.predictions(fit, "label", target="quantile", q=[0.1, 0.9]).pairs()
    assert found.summary.groupby("q")["contrast"].nunique().tolist() == [3, 3]


def test_rows_without_a_covariate_have_no_pairs(fit):
    with pytest.raises(DataError, match="compares values of a covariate"):
        bvb.effects.predictions(fit, average_by=True).pairs()


def test_a_row_with_heavy_tails_widens_no_other_interval():
    rng = np.random.default_rng(1)
    draws = rng.standard_normal((20_000, 3))
    alone = joint_intervals(draws, 0.9)[1]
    heavy = np.column_stack([draws, np.exp(12.0 * rng.standard_normal(20_000))])
    upper = joint_intervals(heavy, 0.9)[1]
    assert (upper[:3] < 1.1 * alone).all()
    inside = joint_intervals(heavy, 0.9)[0] <= heavy
    assert (inside & (heavy <= upper)).all(axis=1).mean() == pytest.approx(0.9, abs=0.01)
