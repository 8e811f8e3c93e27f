"""Growth mixtures: classes of subjects, intervals of their lines, and the density of new subjects.

Subjects of two or three classes have four to eight visits; the class depends on a covariate.
``right`` is the share of subjects in the class that is most likely, ``oracle`` that with the true
parameters; ``coverage`` that of 89 % intervals of intercepts and slopes; ``loo`` and ``new`` are
nats per subject, left out and of 2000 new ones; ``truth`` is that of the true density. Rows without
``group`` are the same model with a component of its own for every row.
"""

import time
from itertools import permutations

import numpy as np
import pandas as pd
from scipy.special import logsumexp, softmax
from scipy.stats import norm
from tables import keep

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd

LINES = np.array([[0.0, 0.5], [1.5, -0.2], [3.0, -0.8]])
"""Intercept and slope by class."""

FIXED = bvb.Priors(scales="fixed")

NOISE, NEW, SETS = 0.8, 2000, 20


def subjects(rng: np.random.Generator, n: int, classes: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows of subjects, and their classes."""
    w = rng.normal(size=n)
    chance = softmax(np.outer(w, np.arange(classes) - 0.5 * (classes - 1)), axis=1)
    k = (chance.cumsum(axis=1) < rng.random(n)[:, None]).sum(axis=1)
    number = np.repeat(np.arange(n), rng.integers(4, 9, n))
    t = rng.uniform(0.0, 3.0, len(number))
    y = LINES[k[number], 0] + LINES[k[number], 1] * t + NOISE * rng.normal(size=len(t))
    return pd.DataFrame({"id": number, "w": w[number], "t": t, "y": y}), k


def true_log_joint(data: pd.DataFrame, classes: int) -> np.ndarray:
    """Log of class probability times density of all rows, subjects by classes."""
    number = data["id"].to_numpy()
    w = data.groupby("id")["w"].first().to_numpy()
    prior = np.outer(w, np.arange(classes) - 0.5 * (classes - 1))
    prior -= logsumexp(prior, axis=1, keepdims=True)
    mean = LINES[:classes, 0] + np.outer(data["t"], LINES[:classes, 1])
    each = norm.logpdf(data["y"].to_numpy()[:, None], mean, NOISE)
    return prior + np.stack([np.bincount(number, one) for one in each.T], axis=1)


def record(seed: int, n: int, classes: int) -> dict[str, float]:
    """One data set."""
    rng = np.random.default_rng(seed)
    data, k = subjects(rng, n, classes)
    new, _ = subjects(rng, NEW, classes)
    began = time.perf_counter()
    model = bvb.DensityRegression(
        "y ~ t | gating(w)", data, n_components=classes, group="id", priors=FIXED
    )
    fit = model.fit(seed=1)
    took = time.perf_counter() - began
    likely = fit.responsibilities().to_numpy().argmax(axis=1)
    table = fit.summary().loc["mean"]
    found = table["mean"].to_numpy().reshape(classes, 2)
    labels = min(
        permutations(range(classes)),
        key=lambda order: ((found - LINES[list(order)]) ** 2).sum(),
    )
    truth = LINES[list(labels)].ravel()
    joint = true_log_joint(data, classes)
    apart = bvb.DensityRegression("y ~ t | gating(w)", data, n_components=classes, priors=FIXED)
    alone = apart.fit(seed=1, covariance="mean-field").log_density(new).groupby(new["id"]).sum()
    return {
        "right": float((np.array(labels)[likely] == k).mean()),
        "oracle": float((joint.argmax(axis=1) == k).mean()),
        "coverage": float(((table["lower"] < truth) & (truth < table["upper"])).mean()),
        "loo": read_elpd(fit.loo()).elpd / n,
        "new": float(fit.log_density(new).mean()),
        "truth": float(logsumexp(true_log_joint(new, classes), axis=1).mean()),
        "without_group": float(alone.mean()),
        "seconds": took,
    }


def main() -> None:
    """One row per number of subjects and classes."""
    records = []
    for classes in (2, 3):
        for n in (50, 200, 1000):
            each = pd.DataFrame([record(seed, n, classes) for seed in range(SETS)])
            records.append({"classes": classes, "subjects": n, **each.mean().to_dict()})
    keep(pd.DataFrame(records).round(3), "groups")


if __name__ == "__main__":
    main()
