"""The sentence and the picture with which a page begins."""

import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.rows.average_effects import (
    average_draws,
    clear_signs,
    compared_values,
    extrapolated,
)
from bayesvb.reports.rows.contrasts import contrasts
from bayesvb.reports.rows.profiles import covariate
from bayesvb.reports.sections import SECTIONS, limits
from bayesvb.reports.sections.finding import finding, sentences, small_multiple
from bayesvb.results.checks.base import Check


def lines(slope=2.0, growth=0.0, n=200):
    rng = np.random.default_rng(1)
    x = rng.uniform(0, 10, n)
    return pd.DataFrame({"x": x, "y": slope * x + np.exp(growth * x) * rng.normal(size=n)})


def crossing(n=200):
    """The effect of x is 1 to 2 for positive w, and about the opposite for negative."""
    rng = np.random.default_rng(2)
    x, w = rng.uniform(-1, 1, n), rng.uniform(-1, 1, n)
    y = 3.0 * x * w + 0.3 * x + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "w": w, "y": y})


def fitted(formula, data, **options):
    names = ("n_components", "family", "weights")
    given = {name: options.pop(name) for name in names if name in options}
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **given})
    return model.fit(seed=1, **{"restarts": 2, "draws": 400, **options})


def problem(name, measure=""):
    return Check(name, "fit", "problem", 1.0, measure, 0.0, "", "", "calibration")


def numbers(sentence):
    """Size and interval of the first change of a sentence."""
    words = re.search(r"by (\S+?)(?: on average)? \(89% (?:mean-field )?interval (\S+) to "
                      r"([^\s;)]+)", sentence)  # fmt: skip
    return [float(word.replace("−", "-")) for word in words.groups()]


def table_line(fit, name, target, to=None):
    """Difference and interval as the table of effects shows them."""
    table = SECTIONS["effects"].summary(fit)["table"]
    (row,) = (
        row
        for row in table["rows"]
        if row["heads"][0].split(" ")[0] == name
        and row["heads"][3] == target
        and to in (None, row["heads"][2])
    )
    size, interval = row["cells"]
    return [round(number, row["decimals"][0]) for number in (size, *interval)]


@pytest.fixture(scope="module")
def crossed():
    return fitted("y ~ x * w", crossing())


@pytest.mark.parametrize(("formula", "options"), [
    ("y ~ x", {}), ("y ~ x * w", {}), ("y ~ x + w", {"n_components": 2}),
    ("y ~ x * w", {"weights": np.arange(200.0) % 3}),
])  # fmt: skip
def test_the_sentence_has_the_numbers_of_the_table_of_effects(formula, options):
    fit = fitted(formula, crossing(), restarts=1, draws=200, **options)
    (sentence, *_) = sentences(fit, [])
    name = re.match(r"From (\w+) = ", sentence)[1]
    size, low, high = table_line(fit, name, "mean")
    sign = -1.0 if " falls by " in sentence.split("; ")[0] else 1.0
    assert numbers(sentence) == [sign * size, *sorted([sign * low, sign * high])]
    if fit.model.weights is None:
        ends = compared_values(fit, name)
        found = bvb.effects.comparisons(fit, {name: ends}, average_by=True).summary
        assert found["estimate"].round(2).item() == size


def test_rows_count_by_their_case_weights():
    data, weights = crossing(80), np.arange(80.0) % 3
    fit = fitted("y ~ x * w", data, weights=weights, restarts=1, draws=100)
    (difference,) = np.diff(
        average_draws(fit, "x", [0.0, 1.0], ("mean",))["mean"].mean(axis=0)[:, 0, 0]
    )
    slopes = fit.summary().loc["mean", "mean"].droplevel("component")
    expected = slopes["x"] + slopes["x:w"] * np.average(data["w"], weights=weights)
    assert difference == pytest.approx(expected, abs=0.02)
    caption = SECTIONS["effects"].summary(fit)["table"]["caption"]
    assert "averages over the 80 rows, by case weight, with" in caption


