"""Predictions of many rows at once, each under a posterior of its own, as of one at a time."""

import warnings
from functools import cache

import numpy as np
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb

LEARNED = {"priors": bvb.Priors(scales="learned")}
DESIGNS = {
    "common effects": ("y ~ x + (1 | g) | x", {}),
    "groups": ("y ~ x + (1 | g) | x", LEARNED),
    "one component": ("y ~ x + (1 | g)", {"n_components": 1}),
    "softmax": ("y ~ x + (1 | g) | x", {"gate": "softmax", **LEARNED}),
    "groups in the weights": ("y ~ x + (1 | g) | x + (1 | g)", LEARNED),
    "slopes": ("y ~ x + (x | g) | x", {}),
    "two responses": ("y + z ~ x + (1 | g) | x", {}),
    "student noise": ("y ~ x + z | x", {"family": "student"}),
    "no groups": ("y ~ x + z | x", {}),
    "fixed scales": ("y ~ 0 + C(g) | x", {}),
}
N_ROWS = 29 * 5 + 1


def table(weighted=False):
    """Two lines and 30 groups; two rows lie far off, one of them alone in its group."""
    rng = np.random.default_rng(7)
    group = np.append(np.repeat(np.arange(29), 5), 29)
    x = rng.uniform(-2.0, 2.0, len(group))
    x[[3, -1]] = 40.0, -9.0
    first = rng.uniform(size=len(x)) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(first, 3.0 + x, -3.0 - x) + 0.4 * rng.normal(size=len(x)) + 0.3 * (group % 5)
    data = {"y": y, "x": x, "z": rng.normal(size=len(x)) - x, "g": group}
    return data | ({"w": rng.uniform(0.3, 4.0, len(x))} if weighted else {})


@cache
def fitted(name, **options):
    formula, own = DESIGNS[name]
    data = table(weighted="weights" in options)
    model = bvb.DensityRegression(formula, data, **{"n_components": 2, **own, **options})
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the ascent is cut short: any state will do
        return model.fit(seed=1, restarts=1, draws=30, covariance="mean-field", max_iter=12)


def without(fit, at):
    """Deletion, rows, what each adds less, and this answered."""
    deletion = fit.one_restart.deletion
    block = deletion.source.take(at)
    direct = -deletion.of_rows(block)
    if block.weight is not None:
        direct = direct * np.minimum(block.weight, 1.0)[:, None]
    return deletion, block, direct, deletion.solve(direct)


def each_by_itself(deletion, direct, change, block):
    """Predictions under one whole posterior for each row."""
    evaluate = deletion.model.row_predictions
    found = [
        deletion.under(direct[[n]], change[[n]], block.part(n, n + 1), evaluate)
        for n in range(block.n_rows)
    ]
    return np.concatenate(found, axis=1)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("name", DESIGNS)
@pytest.mark.quick(weighted=(True,))
def test_predictions_of_rows_are_those_of_their_whole_posteriors(name, weighted):
    fit = fitted(name, **({"weights": "w"} if weighted else {}))
    deletion, block, direct, change = without(fit, np.append(np.arange(20), N_ROWS - 1))
    for moved in (direct, change):
        found = deletion.under(direct, moved, block, deletion.model.row_predictions)
        expected = each_by_itself(deletion, direct, moved, block)
        assert_allclose(found, expected, rtol=1e-9, atol=1e-9)


def test_statistics_of_no_data_of_one_row_leave_the_other_rows_alone():
    deletion, block, direct, change = without(fitted("groups"), np.arange(20))
    change = change.copy()
    change[3] -= 1e9 * np.abs(change[3])
    found = deletion.under(direct, change, block, deletion.model.row_predictions)
    assert_allclose(found, each_by_itself(deletion, direct, change, block), rtol=1e-9, atol=1e-9)
    alone = deletion.under(direct, direct, block, deletion.model.row_predictions)
    assert_allclose(found[:, 3], alone[:, 3], rtol=1e-9)
    evaluate, both = deletion.model.row_predictions, slice(3, 5)
    none = deletion.under(change[both], change[both], block.part(3, 5), evaluate)
    assert np.isnan(none[:, 0]).all()
