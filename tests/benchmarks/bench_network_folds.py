"""Networks against logistic regression by ten-fold cross-validation, and their WAIC.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_folds.py [iris sonar ...]

Mean log predictive density, accuracy and calibration error (20 bins) over all rows, each predicted
by the fit that did not see it; standardisation is inside the folds, which are stratified and the
same for all. The rival is multinomial logistic regression with a ridge penalty (scikit-learn),
whose strength inner cross-validation chooses by log density. ``diff`` is the network's mean log
density less the rival's, ``se`` the standard error of that difference over the rows.

WAIC per row is that of a fit to all rows, from draws. Beside it stand the figures printed in
Heins et al. (2024), arXiv:2408.16429, Table 1, for NUTS; the rows CAVI and MLE of that table are
mean in-sample log densities (their authors' script says so), which is another quantity.
Probabilities of every fold are kept in ``build/network_folds``, so that a run that was stopped goes
on; remove them when the code has changed. Seconds are those of the processor, all processes
together. Results: docs/benchmarks/network_folds.csv.
"""

import resource
import sys
import time
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd
from bench_network_sizes import SHIPPED, frame_of
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from tables import RESULTS, data_folder, keep

import bayesvb as bvb
from bayesvb.evaluation import classification as metrics
from bayesvb.evaluation.elpd import read_elpd

DATA = ("iris", "breast_cancer", "sonar", "vehicle", "banknote", "rice", "waveform")
FOLDS, EXPERTS = 10, 20
KEPT = RESULTS.parents[1] / "build" / "network_folds"

NUTS = {"rice": -0.1278, "breast_cancer": -0.0324, "waveform": -0.3753, "vehicle": -0.3767,
        "banknote": -0.0110, "sonar": -0.0306, "iris": -0.0413}  # fmt: skip
"""WAIC per row of the paper's NUTS."""


def network(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> np.ndarray:
    """Class probabilities of a stack."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=EXPERTS)
    fit = model.fit(draws=250, seed=seed)
    return fit.predict(test, kind="probability").sort_index(axis=1).to_numpy()


def logistic(train: pd.DataFrame, test: pd.DataFrame, seed: int) -> np.ndarray:
    """Class probabilities of ridge-penalised logistic regression."""
    rival = make_pipeline(
        StandardScaler(),
        LogisticRegressionCV(Cs=np.logspace(-4, 4, 17), scoring="neg_log_loss", max_iter=5000),
    )
    return rival.fit(train.drop(columns="label"), train["label"]).predict_proba(
        test.drop(columns="label")
    )


def held_out(
    name: str, way: str, frame: pd.DataFrame, method: Callable[..., np.ndarray]
) -> tuple[np.ndarray, float]:
    """Probabilities of every row from the fold in which it was left out, and seconds of a fit."""
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1)
    p, seconds = np.empty((len(frame), frame["label"].nunique())), 0.0
    for fold, (rows, left) in enumerate(folds.split(frame, frame["label"])):
        path = KEPT / f"{name}-{way}-{fold}.npz"
        if not path.exists():
            began = processor()
            found = method(frame.iloc[rows], frame.iloc[left], fold)
            np.savez(path, p=found, seconds=processor() - began)
            print(name, way, fold, flush=True)
        with np.load(path) as kept:
            p[left], seconds = kept["p"], seconds + float(kept["seconds"])
    return p, seconds / FOLDS


def processor() -> float:
    """Processor time so far, that of processes which have ended included."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return time.process_time() + used.ru_utime + used.ru_stime


def record(name: str) -> dict[str, object]:
    """Both methods on one data set."""
    frame = frame_of(name)
    codes = np.unique(frame["label"], return_inverse=True)[1]
    found = {"data": name, "rows": len(frame)}
    densities = {}
    for way, method in (("network", network), ("logistic", logistic)):
        p, seconds = held_out(name, way, frame, method)
        densities[way] = np.log(p[np.arange(len(codes)), codes])
        found |= {
            f"{way}_lpd": densities[way].mean(),
            f"{way}_accuracy": metrics.scores(p, codes).accuracy,
            f"{way}_ece": metrics.calibration_error(p, codes).error,
            f"{way}_seconds": seconds,
        }
    difference = densities["network"] - densities["logistic"]
    se = difference.std(ddof=1) / np.sqrt(len(codes))
    model = bvb.ConditionalMixtureNetwork("label ~ .", frame, n_experts=EXPERTS)
    whole = model.fit(seed=1)
    return found | {
        "diff": difference.mean(),
        "se": se,
        "better_or_within_one_se": difference.mean() > -se,
        "waic_per_row": read_elpd(whole.waic()).elpd / len(frame),
        "loo_per_row": read_elpd(whole.loo()).elpd / len(frame),
        "nuts_waic_of_the_paper": NUTS[name],
    }


def main() -> None:
    """One row per data set, kept as soon as it is there."""
    KEPT.mkdir(parents=True, exist_ok=True)
    names = sys.argv[1:] or [n for n in DATA if n in SHIPPED or data_folder()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            keep(pd.DataFrame([record(name)]), "network_folds", by="data")


if __name__ == "__main__":
    main()
