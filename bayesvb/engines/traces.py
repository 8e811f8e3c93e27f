"""Records of a search in the data's units: the table of restarts and their traces."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.engines.base import EngineResult
from bayesvb.engines.restarts import RestartSearch

if TYPE_CHECKING:
    import pandas as pd


def restart_table(found: RestartSearch, units: float, *, best: int) -> pd.DataFrame:
    """One row per restart; ``score`` is there if it is not the bound, ``prior`` if they differ.

    A run without a maximum has the score minus infinity; if all are like that there is no score.

    Parameters
    ----------
    found : RestartSearch
    units : float
        What the bound loses on the way to the data's units, per unit of case weight.
    best : int
        Number of the run that is kept, or counts most; from 0.
    """
    import pandas as pd

    records = [
        {
            "start": run.start,
            "elbo": run.ascent.bound - units * run.total_weight,
            "n_iter": run.ascent.n_iter,
            "converged": run.ascent.converged,
            "rows": run.n_rows,
            "seconds": run.seconds,
            "best": number == best,
        }
        for number, run in enumerate(found.runs)
    ]
    index = pd.RangeIndex(1, len(records) + 1, name="restart")
    table = pd.DataFrame(records, index=index)
    if any(run.prior for run in found.runs):
        table.insert(1, "prior", [run.prior for run in found.runs])
    bound_gap = np.array([run.score - run.ascent.bound for run in found.runs])
    if bound_gap.any() and bound_gap.max() > -np.inf:
        table.insert(list(table).index("elbo") + 1, "score", table["elbo"] + bound_gap)
    return table


def traces(
    found: RestartSearch, units: float, total_weight: float, *, best: int, final: EngineResult[Any]
) -> dict[int | str, Float[np.ndarray, " sweeps"]]:
    """Bounds by restart, and of the final run where the restarts saw a sample only."""
    result: dict[int | str, Float[np.ndarray, " sweeps"]] = {
        number: run.ascent.trace - units * run.total_weight
        for number, run in enumerate(found.runs, start=1)
    }
    if final.trace is not found.runs[best].ascent.trace:
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
    >>> number_before(pd.DataFrame({"start": ["5 components, pruned"]}))
    5
    """
    found = re.fullmatch(r"(\d+) components, pruned", str(restarts["start"].iloc[-1]))
    return None if found is None else int(found[1])