def test_signs_that_differ_between_rows_are_stated_with_their_shares(crossed):
    (sentence, *_) = sentences(crossed)
    assert sentence.startswith("From x = ") or sentence.startswith("From w = ")
    up, down = re.search(r"it rises for (\d+)% of the rows and falls for (\d+)%", sentence).groups()
    assert int(up) + int(down) == 100
    assert f", depending on {'w' if sentence.startswith('From x') else 'x'}" in sentence
    if sentence.startswith("From x"):
        positive = (3.0 * crossed.model.design.frame["w"] + 0.3 > 0.0).mean()
        assert int(up) / 100 == pytest.approx(positive, abs=0.06)
    assert " on average (" in sentence


def test_signs_that_are_the_same_or_unclear_have_no_shares():
    rng = np.random.default_rng(3)
    data = crossing().assign(y=lambda frame: 2.0 * frame["x"] + rng.normal(size=200))
    for formula in ("y ~ x * w", "y ~ x + w"):
        assert "of the rows and" not in sentences(fitted(formula, data), [])[0]


@pytest.mark.parametrize("options", [{}, {"family": "student"}])
@pytest.mark.parametrize("growth", [0.0, 0.2])
@pytest.mark.quick(options=({},), growth=(0.2,))
def test_one_component_has_no_sentence_about_the_spread(options, growth):
    fit = fitted("y ~ x", lines(growth=growth), restarts=1, draws=100, **options)
    for checks in (None, []):
        text = " ".join(sentences(fit, checks))
        assert not re.search(r"wide|width|spread|deviation", text.lower())
    heads = [row["heads"][3] for row in SECTIONS["effects"].summary(fit)["table"]["rows"]]
    assert heads == ["mean"]


def test_a_growing_spread_is_stated_unless_a_check_of_the_noise_is_a_problem():
    fit = fitted("y ~ x | gating(x)", lines(-1.0, 0.25, 500), n_components=2)
    (sentence,) = sentences(fit, [])
    assert " falls by " in sentence and "the standard deviation of y rises by " in sentence
    expected = table_line(fit, "x", "sd")
    assert numbers(sentence.split("; ")[1]) == pytest.approx(expected)
    for name in ("Spread by x", "Spread by prediction", "Shape", "One more component"):
        (sentence,) = sentences(fit, [problem(name)])
        assert "deviation" not in sentence and " falls by " in sentence
        assert sentence.startswith("Provisional: ") == (not name.startswith("Spread"))
    (sentence,) = sentences(fit, [problem("Spread by z")])
    assert sentence.startswith("Provisional: ") and "deviation" in sentence


def test_a_check_of_the_covariate_makes_the_change_doubtful(crossed):
    (plain, *_) = sentences(crossed, [])
    name = re.match(r"From (\w+) = ", plain)[1]
    for check in (problem(f"Mean by {name}"), problem("Mean by prediction"),
                  problem("Interactions", "share of variance, x:w"), problem("Serial correlation"),
                  problem("A check that is not known")):  # fmt: skip
        (sentence,) = sentences(crossed, [check])
        assert sentence.startswith(
            f"The fit fails the check {check.name}, so this may be wrong: from {name} "
        )
        assert not re.search(r"\b(rises|falls|higher|lower)\b", sentence)
    for check in (problem("Mean by v"), problem("Interactions", "share of variance, v:u"),
                  problem("Tails")):  # fmt: skip
        assert sentences(crossed, [check])[0] == f"Provisional: f{plain[1:]}"


def test_a_line_through_a_curve_is_called_doubtful_by_its_own_checks():
    data = lines(0.0)
    data["y"] += (data["x"] - 4.0) ** 2
    (sentence,) = sentences(fitted("y ~ x", data))
    assert sentence.startswith("The fit fails the checks ") and "Mean by x" in sentence
    assert not re.search(r"\b(rises|falls)\b", sentence)


