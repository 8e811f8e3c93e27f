"""The table of a picture has the numbers that are drawn."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.effects.curve_settings import CURVES
from bayesvb.interactive.answers import picture_numbers

RNG = np.random.default_rng(3)
ROWS = pd.DataFrame({"x": np.linspace(0.0, 1.0, 41), "y": RNG.normal(size=41)})
ROWS["event"] = RNG.integers(0, 2, size=41)
ROWS["site"] = RNG.choice(["a", "b"], size=41)


def made(formula, **options):
    model = bvb.DensityRegression(formula, ROWS, n_components=1, **options)
    return model.fit(seed=1, draws=25)


def test_quantiles_stand_at_quantiles_of_the_covariate():
    fit = made("y ~ x")
    numbers = picture_numbers(fit, "x")
    assert numbers.titles == ("x", "5%", "25%", "50%", "75%", "95%")
    assert [row[0] for row in numbers.rows] == ["0.050", "0.250", "0.500", "0.750", "0.950"]
    rows = fit.predict(
        pd.DataFrame({"x": CURVES.quantiles}), "quantile", q=list(CURVES.quantiles)
    ).to_numpy()
    texts = [[f"{value:.2f}".replace("-", "−") for value in row] for row in rows]
    assert [list(row[1:]) for row in numbers.rows] == texts


@pytest.mark.parametrize(("along", "heads"), [("site", ("b", "a")), ("", None)])
def test_probabilities_stand_at_the_levels(along, heads):
    fit = made("event ~ site", family="bernoulli")
    numbers = picture_numbers(fit, along)
    assert (heads is None and numbers is None) or tuple(row[0] for row in numbers.rows) == heads
