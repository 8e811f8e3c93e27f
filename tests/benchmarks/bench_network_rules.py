"""Two versions of the code on the same folds: is a difference more than the noise of seeds?

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_rules.py NAME seeds=2 iris sonar ...
    python tests/benchmarks/bench_network_rules.py compare NAME OTHER

NAME is that of the state of the code, whichever ``bayesvb`` Python finds: of another one with
``PYTHONPATH`` its folder. Networks of 20 experts with the defaults of that code, ten stratified
folds; each seed divides the rows anew, the same for all states, and fits with seeds of its own. Log
densities of all rows are kept in ``build/network_rules``, so that a run that was stopped goes on;
remove them when the code has changed.

``compare`` has a row per data set, over the folds that both states have: the mean over rows of the
log density under either, that of NAME less that of OTHER with its standard error over rows, and the
standard error over folds, in which seeds of the fits have their part too. Results:
docs/benchmarks/network_rules.csv.
"""

import inspect
import sys
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import StratifiedKFold
from tables import data_folder, keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb

FOLDS, EXPERTS = 10, 20
SHIPPED = ("iris", "breast_cancer", "sonar", "vehicle")
DATA = (*SHIPPED, "banknote", "rice", "waveform")
KEPT = Path(__file__).resolve().parents[2] / "build" / "network_rules"


def frame_of(name: str) -> pd.DataFrame:
    """A data set, its classes as text."""
    shipped = name in SHIPPED
    frame = bvb.datasets.load(name) if shipped else pd.read_csv(data_folder() / f"{name}.csv")
    return frame.assign(label=frame["label"].astype(str))


def fitted(train: pd.DataFrame, seed: int) -> bvb.Fit:
    """A fit with defaults, in one process."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=EXPERTS)
    alone = {"n_jobs": 1} if "n_jobs" in inspect.signature(model.fit).parameters else {}
    return model.fit(draws=250, seed=seed, **alone)


def run(state: str, name: str, seed: int) -> None:
    """The folds of one seed that are not kept yet."""
    frame = frame_of(name)
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=1 + seed)
    for fold, (rows, left) in enumerate(folds.split(frame, frame["label"])):
        path = KEPT / f"{state}-{name}-{seed}-{fold}.npz"
        if path.exists():
            continue
        began = time.process_time()
        fit = fitted(frame.iloc[rows], fold + 100 * seed)
        seconds = time.process_time() - began
        density = fit.log_density(frame.iloc[left]).to_numpy()
        np.savez(path, rows=left, density=density, seconds=seconds)
        print(state, name, seed, fold, f"{density.mean():.4f} {seconds:.1f} s", flush=True)


def kept(state: str, name: str) -> dict[str, np.ndarray]:
    """Log densities of the rows of all folds that are there."""
    paths = sorted(KEPT.glob(f"{state}-{name}-*.npz"))
    return {path.stem.removeprefix(f"{state}-"): np.load(path)["density"] for path in paths}


def compared(state: str, other: str, name: str) -> dict[str, object]:
    """Means over rows, and their difference."""
    one, two = kept(state, name), kept(other, name)
    both = sorted(one.keys() & two.keys())
    each = [one[fold] - two[fold] for fold in both]
    rows, folds = np.concatenate(each), [fold.mean() for fold in each]
    return {
        "pair": f"{name}: {state} less {other}",
        "folds": len(both),
        "lpd": np.concatenate([one[fold] for fold in both]).mean(),
        "lpd_other": np.concatenate([two[fold] for fold in both]).mean(),
        "difference": rows.mean(),
        "se_rows": rows.std(ddof=1) / np.sqrt(len(rows)),
        "se_folds": np.std(folds, ddof=1) / np.sqrt(len(folds)),
    }


def compare(state: str, other: str) -> None:
    """A row per data set of which both states have two folds or more."""
    names = [n for n in DATA if len(kept(state, n).keys() & kept(other, n).keys()) > 1]
    keep(pd.DataFrame([compared(state, other, n) for n in names]), "network_rules", by="pair")


def main() -> None:
    """Fits, or their comparison."""
    first, *others = sys.argv[1:]
    KEPT.mkdir(parents=True, exist_ok=True)
    if first == "compare":
        compare(*others)
        return
    seeds = [int(one.split("=")[1]) for one in others if "=" in one] or [1]
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for seed in range(seeds[0]):
            for name in (one for one in others if "=" not in one):
                run(first, name, seed)


if __name__ == "__main__":
    main()
