"""Remedies name what stands in the data, and can be written into the formula as they are."""

import pickle
from dataclasses import replace
from functools import partial
from itertools import combinations

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.cells.markup import code as as_html
from bayesvb.results.checks.base import decided
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.remedies import Remedies
from bayesvb.results.checks.table import checks


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(1)
    return pd.DataFrame(rng.normal(size=(60, 4)), columns=["y", "x", "Solar.R", "z"])


def remedies(formula, rows):
    model = bvb.DensityRegression(formula, rows, n_components=1)
    return Remedies(model.fit(seed=1, restarts=1, draws=50))


def test_names_that_are_none_stand_in_backquotes(rows):
    told = remedies("y ~ x + `Solar.R`", rows)
    product = told.product("Solar.R", "x")
    assert product == "Add the interaction `` `Solar.R`:x `` to the formula."
    assert repr(product.edits) == "(`Solar.R`:x,)"
    assert "`` s(`Solar.R`) ``" in told.mean("Solar.R", distinct=60)
    assert "sigma(`Solar.R`)" in told.spread("Solar.R")
    for text in ("`Solar.R`:x", "s(`Solar.R`)"):
        bvb.DensityRegression(f"y ~ {text}", rows, n_components=1)
    assert "<code>`Solar.R`:x</code>" in as_html(product)


def test_curves_are_advised_for_numbers_without_one(rows):
    straight = remedies("y ~ s(x) + z + `Solar.R`", rows)
    numbers = {"x": 60, "z": 60, "Solar.R": 60}
    assert "add curves, `s(z)`, `` s(`Solar.R`) ``." in straight.curved(numbers)
    assert "add a curve, `s(z)`." in straight.curved({"x": 60, "z": 60})
    assert "add interactions." in straight.curved({"x": 60, "z": 3})


def test_dates_are_told_as_dates(rows):
    day = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(60), unit="D")
    dated = rows.assign(day=day, y=rows["y"] + np.arange(60))
    fit = bvb.DensityRegression("y ~ day", dated, n_components=1).fit(seed=1, restarts=1, draws=50)
    from bayesvb.reports.sections.finding import sentences

    assert sentences(fit)[0].startswith("From day = 2020-01-06 21:36 to 2020-02-23 02:24 the mean")


@pytest.mark.parametrize(
    ("response", "shift", "log"),
    [("y", 0.0, "`log(y)`"), ("`my y`", 0.0, "`` log(`my y`) ``"), ("I(y + 1)", 0.0, "log(I(y + 1"),
     ("y", -9.0, ""), ("log1p(y)", 0.0, ""), ("np.log(y)", 0.0, ""), ("log(y / (9 - y))", 0.0, "")],
)  # fmt: skip
def test_a_logarithm_is_advised_for_positive_responses_without_one(rows, response, shift, log):
    y = 1.0 + np.abs(rows["y"]) + shift
    told = remedies(f"{response} ~ x", rows.assign(**{"y": y, "my y": y}))
    texts = [told.skewed(1.0), told.fanned(), told.curved({}), told.bounded(1.0, largest=False)]
    assert all(log in text if log else "log" not in text for text in texts)
    # A logarithm bounds no response above, and adds to a long lower tail or a concave mean.
    other = told.skewed(-1.0), told.fanned(rising=False), told.curved({}, convex=False)
    assert not any("log" in text for text in (*other, told.bounded(1.0, largest=True)))


