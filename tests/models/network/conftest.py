"""Random networks, and the lower bound written out cell by cell."""

from dataclasses import dataclass, replace
from math import lgamma, log, pi

import numpy as np
import pytest
from scipy.special import digamma

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.linear.precisions import DensePrecision
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.model import Network
from bayesvb.models.network.output import START_PRECISION
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.output_gaussian import GaussianOutput
from bayesvb.models.network.shared_products import PairedProducts
from bayesvb.models.network.state import NetworkPosterior
from bayesvb.numerics.linalg import unpack


def definite(rng, n):
    root = np.eye(n) + 0.3 * rng.normal(size=(n, n))
    return root @ root.T


def random_network(rng, kind, *, terms, gate_terms, experts, latents, width, **options):
    """Network with correlated priors whose means are not zero; width = classes or responses."""
    prior = MatrixNormalGamma.prior(
        0.3 * rng.normal(size=(latents, terms)),
        definite(rng, terms),
        rng.uniform(0.5, 3.0),
        rng.uniform(0.5, 3.0, latents),
    )
    gate = Normal.from_precision(
        0.5 * rng.normal(size=(experts - 1, gate_terms)), 0.2 * definite(rng, gate_terms)
    )
    if kind == "classes":
        mean = 0.5 * rng.normal(size=(width - 1, latents + 1))
        output = ClassOutput(
            Normal.from_precision(mean, 0.2 * definite(rng, latents + 1)), **options
        )
    else:
        output = GaussianOutput(
            MatrixNormalGamma.prior(
                0.5 * rng.normal(size=(width, latents + 1)),
                definite(rng, latents + 1),
                rng.uniform(0.5, 3.0),
                rng.uniform(0.5, 3.0, width),
            ),
            **options,
        )
    return Network(LatentExperts(prior), StickBreakingGate(gate), output)


def random_start(network, rng, spread):
    """Posterior with random experts, gate and output layer at their prior means."""
    prior = network.experts.prior
    n_latents, n_terms = prior.mean.shape
    noise = rng.uniform(-spread, spread, (network.n_components, n_latents, n_terms))
    narrow = MatrixNormalGamma.prior(
        prior.mean, START_PRECISION * np.eye(n_terms), float(prior.shape) + 1.0, prior.rate + 1.0
    )
    each = (network.n_components, *(1,) * 2)
    experts = MatrixNormalGamma(
        prior.mean + noise / np.sqrt(n_terms),
        DensePrecision(np.tile(narrow.precision, each)),
        np.full(network.n_components, float(narrow.shape)),
        np.tile(narrow.rate, each[:2]),
    )
    gate_mean = network.gate.prior.mean
    precision = START_PRECISION * np.eye(gate_mean.shape[1])
    gate = Normal.from_precision(gate_mean, np.tile(precision, (len(gate_mean), 1, 1)))
    return NetworkPosterior(experts, gate, network.output.start())


@dataclass(frozen=True)
class Problem:
    """A network and rows."""

    model: Network
    block: Block
    kind: str
    seed: int

    def start(self):
        return random_start(self.model, np.random.default_rng(self.seed), spread=2.0)

    def posterior(self, sweeps=4):
        q = self.start()
        for _ in range(sweeps):
            q = self.model.update(self.model.e_step(q, self.block).stats)
        return q

    def latent_rows(self, q):
        features = PairedProducts.of(self.block, "mean", "gating")
        _, prior = self.model.gate_and_prior(q, self.block, features)
        return self.model.output.local(q.output, prior, self.block)

    def source(self, size=None, workers=1):
        return InMemorySource(tuple(self.block.split(size or self.block.n_rows)), workers=workers)

    def with_output(self, **changes):
        output = replace(self.model.output, **changes)
        return replace(self, model=replace(self.model, output=output))


