"""Multinomial regression on rows that were left out: against scikit-learn, and always there."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import PredefinedSplit, cross_val_predict

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation.multinomial_baseline import (
    RIDGE,
    probabilities_left_out,
    standardised,
)
from bayesvb.results.baselines import multinomial_baseline
from bayesvb.results.class_evaluation import held_out_classes


@pytest.fixture
def overlapping(rng):
    """Terms and three classes that overlap."""
    x = rng.normal(size=(90, 2))
    codes = (x[:, 0] + rng.logistic(size=90) > 0.0).astype(int) + (x[:, 1] > rng.normal(size=90))
    return np.column_stack([np.ones(90), x]), codes


def theirs(terms, codes, folds, sd):
    """Probabilities of rows left out by scikit-learn, whose intercepts have no prior."""
    regression = LogisticRegression(C=sd**2, tol=1e-10, max_iter=5000)
    split = PredefinedSplit(folds)
    return cross_val_predict(regression, terms, codes, cv=split, method="predict_proba")


@pytest.mark.parametrize("sd", [0.3, 1e5])
def test_probabilities_left_out_are_those_of_scikit_learn(overlapping, sd, monkeypatch):
    terms, codes = overlapping
    monkeypatch.setitem(vars(RIDGE), "intercept_sd", 1e5)
    folds = np.arange(90) % 4
    found, prior = probabilities_left_out(terms, codes, folds, spreads=(sd,))
    assert prior == f"{sd:g}, chosen by cross-validation within the training folds"
    expected = theirs(standardised(terms)[:, 1:], codes, folds, sd)
    # both stop at a small gradient
    assert_allclose(found, expected, atol=2e-4)
    assert_allclose(found.sum(axis=1), 1.0, rtol=1e-12)


def test_each_fold_has_the_prior_that_predicts_best_the_others_left_out(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 4
    found, _ = probabilities_left_out(terms, codes, folds)
    for fold in (0, 3):
        kept = folds != fold
        scores = []
        for sd in RIDGE.spreads:
            # what is left out of the kept rows is all that the choice may see
            used = standardised(terms)[kept]
            p, _ = probabilities_left_out(used, codes[kept], folds[kept], spreads=(sd,))
            scores.append(np.log(p[np.arange(kept.sum()), codes[kept]]).sum())
        best = RIDGE.spreads[int(np.argmax(scores))]
        alone, _ = probabilities_left_out(terms, codes, folds, spreads=(best,))
        assert_allclose(found[~kept], alone[~kept], atol=1e-3)


def test_classes_of_a_fold_have_no_part_in_its_own_probabilities(overlapping, rng):
    terms, codes = overlapping
    folds = np.arange(90) % 4
    found, _ = probabilities_left_out(terms, codes, folds)
    other = np.where(folds == 2, rng.permutation(codes), codes)
    again, _ = probabilities_left_out(terms, other, folds)
    assert_allclose(again[folds == 2], found[folds == 2], rtol=1e-12)
    assert np.abs(again - found).max() > 1e-3


def test_terms_that_say_nothing_are_shrunk_and_those_that_say_much_are_not(rng):
    x = rng.normal(size=(120, 8))
    folds = np.arange(120) % 5
    terms = np.column_stack([np.ones(120), x])
    noise = rng.integers(0, 2, 120)
    for codes, low, high in ((noise, 0.0, 0.1), ((x[:, 0] > 0.0).astype(int), 0.3, 30.0)):
        _, prior = probabilities_left_out(terms, codes, folds)
        ends = [float(one) for one in prior.split(",")[0].split(" to ")]
        assert low <= ends[0] and ends[-1] <= high


def test_units_of_the_terms_change_nothing_and_repetitions_little(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    found, _ = probabilities_left_out(terms, codes, folds)
    other = terms * [1.0, 1e6, 1e-3]
    assert_allclose(probabilities_left_out(other, codes, folds)[0], found, atol=1e-6)
    # a term that is there twice has a wider prior
    twice = np.column_stack([other, terms[:, 1] - terms[:, 2]])
    assert_allclose(probabilities_left_out(twice, codes, folds)[0], found, atol=0.1)


def test_a_class_without_rows_has_no_probability(overlapping):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    found, _ = probabilities_left_out(terms, codes, folds)
    more, _ = probabilities_left_out(terms, codes, folds, n_classes=4)
    assert more.shape == (90, 4) and (more[:, 3] == 0.0).all()
    assert_allclose(more[:, :3], found)


def test_there_are_probabilities_whatever_the_data(overlapping, rng):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    apart = (terms[:, 1] > 0.0).astype(int)
    found, prior = probabilities_left_out(terms, apart, folds)
    assert (found.argmax(axis=1) == apart).mean() > 0.9 and "chosen" in prior
    rare = np.where(np.arange(90) == 7, 3, codes)
    found, _ = probabilities_left_out(terms, rare, folds)
    assert 0.0 < found[7, 3] < 0.1
    for given in (folds[:60], np.zeros(60, dtype=int)):
        found, _ = probabilities_left_out(rng.normal(size=(60, 80)), np.arange(60) % 3, given)
        assert np.isfinite(found).all() and (found > 0.0).all()
    assert_allclose(found, 1.0 / 3.0)  # no rows to learn from


def test_the_prior_is_fixed_where_choosing_takes_too_long(overlapping, monkeypatch):
    terms, codes = overlapping
    folds = np.arange(90) % 3
    fixed, _ = probabilities_left_out(terms, codes, folds, spreads=(1.0,))
    monkeypatch.setitem(vars(RIDGE), "most_choices", 8)
    found, prior = probabilities_left_out(terms, codes, folds)
    assert prior == "1, fixed"
    assert_allclose(found, fixed, atol=1e-5)


def test_the_baseline_of_a_fit_is_that_of_its_terms_and_classes(overlapping):
    terms, codes = overlapping
    data = pd.DataFrame(terms[:, 1:], columns=["a", "b"]).assign(c=np.array(["u", "v", "w"])[codes])
    model = bvb.ConditionalMixtureNetwork("c ~ a + b", data, n_experts=1)
    fit = model.fit(seed=1, restarts=1, draws=30)
    folds = held_out_classes(fit).folds
    expected, _ = probabilities_left_out(terms, codes, folds)
    assert_allclose(multinomial_baseline(fit, folds)[0], expected, atol=1e-4)


def test_numbers_have_no_multinomial_regression_and_case_weights_count(rng):
    x = rng.normal(size=40)
    data = pd.DataFrame({"x": x, "y": x + rng.normal(size=40), "c": np.where(x > 0.0, "a", "b")})
    ask, folds = {"seed": 1, "restarts": 1, "draws": 30}, np.arange(40) % 5
    numbers = bvb.DensityRegression("y ~ x", data, n_components=1).fit(**ask)
    with pytest.raises(DataError, match="has no classes"):
        multinomial_baseline(numbers, folds)
    weighted = bvb.ConditionalMixtureNetwork("c ~ x", data, n_experts=1, weights=np.full(40, 2.0))
    found, _ = multinomial_baseline(weighted.fit(**ask), folds)
    terms, codes = np.column_stack([np.ones(40), x]), weighted.design.response.astype(int)
    twice = np.tile(np.arange(40), 2)
    expected, _ = probabilities_left_out(terms[twice], codes[twice], folds[twice])
    # standardised terms are the same, as all weights are
    assert_allclose(found, expected[:40], atol=1e-4)
