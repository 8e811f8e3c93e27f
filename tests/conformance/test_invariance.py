"""Zeros, units, reference levels and orders of data and formulas change nothing that is said.

Each line of the table is a formula and the same formula, or table, written otherwise.
"""

import warnings
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb import effects
from bayesvb.errors import ConvergenceWarning, DesignWarning
from bayesvb.evaluation.elpd import read_elpd

SAME = 1e-6
"""Largest change, in units of what changes; what is found is rounding, a hundredth of it."""


@cache
def table() -> pd.DataFrame:
    rng = np.random.default_rng(3)
    n = 90
    x, z = rng.normal(12.0, 3.0, n), rng.uniform(0.0, 4.0, n)
    g, h = rng.choice(list("abc"), n, p=[0.5, 0.3, 0.2]), rng.choice(["u", "v"], n)
    curve = 0.2 * (x - 12.0) ** 2 / 3.0 + 0.4 * x * (g == "b") - 0.5 * z * (h == "v")
    y = 3.0 + curve + (g == "c") + rng.normal(0.0, 1.0, n)
    return pd.DataFrame({"y": y, "x": x, "z": z, "g": pd.Categorical(g), "h": h})


def shifted(data):
    return data.assign(x=data["x"] - 2000.0, z=data["z"] + 50.0)


def rescaled(data):
    return data.assign(x=data["x"] * -0.3048, z=data["z"] * 1e5)


def relevelled(data):
    """Another reference level, and the others in another order."""
    other = data["h"].map({"u": "later", "v": "before"})
    return data.assign(g=data["g"].cat.reorder_categories(list("cba")), h=other)


def reordered(data):
    """Rows and columns of the table in another order, the index with them."""
    return data.sample(frac=1.0, random_state=1)[list("hzgyx")]


CHANGES = (shifted, rescaled, relevelled, reordered)

FORMULAS = (
    "x * z",
    "x * g",
    "x * g * h + z",
    "x + I(x**2)",
    "z + I(z**2) + I(z**3)",
    "poly(x, 2, raw=True) * h",
    "bs(z, df=4) * g",
    "s(x, k=5) + g + g:x",
    "h + h:x",
    "g",
)

TURNED = (
    ("x * z + g", "g + z * x"),
    ("x + z + I(x**2) + x:z + I(z**2)", "{x * z} + {z**2} + {x**2} + x + z"),
    ("x + I(x**2)", "x + I((x - 3)**2)"),
    ("g", "C(g, contr.sum)"),
    ("g * x", "C(g, contr.helmert) * center(x)"),
)
"""Formulas that are the same curves in other words."""

TWO = (
    ("x * g", "softmax"),
    ("x + I(x**2) + g * h", "stick-breaking"),
    ("x * z | gating(x * g)", "softmax"),
)
"""Formulas and gates of two components."""

MANY = 30
"""Restarts of which, for every line of these, several find the best optimum in any order."""


@dataclass(frozen=True)
class Said:
    """What a fit says of rows of the table, in the order of the table."""

    means: np.ndarray
    ends: np.ndarray
    densities: np.ndarray
    bound: float


