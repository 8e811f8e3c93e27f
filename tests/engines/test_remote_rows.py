"""An ascent over rows elsewhere takes the way of one over rows that are here."""

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.engines.cavi import cavi
from bayesvb.engines.linear_response import linear_response
from bayesvb.engines.remote_rows import (
    SCREENED,
    RowsElsewhere,
    Unanswered,
    as_row,
    as_step,
    fit_elsewhere,
)


def answered(source, core, start, **options):
    """What an ascent finds that begins anew each time that it lacks a sum."""
    told, rounds = [[], []], 0
    size = (source.n_rows, source.total_weight)
    while True:
        try:
            return fit_elsewhere(core, told, [start], size=size, **options), rounds
        except Unanswered as asked:
            for owner, step in zip(
                asked.owners, source.map_reduce_all(asked.functions), strict=True
            ):
                told[owner].append(step)
            rounds += 1


@pytest.mark.heavy
def test_the_way_is_the_same_to_the_bit():
    data = bvb.datasets.load("faithful")
    model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2)
    fit = model.fit(seed=1, restarts=1, tol=10.0, covariance="mean-field")
    core, source = fit.core, model.source
    found, rounds = answered(source, core, fit.stats, tol=1e-6, max_iter=100, with_response=True)
    first = cavi(core, source, fit.stats, tol=1e-6, max_iter=SCREENED)
    here = cavi(core, source, first.stats, tol=1e-6, max_iter=100)
    assert np.array_equal(found.ascent.trace, [*first.trace, *here.trace[1:]])
    ordered, stats = core.permuted(found.order, here.stats)
    response = linear_response(ordered, source, stats)
    assert np.array_equal(found.response.covariance, response.covariance)
    assert rounds < first.n_iter + here.n_iter + 15


def test_rows_elsewhere_are_only_summed():
    source = RowsElsewhere(iter([]), 3, 3.0)
    assert (source.n_rows, source.total_weight) == (3, 3.0)
    with pytest.raises(NotImplementedError):
        source.whole()


def test_sums_become_numbers_and_sums_again():
    model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    core, block = model.core, model.source.take(np.arange(5))
    blank = core.first_stats(core.partition_stats(block, np.full((5, 5), 0.2)))
    step = core.e_step(core.update(blank), block)
    back = as_step(as_row(step), step.stats)
    assert back.bound == step.bound
    assert np.array_equal(back.stats.to_vector(), step.stats.to_vector())