def test_a_turn_between_the_ends_is_stated():
    data = lines(0.0)
    data["y"] += (data["x"] - 5.0) ** 2
    fit = fitted("y ~ poly(x, 2)", data)
    told = finding(fit, {"conditional": SECTIONS["conditional"].summary(fit)}, checks=[])
    told = told[0]["sentences"]
    assert len(told) == 2 and told[1].startswith("Between these values the average mean falls to ")
    assert len(sentences(fit, [problem("Mean by x")])) == 1
    assert len(sentences(fitted("y ~ poly(x, 2)", lines()), [])) == 1


def test_signs_are_clear_whatever_a_few_draws_say_and_by_fewer_the_more_is_compared():
    draws = np.random.default_rng(1).normal(2.4, 1.0, 20_000)
    assert clear_signs(draws, 0.05) == 1 and clear_signs(draws, 0.005) == 0
    wild = np.append(draws, np.full(300, -1e6))
    assert clear_signs(wild, 0.05) == 1 and clear_signs(-wild, 0.05) == -1
    exact = [clear_signs(draws - shift, 0.05) for shift in (2.4 - 1.9, 2.4 - 2.0)]
    assert exact == [0, 1]  # a normal interval excludes 0 from 1.96 standard deviations on


def test_levels_without_a_covariate_and_several_responses_are_stated():
    data = lines().assign(g=lambda frame: np.where(frame["x"] > 5, "b", "a"), z=1.0)
    data["h"] = np.where(data["x"] > 8, "c", data["g"])
    data["y2"] = -data["y"]
    (sentence,) = sentences(fitted("y ~ g", data), [])
    assert sentence.startswith("At g = b compared with a, the mean of y is higher by ")
    fit = fitted("y ~ h", data)
    (sentence,) = sentences(fit, [])
    assert sentence.startswith("At h = c compared with a, the mean of y is higher by ")
    assert numbers(sentence) == pytest.approx(table_line(fit, "h", "mean", "c"))
    (sentence,) = sentences(fitted("y ~ 1", data), [])
    assert sentence.startswith("The formula has no covariate: the median of y is ")
    both = sentences(fitted("y2 + y ~ x", data), [problem("Mean by x of y")])
    assert "the mean of y2 falls by " in both[0] and "the fitted mean of y changes by " in both[1]


def test_the_mean_of_a_logarithm_is_also_stated_as_a_factor_of_what_it_is_taken_of():
    data = lines(-0.1).assign(z=lambda frame: np.exp(frame["y"]))
    (sentence,) = sentences(fitted("log(z) ~ x", data), [])
    words = r"falls by (\S+) \(.*\), a factor of (\S+) in the geometric mean of z\."
    change, factor = (float(one) for one in re.search(words, sentence).groups())
    assert factor == pytest.approx(np.exp(-change), rel=0.1)


def test_numbers_that_stand_for_ordered_levels_are_named():
    data = lines(n=60)
    data["h"] = pd.cut(data["y"], 3, labels=["low", "middle", "high"])
    model = bvb.DensityRegression("h ~ x", data, n_components=1, family="ordinal")
    fit = model.fit(seed=1, restarts=1, draws=50)
    (sentence, *_) = sentences(fit, [])
    assert "the mean level of h (low = 1 to high = 3) rises by " in sentence
    assert not any("components" in one["what"] for one in limits.summary(fit)["not_done"])


@pytest.mark.parametrize(
    ("formula", "slope", "says"),
    [
        ("y ~ x + z", -0.2, "the mean of y does not change clearly: by 0"),
        ("y ~ x + z", 0.0, "; direction uncertain: the largest of 2 comparisons)"),
        ("y ~ x", -0.05, "; direction uncertain: the 95% interval includes zero)"),
        ("y ~ x", 0.0, "the mean of y rises by 0"),
    ],
)
def test_a_direction_needs_an_interval_without_zero_after_a_correction(formula, slope, says):
    rng = np.random.default_rng(4)
    data = pd.DataFrame(rng.normal(size=(100, 3)), columns=["x", "z", "y"])
    data["y"] += slope * data["x"]  # the rows happen to have a slope of 0.24
    assert says in sentences(fitted(formula, data), [])[0]


