"""Every public function, called with every wrong kind of value for each of its arguments.

Nothing may be raised but the errors of the package, whose messages say what to write instead.
"""

import inspect
import os
import random
import warnings
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import BayesVBError
from bayesvb.interactive import server

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


FEW = {"restarts": 1, "max_iter": 5, "draws": 30, "seed": 1}


def given_first(fits, folder):
    """What every public function needs, or with which it takes no time, by its name."""
    data, density = fits["density"].model.design.frame, fits["density"]
    columns = {"formula": "~ x + y", "data": data}
    fit, terms = {"fit": density}, {"fit": fits["terms"]}
    along = {**fit, "along": "x"}
    return {
        "BayesianPCA": columns,
        "ConditionalMixtureNetwork": {"formula": "y ~ x", "data": data},
        "DensityRegression": {"formula": "y ~ x", "data": data},
        "GaussianMixture": columns,
        "Normal": {"formula": "y ~ 1", "data": data},
        "benchmark": {"models": {}, "data": data},
        "sbc": {"model": density.model, "replications": 0},
        "compare": {"fits": {}},
        "fit": {"formula": "y ~ x", "data": data, "n_components": 1, **FEW},
        "fit_from_sites": {"model": density.model, "data": data, "agreed": None},
        "merge_site_statistics": {"parts": []},
        "site_statistics": {"model": density.model, "data": data},
        "cross_validate": {"models": {"a": density.model}, "folds": 2, "n_jobs": 1, **FEW},
        "load": {"path": folder / "absent.nc"},
        "prune": {"fit": fits["normal"]},
        "report": {**fit, "path": folder / "absent" / "a.html"},
        "column_kinds": {"data": data},
        "describe": {"data": data},
        "report_section": {**fit, "name": "data"},
        "select": {"model": density.model, "n_components": [1], **FEW},
        "datasets.describe": {"name": "mcycle"},
        "datasets.load": {"name": "dpmix1", "n": 20, "seed": 1},
        "effects.comparisons": {**fit, "contrast": "x"},
        "effects.predictions": fit,
        "effects.slopes": {**fit, "wrt": "x"},
        **dict.fromkeys(("effects.curves", "effects.groups", "effects.smoothness"), terms),
        **dict.fromkeys(("plots.curve", "plots.groups"), terms),
        **dict.fromkeys(("plots.quantiles", "plots.ridges", "plots.weights"), along),
        **dict.fromkeys(("plots.calibration", "plots.influence", "plots.overview"), fit),
        **dict.fromkeys(("plots.replicates", "plots.residual"), fit),
        **dict.fromkeys(("plots.checks", "plots.conditional_effects"), fit),
        "plots.survival": fit,
        "plots.effects": {"result": None},
        "plots.benchmark": {"table": None},
        "fit.with_sbc": {"calibration": None},
        "fit.report": {"path": folder / "absent" / "a.html"},
        "fit.save": {"path": folder / "absent" / "a.nc"},
        "fit.downdate": {"data": data.head(5), "max_iter": 5},
        "fit.to_stan": {"folder": folder / "stan"},
        "fit.hypothesis": {"statement": "x"},
        "fit.refit": FEW,
        "fit.update": {"data": data, "max_iter": 5},
        "fit.with_covariance": {"covariance": "mean-field"},
        "fit.with_units": {"units": {"x": "m"}},
        "model.fit": FEW,
        "model.log_joint": {"parameters": {}},
        "model.prior_draws": {"draws": 5},
        "model.prior_predictive": {"draws": 5},
    }


def public():
    """Names of everything that can be called, and the functions of the modules."""
    for module, names in (
        ("", bvb.__all__), ("datasets.", bvb.datasets.__all__), ("effects.", bvb.effects.__all__),
        ("plots.", bvb.plots.__all__),
    ):  # fmt: skip
        home = getattr(bvb, module.rstrip("."), bvb)
        for name in names:
            own = getattr(home, name)
            if inspect.isfunction(own) or (home is bvb and inspect.isclass(own)):
                yield module + name, own


def verbs(one, kind):
    """Public methods of a fit; of a model those that its users call, by their names."""
    if kind == "model":
        names = ["fit", "log_joint", "prior_draws", "prior_predictive"]
    else:
        names = [name for name, _ in inspect.getmembers(type(one), inspect.isfunction)]
    for name in names:
        if not name.startswith("_"):
            yield f"{kind}.{name}", getattr(one, name)


