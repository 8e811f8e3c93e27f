"""What every public model promises: files, weights, rows, indices, missing values, seeds.

A case is one model of the table in ``conftest.py``, ``fit`` a fit of it.
"""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.prediction import KINDS
from bayesvb.engines.cavi import cavi
from bayesvb.engines.partitions import seeds_start
from bayesvb.errors import ignoring_user_warnings
from bayesvb.estimators import MODELS
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.experts import EXPERTS, GAUSSIAN_EXPERTS
from bayesvb.gates import GATES

pytestmark = pytest.mark.quick(
    case=(
        "density, softmax",
        "density, two responses",
        "network, classes",
        "gaussians, full",
        "components, gaps",
        "normal",
    )
)

INDICES = {
    "not unique": pd.Index([5, 6, 5] * 30, name="id"),
    "not sorted": pd.Index(np.arange(90)[::-1] * 7 % 90),
    "levels": pd.MultiIndex.from_product([range(30), list("abb")], names=["site", None]),
    "dates": pd.date_range("2020", periods=90, tz="UTC"),
}


def assert_same(one, other) -> None:
    """Two tables or series are the same to the last bit."""
    check = pd.testing.assert_frame_equal if one.ndim == 2 else pd.testing.assert_series_equal
    check(one, other, check_exact=True)


def assert_near(one, other, *, rtol) -> None:
    """Two tables or series of numbers are near, of classes the same."""
    if isinstance(one, pd.Series) and isinstance(one.dtype, pd.CategoricalDtype):
        assert_same(one, other)
    else:
        assert_allclose(one.to_numpy(float), other.to_numpy(float), rtol=rtol, atol=rtol)


def test_the_cases_are_those_of_the_tables(cases):
    assert {case.kind for case in cases.values()} == set(MODELS)
    tables = {"gate": GATES, "family": EXPERTS, "covariance": GAUSSIAN_EXPERTS}
    for option, names in tables.items():
        given = [case.options[option] for case in cases.values() if option in case.options]
        assert set(given) == set(names)


def test_every_kind_of_prediction_is_asked_for(case):
    kinds = set(KINDS) - {"probability"} if case.number is not None else set()
    if case.is_discrete:  # single values have probabilities
        kinds.add("probability")
    if case.number != {}:  # of rows, or of classes
        kinds |= set(MODELS[case.kind].own_kinds)
    assert {ask["kind"] for ask in case.asks} >= kinds


# -- files ---------------------------------------------------------------------------------------


def test_a_saved_fit_gives_the_same_answers(fit, case, new, tmp_path):
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert (str(back), str(back.model)) == (str(fit), str(fit.model))
    assert (back.elbo, back.seed, back.order) == (fit.elbo, fit.seed, fit.order)
    assert_same(back.summary(), fit.summary())
    assert_same(back.restarts, fit.restarts)
    assert_same(back.model.prior_table(), fit.model.prior_table())
    for rows in (None, new):
        for there, here in zip(case.answers(back, rows), case.answers(fit, rows), strict=True):
            assert_same(there, here)
    assert_array_equal(back.khat, fit.khat)
    with ignoring_user_warnings():
        for criterion in ("loo", "waic"):
            there, here = (read_elpd(getattr(each, criterion)()) for each in (back, fit))
            assert (there.elpd, there.se, there.p) == (here.elpd, here.se, here.p)
    if case.kind != "Normal":
        assert_same(back.components(), fit.components())
    if case.kind not in ("Normal", "BayesianPCA"):
        assert_same(back.responsibilities(), fit.responsibilities())


# -- rows ----------------------------------------------------------------------------------------


def ascent(model, start, **options):
    """Some sweeps from a partition that is a function of each row."""

    def divided(block):
        return model.core.partition_stats(block, start.responsibilities(block))

    first = model.core.first_stats(model.source.map_reduce(divided))
    return cavi(model.core, model.source, first, **{"max_iter": 20, **options})


def start_of(model):
    """A partition by the nearest of some rows of the model."""
    block = model.block(model.rows(response=model.design.response is not None))
    return seeds_start(block, model.core.n_components, np.random.default_rng(1))


@pytest.fixture(scope="session")
def repeated(table) -> pd.DataFrame:
    """Each row as often as its weight says."""
    return table.loc[table.index.repeat(table["weight"])].reset_index(drop=True)


