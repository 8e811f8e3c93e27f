"""Every public model takes weights of a survey: their unit is nobody's business."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.estimators.rebuilding import rebuilt

FORMULAS = {
    "DensityRegression": "y ~ x",
    "ConditionalMixtureNetwork": "y ~ x",
    "GaussianMixture": "~ x + y",
    "BayesianPCA": "~ x + y + z",
    "Normal": "y ~ 1",
}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.standard_normal((40, 3)), columns=["x", "y", "z"])
    return frame.assign(w=rng.uniform(0.1, 5.0, 40) * (np.arange(40) > 3))


@pytest.mark.parametrize("name", MODELS)
def test_weights_are_scaled_to_the_rows_that_have_any(name, data):
    make, formula = MODELS[name], FORMULAS[name]
    model = make(formula, data, weights="w", weight_type="sampling")
    other = make(formula, data.assign(w=1e6 * data["w"]), weights="w", weight_type="sampling")
    assert model.weights.sum() == pytest.approx(36.0)
    assert_allclose(model.weights, other.weights)
    assert_allclose(model.weights / model.weights.max(), data["w"] / data["w"].max())
    again = rebuilt(model)
    assert again.weight_type == "sampling"
    assert (again.weights == model.weights).all()
    assert "sampling weights" in str(model)


@pytest.mark.parametrize("name", MODELS)
def test_weights_count_rows_unless_told(name, data):
    model = MODELS[name](FORMULAS[name], data, weights="w")
    assert (model.weights == data["w"]).all()
    assert "weight_type" not in model.options()
    with pytest.raises(DataError, match="needs weights"):
        MODELS[name](FORMULAS[name], data.drop(columns="w"), weight_type="sampling")
