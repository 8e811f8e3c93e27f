"""Runs over the rows of several sites, as arrays that are sent between them.

A site continues from the state of each run in the previous round, so that a round costs one
iteration, however many there have been.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from jaxtyping import Float

from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.remote_rows import RemoteRun
from bayesvb.errors import DataError

Arrays = Mapping[str, np.ndarray]

RUN = "run"
"""Prefix of the names of arrays with the state of a run, before its number."""


def states(arrays: Arrays) -> dict[str, np.ndarray]:
    """Arrays that hold states of runs.

    Examples
    --------
    >>> list(states({"run0.trace": np.zeros(2), "sums": np.zeros((2, 3))}))
    ['run0.trace']
    """
    return {name: values for name, values in arrays.items() if place_of(name) is not None}


def place_of(name: str) -> tuple[int, str] | None:
    """Number of a run, and the entry of its state that an array holds; None for other arrays."""
    head, dot, entry = name.partition(".")
    number = head.removeprefix(RUN)
    if not dot or number == head or not (number.isascii() and number.isdigit()):
        return None
    return int(number), entry


def runs_of(known: Arrays) -> list[RemoteRun]:
    """All runs, one from each start and one that continues from the best, with their states."""
    sums, owners = known.get("sums", np.empty((0, 0))), known.get("owners", np.empty(0))
    runs: list[dict[str, np.ndarray]] = [{} for _ in range(len(known["starts"]) + 1)]
    for name, values in known.items():
        place = place_of(name)
        if place is not None:
            runs[place[0]][place[1]] = values
    return [RemoteRun(state, sums[owners == number]) for number, state in enumerate(runs)]


def arrays_of(runs: Sequence[RemoteRun]) -> dict[str, np.ndarray]:
    """States of the runs, and how many of the sums reported to each were used."""
    arrays: dict[str, np.ndarray] = {"seen": np.array([float(run.seen) for run in runs])}
    for number, run in enumerate(runs):
        for entry, values in run.reached.items():
            arrays[f"{RUN}{number}.{entry}"] = np.asarray(values, dtype=float)
    return arrays


def told_on(
    known: Arrays, answer: Arrays, sums: Float[np.ndarray, "sums entries"]
) -> dict[str, np.ndarray]:
    """All that is known after a round: the states, and the sums that no state has seen yet.

    Parameters
    ----------
    known : mapping of str to ndarray
        Before it.
    answer : mapping of str to ndarray
        Sums of a site; the states are shared by all.
    sums : ndarray, shape (sums, entries)
        Over the rows of all sites.
    """
    before, owners = known.get("sums", np.empty((0, 0))), known.get("owners", np.empty(0))
    behind = np.zeros(len(owners), dtype=bool)
    for number, seen in enumerate(answer["seen"].astype(int).tolist()):
        behind[np.flatnonzero(owners == number)[:seen]] = True
    width = max(before.shape[1], sums.shape[1])
    kept = [_widened(before[~behind], width), _widened(sums, width)]
    old = states(known)
    return {
        **{name: values for name, values in known.items() if name not in old},
        **states(answer),
        "sums": np.concatenate(kept),
        "owners": np.concatenate([owners[~behind], answer["owners"]]),
        "passes": known.get("passes", np.zeros(1)) + len(sums),
    }


def _widened(rows: np.ndarray, width: int) -> np.ndarray:
    """Rows padded with zeros: sums of one kind have more entries than sums of another."""
    return np.pad(rows, ((0, 0), (0, width - rows.shape[1])))


PARTS = ("stats", "following")
"""Statistics of a point of a run."""

NUMBERS = ("n_iter", "longest", "share", "calm")
MEMORY = ("sweeps", "cycles", "to_go", "trace")
"""Arrays of any length in the state of a run that continues."""

Shapes = dict[str, tuple[int, ...] | None]


def check_run(state: Arrays, start: SufficientStats) -> None:
    """Raise if the state of a run is not valid.

    Parameters
    ----------
    state : mapping of str to ndarray
        Empty at its beginning.
    start : SufficientStats
        Initial statistics.

    Raises
    ------
    DataError
        With the name of an absent array, or of one with another shape.
    """
    needed = _shapes(state, {leaf: np.shape(values) for leaf, values in start.leaves()})
    for name in sorted(needed.keys() ^ state.keys()):
        raise DataError(f"{name!r} of a run is {'absent' if name in needed else 'unknown'}")
    for name, shape in needed.items():
        result = state[name].shape
        wrong = result != shape if shape is not None else len(result) != 1
        if wrong or (name == "trace" and not state[name].size):
            raise DataError(f"{name!r} of a run has the shape {result}")


def _shapes(state: Arrays, leaves: Mapping[str, tuple[int, ...]]) -> Shapes:
    """Shapes of all arrays of a state; None of those that may have any length."""
    if not state:
        return {}
    if "ended" in state:
        ends: Shapes = {"ended": (), "n_iter": (), "converged": (), "trace": None}
        return ends | {f"stats.{leaf}": shape for leaf, shape in leaves.items()}
    shapes: Shapes = {**dict.fromkeys(NUMBERS, ()), **dict.fromkeys(MEMORY)}
    points = ["point", "before"] if "before.bound" in state else ["point"]
    for point in points:
        shapes[f"{point}.bound"] = ()
        for part in PARTS:
            shapes |= {f"{point}.{part}.{leaf}": shape for leaf, shape in leaves.items()}
    return shapes


def check_starts(
    starts: Float[np.ndarray, "starts entries"], runs: Sequence[RemoteRun], blank: SufficientStats
) -> None:
    """Refuse starts and states of another model than that whose statistics these are.

    Raises
    ------
    DataError
        Naming what does not fit.
    """
    needed = blank.to_vector().size
    if starts.shape[1] != needed:
        raise DataError(
            f"agreed= has {starts.shape[1]} initial values, but this model needs {needed}",
            hint="use the same model and the same version of bayesvb at all sites",
        )
    for number, run in enumerate(runs):
        try:
            check_run(run.known, blank)
        except DataError as error:
            raise DataError(
                f"agreed= belongs to another model, or was changed: run {number}, {error.why}",
                hint="begin the rounds again",
            ) from error
