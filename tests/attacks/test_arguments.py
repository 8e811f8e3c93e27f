"""Every public function, called with every wrong kind of value for each of its arguments.

Nothing may be raised but the errors of the package, whose messages say what to write instead.
"""

import inspect
import os
import random
import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import BayesVBError

WRONG = {
    "none": None, "true": True, "minus one": -1, "zero": 0, "huge": 10**30, "fraction": 1.5,
    "not a number": float("nan"), "infinite": float("inf"), "text": "no such thing", "empty": "",
    "nul": "a\0b", "surrogate": "\ud800", "bytes": b"x", "list": [], "list of lists": [[1], [2, 3]],
    "mapping": {"a": 1}, "object": object(), "array": np.array([]), "matrix": np.eye(3),
    "complex": 1j, "frame": pd.DataFrame({"a": [1.0]}), "class": int, "dates": pd.Timestamp("2020"),
    "set": {1, 2}, "long": "x" * 100_000,
}  # fmt: skip

CALLS = int(os.environ.get("BAYESVB_ATTACKS", "1")) * 1500
"""Calls of one test run; `make fuzz` asks for many times more."""


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": rng.normal(size=30), "x": rng.normal(size=30)})
    data["k"] = np.where(data["x"] + rng.normal(size=30) > 0, "a", "b")
    few = {"seed": 1, "restarts": 1, "draws": 30, "max_iter": 30}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            "density": bvb.DensityRegression("y ~ x", data, n_components=2).fit(**few),
            "joint": bvb.GaussianMixture("~ x + y", data, n_components=2).fit(**few),
            "network": bvb.ConditionalMixtureNetwork("k ~ x", data, n_experts=2).fit(**few),
            "components": bvb.BayesianPCA("~ x + y", data).fit(**few),
            "normal": bvb.Normal("y ~ 1", data).fit(**few),
            "terms": bvb.DensityRegression("y ~ s(x, k=4) + (1 | k)", data, n_components=1).fit(
                **few
            ),
        }


def targets(fits, folder):
    """Name, function, and arguments with which it works and takes no time."""
    data = fits["density"].model.design.frame
    few = {"restarts": 1, "max_iter": 5, "draws": 30, "seed": 1}
    yield "load", bvb.load, {"path": folder / "absent.nc"}
    yield "datasets.load", bvb.datasets.load, {"name": "dpmix1", "n": 20, "seed": 1}
    yield "datasets.describe", bvb.datasets.describe, {"name": "mcycle"}
    yield "DensityRegression", bvb.DensityRegression, {"formula": "y ~ x", "data": data}
    yield "GaussianMixture", bvb.GaussianMixture, {"formula": "~ x + y", "data": data}
    yield "Network", bvb.ConditionalMixtureNetwork, {"formula": "y ~ x", "data": data}
    yield "BayesianPCA", bvb.BayesianPCA, {"formula": "~ x + y", "data": data}
    yield "Normal", bvb.Normal, {"formula": "y ~ 1", "data": data}
    for name in ("Priors", "GaussianPriors", "NetworkPriors", "PcaPriors", "NormalPriors"):
        yield name, getattr(bvb, name), {}
    for name, fit in fits.items():
        model = fit.model
        yield f"{name}.fit", model.fit, few
        yield f"{name}.prior_draws", model.prior_draws, {"draws": 5}
        yield f"{name}.prior_predictive", model.prior_predictive, {"draws": 5}
        for method in ("predict", "summary", "components", "responsibilities", "log_density",
                       "predictive", "weights_at", "with_covariance", "loo"):  # fmt: skip
            base = {"covariance": "mean-field"} if method == "with_covariance" else {}
            yield f"{name}.{method}", getattr(fit, method), base
        for kind in ("interval", "quantile", "cdf", "density", "draws"):
            yield f"{name}.predict({kind})", fit.predict, {"kind": kind}
        yield f"{name}.save", fit.save, {"path": folder / "absent" / "a.nc"}
        yield f"{name}.report", fit.report, {"path": folder / "absent" / "a.html"}
    yield "compare", bvb.compare, {"fits": {}}
    yield "report", bvb.report, {"fit": fits["density"], "path": folder / "absent" / "a.html"}
    yield "prune", bvb.prune, {"fit": fits["normal"]}
    yield "select", bvb.select, {"model": fits["density"].model, "n_components": [1], **few}
    yield "calibrate", bvb.calibrate, {"model": fits["density"].model, "replications": 0}
    yield "benchmark", bvb.benchmark, {"models": {}, "data": data}
    for name, base in {
        "predictions": {}, "comparisons": {"contrast": "x"}, "slopes": {"wrt": "x"}
    }.items():  # fmt: skip
        yield f"effects.{name}", getattr(bvb.effects, name), {"fit": fits["density"], **base}
    for name in ("curves", "groups", "smoothness"):
        yield f"effects.{name}", getattr(bvb.effects, name), {"fit": fits["terms"]}
    for name in ("curve", "groups"):
        yield f"plots.{name}", getattr(bvb.plots, name), {"fit": fits["terms"]}
    for name in ("quantiles", "ridges", "weights"):
        base = {"fit": fits["density"], "along": "x"}
        yield f"plots.{name}", getattr(bvb.plots, name), base
    yield "plots.influence", bvb.plots.influence, {"fit": fits["density"]}
    yield "plots.effects", bvb.plots.effects, {"result": None}
    yield "plots.benchmark", bvb.plots.benchmark, {"table": None}


