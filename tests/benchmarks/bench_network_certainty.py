"""Stacks of networks whose tolerances go by what a row left out costs, and stacks whose do not.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_certainty.py [wine:120:0 ...]

A job is a data set, a number of training rows and a seed. Both ways fit with defaults, 20 experts
(pinwheel: ten), in turns in one process: ``goes by the loss`` is ``False`` where ``UNCERTAIN`` of
``bayesvb.estimators.weighing`` is so small that the loss of any rows is above it. ``lpd`` is the
mean log density of new rows, ``seconds`` those of the processor. The scale was chosen on these
jobs; none of them is a set of ``bench_network_folds.py`` but waveform. Laws: ``separable`` has a
curved boundary and little noise, ``three`` three normal classes of which two overlap, ``logit`` a
straight boundary and noise, ``wide`` forty columns made of eight. Results:
docs/benchmarks/network_certainty.csv.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from bench_network_sizes import frame_of, stratified
from sklearn.datasets import load_wine
from tables import data_folder, keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb
from bayesvb.estimators import weighing

JOBS = (
    "wine:120:0", "wine:120:1", "wine:120:2", "separable:300:0", "separable:300:1", "three:120:0",
    "three:120:1", "three:120:2", "logit:300:0", "logit:300:1", "wide:150:0", "pinwheel:200:0",
    "pinwheel:1600:0", "waveform:300:0",
)  # fmt: skip
NEW_ROWS = 2000

Split = tuple[pd.DataFrame, pd.DataFrame]


def labelled(x: np.ndarray, codes: np.ndarray) -> pd.DataFrame:
    """Columns x1, x2, ... and the class as text."""
    frame = pd.DataFrame(x, columns=[f"x{i + 1}" for i in range(x.shape[1])])
    return frame.assign(label=[f"class {code}" for code in codes])


def drawn(name: str, size: int, seed: int) -> Split:
    """Training and new rows of a law."""
    rng, n = np.random.default_rng([seed, size, 77]), size + NEW_ROWS
    if name == "three":
        codes = rng.integers(0, 3, n)
        mean = np.array([[-4.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 0.5], [2.2, 1.2, 0.8, 0.0]])
        root = np.array([[1, 0.6, 0.4, 0], [0, 0.8, 0.3, 0.2], [0, 0, 0.7, 0.4], [0, 0, 0, 0.6]])
        x = mean[codes] + rng.normal(size=(n, 4)) @ root * (1 + 0.3 * codes[:, None]) * 0.8
        frame = labelled(x, codes)
        return frame.iloc[:size], frame.iloc[size:]
    if name == "separable":
        root = np.array([[1, 0.5, -0.4, 0], [0, 1, -0.6, 0.3], [0, 0, 1, 0.5], [0, 0, 0, 0.7]])
        x = rng.normal(size=(n, 4)) @ root
        score = 2 * x[:, 0] + 1.5 * x[:, 1] + x[:, 2] * x[:, 1] + 0.8 * (x[:, 2] ** 2 - 1)
        score = 8 * score
    elif name == "logit":
        x = rng.normal(size=(n, 7)) @ rng.normal(size=(7, 7)) + 2 * rng.normal(size=(n, 1))
        score = x @ rng.normal(size=7)
        score = 2.5 * score / score.std()
    else:
        loadings, z = rng.normal(size=(8, 40)), rng.normal(size=(n, 8))
        score = 1.5 * z[:, 0] * np.sign(z[:, 1] + 0.5) + 1.2 * z[:, 2] + z[:, 3] * z[:, 4]
        score = 1.5 * score
    codes = (score + rng.logistic(size=n) > 0.0).astype(int)
    if name == "wide":
        x = z @ loadings + 1.5 * rng.normal(size=(n, 40))
    frame = labelled(x, codes)
    return frame.iloc[:size], frame.iloc[size:]


def split(name: str, size: int, seed: int) -> Split:
    """Training and new rows."""
    if name == "pinwheel":
        law = bvb.datasets.SIMULATIONS["pinwheel"]
        test = law.sample(NEW_ROWS, np.random.default_rng([seed, 1]))
        return law.sample(size, np.random.default_rng([seed, size])), test
    if name in ("separable", "three", "logit", "wide"):
        return drawn(name, size, seed)
    if name == "wine":
        given = load_wine()
        frame = labelled(given.data, given.target)
    elif name == "redwine":
        frame = pd.read_csv(data_folder() / "wine_quality_red.csv")
        good = np.where(frame["quality"] > 5, "good", "bad")
        frame = frame.drop(columns="quality").assign(label=good)
    else:
        frame = frame_of(name)
    frame = frame.reset_index(drop=True)
    train, test = stratified(frame, min(len(frame) - size, NEW_ROWS), seed)
    return (stratified(train, len(train) - size, seed)[0] if len(train) > size else train), test


def record(job: str, goes_by_the_loss: bool) -> dict[str, object]:
    """One fit, its time and what it foresees of new rows."""
    name, size, seed = job.split(":")
    train, test = split(name, int(size), int(seed))
    weighing.UNCERTAIN = 0.5 if goes_by_the_loss else np.finfo(float).tiny
    n_experts = 10 if name == "pinwheel" else 20
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=n_experts)
    began = time.process_time()
    fit = model.fit(seed=int(seed), draws=250, n_jobs=1)
    return {
        "job": job,
        "goes by the loss": goes_by_the_loss,
        "seconds": time.process_time() - began,
        "passes": int(fit.restarts["n_iter"].sum()),
        "members": len(fit.parts),
        "lpd": float(fit.log_density(test).mean()),
    }


def main() -> None:
    """Two rows per job, kept as soon as they are there."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for job in sys.argv[1:] or JOBS:
            found = [record(job, goes_by_the_loss) for goes_by_the_loss in (False, True)]
            keep(pd.DataFrame(found), "network_certainty", by="job")


if __name__ == "__main__":
    main()
