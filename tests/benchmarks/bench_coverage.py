"""How often 90 % intervals of parameters cover the truth: linear response beside mean-field.

Two experts, 300 rows, 200 data sets; the number of data sets can be given: bench_coverage.py 50
"""

import sys
from collections.abc import Iterable

import numpy as np
import pandas as pd
import xarray as xr
from tables import keep

import bayesvb as bvb

GATES = ("softmax", "stick-breaking")
COVARIANCES = ("linear-response", "mean-field")
N_ROWS, N_SETS, PROB = 300, 200, 0.9
TRUTH = {
    "first intercept": 1.0,
    "first slope": 1.5,
    "second intercept": -1.0,
    "second slope": -1.0,
    "log odds, intercept": 0.3,
    "log odds, slope": 1.0,
    "first noise": 0.5,
    "second noise": 0.8,
}


def sample(rng: np.random.Generator) -> pd.DataFrame:
    """Rows of the two-expert design."""
    x = rng.uniform(-2.0, 2.0, N_ROWS)
    first = rng.uniform(size=N_ROWS) < 1.0 / (1.0 + np.exp(-0.3 - x))
    noise = rng.standard_normal(N_ROWS)
    y = np.where(first, 1.0 + 1.5 * x + 0.5 * noise, -1.0 - x + 0.8 * noise)
    return pd.DataFrame({"x": x, "y": y})


def parameters(draws: xr.Dataset) -> np.ndarray:
    """Draws in the order of TRUTH: the first expert is the one with the larger slope."""
    beta, sigma = draws["beta"].to_numpy()[0], draws["sigma"].to_numpy()[0]
    order = np.argsort(-beta[:, :, 1].mean(axis=0))
    beta, sigma = beta[:, order], sigma[:, order]
    own = int(draws["component_gating"].to_numpy()[0]) - 1
    gamma = draws["gamma"].to_numpy()[0, :, 0] * (1.0 if own == order[0] else -1.0)
    return np.concatenate([beta.reshape(len(beta), -1), gamma, sigma], axis=1)


def coverage(gate: str, seeds: Iterable[int]) -> pd.DataFrame:
    """Share of the data sets whose interval covers the truth: parameters x covariances."""
    truth = np.array(list(TRUTH.values()))
    tails = (0.5 - PROB / 2.0, 0.5 + PROB / 2.0)
    inside: dict[str, list[np.ndarray]] = {covariance: [] for covariance in COVARIANCES}
    for seed in seeds:
        data = sample(np.random.default_rng(seed))
        model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate)
        fit = model.fit(seed=seed, restarts=4, draws=2000)
        for covariance, found in inside.items():
            low, high = np.quantile(
                parameters(fit.with_covariance(covariance).posterior), tails, axis=0
            )
            found.append((low < truth) & (truth < high))
    shares = {name: np.mean(found, axis=0) for name, found in inside.items()}
    return pd.DataFrame(shares, index=pd.Index(TRUTH, name="parameter"))


def main() -> None:
    n_sets = int(sys.argv[1]) if len(sys.argv) > 1 else N_SETS
    tables = []
    for gate in GATES:
        table = coverage(gate, range(n_sets))
        table.loc["all"] = table.mean(axis=0)
        tables.append(table.reset_index().assign(gate=gate, nominal=PROB, data_sets=n_sets))
    keep(pd.concat(tables, ignore_index=True), "coverage")


if __name__ == "__main__":
    main()
