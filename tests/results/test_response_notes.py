"""Responses that no density describes are noticed, in one warning with the remedy."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DesignWarning
from bayesvb.evaluation.response_support import response_support
from bayesvb.results.response_notes import REMEDIES

N = 400


def rows(kind):
    rng = np.random.default_rng(8)
    normal, few = rng.normal(size=N), rng.random(N) < 0.2
    return {
        "two values": (rng.random(N) < 0.3).astype(float),
        "counts": rng.poisson(3.0, N).astype(float),
        "coarse": np.round(2.0 * normal) / 2.0 - 9.0,
        "bound": np.maximum(normal, 0.0),
        "heap": np.where(few, 10.0, rng.gamma(9.0, size=N)),
        "proportion": rng.beta(0.7, 2.0, N),
        "positive": rng.exponential(size=N),
        "nonnegative": np.where(np.arange(N) < 5, 0.0, rng.exponential(size=N)),
        "normal": normal,
        "far from 0": 20.0 + normal,
        "finely rounded": np.round(normal, 1),
    }[kind]


@pytest.mark.parametrize("kind", REMEDIES)
def test_each_kind_is_noticed_once_with_its_remedy(kind):
    assert response_support(rows(kind)).kind == kind
    data = pd.DataFrame({"y": rows(kind), "x": np.arange(float(N))})
    with pytest.warns(DesignWarning) as said:
        model = bvb.DensityRegression("y ~ x", data, n_components=1)
    (warning,) = said
    assert REMEDIES[kind].format(name="y") in str(warning.message)
    assert warning.filename.endswith(("test_response_notes.py", "_decorator.py"))  # of jaxtyping
    assert f"Response:  {warning.message}" in str(model)


@pytest.mark.parametrize("kind", ["normal", "far from 0", "finely rounded"])
def test_of_other_responses_nothing_is_said(kind):
    data = pd.DataFrame({"y": rows(kind), "x": np.arange(float(N))})
    model = bvb.DensityRegression("y ~ x", data, n_components=1)  # a warning would be an error
    assert "Response:" not in str(model)


def test_the_remedies_help():
    data = pd.DataFrame({"y": rows("positive"), "p": rows("proportion"), "x": np.arange(float(N))})
    for formula in ("log(y) ~ x", "log(p / (1 - p)) ~ x"):
        bvb.DensityRegression(formula, data, n_components=1)
    classes = data.assign(k=rows("two values"))
    assert bvb.ConditionalMixtureNetwork("C(k) ~ x", classes, n_experts=1).design.levels


def test_it_does_not_depend_on_units_or_order_and_few_rows_say_nothing():
    for kind in ("counts", "bound", "heap", "positive"):
        values = rows(kind)
        assert response_support(values[::-1]) == response_support(values)
    assert response_support(1000.0 * rows("positive")).kind == "positive"
    assert response_support(rows("positive")[:19]) is None
    assert response_support(np.zeros(30)) is None


def test_several_responses_are_in_one_warning_and_networks_say_one_thing():
    data = pd.DataFrame({"y": rows("positive"), "z": rows("bound"), "k": rows("two values")})
    data["x"] = np.arange(float(N))
    for formula, kind in {
        "y + z ~ x": bvb.DensityRegression,
        "k ~ x": bvb.ConditionalMixtureNetwork,
    }.items():
        with pytest.warns(DesignWarning) as said:
            kind(formula, data)
        assert len(said) == 1


def test_a_fit_that_is_read_again_does_not_warn_again(tmp_path):
    data = pd.DataFrame({"y": rows("positive")[:200], "x": np.arange(200.0)})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DesignWarning)
        fit = bvb.DensityRegression("y ~ x", data, n_components=1).fit(seed=1, restarts=1, draws=30)
    read = bvb.load(fit.save(tmp_path / "a.nc"))
    assert str(read) == str(fit)


@pytest.mark.parametrize("function", ["log1p", "np.sqrt", "np.cbrt", "np.arcsinh"])
@pytest.mark.parametrize("kind", ["proportion", "positive", "nonnegative"])
def test_no_second_logarithm_or_root_is_advised(function, kind):
    data = pd.DataFrame({"y": 3.0 * rows(kind) ** 3, "x": np.arange(float(N))})
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        bvb.DensityRegression(f"{function}(y) ~ x", data, n_components=1)
    for one in said:
        advice = str(one.message).partition(": ")[2]
        assert "(" not in advice and "model whether" in advice
