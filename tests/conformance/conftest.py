"""Random problems, built in the same way for every gate."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import reduce
from operator import add

import numpy as np
import pytest

from bayesvb.blocks import Block, Source
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors import MatrixNormalGamma, Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.models.mixture import Mixture


@dataclass(frozen=True)
class Problem:
    """Rows, a mixture, and a soft partition of the rows to start from."""

    model: Mixture
    block: Block
    partition: np.ndarray

    def source(self, size: int | None = None, workers: int = 1) -> Source:
        """The rows in blocks of this size."""
        return Source(tuple(self.block.split(size or self.block.n_rows)), workers)

    def start(self):
        """Statistics of the first posterior."""
        return self.model.start(self.model.begin(self.block, self.partition))

    def posterior(self, sweeps: int = 3):
        """A posterior some plain sweeps on."""
        posterior = self.model.update(self.start())
        for _ in range(sweeps):
            sums = self.model.local(posterior, self.block).sums
            posterior = self.model.update(self.model.advance(posterior, sums))
        return posterior

    def with_block(self, block: Block) -> "Problem":
        """The same model and partition for other rows."""
        return replace(self, block=block)


def design(rng, n_terms: int, n_rows: int) -> np.ndarray:
    """Intercept and standard normal covariates, terms first."""
    return np.vstack([np.ones((1, n_rows)), rng.normal(size=(n_terms - 1, n_rows))])


def random_prior(rng, n_terms: int) -> GatePrior:
    """Prior of a gate with correlated coefficients and a mean that is not zero."""
    root = np.eye(n_terms) + 0.2 * rng.normal(size=(n_terms, n_terms))
    coefficients = Normal.from_precision(0.3 * rng.normal(size=n_terms), root @ root.T)
    return GatePrior(coefficients, np.eye(n_terms)[0], float(rng.uniform(0.5, 2.0)))


def relabelled_gate(n_components: int, prior: GatePrior) -> AbstractGate:
    """Stick-breaking whose sticks stop at components in another order than that of the labels."""
    gate = GATES["stick-breaking"].from_prior(n_components, prior)
    row = Block({"gating": prior.intercept[:, None]}, np.zeros((0, 1)))
    sums = gate.rows(gate.start(), row).sums(np.ones((n_components, 1)))
    order = np.roll(np.arange(n_components), 1)
    return gate.permuted(order.tolist(), sums)[0]


BUILDERS: dict[str, Callable[[int, GatePrior], AbstractGate]] = {
    **{name: gate.from_prior for name, gate in GATES.items()},
    "stick-breaking relabelled": relabelled_gate,
}


@pytest.fixture(params=BUILDERS)
def gate_name(request) -> str:
    """Every gate in turn."""
    return request.param


@pytest.fixture(params=[name for name in BUILDERS if name != "dirichlet"])
def logit_gate_name(request) -> str:
    """Every gate whose posterior is a Gaussian of logit coefficients."""
    return request.param


@pytest.fixture
def make_gate() -> Callable[..., AbstractGate]:
    """Gate of this name with a random prior."""

    def build(name, n_components, n_terms, rng, *, centred=False):
        prior = random_prior(rng, n_terms)
        if centred:
            mean = np.zeros_like(prior.coefficients.mean)
            prior = replace(prior, coefficients=replace(prior.coefficients, mean=mean))
        return BUILDERS[name](n_components, prior)

    return build


@pytest.fixture
def make_problem(make_gate) -> Callable[..., Problem]:
    """Problem with two covariate-dependent regimes and any number of experts."""

    def build(name, *, seed, experts=3, rows=80, terms=2, responses=1, weighted=False):
        rng = np.random.default_rng(seed)
        x, z = design(rng, terms, rows), design(rng, max(terms - 1, 2), rows)
        prior = MatrixNormalGamma.prior(
            0.2 * rng.normal(size=(responses, terms)),
            0.3 * np.eye(terms) + 0.05,
            1.5,
            rng.uniform(0.3, 1.0, size=responses),
        )
        regime = rng.uniform(size=rows) < 1.0 / (1.0 + np.exp(-2.0 * z[1]))
        slopes = rng.normal(size=(2, responses, terms))
        noise = 0.3 * rng.normal(size=(responses, rows))
        y = np.where(regime, slopes[0] @ x, slopes[1] @ x) + noise
        weight = rng.integers(0, 4, size=rows).astype(float) if weighted else None
        block = Block({"mean": x, "gating": z}, y, weight)
        gate = make_gate(name, experts, len(z), rng)
        partition = rng.dirichlet(np.full(experts, 0.5), size=rows).T.copy()
        return Problem(Mixture(LinearExperts(prior), gate), block, partition)

    return build


@pytest.fixture
def total() -> Callable:
    """Sum of records."""
    return lambda records: reduce(add, records)
