"""Rows left out of a network: ascents that go on without them, or ascents made anew.

    python tests/benchmarks/bench_held_out_anew.py

Sixteen starts each. For every start the density of the rows left out is estimated by the ascent
continued without each fifth (``continued``, what stacks and ``fit.loo()`` go by) and by five
ascents from the same start without it (``anew``, cross-validation of the start). ``correlation`` is
over starts, of the estimates with the density of new rows under the fit to all rows; ``bias`` their
mean difference; ``stack`` the density of new rows under the stack with the weights of these
estimates, beside ``average``, that of all starts. Three training sets each. Results:
docs/benchmarks/held_out_anew.csv.
"""

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
from bench_network_sizes import STARTS, splits
from scipy.special import logsumexp
from tables import keep

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi, cavi
from bayesvb.engines.folds import TOLERANCE, Ascended, by_fold, folds, without_folds
from bayesvb.engines.partitions import SAMPLE_ROWS
from bayesvb.engines.partitions import STARTS as DIVISIONS
from bayesvb.engines.restarts import RestartSearch, search
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.numerics.streams import Streams
from bayesvb.results.stacking import distinct, kept

SETS = (("vehicle", 160, 20), ("pinwheel", 200, 10), ("pinwheel", 400, 10))
"""Data, training rows, experts."""

DATA_SEEDS, PASSES = 3, 2000


def anew(
    model: bvb.ConditionalMixtureNetwork,
    found: RestartSearch,
    number: int,
    streams: Streams,
) -> list[Any]:
    """Statistics of one ascent for each fold, from the division of the rows that the run had."""
    core, rng = found.runs[number].model, streams.start(number)
    sample = model.source.sample(SAMPLE_ROWS, rng)
    start = DIVISIONS[found.runs[number].start](sample, core.n_components, rng)
    each = []
    for _, rest in folds(model.source):
        stats = rest.map_reduce(
            lambda block: core.partition_stats(block, start.responsibilities(block))
        )
        tol = TOLERANCE * rest.total_weight
        each.append(cavi(core, rest, core.first_stats(stats), tol=tol, max_iter=PASSES).stats)
    return each


def estimates(
    model: bvb.ConditionalMixtureNetwork, found: RestartSearch, ascents: Callable[[int], Any]
) -> np.ndarray:
    """Log density of every row left out, for every run."""

    def of_run(number: int) -> np.ndarray:
        core = found.runs[number].model
        return by_fold(
            model.source,
            ascents(number),
            lambda stats, rows: core.log_predictive(core.update(stats), model.source.take(rows)),
        )

    return np.stack([of_run(number) for number in range(len(found.runs))])


def records(train: pd.DataFrame, test: pd.DataFrame, seed: int, experts: int) -> list[dict]:
    """Both ways of estimating, on one training set."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=experts)
    streams = Streams(seed, STARTS)
    found = search(
        model.core,
        model.source,
        Cavi(),
        restarts=STARTS,
        budget=Budget(),
        streams=streams,
        rough=True,
    )
    block = model.block(model.rows(test, response=True))
    new = np.stack(
        [run.model.log_predictive(run.model.update(run.ascent.stats), block) for run in found.runs]
    )
    ways = {
        "continued": lambda n: without_folds([_ended(found, n, streams)], model.source, Cavi())[0],
        "anew": lambda n: anew(model, found, n, streams),
    }
    return [{"way": way, **judged(model, found, new, ascents)} for way, ascents in ways.items()]


def _ended(found: RestartSearch, number: int, streams: Streams) -> Ascended:
    """Where a run ended."""
    run = found.runs[number]
    return Ascended(run.model, run.ascent.stats, streams.branch("restart", number + 1))


def judged(
    model: bvb.ConditionalMixtureNetwork,
    found: RestartSearch,
    new: np.ndarray,
    ascents: Callable[[int], Any],
) -> dict[str, float]:
    """How well estimates tell the starts apart, and what the stack that goes by them is worth."""
    began = time.perf_counter()
    left_out = estimates(model, found, ascents)
    seconds = time.perf_counter() - began
    numbers = distinct([run.score for run in found.runs], left_out)
    weights = kept(stacking_weights(left_out[numbers], None))
    means = left_out.mean(axis=1), new.mean(axis=1)
    return {
        "correlation": np.corrcoef(*means)[0, 1],
        "bias": np.mean(means[0] - means[1]),
        "stack": logsumexp(new[numbers], axis=0, b=weights[:, None]).mean(),
        "average": logsumexp(new, axis=0, b=1.0 / len(new)).mean(),
        "seconds": seconds,
    }


def main() -> None:
    """A line for each training set and way."""
    table = []
    for name, size, experts in SETS:
        for rows, seed, train, test in splits(name):
            if rows == size and seed < DATA_SEEDS:
                told = {"data": name, "rows": size, "seed": seed}
                table += [told | one for one in records(train, test, seed, experts)]
    keep(pd.DataFrame(table), "held_out_anew")


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        main()
