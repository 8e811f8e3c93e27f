"""Time per sweep, sweeps to convergence and held-out density of networks, with a fixed workload.

    python tests/benchmarks/bench_network.py            speed, scaling and acceleration
    python tests/benchmarks/bench_network.py scaling    scaling alone
    python tests/benchmarks/bench_network.py density    held-out density on the pinwheel as well

Milliseconds are the least processor time of a sweep on one thread. The workload (an inverse of
4096 matrices of size 4 by vector operations, a product of 512 x 512 matrices, one million
exponentials) tells how fast the machine was in the same minute.
"""

import importlib.util
import sys
import time
from functools import partial

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from tables import keep
from threadpoolctl import threadpool_limits

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.datasets import SIMULATIONS
from bayesvb.engines.cavi import cavi
from bayesvb.engines.differentiated import Target, double_precision
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates.base import GatePrior
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.model import Network
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.output_classes_shared import SharedClassOutput
from bayesvb.numerics.packed_matrices import diagonal_numbers, solve_and_invert
from bayesvb.numerics.runtime import keep_freed_memory

GRADIENTS = 10
"""Gradients of which the least time counts."""

WAYS = {
    "full": {},
    "diagonal": {"covariance": "diagonal"},
    "shared": {},
    "mean-field": {"conditional": False},
}
"""Posteriors of a latent vector: the shared one is an output layer of its own."""


def sticks(n_choices, n_terms, precision=1.0 / 25.0):
    """Prior of stick-breaking coefficients, equal weights at zero, intercept last."""
    normal = Normal.from_precision(np.zeros(n_terms), precision * np.eye(n_terms))
    return StickBreakingGate.from_prior(n_choices, GatePrior(normal, np.eye(n_terms)[-1], 1.0))


def network(n_terms, n_classes, *, experts, latents=None, way="full"):
    """Network with the priors of the paper: V0 = 10, a0 = 2, b0 = 1, standard deviations 5."""
    h = latents or n_classes - 1
    prior = MatrixNormalGamma.prior(np.zeros((h, n_terms)), 0.1 * np.eye(n_terms), 2.0, np.ones(h))
    output = ClassOutput(sticks(n_classes, h + 1).prior, **WAYS[way])
    if way == "shared":
        output = SharedClassOutput(output)
    return Network(LatentExperts(prior), sticks(experts, n_terms), output)


def block_of(x, codes):
    """Rows with the intercept last, the same design for both parts."""
    design = np.ascontiguousarray(np.vstack([x.T, np.ones((1, len(x)))]))
    return Block({"mean": design, "gating": design}, np.asarray(codes, float)[None])


def pinwheel(n, seed, n_test=2000):
    """Training and test rows, standardised by an independent sample of 10 000."""
    law, rng = SIMULATIONS["pinwheel"], np.random.default_rng(seed)
    big = law.sample(10_000, rng)[["x1", "x2"]].to_numpy()
    blocks = []
    for size in (n, n_test):
        frame = law.sample(size, rng)
        x = (frame[["x1", "x2"]].to_numpy() - big.mean(axis=0)) / big.std(axis=0)
        blocks.append(block_of(x, frame["label"].astype(str).astype(int)))
    return blocks


def breast_cancer():
    """569 rows, 30 columns, standardised."""
    data = load_breast_cancer()
    return block_of((data.data - data.data.mean(axis=0)) / data.data.std(axis=0), data.target)


def least_milliseconds(function, repeats):
    """Least CPU time of a call, in all threads."""
    times = []
    for _ in range(repeats):
        began = time.process_time()
        function()
        times.append(time.process_time() - began)
    return 1e3 * min(times)


def workload():
    """Milliseconds of three fixed pieces of arithmetic."""
    rng = np.random.default_rng(0)
    square, many = rng.random((512, 512)), rng.random(1_000_000)

    def invert():
        triangle = np.zeros((15, 4096))
        triangle[diagonal_numbers(4)] = 2.0
        solve_and_invert(triangle, 4)

    pieces = (invert, partial(np.matmul, square, square), partial(np.exp, many))
    return [least_milliseconds(piece, 20) for piece in pieces]


def random_start(model, block, rng):
    """Posterior of a random partition of the rows."""
    shares = rng.dirichlet(np.ones(model.n_components), block.n_rows).T
    return model.update(model.first_stats(model.partition_stats(block, shares)))


def sweep_time(model, block, sweeps=60):
    """Milliseconds of a sweep: one pass, the update and its divergence."""
    block = block.with_products()
    q = random_start(model, block, np.random.default_rng(0))
    for _ in range(10):
        q = model.update(model.e_step(q, block).stats)

    def sweep():
        sweep = model.e_step(q, block)
        model.kl(model.update(sweep.stats))

    return least_milliseconds(sweep, sweeps)