def called(function, arguments):
    """None if all is well, otherwise what was raised that is not an error of the package."""
    import matplotlib.pyplot as plt

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(**arguments)
    except BayesVBError as error:
        assert len(str(error)) < 20_000, "a message repeats what it was given"
    except ImportError:
        pass  # an extra that is not installed is named
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]}"
    finally:
        plt.close("all")
    return None


def attacks(fits, folder):
    """All pairs of an argument and a wrong value, in an order of their own."""
    for name, function, base in targets(fits, folder):
        for argument, one in inspect.signature(function).parameters.items():
            if one.kind in (one.VAR_KEYWORD, one.VAR_POSITIONAL) or argument == "ax":
                continue
            for what, value in WRONG.items():
                if (argument, what) == ("progress", "class"):
                    continue  # it can be called, and raises what it likes
                yield f"{name}({argument}={what})", function, {**base, argument: value}


@pytest.mark.heavy
def test_every_wrong_value_gets_a_message(fits, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some wrong values are names of files
    chosen = list(attacks(fits, tmp_path))
    random.Random(1).shuffle(chosen)
    raised = {name: called(function, given) for name, function, given in chosen[:CALLS]}
    wrong = {name: error for name, error in raised.items() if error is not None}
    assert not wrong, f"{len(wrong)} of {len(raised)}: {wrong}"


SEEDS = {
    "interval as text": lambda fit: fit.summary(prob="0.9"),
    "seed below zero": lambda fit: fit.predict(kind="draws", seed=-1),
    "more draws than memory": lambda fit: fit.predict(kind="draws", n=10**15),
    "progress=True": lambda fit: fit.model.fit(progress=True),
    "a list of fits": lambda fit: bvb.compare([fit, fit]),
    "restarts without end": lambda fit: fit.model.fit(restarts=10**12),
    "components without end": lambda fit: bvb.select(fit.model, [1, 999_999_999_999]),
    "a name with NUL": lambda fit: fit.save("a\0b"),
    "a name too long": lambda fit: bvb.load("a" * 5000),
    "formula and data swapped": lambda fit: bvb.DensityRegression(
        fit.model.design.frame, fit.model.formula.text
    ),
    "effects at no rows": lambda fit: bvb.effects.predictions(
        fit, data=fit.model.design.frame.head(0)
    ),
    "a response named with a slash": lambda fit: (
        bvb.DensityRegression(
            "`a/b` ~ x", fit.model.design.frame.rename(columns={"y": "a/b"}), n_components=1
        )
        .fit(seed=1, restarts=1, draws=30)
        .save("fit.nc")
    ),
    "curves of no fit": lambda fit: bvb.effects.curves(3),
    "identical rows": lambda fit: bvb.GaussianMixture("~ x + y", {"x": [1.0] * 9, "y": [2.0] * 9}),
    "values of 1e160": lambda fit: bvb.DensityRegression("y ~ x", fit.model.design.frame * 1e160),
    "values of 1e300": lambda fit: bvb.Normal("y ~ 1", fit.model.design.frame * 1e300),
    "values of 1e-160": lambda fit: bvb.BayesianPCA("~ .", fit.model.design.frame * 1e-160),
    "weights of 1e300": lambda fit: bvb.DensityRegression(
        "y ~ x", fit.model.design.frame, weights=np.full(30, 1e300)
    ),
}


@pytest.mark.parametrize("attack", SEEDS.values(), ids=list(SEEDS))
def test_what_once_gave_a_raw_error_gets_a_message(fits, attack, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    warnings.simplefilter("ignore")
    try:
        with pytest.raises(BayesVBError):
            attack(fits["density"])
    except TypeError as error:
        assert "TypeCheckError" in type(error).__name__, error  # the type checker may be quicker


def test_no_rows_have_no_predictions(fits):
    for name in ("density", "joint", "network"):
        fit = fits[name]
        rows = fit.model.design.frame.head(3)
        assert fit.predict(rows.head(0), "component").shape == (0, 2)
        assert len(fit.log_density(rows.head(0))) == 0
        absent = rows.assign(x=np.nan)
        assert fit.predict(absent, "component").isna().all(axis=None)


def test_a_covariate_named_with_a_slash_is_saved(fits, tmp_path):
    data = fits["density"].model.design.frame.rename(columns={"x": "mg/l"})
    model = bvb.DensityRegression("y ~ `mg/l`", data, n_components=1)
    path = model.fit(seed=1, restarts=1, draws=30).save(tmp_path / "fit.nc")
    assert bvb.load(path).model.design.covariates == ("mg/l",)
