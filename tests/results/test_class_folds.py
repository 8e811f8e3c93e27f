"""Class probabilities of rows that were left out: folds, restarts by weight, large data."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines.folds import FOLDS
from bayesvb.errors import DataError
from bayesvb.reports.rows.profiles import rough_probabilities
from bayesvb.results.class_evaluation import held_out_classes
from bayesvb.results.limits import LIMITS
from bayesvb.results.stacking import stacked


@pytest.fixture(scope="module")
def left_out(class_fit):
    return held_out_classes(class_fit)


def test_rows_are_left_out_in_folds_with_equal_shares_of_the_classes(left_out):
    counts = pd.crosstab(left_out.folds, left_out.codes).to_numpy()
    assert counts.shape == (FOLDS, 3) and (np.ptp(counts, axis=0) <= 1).all()
    assert left_out.probabilities.sum(axis=1) == pytest.approx(1.0)


def test_restarts_count_by_their_weight(class_fit):
    """Two restarts of weights 0.9 and 0.1 that do not agree."""
    weights = (0.9, 0.1)
    members = [replace(m, weight=w) for m, w in zip(class_fit.members, weights, strict=True)]
    each = [held_out_classes(member.fit).probabilities for member in members]
    assert np.abs(each[0] - each[1]).max() > 0.01
    found = held_out_classes(stacked(members)).probabilities
    assert_allclose(found, weights[0] * each[0] + weights[1] * each[1], rtol=1e-10)


def test_few_points_are_enough_for_pictures(class_fit, left_out):
    rough = rough_probabilities(class_fit, class_fit.model.design.frame)
    assert 0.0 < np.abs(rough - left_out.fitted).mean() < 2e-3


def test_probabilities_of_a_row_do_not_know_its_class(class_fit, left_out):
    fitted = class_fit.predict(kind="probability").to_numpy()
    assert_allclose(left_out.fitted, fitted)
    assert_array_equal(left_out.codes, class_fit.model.design.response)
    at = np.arange(len(fitted))
    known, unknown = (np.log(p[at, left_out.codes]) for p in (fitted, left_out.probabilities))
    assert unknown.mean() < known.mean()


def test_rows_of_large_data_and_of_very_small_ones_are_not_left_out(
    class_fit, left_out, monkeypatch
):
    frame = class_fit.model.design.frame
    for n_rows, folds in ((2 * FOLDS, True), (2 * FOLDS - 1, False)):
        few = frame.iloc[np.linspace(0, len(frame) - 1, n_rows).astype(int)]
        fit = bvb.ConditionalMixtureNetwork("label ~ .", few, n_experts=1).fit(
            seed=1, restarts=1, draws=30
        )
        assert (held_out_classes(fit).folds is not None) == folds
    monkeypatch.setitem(vars(LIMITS), "fold_work", 1e3)
    assert held_out_classes(class_fit).folds is not None  # those that have been made
    members = [replace(member, fit=replace(member.fit)) for member in class_fit.members]
    found = held_out_classes(stacked(members))
    assert found.folds is None
    assert_array_equal(found.probabilities, found.fitted)


def test_a_fit_without_classes_is_refused():
    fit = bvb.Normal("y ~ 1", pd.DataFrame({"y": np.arange(20.0)})).fit(seed=1, draws=30)
    with pytest.raises(DataError, match="has no classes"):
        held_out_classes(fit)
