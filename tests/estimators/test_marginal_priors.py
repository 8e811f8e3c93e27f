"""Priors of products and powers name what their columns are residualised on."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb


@pytest.fixture
def frame(rng):
    frame = pd.DataFrame(rng.normal(size=(60, 4)), columns=["y", "y2", "x", "z"])
    return frame.assign(g=np.resize(list("abc"), 60))


def words(model, part="mean"):
    return model.prior_table()["prior"][part]


def test_products_name_their_margins(frame):
    model = bvb.DensityRegression("y ~ x * g + I(x**2) | gating(x * z)", frame, n_components=2)
    found = words(model)
    assert found["x:g[T.b]"].endswith(", residualised on x, g")
    assert found["I(x ** 2)"].endswith(", residualised on x")
    assert not found[["Intercept", "x", "g[T.b]"]].str.contains("residualised").any()
    assert words(model, "gating")["x:z"].endswith(", residualised on x, z")


def test_every_response_names_them(frame):
    model = bvb.DensityRegression("y + y2 ~ x * z", frame, n_components=1)
    assert words(model)[["y: x:z", "y2: x:z"]].str.endswith("residualised on x, z").all()


def test_the_table_has_the_standard_deviations_of_prior_draws(frame):
    priors = bvb.Priors(scales="fixed", coefficient_units="response")
    shifted = frame.assign(x=frame["x"] + 3.0)
    model = bvb.DensityRegression("y ~ x * g", shifted, n_components=1, priors=priors)
    found, draws = model.prior_table().loc["mean"], model.prior_draws(40_000, seed=2)
    scales = model.scales
    given = scales.parts["mean"].coefficients(draws["coefficients"])[:, 0, 0]
    given = given * scales.response.scale[0]
    # standard error of a standard deviation: sd / sqrt(2 n)
    np.testing.assert_allclose(given.std(axis=0), found["scale"], rtol=4.5 / np.sqrt(80_000))


def test_without_standardisation_nothing_is_residualised(frame):
    model = bvb.DensityRegression("y ~ x * z", frame, priors=bvb.Priors(standardize=False))
    assert not words(model).str.contains("residualised").any()


def test_methods_say_that_columns_are_orthogonal(frame):
    plain, product = (bvb.DensityRegression(f"y ~ {one}", frame) for one in ("x + z", "x * z"))
    assert product.scale_words.startswith(plain.scale_words)
    assert product.scale_words.endswith(
        "orthogonal to each other and to the terms that they contain"
    )
    assert "orthogonal" not in plain.scale_words


def test_networks_name_them_too(frame):
    model = bvb.ConditionalMixtureNetwork("g ~ x * z", frame, n_experts=2)
    assert words(model)["x:z"].endswith(", residualised on x, z")
