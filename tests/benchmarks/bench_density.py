"""Distance from the true conditional density on simulated designs: nats per held-out row.

First the default gate with the number to beat, then all gates and their rivals on the same rows:
constant weights are the gate ``dirichlet``.
"""

import time

import numpy as np
import pandas as pd
from rivals import kernel_density, least_squares
from tables import keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS
from bayesvb.gates import GATES

DESIGNS = (  # design, rows, components, number to beat
    ("bimodal", 1000, 2, 0.005),
    ("dpmix2", 500, 2, 0.014),
    ("dpmix2", 500, 3, 0.016),
    ("beta2", 500, 4, 0.13),
    ("bimodal", 1000, 5, 0.010),
)
AGAINST = (("bimodal", 1000, 2), ("dpmix2", 500, 3), ("beta1", 500, 3), ("beta2", 500, 4))
SEEDS = range(10)
FEW_SEEDS = range(5)
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


def all_excesses(design: str, n_rows: int, n_components: int, seed: int) -> dict[str, float]:
    """True less fitted mean log density of the same new rows, by gate and by rival."""
    simulation = SIMULATIONS[design]
    train = simulation.sample(n_rows, np.random.default_rng(seed))
    test = simulation.sample(HELD_OUT, np.random.default_rng(1000 + seed))
    found = {}
    for gate in GATES:
        model = bvb.DensityRegression("y ~ .", train, n_components=n_components, gate=gate)
        found[gate] = model.fit(seed=seed, covariance="mean-field").log_density(test).mean()
    found["least squares"] = least_squares(model, test, ())[0].mean()
    found["kernel density"] = kernel_density(model, test).mean()
    true = float(simulation.log_density(test).mean())
    return {name: true - float(density) for name, density in found.items()}


def against_rivals() -> pd.DataFrame:
    """Means over data sets, with the standard error of the default gate's."""
    rows = []
    for setting in AGAINST:
        found = pd.DataFrame([all_excesses(*setting, seed) for seed in FEW_SEEDS])
        named = dict(zip(("design", "rows", "components"), setting, strict=True))
        rows.append(named | found.mean().to_dict() | {"se of softmax": found["softmax"].sem()})
        print(rows[-1], flush=True)
    return pd.DataFrame(rows)


def main() -> None:
    rows = []
    for design, n_rows, n_components, request in DESIGNS:
        found = np.array([excess(design, n_rows, n_components, seed) for seed in SEEDS])
        rows.append(
            {
                "design": design,
                "rows": n_rows,
                "components": n_components,
                "excess": found[:, 0].mean(),
                "se": found[:, 0].std(ddof=1) / len(found) ** 0.5,
                "wanted at most": request,
                "seconds per fit (8 restarts)": np.median(found[:, 1]),
            }
        )
    keep(pd.DataFrame(rows), "density")
    keep(against_rivals(), "density_gates")


if __name__ == "__main__":
    main()
