"""An ascent over rows elsewhere takes the way of one over rows that are here."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.engines.remote_rows import (
    SCREENED,
    RemoteRun,
    RowsElsewhere,
    Unanswered,
    fit_elsewhere,
    of_row,
)
from bayesvb.errors import DataError
from bayesvb.sensitivity import covariance as engine
from bayesvb.sensitivity.covariance import linear_response


def by_size(core, stats):
    """The largest component first."""
    order = tuple(np.argsort(-stats.experts.weight, kind="stable").tolist())
    return *core.permuted(order, stats), order


def answered(source, core, start, **options):
    """What an ascent finds that goes on each time from what it had kept."""
    known, rounds = [({}, []), ({}, [])], 0
    nobody = replace(source.take(np.arange(1)), weight=np.zeros(1))
    size = (nobody, source.n_rows, source.total_weight)
    while True:
        runs = [RemoteRun(state, np.array(sums)) for state, sums in known]
        elsewhere = [RowsElsewhere(run, *size) for run in runs]
        try:
            return fit_elsewhere(core, elsewhere, [start], ordered=by_size, **options), rounds
        except Unanswered as asked:
            assert len(known[0][1]) <= 2  # of the ascent that no linear response follows
            known = [
                (run.reached, sums[run.seen :]) for run, (_, sums) in zip(runs, known, strict=True)
            ]
            steps = source.map_reduce_all(asked.functions)
            for owner, step in zip(asked.owners, steps, strict=True):
                known[owner][1].append(step.to_vector())
            rounds += 1


@pytest.mark.heavy
def test_the_way_is_the_same_to_the_bit(monkeypatch):
    data = bvb.datasets.load("faithful")
    model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2)
    fit = model.fit(seed=1, restarts=1, tol=10.0, covariance="mean-field")
    core, source = fit.core, model.source
    found, rounds = answered(source, core, fit.stats, tol=1e-6, max_iter=100, with_response=True)
    first = cavi(core, source, fit.stats, tol=1e-6, max_iter=SCREENED)
    here = cavi(core, source, first.stats, tol=1e-6, max_iter=100 - SCREENED)
    assert np.array_equal(found.ascent.trace, [*first.trace, *here.trace[1:]])
    ordered, stats = core.permuted(found.order, here.stats)
    by_rows = linear_response(ordered, source, stats)
    np.testing.assert_allclose(found.response.covariance, by_rows.covariance, atol=1e-3)
    monkeypatch.setattr(engine, "_by_row", lambda *_: None)
    response = linear_response(ordered, source, stats)
    assert np.array_equal(found.response.covariance, response.covariance)
    assert rounds < first.n_iter + here.n_iter + 15


@pytest.mark.heavy
def test_groups_that_are_columns_are_not_taken_apart(rng):
    rows = pd.DataFrame({"x": rng.normal(size=120), "g": np.arange(120) % 10})
    rows["y"] = rows["x"] + 0.5 * (rows["g"] % 3) + rng.normal(size=120)
    model = bvb.DensityRegression("y ~ x + (1 | g) | 1", rows, n_components=1)
    fit = model.fit(seed=1, restarts=1)
    options = {"tol": 1e-8, "max_iter": 100, "with_response": True}
    found, _ = answered(model.source, fit.core, fit.stats, **options)
    here = linear_response(found.model, model.source, found.stats).covariance
    np.testing.assert_allclose(found.response.covariance, here, atol=1e-4 * np.abs(here).max())


def test_rows_elsewhere_are_only_summed():
    rows = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful")).source
    source = RowsElsewhere(RemoteRun({}, np.empty((0, 3))), rows.take(np.arange(1)), 3, 3.0)
    assert (source.n_rows, source.total_weight) == (3, 3.0)
    with pytest.raises(NotImplementedError):
        source.whole()


def test_sums_become_numbers_and_sums_again():
    model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    core, block = model.core, model.source.take(np.arange(5))
    blank = core.first_stats(core.partition_stats(block, np.full((5, 5), 0.2)))
    step = core.e_step(core.update(blank), block)
    back = of_row(step.to_vector(), step)
    with pytest.raises(DataError, match="needs"):
        of_row(step.to_vector()[:-1], step)
    assert back.bound == step.bound
    assert np.array_equal(back.stats.to_vector(), step.stats.to_vector())
