"""Five components compared with the number that leave-one-out chooses, on published data.

Five folds of twelve data sets of R, none of which served to choose the rule: log density of a
held-out row, in nats, and CPU seconds of a fit with default arguments. Formulas were written down
before any fit. Without `Rscript` there is nothing to measure. One set can be named:
bench_default_components.py Prestige
"""

import subprocess
import sys
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb

MOST_ROWS, FOLDS = 600, 5
NUMBERS = (5, None)
DATA = {
    "Prestige": ("na.omit(carData::Prestige)", "prestige ~ log(income) + education + type"),
    "Davis": ("na.omit(carData::Davis)", "weight ~ height + sex"),
    "SLID": ("na.omit(carData::SLID)", "wages ~ education + age + sex"),
    "Boston": ("MASS::Boston", "medv ~ rm + lstat + nox + dis + ptratio"),
    "cpus": ("MASS::cpus", "log(perf) ~ syct + log(mmax) + cach + chmax"),
    "ethanol": ("lattice::ethanol", "NOx ~ s(E) + C"),
    "diamonds": ("ggplot2::diamonds", "log(price) ~ log(carat) + clarity"),
    "Ozone": (
        "{data(Ozone, package = 'mlbench'); na.omit(Ozone[, c(4, 8, 10, 13)])}",
        "V4 ~ V8 + V10 + V13",
    ),
    "swiss": ("datasets::swiss", "Fertility ~ Agriculture + Education + Catholic"),
    "barro": ("{data(barro, package = 'quantreg'); barro}", "`y.net` ~ lgdp2 + mse2 + gedy2"),
    "HousePrices": (
        "{data(HousePrices, package = 'AER'); HousePrices}",
        "log(price) ~ log(lotsize) + bedrooms + bathrooms + aircon",
    ),
    "quakes": ("datasets::quakes", "stations ~ mag + depth"),
}


def published(call: str) -> pd.DataFrame:
    """A table of R, at most 600 of its rows."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "table.csv"
        code = f"write.csv(as.data.frame({call}), '{path}', row.names = FALSE)"
        subprocess.run(["Rscript", "-e", code], check=True, capture_output=True)
        table = pd.read_csv(path)
    return table.sample(min(len(table), MOST_ROWS), random_state=0).reset_index(drop=True)


def fitted(formula: str, data: pd.DataFrame, number: int | None):
    """The fit with this number of components; None means that it is chosen."""
    if number is None:
        return bvb.fit(formula, data, seed=1, quiet=True, family="gaussian")
    return bvb.DensityRegression(formula, data, n_components=number).fit(seed=1)


def folds(name: str) -> pd.DataFrame:
    """Held-out log density of each row, seconds and components of each fold, by rule."""
    call, formula = DATA[name]
    data = published(call)
    fold = np.random.default_rng(0).permutation(len(data)) % FOLDS
    rows = []
    for number in NUMBERS:
        for held in range(FOLDS):
            began = time.process_time()
            fit = fitted(formula, data[fold != held], number)
            seconds = time.process_time() - began
            density = fit.log_density(data[fold == held])
            chosen = fit.model.n_components
            one = pd.DataFrame({"density": density, "seconds": seconds, "components": chosen})
            rows.append(one.assign(rule="chosen" if number is None else "five", fold=held))
    return pd.concat(rows)


def main() -> None:
    warnings.simplefilter("ignore")
    for name in sys.argv[1:] or DATA:
        found = folds(name)
        by = {rule: each for rule, each in found.groupby("rule")}
        gain = by["chosen"]["density"] - by["five"]["density"]
        row = {"data": name, "rows": len(gain), "five": by["five"]["density"].mean()}
        row |= {"gain": gain.mean(), "se": gain.std() / np.sqrt(len(gain))}
        for rule, each in by.items():
            row[f"seconds_{rule}"] = each.groupby("fold")["seconds"].first().mean()
        row["components"] = by["chosen"].groupby("fold")["components"].first().mean()
        keep(pd.DataFrame([row]).round(4), "default_components", by="data")


if __name__ == "__main__":
    main()
