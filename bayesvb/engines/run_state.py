"""The state of a run as arrays by name, and back to the bit."""

from __future__ import annotations

import json
from typing import Any

import numpy as np

from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import EngineResult, Iterate
from bayesvb.engines.run_log import Arrays


def of_stats(stats: SufficientStats, name: str) -> dict[str, Any]:
    """Arrays of statistics by name."""
    return {f"{name}.{leaf}": np.asarray(values) for leaf, values in stats.leaves()}


def stats_of(blank: Any, arrays: Arrays, name: str) -> Any:
    """Statistics of the shapes of others, with these numbers."""
    return blank.with_leaves(
        {leaf: arrays[f"{name}.{leaf}"].reshape(np.shape(own)) for leaf, own in blank.leaves()}
    )


def of_iterate(point: Iterate[Any], name: str) -> dict[str, Any]:
    """Arrays of a point by name."""
    own = of_stats(point.stats, f"{name}.stats") | of_stats(point.following, f"{name}.following")
    return own | {f"{name}.bound": np.array(point.bound)}


def iterate_of(blank: Any, arrays: Arrays, name: str) -> Iterate[Any]:
    """The point with these numbers."""
    here, ahead = (stats_of(blank, arrays, f"{name}.{one}") for one in ("stats", "following"))
    return Iterate(here, float(arrays[f"{name}.bound"]), ahead)


GENERATOR = "generator"


def of_generator(rng: np.random.Generator) -> dict[str, Any]:
    """The state of a generator of random numbers, as an array by name."""
    text = json.dumps(rng.bit_generator.state)
    return {GENERATOR: np.frombuffer(text.encode(), dtype=np.uint8)}


def generator_at(rng: np.random.Generator, arrays: Arrays) -> np.random.Generator:
    """The generator in the state that is known of it; as it is if none is."""
    if GENERATOR in arrays:
        rng.bit_generator.state = json.loads(arrays[GENERATOR].tobytes())
    return rng


def of_result(result: EngineResult[Any]) -> dict[str, Any]:
    """Arrays of a run that has ended."""
    ends = {"ended": True, "n_iter": result.n_iter, "converged": result.converged}
    arrays = {name: np.array(value) for name, value in ends.items()}
    return {"trace": result.trace, **arrays, **of_stats(result.stats, "stats")}


def result_of(blank: Any, arrays: Arrays) -> EngineResult[Any] | None:
    """The result of a run that has ended; None if it has not."""
    if "ended" not in arrays:
        return None
    stats = stats_of(blank, arrays, "stats")
    n_iter, converged = int(arrays["n_iter"]), bool(arrays["converged"])
    return EngineResult(stats, np.array(arrays["trace"]), n_iter, converged)
