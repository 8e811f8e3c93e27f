"""The figure of six diagnostic pictures: which there are for a model, and what they show."""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError


def rows(n: int = 200) -> pd.DataFrame:
    rng = np.random.default_rng(0)
    x = rng.uniform(-2.0, 2.0, n)
    return pd.DataFrame({
        "x": x, "y": x + rng.standard_normal(n), "k": rng.poisson(np.exp(0.5 * x)),
        "b": (rng.random(n) < 1.0 / (1.0 + np.exp(-x))).astype(float),
        "t": rng.exponential(size=n), "event": (rng.random(n) < 0.7).astype(float),
        "label": np.where(x + 0.5 * rng.standard_normal(n) > 0.0, "high", "low"),
        "bent": x**2 + 0.3 * rng.standard_normal(n),
        "fan": np.exp(0.6 * x) * rng.standard_normal(n),
    })  # fmt: skip


def titles(fit: bvb.Fit) -> list[str]:
    figure = fit.plot_check()
    found = [axes.get_title(loc="left").split(":")[0] for axes in figure.axes]
    plt.close(figure)
    return found


USUAL = ["Replicated data", "Calibration", "Mean", "Spread", "Tails", "Influence"]


@pytest.mark.parametrize(
    ("formula", "options", "expected"),
    [
        ("y ~ x", {}, USUAL),
        ("k ~ x", {"family": "poisson"}, USUAL),
        ("b ~ x", {"family": "bernoulli"}, [*USUAL[:2], "Confidence", "Influence"]),
        ("Surv(t, event) ~ x", {"family": "weibull"}, ["Survival", *USUAL[1:]]),
        ("cens(y, event) ~ x", {}, None),
    ],
)  # fmt: skip
def test_a_regression_has_these_pictures(formula, options, expected):
    data = rows().assign(event=rows()["event"] if "Surv" in formula else "none")
    found = titles(bvb.DensityRegression(formula, data, n_components=1, **options).fit(seed=1))
    assert found == (expected or USUAL)


def test_models_without_a_numeric_response():
    data = rows()
    network = bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2)
    assert titles(network.fit(seed=1, restarts=2))[:2] == ["Calibration", "Confidence"]
    mixture = bvb.GaussianMixture("~ x + y + t", data, n_components=2).fit(seed=1, restarts=1)
    assert titles(mixture) == ["Replicated data"] * 3
    assert titles(bvb.BayesianPCA("~ x + y + t", data).fit(seed=1)) == ["Replicated data"] * 3


def bars(fit: bvb.Fit, title: str) -> tuple[np.ndarray, np.ndarray]:
    """Lower and upper ends of the bars of a picture."""
    figure = fit.plot_check()
    axes = next(one for one in figure.axes if one.get_title(loc="left").startswith(title))
    ends = np.array([path.vertices[:, 1] for path in axes.collections[0].get_paths()])
    plt.close(figure)
    return ends[:, 0], ends[:, 1]


@pytest.mark.parametrize(
    ("response", "title", "level"),
    [("bent", "Mean", 0.0), ("fan", "Spread", np.sqrt(2.0 / np.pi))],
)
def test_a_wrong_model_shows_in_its_picture(response, title, level):
    """At least three of ten bars exclude the line; of the right model at most one more does."""
    wrong = bvb.DensityRegression(f"{response} ~ x", rows(400), n_components=1).fit(seed=1)
    if response == "bent":  # against fitted values of a flat line nothing is seen but noise
        wrong = bvb.DensityRegression("bent ~ I(x + 0.3 * x**2)", rows(400), n_components=1).fit(
            seed=1
        )
    right = bvb.DensityRegression("y ~ x", rows(400), n_components=1).fit(seed=1)
    for fit, least, most in ((wrong, 3, 10), (right, 0, 2)):
        low, high = bars(fit, title)
        assert least <= ((low > level) | (high < level)).sum() <= most


def test_several_responses_are_chosen_by_name():
    fit = bvb.DensityRegression("y + bent ~ x", rows(), n_components=1).fit(seed=1)
    figure = fit.plot_check(response="bent")
    assert "bent" in figure.axes[0].get_xlabel()
    plt.close(figure)
    with pytest.raises(DataError, match="response"):
        fit.plot_check(response="k")
