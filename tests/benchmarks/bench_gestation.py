"""Exposure and gestation: the probability of a preterm birth on the real rows of the tutorial.

Needs dde.csv (columns dde, gestational_age_days) in the folder that BAYESVB_DATA names. The formula
is that of docs/tutorials/gestation.md, with two and with three components; beside each probability
stands the share that was counted among the women with an exposure near that value (the tenth of all
rows that is closest to it). Intervals are 89 %.
"""

import numpy as np
import pandas as pd
from tables import data_folder, keep

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd

PRETERM = 37 * 7
EXPOSURES = (12.0, 25.0, 50.0, 75.0, 100.0)
COMPONENTS = (2, 3)
NEAR = 10  # one row in ten is near


def births() -> pd.DataFrame | None:
    """The rows; None without the file."""
    folder = data_folder()
    if folder is None or not (folder / "dde.csv").exists():
        return None
    return pd.read_csv(folder / "dde.csv").rename(columns={"gestational_age_days": "days"})


def counted(data: pd.DataFrame, exposure: float) -> float:
    """Share of preterm births among the rows nearest to an exposure."""
    near = np.abs(data["dde"] - exposure).nsmallest(len(data) // NEAR).index
    return float((data.loc[near, "days"] < PRETERM).mean())


def probabilities(data: pd.DataFrame, n_components: int) -> pd.DataFrame:
    """Probability of a preterm birth at some exposures, with intervals and elpd of the fit."""
    model = bvb.DensityRegression("days ~ dde | gating(s(dde))", data, n_components=n_components)
    fit = model.fit(seed=1)
    asked = {"dde": list(EXPOSURES)}
    found = bvb.effects.predictions(fit, asked, target="probability", below=PRETERM).summary
    table = found[["dde", "estimate", "lower", "upper"]].assign(
        counted=[counted(data, exposure) for exposure in EXPOSURES],
        components=n_components,
        elpd=read_elpd(fit.loo()).elpd,
    )
    return table


def main() -> None:
    data = births()
    if data is None:
        print("bench_gestation: no dde.csv; set BAYESVB_DATA")
        return
    keep(pd.concat([probabilities(data, k) for k in COMPONENTS]), "gestation")


if __name__ == "__main__":
    main()
