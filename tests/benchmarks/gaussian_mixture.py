"""Time of one pass over the rows of a Gaussian mixture, beside one iteration of scikit-learn.

One thread each, the two taking turns so that both see the same load. Prints CSV: the ratio is what
can be compared between machines.

    OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1 python tests/benchmarks/gaussian_mixture.py
"""

import argparse
import time
from functools import partial

import numpy as np
from sklearn.mixture import BayesianGaussianMixture
from threadpoolctl import threadpool_limits

from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

SKLEARN_NAMES = {"full": "full", "diagonal": "diag"}


def ours(form, x, partition):
    """A function that makes one pass and one update."""
    dims, experts = x.shape[1], len(partition)
    prior = GAUSSIAN_EXPERTS[form].from_prior(np.zeros(dims), 1.0, float(dims), np.eye(dims))
    model = Mixture(prior, DirichletGate(Dirichlet(np.full(experts, 1.0 / experts))))
    whole = Block({"variables": np.ascontiguousarray(x.T)}, np.zeros((0, len(x))))
    blocks = []
    for start in range(0, len(x), BLOCK_ROWS):
        part = whole.part(start, start + BLOCK_ROWS)
        columns = np.ascontiguousarray(part.designs["variables"])
        blocks.append(Block({"variables": columns}, part.response))
    source = Source(tuple(blocks))
    posterior = model.update(model.start(model.begin(whole, partition)))

    def sweep():
        nonlocal posterior
        result = source.map_reduce(partial(model.local, posterior))
        bound = result.bound - model.kl(posterior)
        posterior = model.update(result.sums)
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


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=100_000)
    parser.add_argument("--dims", type=int, default=10)
    parser.add_argument("--components", type=int, default=20)
    parser.add_argument("--repeats", type=int, default=9)
    given = parser.parse_args()
    rng = np.random.default_rng(1)
    centres = 3.0 * rng.normal(size=(given.components, given.dims))
    label = rng.integers(0, given.components, given.rows)
    x = centres[label] + rng.normal(size=(given.rows, given.dims))
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    partition = np.full((given.components, given.rows), 0.1 / given.components)
    partition[label, np.arange(given.rows)] += 0.9
    print("form,rows,dims,components,ours_ms,sklearn_ms,ratio")
    for form in GAUSSIAN_EXPERTS:
        with threadpool_limits(1):
            rivals = ours(form, x, partition), theirs(form, x, partition)
            times = np.array([[clock(sweep) for sweep in rivals] for _ in range(given.repeats)])
        mine, sklearn = 1e3 * np.median(times, axis=0)
        ratio = np.median(times[:, 1] / times[:, 0])
        size = f"{given.rows},{given.dims},{given.components}"
        print(f"{form},{size},{mine:.1f},{sklearn:.1f},{ratio:.2f}")


def clock(function):
    began = time.perf_counter()
    function()
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
