"""Multinomial regression on rows that were left out: against scikit-learn, and its refusals."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.results.class_folds import held_out_classes
from bayesvb.results.multinomial_baseline import (
    MOST_COEFFICIENTS,
    SEPARATED,
    multinomial_baseline,
    multinomial_probabilities,
    probabilities_left_out,
    spanning,
)


@pytest.fixture
def overlapping(rng):
    """Terms and three classes that overlap."""
    x = rng.normal(size=(90, 2))
    codes = (x[:, 0] + rng.logistic(size=90) > 0.0).astype(int) + (x[:, 1] > rng.normal(size=90))
    return np.column_stack([np.ones(90), x]), codes


def test_multinomial_regression_is_at_the_maximum_of_its_likelihood():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 2))
    terms = np.column_stack([np.ones(80), 1e4 * x[:, 0], x[:, 1], x @ [1.0, 2.0]])
    codes = (x[:, 0] + rng.logistic(size=80) > 0.0).astype(int) + (x[:, 1] > 1.0)
    basis = spanning(terms)
    assert basis.shape[1] == 3  # the last column says nothing new
    p = multinomial_probabilities(basis, codes, basis)
    # the optimisers stop at a gradient of 1e-5, whatever the number of rows
    assert np.abs(terms[:, [0, 2]].T @ (np.eye(3)[codes] - p)).max() < 0.01
    assert multinomial_probabilities(basis, (x[:, 0] > 0.0).astype(int), basis) is None


def test_probabilities_left_out_are_those_of_scikit_learn(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 4
    found, why = probabilities_left_out(terms, codes, folds)
    regression = LogisticRegression(C=1e12, tol=1e-10, max_iter=5000)
    theirs = cross_val_predict(
        regression, terms[:, 1:], codes, cv=PredefinedSplit(folds), method="predict_proba"
    )
    assert why == ""
    # both stop at a gradient of about 1e-5
    assert_allclose(found, theirs, atol=2e-4)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_units_of_the_terms_and_repetitions_among_them_change_nothing(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    found, _ = probabilities_left_out(terms, codes, folds)
    other = np.column_stack([terms * [1.0, 1e6, 1e-3], terms[:, 1] - terms[:, 2]])
    assert_allclose(probabilities_left_out(other, codes, folds)[0], found, atol=1e-4)


def test_a_class_without_rows_has_no_probability(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    found, _ = probabilities_left_out(terms, codes, folds)
    more, _ = probabilities_left_out(terms, codes, folds, n_classes=4)
    assert more.shape == (90, 4) and (more[:, 3] == 0.0).all()
    assert_allclose(more[:, :3], found)


def test_where_there_is_no_regression_the_reason_is_said(overlapping, rng):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    apart = (terms[:, 1] > 0.0).astype(int)
    assert probabilities_left_out(terms, apart, folds) == (None, SEPARATED)
    rare = np.where(np.arange(90) == 7, 3, codes)
    found, why = probabilities_left_out(terms, rare, folds)
    assert found is None and "too few rows" in why
    for width, refused in ((MOST_COEFFICIENTS // 2, False), (MOST_COEFFICIENTS // 2 + 1, True)):
        wide = rng.normal(size=(2 * width, width))
        found, why = probabilities_left_out(
            wide, np.arange(2 * width) % 3, np.zeros(2 * width, int)
        )
        assert found is None and (f"more than {MOST_COEFFICIENTS} coefficients" in why) == refused


def test_the_baseline_of_a_fit_is_that_of_its_terms_and_classes(overlapping):
    terms, codes = overlapping
    data = pd.DataFrame(terms[:, 1:], columns=["a", "b"]).assign(c=np.array(["u", "v", "w"])[codes])
    model = bvb.ConditionalMixtureNetwork("c ~ a + b", data, n_experts=1)
    fit = model.fit(seed=1, restarts=1, draws=30)
    folds = held_out_classes(fit).folds
    expected, _ = probabilities_left_out(terms, codes, folds)
    assert_allclose(multinomial_baseline(fit, folds)[0], expected, atol=1e-4)


def test_numbers_and_case_weights_have_no_multinomial_regression(rng):
    x = rng.normal(size=40)
    data = pd.DataFrame({"x": x, "y": x + rng.normal(size=40), "c": np.where(x > 0.0, "a", "b")})
    ask = {"seed": 1, "restarts": 1, "draws": 30}
    numbers = bvb.DensityRegression("y ~ x", data, n_components=1).fit(**ask)
    with pytest.raises(DataError, match="has no classes"):
        multinomial_baseline(numbers, np.arange(40) % 5)
    weighted = bvb.ConditionalMixtureNetwork("c ~ x", data, n_experts=1, weights=np.full(40, 2.0))
    found, why = multinomial_baseline(weighted.fit(**ask), np.arange(40) % 5)
    assert found is None and "case weights" in why