@pytest.mark.heavy
def test_point_estimates_have_neither_interval_nor_direction():
    network = bvb.ConditionalMixtureNetwork("y ~ x", lines(n=60), n_experts=1)
    (sentence,) = sentences(network.fit(method="em", seed=1, restarts=1), [])
    assert "the fitted mean of y changes by " in sentence and "interval" not in sentence


def tied(gap, noise, n=120):
    """Two covariates that are nearly equal, with this distance between two groups of rows."""
    rng = np.random.default_rng(5)
    x = rng.uniform(-1.0, 1.0, n)
    x += gap * np.sign(x)
    data = pd.DataFrame({"x": x, "w": x + noise * rng.normal(size=n), "z": rng.normal(size=n)})
    data["y"] = 3.0 * data["x"] + 0.5 * data["z"] + rng.normal(size=n)
    return data


@pytest.mark.heavy
def test_classes_that_only_extrapolations_change_have_their_observed_shares():
    x = tied(5.0, 0.1)
    x["g"] = np.where(x["x"] + 0.3 * x["z"] > 0.0, "high", "low")
    network = bvb.ConditionalMixtureNetwork("g ~ x + w", x, n_experts=1)
    fit = network.fit(seed=1, restarts=1, draws=60)
    (doubted,), (sentence,) = sentences(fit, [problem("Serial correlation")]), sentences(fit, [])
    lead = "The fit fails the check Serial correlation, so this may be wrong"
    assert doubted == f"{lead}: w{sentence[1:]}"
    pattern = r"With (\w) (?:from|up to) (\S+)(?: on)? g is (low|high) in (\d+) of (\d+) rows; "
    edge = re.match(pattern + r"the model predicts 9\d(?:\.\d)?%\.$", sentence)
    name, value, level, n_level, n_rows = edge.groups()
    value = float(value.replace("−", "-"))
    inside = x[name].round(2) <= value if "up to" in sentence else x[name].round(2) >= value
    assert (int(n_level), int(n_rows)) == ((x["g"][inside] == level).sum(), inside.sum())
    assert inside.sum() == 20


def test_contrasts_are_shortened_to_where_rows_are_or_another_covariate_is_taken():
    few = {"restarts": 1, "draws": 60}
    near = fitted("y ~ x + w", tied(0.0, 0.3), **few)
    (contrast,) = (one for one in contrasts(near) if one.covariate == "x")
    assert contrast.reach == "shortened"
    usual = [float(end) for end in compared_values(near, "x")]
    low, high = contrast.ends
    assert usual[0] < low < high < usual[1]
    far = extrapolated(near, covariate(near.model.design, "x"), [*usual, low, high])
    assert (far[:2] > 1.0 / 3.0).any() and (far[2:] <= 1.0 / 3.0).all()
    (sentence, *_) = sentences(near, [])
    assert f"to {contrast.words[1]}" in sentence and "extrapolation" not in sentence
    assert "would be extrapolations" in SECTIONS["effects"].summary(near)["table"]["caption"]
    apart = fitted("y ~ x + w + z", tied(5.0, 0.1), **few)
    reach = {one.covariate: one.reach for one in contrasts(apart)}
    assert reach == {"x": "extrapolated", "w": "extrapolated", "z": "all"}
    assert sentences(apart, [])[0].startswith("From z = ")
    alone = fitted("y ~ x + w", tied(5.0, 0.1), **few)
    assert "an extrapolation for many rows" in sentences(alone, [])[0]