@pytest.fixture
def make_problem():
    """Problem of random sizes, or of given ones."""

    def build(kind, seed, *, weighted=False, options=None, **sizes):
        rng = np.random.default_rng(seed)
        sizes = {
            "rows": int(rng.integers(4, 60)),
            "terms": int(rng.integers(1, 5)),
            "gate_terms": int(rng.integers(1, 5)),
            "experts": int(rng.integers(1, 6)),
            "latents": int(rng.integers(1, 5)),
            "width": int(rng.integers(2, 6) if kind == "classes" else rng.integers(1, 4)),
        } | sizes
        rows = sizes.pop("rows")
        designs = {
            name: np.vstack([np.ones((1, rows)), rng.normal(size=(sizes[size] - 1, rows))])
            for name, size in (("mean", "terms"), ("gating", "gate_terms"))
        }
        if kind == "classes":
            score = rng.normal(size=(sizes["width"], sizes["terms"])) @ designs["mean"]
            response = np.argmax(2 * score + rng.gumbel(size=score.shape), axis=0)[None] * 1.0
        else:
            slopes = rng.normal(size=(sizes["width"], sizes["terms"]))
            response = np.abs(slopes @ designs["mean"]) + 0.3 * rng.normal(
                size=(sizes["width"], rows)
            )
        weight = rng.integers(0, 4, size=rows).astype(float) if weighted else None
        model = random_network(rng, kind, **sizes, **(options or {}))
        return Problem(model, Block(designs, response, weight), kind, seed)

    return build


def kl_gamma(a, b, a0, b0):
    return (
        (a - a0) * digamma(a) - lgamma(a) + lgamma(a0) + a0 * (log(b) - log(b0)) + a * (b0 - b) / b
    )


def kl_normal(mean, covariance, mean0, precision0):
    shift = mean - mean0
    trace = np.trace(precision0 @ covariance) + shift @ precision0 @ shift - len(mean)
    return 0.5 * (trace - np.linalg.slogdet(precision0)[1] - np.linalg.slogdet(covariance)[1])


def kl_mng(mean, covariance, a, b, prior):
    total = 0.0
    for i in range(len(mean)):
        total += kl_gamma(a, b[i], float(prior.shape), prior.rate[i])
        shift = mean[i] - prior.mean[i]
        total += 0.5 * a / b[i] * shift @ prior.precision @ shift
        total += kl_normal(np.zeros(len(shift)), covariance, np.zeros(len(shift)), prior.precision)
    return total


def bound_f(mean, square, xi):
    """The quadratic bound on ``E log(1 + exp u)`` at any xi."""
    return 0.5 * (mean - xi) + np.tanh(xi / 2) / (4 * xi) * (square - xi**2) + np.logaddexp(0, xi)


def local_variables(problem, q):
    """Everything per row that a pass settled on, as plain arrays to be perturbed."""
    rows = problem.latent_rows(q)
    moments = unpack(np.moveaxis(rows.moments, 0, -1))
    experts = problem.model.n_components
    mean = np.broadcast_to(
        moments[..., -1, :-1], (experts, *moments.shape[1:2], moments.shape[-1] - 1)
    )
    square = np.broadcast_to(moments[..., :-1, :-1], (*mean.shape, mean.shape[-1]))
    variables = {
        "r": rows.responsibilities,
        "m": mean.copy(),
        "S": square - mean[..., :, None] * mean[..., None, :],
    }
    second = gate_moments(problem, q)[1]
    variables["gate_xi"] = np.sqrt(second)
    if problem.kind == "classes":
        variables["xi"] = np.sqrt(logit_moments(q, variables["m"], variables["S"])[1])
    return variables


def gate_moments(problem, q):
    z = problem.block.designs["gating"]
    logit = q.gate.mean @ z
    return logit, logit**2 + np.einsum("an,kab,bn->kn", z, q.gate.covariance, z)


def logit_moments(q, m, S):
    """``E psi`` and ``E psi^2`` of the output sticks, (experts, rows, sticks)."""
    u = np.concatenate([m, np.ones((*m.shape[:-1], 1))], axis=-1)
    second = u[..., :, None] * u[..., None, :]
    second[..., :-1, :-1] += S
    w = q.output.covariance + q.output.mean[:, :, None] * q.output.mean[:, None, :]
    return u @ q.output.mean.T, np.einsum("knab,lab->knl", second, w)


