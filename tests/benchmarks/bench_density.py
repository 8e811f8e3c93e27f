"""Distance from the true conditional density on simulated designs: nats per held-out row."""

import time

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS

DESIGNS = (  # design, rows, components, number to beat
    ("bimodal", 1000, 2, 0.005),
    ("dpmix2", 500, 2, 0.014),
    ("dpmix2", 500, 3, 0.016),
    ("beta2", 500, 4, 0.13),
    ("bimodal", 1000, 5, 0.010),
)
SEEDS = range(10)
HELD_OUT = 5000


def excess(design: str, n_rows: int, n_components: int, seed: int) -> tuple[float, float]:
    """True less fitted mean log density of new rows, and the seconds of the fit."""
    simulation = SIMULATIONS[design]
    train = simulation.sample(n_rows, np.random.default_rng(seed))
    test = simulation.sample(HELD_OUT, np.random.default_rng(1000 + seed))
    model = bvb.DensityRegression("y ~ .", train, n_components=n_components)
    began = time.perf_counter()
    fit = model.fit(seed=seed)
    seconds = time.perf_counter() - began
    return float((simulation.log_density(test) - fit.log_density(test)).mean()), seconds


def main() -> None:
    rows = []
    for design, n_rows, n_components, wanted in DESIGNS:
        found = np.array([excess(design, n_rows, n_components, seed) for seed in SEEDS])
        rows.append(
            {
                "design": design,
                "rows": n_rows,
                "components": n_components,
                "excess": found[:, 0].mean(),
                "se": found[:, 0].std(ddof=1) / len(found) ** 0.5,
                "wanted at most": wanted,
                "seconds per fit (8 restarts)": np.median(found[:, 1]),
            }
        )
    keep(pd.DataFrame(rows), "density")


if __name__ == "__main__":
    main()
