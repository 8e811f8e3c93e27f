"""The verdict on a fit: its grades, what they depend on, and that no kind of fit is refused."""

import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports.sections.finding import sentences
from bayesvb.results import class_evaluation as judged_classes
from bayesvb.results.checks import accuracy, classes, computation
from bayesvb.results.checks.base import Misfit, decided, judged
from bayesvb.results.checks.grading import GRADES
from bayesvb.results.checks.remedies import Remedies
from bayesvb.results.checks.table import worst
from bayesvb.results.class_evaluation import HeldOutClasses, JudgedClasses


def test(p: float, *, matters: bool = True, noted: str = "") -> Misfit:
    return Misfit("Mean by x", 0.1, "share", "do so", "calibration", p, matters, "any", noted=noted)


test.__test__ = False


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x, z, noise = rng.normal(size=(3, 300))
    return pd.DataFrame({"x": x, "z": z, "noise": noise, "g": rng.choice(list("abc"), 300)})


def table_of(rows: pd.DataFrame, y: np.ndarray, formula: str = "y ~ x + z", **options):
    model = bvb.DensityRegression(formula, rows.assign(y=y), **({"n_components": 1} | options))
    return model.fit(seed=1, restarts=2, draws=60).check()


def problems(table: pd.DataFrame) -> set[str]:
    return set(table.index[table["grade"] == "problem"])


@pytest.mark.parametrize(
    ("one", "grade"),
    [
        (test(GRADES["p-value"].problem - 1e-9), "problem"),
        (test(GRADES["p-value"].problem), "note"),
        (test(GRADES["p-value"].note), "ok"),
        (test(1e-9, matters=False), "note"),
        (test(1.0, noted="do not know"), "note"),
    ],
)
def test_a_test_is_graded_by_its_p_value_and_size(one, grade):
    (found,) = judged([one])
    assert found.grade == grade
    assert (found.remedy == "") == (grade == "ok")


def test_p_values_are_adjusted_for_all_tests_of_the_fit():
    alone, among = judged([test(0.02)])[0], judged([test(0.02), test(0.5)])[0]
    assert (alone.p_value, alone.grade) == (0.02, "problem")
    assert (among.p_value, among.grade) == (0.04, "note")


def test_a_check_for_information_has_no_part_in_the_verdict():
    def one(grade, weighs):
        return decided("a", "computation", grade, 1.0, "number", threshold="t", remedy="r",
                       section="computation", weighs=weighs)  # fmt: skip

    assert worst([one("note", False), one("ok", True)]) == "ok"
    assert worst([one("note", True), one("problem", False)]) == "note"
    assert worst([one("note", True), one("problem", True)]) == "problem"


def test_a_right_line_is_in_order(rows):
    table = table_of(rows, rows["x"] - rows["z"] + rows["noise"])
    assert table.attrs["verdict"] == "ok" and not problems(table)
    assert list(dict.fromkeys(table["group"])) == ["fit", "computation", "accuracy"]
    tested = table["p_value"].notna()
    assert table.loc[tested, "p_value"].between(0.0, 1.0).all()
    assert {"Mean by x", "Spread by z", "Interactions", "Tails", "Serial correlation"} <= set(
        table.index
    )


