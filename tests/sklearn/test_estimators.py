"""Estimators for scikit-learn: its own checks, and that they are the models they stand for."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError

sklearn = pytest.importorskip("sklearn")
from sklearn.base import clone  # noqa: E402
from sklearn.calibration import CalibratedClassifierCV  # noqa: E402
from sklearn.compose import TransformedTargetRegressor  # noqa: E402
from sklearn.model_selection import GridSearchCV, cross_val_score  # noqa: E402
from sklearn.pipeline import make_pipeline  # noqa: E402
from sklearn.preprocessing import StandardScaler  # noqa: E402
from sklearn.utils.estimator_checks import check_estimator  # noqa: E402

from bayesvb.sklearn import (  # noqa: E402
    DensityClassifier,
    DensityRegressor,
    GaussianMixtureDensity,
    MixtureNetworkClassifier,
    MixtureNetworkRegressor,
    PcaTransformer,
)

QUICK = {"restarts": 1, "covariance": "mean-field", "max_iter": 60, "tol": 0.5, "random_state": 1}

ESTIMATORS = {
    "density": DensityRegressor(n_components=2, **QUICK),
    "two classes": DensityClassifier(**QUICK),
    "ordered classes": DensityClassifier(family="ordinal", **QUICK),
    "joint": GaussianMixtureDensity(n_components=2, **QUICK),
    "components": PcaTransformer(**QUICK),
    "network, numbers": MixtureNetworkRegressor(n_experts=1, combine="best", **QUICK),
    "network, classes": MixtureNetworkClassifier(n_experts=1, combine="best", **QUICK),
}

STARTS = "ascents start from random divisions of the rows: weighted rows start from others"

EXPECTED = {
    "check_sample_weight_equivalence_on_dense_data": STARTS,
    "check_sample_weight_equivalence_on_sparse_data": STARTS,
    "check_sample_weights_invariance": STARTS,
}

ONE_COMPONENT = DensityRegressor(n_components=1, **{**QUICK, "max_iter": 2000, "tol": 1e-12})


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(4)
    x = rng.normal(size=60)
    frame = pd.DataFrame({"x": x, "a b": rng.normal(size=60), "y": x + 0.3 * rng.normal(size=60)})
    frame["site"] = np.where(rng.random(60) > 0.5, "north", "south")
    frame["k"] = np.where(x + 0.5 * rng.normal(size=60) > 0.0, "up", "down")
    return frame


@pytest.mark.heavy
@pytest.mark.parametrize("name", ESTIMATORS)
def test_the_checks_of_scikit_learn_pass(name):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(ESTIMATORS[name], expected_failed_checks=EXPECTED, on_fail=None)
    assert len(found) > 40
    failed = {one["check_name"]: one["exception"] for one in found if one["status"] == "failed"}
    assert failed == {}


def test_weights_are_repeated_rows_where_nothing_starts_at_random(data):
    counts = np.arange(60) % 3
    weighted = clone(ONE_COMPONENT).fit(data[["x"]], data["y"], sample_weight=counts)
    many = data.loc[np.repeat(np.arange(60), counts)]
    repeated = clone(ONE_COMPONENT).fit(many[["x"]], many["y"])
    assert np.allclose(weighted.predict(data[["x"]]), repeated.predict(data[["x"]]), atol=1e-6)


def test_predictions_and_scores_are_those_of_the_model(data):
    regressor = clone(ESTIMATORS["density"]).fit(data[["x", "a b", "site"]], data["y"])
    assert regressor.formula_ == "y ~ x + `a b` + site"
    model = bvb.DensityRegression("y ~ x + `a b` + site", data, n_components=2)
    seed = regressor.fit_.seed
    fit = model.fit(seed=seed, restarts=1, covariance="mean-field", max_iter=60, tol=0.5)
    columns = data[["x", "a b", "site"]]
    assert np.array_equal(regressor.predict(columns), fit.predict(data))
    assert np.array_equal(
        regressor.predict_quantile(columns, [0.1, 0.9]),
        fit.predict(data, "quantile", q=[0.1, 0.9]),
    )
    assert np.isclose(regressor.score(columns, data["y"]), fit.log_density(data).mean())
    assert np.array_equal(regressor.feature_names_in_, ["x", "a b", "site"])


FORMULAS = {
    "y ~ x": "y ~ x",
    "accel ~ s(x, k=4) | gating(1)": "accel ~ s(x, k=4) | gating(1)",
    "x": "y ~ x",
    "~ x": "y ~ x",
    "`a y` ~ x": "`a y` ~ x",
}


@pytest.mark.parametrize("formula", FORMULAS)
def test_a_formula_may_name_the_response_or_leave_it_out(formula, data):
    regressor = DensityRegressor(formula, n_components=1, **QUICK).fit(data[["x"]], data["y"])
    assert regressor.formula_ == FORMULAS[formula]
    assert regressor.score(data[["x"]], data["y"]) > -2.0


def test_columns_of_arrays_have_names_and_a_column_called_y_is_no_response(data):
    regressor = DensityRegressor("x1", n_components=1, **QUICK)
    assert regressor.fit(data[["x", "a b"]].to_numpy(), data["y"]).formula_ == "y ~ x1"
    own = DensityRegressor(n_components=1, **QUICK).fit(data[["y"]], data["x"])
    assert own.formula_ == "y_ ~ y"


@pytest.mark.heavy
def test_it_works_in_pipelines_searches_and_cross_validation(data):
    X, y = data[["x", "a b"]], data["y"]
    pipeline = make_pipeline(StandardScaler(), DensityRegressor(n_components=1, **QUICK))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > -1.0
    search = GridSearchCV(DensityRegressor(n_components=1, **QUICK), {"formula": ["x", "1"]}, cv=2)
    assert search.fit(X, y).best_params_ == {"formula": "x"}
    logs = TransformedTargetRegressor(clone(ONE_COMPONENT), func=np.log1p, inverse_func=np.expm1)
    assert np.isfinite(logs.fit(X, y - y.min()).predict(X)).all()


@pytest.mark.heavy
def test_classes_keep_their_labels_and_order(data):
    classifier = MixtureNetworkClassifier(n_experts=1, combine="best", **QUICK).fit(
        data[["x"]], data["k"]
    )
    assert classifier.classes_.tolist() == ["down", "up"]
    p = classifier.predict_proba(data[["x"]])
    assert np.allclose(p.sum(axis=1), 1.0)
    accuracy = (classifier.predict(data[["x"]]) == data["k"]).mean()
    assert classifier.score(data[["x"]], data["k"]) == accuracy > 0.8
    own = np.where(data["k"] == "up", p[:, 1], p[:, 0])
    assert np.allclose(classifier.log_density(data[["x"]], data["k"]), np.log(own))
    calibrated = CalibratedClassifierCV(classifier, cv=2).fit(data[["x"]], data["k"])
    assert calibrated.score(data[["x"]], data["k"]) > 0.8


def test_two_classes_are_a_binary_regression(data):
    X = data[["x"]]
    classifier = DensityClassifier(**QUICK).fit(X, data["k"])
    assert classifier.classes_.tolist() == ["down", "up"]
    coded = data.assign(k=(data["k"] == "up").astype(float))
    model = bvb.DensityRegression("k ~ x", coded, n_components=1, family="bernoulli")
    options = {name: QUICK[name] for name in ("covariance", "max_iter", "tol")}
    fit = model.fit(seed=classifier.fit_.seed, restarts=1, **options)
    assert np.allclose(classifier.predict_proba(X)[:, 1], fit.predict(coded))
    assert np.allclose(classifier.log_density(X, data["k"]), fit.log_density(coded))
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        DensityClassifier().fit(X, np.arange(60) % 3)


def test_ordered_classes_keep_their_order(data):
    X, words = data[["x"]], ["low", "medium", "high"]
    y = pd.cut(data["y"], [-np.inf, -0.5, 0.5, np.inf], labels=words)
    own = DensityClassifier(family="ordinal", **QUICK).fit(X, y)
    assert own.classes_.tolist() == words
    assert own.fit_.model.design.order.labels == tuple(words)
    told = DensityClassifier(family="ordinal", levels=words, **QUICK).fit(X, y.astype(str))
    p = told.predict_proba(X)
    assert np.array_equal(p, own.predict_proba(X))
    assert p.shape == (60, 3) and np.allclose(p.sum(axis=1), 1.0)
    assert set(told.predict(X)) <= set(words)
    with pytest.raises(ValueError, match="lacks the class 'high'"):
        DensityClassifier(family="ordinal", levels=words[:2]).fit(X, y.astype(str))


def test_densities_and_components_of_whole_rows(data):
    X = data[["x", "y"]]
    density = GaussianMixtureDensity(n_components=2, **QUICK).fit(X)
    assert np.isclose(density.score(X), density.fit_.log_density(X).mean())
    assert np.allclose(density.predict_proba(X).sum(axis=1), 1.0)
    assert cross_val_score(density, X, cv=2).shape == (2,)
    scores = PcaTransformer(**QUICK).set_output(transform="pandas").fit_transform(X)
    assert list(scores.columns) == ["pcatransformer0"]
    assert abs(np.corrcoef(scores["pcatransformer0"], X.sum(axis=1))[0, 1]) > 0.99


def test_wrong_input_is_named(data):
    regressor = DensityRegressor("log(y) ~ x", n_components=1, **QUICK)
    with pytest.raises(DataError, match="TransformedTargetRegressor"):
        regressor.fit(data[["x"]], data["y"])
    holes = data[["x", "site"]].assign(site=data["site"].where(data.index > 3))
    with pytest.raises(DataError, match="`site`"):
        DensityRegressor(**QUICK).fit(holes, data["y"])


def test_it_is_found_under_its_name_and_not_among_what_a_star_imports():
    assert bvb.sklearn.DensityRegressor is DensityRegressor
    assert "sklearn" in dir(bvb) and "sklearn" not in bvb.__all__


@pytest.mark.parametrize("name", ESTIMATORS)
def test_a_formula_is_text(name, data):
    wrong = clone(ESTIMATORS[name]).set_params(formula=3)
    with pytest.raises(DataError, match="formula=3 must be a string"):
        wrong.fit(data[["x"]], (data["y"] > 0.0).astype(int))
