"""Where a few draws decide mean and standard deviation, the median and the MAD are told."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.stats

import bayesvb as bvb
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.reports.sections import posterior
from bayesvb.results.printing import _components


def draws(law):
    rng = np.random.default_rng(2)
    return {
        "normal": rng.normal(size=1000),
        "skewed": rng.gamma(2.0, size=1000),
        "heavy": rng.standard_cauchy(1000),
        "two modes": np.where(np.arange(1000) % 20 == 0, 5.0, rng.normal(size=1000) / 100.0),
    }[law]


@pytest.mark.parametrize("law", ["normal", "skewed"])
def test_usual_draws_have_mean_and_standard_deviation(law):
    found = summarised(draws(law)[:, None], 0.89)
    assert not found.robust.any()
    assert found.centre[0] == pytest.approx(draws(law).mean())
    assert found.spread[0] == pytest.approx(draws(law).std(ddof=1))


@pytest.mark.parametrize("law", ["heavy", "two modes"])
def test_others_have_a_centre_in_the_interval_and_a_spread_within_its_width(law):
    found = summarised(draws(law)[:, None], 0.89)
    assert found.robust.all()
    assert found.lower[0] < found.centre[0] < found.upper[0]
    assert found.spread[0] < found.upper[0] - found.lower[0]
    assert summarised(draws(law)[:, None], 0.89, robust=False).centre[0] == draws(law).mean()


def test_the_mad_of_normal_draws_is_their_standard_deviation_and_what_is_known_has_none():
    normal = np.random.default_rng(1).normal(3.0, 2.0, (100_000, 1))
    found = summarised(normal, 0.89, robust=True)
    assert found.spread[0] == pytest.approx(2.0, rel=0.02)
    fixed = summarised(np.full((50, 1), 0.1), 0.89)
    assert fixed.spread[0] == 0.0 and not fixed.robust.any()


def test_draws_that_are_student_t_have_its_interval_and_probability_of_the_sign():
    t = np.random.default_rng(3).standard_t(8.0, 400)
    t = 1.0 + 2.0 * (t - t.mean()) / t.std(ddof=1)
    found = summarised(t[:, None], 0.9, dof=8.0)
    law = scipy.stats.t(8.0, 1.0, 2.0 * np.sqrt(6.0 / 8.0))
    assert [found.lower[0], found.upper[0]] == pytest.approx(law.ppf([0.05, 0.95]))
    assert found.positive[0] == pytest.approx(1.0 - law.cdf(0.0))
    fixed = summarised(np.full((50, 1), 0.1), 0.9, dof=8.0)
    assert fixed.lower[0] == fixed.upper[0] == pytest.approx(0.1) and fixed.positive[0] == 1.0


@pytest.fixture(scope="module")
def nearly_empty():
    """A second component with hardly a row: its draws are those of a prior without a variance."""
    rng = np.random.default_rng(4)
    x = np.linspace(0.0, 4.0, 8)
    data = pd.DataFrame({"x": x, "y": 2.0 * x + 0.2 * rng.normal(size=8)})
    return bvb.DensityRegression("y ~ x | gating(1)", data, n_components=2).fit(seed=1)


def test_what_is_printed_of_a_nearly_empty_component_lies_in_its_interval(nearly_empty):
    plain, robust = nearly_empty.summary(), nearly_empty.summary(robust=True)
    wide = plain["sd"] > plain["upper"] - plain["lower"]
    assert wide.any()  # or this is no case of it
    assert list(robust.columns[:2]) == ["median", "mad"]
    assert (robust["mad"] <= robust["upper"] - robust["lower"])[wide].all()
    text = str(nearly_empty)
    assert "are median and 1.48 MAD of" in text
    pd.testing.assert_frame_equal(robust[["lower", "upper"]], plain[["lower", "upper"]])


def test_the_page_says_of_which_rows_it_tells_the_median(nearly_empty):
    found = posterior.summary(nearly_empty)
    captions = [part["table"]["caption"] for part in found["parts"]]
    captions += [part["empty"]["caption"] for part in found["parts"] if part["empty"]]
    assert any("1.48 times the median absolute deviation" in caption for caption in captions)


def test_shares_of_restarts_that_disagree_are_said_to_be_means(nearly_empty):
    row = {"share": [0.6], "share_lower": [0.7], "share_upper": [0.8]}
    for members, said in (((object(),), True), ((), False)):
        fit = SimpleNamespace(components=lambda: pd.DataFrame(row), members=members)
        assert ("restarts that disagree" in _components(fit)) == said


def test_effects_that_a_few_draws_decide_are_medians_and_say_so(nearly_empty):
    found = bvb.effects.predictions(nearly_empty, {"x": [-40.0, 2.0, 40.0]})
    table = found.summary
    flat = found.draws.to_numpy()
    heavy = (flat.std(axis=0, ddof=1) > table["upper"] - table["lower"]).to_numpy()
    assert heavy.any() and found.robust == heavy.sum()
    assert (table["lower"] <= table["estimate"]).all() and (
        table["estimate"] <= table["upper"]
    ).all()
    np.testing.assert_allclose(table["estimate"][heavy], np.median(flat, axis=0)[heavy])
    assert "median and 1.48 MAD" in str(found)
