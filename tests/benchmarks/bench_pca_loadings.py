"""How often 90 % intervals of the loadings of Bayesian PCA cover the principal axes of the truth.

    python tests/benchmarks/bench_pca_loadings.py

Rows have loadings at right angles, ``ratio`` the length of each column over that of the next, and
signs as in the fit: the rotation that the package fixes. ``linear-response`` has the scores
integrated out, ``mean-field`` takes them as given. ``GAP`` of bayesvb/models/pca/information.py was
chosen on seeds from 1000 on; these are the seeds below. Components that the fit does not find
effective have no interval of their own and are left out: ``found`` is the share that is. Results:
docs/benchmarks/pca_loadings.csv.
"""

import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

SETS = 100
"""Data sets of each design, seeds 0 to 99."""

DESIGNS = (
    {"rows": 50, "dims": 5, "components": 2, "ratio": 1.5, "noise": 0.5, "missing": 0.0},
    {"rows": 50, "dims": 10, "components": 3, "ratio": 2.0, "noise": 0.5, "missing": 0.0},
    {"rows": 100, "dims": 6, "components": 2, "ratio": 1.3, "noise": 0.5, "missing": 0.0},
    {"rows": 100, "dims": 5, "components": 1, "ratio": 1.0, "noise": 1.0, "missing": 0.0},
    {"rows": 200, "dims": 4, "components": 2, "ratio": 1.5, "noise": 0.2, "missing": 0.0},
    {"rows": 200, "dims": 8, "components": 3, "ratio": 1.5, "noise": 1.0, "missing": 0.0},
    {"rows": 200, "dims": 5, "components": 2, "ratio": 2.0, "noise": 0.5, "missing": 0.2},
    {"rows": 500, "dims": 20, "components": 4, "ratio": 1.5, "noise": 0.7, "missing": 0.0},
    {"rows": 1000, "dims": 10, "components": 3, "ratio": 1.3, "noise": 1.0, "missing": 0.0},
    {"rows": 2000, "dims": 6, "components": 2, "ratio": 3.0, "noise": 0.5, "missing": 0.0},
)


def simulated(
    seed: int, rows: int, dims: int, components: int, ratio: float, noise: float, missing: float
) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows, and loadings in their columns."""
    rng = np.random.default_rng(seed)
    axes = np.linalg.qr(rng.normal(size=(dims, components)))[0]
    loadings = axes * np.sqrt(dims) * ratio ** -np.arange(components)
    values = rng.normal(size=(rows, components)) @ loadings.T + rng.normal(size=dims)
    values = values + noise * rng.normal(size=values.shape)
    frame = pd.DataFrame(values).add_prefix("v")
    return frame.mask(rng.random(values.shape) < missing), loadings


def hits(fit: bvb.Fit, loadings: np.ndarray, covariance: str) -> list[float]:
    """Share of the intervals that cover, for every effective component of the truth."""
    table = fit.with_covariance(covariance).summary(prob=0.9).loc["loadings"]
    mean, lower, upper = (
        table[name].to_numpy().reshape(-1, len(loadings)) for name in ("mean", "lower", "upper")
    )
    found = []
    for k in range(min(loadings.shape[1], fit.model.effective(fit))):
        truth = np.sign(mean[k] @ loadings[:, k]) * loadings[:, k]
        found.append(float(((lower[k] < truth) & (truth < upper[k])).mean()))
    return found


def coverage(design: dict[str, float]) -> dict[str, object]:
    """One line of the table."""
    found: dict[str, list[float]] = {"linear-response": [], "mean-field": []}
    for seed in range(SETS):
        data, loadings = simulated(seed, **design)
        fit = bvb.BayesianPCA("~ .", data, scale=False).fit(seed=1, restarts=3, draws=400, n_jobs=1)
        for name, each in found.items():
            each.extend(hits(fit, loadings, name))
    share = len(found["mean-field"]) / (SETS * design["components"])
    return {
        **design,
        "data sets": SETS,
        "found": share,
        **{name: float(np.mean(each)) for name, each in found.items()},
    }


def main() -> None:
    warnings.simplefilter("ignore", UserWarning)
    keep(pd.DataFrame([coverage(design) for design in DESIGNS]), "pca_loadings")


if __name__ == "__main__":
    main()
