"""Where linear-response intervals cover too little, and intervals made otherwise of the same draws.

    python tests/benchmarks/bench_calibrate_intervals.py --seeds 31 32 --replications 300

Two components, 200 rows, parameters from the default prior, as in bench_calibrate_engines.py, but
other data sets. Of each fit intervals of means, sds and probabilities are made of quantiles of the
draws, which is what a fit does; by a normal law of the mean, of the log of the sd and of the logit
of the probability; and of quantiles weighted by importance (Pareto-smoothed). Coverage of all data
sets, and by the share of rows of the smaller true component and by the number of optima that four
restarts found, goes to docs/benchmarks/calibrate_intervals.csv. ``se`` is over data sets.
"""

import argparse
from collections.abc import Iterator

import numpy as np
import pandas as pd
from bench_calibrate import GATES, RESTARTS, crossing_lines
from scipy.special import expit, logit, ndtri, softmax
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.psis import psis
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import EngineStreams
from bayesvb.results.importance import log_ratio
from bayesvb.studies.quantities import Quantities
from bayesvb.studies.quiet_fits import quiet_fit
from bayesvb.studies.sbc import DRAWS
from bayesvb.studies.simulated_rows import Simulation

LEVELS = (0.5, 0.8, 0.9)
KINDS = ("mean", "sd", "probability")
APART = 0.05
"""Nats between bounds of different optima."""

SHARES = {"below 1e-6": 1e-6, "below .01": 0.01, "below .05": 0.05, "below .2": 0.2, "more": 1.0}


def by_quantiles(values, weights, level):
    """Ends between which the draws of a level are: for 399 of them whole numbers."""
    tail = round(0.5 * (1.0 - level) * (len(values) + 1))
    ordered = np.sort(values, axis=0)
    return ordered[tail - 1], ordered[-tail]


def by_normal_law(values, weights, level):
    """On the scale of the mean, of log sds and of logits."""
    mean, sd, probability = np.split(values, 3, axis=1)
    moved = np.hstack([mean, np.log(sd), logit(np.clip(probability, 1e-15, 1.0 - 1e-15))])
    half = ndtri(0.5 + 0.5 * level) * moved.std(axis=0)

    def back(ends):
        own = np.split(ends, 3)
        return np.concatenate([own[0], np.exp(own[1]), expit(own[2])])

    return back(moved.mean(axis=0) - half), back(moved.mean(axis=0) + half)


def by_importance(values, weights, level):
    """Quantiles of weighted draws."""
    shares, ends = [0.5 * (1.0 - level), 0.5 * (1.0 + level)], []
    for column in values.T:
        order = np.argsort(column)
        upto = np.cumsum(weights[order]) - 0.5 * weights[order]
        ends.append(np.interp(shares, upto, column[order]))
    return np.array(ends).T


WAYS = {"quantiles": by_quantiles, "normal law": by_normal_law, "importance": by_importance}


def replications(gate: str, seed: int, number: int) -> Iterator[dict[str, object]]:
    """Whether intervals of each way, level and kind cover, as shares of the five rows."""
    model = bvb.DensityRegression("y ~ x", crossing_lines(), n_components=2, gate=gate)
    quantities, simulation = Quantities.of(model), Simulation(model.core, model.source)
    for place in range(number):
        own = EngineStreams(seed).branch("calibrate").branch(place)
        truth = simulation.truth(place, own.rng("parameters"), np.arange(1))
        source = simulation.rows(truth, own.rng("responses"))
        options = {"restarts": RESTARTS, "draws": DRAWS, "n_jobs": 1}
        with single_threaded_blas(), np.errstate(all="ignore"):
            fit = quiet_fit(
                model.over(source), {**options, "seed": int(own.rng("fit").integers(2**32))}
            )
            true, values = quantities(truth, source)[0][:-1], quantities(fit, source)[:, :-1]
            log_weights, k = psis(log_ratio(fit)[:, None])
            each = truth.core.component_log_lik(truth.draws, source.whole())[0]
        told = {"gate": gate, "seed": seed, "khat": float(k[0])}
        told["smaller"] = float(softmax(each, axis=0).mean(axis=1).min())
        told["optima"] = 1 + int((-np.diff(np.sort(fit.restarts["elbo"])[::-1]) > APART).sum())
        for way, function in WAYS.items():
            for level in LEVELS:
                low, high = function(values, np.exp(log_weights[:, 0]), level)
                inside = ((low <= true) & (true <= high)).reshape(3, -1).mean(axis=1)
                named = dict(zip(KINDS, inside, strict=True))
                yield {**told, "way": way, "level": level, **named}


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage by gate, seed, way and level, and of quantiles by what the data sets are."""
    smaller = pd.cut(rows["smaller"], [-1.0, *SHARES.values()], labels=list(SHARES)).astype(str)
    optima = np.where(rows["optima"] > 1, "several optima", "one optimum")
    own = rows[rows["way"] == "quantiles"]
    parts = [
        rows.assign(of="all"),
        rows.assign(of="all", seed="all"),
        own.assign(of=[f"smaller component {one}" for one in smaller[own.index]], seed="all"),
        own.assign(of=optima[own.index], seed="all"),
    ]
    found = []
    for part in parts:
        for key, some in part.groupby(["gate", "seed", "of", "way", "level"], sort=False):
            line = dict(zip(["gate", "seed", "data sets", "way", "level"], key, strict=True))
            line["number"] = len(some)
            for kind in KINDS:
                line |= {kind: some[kind].mean(), f"{kind} se": some[kind].std() / len(some) ** 0.5}
            found.append(line)
    return pd.DataFrame(found)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, nargs="+", default=[31, 32])
    parser.add_argument("--replications", type=int, default=300)
    asked = parser.parse_args()
    found = [
        one
        for gate in GATES
        for seed in asked.seeds
        for one in replications(gate, seed, asked.replications)
    ]
    keep(table(pd.DataFrame(found)), "calibrate_intervals")


if __name__ == "__main__":
    main()
