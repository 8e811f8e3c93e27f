"""Multinomial regression with normal priors: against maximum likelihood, and where it has none."""

import warnings

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import minimize
from scipy.special import log_softmax, softmax
from sklearn.linear_model import LogisticRegression
from statsmodels.discrete.discrete_model import MNLogit

from bayesvb.evaluation.multinomial_baseline import (
    RIDGE,
    precisions,
    ridge_coefficients,
    standardised,
)


@pytest.fixture
def overlapping():
    """Standardised terms and three classes that overlap."""
    rng = np.random.default_rng(6)
    x = rng.normal(size=(80, 2))
    codes = (x[:, 0] + rng.logistic(size=80) > 0.0).astype(int) + (x[:, 1] > rng.normal(size=80))
    return standardised(np.column_stack([np.ones(80), x])), codes


@pytest.fixture
def separated():
    """One term that separates three classes."""
    x = np.r_[np.arange(5.0), np.arange(10.0, 15.0), np.arange(20.0, 25.0)]
    return standardised(np.column_stack([np.ones(15), x])), np.repeat([0, 1, 2], 5)


def test_without_a_penalty_the_maximum_is_that_of_the_likelihood(overlapping):
    terms, codes = overlapping
    b = ridge_coefficients(terms, codes, np.full(3, 1e-9), np.zeros((3, 3)))
    theirs = MNLogit(codes, terms).fit(method="newton", disp=0, tol=1e-12)
    assert_allclose(b[:, 1:] - b[:, :1], theirs.params, atol=1e-4)
    assert_allclose(softmax(terms @ b, axis=1), theirs.predict(terms), atol=1e-5)


def test_the_penalised_maximum_is_that_of_scikit_learn(overlapping):
    terms, codes = overlapping
    b = ridge_coefficients(terms, codes, np.array([1e-9, 4.0, 4.0]), np.zeros((3, 3)))
    theirs = LogisticRegression(C=0.25, tol=1e-10, max_iter=5000).fit(terms[:, 1:], codes)
    assert_allclose(b[1:].T, theirs.coef_, atol=1e-4)
    assert_allclose(softmax(terms @ b, axis=1), theirs.predict_proba(terms[:, 1:]), atol=1e-5)


@pytest.mark.parametrize("sd", [0.1, 1.0, 30.0])
def test_classes_that_terms_separate_have_a_maximum(separated, sd):
    terms, codes = separated
    tau = precisions(terms, sd)
    b = ridge_coefficients(terms, codes, tau, np.zeros((2, 3)))

    def loss(flat):
        one = flat.reshape(2, 3)
        log_p = log_softmax(terms @ one, axis=1)
        return -log_p[np.arange(15), codes].sum() + 0.5 * (tau[:, None] * one**2).sum()

    p = softmax(terms @ b, axis=1)
    assert np.abs(terms.T @ (p - np.eye(3)[codes]) + tau[:, None] * b).max() < 1e-5
    other = minimize(loss, np.zeros(6), method="BFGS", options={"gtol": 1e-4})
    assert loss(b.ravel()) == pytest.approx(other.fun, abs=1e-4)
    assert np.isfinite(b).all() and (p > 0.0).all()


def test_unpenalised_regression_has_no_maximum_there(separated):
    terms, codes = separated
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        found = MNLogit(codes, terms).fit(method="bfgs", maxiter=1000, disp=0)
    # the likelihood nears one and coefficients grow as long as the ascent is let go on
    assert found.llf > -0.01 and np.abs(found.params).max() > 3.0 * RIDGE.intercept_sd


def test_a_class_without_rows_is_possible_and_rare(overlapping):
    terms, codes = overlapping
    b = ridge_coefficients(terms, codes, precisions(terms, 1.0), np.zeros((3, 4)))
    p = softmax(terms @ b, axis=1)[:, 3]
    assert (p > 0.0).all() and p.max() < 0.02


def test_a_row_of_weight_two_counts_as_two_rows(overlapping):
    terms, codes = overlapping
    weights = 1.0 + (np.arange(80) % 3 == 0)
    twice = np.repeat(np.arange(80), weights.astype(int))
    given = precisions(terms, 1.0), np.zeros((3, 3))
    found = ridge_coefficients(terms, codes, *given, weights)
    assert_allclose(found, ridge_coefficients(terms[twice], codes[twice], *given), atol=1e-4)


def test_terms_have_one_scale_and_are_centred_if_there_is_an_intercept(rng):
    x = rng.normal(3.0, 2.0, size=(50, 2))
    found = standardised(np.column_stack([x[:, 0], np.full(50, 7.0), 1e6 * x[:, 1], np.zeros(50)]))
    assert_allclose(found[:, 0], 1.0)
    assert_allclose(found[:, 1:], (x - x.mean(axis=0)) / x.std(axis=0), atol=1e-9)
    assert_allclose(precisions(found, 2.0), [RIDGE.intercept_sd**-2, 0.25, 0.25])
    assert_allclose(standardised(x), x / np.sqrt((x**2).mean(axis=0)))
    assert_allclose(precisions(standardised(x), 2.0), [0.25, 0.25])
