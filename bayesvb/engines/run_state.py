"""The state of a run as arrays by name, and back to the bit."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np

from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import EngineResult, Iterate, StatsT
from bayesvb.engines.run_log import Arrays
from bayesvb.errors import DataError
from bayesvb.variational.model import ModelOf


class StateError(DataError):
    """A state that was written down lacks something, or is of another run."""


@contextmanager
def state_read() -> Iterator[None]:
    """Whatever is wrong with a state that is read inside, as one error.

    Raises
    ------
    StateError
        With the name of an absent entry, one of another shape, or one that is not a number.
    """
    try:
        yield
    except LookupError as error:
        raise StateError(f"a run in it has no {error}") from error
    except (TypeError, ValueError, OverflowError) as error:
        said = error.why if isinstance(error, DataError) else str(error)
        raise StateError(f"a run in it cannot be read: {said}") from error


def finite(arrays: Arrays, name: str) -> np.ndarray:
    """The array of this name.

    Raises
    ------
    ValueError
        If it is not finite.
    """
    if not np.isfinite(arrays[name]).all():
        raise ValueError(f"{name!r} is not finite")
    return arrays[name]


def of_stats(stats: SufficientStats, name: str) -> dict[str, np.ndarray]:
    """Arrays of statistics by name."""
    return {f"{name}.{leaf}": np.asarray(values) for leaf, values in stats.leaves()}


def stats_of(blank: StatsT, arrays: Arrays, name: str) -> StatsT:
    """Statistics of the shapes of others, with these numbers.

    Raises
    ------
    KeyError, ValueError
        If there are none, or they are of other shapes or not finite.
    """
    leaves = {leaf: finite(arrays, f"{name}.{leaf}") for leaf, _ in blank.leaves()}
    return blank.with_leaves(
        {leaf: leaves[leaf].reshape(np.shape(leaf_values)) for leaf, leaf_values in blank.leaves()}
    )


def of_iterate(point: Iterate[StatsT], name: str) -> dict[str, np.ndarray]:
    """Arrays of a point by name."""
    arrays = of_stats(point.stats, f"{name}.stats") | of_stats(point.following, f"{name}.following")
    return arrays | {f"{name}.bound": np.array(point.bound)}


def iterate_of(blank: StatsT, arrays: Arrays, name: str) -> Iterate[StatsT]:
    """The point with these numbers."""
    here, ahead = (stats_of(blank, arrays, f"{name}.{one}") for one in ("stats", "following"))
    return Iterate(here, float(finite(arrays, f"{name}.bound")), ahead)


GENERATOR = "generator"


def of_generator(rng: np.random.Generator) -> dict[str, np.ndarray]:
    """The state of a generator of random numbers, as an array by name."""
    text = json.dumps(rng.bit_generator.state)
    return {GENERATOR: np.frombuffer(text.encode(), dtype=np.uint8)}


def generator_at(rng: np.random.Generator, arrays: Arrays) -> np.random.Generator:
    """The generator in the state that is known of it; as it is if none is."""
    if arrays:
        rng.bit_generator.state = json.loads(arrays[GENERATOR].tobytes())
    return rng


def of_result(result: EngineResult[SufficientStats]) -> dict[str, np.ndarray]:
    """Arrays of a run that has ended."""
    ends = {"ended": True, "n_iter": result.n_iter, "converged": result.converged}
    arrays = {name: np.array(value) for name, value in ends.items()}
    return {"trace": result.trace, **arrays, **of_stats(result.stats, "stats")}


def result_of(model: ModelOf[StatsT], blank: StatsT, arrays: Arrays) -> EngineResult[StatsT] | None:
    """The result of a run that has ended; None if it has not.

    Raises
    ------
    numpy.linalg.LinAlgError
        If its statistics have no posterior: of a run that is not the best nothing else shows it.
    """
    if "ended" not in arrays:
        return None
    with state_read():
        stats = stats_of(blank, arrays, "stats")
        n_iter, converged = int(finite(arrays, "n_iter")), bool(finite(arrays, "converged"))
        trace = trace_of(arrays)
    model.update(stats)
    return EngineResult(stats, np.array(trace), n_iter, converged)


def trace_of(arrays: Arrays) -> list[float]:
    """ELBO at each iteration of a stored run.

    Raises
    ------
    KeyError, ValueError
        If none is stored.
    """
    trace = finite(arrays, "trace")
    if trace.ndim != 1 or not trace.size:
        raise ValueError("'trace' holds no bounds")
    return list(trace.tolist())
