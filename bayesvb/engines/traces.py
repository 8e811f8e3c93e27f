"""Records of a search in the data's units: the table of restarts and their traces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import EngineResult
from bayesvb.engines.restarts import RestartSearch

if TYPE_CHECKING:
    import pandas as pd


def restart_table(search: RestartSearch, units: float, *, best: int) -> pd.DataFrame:
    """One row per restart; ``score`` is there if it is not the bound, ``prior`` if they differ.

    A run without a maximum has the score minus infinity; if all have none the score is missing.

    Parameters
    ----------
    search : RestartSearch
    units : float
        Loss of the ELBO by conversion to the units of the data, per unit of case weight.
    best : int
        Number of the run that is kept, or counts most; from 0.
    """
    import pandas as pd

    from bayesvb.data.former_columns import FormerColumns

    runs = search.runs
    columns: dict[str, list[object] | Float[np.ndarray, " runs"]] = {
        "initialisation": [run.start for run in runs]
    }
    if any(run.prior for run in runs):
        columns["prior"] = [run.prior for run in runs]
    bound = np.array([run.ascent.bound - units * run.total_weight for run in runs])
    columns["elbo"] = bound
    bound_gap = np.array([run.score - run.ascent.bound for run in runs])
    if bound_gap.any() and bound_gap.max() > -np.inf:
        columns["score"] = bound + bound_gap
    columns["n_iter"] = [run.ascent.n_iter for run in runs]
    columns["converged"] = [run.ascent.converged for run in runs]
    columns["rows"] = [run.n_rows for run in runs]
    columns["seconds"] = [run.seconds for run in runs]
    columns["best"] = [number == best for number in range(len(runs))]
    return FormerColumns(columns, index=pd.RangeIndex(1, len(runs) + 1, name="restart"))


def traces(
    search: RestartSearch,
    units: float,
    total_weight: float,
    *,
    best: int,
    final: EngineResult[SufficientStats],
) -> dict[int | str, Float[np.ndarray, " sweeps"]]:
    """Bounds by restart, and of the final run where the restarts saw a sample only."""
    result: dict[int | str, Float[np.ndarray, " sweeps"]] = {
        number: run.ascent.trace - units * run.total_weight
        for number, run in enumerate(search.runs, start=1)
    }
    if final.trace is not search.runs[best].ascent.trace:
        result["final"] = final.trace - units * total_weight
    return result


def trace_series(
    traces: Mapping[int | str, Float[np.ndarray, " sweeps"]], restart: int
) -> pd.Series:
    """Bounds of the run that is kept, by sweep."""
    import pandas as pd

    trace = traces.get("final", traces[restart])
    return pd.Series(trace, index=pd.RangeIndex(1, len(trace) + 1, name="sweep"), name="elbo")


def number_before(restarts: pd.DataFrame) -> int | None:
    """Number of components before any were pruned; None if none were.

    Examples
    --------
    >>> import pandas as pd
    >>> number_before(pd.DataFrame({"initialisation": ["5 components, pruned"]}))
    5
    """
    match = re.fullmatch(r"(\d+) components, pruned", str(restarts["initialisation"].iloc[-1]))
    return None if match is None else int(match[1])
