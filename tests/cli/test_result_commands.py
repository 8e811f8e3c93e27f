"""The commands for results of a saved fit print and write the tables of its methods."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd


@pytest.fixture(scope="module")
def fit():
    model = bvb.DensityRegression("accel ~ times", bvb.datasets.load("mcycle"), n_components=1)
    return model.fit(seed=1, draws=50)


@pytest.fixture(scope="module")
def saved(fit, tmp_path_factory):
    return str(fit.save(tmp_path_factory.mktemp("saved") / "fit.nc"))


def test_checks_are_printed_and_written(fit, saved, command, tmp_path):
    printed = command("check", saved)
    assert printed.exit_code == 0
    assert str(fit.check()).splitlines()[0] in printed.output
    path = tmp_path / "checks.csv"
    assert command("check", saved, "-o", str(path)).output == ""
    table = pd.read_csv(path)
    assert list(table["check"]) == list(fit.check().index)
    assert list(table["grade"]) == list(fit.check()["grade"])


def test_the_summary_is_printed_and_written(fit, saved, command, tmp_path):
    assert "Formula:   accel ~ times" in command("summary", saved).output
    path = tmp_path / "summary.csv"
    assert command("summary", saved, "--prob", "0.5", "-o", str(path)).output == ""
    expected = fit.summary(prob=0.5)
    assert np.allclose(pd.read_csv(path)["upper"], expected["upper"])
    assert f"{expected['upper'].iloc[0]:.4g}" in command("summary", saved, "--prob", "0.5").output


def test_leave_one_out_is_printed(fit, saved, command):
    assert f"{read_elpd(fit.loo()).elpd:.2f}" in command("loo", saved).output


@pytest.mark.parametrize("name", ["check", "summary", "loo"])
def test_an_absent_file_is_one_message(name, command, tmp_path):
    done = command(name, str(tmp_path / "absent.nc"))
    assert done.exit_code == 2 and "absent.nc" in done.stderr


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        (["n ~ x | zero(1)"], "choose --family negbinomial, "),
        (["g ~ x"], "fit classes by --model network"),
        (["n ~ x", "--max-iter", "1", "--components", "3"], "raise --max-iter, "),
    ],
)
def test_messages_name_options(command, tmp_path, options, expected):
    table = pd.DataFrame({"n": [1, 2, 3, 0] * 5, "x": range(20), "g": ["a", "b"] * 10})
    table.to_csv(tmp_path / "n.csv", index=False)
    formula, *others = options
    result = command("fit", formula, str(tmp_path / "n.csv"), "--restarts", "1", *others)
    assert expected in result.stderr and "family=" not in result.stderr
