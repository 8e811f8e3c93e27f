"""Linear response and rows left out of wide tables: changes of expectations, closed or differences.

``bench_wide_tables.py [ROWSxCOLUMNSxCOMPONENTS ...]``. Both ways in turn, in one process, of one
fit; seconds of the processor, the best of three.
"""

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.results.leave_one_out import Fitted, leave_one_out
from bayesvb.sensitivity import covariance, low_rank, operator

DESIGNS = ("2000x10x3", "500x20x4", "300x60x3", "400x40x5")
WAYS = ("differences", "closed")


def table(n_rows: int, n_columns: int) -> pd.DataFrame:
    """Two lines, each along one of the columns."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n_rows, n_columns))
    first = rng.uniform(size=n_rows) < 0.5
    y = np.where(first, x[:, 0], 3.0 - x[:, 1]) + 0.5 * rng.normal(size=n_rows)
    return pd.DataFrame(x, columns=[f"x{i}" for i in range(n_columns)]).assign(y=y)


@contextmanager
def without_closed_form() -> Iterator[None]:
    """Expectations whose changes are differences, as where there is no closed form."""
    modules = (operator, covariance, low_rank)
    known = operator.expectations_along
    try:
        for module in modules:
            module.expectations_along = lambda *_: None  # type: ignore[attr-defined]
        yield
    finally:
        for module in modules:
            module.expectations_along = known  # type: ignore[attr-defined]


def seconds(function: Callable[[], object], times: int = 3) -> tuple[float, object]:
    """The least of some times, and what was found."""
    spent = []
    for _ in range(times):
        began = time.process_time()
        found = function()
        spent.append(time.process_time() - began)
    return min(spent), found


def measured(design: str) -> dict[str, object]:
    """One row of the table."""
    n_rows, n_columns, n_components = (int(part) for part in design.split("x"))
    data = table(n_rows, n_columns)
    model = bvb.DensityRegression("y ~ . | x0 + x1", data, n_components=n_components)
    fit = model.fit(seed=1, restarts=1, covariance="mean-field")
    rows, row = np.arange(n_rows), {}

    def response() -> object:
        return covariance.linear_response(fit.core, model.source, fit.stats)

    def left_out() -> object:
        return leave_one_out(replace(Fitted.of(fit)), rows, row_passes=0.0)

    found = {}
    for way in WAYS:
        if way == "closed":
            row[f"response, {way}"], one = seconds(response)
            row[f"rows, {way}"], other = seconds(left_out)
        else:
            with without_closed_form():
                row[f"response, {way}"], one = seconds(response)
                row[f"rows, {way}"], other = seconds(left_out)
        found[way] = one.covariance, other.log_density
    ways = [np.asarray(each) for each in zip(*(found[way] for way in WAYS), strict=True)]
    row["response, ratio"] = row["response, differences"] / row["response, closed"]
    row["rows, ratio"] = row["rows, differences"] / row["rows, closed"]
    row["covariances differ"] = np.abs(np.diff(ways[0], axis=0)).max()
    row["densities differ"] = np.abs(np.diff(ways[1], axis=0)).max()
    return {"design": design, "statistics": len(fit.stats.to_vector()), **row}


def main() -> None:
    """Every design that was asked for."""
    warnings.simplefilter("ignore")
    keep(pd.DataFrame([measured(design) for design in sys.argv[1:] or DESIGNS]), "wide_tables")


if __name__ == "__main__":
    main()
