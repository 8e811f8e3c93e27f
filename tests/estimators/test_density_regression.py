"""What must not change a fit, and what changes it in a known way."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi

FORMULA = "y ~ x + z | gating(x)"


def fit_of(data, *, formula=FORMULA, weights=None, n_jobs=None, draws=100, **options):
    settings = {"n_components": 2, "weights": weights, **options}
    model = bvb.DensityRegression(formula, data, **settings)
    return model.fit(seed=7, restarts=2, draws=draws, n_jobs=n_jobs)


def ascent_of(model, source=None):
    """Ascent of two components from a partition that is a function of each row alone."""
    source = source or model.source

    def divide(block):
        high = np.where(block.response[0] > 0.0, 0.8, 0.2)
        return model.core.partition_stats(block, np.vstack([high, 1.0 - high]))

    stats = model.core.first_stats(source.map_reduce(divide))
    return cavi(model.core, source, stats, tol=1e-10)


# -- units ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(("factor", "shift"), [(10.0, 0.0), (-0.03, 400.0), (1e9, -3.0)])
def test_units_of_the_response_change_its_predictions_and_nothing_else(
    regimes, regimes_fit, factor, shift
):
    here = fit_of(regimes)
    there = fit_of(regimes.assign(y=shift + factor * regimes["y"]))
    if factor > 0:
        assert_allclose(
            there.model.source.blocks[0].response, here.model.source.blocks[0].response, atol=1e-9
        )
        assert_allclose(there.stats.to_vector(), here.stats.to_vector(), rtol=1e-5, atol=1e-5)
        assert (there.restarts["n_iter"] == here.restarts["n_iter"]).all()
    assert_allclose(there.predict(), shift + factor * here.predict(), rtol=1e-5)
    assert_allclose(there.predict(kind="sd"), abs(factor) * here.predict(kind="sd"), rtol=1e-4)
    change = len(regimes) * np.log(abs(factor))
    assert there.elbo == pytest.approx(here.elbo - change, abs=1e-3)
    assert_allclose(
        there.log_density(), here.log_density() - np.log(abs(factor)), rtol=0, atol=1e-4
    )


def test_the_direction_of_a_covariate_changes_the_sign_of_its_coefficient_only(regimes):
    here, there = fit_of(regimes), fit_of(regimes.assign(z=-regimes["z"]))
    assert there.elbo == pytest.approx(here.elbo, abs=1e-3)
    assert_allclose(there.predict(), here.predict(), atol=0.01)
    slope = [fit.summary().loc[("mean", slice(None), "z"), "mean"] for fit in (here, there)]
    assert_allclose(slope[1], -slope[0], atol=0.03)


# -- rows ----------------------------------------------------------------------------------------


def test_the_size_of_blocks_changes_rounding_only(regimes):
    model = bvb.DensityRegression(FORMULA, regimes, n_components=2)
    (block,) = model.source.blocks
    whole, pieces = ascent_of(model), ascent_of(model, InMemorySource(tuple(block.split(17))))
    assert whole.bound == pytest.approx(pieces.bound, rel=1e-10)


def test_training_rows_come_in_blocks_of_the_stated_size(regimes):
    many = regimes.sample(2 * BLOCK_ROWS + 5, replace=True, random_state=1, ignore_index=True)
    model = bvb.DensityRegression(FORMULA, many)
    assert [block.n_rows for block in model.source.blocks] == [BLOCK_ROWS, BLOCK_ROWS, 5]
    whole = Block.joined(model.source.blocks)
    assert_array_equal(whole.response, model.block(model.rows(response=True)).response)
    assert all(block.response.flags.c_contiguous for block in model.source.blocks)


def test_weights_come_as_a_column_or_as_numbers(regimes):
    weights = np.arange(len(regimes)) % 4 + 0.25
    by_array = fit_of(regimes, weights=weights)
    by_list = fit_of(regimes, weights=weights.tolist())
    by_column = fit_of(regimes.assign(w=weights), weights="w")
    dotted = fit_of(regimes.assign(w=weights), weights="w", formula="y ~ . | gating(x)")
    assert by_array.elbo == by_list.elbo == by_column.elbo == dotted.elbo
    assert "w" not in dotted.model.design.terms["mean"]
    assert by_array.elbo != pytest.approx(fit_of(regimes).elbo, abs=1.0)
    assert f"total weight {weights.sum():g}" in str(by_array)
    share = by_array.components()["share"]
    rows = by_array.idata  # every group is there for weighted rows too
    assert share.sum() == pytest.approx(1.0)
    assert rows is not None


def test_zero_weight_leaves_a_row_out(regimes):
    weights = np.ones(len(regimes))
    weights[regimes["y"] > 0] = 0.0
    fit = fit_of(regimes, weights=weights, n_components=1, formula="y ~ x + z")
    alone = fit_of(regimes[regimes["y"] <= 0], n_components=1, formula="y ~ x + z")
    wide = {"coefficient_sd": 100.0, "noise_rate": 1e-4}
    fit, alone = (
        fit_of(data, weights=w, n_components=1, formula="y ~ x + z", priors=bvb.Priors(**wide))
        for data, w in ((regimes, weights), (regimes[regimes["y"] <= 0], None))
    )
    assert_allclose(fit.predict(regimes), alone.predict(regimes), atol=0.01)


def test_rows_with_missing_values_are_left_out_and_come_back_as_nan(regimes):
    holes = regimes.copy()
    holes.loc[[3, 50], "x"] = np.nan
    holes.loc[7, "y"] = np.nan
    weights = np.arange(len(regimes)) + 1.0
    fit = fit_of(holes, weights=weights)
    assert fit.elbo == fit_of(holes.dropna(), weights=weights[holes.notna().all(axis=1)]).elbo
    assert fit.model.design.n_missing == 3
    assert "147 rows (3 dropped: missing values of `x` in 2, `y` in 1)" in str(fit)
    assert len(fit.predict()) == 147
    with pytest.warns(UserWarning, match="2 of 150 rows lack a value: `x` in 2"):
        predicted = fit.predict(holes)
    assert predicted.index.equals(holes.index)
    assert predicted.index[predicted.isna()].tolist() == [3, 50]
    density = fit.log_density(holes)
    assert density.index[density.isna()].tolist() == [3, 7, 50]
    assert fit.predict(holes, "quantile", missing="keep").isna().any(axis=1).sum() == 2


# -- seeds and threads ---------------------------------------------------------------------------


def same_bits(one, other):
    assert one.elbo == other.elbo
    assert_array_equal(one.stats.to_vector(), other.stats.to_vector())
    assert set(one.draws) == set(other.draws)
    for name, values in one.draws.items():
        assert_array_equal(values, other.draws[name])
    pd.testing.assert_frame_equal(one.summary(), other.summary())


def test_threads_change_no_bit(regimes):
    many = regimes.sample(2 * BLOCK_ROWS + 5, replace=True, random_state=1, ignore_index=True)
    noise = np.random.default_rng(2).normal(size=len(many))
    many["y"] += 0.1 * noise
    same_bits(*(fit_of(many, n_jobs=n, draws=25) for n in (1, 2)))


def test_a_fresh_seed_is_kept_and_makes_the_same_fit_again(regimes):
    model = bvb.DensityRegression(FORMULA, regimes, n_components=2)
    fit = model.fit(restarts=1, draws=30)
    same_bits(fit, model.fit(restarts=1, draws=30, seed=fit.seed))
    assert model.fit(restarts=1, draws=30).seed != fit.seed


def test_progress_hears_of_every_restart(regimes):
    heard = []
    bvb.DensityRegression(FORMULA, regimes, n_components=2).fit(
        seed=1, restarts=3, draws=30, progress=lambda *news: heard.append(news)
    )
    assert {run for run, _, _ in heard} == {0, 1, 2}
    bounds = [bound for run, _, bound in heard if run == 1]
    assert bounds == sorted(bounds)
