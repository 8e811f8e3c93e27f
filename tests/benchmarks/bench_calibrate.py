"""Simulation-based calibration of density regression: coverage of intervals, prior and posterior.

Two components, 200 rows, 200 replications, both main gates; parameters from the prior with fixed
scales, and from the posterior of a fit to two crossing lines. Ranks are of conditional means,
standard deviations and probabilities at five rows; coverage is in the table with its Monte Carlo
error. Each replication is fitted with 4 restarts.

``--shares`` asks where coverage from the prior is lost: by the share of the smaller component at
the true parameters, 400 replications, linear response. ``--processes``: what one and two processes
spend on 50 replications with 8 restarts, twice; ``times``: how much faster that is than one, if
each has a processor of its own. The default prior, whose scales are learned, and other engines:
``bench_calibrate_engines.py``.
"""

import argparse
import resource
import time
from dataclasses import replace
from unittest import mock

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.numerics.streams import EngineStreams
from bayesvb.results.simulation_calibration import SimulationCalibration
from bayesvb.studies.simulated_rows import Simulation

N_ROWS, REPLICATIONS, RESTARTS = 200, 200, 4
GATES = ("softmax", "stick-breaking")
COVARIANCES = ("linear-response", "mean-field")


def crossing_lines(seed: int = 1) -> pd.DataFrame:
    """Two lines that cross, and weights that turn from one to the other."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=N_ROWS)
    first = rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(first, 0.8 * x + 0.8, -0.8 * x - 0.8) + 0.5 * rng.normal(size=N_ROWS)
    return pd.DataFrame({"x": x, "y": y})


def two_lines(gate: str) -> bvb.DensityRegression:
    """The model whose parameters are drawn."""
    priors = bvb.Priors(scales="fixed")
    return bvb.DensityRegression(
        "y ~ x", crossing_lines(), n_components=2, gate=gate, priors=priors
    )


def audited(
    gate: str, where: str, method: str, options: dict[str, object], n: int
) -> tuple[SimulationCalibration, float]:
    """Calibration from the prior or the posterior, and its seconds."""
    model = two_lines(gate)
    given = model if where == "prior" else model.fit(seed=1)
    began = time.perf_counter()
    found = bvb.sbc(given, n, method, seed=20, restarts=RESTARTS, n_jobs=1, **options)
    return found, time.perf_counter() - began


def smaller_share(model: bvb.DensityRegression, seed: int, number: int) -> float:
    """Share of the smaller component at the parameters of a replication."""
    streams = EngineStreams(seed).branch("calibrate").branch(number)
    truth = Simulation(model.core, model.source).truth(
        number, streams.rng("parameters"), np.arange(1)
    )
    weights = np.exp(truth.core.log_weights(truth.draws, model.source.blocks[0]))
    return float(weights[0].mean(axis=1).min())


def by_share() -> pd.DataFrame:
    """Coverage of each kind by the share of the smaller component."""
    rows, seed, n = [], 21, 2 * REPLICATIONS
    for gate in GATES:
        model = two_lines(gate)
        found = bvb.sbc(model, n, seed=seed, restarts=RESTARTS, n_jobs=1)
        shares = np.array([smaller_share(model, seed, i - 1) for i in found.ranks.index])
        for low, high in ((0.0, 0.05), (0.05, 0.2), (0.2, 0.5), (0.0, 0.5)):
            chosen = (shares >= low) & (shares <= high)
            part = replace(found, ranks=found.ranks[chosen]).coverage
            for (kind, prob), row in part.iterrows():
                where = {"gate": gate, "share from": low, "to": high, "data sets": chosen.sum()}
                rows.append({**where, "quantity": kind, "prob": prob, **row})
    return pd.DataFrame(rows)


def by_processes() -> pd.DataFrame:
    """Seconds of processors that 50 replications take: here, in two copies, in two fresh ones."""
    model = bvb.DensityRegression("y ~ x", crossing_lines(), n_components=2)
    rows = []
    for kind, jobs, copied in (("here", 1, True), ("copies", 2, True), ("fresh", 2, False)) * 2:
        with mock.patch("bayesvb.studies.processes.can_fork", lambda copied=copied: copied):
            before, began = processor_seconds(), time.perf_counter()
            bvb.sbc(model, REPLICATIONS // 4, seed=20, n_jobs=jobs)
            wall = time.perf_counter() - began
        time.sleep(1.0)  # until the processes have ended
        here, there = processor_seconds() - before
        rows.append({"kind": kind, "processes": jobs, "all": here + there, "wall": wall})
    found = pd.DataFrame(rows).groupby("kind", sort=False).mean().reset_index()
    alone = found["all"].iloc[0]
    return found.assign(each=found["all"] / found["processes"]).assign(
        times=lambda table: alone / table["each"]
    )


def processor_seconds() -> np.ndarray:
    """Of this process, and of its children that have ended."""
    spent = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return np.array([one.ru_utime + one.ru_stime for one in spent])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--replications", type=int, default=REPLICATIONS)
    parser.add_argument("--shares", action="store_true", help="by the smaller component's share")
    parser.add_argument("--processes", action="store_true", help="cost of one and two of them")
    asked = parser.parse_args()
    if asked.processes:
        keep(by_processes(), "calibrate_processes")
        return
    if asked.shares:
        keep(by_share(), "calibrate_shares")
        return
    rows = []
    for gate in GATES:
        for where in ("prior", "posterior"):
            for name in COVARIANCES:
                options = {"covariance": name}
                found, seconds = audited(gate, where, "cavi", options, asked.replications)
                print(found, flush=True)
                for (kind, prob), row in found.coverage.iterrows():
                    rows.append(
                        {
                            "gate": gate,
                            "from": where,
                            "draws": name,
                            "quantity": kind,
                            "prob": prob,
                            **row,
                            "mean_rank": found.fractions[kind].to_numpy().mean(),
                            "uneven": sum(one == kind for one, _ in found.uneven),
                            "ranked": len(found.ranks),
                            "failed": len(found.failed),
                            "seconds": seconds,
                        }
                    )
    if asked.replications == REPLICATIONS:
        keep(pd.DataFrame(rows), "calibrate")


if __name__ == "__main__":
    main()
