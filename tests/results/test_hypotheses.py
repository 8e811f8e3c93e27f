"""Statements about coefficients: numbers of the draws, and errors that name what is wrong."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results.hypotheses import read_statement

COLUMNS = [
    ("mean", 1, "x"),
    ("mean", 1, "g[T.b]"),
    ("mean", 2, "x"),
    ("gating", 2, "x"),
    ("log sigma", 1, "x"),
    ("mean", 1, "z"),
    ("mean", 1, "h[T.>2-3]"),
    ("mean", 1, "x:h[T.>2-3]"),
]


@pytest.fixture(scope="module")
def draws():
    values = np.random.default_rng(1).normal(size=(200, len(COLUMNS)))
    columns = pd.MultiIndex.from_tuples(COLUMNS, names=["part", "component", "term"])
    return pd.DataFrame(values, columns=columns)


STATEMENTS = {
    "x[1] > x[2]": lambda x, g, x2, w, s, z, h, xh: (x - x2, ">"),
    "z<2": lambda x, g, x2, w, s, z, h, xh: (z - 2.0, "<"),
    "`g[T.b]` = -1.5e-1": lambda x, g, x2, w, s, z, h, xh: (g + 0.15, ""),
    "gating.x == z": lambda x, g, x2, w, s, z, h, xh: (w - z, ""),
    "log_sigma.x": lambda x, g, x2, w, s, z, h, xh: (s, ""),
    "exp(z) / (1 + exp(z)) > 0.5": lambda x, g, x2, w, s, z, h, xh: (
        1 / (1 + np.exp(-z)) - 0.5,
        ">",
    ),
    "h[>2-3] < 2": lambda x, g, x2, w, s, z, h, xh: (h - 2, "<"),
    "x[1] + x:h[T.>2-3]/2 = g[b]": lambda x, g, x2, w, s, z, h, xh: (x + xh / 2 - g, ""),
    "mean.h[T.>2-3] > `x:h[>2-3]`": lambda x, g, x2, w, s, z, h, xh: (h - xh, ">"),
    "2*x[2] - -`z`*x[1] < 1": lambda x, g, x2, w, s, z, h, xh: (2 * x2 + z * x - 1, "<"),
}
"""Statement -> its difference and relation, of the draws of each coefficient."""


@pytest.mark.parametrize("text", STATEMENTS)
def test_a_statement_is_evaluated_in_every_draw(draws, text):
    statement = read_statement(text, draws)
    difference, relation = STATEMENTS[text](*draws.to_numpy().T)
    np.testing.assert_allclose(statement.difference, difference, rtol=1e-12)
    assert statement.relation == relation
    if relation:
        holds = difference > 0.0 if relation == ">" else difference < 0.0
        assert statement.probability == holds.mean()


WRONG = {
    "x > 0": r"x has a coefficient in each of the components 1, 2\nhint: .*x\[1\]",
    "zz > 0": "no coefficient 'zz'\nhint: did you mean z",
    "x[3]": r"x\[3\] has no such component",
    "zero.x": "no part is 'zero'\nhint: the parts are mean, gating, log_sigma",
    "h[3-4] > 0": r"no coefficient 'h\[3-4\]'\nhint: the reference level .* h\[T.>2-3\]",
    "z >": "is not a statement",
    "1 > 2": "is not a statement",
    "z > 1 > 0": "is not a statement",
    "z ** 2": "is not a statement",
    "z.real": "no part is 'z'",
    "sin(z)": "is not a statement",
    "z if z else z": "no coefficient 'if'",
    "": "is not a statement",
    "(" * 300 + "z": "is not a statement",
}


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_read_is_named(draws, text):
    with pytest.raises(DataError, match=f"(?s){WRONG[text]}"):
        read_statement(text, draws)


def test_single_groups_are_not_listed(draws):
    groups = draws.copy()
    groups["mean", 1, "(1 | g)[a]"] = 0.0
    with pytest.raises(DataError, match="hint: write one of ") as error:
        read_statement("other > 0", groups)
    assert "`x:h[T.>2-3]`" in str(error.value) and "(1 | g)" not in str(error.value)


def test_linear_combinations_agree_with_coef_and_vcov():
    table = bvb.datasets.load("faithful").head(60)
    model = bvb.DensityRegression("waiting ~ eruptions", table, n_components=1)
    fit = model.fit(seed=1, draws=200)
    shown = fit.hypothesis("Intercept + 2 * eruptions > 50").iloc[0]
    weights = np.array([1.0, 2.0])
    np.testing.assert_allclose(shown["estimate"], weights @ fit.coef() - 50.0)
    np.testing.assert_allclose(shown["sd"], np.sqrt(weights @ fit.vcov() @ weights))
    assert shown["lower"] < shown["estimate"] < shown["upper"]
