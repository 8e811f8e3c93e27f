"""Table 1 and figures 2 to 9 of the paper on networks: every engine, on rows that no fit has seen.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_table.py --data iris --ways nuts

Heins et al. (2024), arXiv:2408.16429: pinwheels with 10 experts, seven UCI data sets with 20.
Splits and sizes are those of ``bench_network_sizes.py``: by default the largest training set, 400
rows of the pinwheel; ``--up-to ROWS``: all sizes up to it; ``--sets`` training sets of each size.
WAIC is of the training rows, per row; "printed" is Table 1 of the paper, with CAVI and MLE as
mean log densities of the training rows (its authors' script says so).

``one_start`` has the prior of the paper, ``stack`` 8 restarts, both by coordinate ascent.
``likelihood`` is ``fit("em", prior=False)``; ``likelihood, as published`` scores the same fit as
the published script does, which takes the softmax of the predicted *probabilities* once more: a
classifier that is certain and right scores 1 - log(e + L - 1) with L classes, whatever it does.
``bbvi`` makes 1,000 steps of 8 particles with independent numbers, from the better of two runs;
``nuts`` is one chain of 100 + 100 transitions of at most 63 gradients, from the same; ``--short``
asks for 250 steps, and for 50 + 50 transitions of at most 31. Both need bayesvb[mcmc].
``logistic`` is multinomial regression with a ridge penalty that inner cross-validation chooses.
Seconds are CPU time of a fit on one thread, compilation included; steps are iterations of all
restarts, or gradients. Results: docs/benchmarks/network_table.csv.
"""

import argparse
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from bench_network_folds import logistic
from bench_network_sizes import SIZES, splits
from scipy.special import softmax
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation import classification as metrics
from bayesvb.evaluation.elpd import read_elpd

PINWHEEL_ROWS, PINWHEEL_EXPERTS, EXPERTS = 400, 10, 20
INNER_FOLDS = 5
"""Folds of the cross-validation that chooses the penalty; classes with fewer rows have no row."""

OTHER = {"restarts": 2, "combine": "best"}
SAMPLING = {"chains": 1, "warmup": 100, "draws": 100, "max_tree_depth": 6}
LEAST = 1e-300
"""Least probability: maximum likelihood excludes classes that are there."""

SHORT = {"nuts": {"warmup": 50, "draws": 50, "max_tree_depth": 5}, "bbvi": {"steps": 250}}

WAYS = {
    "one_start": {"restarts": 1, "combine": "best"},
    "stack": {"restarts": 8},
    "likelihood": {"method": "em", "prior": False, "restarts": 8, "combine": "best"},
    "bbvi": {"method": "bbvi", "steps": 1000, "guide": "mean-field", **OTHER},
    "nuts": {"method": "nuts", **SAMPLING, **OTHER},
    "logistic": {},
}
"""Arguments of ``fit``."""

PRINTED = {
    "rice": (-0.1820, -0.3599, -0.1278, -0.1739),
    "breast_cancer": (-0.0504, -0.3133, -0.0324, -0.0763),
    "waveform": (-0.2921, -0.5759, -0.3753, -0.3618),
    "vehicle": (-0.3281, -0.7437, -0.3767, -0.4154),
    "banknote": (-0.0206, -0.3133, -0.0110, -0.0382),
    "sonar": (-0.1544, -0.3133, -0.0306, -0.0583),
    "iris": (-0.0747, -0.5514, -0.0413, -0.1544),
}
"""Rows CAVI, MLE, NUTS and BBVI of the table in the paper."""

PRINTED_ROW = {"one_start": 0, "likelihood, as published": 1, "nuts": 2, "bbvi": 3}


def training_sets(name: str, up_to: int, n_sets: int) -> Iterator[tuple]:
    """Size, seed, training and test rows."""
    largest = PINWHEEL_ROWS if name == "pinwheel" else max(SIZES[name])
    for size, seed, train, test in splits(name):
        if seed < n_sets and (size <= up_to if up_to else size == largest):
            yield size, seed, train, test


