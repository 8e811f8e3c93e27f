"""Limits of the checks of a report, on both sides of each."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from matplotlib.figure import Figure

import bayesvb as bvb
from bayesvb.evaluation.calibration import Calibration, Coverage, PitEcdf
from bayesvb.evaluation.elpd import Elpd
from bayesvb.evaluation.reliability import Reliability
from bayesvb.reports.cells.checks import graded
from bayesvb.reports.sections import (
    accuracy,
    calibration,
    classification,
    comparison,
    computation,
    exact,
    pairs,
    replicates,
)
from bayesvb.results.class_folds import HeldOutClasses

LITTLE = 1e-9


@pytest.mark.parametrize(
    ("value", "verdict"),
    [(0.0, "ok"), (0.5, "ok"), (0.5 + LITTLE, "look"), (0.7, "look"), (0.7 + LITTLE, "problem")],
)
def test_a_number_of_which_less_is_better_is_graded_by_both_limits(value, verdict):
    assert graded(value, ok=0.5, look=0.7) == verdict


def calibrations(deviations, *, inside=True, p_value=0.5):
    """What is found where coverage is off by so many standard errors."""
    prob = np.array([0.5, 0.8, 0.9])
    se = np.array([0.05, 0.04, 0.03])
    band = np.zeros(2)
    ecdf = PitEcdf(np.array([0.5, 1.0]), band, band, band, 0.95, 0.01, inside)
    cover = Coverage(prob, prob + se * np.array(deviations), se)
    return Calibration(np.array([0.5]), np.array([1.0]), cover, ecdf, p_value)


@pytest.mark.parametrize(
    ("deviations", "facts", "verdict", "words"),
    [
        ([0.0, 0.0, 0.0], {}, "ok", "agree with"),
        ([1.99, -1.99, 1.99], {}, "ok", "agree with"),
        ([0.0, 0.0, 0.0], {"inside": False}, "look", "the curve leaves its band"),
        ([-2.01, 0.0, 0.0], {}, "look", "hold fewer rows"),
        ([0.0, 2.01, 0.0], {}, "look", "hold more rows"),
        ([0.0, 0.0, -3.99], {}, "look", "hold fewer rows"),
        ([0.0, 0.0, -4.01], {}, "problem", "hold fewer rows"),
        ([4.01, 0.0, 0.0], {}, "problem", "hold more rows"),
        ([0.0, 0.0, 0.0], {"p_value": 1.001e-3}, "ok", "agree with"),
        ([0.0, 0.0, 0.0], {"p_value": 0.999e-3}, "problem", "the curve leaves its band"),
        ([0.0, 0.0, 0.0], {"p_value": 0.999e-3, "inside": False}, "problem", "clearly off"),
    ],
)
def test_calibration_is_judged_by_band_coverage_and_p_value(deviations, facts, verdict, words):
    found = calibration.calibrated(calibrations(deviations, **facts), " of y")
    assert found["name"] == "Calibrated of y"
    assert found["verdict"] == verdict and words in found["reading"]
    holds = 90.0 + 3.0 * deviations[-1]
    assert found["value"] == f"90\u202f% intervals hold {holds:.0f}\u202f%"


@pytest.mark.parametrize("narrow", [True, False])
@pytest.mark.parametrize(
    ("n_high", "largest", "verdict"),
    [(0, 0.7, "ok"), (1, 0.71, "look"), (5, 1.0, "look"), (6, 0.71, "problem"),
     (1, 1.01, "problem")],
)  # fmt: skip
def test_leave_one_out_is_trusted_by_how_many_rows_have_a_high_k(n_high, largest, verdict, narrow):
    k = np.full(100, 0.7)
    k[:n_high] = largest
    found = accuracy.trusted(k, 0.7, narrow=narrow)
    assert found["verdict"] == verdict and found["value"] == f"{n_high} of 100 rows high"
    assert found["reach"] == "accuracy"
    assert ("too alike" in found["reading"]) == (narrow and verdict == "ok")


def gains(in_errors):
    """Differences of 50 rows whose sum is so many of its standard errors above zero."""
    one = np.tile([1.0, -1.0], 25)
    se = np.sqrt(50 / 49 * 50)
    return one + in_errors * se / 50


BESIDE = [(2.01, "ok"), (1.99, "look"), (-1.99, "look"), (-2.01, "problem")]


@pytest.mark.parametrize("n_components", [1, 2])
@pytest.mark.parametrize(("in_errors", "verdict"), BESIDE)
def test_a_mixture_is_better_or_worse_than_least_squares_by_two_errors(
    in_errors, verdict, n_components
):
    straight = np.linspace(-3.0, -1.0, 50)
    loo = Elpd("loo", straight + gains(in_errors), 2.0, 100, False, np.zeros(50))
    found = accuracy.better_than_linear(loo, straight, n_components)
    same = n_components == 1 and verdict == "look"
    assert found["verdict"] == ("ok" if same else verdict)
    assert ("no difference" in found["reading"]) == same
    doubled = replace(loo, weights=np.full(50, 2.0))
    elsewhere = accuracy.better_than_linear(doubled, straight, n_components)
    assert elsewhere["value"] != found["value"]


def test_without_two_rows_of_least_squares_there_is_nothing_to_compare():
    loo = Elpd("loo", np.zeros(3), 2.0, 100, False, np.zeros(3))
    for straight, known in (
        (None, False),
        (np.array([1.0, np.nan, np.nan]), False),
        (np.array([1.0, 2.0, np.nan]), True),
    ):
        found = accuracy.better_than_linear(loo, straight, 2)
        assert (found["value"] != "–") == known
        assert known or found["verdict"] == "look"


@pytest.mark.parametrize(
    ("p_value", "verdict"),
    [(0.05, "ok"), (0.05 - LITTLE, "look"), (0.005, "look"), (0.005 - LITTLE, "problem")],
)
def test_class_probabilities_are_judged_by_the_p_value(p_value, verdict):
    assert classification.calibrated(Reliability((), p_value))["verdict"] == verdict


@pytest.mark.parametrize(("in_errors", "verdict"), BESIDE)
def test_a_network_is_better_or_worse_than_multinomial_regression_by_two_errors(in_errors, verdict):
    codes = np.arange(50) % 2
    linear = np.full((50, 2), 0.5)
    ours = np.exp(np.log(0.5) + 1e-3 * gains(in_errors))
    p = np.where(np.arange(2) == codes[:, None], ours[:, None], 1.0 - ours[:, None])
    found = classification.better_than_linear(HeldOutClasses(codes, p, p, None), linear)
    assert found["verdict"] == verdict


def test_an_observed_class_of_no_probability_is_infinitely_worse():
    codes, certain, even = (
        np.array([0, 1]),
        np.array([[1.0, 0.0], [1.0, 0.0]]),
        np.full((2, 2), 0.5),
    )
    for ours, linear, verdict in ((certain, even, "problem"), (even, certain, "ok")):
        found = classification.better_than_linear(HeldOutClasses(codes, ours, ours, None), linear)
        assert found["verdict"] == verdict


@pytest.mark.parametrize(
    ("near", "bounds", "fixed", "verdict", "words"),
    [
        (2, [0.0, -0.5, -9.0], False, "ok", "More than one start"),
        (1, [0.0, -2.5, -9.0], False, "look", "the next is 2.50 nats lower"),
        (1, [0.0], False, "look", "Only one start"),
        (1, [0.0, -2.0], True, "ok", "do not depend on chance"),
    ],
)
def test_restarts_agree_if_two_end_in_the_best_optimum(near, bounds, fixed, verdict, words):
    found = computation.agreeing(near, np.array(bounds), fixed=fixed)
    assert found["verdict"] == verdict and words in found["reading"]
    assert found["value"] == f"{near} of {len(bounds)} restarts"


@pytest.mark.parametrize(("gap", "near"), [(0.999, 2), (1.001, 1)])
def test_a_restart_is_near_if_its_bound_is_within_a_nat(gap, near, regimes_fit):
    restarts = regimes_fit.restarts.copy()
    restarts["elbo"] = restarts["elbo"].max()
    restarts.loc[restarts.index != regimes_fit.best_restart, "elbo"] -= gap
    found = computation.summary(replace(regimes_fit, restarts=restarts))
    assert found["n_near"] == near


def test_an_ascent_that_was_cut_short_is_a_problem(regimes_fit):
    for converged, verdict in ((True, "ok"), (False, "problem")):
        found = computation.summary(replace(regimes_fit, converged=converged))["checks"][0]
        assert (found["name"], found["verdict"]) == ("Converged", verdict)


@pytest.mark.parametrize(
    ("k", "verdict"),
    [(None, "look"), (np.nan, "ok"), (-0.1, "ok"), (0.5, "ok"), (0.51, "look"), (0.7, "look"),
     (0.71, "problem")],
)  # fmt: skip
def test_the_distance_to_the_posterior_is_graded_by_khat(k, verdict):
    assert computation.close(k)["verdict"] == verdict


@pytest.mark.parametrize(
    ("narrowest", "verdict"),
    [(1.0, "ok"), (0.951, "ok"), (0.949, "look"), (0.801, "look"), (0.799, "problem")],
)
def test_an_exact_posterior_is_graded_by_the_narrowest_interval(narrowest, verdict):
    found = exact.close(pd.Series({"mu": narrowest, "sigma": 1.0}))
    assert found["verdict"] == verdict
    assert found["value"] == f"{100.0 * narrowest:.1f}\u202f% of the exact width"


def test_variables_given_each_other_are_judged_by_their_worst():
    rng = np.random.default_rng(1)
    uniform = (np.arange(400) + 0.5) / 400
    slight, wrong = uniform**1.25, rng.beta(4.0, 4.0, 400)
    found = {
        "ok": {"a": uniform, "b": uniform[::-1]},
        "look": {"a": uniform, "b": slight},
        "problem": {"a": uniform, "b": wrong},
    }
    for verdict, pit in found.items():
        assert pairs.calibrated(pit)["verdict"] == verdict
    assert "off: b." in pairs.calibrated(found["look"])["reading"]
    assert pairs.calibrated(found["ok"])["value"] == "2 of 2 variables in the band"


@pytest.mark.parametrize("n_variables", [1, 10])
def test_the_smallest_p_value_counts_as_often_as_there_are_variables(n_variables, monkeypatch):
    pit = {f"v{i}": (np.arange(50) + 0.5) / 50 for i in range(n_variables)}
    for p_value, verdict in ((1.001e-3 / n_variables, "ok"), (0.999e-3 / n_variables, "problem")):
        monkeypatch.setattr(pairs, "uniformity_p_value", lambda _, p=p_value: p)
        assert pairs.calibrated(pit)["verdict"] == verdict


@pytest.mark.parametrize(
    ("p", "words"),
    [(0.025, None), (0.024, "largest (too small)"), (0.975, None), (0.976, "largest (too large)")],
)
def test_a_statistic_is_named_if_its_p_value_is_in_a_tail(p, words):
    said = replicates.reading({"mean": 0.5, "largest": p})
    assert said.endswith("in all of these respects.") if words is None else words in said


@pytest.mark.parametrize(("gap", "clear"), [(6.01, True), (5.99, False)])
def test_the_best_fit_is_clearly_better_from_two_errors_on(gap, clear):
    frame = pd.DataFrame({"elpd_diff": [0.0, -gap], "dse": [0.0, 3.0]}, index=["one", "other"])
    said = comparison.reading(frame)
    assert said.startswith("one is clearly better than other" if clear else "one is ahead of, but")


def test_the_shading_of_pit_medians_is_two_standard_errors(monkeypatch):
    """The median of n uniform values has variance 1 / (4 n) for large n, 1 / (4 n + 8) exactly."""
    drawn = []

    def kept(figure, buffer, **_):
        drawn.append(figure)
        buffer.write("<svg></svg>")

    monkeypatch.setattr(Figure, "savefig", kept)
    rng = np.random.default_rng(2)
    data = pd.DataFrame({"g": np.repeat(list("abc"), [90, 30, 9]), "y": rng.normal(size=129)})
    data["y"] += np.where(data["g"] == "a", 3.0, 0.0)
    fit = bvb.DensityRegression("y ~ g", data, n_components=1).fit(seed=1, restarts=1, draws=30)
    calibration.summary(fit)
    (axes,) = (figure.axes[0] for figure in drawn if figure.axes[0].get_ylabel() == "PIT value")
    labels = [one.get_text() for one in axes.get_xticklabels()]
    assert labels == ["a", "b"]  # nine rows say too little
    shading = {label: bar.get_bbox() for label, bar in zip(labels, axes.patches, strict=True)}
    for label, n_rows in (("a", 90), ("b", 30)):
        ends = shading[label].y0, shading[label].y1
        medians = np.median(rng.uniform(size=(20_000, n_rows)), axis=1)
        assert ends == pytest.approx((0.5 - 2 * medians.std(), 0.5 + 2 * medians.std()), abs=0.01)