def test_class_pages_have_one_number_for_one_quantity(class_fit):
    page = {"classes": SECTIONS["classes"].summary(class_fit)}
    (sentence,) = finding(class_fit, page, checks=[])[0]["sentences"]
    name, level = re.search(r"From (\w+) = .* probability of \w+ = (\w+)", sentence).groups()
    size, low, high = table_line(class_fit, name, level)
    sign = -1.0 if " falls by " in sentence else 1.0
    assert numbers(sentence) == pytest.approx([sign * size, *sorted([sign * low, sign * high])])
    place = page["classes"]["table"]["titles"].index(level)
    first, *_, last = (row["cells"][place] for row in page["classes"]["table"]["rows"])
    assert last - first == pytest.approx(size, abs=10.0 ** -len(str(size).partition(".")[2]))


def test_the_other_models_have_their_sentence():
    data = lines()

    def first(fit, name):
        page = {name: SECTIONS[name].summary(fit)}
        return finding(fit, page, checks=[])[0]["sentences"][0]

    told = first(bvb.Normal("y ~ 1", data).fit(seed=1), "exact")
    assert told.startswith("The mean of y is ") and f"{data['y'].mean():.1f}" in told
    pca = bvb.BayesianPCA("~ x + y", data).fit(seed=1)
    assert first(pca, "scores").startswith("1 of 1 component carries ")
    two = bvb.GaussianMixture("~ x + y", data, n_components=2).fit(seed=1)
    told = first(two, "pairs")
    assert told.startswith("2 clusters hold ") and "% of the rows" in told
    assert sentences(two, [problem("Shape")])[0].startswith("The fit fails the check Shape, so")


def test_of_many_responses_two_are_stated_and_the_others_counted():
    data = lines().assign(z=lambda frame: 3.0 - frame["y"], v=lambda frame: -frame["y"])
    fit = bvb.DensityRegression("y + z + v ~ x", data, n_components=1)
    picture = {"x_labels": [(0.0, "1")], "end_labels": [1], "caption": "how to read it"}
    responses = [{"name": name, "along": "x", "bands": picture} for name in ("y", "z", "v")]
    page = {"conditional": {"responses": responses}}
    told, kept = finding(fit.fit(seed=1, restarts=1, draws=80), page, checks=[])
    texts = told["sentences"]
    assert (
        told["figure"] == picture
        and [one["bands"] for one in kept["conditional"]["responses"]] == [None] * 3
    )
    assert told["multiples"] == [{**picture, "end_labels": [], "caption": ""}] * 3
    assert texts[-1] == "1 more response: see all effects."
    assert len([one for one in texts if one.startswith("From x = ")]) == 2


def test_without_a_section_nothing_is_said():
    assert finding(None, {}) == ({"sentences": [], "figure": None, "multiples": []}, {})


def test_small_pictures_have_room_for_their_numbers_and_all_names_of_levels():
    picture = {"x_labels": [(20.0 * i, f"{500 * i:,}") for i in range(6)], "end_labels": [1]}
    small = small_multiple({**picture, "caption": "how to read it"})
    assert [text for _, text in small["x_labels"]] == ["0", "1,000", "2,000"]
    assert small["caption"] == "" and small["end_labels"] == []
    names = [(20.0 * i, name) for i, name in enumerate("abcdef")]
    assert small_multiple({**picture, "x_labels": names})["x_labels"] == names


@pytest.mark.parametrize("last", [2.0, 1000.0])
def test_means_beyond_all_observed_times_are_an_extrapolation(last):
    rng = np.random.default_rng(6)
    data = pd.DataFrame({"x": rng.normal(size=120)})
    times = np.exp(1.0 + data["x"]) * rng.exponential(size=120)
    data["time"], data["event"] = np.minimum(times, last), (times < last).astype(int)
    model = bvb.DensityRegression("Surv(time, event) ~ x", data, n_components=1, family="weibull")
    (sentence, *_) = sentences(model.fit(seed=1, restarts=1, draws=50), [])
    assert ("one of the means is beyond all observed values" in sentence) == (last == 2.0)