def fitted(way: str, train: pd.DataFrame, seed: int, experts: int) -> bvb.Fit:
    """A network fitted to the training rows."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=experts)
    return model.fit(seed=seed, n_jobs=1, **WAYS[way])


def steps_of(fit: bvb.Fit, way: str) -> float:
    """Iterations of all restarts, or gradients."""
    if way == "nuts":
        return fit.findings["mean_steps"] * (WAYS[way]["warmup"] + WAYS[way]["draws"])
    return float(WAYS[way].get("steps", fit.restarts["n_iter"].sum()))


def scored(p: np.ndarray, codes: np.ndarray) -> dict[str, float]:
    """Scores of held-out rows."""
    found = metrics.scores(p, codes)
    error = metrics.calibration_error(p, codes).error
    return {"accuracy": found.accuracy, "lpd": found.log_density, "ece": error}


def codes_of(fit: bvb.Fit, rows: pd.DataFrame) -> tuple[np.ndarray, np.ndarray]:
    """Class probabilities and observed classes."""
    table = fit.predict(rows, kind="probability")
    return np.clip(table.to_numpy(), LEAST, 1.0), table.columns.get_indexer(
        rows["label"].astype(str)
    )


def as_published(p: np.ndarray) -> np.ndarray:
    """Softmax of the probabilities."""
    return softmax(p, axis=1)


def records(
    way: str, fit: bvb.Fit, train: pd.DataFrame, test: pd.DataFrame, seconds: float
) -> Iterator[dict[str, object]]:
    """One row, or two of maximum likelihood."""
    p, codes = codes_of(fit, test)
    cost = {"seconds": seconds, "steps": steps_of(fit, way)}
    if way != "likelihood":
        waic = read_elpd(fit.waic()).elpd / len(train)
        yield {"way": way, **scored(p, codes), "waic": waic, **cost}
        return
    inside, seen = codes_of(fit, train)
    for name, change in ((way, np.asarray), (f"{way}, as published", as_published)):
        waic = scored(change(inside), seen)["lpd"]
        yield {"way": name, **scored(change(p), codes), "waic": waic, **cost}


def regression(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> dict[str, object]:
    """The row of logistic regression."""
    began = time.process_time()
    p = logistic(train, test, seed)
    codes = np.searchsorted(np.unique(train["label"]), test["label"])
    return {"way": "logistic", **scored(p, codes), "seconds": time.process_time() - began}


def measured(name: str, way: str, up_to: int, n_sets: int, experts: int) -> pd.DataFrame:
    """Means over training sets, by size."""
    found = []
    for size, seed, train, test in training_sets(name, up_to, n_sets):
        labels = {"data": name, "n": size}
        if way == "logistic":
            if train["label"].value_counts().min() >= INNER_FOLDS:
                found.append({**labels, **regression(train, test, seed)})
            continue
        began, n_experts = time.process_time(), min(experts, size)
        fit = fitted(way, train, seed, n_experts)
        seconds = time.process_time() - began
        found += [
            {**labels, "experts": n_experts, **row}
            for row in records(way, fit, train, test, seconds)
        ]
        print(name, size, seed, way, round(seconds, 1), round(found[-1]["lpd"], 3), flush=True)
    groups = pd.DataFrame(found).groupby(["data", "n", "way"], sort=False)
    means = groups.mean(numeric_only=True)
    means["lpd_se"] = groups["lpd"].sem()
    means["training_sets"] = groups.size()
    return means.reset_index()


def main() -> None:
    """Rows of a data set and a way, kept as soon as they are there."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ways", nargs="+", default=list(WAYS))
    parser.add_argument("--data", nargs="+", default=list(SIZES))
    parser.add_argument("--up-to", type=int, default=0)
    parser.add_argument("--sets", type=int, default=1)
    parser.add_argument("--experts", type=int, default=EXPERTS, help="10 of the pinwheel")
    parser.add_argument("--short", action="store_true")
    asked = parser.parse_args()
    if asked.short:
        WAYS.update({way: WAYS[way] | options for way, options in SHORT.items()})
    warnings.simplefilter("ignore")
    for name in asked.data:
        experts = PINWHEEL_EXPERTS if name == "pinwheel" else asked.experts
        for way in asked.ways:
            table = measured(name, way, asked.up_to, asked.sets, experts)
            printed = [
                PRINTED[name][PRINTED_ROW[one]] if one in PRINTED_ROW and name in PRINTED else None
                for one in table["way"]
            ]
            run = [f"{one.data}, {one.n}, {one.way}" for one in table.itertuples()]
            keep(table.assign(printed=printed, run=run), "network_table", by="run")


if __name__ == "__main__":
    main()
