"""What cannot be fitted or asked: each message names the argument, the value and the remedy."""

import datetime
import re

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import BayesVBError, ConvergenceWarning, DataError, FormulaError
from bayesvb.gates import GATES

FORMULA = "y ~ x + z | gating(x)"


def model(data, formula=FORMULA, **options):
    return bvb.DensityRegression(formula, data, **{"n_components": 2, **options})


def refused(kind, *words):
    """Expectation of an error whose message holds these words, in this order."""
    return pytest.raises(kind, match="(?s)" + ".*".join(words))


# -- arguments of the model ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "why"),
    [
        (0, "must be at least 1"),
        (-3, "must be at least 1"),
        (True, "must be a whole number"),
        (151, "more than the 150 rows that are complete"),
        (10**30, "more than the 150 rows"),
    ],
)
def test_number_of_components(regimes, value, why):
    with refused(DataError, f"n_components={value!r}", why):
        model(regimes, n_components=value)


@pytest.mark.parametrize("value", [2.0, "3", [2]])
def test_number_of_components_that_is_no_number(regimes, value, unchecked):
    with refused(DataError, f"n_components={re.escape(repr(value))} must be a whole number"):
        model(regimes, n_components=value)


def test_numpy_whole_numbers_count_as_whole(regimes, unchecked):
    assert model(regimes, n_components=np.int64(3)).n_components == 3


@pytest.mark.parametrize(
    ("value", "words"),
    [
        ("sofmax", ["one of 'softmax'", "did you mean 'softmax'"]),
        ("stick breaking", ["did you mean 'stick-breaking'"]),
        ("", ["one of 'softmax', .*'dirichlet'"]),
        ("probit", ["one of"]),
    ],
)
def test_gate(regimes, value, words):
    with refused(DataError, f"gate={value!r} is not known", *words):
        model(regimes, gate=value)


@pytest.mark.parametrize(
    ("weights", "words"),
    [
        ([-1.0] + [1.0] * 149, ["1 weights are negative", "row 0: -1.0", "hint: ", "weight 0"]),
        ([1.0] * 149 + [np.nan], ["missing or infinite", "row 149: nan"]),
        ([np.inf] * 150, ["150 weights"]),
        ([0.0] * 150, ["all weights are zero", "omit weights"]),
        ([1.0] * 149, [r"weights have shape \(149,\)", "150 rows"]),
        ([[1.0]] * 150, [r"weights have shape \(150, 1\)"]),
        (2.0, [r"weights have shape \(\)"]),
        (["a"] * 150, ["weights must be numbers", "a"]),
        ("w", ["weights='w' is not a column", "hint: the columns are y, x, z"]),
    ],
)
def test_weights(regimes, weights, words):
    with refused(DataError, *words):
        model(regimes, weights=weights)


def test_weights_of_other_rows(regimes):
    with refused(DataError, "differs from the index of the data", r"weights.to_numpy\(\)"):
        model(regimes, weights=pd.Series(np.ones(150), regimes.index[::-1]))
    aligned = pd.Series(np.ones(150), regimes.index)
    assert model(regimes, weights=aligned).source.total_weight == 150.0


def test_weights_of_text(regimes):
    with refused(DataError, "weights must be numbers"):
        model(regimes.assign(w="heavy"), weights="w")


def test_missing(regimes):
    with refused(DataError, "missing='keep' is not known", "'drop', 'raise'"):
        model(regimes, missing="keep")
    holes = regimes.assign(x=regimes["x"].where(regimes.index > 1))
    with refused(DataError, "2 of 150 rows lack a value: `x` in 2", "missing='drop'"):
        model(holes, missing="raise")


# -- data ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "words"),
    [
        (lambda d: d.iloc[:0], ["the data have no rows"]),
        (lambda d: d.iloc[:1], ["one complete row only", "two or more"]),
        (lambda d: d.assign(y=3.0), ["the response `y` is 3 in every row"]),
        (lambda d: d.assign(y="high"), ["y"]),
        (lambda d: d.assign(y=np.nan), ["no row is complete", "`y` in 150"]),
        (lambda d: d.assign(x=np.inf), ["`x` is not finite in 150 of 150 rows", "hint: "]),
        (lambda d: d.assign(x=datetime.time(12)), ["x"]),
        (lambda d: pd.concat([d, d[["x"]]], axis=1), ["x"]),
        (lambda d: d.drop(columns="z"), ["z"]),
    ],
    ids=["empty", "one row", "constant", "text", "all missing", "infinite", "times of day", "twice",
         "absent"],
)  # fmt: skip
def test_data(regimes, change, words):
    with refused(BayesVBError, *words):
        model(change(regimes), n_components=1)


def test_formula_that_names_what_is_not_there(regimes):
    with refused(FormulaError, "xx", "y ~ xx", r"\^\^", "hint: ", "x"):
        model(regimes, "y ~ xx")


@pytest.fixture(scope="module", params=GATES)
def gated_fit(request, regimes):
    """A fit with each gate in turn."""
    return model(regimes, gate=request.param).fit(seed=1, restarts=2, draws=30)


