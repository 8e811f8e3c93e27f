"""Conditional mixture network: a gate, linear experts of a latent vector, an output layer."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.experts.latent import LatentExperts
from bayesvb.experts.linear import LinearSums
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.base import AbstractGate
from bayesvb.linalg import products, quadratic_weights
from bayesvb.models.base import AbstractModel, Draws
from bayesvb.outputs.base import (
    AbstractLatentRows,
    AbstractOutput,
    LatentDraws,
    LatentPredictive,
)
from bayesvb.small_matrices import diagonal_numbers, row_of
from bayesvb.stats import Stats, Sweep

CELLS = 4000
"""Rows times experts gone over at once: an array per entry of a small matrix then fits into the
cache, and memory is taken from the heap, not fresh from the operating system."""

START_PRECISION = 100.0
"""Precision of the coefficients in the posterior from which a random start sets out."""


@dataclass(frozen=True)
class NetworkSums(Stats):
    """Sums of the experts, of the gate and of the output layer."""

    experts: LinearSums
    gate: Stats
    output: Stats


@dataclass(frozen=True)
class NetworkPosterior:
    """Posterior of the experts, of the gate and of the output layer, independent of each other."""

    experts: MatrixNormalGamma
    gate: Any
    output: Any


@dataclass(frozen=True)
class Network(AbstractModel[NetworkPosterior, NetworkSums]):
    r"""``p(y | x) = sum_k pi_k(x) int N(x1 | A_k x, Sigma_k) p(y | x1) dx1``.

    With latent vectors and responsibilities at their optimum the lower bound is

    .. math:: \sum_n \log \sum_k \exp(T_{nk} + \ell_{nk}) - KL_{experts} - KL_{gate} - KL_{output},

    ``T`` the expected log density of latent vector and response with the entropy of the latent
    vector, ``l`` the gate's bounded expected log weight.

    References
    ----------
    Heins et al. (2024), arXiv:2408.16429, eqs 1-21.
    """

    experts: LatentExperts
    gate: AbstractGate[Any, Any]
    output: AbstractOutput[Any, Any]

    @property
    def n_components(self) -> int:
        """Number of experts."""
        return self.gate.n_components

    def local(self, posterior: NetworkPosterior, block: Block) -> Sweep:
        """One pass: latent vectors and responsibilities, then the sums that they weight."""
        return reduce(add, (self._piece(posterior, piece) for piece in self.pieces(block)))

    def pieces(self, block: Block) -> Any:
        """Parts of about equal length, of at most ``CELLS`` rows times experts."""
        longest = max(CELLS // self.n_components, 1)
        n_pieces = max(-(-block.n_rows // longest), 1)
        return block.split(max(-(-block.n_rows // n_pieces), 1))

    def _piece(self, posterior: NetworkPosterior, block: Block) -> Sweep:
        gate = self.gate.rows(posterior.gate, block)
        experts = self.experts.rows(posterior.experts, block, gate.terms)
        latents = self.output.rows(posterior.output, experts.prior, block)
        weighted = block.weighted(latents.responsibilities)
        bound = latents.norm.sum() if block.weight is None else latents.norm @ block.weight
        sums = NetworkSums(
            experts.sums(weighted, latents.moments), gate.sums(weighted), latents.sums(weighted)
        )
        return Sweep(float(bound), sums)

    def update(self, sums: NetworkSums) -> NetworkPosterior:
        """Experts, gate and output layer, each from its own sums."""
        return NetworkPosterior(
            self.experts.update(sums.experts),
            self.gate.update(sums.gate),
            self.output.update(sums.output),
        )

    def kl(self, posterior: NetworkPosterior) -> float:
        """Sum of the three divergences."""
        return (
            self.experts.kl(posterior.experts)
            + self.gate.kl(posterior.gate)
            + self.output.kl(posterior.output)
        )
