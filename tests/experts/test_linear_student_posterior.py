"""Posteriors of Student-t experts for many rows at once, and what single rows add to sums."""

import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.experts.degrees_of_freedom import DOF_RANGE, learned_dof
from bayesvb.experts.linear_student_posterior import StudentCoordinates
from bayesvb.sensitivity.deletion import Deletion, full_step

ROWS = 6


@pytest.fixture(
    scope="module", params=["softmax", pytest.param("stick-breaking", marks=pytest.mark.heavy)]
)
def deletion(request):
    """Deletion from a fit of two lines and two responses, some errors gross."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=80)
    y = np.where(rng.uniform(size=80) < 0.5, 2.0 + x, -2.0 - x) + 0.3 * rng.standard_t(2, 80)
    data = pd.DataFrame({"x": x, "y": y, "v": x + rng.standard_t(3, 80)})
    model = bvb.DensityRegression(
        "y + v ~ x", data, n_components=2, family="student", gate=request.param
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a few passes are enough
        fit = model.fit(seed=1, restarts=1, draws=25, max_iter=30)
    return Deletion.of(fit.core, model.source, fit.stats, rng)


def test_the_number_of_coordinates_is_that_of_tilts(deletion, monkeypatch):
    coordinates = deletion.model.coordinates(deletion.posterior)
    expected, made = len(coordinates.perturbations()), []
    monkeypatch.setattr(StudentCoordinates, "perturbations", made.append)
    assert coordinates.size == expected and not made


def test_what_each_row_adds_is_what_a_pass_over_it_loses(deletion):
    block = deletion.source.take(np.arange(ROWS))
    whole = full_step(deletion.model, deletion.posterior, deletion._sums)
    singles = [replace(block.part(n, n + 1), weight=None) for n in range(ROWS)]
    expected = whole - np.array([deletion._step_without(one) for one in singles])
    assert_allclose(deletion.of_rows(block), expected, atol=1e-9 * np.abs(expected).max())


def test_rows_add_up_to_a_pass(deletion):
    whole = deletion.source.whole()
    each = deletion.model.row_stats(deletion.posterior, whole)
    sums = deletion._sums
    for (name, rows), (_, total) in zip(each.leaves(), sums.leaves(), strict=True):
        if not name.startswith("scales"):
            assert_allclose(rows.sum(axis=0), total, rtol=1e-9, atol=1e-9, err_msg=name)


def test_a_posterior_for_each_row_is_each_posterior_for_its_row(deletion):
    block = deletion.source.take(np.arange(ROWS))
    direct = -deletion.of_rows(block)
    change = deletion.solve(direct)
    predictions = deletion.model.row_predictions
    assert deletion.model.posterior_by_row
    together = deletion.under(direct, change, block, predictions)
    for n in range(ROWS):
        one = slice(n, n + 1)
        own = deletion._one(direct[one], change[one], block.part(n, n + 1), predictions)
        assert_allclose(together[:, one], own, rtol=1e-9)


def test_degrees_of_freedom_of_many_sums_are_those_of_each():
    total = np.array([[0.0], [3.0], [500.0], [1e9], [1e12]])
    tail = np.array([[0.0, -1e-3], [-4.0, -3.1], [-700.0, -501.0], [-1e12, -1.1e9], [-1e12, -2e12]])
    together = learned_dof(total, tail)
    each = [[learned_dof(n, t) for t in row] for n, row in zip(total.ravel(), tail, strict=True)]
    assert_allclose(together, np.array(each), rtol=1e-10)
    assert together[3, 0] == DOF_RANGE[0]
    assert together[4, 0] == DOF_RANGE[1]
