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
from bayesvb.blocks import Block
from bayesvb.engines.cavi import cavi
from bayesvb.engines.held_out import TOLERANCE, folds, over_folds, without_folds
from bayesvb.engines.restarts import Effort, Search, search
from bayesvb.engines.starts import SAMPLE_ROWS, sample_rows
from bayesvb.engines.starts import STARTS as DIVISIONS
from bayesvb.stacking import distinct, kept
from bayesvb.weighted_ranks import stacking_weights

SETS = (("vehicle", 160, 20), ("pinwheel", 200, 10), ("pinwheel", 400, 10))
"""Data, training rows, experts."""

DATA_SEEDS, PASSES = 3, 2000


def anew(
    model: bvb.ConditionalMixtureNetwork, found: Search, number: int, seed: np.random.SeedSequence
) -> list[Any]:
    """Statistics of one ascent for each fold, from the division of the rows that the run had."""
    core, rng = found.runs[number].model, np.random.default_rng(seed)
    sample = sample_rows(model.source, SAMPLE_ROWS, rng)
    start = DIVISIONS[found.runs[number].start](sample, core.n_components, rng)
    each = []
    for _, rest in folds(Block.joined(model.source.blocks), 1):
        sums = rest.map_reduce(lambda block: core.begin(block, start.responsibilities(block)))
        each.append(cavi(core, rest, core.start(sums), tol=TOLERANCE, max_iter=PASSES).sums)
    return each


def estimates(
    model: bvb.ConditionalMixtureNetwork, found: Search, ascents: Callable[[int], Any]
) -> np.ndarray:
    """Log density of every row left out, for every run."""
    whole = Block.joined(model.source.blocks)

    def of_run(number: int) -> np.ndarray:
        core = found.runs[number].model
        return over_folds(
            whole,
            ascents(number),
            lambda sums, rows: core.log_predictive(core.update(sums), whole.take(rows)),
        )

    return np.stack([of_run(number) for number in range(len(found.runs))])


def records(train: pd.DataFrame, test: pd.DataFrame, seed: int, experts: int) -> list[dict]:
    """Both ways of estimating, on one training set."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=experts)
    seeds = np.random.SeedSequence(seed).spawn(STARTS + 1)
    found = search(
        model.core, model.source, restarts=STARTS, effort=Effort(), seeds=seeds, rough=True
    )
    block = model.block(model.rows(test, response=True))
    new = np.stack(
        [run.model.log_predictive(run.model.update(run.ascent.sums), block) for run in found.runs]
    )
    ways = {
        "continued": lambda n: without_folds(
            found.runs[n].model, model.source, found.runs[n].ascent.sums
        ),
        "anew": lambda n: anew(model, found, n, seeds[n]),
    }
    return [{"way": way, **judged(model, found, new, ascents)} for way, ascents in ways.items()]


def judged(
    model: bvb.ConditionalMixtureNetwork,
    found: Search,
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
