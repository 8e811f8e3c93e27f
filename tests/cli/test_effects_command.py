"""The command for effects, and options of fits that say how they run."""

import os
import subprocess
import sys
import warnings

import click
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.cli.messages import end_if, interrupts_noted


@pytest.fixture(scope="module")
def fit():
    model = bvb.DensityRegression("accel ~ times", bvb.datasets.load("mcycle"), n_components=2)
    return model.fit(seed=1, restarts=1, draws=50)


@pytest.fixture(scope="module")
def saved(fit, tmp_path_factory):
    return str(fit.save(tmp_path_factory.mktemp("saved") / "fit.nc"))


CALLS = {
    "predictions": (["times"], lambda fit: bvb.effects.predictions(fit, ["times"])),
    "quantiles": (
        ["times", "--target", "quantile", "--q", "0.1,0.9"],
        lambda fit: bvb.effects.predictions(fit, ["times"], target="quantile", q=[0.1, 0.9]),
    ),
    "slope": (
        ["--slope", "times", "--average-by", "all", "--prob", "0.5"],
        lambda fit: bvb.effects.slopes(fit, "times", average_by=True, prob=0.5),
    ),
    "contrast": (
        ["--contrast", "times", "--ratio"],
        lambda fit: bvb.effects.comparisons(fit, "times", ratio=True),
    ),
    "probability": (
        ["times", "--target", "probability", "--above", "0"],
        lambda fit: bvb.effects.predictions(fit, ["times"], target="probability", above=0.0),
    ),
}


@pytest.mark.parametrize("name", CALLS)
def test_effects_are_those_of_the_functions(name, fit, saved, command, tmp_path):
    words, call = CALLS[name]
    path = tmp_path / "effects.csv"
    done = command("effects", saved, *words, "-o", str(path))
    assert (done.exit_code, done.output) == (0, ""), done.output
    expected = call(fit).summary
    found = pd.read_csv(path)
    assert np.allclose(found["estimate"], expected["estimate"], atol=1e-8)
    assert np.allclose(found["upper"], expected["upper"], atol=1e-8)


def test_effects_are_printed_and_wrong_words_answered(saved, command):
    done = command("effects", saved, "times")
    assert "more: -o FILE.csv" in done.stdout and ".summary" not in done.stdout
    assert done.exit_code == 0 and done.stdout.startswith("Predictions: mean of accel")
    alone = command("effects", saved, "times", "--ratio")
    assert "--ratio needs --contrast" in alone.stderr
    both = command("effects", saved, "--contrast", "times", "--slope", "times")
    assert both.exit_code == 2 and "exclude each other" in both.stderr
    unknown = command("effects", saved, "tines")
    assert unknown.exit_code == 2 and "times" in unknown.stderr


def test_units_of_columns_are_kept_with_the_fit(command, tmp_path):
    path, data = tmp_path / "a.nc", tmp_path / "a.csv"
    pd.DataFrame({"x": np.arange(20.0), "y": np.sin(np.arange(20.0))}).to_csv(data, index=False)
    words = ["y ~ x", str(data), "--components", "1", "--restarts", "1", "--unit", "y=m/s"]
    assert command("fit", *words, "--save", str(path)).exit_code == 0
    assert command("effects", str(path), "x").stdout.startswith("Predictions: mean of y (m/s)")


@pytest.mark.heavy
def test_tolerance_and_threads_reach_the_fit_and_progress_can_be_asked_for(command, tmp_path):
    words = ["accel ~ times", "mcycle", "--components", "2", "--restarts", "2", "--seed", "1"]
    path = tmp_path / "a.nc"
    more = ["--tol", "1.0", "--n-jobs", "1", "--progress", "--save", str(path)]
    done = command("fit", *words, *more)
    assert done.exit_code == 0
    assert done.stderr.count("restart 1 of 2") == done.stderr.count("restart 2 of 2") == 1
    model = bvb.DensityRegression("accel ~ times", bvb.datasets.load("mcycle"), n_components=2)
    assert bvb.load(path).elbo == pytest.approx(model.fit(seed=1, restarts=2, tol=1.0).elbo)
    assert command("fit", *words, "--tol", "-1").exit_code == 2


def test_after_an_interrupt_the_exit_code_is_that_of_shells():
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda *_, **__: None
        with interrupts_noted() as noted:
            warnings.warn("the fit was interrupted; this is the best state", stacklevel=1)
            warnings.warn("something else", stacklevel=1)
    assert len(noted) == 1
    with pytest.raises(click.exceptions.Exit) as ended:
        end_if(noted)
    assert ended.value.exit_code == 130
    end_if([])


@pytest.mark.heavy
def test_shells_can_complete_words(tmp_path):
    words = {"COMP_WORDS": "bayesvb eff", "COMP_CWORD": "1", "_BAYESVB_COMPLETE": "bash_complete"}
    done = subprocess.run(
        [sys.executable, "-c", "from bayesvb.cli.main import main; main(prog_name='bayesvb')"],
        env={**os.environ, **words},
        capture_output=True,
        text=True,
    )
    assert done.stdout.split() == ["plain,effects"], done.stderr
