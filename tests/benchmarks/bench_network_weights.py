"""Weights of the restarts of a network, and the prior variances that they try.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_weights.py [iris:100:20 ...]

A job is a data set, a number of training rows and a seed. Twelve restarts each: every division of
the rows with each of four prior variances. All of them are ascents to the tolerance, so that any
rule can be looked at afterwards: ``grid`` says which variances a rule has, ``prior_rows`` the
``PRIOR_ROWS`` of its weights, ``least`` the weight from which on a run goes on to the tolerance.
``lpd`` is the mean log density of new rows, ``passes`` those of all its runs. Prior rows and least
weight were chosen on the jobs of seed 20; the others were added afterwards.
Results: docs/benchmarks/network_weights.csv.
"""

import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from tables import keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.folds import extrapolated_density
from bayesvb.engines.restarts import search
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.numerics.streams import Streams
from bayesvb.results.stacking import kept

JOBS = (
    "breast_cancer:400:20", "pinwheel:200:20", "waveform:300:20", "sonar:128:20", "iris:100:20",
    "vehicle:400:20", "rice:600:20", "banknote:300:20", "pinwheel:400:20", "breast_cancer:400:21",
    "rice:2500:30", "pinwheel:1600:30", "banknote:1000:30",
)  # fmt: skip
VARIANCES = (1.0, 0.1, 10.0, 100.0)
GRIDS = {"0.1 1 10": (0.1, 1.0, 10.0), "1 10 100": (1.0, 10.0, 100.0), "0.1 to 100": VARIANCES}
RULES = [(0.0, 0.0), (0.1, 0.2), (0.2, 0.2), (0.3, 0.0), (0.3, 0.2), (0.5, 0.2), (1.0, 0.2)]
MOST_TEST_ROWS = 1500

Array = Any


@dataclass(frozen=True)
class Runs:
    """Runs of one job: log densities (runs, rows), passes and priors."""

    left_out: Array
    coarse: Array
    fine: Array
    coarse_passes: Array
    fine_passes: Array
    prior: Array

    def by(self, grid: str, prior_rows: float, least: float) -> dict[str, object]:
        """Density of new rows, passes and members of a rule."""
        names = [f"variance x {scale:g}" for scale in GRIDS[grid]]
        own = np.flatnonzero(np.isin(self.prior, names))
        weight = kept(stacking_weights(self.left_out[own], prior_rows=prior_rows))
        large = weight >= max(min(least, weight.max()), np.finfo(float).tiny)
        density = np.where(large[:, None], self.fine[own], self.coarse[own])
        further = (self.fine_passes[own] - self.coarse_passes[own]) * large
        rule = {"grid": grid, "prior_rows": prior_rows, "least": least}
        return {
            **rule,
            "lpd": float(np.log(weight @ np.exp(density)).mean()),
            "passes": int((self.coarse_passes[own] + further).sum()),
            "members": int((weight > 0.0).sum()),
        }


def split(name: str, size: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        test = law.sample(2000, np.random.default_rng([seed, 1]))
        return law.sample(size, np.random.default_rng([seed, size])), test
    frame = frame_of(name)
    train, test = stratified(frame, min(len(frame) - size, MOST_TEST_ROWS), seed)
    if len(train) > size:
        train, _ = stratified(train, len(train) - size, seed)
    return train, test


def runs_of(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> Runs:
    """All restarts, at the coarse tolerance and at the fine one."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train)
    core, engine, streams = replace(model.core, variances=VARIANCES), Cavi(), Streams(seed, 12)
    budget = Budget(1e-3, 2000, per_row=1e-4)
    found = search(
        core, model.source, engine, restarts=12, budget=budget, streams=streams, rough=True
    )
    settled = found.settled(range(12), budget)
    rows = model.block(model.rows(test, response=True))
    left_out = [
        extrapolated_density(
            run.model, model.source, run.ascent.stats, engine, streams.branch("restart", k + 1)
        )
        for k, run in enumerate(found.runs)
    ]

    def new(runs: Any) -> Array:
        return np.stack(
            [r.model.log_predictive(r.model.update(r.ascent.stats), rows) for r in runs]
        )

    def passes(runs: Any) -> Array:
        return np.array([run.ascent.n_iter for run in runs])

    return Runs(
        np.stack(left_out),
        new(found.runs),
        new(settled.runs),
        passes(found.runs),
        passes(settled.runs),
        np.array([run.prior for run in found.runs]),
    )


def main() -> None:
    """A row per job, grid and rule."""
    table = []
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for job in sys.argv[1:] or JOBS:
            name, size, seed = job.split(":")
            runs = runs_of(*split(name, int(size), int(seed)), int(seed))
            of_job = [runs.by(grid, *rule) for grid in GRIDS for rule in RULES]
            table += [{"job": job, **row} for row in of_job]
            print(pd.DataFrame(of_job).to_string(index=False), flush=True)
    keep(pd.DataFrame(table), "network_weights", by="job")


if __name__ == "__main__":
    main()
