"""Time of one pass over the rows of a Gaussian mixture, beside one iteration of scikit-learn.

One thread each, the two taking turns so that both see the same load. Prints CSV: the ratio is what
can be compared between machines.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python tests/benchmarks/bench_gaussian_mixture_speed.py
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.sources import InMemorySource
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

SKLEARN_NAMES = {"full": "full", "diagonal": "diag"}


def ours(form, x, partition):
    """A function that makes one pass and one update."""
    dims, experts = x.shape[1], len(partition)
    prior = GAUSSIAN_EXPERTS[form](np.zeros(dims), 1.0, float(dims), np.eye(dims))
    model = Mixture(prior, DirichletGate(Dirichlet(np.full(experts, 1.0 / experts))))
    whole = Block({"variables": np.ascontiguousarray(x.T)}, np.zeros((0, len(x))))
    blocks = []
    for start in range(0, len(x), BLOCK_ROWS):
        part = whole.part(start, start + BLOCK_ROWS)
        columns = np.ascontiguousarray(part.designs["variables"])
        blocks.append(Block({"variables": columns}, part.response))
    source = InMemorySource(tuple(blocks))
    posterior = model.update(model.first_stats(model.partition_stats(whole, partition)))

    def sweep():
        nonlocal posterior
        result = source.map_reduce(partial(model.e_step, posterior))
        bound = result.bound - model.kl(posterior)
        posterior = model.update(result.stats)
        return bound

    return sweep


def theirs(form, x, partition):
    """The same from scikit-learn: E-step, M-step, bound."""
    dims, experts = x.shape[1], len(partition)
    prior = np.eye(dims) if form == "full" else np.ones(dims)
    model = BayesianGaussianMixture(
        n_components=experts,
        covariance_type=SKLEARN_NAMES[form],
        weight_concentration_prior_type="dirichlet_distribution",
        weight_concentration_prior=1.0 / experts,
        mean_precision_prior=1.0,
        mean_prior=np.zeros(dims),
        degrees_of_freedom_prior=float(dims),
        covariance_prior=prior,
    )
    model._check_parameters(x)
    model._initialize(x, np.ascontiguousarray(partition.T))

    def sweep():
        log_norm, log_resp = model._e_step(x)
        model._m_step(x, log_resp)
        return model._compute_lower_bound(log_resp, log_norm)

    return sweep


def sweep_times(form, n_rows, dims, components, *, repeats):
    """Median milliseconds of both on the same random data, and their ratio."""
    rng = np.random.default_rng(1)
    centres = 3.0 * rng.normal(size=(components, dims))
    label = rng.integers(0, components, n_rows)
    x = centres[label] + rng.normal(size=(n_rows, dims))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    partition = np.full((components, n_rows), 0.1 / components)
    partition[label, np.arange(n_rows)] += 0.9
    with threadpool_limits(1):
        rivals = ours(form, x, partition), theirs(form, x, partition)
        times = np.array([[clock(sweep) for sweep in rivals] for _ in range(repeats)])
    mine, sklearn = 1e3 * np.median(times, axis=0)
    return {
        "form": form,
        "rows": n_rows,
        "dims": dims,
        "components": components,
        "ours_ms": mine,
        "sklearn_ms": sklearn,
        "ratio": np.median(times[:, 1] / times[:, 0]),
    }


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=10)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    print("form,rows,dims,components,ours_ms,sklearn_ms,ratio")
    for form in GAUSSIAN_EXPERTS:
        found = sweep_times(form, given.rows, given.dims, given.components, repeats=given.repeats)
        print(",".join(f"{v:.1f}" if isinstance(v, float) else str(v) for v in found.values()))


def clock(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
