"""Three UCI sets with published splits: log density of test rows, beside published methods.

    BAYESVB_DATA=folder python tests/benchmarks/bench_uci.py [energy concrete kin8nm] [--splits 20]

One rule for the three sets, which sees the training rows of a split only. ``CANDIDATES`` are
fitted without each of ``FOLDS`` parts of them; the weights of candidates are those that make the
log density of the rows left out largest (stacking); the prediction mixes the fits that are there,
so that nothing is fitted again. ``default`` is a plain ``DensityRegression("y ~ .")``, ``single``
the candidate alone whose rows left out have the largest density.

Splits: Hernandez-Lobato and Adams (2015), 10 % test rows. MC dropout has a density for each of
them (Gal and Ghahramani 2016, results of a network with one hidden layer), so that differences
are paired. Published means: NodeFlow (Wielopolski, Furman and Zieba 2024, Entropy 26(7), 593), ten
networks trained longer (google/uncertainty-baselines, baselines/uci) and the deep ensembles of
Lakshminarayanan, Pritzel and Blundell (2017).
Files: ``uci-splits/NAME.csv``, ``NAME-test-rows.csv``, ``NAME-mc-dropout.csv``.
Results: docs/benchmarks/uci.csv, uci_splits.csv.
"""

import argparse
import time
import warnings
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pandas as pd
from tables import RESULTS, data_folder, keep

import bayesvb as bvb
from bayesvb.evaluation.stacking_weights import stacking_weights

FOLDS, PASSES = 4, 200
KNOTS = 6

CANDIDATES = (("curves", 5), ("curves", 10), ("products", 5), ("products", 10))
"""Terms and numbers of components."""

PUBLISHED = {
    "concrete": {"nodeflow": -3.17, "ten_networks": -3.20, "deep_ensembles": -3.06},
    "energy": {"nodeflow": -0.98, "ten_networks": -0.61, "deep_ensembles": -1.38},
    "kin8nm": {"nodeflow": 1.00, "ten_networks": 1.17, "deep_ensembles": 1.20},
}
"""Published mean log densities, nats per row in units of the response."""


def formula(terms: str, data: pd.DataFrame) -> str:
    """A curve of every column that has more than two values; those and all products."""
    columns = [name for name in data if name != "y"]
    values = data[columns].nunique()
    lines = " + ".join(columns)
    curves = " + ".join(
        f"s({name}, k={min(KNOTS, values[name])})" if values[name] > 2 else name for name in columns
    )
    return {
        "curves": f"y ~ {curves}",
        "products": f"y ~ {curves} + ({lines})**2 | gating({lines})",
    }[terms]


def fitted(rule: str, train: pd.DataFrame, n_components: int, seed: int) -> bvb.Fit:
    """One ascent: what an ensemble mixes need not each be the best."""
    model = bvb.DensityRegression(rule, train, n_components=n_components)
    return model.fit(
        seed=seed, restarts=1, max_iter=PASSES, covariance="mean-field", draws=25, n_jobs=1
    )


def mixed(log_density: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Log density of a mixture of the members along the first axis."""
    top = log_density.max(axis=0)
    return np.asarray(top + np.log(np.maximum(weights @ np.exp(log_density - top), 1e-300)))


def both(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Log density of candidates: training rows without their fold, test rows by all folds."""
    fold = np.random.default_rng([seed, 3]).permutation(np.resize(np.arange(FOLDS), len(train)))
    left = np.empty((len(CANDIDATES), len(train)))
    new = np.empty((len(CANDIDATES), len(test)))
    for number, (terms, n_components) in enumerate(CANDIDATES):
        rule, each = formula(terms, train), []
        for one in range(FOLDS):
            rest = train[fold != one].reset_index(drop=True)
            fit = fitted(rule, rest, n_components, 100 * seed + one)
            left[number, fold == one] = fit.log_density(train[fold == one])
            each.append(np.asarray(fit.log_density(test)))
        new[number] = mixed(np.array(each), np.full(FOLDS, 1.0 / FOLDS))
    return left, new


def scored(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, object]:
    """Mean log densities of test rows."""
    began = time.perf_counter()
    left, new = both(train, test, seed)
    weights = stacking_weights(left)
    single = int(left.mean(axis=1).argmax())
    seconds = time.perf_counter() - began
    plain = bvb.DensityRegression("y ~ .", train).fit(
        seed=seed, covariance="mean-field", draws=25, n_jobs=1
    )
    return {
        "log_density": mixed(new, weights).mean(),
        "default": np.mean(plain.log_density(test)),
        "single": new[single].mean(),
        "left_out": mixed(left, weights).mean(),
        **{
            f"{terms} {n_components}": weight
            for (terms, n_components), weight in zip(CANDIDATES, weights, strict=True)
        },
        "seconds": seconds,
    }


def splits(folder: Path, name: str) -> Iterator[tuple[pd.DataFrame, pd.DataFrame, float]]:
    """Training rows, test rows and what MC dropout reached on them."""
    whole = pd.read_csv(folder / f"{name}.csv")
    dropout = pd.read_csv(folder / f"{name}-mc-dropout.csv")["mc_dropout_log_density"]
    lines = (folder / f"{name}-test-rows.csv").read_text().split()
    for line, reached in zip(lines, dropout, strict=True):
        test = np.zeros(len(whole), dtype=bool)
        test[[int(number) for number in line.split(",")]] = True
        yield whole[~test].reset_index(drop=True), whole[test].reset_index(drop=True), reached


def summary(name: str, each: pd.DataFrame) -> pd.DataFrame:
    """Means over splits with their standard errors, and what was published."""
    apart = each["log_density"] - each["mc_dropout"]
    row = {
        "data": name,
        "splits": len(each),
        "log_density": each["log_density"].mean(),
        "se": each["log_density"].sem(),
        "default": each["default"].mean(),
        "single": each["single"].mean(),
        "mc_dropout": each["mc_dropout"].mean(),
        "difference": apart.mean(),
        "difference_se": apart.sem(),
        "won": int((apart > 0.0).sum()),
        **{f"published_{method}": value for method, value in PUBLISHED[name].items()},
        "seconds": each["seconds"].mean(),
    }
    return pd.DataFrame([row])


def main() -> None:
    """Split by split; those that are in the table already are not fitted again."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="*", default=list(PUBLISHED), help=", ".join(PUBLISHED))
    parser.add_argument("--splits", type=int, default=20, help="the first so many")
    parser.add_argument("--again", action="store_true", help="forget the splits in the table")
    asked = parser.parse_args()
    folder = data_folder()
    if folder is None:
        print("BAYESVB_DATA names no folder: nothing to do")
        return
    warnings.simplefilter("ignore")
    path = RESULTS / "uci_splits.csv"
    if asked.again:
        path.unlink(missing_ok=True)
    for name in asked.data:
        known = set(pd.read_csv(path)["run"]) if path.exists() else set()
        for number, (train, test, reached) in enumerate(splits(folder / "uci-splits", name)):
            run = f"{name}, {number}"
            if number < asked.splits and run not in known:
                found = {"run": run, "data": name, "mc_dropout": reached}
                keep(pd.DataFrame([found | scored(train, test, number)]), "uci_splits", by="run")
        table = pd.read_csv(path)
        keep(summary(name, table[table["data"] == name]), "uci", by="data")


if __name__ == "__main__":
    main()