def fitted(formula, data, restarts=1, **options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        model = bvb.DensityRegression(f"y ~ {formula}", data, **{"n_components": 1, **options})
        return model.fit(seed=1, restarts=restarts, combine="best", draws=100)


def said(fit) -> Said:
    index = table().index
    ends = fit.predict(kind="interval", prob=0.89).loc[index].to_numpy()
    left_out = pd.Series(read_elpd(fit.loo()).pointwise, fit.model.design.index)
    return Said(fit.predict()[index].to_numpy(), ends, left_out[index].to_numpy(), fit.elbo)


@cache
def usual(formula, two=False, **options) -> Said:
    return said(fitted(formula, far_apart() if two else table(), **options))


def assert_same(one: Said, other: Said) -> None:
    for name, values in vars(one).items():
        assert_allclose(getattr(other, name), values, atol=SAME, rtol=0.0, err_msg=name)


@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize("formula", FORMULAS)
def test_other_data_say_the_same(formula, change):
    assert_same(usual(formula), said(fitted(formula, change(table()))))


@pytest.mark.parametrize(("formula", "other"), TURNED)
def test_the_same_curves_in_other_words_say_the_same(formula, other):
    assert_same(usual(formula), said(fitted(other, table())))


@pytest.mark.parametrize("formula", ["x * z", "x + I(x**2)"])
def test_products_far_from_zero_have_their_least_squares(formula):
    data = shifted(table())
    fit, response = fitted(formula, data), data["y"].to_numpy()
    columns = fit.model.design.matrices["mean"]
    root = np.linalg.qr(columns - columns.mean(axis=0) * [0.0, *np.ones(columns.shape[1] - 1)])[0]
    expected = root @ (root.T @ response)
    # precision 1/100 of a coefficient beside n rows: shrunk by 1 / (100 n)
    size = np.abs(expected - expected.mean()).max() + abs(expected.mean())
    assert_allclose(fit.predict(), expected, atol=2.0 * size / (100.0 * len(data)))


def far_apart():
    """Rows of two regimes, far apart."""
    data, rng = table(), np.random.default_rng(4)
    return data.assign(y=data["y"] + np.where(rng.random(len(data)) < 0.4, 25.0 + data["x"], 0.0))


@pytest.mark.heavy
@pytest.mark.parametrize("change", CHANGES, ids=lambda one: one.__name__)
@pytest.mark.parametrize(("formula", "gate"), TWO)
def test_two_components_say_the_same_of_other_data(formula, gate, change):
    # starts are drawn by the place of rows: only the best of many is the same in another order
    restarts = MANY if change is reordered else 1
    options = {"n_components": 2, "gate": gate, "restarts": restarts}
    other = said(fitted(formula, change(far_apart()), **options))
    assert_same(usual(formula, two=True, **options), other)


@pytest.mark.parametrize("formula", ["x * g", "z + I(z**2)"])
def test_effects_have_the_same_draws_about_another_zero(formula):
    name = formula[0]
    one, other = (fitted(formula, data) for data in (table(), shifted(table())))
    first, second = (effects.slopes(fit, name, average_by=True) for fit in (one, other))
    assert_allclose(second.draws.values, first.draws.values, atol=SAME)


@pytest.mark.heavy
def test_networks_predict_the_same_about_another_zero():
    options = {"seed": 1, "restarts": 1, "draws": 50, "max_iter": 20}
    with pytest.warns(ConvergenceWarning):
        one, other = (
            bvb.ConditionalMixtureNetwork("h ~ x * z", data, n_experts=2)
            .fit(**options)
            .predict(kind="probability")
            for data in (table(), shifted(table()))
        )
    assert_allclose(other, one, atol=SAME)


def test_without_products_columns_are_standardised_one_by_one():
    model = bvb.DensityRegression("y ~ x + h + s(z, k=4) | gating(bs(x, df=4) + h)", table())
    assert all(scaling.basis is None for scaling in model.scales.parts.values())
    bare = bvb.Priors(standardize=False)
    model = bvb.DensityRegression("y ~ x * z", table(), priors=bare)
    block, matrix = model.source.whole(), model.design.matrices["mean"]
    assert_array_equal(block.designs["mean"], matrix.T)


def test_an_empty_cell_is_told_by_the_prior():
    data = table()[lambda frame: ~((frame["g"] == "c") & (frame["h"] == "v"))]
    fit = fitted("g * h", data)
    seen = fit.predict(pd.DataFrame({"g": list("abc"), "h": "u"}))
    assert_allclose(seen, data[data["h"] == "u"].groupby("g", observed=True)["y"].mean(), atol=0.1)
    unseen = fit.predict(pd.DataFrame({"g": ["c"], "h": ["v"]}), kind="sd")
    assert unseen[0] > 3.0 * data["y"].std()