def test_whole_case_weights_are_repeated_rows_in_every_sweep(case, table, repeated):
    weighted, whole = case.model(table, weights="weight"), case.model(repeated)
    assert weighted.log_jacobian == pytest.approx(whole.log_jacobian, rel=1e-12)
    start = start_of(weighted)
    runs = [ascent(model, start) for model in (weighted, whole)]
    assert_allclose(runs[0].trace, runs[1].trace, rtol=1e-9)
    one, other = (run.stats.to_vector() for run in runs)
    assert_allclose(one, other, rtol=1e-8, atol=1e-8 * np.abs(other).max())


@pytest.fixture(scope="module")
def weighted_fits(case, table, repeated):
    """Fits of weighted and of repeated rows, both at their optimum."""
    if case.is_network:
        pytest.skip("the random starts of networks end at different optima")
    options = {"restarts": 3, "draws": 200, "tol": 1e-12, "covariance": "mean-field"}
    models = case.model(table, weights="weight"), case.model(repeated)
    # Two sticks may be broken in either order: the bound is the same, and the start decides.
    pairs = (tuple(case.fit(model, seed=seed, **options) for model in models) for seed in range(5))
    return next(pair for pair in pairs if pair[0].order == pair[1].order)


def test_fits_of_weighted_rows_are_those_of_repeated_rows(weighted_fits, case, new):
    one, two = weighted_fits
    assert one.elbo == pytest.approx(two.elbo, rel=1e-8)
    pd.testing.assert_frame_equal(one.model.prior_table(), two.model.prior_table(), rtol=1e-8)
    assert_allclose(one.log_density(new), two.log_density(new), rtol=1e-5, atol=1e-6)
    # The last gains are below 1e-12 per row. Where gains shrink by a tenth, 1e-11 nats per row
    # are left, and expectations are sqrt(2 * gap) = 5e-5 standard deviations from the optimum.
    tables = [fit.summary()[["mean", "sd", "lower", "upper"]] for fit in (one, two)]
    near = 2 * 5e-5 * tables[1]["sd"]
    assert tables[0].isna().equals(tables[1].isna())
    gap = tables[0].sub(tables[1]).abs().fillna(0.0)
    assert gap.le(near, axis=0).all(axis=None)


def _criterion(fit, name):
    """By name; a model without linear response has the criterion of its draws."""
    if name == "waic":
        return fit.waic()
    if name == "linear-response":
        return fit.loo()
    return fit.loo("psis", corrected=name == "corrected")


@pytest.mark.parametrize("criterion", ["linear-response", "psis", "corrected", "waic"])
def test_criteria_of_weighted_rows_are_those_of_repeated_rows(
    weighted_fits, table, repeated, criterion
):
    fit = weighted_fits[0]
    same = replace(fit, model=weighted_fits[1].model)  # the same draws, other rows
    with ignoring_user_warnings():
        one, other = (read_elpd(_criterion(each, criterion)) for each in (fit, same))
    weight = table["weight"].to_numpy()
    near = 1e-6 if criterion == "linear-response" else 1e-8  # differences have a step of 1e-5
    for name in ("elpd", "se", "p"):
        assert getattr(one, name) == pytest.approx(getattr(other, name), rel=near)
    assert_allclose(np.repeat(one.pointwise, weight), other.pointwise, rtol=near)
    assert one.n_rows == (weight > 0).sum() and other.n_rows == weight.sum()
    if criterion in ("psis", "corrected"):
        assert np.isnan(one.pareto_k[weight == 0]).all()
        assert_allclose(np.repeat(one.pareto_k, weight), other.pareto_k, rtol=1e-6, atol=1e-6)
    assert fit.khat == pytest.approx(same.khat, rel=1e-6, nan_ok=True)


def test_the_order_of_rows_changes_rounding_only(fit, case, table, new):
    models = case.model(table), case.model(table.sample(frac=1.0, random_state=3))
    start = start_of(models[0])
    runs = [ascent(model, start, max_iter=6) for model in models]
    assert_allclose(runs[0].trace, runs[1].trace, rtol=1e-10)
    one, other = (run.stats.to_vector() for run in runs)
    assert_allclose(one, other, rtol=1e-9, atol=1e-9 * np.abs(other).max())
    here, there = (
        replace(fit, model=model, core=model.core, stats=run.stats, members=())
        for model, run in zip(models, runs, strict=True)
    )
    for first, second in zip(case.answers(here, new), case.answers(there, new), strict=True):
        assert_near(first, second, rtol=1e-8)


