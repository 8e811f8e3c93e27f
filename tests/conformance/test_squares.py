import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError

MODELS = {
    "density": lambda data: bvb.DensityRegression("y ~ x", data, n_components=2),
    "joint": lambda data: bvb.GaussianMixture("~ x + y", data, n_components=2),
    "network": lambda data: bvb.ConditionalMixtureNetwork("y ~ x", data, n_experts=2),
    "components": lambda data: bvb.BayesianPCA("~ x + y", data),
    "normal": lambda data: bvb.Normal("y ~ 1", data),
}


@pytest.fixture
def data(rng):
    return {"x": rng.normal(size=40), "y": rng.normal(size=40)}


@pytest.mark.parametrize("model", MODELS.values(), ids=list(MODELS))
@pytest.mark.parametrize("scale", [1e-300, 1e-160, 1e160, 1e300])
def test_what_cannot_be_squared_is_refused_by_name(model, data, scale):
    with pytest.raises(DataError, match=r"`y` has .*whose squares leave the range"):
        model(data | {"y": data["y"] * scale})


@pytest.mark.parametrize("scale", [1e-150, 1e150])
def test_what_can_be_squared_is_fitted_to_finite_numbers(data, scale):
    model = MODELS["density"](data | {"y": data["y"] * scale})
    fit = model.fit(seed=1, restarts=1, draws=30)
    assert np.isfinite(fit.summary()["mean"]).all()
    assert np.isfinite(fit.elbo)
