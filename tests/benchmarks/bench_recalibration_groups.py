"""Coverage of rows of new subjects, plain and recalibrated, where subjects share a component.

Growth mixtures of two lines with 30 and 100 subjects of three to seven visits; coverage of 50, 80
and 90 % intervals on the visits of 300 new subjects, and log density, each averaged over data
sets. The map is made of PIT values of visits without their subject; beside it one of ``fit.pit()``,
whose values are given the visits before, which is another question. That rows count fully, and not
as parts of their subject, was chosen on 12 other data sets of each of four of the designs.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.distributions.recalibration import Recalibration

FIRST_SEED, DATA_SETS = 1000, 25
SIZES, NEW_SUBJECTS = (30, 100), 300
PROBS = (0.5, 0.8, 0.9)
SURE = bvb.Priors(noise_shape=2000.0, noise_rate=60.0)
"""Puts the sd of the noise near 0.17 of the response's, and is believed more than the data."""

Rng = np.random.Generator
Noise = Callable[[Rng, np.ndarray], np.ndarray]

DESIGNS: dict[str, Noise] = {
    "right: two lines": lambda rng, g: rng.normal(size=len(g)),
    "skewed noise": lambda rng, g: rng.gamma(1.0, 1.0, len(g)) - 1.0,
    "heavy tails": lambda rng, g: rng.standard_t(3, len(g)),
    "levels of subjects": lambda rng, g: (
        0.6 * rng.normal(size=len(g)) + 0.8 * rng.normal(size=g[-1] + 1)[g]
    ),
    "a prior too sure": lambda rng, g: rng.normal(size=len(g)),
}


def visits(name: str, n_subjects: int, rng: Rng) -> pd.DataFrame:
    subject = np.repeat(np.arange(n_subjects), rng.integers(3, 8, n_subjects))
    t, first = rng.uniform(0.0, 4.0, len(subject)), rng.random(n_subjects) < 0.5
    line = np.where(first[subject], 1.0 + 0.3 * t, 2.5 - 0.6 * t)
    y = line + 0.5 * DESIGNS[name](rng, subject)
    return pd.DataFrame({"id": subject, "t": t, "y": y})


def replication(name: str, n_subjects: int, seed: int) -> pd.DataFrame:
    """One row for each way to predict."""
    rng = np.random.default_rng([seed, n_subjects, list(DESIGNS).index(name)])
    data, new = visits(name, n_subjects, rng), visits(name, NEW_SUBJECTS, rng)
    priors = SURE if name == "a prior too sure" else bvb.Priors()
    model = bvb.DensityRegression(
        "y ~ t | gating(1)", data, n_components=2, group="id", priors=priors
    )
    fit = model.fit(seed=seed, restarts=2, draws=50)
    earlier = replace(fit)
    earlier.__dict__["recalibrations"] = (Recalibration.of(fit.pit().to_numpy()),)
    rows = []
    ways = {"plain": (fit, False), "recalibrated": (fit, True), "by fit.pit()": (earlier, True)}
    for how, (one, calibrated) in ways.items():
        found: dict[str, object] = {"design": name, "subjects": n_subjects, "predictions": how}
        for prob in PROBS:
            ends = one.predict(new, "interval", prob=prob, recalibrate=calibrated)
            found[f"{100 * prob:.0f} %"] = new["y"].between(ends["lower"], ends["upper"]).mean()
        density = one.predict(new, "density", at=new["y"], recalibrate=calibrated)
        found["log density"] = float(np.log(np.maximum(density, 1e-300)).to_numpy().mean())
        rows.append(found)
    return pd.DataFrame(rows)


def main() -> None:
    parts = []
    for n_subjects in SIZES:
        for name in DESIGNS:
            seeds = range(FIRST_SEED, FIRST_SEED + DATA_SETS)
            each = pd.concat(replication(name, n_subjects, seed) for seed in seeds)
            keys = ["design", "subjects", "predictions"]
            parts.append(each.groupby(keys, sort=False).mean().reset_index())
            print(parts[-1].to_string(index=False, header=len(parts) == 1), flush=True)
    keep(pd.concat(parts), "recalibration_groups")


if __name__ == "__main__":
    main()
