"""Full fits side by side."""

from pathlib import Path

import numpy as np
import pandas as pd

from bayesvb.evaluation.elpd import Elpd
from bayesvb.interactive.history import History, Record
from bayesvb.interactive.request import Request

GAPS = np.array([0.5, 1.0, 1.5, 3.0])


def record(key, densities, response="y", labels=None):
    return Record(
        request=Request(formula=key),
        key=key,
        response=response,
        elpd=Elpd(kind="loo", pointwise=np.asarray(densities, dtype=float), p=1.0, labels=labels),
        verdict="ok",
        path=Path(key),
    )


def test_fits_are_compared_with_the_best_row_by_row():
    history = History().with_record(record("a", -GAPS)).with_record(record("b", 0 * GAPS))
    best, other = history.rows()
    assert (best.record.key, best.difference) == ("b", 0.0)
    assert other.difference == -GAPS.sum()
    np.testing.assert_allclose(other.error, 2.0 * GAPS.std(ddof=1))


def test_another_spelling_of_a_model_takes_the_place_of_the_first():
    history = History().with_record(record("a", GAPS)).with_record(record("a", 2 * GAPS))
    (row,) = history.rows()
    assert row.record.elpd.elpd == 2 * GAPS.sum()
    assert history.without("a").rows() == []


def test_fits_of_other_rows_or_responses_are_not_compared():
    history = History()
    for other in (
        record("few", GAPS[:3]),
        record("log", GAPS, response="log(y)"),
        record("order", GAPS, labels=pd.Index([3, 2, 1, 0])),
        record("last", GAPS, labels=pd.RangeIndex(4)),
    ):
        history = history.with_record(other)
    rows = history.rows()
    assert rows[0].record.key == "last"
    assert [row.difference for row in rows[1:]] == [None] * 3
