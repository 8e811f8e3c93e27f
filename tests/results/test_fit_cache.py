"""Results of a fit that are computed once."""

from dataclasses import replace

import numpy as np
from numpy.testing import assert_array_equal

import bayesvb as bvb


def test_a_result_is_computed_once_and_anew_in_a_fit_with_other_fields(regimes_fit):
    assert regimes_fit.q is regimes_fit.q and regimes_fit.named_draws is regimes_fit.named_draws
    other = replace(regimes_fit, seconds=0.0)
    assert "posterior" in regimes_fit.cache and "posterior" not in other.cache
    assert other.named_draws is not regimes_fit.named_draws


def test_leave_one_out_predictions_are_saved_with_the_fit_once_there_are_some(tmp_path):
    model = bvb.DensityRegression("y ~ x", {"x": np.arange(9.0), "y": np.arange(9.0) % 4.0},
                                  n_components=1)  # fmt: skip
    fit = model.fit(seed=1, restarts=1, draws=25)
    name = "leave-one-out predictions"
    assert name not in bvb.load(fit.save(tmp_path / "before.nc")).cache
    expected = fit.rows_left_out
    back = bvb.load(fit.save(tmp_path / "after.nc"))
    assert name in back.cache
    assert_array_equal(back.rows_left_out.log_density, expected.log_density)
