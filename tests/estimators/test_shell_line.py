"""The printed lines make the fit again: in Python, and on the command line."""

import os
import re
import shlex
import subprocess
import sys
from functools import partial

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.cli.main import main
from bayesvb.errors import DataError
from bayesvb.estimators.shell_line import OF_FITS, OF_MODELS

FEW = {"restarts": 1, "seed": 3, "max_iter": 30}

rng = np.random.default_rng(5)
ROWS = pd.DataFrame({"x": rng.normal(size=60), "z": rng.normal(size=60)})
ROWS["y"] = ROWS["x"] + 0.3 * rng.normal(size=60)
ROWS["n"] = rng.poisson(np.exp(0.5 * ROWS["x"]))
ROWS["class"] = np.where(ROWS["x"] + rng.normal(size=60) > 0.0, "high", "low")
ROWS["size"] = np.array(["small", "medium", "large"])[np.digitize(ROWS["y"], [-0.5, 0.5])]
ROWS["w"] = np.tile([1.0, 2.0], 30)


def density(formula="y ~ x | gating(z)", **options):
    return lambda data: bvb.DensityRegression(formula, data, **options)


MODELS = {
    "density": density(n_components=2),
    "gate and family": density(n_components=2, gate="stick-breaking", family="student"),
    "sigma": density("y ~ x | sigma(x)", n_components=1),
    "counts": density("n ~ x", n_components=2, family="poisson"),
    "ordered": density(
        "size ~ x", n_components=1, family="ordinal", levels=["small", "medium", "large"]
    ),
    "mixture": lambda data: bvb.GaussianMixture(
        "~ x + y", data, n_components=2, covariance="diagonal"
    ),
    "components": lambda data: bvb.BayesianPCA("~ x + y + z", data, scale=True),
    "network": lambda data: bvb.ConditionalMixtureNetwork("`class` ~ x + z", data, n_experts=2),
    "normal": lambda data: bvb.Normal("y ~ 1", data),
}
"""A model of each class, with an option that is not the default."""

FITS = {"em": {"method": "em", "prior": True}, "tolerance": {"tol": 0.1}}
"""Further arguments of a fit of the first model."""

CASES = {name: (model, {}) for name, model in MODELS.items()} | {
    name: (MODELS["density"], options) for name, options in FITS.items()
}


def fitted(name, data=ROWS):
    model, options = CASES[name]
    return model(data).fit(**FEW, **options)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.quick(name=("density", "counts"))
@pytest.mark.parametrize("name", CASES)
def test_the_lines_of_python_make_the_fit_again(name):
    fit = fitted(name)
    space = {"data": ROWS}
    exec(fit.code(), space)
    assert space["fit"].elbo == fit.elbo
    pd.testing.assert_frame_equal(space["fit"].summary(), fit.summary())


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_one_component_has_no_gate_to_write():
    assert "gate=" not in fitted("sigma").code()
    assert "gate='stick-breaking'" in fitted("gate and family").code()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.quick(name=("density",))
@pytest.mark.parametrize("name", CASES)
def test_the_command_makes_the_fit_again(name, tmp_path, monkeypatch, command):
    monkeypatch.chdir(tmp_path)
    ROWS.to_csv("rows.csv", index=False)
    fit = fitted(name, pd.read_csv("rows.csv"))
    words = shlex.split(fit.shell("rows.csv"))
    assert words[0] == "bayesvb"
    result = command(*words[1:], "--save", "again.nc")
    assert result.exit_code == 0, result.output
    again = bvb.load("again.nc")
    assert again.elbo == fit.elbo and again.tol == fit.tol and again.max_iter == fit.max_iter
    assert again.code() == fit.code() and again.shell("rows.csv") == fit.shell("rows.csv")


@pytest.mark.heavy
def test_a_fresh_process_prints_the_numbers(tmp_path):
    path = tmp_path / "rows.csv"
    ROWS.to_csv(path, index=False)
    model = bvb.DensityRegression("y ~ x", pd.read_csv(path), n_components=2)
    fit = model.fit(restarts=2, seed=3)
    code = fit.code(f"__import__('pandas').read_csv({str(path)!r})")
    for command in (
        [sys.executable, "-c", f"{code}\nprint(fit)"],
        [sys.executable, "-m", *shlex.split(fit.shell(str(path)))],
    ):
        # Without ``env`` the width that readline sets in the environment of C is inherited.
        options = {"capture_output": True, "text": True, "check": True, "env": dict(os.environ)}
        printed = subprocess.run(command, **options).stdout
        assert numbers(printed) == numbers(str(fit))


def numbers(printed):
    """What is printed of a fit, without the formula as it was written and the times."""
    lines = re.sub(r"\d+\.\d+ s\b", "", printed).strip().splitlines()
    return [line for line in lines if not line.startswith("Formula")]


def test_weights_go_by_the_name_of_their_column():
    fit = bvb.Normal("y ~ 1", ROWS, weights="w").fit(seed=1)
    space = {"data": ROWS}
    exec(fit.code(weights="w"), space)
    assert space["fit"].elbo == fit.elbo
    assert "weights=weights" in fit.code()
    assert "--weights w" in fit.shell("rows.csv", weights="w")
    with pytest.raises(DataError, match="weights=None, but the rows of the fit have case weights"):
        fit.shell("rows.csv")


def test_explicit_priors_that_are_not_the_defaults_of_the_family_are_written():
    counts = partial(bvb.DensityRegression, "n ~ x", ROWS, n_components=2, family="poisson")
    plain, given = counts(), counts(priors=bvb.Priors(scale_rate=0.005))
    assert counts(priors=bvb.Priors()).priors == plain.priors != given.priors
    fit = given.fit(restarts=1, seed=1)
    assert "priors=bvb.Priors(scale_rate=0.005)" in fit.code()
    with pytest.raises(
        DataError, match=r"no option for priors=bvb.Priors\(scale_rate=.*\nhint: use"
    ):
        fit.shell()


def test_code_of_the_data_must_be_an_expression():
    fit = bvb.Normal("y ~ 1", ROWS).fit(seed=1)
    with pytest.raises(DataError, match="data='x = 1' is not an expression of Python"):
        fit.code("x = 1")


def test_the_options_exist():
    known = {opt for one in main.commands["fit"].params for opt in one.opts}
    assert {*OF_MODELS.values(), *OF_FITS.values(), "--weights", "--set"} <= known