@pytest.mark.parametrize("scale", [1e150, 1e-150])
@pytest.mark.parametrize("column", ["y", "x"])
@pytest.mark.quick(gated_fit=("softmax",), column=("y",))
def test_huge_scales_fit_without_overflow(regimes, gated_fit, scale, column):
    here, gate = gated_fit, gated_fit.model.gate
    model_there = model(regimes.assign(**{column: scale * regimes[column]}), gate=gate)
    there = model_there.fit(seed=1, restarts=2, draws=30)
    factor = scale if column == "y" else 1.0
    np.testing.assert_allclose(there.predict(), factor * here.predict(), rtol=1e-5)
    np.testing.assert_allclose(
        there.predict(kind="sd"), factor * here.predict(kind="sd"), rtol=1e-5
    )
    assert there.elbo == pytest.approx(here.elbo - 150 * np.log(factor), rel=1e-9)
    for table in (there.summary(), there.components(), model_there.prior_table()[["scale"]]):
        numbers = table.drop(columns=["p_positive", "membership_prob"], errors="ignore")
        if "scale" in numbers:
            numbers = numbers.dropna()
        assert np.isfinite(numbers.to_numpy(dtype=float)).all()
    assert f"{there.elbo:,.1f}" in str(there)


def test_huge_numbers_of_rows_with_the_same_value(regimes):
    """A column that is constant but for one row: a spread, however odd."""
    spike = np.zeros(150)
    spike[7] = 1e12
    fit = model(regimes.assign(z=spike)).fit(seed=1, restarts=1, draws=30)
    assert np.isfinite(fit.log_density()).all()


# -- arguments of the fit ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"method": "mcmc"}, ["method='mcmc' is not known", "'cavi'"]),
        ({"method": "CAVI"}, ["method='CAVI'"]),
        ({"combine": "mean"}, ["combine='mean' is not known", "'best'"]),
        ({"restarts": 0}, ["restarts=0 must be at least 1"]),
        ({"draws": 24}, ["draws=24 must be at least 25"]),
        ({"seed": -1}, ["seed=-1 must be at least 0"]),
        ({"seed": 2**63}, ["seed=9223372036854775808 is more than"]),
        ({"tol": 0.0}, ["tol=0.0 must be a positive"]),
        ({"tol": -1e-6}, ["tol=-1e-06 must be a positive"]),
        ({"tol": np.nan}, ["tol=nan must be a positive"]),
        ({"max_iter": 0}, ["max_iter=0 must be at least 1"]),
        ({"n_jobs": 0}, ["n_jobs=0 must be at least 1"]),
        ({"n_jobs": -1}, ["n_jobs=-1 must be at least 1"]),
    ],
)
def test_arguments_of_the_fit(regimes, options, words):
    with refused(DataError, *words):
        model(regimes).fit(**options)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"restarts": 1.5}, ["restarts=1.5 must be a whole number"]),
        ({"draws": "many"}, ["draws='many' must be a whole number"]),
        ({"seed": 0.5}, ["seed=0.5 must be a whole number"]),
        ({"tol": "small"}, ["tol='small' must be a positive"]),
    ],
)
def test_arguments_of_the_wrong_type(regimes, options, words, unchecked):
    with refused(DataError, *words):
        model(regimes).fit(**options)


def test_a_fit_that_is_not_done_says_what_to_do(regimes):
    with pytest.warns(ConvergenceWarning, match=r"max_iter=3 iterations; raise max_iter"):
        fit = model(regimes).fit(seed=1, restarts=2, draws=30, max_iter=3)
    assert not fit.converged
    assert fit.n_iter == 3
    assert not fit.restarts["converged"].any()
    with pytest.warns(ConvergenceWarning, match="max_iter=1 iterations"):
        model(regimes).fit(seed=1, restarts=1, draws=30, max_iter=1)


def test_a_progress_that_fails_is_heard(regimes):
    def fail(*news):
        raise RuntimeError("disk full")

    with pytest.raises(RuntimeError, match="disk full"):
        model(regimes).fit(seed=1, restarts=1, draws=30, progress=fail)


# -- questions to a fit --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"kind": "median"}, ["median", "mean"]),
        ({"kind": "quantiles"}, ["quantile"]),
        ({"kind": "density"}, ["at"]),
        ({"kind": "quantile", "q": 5}, ["q = 5", "0.05"]),
        ({"kind": "mean", "q": 0.5}, ["q"]),
        ({"kind": "interval", "prob": 95.0}, ["prob"]),
        ({"response": "u"}, ["response='u' is not one of y"]),
    ],
)
def test_predictions(regimes_fit, options, words):
    with refused(DataError, *words):
        regimes_fit.predict(**options)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"x": [1.0]}, ["z"]),
        ({"x": ["a"], "z": [1.0]}, ["x"]),
        ({"x": [np.inf], "z": [1.0]}, ["x", "not finite"]),
        (3.0, []),
    ],
    ids=["absent", "text", "infinite", "no table"],
)
def test_new_data(regimes_fit, data, words):
    with refused(BayesVBError, *words):
        regimes_fit.predict(data)


def test_new_data_without_rows(regimes, regimes_fit):
    assert len(regimes_fit.predict(regimes.iloc[:0])) == 0
    nothing = pd.DataFrame({"x": [np.nan], "z": [1.0], "y": [1.0]})
    assert regimes_fit.predict(nothing, missing="keep").isna().tolist() == [True]
    assert regimes_fit.log_density(nothing).isna().tolist() == [True]


@pytest.mark.parametrize("prob", [0.0, 1.0, -0.1, 89.0, np.nan])
def test_intervals_of_the_tables(regimes_fit, prob):
    for table in (regimes_fit.summary, regimes_fit.components):
        with refused(DataError, f"prob={prob!r} must lie between 0 and 1", "hint: "):
            table(prob)


def test_a_formula_where_a_model_belongs_is_told_what_to_write(regimes):
    with pytest.raises(TypeError, match=r"the model comes first.*DensityRegression\('y ~ x', data"):
        bvb.select("y ~ x", regimes, n_components=[1, 2])