def gradient_times(model, block):
    """Milliseconds of a gradient: of the log likelihood, and by JAX of the log joint if installed.

    A step of maximum likelihood takes one of the first, a step of NUTS one of the second, and a
    step of BBVI eight.
    """
    likelihood = model.with_prior_power(0.0).likelihood()
    stats = model.e_step(random_start(model, block, np.random.default_rng(0)), block).stats
    vector = likelihood.vector(stats)
    found = {
        "likelihood": least_milliseconds(
            lambda: likelihood.value_and_gradient(vector, block), GRADIENTS
        )
    }
    if importlib.util.find_spec("jax") is not None:
        found["log joint"] = joint_time(model, block, stats)
    return found


def joint_time(model, block, stats):
    """Milliseconds of a gradient of the log joint density at a draw."""
    import jax

    complete = model.with_complete_draws()
    target = Target.of(complete, InMemorySource((block,)))
    drawn = complete.draws(complete.update(stats), 1, np.random.default_rng(0))
    with double_precision():
        gradient = jax.jit(jax.grad(target.potential))
        vector = jax.numpy.asarray(target.space.vectors(drawn)[0])
        gradient(vector).block_until_ready()
        return least_milliseconds(lambda: gradient(vector).block_until_ready(), GRADIENTS)


def ascent(model, block, seed, **options):
    """One run from a random partition."""
    source = InMemorySource((block.with_products(),))
    stats = model.e_step(random_start(model, block, np.random.default_rng(seed)), block).stats
    return cavi(model, source, stats, **options)


def log_density(model, stats, block):
    """Mean log predictive probability of the labels."""
    q = model.update(stats)
    p = model.output.probabilities(q.output, model.latents(q, block))
    codes = block.response[0].astype(int)
    return float(np.log(p[codes, np.arange(len(codes))]).mean())


def speed():
    """Time per sweep of the two reference problems, then against the length of the latents."""
    inverses, product, exponentials = workload()
    print(f"workload ms: inverses {inverses:.2f}, product {product:.2f}, exp {exponentials:.2f}")
    train, _ = pinwheel(1600, 1)
    print(f"pinwheel N=1600 K=10 L=5: {sweep_time(network(3, 5, experts=10), train):.2f} ms")
    cancer = sweep_time(network(31, 2, experts=20), breast_cancer())
    print(f"breast_cancer K=20: {cancer:.2f} ms")


def scaling():
    """Milliseconds of a sweep against the numbers of columns, experts, latents, one at a time.

    Against the last also with each of the cheaper posteriors of a latent vector. Beside it a
    gradient of the log likelihood and one of the log joint density: figure 4 of the paper.
    """
    rng, records = np.random.default_rng(0), []
    usual = {"columns": 4, "experts": 10, "latents": 4}
    for name, values in (
        ("columns", (2, 4, 8, 16, 32)),
        ("experts", (5, 10, 20, 40)),
        ("latents", (1, 2, 4, 8)),
    ):
        for value in values:
            size = usual | {name: value}
            block = block_of(rng.normal(size=(1600, size["columns"])), rng.integers(0, 5, 1600))
            for way in WAYS if name == "latents" else ("full",):
                model = network(
                    size["columns"] + 1,
                    5,
                    experts=size["experts"],
                    latents=size["latents"],
                    way=way,
                )
                time_ = sweep_time(model, block, 15)
                records.append({"varied": name, **size, "posterior": way, "ms": time_})
                if way == "full":
                    records += [
                        {"varied": name, **size, "posterior": f"gradient of {rival}", "ms": ms}
                        for rival, ms in gradient_times(model, block).items()
                    ]
    keep(pd.DataFrame(records), "network_scaling")


def acceleration():
    """Sweeps to convergence with and without extrapolation."""
    for n in (200, 1600):
        train, _ = pinwheel(n, 1)
        model = network(3, 5, experts=10)
        runs = [ascent(model, train, 0, accelerate=a, max_iter=3000) for a in (False, True)]
        print(
            f"pinwheel N={n}: plain {runs[0].n_iter} sweeps to {runs[0].bound:.2f},",
            f"accelerated {runs[1].n_iter} to {runs[1].bound:.2f}",
        )


def density():
    """Held-out density of single starts on the pinwheel with each posterior of a latent vector."""
    records = []
    for n in (200, 1600):
        for data_seed in range(5):
            train, test = pinwheel(n, data_seed)
            for way in WAYS:
                model = network(3, 5, experts=10, way=way)
                runs = [ascent(model, train, start, max_iter=1000) for start in range(3)]
                lpd = np.mean([log_density(model, run.stats, test) for run in runs])
                sweeps = np.mean([run.n_iter for run in runs])
                records.append({"n": n, "posterior": way, "lpd": lpd, "sweeps": sweeps})
    groups = pd.DataFrame(records).groupby(["n", "posterior"], sort=False)
    keep(groups.mean().assign(lpd_se=groups["lpd"].sem()).reset_index(), "network_posteriors")


if __name__ == "__main__":
    keep_freed_memory()
    with threadpool_limits(1):
        scaling()
        if "scaling" not in sys.argv:
            speed()
            acceleration()
        if "density" in sys.argv:
            density()
