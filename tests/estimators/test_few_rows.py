"""Widths of intervals of regressions with few rows, compared with least squares."""

import numpy as np
import pandas as pd
import pytest
from statsmodels.regression.linear_model import OLS

import bayesvb as bvb


def test_the_printed_fit_says_by_how_much_intervals_of_few_rows_are_too_narrow(rng):
    names = list("abcdefgh")
    frame = pd.DataFrame(rng.standard_normal((40, 9)), columns=["y", *names])
    formula = "y ~ " + " + ".join(names)
    ratios = []
    for start in range(0, 40, 8):
        rows = frame.drop(frame.index[start : start + 8])
        known = OLS.from_formula(formula, rows).fit().conf_int(0.1).diff(axis=1)[1]
        fit = bvb.DensityRegression(formula, rows, n_components=1).fit(seed=start)
        table = fit.summary(prob=0.9).loc[("mean", 1)]
        ratios.append((table["upper"] - table["lower"]).to_numpy() / known.to_numpy())
        assert "32 rows for 9 coefficients: intervals are about 17% narrower" in repr(fit)
    assert np.mean(ratios) == pytest.approx(0.83, abs=0.02)
    assert "narrower" not in repr(bvb.DensityRegression("y ~ a", frame, n_components=1).fit(seed=0))
