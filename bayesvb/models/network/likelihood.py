r"""Likelihood of a network for classes at a point: latent vectors without noise.

Labels identify neither the scale of a latent vector nor its noise, which has the effect on class
probabilities of smaller coefficients. Maximum likelihood estimates therefore have no latent noise:

.. math:: p(y \mid x) = \sum_k \pi_k(x)\, p(y \mid u = A_k x).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.experts.linear import LinearStats
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.linear.designs import DenseDesign
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.state import NetworkStats
from bayesvb.models.network.stick_labels import StickLabels
from bayesvb.numerics.linalg import pack
from bayesvb.numerics.special import jaakkola, log_sum_exp
from bayesvb.variational.likelihood import AbstractLikelihood, LikelihoodStep
from bayesvb.variational.linear_predictors import LogitStats

NOISE_VARIANCE = 1e-6
"""Variance of latent vectors that stands for none, where columns of the output layer have length
one: it changes log probabilities by less than 1e-6."""

POINT_WEIGHT = 1e6
"""Rows of the statistics of a point: relative to them the prior of a start moves it by 1e-7."""


def without_noise(experts: LatentExperts) -> LatentExperts:
    """Experts of latent vectors of which ``NetworkLikelihood.stats`` are the statistics."""
    prior = experts.prior
    rate = NOISE_VARIANCE * prior.rate
    return LatentExperts(
        MatrixNormalGamma.prior(prior.mean, prior.precision, float(prior.shape), rate)
    )


@dataclass(frozen=True)
class NetworkLikelihood(AbstractLikelihood[NetworkStats]):
    """Log likelihood of the labels under a network without latent noise.

    Attributes
    ----------
    experts, output : LatentExperts, ClassOutput
        With their priors, under whose posterior means a run starts.
    gate : StickBreakingGate
    """

    experts: LatentExperts
    gate: StickBreakingGate
    output: ClassOutput

    def vector(self, stats: NetworkStats) -> Float[np.ndarray, " parameters"]:
        """Coefficients of experts, gate, and output layer at their posterior means."""
        experts = self.experts.update(stats.experts).mean
        gate = self.gate.update(stats.gate).mean
        output = cast(LogitStats, stats.output).posterior(self.output.prior).mean
        return np.concatenate([mean.ravel() for mean in (experts, gate, output)])

    def _parts(
        self, vector: Float[np.ndarray, " parameters"]
    ) -> tuple[
        Float[np.ndarray, "experts latents terms"],
        Float[np.ndarray, "sticks gating_terms"],
        Float[np.ndarray, "class_sticks latents_and_one"],
    ]:
        """Coefficients of experts, gate, and output layer."""
        experts = (self.gate.n_components, *self.experts.prior.mean.shape)
        shapes = experts, self.gate.prior.mean.shape, self.output.prior.mean.shape
        ends = np.cumsum([np.prod(shape, dtype=int) for shape in shapes])[:-1]
        each = zip(np.split(vector, ends), shapes, strict=True)
        experts_, gate, output = (values.reshape(shape) for values, shape in each)
        return experts_, gate, output

    def stats(self, vector: Float[np.ndarray, " parameters"]) -> NetworkStats:
        """Statistics of ``POINT_WEIGHT`` rows with these coefficients and next to no noise.

        Columns of the output layer are scaled to length one, which no probability depends on.
        """
        experts, gate, output = self._parts(vector)
        length = np.linalg.norm(output[:, :-1], axis=0)
        length[length == 0.0] = 1.0
        experts = experts * length[:, None]
        output = output / np.append(length, 1.0)
        squares = np.vecdot(experts, experts)
        # Rounding error relative to squared coefficients, of which sums of squares leave that much.
        noise = NOISE_VARIANCE + 1e-12 * squares
        n_experts, _, n_terms = experts.shape
        one_point = NetworkStats(
            LinearStats(np.ones(n_experts), _units(n_experts, n_terms), experts, squares + noise),
            LogitStats(_units(*gate.shape), gate),
            LogitStats(_units(*output.shape), output),
        )
        return POINT_WEIGHT * one_point

    def value_and_gradient(
        self, vector: Float[np.ndarray, " parameters"], block: Block
    ) -> LikelihoodStep:
        """Log likelihood of these labels and its gradient in the coefficients."""
        experts, gate, output = self._parts(vector)
        x, design = block.designs[MEAN], DenseDesign(block.designs[GATING])
        labels = StickLabels.of(block.response[0], len(output) + 1)
        latents = experts @ x
        logit = output[:, :-1] @ latents + output[:, -1:]
        log_cosh, omega = jaakkola(np.abs(logit))
        log_lik = (labels.kappa * logit - labels.reach * log_cosh).sum(axis=1)
        stick = design.predict(gate)
        local = self.gate.rows_of(stick, np.zeros_like(stick), design)
        norm, responsibilities = log_sum_exp(local.expected_log_density + log_lik)
        weighted = block.weighted(responsibilities)
        # Fisher's identity: the gradient is that of the labels with the components given, averaged.
        pull = weighted[:, None] * (labels.kappa - labels.reach * omega * logit)
        curvature, linear = local.weights(weighted)
        value = norm.sum() if block.weight is None else norm @ block.weight
        slopes = (
            (output[:, :-1].T @ pull) @ x.T,
            design.cross(linear - curvature * stick),
            np.column_stack([(pull @ latents.swapaxes(1, 2)).sum(axis=0), pull.sum(axis=(0, 2))]),
        )
        gradient = np.concatenate([slope.ravel() for slope in slopes])
        return LikelihoodStep(float(value), gradient)


def _units(n_matrices: int, n_terms: int) -> Float[np.ndarray, "matrices pairs"]:
    """Packed unit matrices."""
    return np.tile(pack(np.eye(n_terms)), (n_matrices, 1))