def targets(fits, folder):
    """Name, function, and arguments with which it works and takes no time."""
    given = given_first(fits, folder)
    for name, function in public():
        if name != "Fit":  # only a model makes one
            yield name, function, given.get(name, {})
    for which, fit in fits.items():
        for one, kind in ((fit, "fit"), (fit.model, "model")):
            for name, function in verbs(one, kind):
                yield f"{which}: {name}", function, given.get(name, {})
        for kind in ("interval", "quantile", "cdf", "density", "draws"):
            yield f"{which}: predict({kind})", fit.predict, {"kind": kind}


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


def test_every_public_function_is_attacked(fits, tmp_path):
    for name, function, base in targets(fits, tmp_path):
        needed = inspect.signature(function).parameters.values()
        missing = {
            one.name
            for one in needed
            if one.default is one.empty and one.kind not in (one.VAR_KEYWORD, one.VAR_POSITIONAL)
        }
        assert missing <= set(base), f"write in given_first what {name} needs"
    names = {name.split(": ")[-1] for name, _, _ in targets(fits, tmp_path)}
    assert names >= set(given_first(fits, tmp_path)), "no such function"


@pytest.fixture
def workbench_that_ends(monkeypatch):
    """A workbench whose page is not served, so that every argument can be tried."""
    zygote = SimpleNamespace(close=lambda: None)
    monkeypatch.setattr(server, "check_installed", lambda: None)
    monkeypatch.setattr(server, "Zygote", lambda: zygote)
    monkeypatch.setattr(server, "serve", lambda *arguments, **options: None)


@pytest.mark.usefixtures("workbench_that_ends", "unchecked")
def test_every_wrong_value_of_the_workbench_and_of_priors_gets_a_message(
    fits, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    names = ("workbench", "Priors", "NetworkPriors", "GaussianPriors", "NormalPriors", "PcaPriors")
    chosen = [one for one in attacks(fits, tmp_path) if one[0].partition("(")[0] in names]
    raised = {name: called(function, given) for name, function, given in chosen}
    assert not {name: error for name, error in raised.items() if error is not None}
    for name in ("browser=text", "browser=fraction", "port=text", "port=huge"):
        function, given = next(one[1:] for one in chosen if one[0] == f"workbench({name})")
        with pytest.raises(BayesVBError, match=name.partition("=")[0]):
            function(**given)


@pytest.mark.heavy
@pytest.mark.usefixtures("workbench_that_ends")
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
    "progress as text": lambda fit: fit.model.fit(progress="bar"),
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
    "a ratio that is a matrix": lambda fit: bvb.effects.comparisons(fit, "x", ratio=np.eye(3)),
    "curves of no fit": lambda fit: bvb.effects.curves(3),
    "identical rows": lambda fit: bvb.GaussianMixture("~ x + y", {"x": [1.0] * 9, "y": [2.0] * 9}),
    "a matrix of families": lambda fit: bvb.DensityRegression(
        "y ~ x", fit.model.design.frame, family=np.eye(3)
    ),
    "a table of components": lambda fit: bvb.DensityRegression(
        "y ~ x", fit.model.design.frame, n_components=pd.DataFrame({"a": [1.0]})
    ),
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


def test_a_missing_argument_is_named_with_the_function_that_needs_it():
    with pytest.raises(TypeError, match=r"DensityRegression\(\): .*'data'"):
        bvb.DensityRegression("y ~ x")


def test_no_rows_have_no_predictions(fits):
    for name in ("density", "joint", "network"):
        fit = fits[name]
        rows = fit.model.design.frame.head(3)
        assert fit.predict(rows.head(0), "component").shape == (0, 2)
        assert len(fit.log_density(rows.head(0))) == 0
        absent = rows.assign(x=np.nan)
        assert fit.predict(absent, "component", missing="keep").isna().all(axis=None)


def test_a_covariate_named_with_a_slash_is_saved(fits, tmp_path):
    data = fits["density"].model.design.frame.rename(columns={"x": "mg/l"})
    model = bvb.DensityRegression("y ~ `mg/l`", data, n_components=1)
    path = model.fit(seed=1, restarts=1, draws=30).save(tmp_path / "fit.nc")
    assert bvb.load(path).model.design.covariates == ("mg/l",)