MODELS = {
    "line": ("y ~ x + z", {"n_components": 1}),
    "mixture": ("y ~ x + z + level", {"n_components": 2}),
    "gate": ("y ~ s(x) + z | gating(z)", {"n_components": 2, "gate": "stick-breaking"}),
    "groups": ("y ~ x + `few` + (1 | level)", {"n_components": 1}),
    "spread": ("y ~ s(x, k=5) + z - 1 | sigma(z)", {"n_components": 2}),
    "subjects": ("y ~ x + z | gating(1)", {"n_components": 2, "group": "who"}),
    "counts": ("n ~ x + z", {"n_components": 2, "family": "poisson"}),
    "zeros": ("n ~ x | zero(1)", {"n_components": 1, "family": "negbinomial"}),
    "ordered": ("few ~ x + z", {"n_components": 1, "family": "ordinal"}),
    "logarithm": ("y ~ .", {"n_components": 1}),
}


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(4)
    x, z, noise = rng.normal(size=(3, 60))
    own = {"level": np.tile(list("abcd"), 15), "few": np.arange(60) % 3, "who": np.arange(60) // 3}
    return pd.DataFrame({"x": x, "z": z, "y": np.exp(x + noise), "n": rng.poisson(2.0, 60), **own})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.quick(name=("mixture", "spread", "groups"))
@pytest.mark.parametrize("name", MODELS)
def test_every_edit_makes_another_model_of_the_same_rows(name, table):
    formula, options = MODELS[name]
    build = partial(bvb.DensityRegression, data=table)
    fit = build(formula, **options).fit(seed=1, restarts=1, draws=25, max_iter=2)
    found = [edit for one in [*advice(fit), *checks(fit)] for edit in one.edits]
    assert len(found) > 1
    for edit in found:
        changed = edit.formula(fit.model), {**options, **edit.options}, edit.arguments
        assert changed != (Edit().formula(fit.model), options, {})
        build(changed[0], **changed[1])


def advice(fit, **options):
    """Remedies of all misfits that a model can have, by the covariates that it has."""
    own, covariates = Remedies(fit, **options), fit.model.design.covariates
    numbers = {name: fit.model.design.frame[name].nunique() for name in covariates}
    numbers = {name: count for name, count in numbers.items() if name in ("x", "z", "few")}
    for name in covariates:
        yield own.mean(name, distinct=numbers.get(name))
        yield own.spread(name)
    yield from (own.product(*pair) for pair in combinations(covariates, 2))
    yield from (own.basis(curve.variable, 60) for curve in fit.model.design.curves("mean"))
    yield from (own.tails(1.0), own.tails(-1.0), own.width(2.0))
    if fit.model.response.kind == "count":
        yield from (own.zeros(1.0), own.zeros(-1.0))
    yield from (own.curved(numbers), own.fanned(), own.skewed(1.0), own.shape())
    yield from (own.bounded(1.0, largest=True), own.bounded(1.0, largest=False))


def test_edits_keep_the_rest_of_the_formula(table):
    build = partial(bvb.DensityRegression, data=table)
    model = build("log(y) ~ s(x, k=5) + offset(z) | gating(z)", n_components=2)
    assert Edit(part="mean", terms=("s(x, k=9)",), replaced=("s(x, k=5)",)).formula(model) == (
        "log(y) ~ s(x, k=9) + offset(z) | gating(z)"
    )
    both = Edit(part="gating", terms=("level",), options={"n_components": 3})
    assert both.formula(model) == "log(y) ~ s(x, k=5) + offset(z) | gating(z + level)"
    assert both.code == "`n_components=3` and `gating(level)`"
    assert Edit(part="gating", terms=("z",)).formula(build("y ~ x")) == "y ~ x | gating(x + z)"
    assert Edit(part="sigma", terms=("z",)).formula(build("y ~ x")) == (
        "y ~ x | gating(x) | sigma(z)"
    )
    assert Edit(part="mean", terms=("z",)).formula(build("y ~ x")) == "y ~ x + z"


def test_a_sentence_that_is_changed_has_no_edits():
    more = Edit(options={"n_components": 3})
    remedy = Remedy.of("Fit ", more, ".")
    check = decided("a", "fit", "note", 1.0, "", threshold="", remedy=remedy, section="data")
    assert check.edits == (more,) and not replace(check, remedy=f"{remedy} Or not.").edits
    assert pickle.loads(pickle.dumps(check)).edits == (more,)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize(
    ("formula", "law", "check", "edit"),
    [
        ("y ~ x", lambda d: np.exp(0.5 * d.z + 1) // 1, "Discreteness", 'family="negbinomial"'),
        ("y ~ x", lambda d: np.maximum(d.z, 0.0), "Repeated value", 'family="gamma", zero(1)'),
        ("Surv(y, e) ~ x", lambda d: np.exp(1.5 * d.z), "Skewness", 'family="weibull"'),
    ],
)  # fmt: skip
def test_counts_zeros_and_durations_have_a_family(rows, formula, law, check, edit):
    data = pd.concat([rows] * 3).assign(e=1, y=lambda d: law(d) + 0.0)
    fit = bvb.DensityRegression(formula, data, n_components=1).fit(seed=1, restarts=1, draws=50)
    (one,) = [found for found in checks(fit, only=("fit",)) if found.name == check]
    assert repr(one.edits[0]) == edit
    if check == "Discreteness":
        assert repr(one.edits[1]) == "rounded(y, 1)"
    changed = dict(one.edits[0].options)
    bvb.DensityRegression(one.edits[0].formula(fit.model), data, n_components=1, **changed)


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_more_components_are_not_advised_where_one_more_does_not_help(table):
    own = remedies("y ~ x + z + level", table)
    without = replace(own, may_split=False)
    assert all("n_components" in text for text in (own.shape(), own.tails(-1.0)))
    edits = [edit for one in advice(own.fit, may_split=False) for edit in one.edits]
    assert edits and not any("n_components" in edit.options for edit in edits)
    assert 'with_covariance("robust")' in without.shape() and "`log(y)`" in without.skewed(1.0)


@pytest.mark.heavy
def test_successes_that_vary_more_than_binomial_ones_have_an_effect_of_each_row():
    rng = np.random.default_rng(5000)
    data = pd.DataFrame({"row": np.arange(100), "n": 12, "x": rng.normal(size=100)})
    logit = 0.5 * data["x"] - 1.0 + 1.2 * rng.normal(size=100)
    data["k"] = rng.binomial(12, 1.0 / (1.0 + np.exp(-logit)))
    build = partial(bvb.DensityRegression, data=data, n_components=1, family="binomial")
    fits = [
        build(f"k | trials(n) ~ x{term}").fit(seed=1, draws=50) for term in ("", " + (1 | row)")
    ]
    found = [[one for one in checks(fit, only=("fit",)) if one.grade == "problem"] for fit in fits]
    assert "effect of each row, `(1 | row)`" in found[0][0].remedy and not found[1]


def test_remedies_can_be_pasted_where_a_covariate_has_few_values(rows):
    told = remedies("y ~ x", rows)
    assert "`s(x, k=5)`" in told.curved({"x": 5}) and "`s(x)`" in told.curved({"x": 60})
    assert told.width(1.5).endswith("use fewer terms.")
    assert told.width(0.5).endswith("use more informative priors.")
