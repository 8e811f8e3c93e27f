"""Networks of classes by coordinate ascent, black-box inference and sampling, on the same rows.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_engines.py [iris pinwheel ...]

Ten experts for pinwheels with 400 rows, five for iris, breast cancer and banknote; a quarter of the
rows is held out (2000 others for pinwheels), classes in their shares. ``cavi`` stacks 8 restarts
with their prior variances, as is the default; ``bbvi`` (with full covariance, and with the settings
of the networks' paper) and ``nuts`` (2 chains, 300 steps of adaptation, 300 draws each, at most
2^7 - 1 gradients a draw) know the prior of variance one only and start from the better of two
ascents. Seconds are those of ``fit`` on one thread, one after the other, compilation included:
``times`` is their ratio to ``cavi``. Needs bayesvb[mcmc]. Results:
docs/benchmarks/network_engines.csv.
"""

import importlib.util
import sys
import time
import warnings

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.classification import scores

DATA = {"iris": 5, "pinwheel": 10, "breast_cancer": 5, "banknote": 5}
OTHER = {"restarts": 2, "combine": "best"}
SAMPLING = {"chains": 2, "warmup": 300, "draws": 600, "max_tree_depth": 7, "vectorized": False}

WAYS = {
    "cavi": {"restarts": 8},
    "cavi, best of 2": {"method": "cavi", **OTHER},
    "bbvi": {"method": "bbvi", **OTHER},
    "bbvi, paper": {"method": "bbvi", "preset": "network-paper", **OTHER},
    "nuts": {"method": "nuts", **OTHER, **SAMPLING},
}


def split(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        return law.sample(400, np.random.default_rng(1)), law.sample(2000, np.random.default_rng(2))
    frame = frame_of(name)
    return stratified(frame, len(frame) // 4, 0)


def record(name: str, method: str) -> tuple[dict[str, object], pd.Series]:
    """Held-out scores and seconds of one fit, and the log density of each held-out row."""
    train, test = split(name)
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=DATA[name])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        fit = model.fit(seed=1, **WAYS[method])
        seconds = time.perf_counter() - began
        density = fit.log_density(test)
        shares = fit.predict(test, kind="probability")
    findings = fit.findings or {}
    labels = np.array([list(shares.columns).index(label) for label in test["label"]])
    found = {
        "run": f"{name}, {method}",
        "data": name,
        "method": method,
        "experts": DATA[name],
        "rows": len(train),
        "lpd": density.mean(),
        "lpd_se": density.sem(),
        "accuracy": scores(shares.to_numpy(), labels).accuracy,
        "seconds": seconds,
        "mean_steps": findings.get("mean_steps", np.nan),
        "longest_trees": findings.get("longest_trees", np.nan),
        "divergences": findings.get("divergences", np.nan),
    }
    return found, density


def main() -> None:
    """All methods on each data set, kept when the last of them is there."""
    if importlib.util.find_spec("numpyro") is None:
        print('skipped: pip install "bayesvb[mcmc]"')
        return
    for name in sys.argv[1:] or DATA:
        records = [record(name, method) for method in WAYS]
        table = pd.DataFrame([found for found, _ in records])
        differences = [density - records[0][1] for _, density in records]
        table["times"] = table["seconds"] / table["seconds"].iloc[0]
        table["lpd_less_cavi"] = [one.mean() for one in differences]
        table["difference_se"] = [one.sem() for one in differences]
        keep(table, "network_engines", by="run")


if __name__ == "__main__":
    main()
