"""The fit of one call: family by the response, components by leave-one-out, and what is printed."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.model_selection.automatic import ResponseChoice, _choice
from bayesvb.results import leave_one_out

COLUMNS = {
    "gaussian": pd.Series([1.5, 0.0, -2.0]),
    "gaussian of whole numbers": pd.Series([18, 44, 51]),
    "bernoulli": pd.Series([0, 1, 1]),
    "bernoulli of bool": pd.Series([True, False]),
    "poisson": pd.Series([0.0, 2.0, None, 7.0]),
    "gamma": pd.Series([0.0, 2.5, 0.0, 7.1]),
    "gaussian with a zero": pd.Series([0.0, 2.5, 7.1]),
    "ordinal": pd.Series(pd.Categorical(["b", "a"], categories=["b", "a"], ordered=True)),
    "classes": pd.Series(["b", "a", None, "c"]),
    "bernoulli of two classes": pd.Series(["b", "a", None, "b"]),
}
"""First candidate -> column."""


@pytest.mark.parametrize("name", COLUMNS)
def test_the_column_decides_the_family(name):
    families = ResponseChoice.from_column(COLUMNS[name], "y").families
    assert (families or ("classes",))[0] == name.split()[0]


@pytest.mark.parametrize(("order", "event"), [(None, "yes"), (["yes", "no"], "no")])
def test_of_two_classes_the_second_is_the_event(order, event, capsys):
    other = {"yes": "no"}.get(event, "yes")
    data = pd.DataFrame({"my y": [event, other, None, event, other] * 4, "x": range(20)})
    if order:
        data["my y"] = pd.Categorical(data["my y"], categories=order)
    fit = bvb.fit("`my y` ~ x", data, seed=1, draws=50)
    assert (fit.model.family, fit.nobs) == ("bernoulli", 16)
    observed = next(iter(fit.model.observed().values()))
    assert observed.tolist() == (data["my y"].dropna() == event).astype(float).tolist()
    assert f"the event is {event!r}." in capsys.readouterr().out


def test_classes_that_a_formula_cannot_hold_need_a_network():
    assert not ResponseChoice.from_column(pd.Series(["a", "it's"]), "y").families


CALLS = {
    "cens(y, d) ~ x": "gaussian",
    "Surv(y, d) ~ x": "weibull",
    "Surv(log(y), d) ~ x": "gaussian",
    "rounded(y, 1) ~ x": "gaussian",
    "cbind(k, n) ~ x": "binomial",
    "k | trials(n) ~ x": "binomial",
    "log(y) ~ x": "gaussian",
    "`my y` ~ x": "bernoulli",
    "cost ~ x | zero(x)": "gamma",
}


@pytest.mark.parametrize("formula", CALLS)
def test_a_call_decides_the_family(formula):
    data = {"my y": [0, 1], "x": [1, 2], "cost": [0.0, 1.5]}
    assert _choice(formula, data, {}).families[0] == CALLS[formula]


AMOUNTS = {
    "cost ~ x": "gamma",
    "cost ~ x | zero(1)": "gamma",
    "cost ~ x | gating(x)": "gaussian",
    "cost ~ x | sigma(x)": "gaussian",
    "log(cost + 1) ~ x": "gaussian",
}


@pytest.mark.parametrize("formula", AMOUNTS)
def test_amounts_with_zeros_are_gamma_unless_the_formula_needs_another_family(formula):
    data = {"cost": [0.0, 1.5, 0.0, 2.7], "x": [1, 2, 3, 4]}
    choice = _choice(formula, data, {})
    assert choice.families == (AMOUNTS[formula],)
    assert choice.has_zeros == (formula == "cost ~ x")


def test_the_probability_of_zero_has_the_terms_of_the_mean(capsys):
    rng = np.random.default_rng(1)
    x, g, days = rng.normal(size=80), np.arange(80) % 8, rng.uniform(1.0, 2.0, 80)
    cost = np.where(rng.random(80) < 0.3, 0.0, days * np.exp(0.5 * x) * rng.gamma(2.0, 0.5, 80))
    data = pd.DataFrame({"cost": cost, "x": x, "g": g.astype(str), "days": days})
    fit = bvb.fit("cost ~ x + (1 | g) + offset(log(days))", data, seed=1, draws=50)
    parts = fit.model.formula.parts
    assert (parts["zero"], fit.model.family) == ("x + (1 | g)", "gamma")
    first, components, _ = capsys.readouterr().out.splitlines()
    share = f"{(cost == 0.0).mean():.0%}"
    assert first == (
        f"Family: gamma, because cost is positive, or exactly 0 in {share} of the rows; zero(...) "
        "has the terms of the mean."
    )
    assert components.startswith("Components: 1")
    again = eval(fit.code().splitlines()[-1].partition("= ")[2], {"model": fit.model})
    assert again.elbo == fit.elbo
    groupless = bvb.fit("cost ~ x", data, seed=1, draws=50, quiet=True)
    assert groupless.model.formula.parts["zero"] == "x"


def test_what_is_given_is_not_chosen():
    given = _choice("y ~ x", {"y": [0, 1], "x": [1, 2]}, {"family": "gaussian"})
    assert given.families == ("gaussian",)


@pytest.fixture(scope="module")
def table():
    rng = np.random.default_rng(2)
    x = rng.normal(size=60)
    return pd.DataFrame({"x": x, "n": rng.poisson(np.exp(1 + x)), "y": x + rng.normal(size=60)})


def test_candidates_are_compared_and_the_choice_is_printed(table, capsys):
    fit = bvb.fit("n ~ x", table, seed=1, draws=50)
    assert fit.model.family == "poisson"
    assert capsys.readouterr().out.splitlines()[0].endswith("the largest of poisson, negbinomial.")


def test_families_that_differ_clearly_are_compared_without_slow_refits(table, monkeypatch):
    monkeypatch.setitem(vars(leave_one_out.REFITS), "most_entries", 1)
    limits, refit = [], leave_one_out._refits
    monkeypatch.setattr(
        leave_one_out, "_refits", lambda *args: limits.append(args[5]) or refit(*args)
    )
    rng = np.random.default_rng(4)
    n = rng.poisson(np.exp(1 + table.x) * rng.gamma(0.5, 2.0, size=60))
    fit = bvb.fit("n ~ x", table.assign(n=n), seed=1, draws=50, quiet=True)
    assert fit.model.family == "negbinomial" and limits == [0.0, 0.0]
    assert bvb.fit("n ~ x", table, seed=1, draws=50, quiet=True).model.family == "poisson"
    assert max(limits) > 0.0


def test_arguments_of_model_and_fit_are_handed_on(table, capsys):
    fit = bvb.fit("y ~ x", table, n_components=1, family="student", seed=4, draws=50, quiet=True)
    assert (fit.model.family, fit.model.n_components, fit.seed) == ("student", 1, 4)
    assert capsys.readouterr().out == ""


def test_a_formula_with_groups_has_one_component_unless_told(capsys):
    data = bvb.datasets.load("sleepstudy")
    fit = bvb.fit("Reaction ~ Days + (Days | Subject)", data, seed=1)
    assert fit.model.n_components == 1
    assert "Components: 1, as the formula has group-level effects." in capsys.readouterr().out
