"""Time of a sweep by the number of terms: all products of terms at once, or a product per matrix.

Density regression of 8192 simulated rows with all covariates in both parts. ``packed`` is one
matrix product with the distinct products of terms for all components together, ``by_component``
one product of the terms with themselves for each component, ``chosen`` what is used.
"""

import time

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.numerics import linalg
from bayesvb.numerics.runtime import single_threaded_blas

ROWS = 8192
FIXED = bvb.Priors(scales="fixed")
TIMED = 7
WAYS = {"packed": 10**9, "by_component": -(10**9), "chosen": linalg.MANY_TERMS}
"""Terms from which there is a product for each matrix."""


def model(n_terms: int, n_components: int) -> bvb.DensityRegression:
    """Rows whose response depends on all covariates a little."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(ROWS, n_terms - 1))
    y = x.sum(axis=1) / n_terms**0.5 * np.where(x[:, 0] > 0, 1, -1) + rng.normal(size=ROWS)
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(n_terms - 1)]).assign(y=y)
    return bvb.DensityRegression("y ~ .", frame, n_components=n_components, priors=FIXED)


def milliseconds(made: bvb.DensityRegression) -> float:
    """Median time of a sweep over all rows, one thread."""
    core, block = made.core, made.source.take(np.arange(ROWS))
    rng = np.random.default_rng(2)
    partition = rng.dirichlet(np.ones(core.n_components), size=ROWS).T.copy()
    stats = core.first_stats(core.partition_stats(block, partition))
    times = []
    with single_threaded_blas():
        for _ in range(TIMED):
            began = time.perf_counter()
            posterior = core.update(stats)
            stats = core.global_step(posterior, core.e_step(posterior, block).stats)
            times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times))


def main() -> None:
    """One row per number of terms and of components."""
    records = []
    for n_components in (2, 5, 10):
        for n_terms in (10, 20, 40, 60, 100):
            made = model(n_terms, n_components)
            found: dict[str, object] = {"components": n_components, "terms": n_terms}
            for way, threshold in WAYS.items():
                linalg.MANY_TERMS = threshold
                found[way] = round(milliseconds(made), 1)
            records.append(found)
    keep(pd.DataFrame(records), "many_terms")


if __name__ == "__main__":
    main()
