"""Many components where the noise has heavy tails or is skewed: what `select` says of it."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.model_selection.alternatives import _n_modes

QUICK = {"restarts": 2, "draws": 50, "n_jobs": 1}


def selected(y: np.ndarray, x: np.ndarray, numbers=(1, 2, 3)):
    model = bvb.DensityRegression("y ~ x | gating(1)", pd.DataFrame({"x": x, "y": y}))
    return bvb.select(model, numbers, seed=1, **QUICK)


@pytest.fixture(scope="module")
def x() -> np.ndarray:
    return np.random.default_rng(3).normal(size=300)


@pytest.mark.heavy
def test_heavy_tails_are_one_student_component(x):
    found = selected(x + np.random.default_rng(4).standard_t(3, size=300), x, (1, 2))
    assert found.chosen > 1 and min(found.students) == 1
    assert 'With `family="student"` 1 component predicts as well' in found.notes[0]
    assert found.notes[0] in str(found)
    assert all(fit.model.family == "student" for fit in found.students.values())


@pytest.mark.heavy
def test_skewed_noise_is_said_to_be_unimodal(x):
    found = selected(x + np.random.default_rng(5).gamma(1.5, 1.0, size=300), x, (1, 2))
    assert found.chosen > 1
    assert "density is unimodal at nearly every row, skewed" in found.notes[-1]


@pytest.mark.heavy
def test_two_humps_are_two_and_nothing_is_said(x):
    rng = np.random.default_rng(6)
    y = np.where(rng.random(300) < 0.4, 4.0 + x, -x - 2.0) + 0.6 * rng.normal(size=300)
    found = selected(y, x, (1, 2))
    assert found.chosen == 2 and found.notes == () and list(found.students) == [2, 1]


def test_one_component_has_no_alternative(x):
    found = selected(x + np.random.default_rng(7).normal(size=300), x, (1, 2))
    assert found.chosen == 1 and found.students == {} and found.notes == ()


def test_modes_are_counted_whatever_ripples_there_are():
    grid = np.linspace(-4.0, 4.0, 200)
    one = np.exp(-(grid**2))
    assert _n_modes(one) == 1
    assert _n_modes(one + 0.005 * np.sin(20.0 * grid)) == 1
    assert _n_modes(np.exp(-((grid - 2.0) ** 2)) + np.exp(-((grid + 2.0) ** 2))) == 2
