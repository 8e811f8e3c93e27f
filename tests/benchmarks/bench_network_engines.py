"""Networks of classes by coordinate ascent, black-box inference and sampling, on the same rows.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_engines.py pinwheel bbvi nuts

Ten experts for pinwheels with 400 rows, five for iris, breast cancer and banknote; a quarter of the
rows is held out (2000 others for pinwheels), classes in their shares. ``cavi`` stacks 8 restarts
with their prior variances, as is the default; the others know the prior of variance one only.
``bbvi`` (with full covariance, with fewer steps, and with the settings of the networks' paper)
starts from the better of two ascents. ``nuts`` has one chain a run, with 300 steps of adaptation
and 300 draws of at most 2^7 - 1 gradients (pinwheels 100, 100 and 2^6 - 1, as a gradient takes
longer), from the better of two ascents of its own: call it again for another chain, ``--seed 2``;
draws of all chains are then pooled, and R-hat is that of class probabilities of ten held-out rows,
of halves of a single chain. What chains say of the held-out rows is kept in the folder build;
``--pool`` takes those that are there.

Seconds are of the processor, on one thread, compilation included; ``times`` is their ratio to those
of ``cavi``, which every call fits again. Needs bayesvb[mcmc]. Results:
docs/benchmarks/network_engines.csv.
"""

import argparse
import importlib.util
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.classification import scores
from bayesvb.evaluation.mixing import mixing

DATA = {"iris": 5, "pinwheel": 10, "breast_cancer": 5, "banknote": 5}
OTHER = {"restarts": 2, "combine": "best"}
SAMPLING = {"chains": 1, "warmup": 300, "draws": 300, "max_tree_depth": 7}
SHORT = {"chains": 1, "warmup": 100, "draws": 100, "max_tree_depth": 6}
PIECES = Path(__file__).resolve().parents[2] / "build" / "network_chains"
FEW_ROWS = 10

WAYS = {
    "cavi": {"restarts": 8},
    "cavi, one fit": {"method": "cavi", "restarts": 1},
    "cavi, best of 2": {"method": "cavi", **OTHER},
    "bbvi": {"method": "bbvi", **OTHER},
    "bbvi, 1000 steps": {"method": "bbvi", "steps": 1000, **OTHER},
    "bbvi, 1000 steps, mean-field": {
        "method": "bbvi", "steps": 1000, "guide": "mean-field", **OTHER
    },
    "bbvi, paper": {"method": "bbvi", "preset": "network-paper", **OTHER},
    "nuts": {"method": "nuts", **OTHER},
}  # fmt: skip
ALWAYS = ("cavi", "cavi, one fit", "cavi, best of 2")