WRONG = {
    "bend": (lambda d: d.x + 0.4 * d.x**2 + d.noise, "Mean by x", "`s(x)`"),
    "wave": (lambda d: d.x + np.sin(2.5 * d.x) + d.noise, "Mean by x", "`s(x)`"),
    "product": (lambda d: d.x + 0.5 * d.x * d.z + d.noise, "Interactions", "`x:z`"),
    "growing spread": (lambda d: np.exp(0.6 * d.z) * d.noise, "Spread by z", "`sigma(z)`"),
    "skewed noise": (lambda d: 4.0 + d.x + np.exp(0.7 * d.noise), "Skewness", "log(y)"),
    "heavy tails": (lambda d: d.x + np.sinh(1.5 * d.noise), "Tails", 'family="student"'),
    "two humps": (lambda d: d.x + d.noise + 6.0 * (d.g == "a"), "Tails", "n_components=3"),
    "counts": (lambda d: np.floor(np.exp(0.5 * d.noise + 0.5)), "Discreteness", "count"),
    "censored there": (lambda d: np.maximum(d.x + d.noise, -1.0), "Repeated value", "exactly -1"),
    "an end": (lambda d: np.abs(d.noise), "Smallest response", "Fix *Skewness* first"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:`:bayesvb.errors.DesignWarning")  # of the response
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.quick(name=("bend", "product", "skewed noise", "counts", "censored there"))
def test_what_is_wrong_is_named_with_its_remedy(name, rows):
    law, check, words = WRONG[name]
    table = table_of(rows, np.asarray(law(rows), dtype=float))
    assert check in problems(table) and words in table.loc[check, "remedy"]
    assert table.attrs["verdict"] == "problem"


@pytest.mark.parametrize(("distinct", "words"), [(7, "`s(x, k=7)`"), (3, "`C(x)`")])
def test_a_number_with_few_values_has_a_remedy_that_can_be_fitted(rows, distinct, words):
    x = np.arange(300.0) % distinct
    y = (x - x.mean()) ** 2 + rows["noise"]
    remedy = table_of(rows.assign(x=x), y).loc["Mean by x", "remedy"]
    assert words in remedy
    term = words.strip("`")
    assert not problems(table_of(rows.assign(x=x), y, f"y ~ {term}"))


@pytest.mark.parametrize(
    ("term", "words"),
    [("bs(x, df=3)", "give `bs(x, ...)`"), ("s(x, k=5)", "give `s(x, ...)`"), ("cos(x)", "`s(x)`"),
     ("x + s(z)", "`s(x)`")],
)  # fmt: skip
def test_a_curve_that_is_there_is_to_bend_more(rows, term, words):
    fit = bvb.DensityRegression(f"y ~ {term}", rows.assign(y=rows["noise"]), n_components=1).fit(
        seed=1, restarts=1, draws=25
    )
    assert words in Remedies(fit).mean("x", distinct=300).replace("Give", "give")


def test_groups_are_to_enter_other_parts_as_groups_and_not_as_numbers(rows):
    frame = rows.assign(y=rows["noise"], school=np.arange(300) % 10)
    fit = bvb.DensityRegression("y ~ x + (1 | school)", frame, n_components=1).fit(
        seed=1, restarts=1, draws=25
    )
    remedy = Remedies(fit).spread("school")
    assert "add the part `sigma((1 | school))`" in remedy
    bvb.DensityRegression("y ~ x + (1 | school) | sigma((1 | school))", frame, n_components=1)


def test_a_column_whose_name_is_part_of_another_is_not_taken_for_it(rows):
    frame = rows.assign(y=rows["noise"], age=rows["x"], lineage=rows["z"])
    frame["g"] = np.where(rows["x"] > 0.0, "age", "other")
    fit = bvb.DensityRegression("y ~ age | gating(lineage + g)", frame, n_components=2).fit(
        seed=1, restarts=1, draws=25
    )
    assert Remedies(fit).spread("age") == (
        "The spread changes with `age`: add `age` to `gating(...)`."
    )
    assert Remedies(fit).mean("z", distinct=300) == "Add `z` to the mean part of the formula."


def test_a_product_with_groups_is_a_slope_of_them_or_their_combinations(rows):
    frame = rows.assign(y=rows["noise"], site=np.arange(300) % 10, day=np.arange(300) % 7)
    formula = "y ~ x + z + g + (1 | site) + (1 | day)"
    fit = bvb.DensityRegression(formula, frame, n_components=1).fit(seed=1, restarts=1, draws=25)
    remedies = Remedies(fit)
    assert "add `(0 + x | site)`" in remedies.product("x", "site")
    assert "add `(0 + x | site)`" in remedies.product("site", "x")
    assert "add `(1 | site:day)`" in remedies.product("site", "day")
    assert "add `(1 | site:g)`" in remedies.product("site", "g")
    assert "interaction `x:z`" in remedies.product("x", "z")
    added = f"{formula} + (0 + x | site) + (1 | site:day) + (1 | site:g)"
    bvb.DensityRegression(added, frame, n_components=1)
    remedy = remedies.product("g", "site")
    assert "or replace `(1 | site)` by `(g | site)`" in remedy
    assert remedy.edits[1].formula(fit.model) == "y ~ x + z + g + (g | site) + (1 | day)"
    many = frame.assign(g=np.arange(300) % 5).astype({"g": str})
    fit = bvb.DensityRegression(formula, many, n_components=1).fit(seed=1, restarts=1, draws=25)
    assert "replace" not in Remedies(fit).product("g", "site")


def test_weights_of_groups_are_not_told_to_depend_on_what_changes_within(rows):
    frame = rows.assign(y=rows["noise"], who=np.arange(300) // 6, old=np.arange(300) // 150)
    model = bvb.DensityRegression("y ~ x + old | gating(1)", frame, n_components=2, group="who")
    fit = model.fit(seed=1, restarts=1, draws=25)
    remedies = Remedies(fit)
    assert "gating" not in remedies.spread("x") + remedies.mean("x", distinct=300)
    assert "add `old` to `gating(...)`" in remedies.spread("old")
    bvb.DensityRegression("y ~ x + old | gating(old)", frame, n_components=3, group="who")


def test_collinear_variables_make_a_mixture_too_wide_and_the_remedy_mends_it():
    rng = np.random.default_rng(5)
    size = rng.normal(size=(400, 1))
    frame = pd.DataFrame(size + 0.03 * rng.normal(size=(400, 3)), columns=list("abc"))
    table = bvb.GaussianMixture("~ .", frame, n_components=1).fit(seed=1).check()
    width = table.loc["Predictive spread"]
    assert width["grade"] == "problem" and "covariance_scale=0.1" in width["remedy"]
    narrow = bvb.GaussianPriors(covariance_scale=0.1)
    mended = bvb.GaussianMixture("~ .", frame, n_components=1, priors=narrow).fit(seed=1).check()
    assert mended.loc["Predictive spread", "grade"] != "problem"


def test_an_outlier_is_named(rows):
    y = (rows["x"] + rows["noise"]).to_numpy(copy=True)
    y[7] = 30.0
    table = table_of(rows, y)
    assert {"Rows far off", "Largest response"} <= problems(table)
    assert table.loc["Rows far off", "remedy"].startswith("Row 7 (y = 30) is an outlier")


def test_a_level_that_is_left_out_of_a_part_is_to_be_added(rows):
    y = rows["x"] + rows["noise"] + 2.0 * (rows["g"] == "a")
    table = table_of(rows, y, "y ~ x | gating(g)", n_components=2)
    assert "Mean by g" in table.index
    given = table_of(rows, y, "y ~ x + g")
    assert "Mean by g" not in given.index and not problems(given)


def test_groups_are_a_column_or_one_label_per_row(rows):
    fit = bvb.DensityRegression("noise ~ g", rows, n_components=1).fit(seed=1, restarts=1)
    assert "Correlation within g" not in fit.check(groups="g").index or not problems(
        fit.check(groups="g")
    )
    with pytest.raises(DataError, match="groups='x' is not a column that the formula reads"):
        fit.check(groups="x")
    with pytest.raises(DataError, match="groups has 7 labels"):
        fit.check(groups=np.arange(7))


def test_a_missing_linear_response_is_a_problem(regimes_fit):
    gone = replace(regimes_fit.response, failure="no maximum")
    found = {
        one.name: one for one in computation.computation_checks(replace(regimes_fit, response=gone))
    }
    assert found["Linear response"].grade == "problem"
    assert "no maximum" in found["Linear response"].remedy
    unasked = replace(regimes_fit.response, failure="linear response was not asked for")
    found = {
        one.name: one
        for one in computation.computation_checks(replace(regimes_fit, response=unasked))
    }
    assert found["Linear response"].grade == "note"


@pytest.mark.parametrize(
    ("gaps", "share", "grade"),
    [([0.0, 0.05], 0.0, "ok"), ([0.0, 3.0], 1.0, "note"), ([0.0, 0.0, 0.0, 5.0], 0.25, "ok"),
     ([0.0, 2.0, 2.0, 2.0], 0.25, "ok"), ([0.0, 2.0, 2.0, 3.0], 0.5, "note")],
)  # fmt: skip
def test_restarts_are_judged_by_the_optima_that_none_has_seen(gaps, share, grade, regimes_fit):
    restarts = pd.concat([regimes_fit.restarts.iloc[:1]] * len(gaps))
    restarts = restarts.assign(elbo=-np.array(gaps), best=np.arange(len(gaps)) == 0)
    found = {
        one.name: one
        for one in computation.computation_checks(replace(regimes_fit, restarts=restarts))
    }
    assert found["Restarts agree"].number == share
    assert found["Restarts agree"].grade == grade


@pytest.mark.parametrize(("k", "grade"), [(0.69, "ok"), (0.71, "note"), (3.0, "note")])
def test_khat_is_at_most_a_note(k, grade, regimes_fit, monkeypatch):
    monkeypatch.setattr(computation, "khat_within", lambda fit, budget: (k, 1000))
    *_, found = computation.computation_checks(regimes_fit)
    assert (found.name, found.grade, found.weighs) == ("Pareto k-hat", grade, False)
    assert "error" in found.measure


def test_the_error_of_khat_is_that_of_repeated_tails():
    from scipy.stats import genpareto

    from bayesvb.evaluation.psis import psis

    rng = np.random.default_rng(2)
    ratios = np.log(genpareto.rvs(0.5, size=(1000, 200), random_state=rng))
    k = psis(ratios)[1]
    assert k.std() == pytest.approx(computation.khat_error(0.5, 1000), rel=0.2)


@pytest.mark.parametrize(
    ("gain", "sd", "grade"),
    [
        (-0.1, 0.1, "problem"),
        (-0.01, 0.001, "note"),
        (-0.005, 0.1, "note"),
        (0.0, 0.1, "note"),
        (0.1, 0.1, "ok"),
    ],
)
def test_the_simpler_model_is_a_problem_only_beyond_doubt(
    gain, sd, grade, regimes_fit, monkeypatch
):
    rng = np.random.default_rng(1)
    rows = gain + sd * rng.normal(size=150)
    loo = accuracy.left_out_at(regimes_fit, np.arange(150))
    monkeypatch.setattr(
        accuracy, "linear_baseline", lambda fit: loo.pointwise - rows + rows.mean() - gain
    )
    found = judged(accuracy.against_least_squares(regimes_fit))
    assert [one.grade for one in found] == [grade]


OTHERS = {
    "Normal": ("y ~ 1", {}),
    "GaussianMixture": ("~ x + z + noise", {"n_components": 2}),
    "BayesianPCA": ("~ x + z + noise", {}),
    "ConditionalMixtureNetwork": ("g ~ x", {"n_experts": 1}),
}


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.quick(name=("Normal", "GaussianMixture"))
def test_other_models_have_checks_too(name, rows):
    formula, options = OTHERS[name]
    data = rows.assign(y=rows["noise"])
    fit = getattr(bvb, name)(formula, data.iloc[:150], **options).fit(seed=1, restarts=2, draws=60)
    table = fit.check()
    assert not problems(table[table["group"] == "fit"])
    assert {"fit", "computation"} <= set(table["group"])


def test_few_rows_are_said_to_be_too_few(rows):
    table = table_of(rows.iloc[:12], rows["x"].iloc[:12])
    assert table.loc["Enough rows", "grade"] == "note"


def test_the_same_fit_gives_the_same_table(regimes_fit):
    pd.testing.assert_frame_equal(regimes_fit.check(), regimes_fit.check())


def test_rows_of_weight_zero_have_no_say(rows):
    y = (rows["x"] + rows["noise"]).to_numpy(copy=True)
    y[::3] += 50.0
    weights = np.where(np.arange(300) % 3 == 0, 0.0, 1.0)
    fit = bvb.DensityRegression(
        "y ~ x", rows.assign(y=y, w=weights), n_components=1, weights="w"
    ).fit(seed=1, restarts=1, draws=60)
    assert not problems(fit.check())


def test_every_second_response_has_its_checks(rows):
    data = rows.assign(y=rows["x"] + rows["noise"], y2=rows["x"] ** 2 + 0.3 * rows["noise"])
    fit = bvb.DensityRegression("y + y2 ~ x", data, n_components=1).fit(seed=1, restarts=1)
    table = fit.check()
    assert "Mean by x of y2" in problems(table) and "Mean by x of y" not in problems(table)


@pytest.mark.parametrize(
    ("narrowest", "grade"),
    [(1.0, "ok"), (0.951, "ok"), (0.949, "note"), (0.801, "note"), (0.799, "problem")],
)
def test_an_exact_posterior_is_graded_by_the_narrowest_interval(narrowest, grade, rows, unchecked):
    fit = bvb.Normal("noise ~ 1", rows).fit(seed=1)
    index = pd.MultiIndex.from_product(
        [["mu", "sigma"], ["exact", "factorised"]], names=["parameter", "posterior"]
    )
    table = pd.DataFrame({"lower": 0.0, "upper": [1.0, narrowest, 1.0, 1.0]}, index=index)
    model = type("Known", (), {"exact": lambda self, fit: table})()
    assert computation._exact(fit, model).grade == grade


def test_an_observed_class_of_no_probability_is_far_worse(class_fit, monkeypatch):
    codes, even = np.arange(60) % 2, np.full((60, 2), 0.5)
    certain = np.tile([1.0, 0.0], (60, 1))
    for ours, theirs, grade in ((certain, even, "problem"), (even, certain, "ok")):
        monkeypatch.setattr(judged_classes, "multinomial_baseline", lambda *_, p=theirs: (p, ""))
        found = HeldOutClasses(codes, ours, ours, codes)
        (one,) = judged(accuracy.against_multinomial(JudgedClasses(class_fit, found)))
        assert one.grade == grade


@pytest.mark.parametrize(("sd", "advice"), [(0.05, "use it"), (20.0, "do not show whether")])
def test_a_simpler_model_is_recommended_on_evidence_only(sd, advice, class_fit, monkeypatch):
    gain = sd * np.random.default_rng(1).normal(size=150)
    gain += -0.2 - gain.mean()  # 30 nats behind
    monkeypatch.setattr(accuracy, "gain_over_multinomial", lambda classes: gain)
    codes, even = np.zeros(150, dtype=int), np.full((150, 2), 0.5)
    monkeypatch.setattr(judged_classes, "multinomial_baseline", lambda *_: (even, ""))
    found = HeldOutClasses(codes, even, even, codes)
    (one,) = judged(accuracy.against_multinomial(JudgedClasses(class_fit, found)))
    assert one.grade != "ok" and advice in one.remedy
    assert (one.p_value < 0.03) == (advice == "use it")


@pytest.mark.parametrize(("nats", "grade"), [(4.6, "note"), (12.0, "problem")])
def test_that_a_simpler_model_is_ahead_by_more_than_matters_has_to_be_sure(
    nats, grade, class_fit, monkeypatch
):
    """Of either loss it is beyond doubt that it is one, of the larger alone that it exceeds 4."""
    lost = nats / 60 + 0.06 * np.random.default_rng(5).normal(size=60)
    lost += nats / 60 - lost.mean()
    assert nats > 8.0 * lost.std(ddof=1) * np.sqrt(60)
    codes, theirs = np.zeros(60, dtype=int), np.column_stack([np.exp(lost), 2.0 - np.exp(lost)]) / 2
    even = np.full((60, 2), 0.5)
    monkeypatch.setattr(judged_classes, "multinomial_baseline", lambda *_: (theirs, ""))
    (one,) = judged(
        accuracy.against_multinomial(
            JudgedClasses(class_fit, HeldOutClasses(codes, even, even, codes))
        )
    )
    assert one.number == pytest.approx(-nats)
    assert one.grade == grade


def test_probabilities_that_are_off_are_a_problem(class_fit):
    rng = np.random.default_rng(4)
    p = rng.uniform(0.05, 0.95, 400)
    truth = np.stack([p, 1.0 - p], axis=1)
    bold = truth**3 / (truth**3).sum(axis=1, keepdims=True)
    codes = (rng.random(400) > p).astype(int)
    for given, grade in ((truth, "ok"), (bold, "problem")):
        tests = classes.class_tests(
            JudgedClasses(class_fit, HeldOutClasses(codes, given, given, None))
        )
        found = {one.name: one.grade for one in judged(tests)}
        assert found == {"Class probabilities": grade, "Serial correlation": "ok"}


def test_classes_that_come_in_runs_are_a_problem_of_an_order_and_a_note_without(class_fit):
    even, rows = np.full((400, 2), 0.5), np.arange(400)
    for codes, order, grade in (
        (rows // 20 % 2, rows, "problem"),
        ((rows // 20 % 2)[::-1], rows[::-1], "problem"),
        (rows // 20 % 2, None, "note"),
        (rows // 200, rows, "problem"),
        (rows // 200, None, "absent"),  # sorted by the classes
    ):
        judged_rows = JudgedClasses(class_fit, HeldOutClasses(codes, even, even, None))
        found = {one.name: one.grade for one in judged(classes.class_tests(judged_rows, order))}
        assert found.get("Serial correlation", "absent") == grade


def test_numbers_as_levels_are_checked_as_the_same_levels_in_words():
    rng = np.random.default_rng(4)
    numbers = pd.DataFrame({"x": rng.normal(size=150), "site": 10 * (np.arange(150) % 9) + 10})
    numbers["y"] = numbers["x"] * (1 + (numbers["site"] == 40)) + rng.normal(size=150)
    tables = []
    for data in (numbers, numbers.astype({"site": str})):
        model = bvb.DensityRegression("y ~ x + C(site)", data, n_components=1)
        tables.append(model.fit(seed=1, restarts=1).check())
    pd.testing.assert_frame_equal(*tables)


@pytest.mark.heavy
@pytest.mark.parametrize("bend", [0.0, 0.4])
def test_very_many_groups_know_of_their_rows_which_is_no_misfit(bend):
    """What a group has learned of a row moves what is predicted of it."""
    rng, n = np.random.default_rng(2), 4800
    subject, x = rng.integers(0, 600, n), rng.normal(size=n)
    level, lean = rng.normal(size=600), 1.5 * rng.normal(size=600)
    second = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-x - lean[subject]))
    y = np.where(second, 2.0 + x, -1.0 - 0.5 * x) + 0.4 * level[subject] + bend * x**2
    data = pd.DataFrame({"x": x, "s": subject.astype(str), "y": y + 0.5 * rng.normal(size=n)})
    fit = bvb.DensityRegression("y ~ x + (1 | s)", data, n_components=2).fit(seed=1, restarts=3)
    assert "LOO elpd per row" in str(fit)
    grades = fit.check()["grade"]
    wrong = {name for name, grade in grades.items() if grade == "problem"}
    assert ("Mean by x" in wrong) == (bend > 0.0)
    assert bend or not wrong


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
def test_a_mean_with_as_many_terms_as_rows_is_a_problem_that_the_finding_names():
    rng = np.random.default_rng(3)
    data = pd.DataFrame({"x": rng.normal(size=40), "id": [f"i{i}" for i in range(40)]})
    data["y"] = data["x"] + rng.normal(size=40)
    fit = bvb.DensityRegression("y ~ x + id", data, n_components=1).fit(seed=1, draws=50)
    assert fit.check().loc["Enough rows", "grade"] == "problem"
    assert re.match("The fit fails the checks? .*Enough rows", sentences(fit)[0])
    groups = bvb.DensityRegression("y ~ x + (1 | id)", data, n_components=1)
    assert "Enough rows" not in groups.fit(seed=1, draws=50).check().index


@pytest.mark.parametrize(
    ("name", "number", "grade"),
    [
        ("Discreteness", 0.07, "ok"),
        ("Discreteness", 0.071, "note"),
        ("Discreteness", 0.1, "note"),
        ("Discreteness", 0.101, "problem"),
        ("Close to the posterior", 0.95, "ok"),
        ("Close to the posterior", 0.94, "note"),
        ("Close to the posterior", 0.79, "problem"),
        ("Restarts agree", 0.99, "note"),
    ],
)
def test_a_grade_begins_beyond_its_limit(name, number, grade):
    assert GRADES[name].grade(number) == grade


def test_only_some_groups_of_checks_are_computed(rows, monkeypatch):
    model = bvb.DensityRegression("noise ~ x", rows, n_components=1)
    fit = model.fit(seed=1, restarts=1, draws=25)
    every = fit.check()
    for only in ("fit", "computation", ("accuracy",), ("fit", "computation")):
        names = [only] if isinstance(only, str) else list(only)
        found = fit.check(only=only)
        assert list(found.index) == list(every.index[every["group"].isin(names)])
    monkeypatch.setattr("bayesvb.results.checks.table.against_least_squares", None)
    monkeypatch.setattr("bayesvb.results.checks.table.computation_checks", None)
    fit.check(only="fit")  # computes no other group
    with pytest.raises(DataError, match="only='speed' must be one or several of 'fit'"):
        fit.check(only="speed")