def test_predictions_have_the_index_of_the_data(fit, case, table):
    plain = list(case.answers(fit, table.iloc[5:14]))
    for index in INDICES.values():
        given = table.set_index(index)
        rows = given.iloc[5:14]
        for found, expected in zip(case.answers(fit, rows), plain, strict=True):
            pd.testing.assert_index_equal(found.index, rows.index)
            assert_array_equal(found, expected)
        here = replace(fit, model=case.model(given))
        assert here.log_density().index.equals(index)
        assert here.predict(**case.asks[0]).index.equals(index)
        if case.kind not in ("Normal", "BayesianPCA"):
            assert here.responsibilities().index.equals(index)


def test_predictions_of_the_rows_fitted_need_no_data(fit, case, table):
    for here, there in zip(case.answers(fit, None), case.answers(fit, table), strict=True):
        assert here.index.equals(table.index)
        assert_near(here, there, rtol=1e-9)


def test_rows_that_lack_a_value_are_nan(fit, case, new):
    """Of principal components those that lack every value; others are told by what they have."""
    everything = case.kind == "BayesianPCA"
    whole = [fit.predict(new, **ask) for ask in case.asks]
    for place, column in enumerate(("x", "z", "y", "u", "label")):
        holes = new.copy()
        holes.loc[holes.index[place], list(case.explains) if everything else column] = np.nan
        kept = np.arange(len(new)) != place
        gone = [place] if everything or column in case.reads else []
        for ask, expected in zip(case.asks, whole, strict=True):
            found = fit.predict(holes, missing="keep", **ask)
            lost = found.isna().to_numpy().reshape(len(new), -1).all(axis=1)
            assert np.flatnonzero(lost).tolist() == gone
            if ask["kind"] != "draws":  # of other rows others are drawn
                assert_near(found[kept], expected[kept], rtol=1e-9)
        gone = [place] if gone or column in case.explains else []
        assert np.flatnonzero(fit.log_density(holes).isna()).tolist() == gone


def test_sums_over_no_rows_are_zero(fit):
    """A block all of whose rows are left out, as a site or a file may have it."""
    for part in fit.parts:
        one = part.fit
        step = one.core.e_step(one.q, one.model.source.empty())
        assert step.bound == 0.0
        assert not step.stats.to_vector().any()


# -- seeds and threads ---------------------------------------------------------------------------


def in_small_blocks(model):
    """The same model with its rows in seven blocks."""
    (block,) = model.source.iterate()
    object.__setattr__(model, "source", InMemorySource(tuple(block.split(14))))
    return model


def state(fit) -> np.ndarray:
    """Statistics of all restarts that a fit combines."""
    return np.concatenate([member.fit.stats.to_vector() for member in fit.parts])


def assert_same_bits(one, other) -> None:
    assert one.elbo == other.elbo
    assert_array_equal(state(one), state(other))
    assert one.draws.keys() == other.draws.keys()
    for name, values in one.draws.items():
        assert_array_equal(values, other.draws[name])
    assert_same(one.summary(), other.summary())


def test_the_same_seed_gives_the_same_bits_with_any_number_of_threads(case, table):
    model = in_small_blocks(case.model(table))
    one = case.brief_fit(model)
    assert one.seed == 3
    for n_jobs in (1, 3):
        assert_same_bits(one, case.brief_fit(model, n_jobs=n_jobs))


def test_another_seed_gives_other_draws(fit, case, table):
    passes = 30 if case.is_network else 2000
    other = case.brief_fit(fit.model, draws=200, max_iter=passes)
    for name, values in fit.draws.items():
        if name == "member" and name not in other.draws:
            continue  # of several restarts that count, one was left here
        if values.size and np.ptp(values) > 0.0:
            assert not np.array_equal(values, other.draws[name])
    if not case.is_network:  # the same posterior, seen by other draws
        assert other.elbo == pytest.approx(fit.elbo, abs=1e-3)
