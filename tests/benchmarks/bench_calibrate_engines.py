"""Simulation-based calibration of density regression by engine, on the same data sets.

    python tests/benchmarks/bench_calibrate_engines.py nuts --gate softmax --seconds 300

Two components, 200 rows, parameters from the default prior, whose scales are learned. NUTS
has one chain of 300 steps of warm-up and 399 draws, which starts at a draw of the variational
posterior; R-hat is of its thirds, each split in two, and of the quantities that are ranked, as are
effective sample sizes. Ranks are kept in docs/benchmarks/calibrate_ranks.csv, so that a run goes on
where the last one stopped; each ends with coverage by engine over all data sets so far,
docs/benchmarks/calibrate_engines.csv, and over those whose thirds agree (R-hat below 1.05).
``seconds_per_fit`` are of a processor. ``--fixed``: with a prior of fixed scales, in files of their
own. Needs bayesvb[mcmc] for NUTS.
"""

import argparse
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from bench_calibrate import GATES, REPLICATIONS, RESTARTS, crossing_lines
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.evaluation.mixing import mixing
from bayesvb.results.simulation_calibration import SimulationCalibration
from bayesvb.studies.quantities import Quantities
from bayesvb.studies.replication import Replicator
from bayesvb.studies.sbc import DRAWS
from bayesvb.studies.simulated_rows import Simulation

SEED, AGREE, THIRDS = 20, 1.05, 3
WAYS: dict[str, dict[str, Any]] = {
    "cavi": {"method": "cavi"},
    "cavi, mean-field": {"method": "cavi", "covariance": "mean-field"},
    "nuts": {"method": "nuts", "chains": 1, "warmup": 300},
    "em": {"method": "em"},
    "svi": {"method": "svi"},
}
OWN = ["run", "replication", "n_draws", "converged", "seconds", "r_hat", "ess", "problem"]


@dataclass(frozen=True)
class Watched:
    """Quantities that also say how well a chain of them has mixed."""

    quantities: Quantities
    found: list[dict[str, float]] = field(default_factory=list)

    def __call__(self, drawn: Any, source: Any) -> np.ndarray:
        values = self.quantities(drawn, source)
        if len(values) > 1:
            told = mixing(values.reshape(THIRDS, -1, values.shape[1]))
            self.found[:] = [{"r_hat": told["r_hat"].max(), "ess": told["ess_bulk"].min()}]
        return values


def made(
    way: str, gate: str, scales: str, first: int, seconds: float
) -> Iterator[dict[str, object]]:
    """Replications from one number on, until the time is over."""
    model = bvb.DensityRegression(
        "y ~ x", crossing_lines(), n_components=2, gate=gate, priors=bvb.Priors(scales=scales)
    )
    watched = Watched(Quantities.of(model))
    simulation = Simulation(model.core, model.source)
    options = {"restarts": RESTARTS, "draws": DRAWS, **WAYS[way]}
    replicator = Replicator(model, simulation, watched, options, SEED)
    began = time.monotonic()
    for number in range(first, REPLICATIONS):
        if time.monotonic() - began > seconds:
            return
        before = time.process_time()
        one = replicator(number)
        mixed = {"r_hat": np.nan, "ess": np.nan}
        if way == "nuts" and one.ranks:
            mixed = watched.found[0]
        ranks = one.ranks or (np.nan,) * len(watched.quantities.names)
        names = [", ".join(name) for name in watched.quantities.names]
        own = {"run": f"{gate}, {way}", "replication": number, "n_draws": one.n_draws}
        own |= {"converged": one.converged, "seconds": time.process_time() - before}
        yield {**own, **mixed, "problem": one.problem, **dict(zip(names, ranks, strict=True))}


def audit(rows: pd.DataFrame) -> SimulationCalibration:
    """The ranks of one run."""
    fitted = rows[rows["problem"].isna() | (rows["problem"] == "")]
    ranks = fitted.drop(columns=OWN, errors="ignore").set_axis(fitted["replication"])
    ranks.columns = pd.MultiIndex.from_tuples(
        [tuple(c.split(", ", 1)) for c in ranks.columns], names=["kind", "place"]
    )
    replications = rows.set_index("replication").rename(columns={"n_draws": "draws"})
    return SimulationCalibration(
        ranks.astype(int), replications, "prior", len(rows), "", "", "", {}, SEED
    )


def table(rows: pd.DataFrame) -> pd.DataFrame:
    """Coverage of each run."""
    lines = []
    for run, own in rows.groupby("run", sort=False):
        agreeing = own[~(own["r_hat"] >= AGREE)]
        whole, good = audit(own), audit(agreeing)
        for (kind, prob), row in whole.coverage.iterrows():
            lines.append(
                {
                    "run": run,
                    "quantity": kind,
                    "prob": prob,
                    **row,
                    "mean_rank": whole.fractions[kind].to_numpy().mean(),
                    "ranked": len(whole.ranks),
                    "failed": len(own) - len(whole.ranks),
                    "not_converged": (~own["converged"]).sum(),
                    "largest_r_hat": own["r_hat"].max(),
                    "agreeing": len(agreeing),
                    "agreeing_coverage": good.coverage.loc[(kind, prob), "coverage"],
                    "least_ess": own["ess"].min(),
                    "median_ess": own["ess"].median(),
                    "seconds_per_fit": own["seconds"].mean(),
                }
            )
    return pd.DataFrame(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("engine", choices=list(WAYS))
    parser.add_argument("--gate", default="softmax", choices=GATES)
    parser.add_argument("--seconds", type=float, default=300.0)
    parser.add_argument("--fixed", action="store_true", help="prior of fixed scales")
    asked = parser.parse_args()
    scales, ending = ("fixed", "_fixed") if asked.fixed else ("learned", "")
    path: Path = RESULTS / f"calibrate_ranks{ending}.csv"
    rows = pd.read_csv(path) if path.exists() else pd.DataFrame(columns=OWN)
    first = int((rows["run"] == f"{asked.gate}, {asked.engine}").sum())
    found = pd.DataFrame(made(asked.engine, asked.gate, scales, first, asked.seconds))
    rows = pd.concat([rows, found], ignore_index=True) if len(rows) else found
    rows.to_csv(path, index=False, float_format="%.4g")
    found = table(pd.read_csv(path).astype({"converged": bool}))
    keep(found, f"calibrate_engines{ending}")


if __name__ == "__main__":
    main()