def label_term(problem, q, v, k, n):
    mean, square = v["label_moments"]
    y = int(problem.block.response[0, n])
    total = 0.0
    for stick in range(min(y + 1, mean.shape[-1])):
        total += (stick == y) * mean[k, n, stick]
        total -= bound_f(mean[k, n, stick], square[k, n, stick], v["xi"][k, n, stick])
    return total


def response_term(problem, q, v, k, n):
    out = q.output
    u = np.append(v["m"][k, n], 1.0)
    second = np.outer(u, u)
    second[:-1, :-1] += v["S"][k, n]
    total = 0.0
    for o, y in enumerate(problem.block.response[:, n]):
        zeta = out.shape[0] / out.rate[0, o]
        w = out.covariance[0] + zeta * np.outer(out.mean[0, o], out.mean[0, o])
        total += 0.5 * (digamma(out.shape[0]) - log(out.rate[0, o]) - log(2 * pi))
        total -= 0.5 * (zeta * y**2 - 2 * zeta * y * out.mean[0, o] @ u + np.trace(w @ second))
    return total


def cell(problem, q, v, k, n):
    """``T_nk``: latent vector, response, entropy."""
    x = problem.block.designs["mean"][:, n]
    e, m, S = q.experts, v["m"][k, n], v["S"][k, n]
    total = 0.5 * np.linalg.slogdet(S)[1] + 0.5 * len(m) * (1 + log(2 * pi))
    for i in range(len(m)):
        tau = e.shape[k] / e.rate[k, i]
        total += 0.5 * (digamma(e.shape[k]) - log(e.rate[k, i]) - log(2 * pi))
        total -= 0.5 * tau * ((m[i] - e.mean[k, i] @ x) ** 2 + S[i, i])
        total -= 0.5 * x @ e.covariance[k] @ x
    term = label_term if problem.kind == "classes" else response_term
    return total + term(problem, q, v, k, n)


def kl_network(model, q):
    e, out = q.experts, q.output
    total = sum(
        kl_mng(e.mean[k], e.covariance[k], e.shape[k], e.rate[k], model.experts.prior)
        for k in range(len(e.mean))
    )
    gate = model.gate.prior
    for k in range(len(q.gate.mean)):
        total += kl_normal(q.gate.mean[k], q.gate.covariance[k], gate.mean[k], gate.precision)
    if isinstance(out, MatrixNormalGamma):
        return total + kl_mng(
            out.mean[0], out.covariance[0], out.shape[0], out.rate[0], model.output.prior
        )
    prior = model.output.prior
    return total + sum(
        kl_normal(out.mean[j], out.covariance[j], prior.mean[j], prior.precision)
        for j in range(len(out.mean))
    )


def slow_bound(problem, q, variables):
    """The lower bound, summed over rows and experts one at a time."""
    v = dict(variables)
    if problem.kind == "classes":
        v["label_moments"] = logit_moments(q, v["m"], v["S"])
    logit, second = gate_moments(problem, q)
    n_experts, n_rows = v["r"].shape
    weight = problem.block.weight
    total = 0.0
    for n in range(n_rows):
        row, reach = 0.0, 1.0
        for k in range(n_experts):
            r = v["r"][k, n]
            row += r * cell(problem, q, v, k, n) - (r * log(r) if r > 0 else 0.0)
            if k < n_experts - 1:
                row += r * logit[k, n]
                row -= reach * bound_f(logit[k, n], second[k, n], v["gate_xi"][k, n])
            reach -= r
        total += row if weight is None else weight[n] * row
    return total - kl_network(problem.model, q)


@dataclass(frozen=True)
class Oracle:
    """The bound for given row variables, and the row variables of a pass."""

    bound = staticmethod(slow_bound)
    variables = staticmethod(local_variables)
    logits = staticmethod(logit_moments)


@pytest.fixture
def oracle():
    return Oracle
