"""Covariances of a network's latent vector by the number of classes: full, diagonal.

    python tests/benchmarks/bench_network_latents.py [CLASSES ...]

Pinwheels with that many arms, one latent entry less than arms, 800 rows, 10 experts, one run of
at most 400 iterations; two seeds. A covariance of low rank plus a diagonal (Heins et al. 2024,
section 4.3) lies between the two: the difference of ``lpd`` (1,000 new rows, nats per row) is about
the most that it gains on "diagonal", and the difference of the seconds of CPU time the most that
it saves compared with "full". Results: docs/benchmarks/network_latents.csv.
"""

import sys
import time
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.datasets.pinwheel import Pinwheel

ROWS, NEW, EXPERTS, SEEDS, ITERATIONS = 800, 1_000, 10, (1, 2), 400


def measured(classes: int, seed: int) -> list[dict[str, float]]:
    """One row for each covariance."""
    wheel = Pinwheel(classes=classes)
    train, new = (wheel.sample(n, np.random.default_rng(10 * seed + i))
                  for i, n in enumerate((ROWS, NEW)))  # fmt: skip
    records = []
    for covariance in ("full", "diagonal"):
        model = bvb.ConditionalMixtureNetwork(
            "label ~ x1 + x2", train, n_experts=EXPERTS, latent_covariance=covariance
        )
        began = time.process_time()
        fit = model.fit(seed=seed, restarts=1, combine="best", n_jobs=1, max_iter=ITERATIONS,
                        covariance="mean-field")  # fmt: skip
        seconds = time.process_time() - began
        records.append({
            "classes": classes, "covariance": covariance, "seed": seed,
            "lpd": fit.log_density(new).mean(), "elbo": fit.elbo / ROWS,
            "iterations": fit.restarts["n_iter"].sum(), "seconds": seconds,
        })  # fmt: skip
    return records


def main() -> None:
    """Rows of a number of classes, kept as soon as they are there."""
    warnings.simplefilter("ignore")
    for classes in map(int, sys.argv[1:] or (5, 9, 13)):
        records = [row for seed in SEEDS for row in measured(classes, seed)]
        keep(pd.DataFrame(records), "network_latents", by="classes")


if __name__ == "__main__":
    main()
