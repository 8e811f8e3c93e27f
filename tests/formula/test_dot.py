"""What the dot of a formula leaves out, and says so."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DesignWarning
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

N = 40
RNG = np.random.default_rng(1)
PLAIN = {"y": RNG.normal(size=N), "x": RNG.normal(size=N), "g": list("ab") * (N // 2)}
OWN = {
    "id": np.arange(N),
    "patient_id": np.arange(N) // 4,
    "note": [f"came in on day {k}" for k in range(N)],
    "code": [f"A{k}" for k in range(N)],
    "when": pd.date_range("2020", periods=N),
}


def covariates(formula, data):
    return build_design(parse_formula(formula), data).covariates


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("id", "an id, by its name"),
        ("patient_id", "an id, by its name"),
        ("note", "free text, 40 different in 40 rows"),
        ("code", "labels that hardly repeat, 40 different in 40 rows"),
        ("when", "dates or durations"),
    ],
)
def test_columns_that_are_no_covariates_are_left_out_and_named(name, why):
    with pytest.warns(DesignWarning, match=f"omits `{name}` \\({why}\\)"):
        assert covariates("y ~ .", {**PLAIN, name: OWN[name]}) == ("x", "g")


@pytest.mark.parametrize(
    "own", [{"n": np.arange(N)}, {"humid": np.arange(N) % 9}, {"h": RNG.choice(list("abcd"), N)}]
)
def test_others_are_kept_without_a_word(own):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert covariates("y ~ .", {**PLAIN, **own}) == ("x", "g", *own)


def test_columns_that_the_formula_names_are_kept():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert "id" in covariates("y ~ . + id", {**PLAIN, "id": OWN["id"]})
        assert "id" not in covariates("y ~ . - id", {**PLAIN, "id": OWN["id"]})
        assert covariates("y ~ x + I(.5 * x**2)", {**PLAIN, "id": OWN["id"]}) == ("x",)


def test_a_saved_fit_keeps_what_its_dot_stood_for(tmp_path):
    data = pd.DataFrame({"y": RNG.normal(size=80), "x": RNG.normal(size=80)})
    data["code"] = [f"A{k % 20}" if k < 40 else "B" for k in range(80)]
    data.loc[20:74, "x"] = np.nan  # of the rows that are left nearly all labels differ
    with (
        pytest.warns(DesignWarning, match="`code` has 21 levels in 25 rows"),
        pytest.warns(DesignWarning, match="55 of 80 rows lack a value and are not used: `x` in 55"),
    ):
        model = bvb.DensityRegression("y ~ .", data, n_components=1)
    fit = model.fit(seed=1, restarts=1, covariance="mean-field")
    assert bvb.load(fit.save(tmp_path / "fit.nc")).elbo == fit.elbo


def test_a_column_without_a_name_is_left_out_and_told():
    data = pd.DataFrame({"y": RNG.normal(size=30), "x": RNG.normal(size=30), "": 1.0})
    with pytest.warns(DesignWarning, match="`.` omits a column without a name"):
        design = build_design(parse_formula("y ~ ."), data)
    assert design.terms["mean"] == ("Intercept", "x")