def split(name: str) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        return law.sample(400, np.random.default_rng(1)), law.sample(2000, np.random.default_rng(2))
    frame = frame_of(name)
    return stratified(frame, len(frame) // 4, 0)


def fitted(name: str, way: str, seed: int) -> tuple[bvb.Fit, float]:
    """A fit to the training rows, and its seconds of the processor."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", split(name)[0], n_experts=DATA[name])
    own = dict(WAYS[way])
    if way == "nuts":
        own |= SHORT if name == "pinwheel" else SAMPLING
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.process_time()
        fit = model.fit(seed=seed, n_jobs=1, **own)
        return fit, time.process_time() - began


def record(name: str, way: str) -> tuple[dict[str, object], np.ndarray]:
    """Held-out scores and seconds of one fit, and the log density of each held-out row."""
    test = split(name)[1]
    fit, seconds = fitted(name, way, 1)
    density = fit.log_density(test).to_numpy()
    return {
        **described(name, way),
        **scored(density, fit.predict(test, kind="probability"), test),
        "seconds": seconds,
    }, density


def described(name: str, way: str) -> dict[str, object]:
    """What was fitted."""
    n_rows = len(split(name)[0])
    return {"run": f"{name}, {way}", "data": name, "method": way, "experts": DATA[name],
            "rows": n_rows}  # fmt: skip


def scored(density: np.ndarray, shares: pd.DataFrame, test: pd.DataFrame) -> dict[str, float]:
    """Scores of held-out rows."""
    labels = np.array([list(shares.columns).index(label) for label in test["label"]])
    spread = density.std(ddof=1) / np.sqrt(len(density))
    accuracy = scores(shares.to_numpy(), labels).accuracy
    return {"lpd": density.mean(), "lpd_se": spread, "accuracy": accuracy}


def sampled(name: str, seed: int) -> None:
    """One chain, kept as a file."""
    test = split(name)[1]
    fit, seconds = fitted(name, "nuts", seed)
    few = fit.model.block(fit.model.rows(test.head(FEW_ROWS)))
    drawn = fit.core.drawn_probabilities(fit.draws, few)
    PIECES.mkdir(exist_ok=True, parents=True)
    shares = fit.predict(test, kind="probability")
    np.savez(
        PIECES / f"{name}-{seed}.npz",
        density=fit.log_density(test).to_numpy(),
        shares=shares.to_numpy(),
        levels=np.array(shares.columns, dtype=str),
        drawn=drawn.reshape(len(drawn), -1),
        seconds=seconds,
        **{key: fit.findings[key] for key in ("mean_steps", "longest_trees", "divergences")},
    )


def pooled(name: str) -> tuple[dict[str, object], np.ndarray]:
    """All chains so far, as one sampler."""
    chains = [dict(np.load(path)) for path in sorted(PIECES.glob(f"{name}-*.npz"))]
    test = split(name)[1]
    density = np.log(np.mean([np.exp(one["density"]) for one in chains], axis=0))
    shares = pd.DataFrame(np.mean([one["shares"] for one in chains], axis=0))
    shares.columns = chains[0]["levels"]
    drawn = np.stack([one["drawn"] for one in chains])
    mixed = mixing(drawn if len(drawn) > 1 else drawn.reshape(2, -1, drawn.shape[-1]))
    labelled = test.assign(label=test["label"].astype(str))
    return {
        **described(name, "nuts"),
        **scored(density, shares, labelled),
        "seconds": sum(float(one["seconds"]) for one in chains),
        "chains": len(chains),
        "draws": sum(len(one["drawn"]) for one in chains),
        "r_hat": np.nanmax(mixed["r_hat"]),
        "least_ess": np.nanmin(mixed["ess_bulk"]),
        "mean_steps": np.mean([one["mean_steps"] for one in chains]),
        "longest_trees": sum(float(one["longest_trees"]) for one in chains),
        "divergences": sum(float(one["divergences"]) for one in chains),
    }, density


def main() -> None:
    """The ascents and the methods asked for, on one data set."""
    if importlib.util.find_spec("numpyro") is None:
        print('skipped: pip install "bayesvb[mcmc]"')
        return
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("data", nargs="?", default="iris", choices=list(DATA))
    parser.add_argument("methods", nargs="*", default=["bbvi", "nuts"], metavar="method")
    parser.add_argument("--seed", type=int, default=1, help="of the chain of nuts")
    parser.add_argument("--pool", action="store_true", help="chains that are there, no other")
    asked = parser.parse_args()
    if "nuts" in asked.methods and not asked.pool:
        sampled(asked.data, asked.seed)
    ways = [*ALWAYS, *(way for way in asked.methods if way not in ("nuts", *ALWAYS))]
    records = [record(asked.data, way) for way in ways]
    if "nuts" in asked.methods:
        records.append(pooled(asked.data))
    table = pd.DataFrame([found for found, _ in records])
    differences = [density - records[0][1] for _, density in records]
    table["times"] = table["seconds"] / table["seconds"].iloc[0]
    table["lpd_less_cavi"] = [one.mean() for one in differences]
    table["difference_se"] = [one.std(ddof=1) / np.sqrt(len(one)) for one in differences]
    keep(table, "network_engines", by="run")


if __name__ == "__main__":
    main()
