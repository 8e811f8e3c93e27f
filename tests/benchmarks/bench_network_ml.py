"""Maximum likelihood of a network, scored as it should be and as the published script does.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_ml.py [iris ...]

The baseline of Heins et al. (2024), arXiv:2408.16429, Table 1, by ``fit("em", prior=False)``. The
published script takes the softmax of the predicted *probabilities* once more: a classifier that is
certain and right scores 1 - log(e + L - 1) with L classes, whatever it does, and one that is
certain and wrong only one nat less. Splits, sizes, and the stack of networks beside it are those of
``bench_network_sizes.py``, the largest training sets. Results: docs/benchmarks/network_ml.csv.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from bench_network_sizes import SIZES, splits
from scipy.special import softmax
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.evaluation import classification as metrics

EXPERTS = {"pinwheel": 10}
"""Of the data sets that do not have twenty."""

DATA = ("iris", "breast_cancer", "sonar", "vehicle", "pinwheel", "banknote", "rice", "waveform")
PINWHEEL_ROWS, RESTARTS = 400, 8


def scored(fit: bvb.Fit, rows: pd.DataFrame, where: str) -> dict[str, float]:
    """Log density, right and as published; accuracy and calibration error of new rows."""
    table = fit.predict(rows, kind="probability")
    codes = table.columns.get_indexer(rows["label"].astype(str))
    p = np.clip(table.to_numpy(), 1e-300, 1.0)
    twice = softmax(p, axis=1)
    result = {
        f"{where} lpd": metrics.scores(p, codes).log_density,
        f"{where} lpd, softmax twice": metrics.scores(twice, codes).log_density,
    }
    if where == "test":
        result["test accuracy"] = metrics.scores(p, codes).accuracy
        result["test ece"] = metrics.calibration_error(p, codes).error
        result["test ece, softmax twice"] = metrics.calibration_error(twice, codes).error
    return result


def rows_of(name: str) -> list[dict[str, object]]:
    """Scores of every training set of the largest size."""
    largest, records = PINWHEEL_ROWS if name == "pinwheel" else max(SIZES[name]), []
    for size, seed, train, test in splits(name):
        if size != largest:
            continue
        model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=EXPERTS.get(name, 20))
        began = time.process_time()
        fit = model.fit("em", prior=False, seed=seed, restarts=RESTARTS, n_jobs=1)
        told = {"data": name, "n": size, "classes": train["label"].nunique()}
        told["seconds"] = time.process_time() - began
        records.append({**told, **scored(fit, train, "train"), **scored(fit, test, "test")})
        print(records[-1], flush=True)
    return records


def main() -> None:
    """Means over training sets, beside the stack of networks that CAVI makes of the same rows."""
    sizes = (
        pd.read_csv(RESULTS / "network_sizes.csv").query("way == 'stack'").set_index(["data", "n"])
    )
    for name in sys.argv[1:] or DATA:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            records = pd.DataFrame(rows_of(name))
        means = records.groupby(["data", "n"], sort=False).mean().reset_index()
        for column in ("lpd", "accuracy", "ece"):
            means[f"CAVI {column}"] = sizes.loc[list(zip(means["data"], means["n"], strict=True)),
                                                column].to_numpy()  # fmt: skip
        keep(means, "network_ml", by="data")


if __name__ == "__main__":
    main()
