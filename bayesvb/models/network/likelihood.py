r"""Likelihood of a network for classes at a point: latent vectors without noise.

Labels tell neither the scale of a latent vector nor its noise, which acts on class probabilities as
smaller coefficients do. Maximum likelihood estimates therefore have no latent noise:

.. math:: p(y \mid x) = \sum_k \pi_k(x)\, p(y \mid u = A_k x).
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.experts.linear import LinearStats
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.designs import DenseDesign
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.model import Network
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.state import NetworkPosterior, NetworkStats
from bayesvb.models.network.stick_labels import StickLabels
from bayesvb.numerics.linalg import pack
from bayesvb.numerics.special import jaakkola, log_sum_exp
from bayesvb.variational.likelihood import AbstractLikelihood, LikelihoodStep
from bayesvb.variational.linear_predictors import LogitStats

NOISE_VARIANCE = 1e-6
"""Variance of latent vectors that stands for none, where columns of the output layer have length
one: it changes log probabilities by less than 1e-6."""

ROUNDING = 1e-12
"""The same relative to squared coefficients, of which sums of squares leave that much."""

POINT_WEIGHT = 1e6
"""Rows of the statistics of a point: beside them the prior of a start moves it by 1e-7."""

SEPARATED = 0.99
"""Probability of every training label from which on nothing keeps coefficients from growing."""


@dataclass(frozen=True)
class LikelihoodNetwork(Network):
    """Network whose prior is there to keep matrices regular only, and without latent noise.

    Attributes
    ----------
    given : Network
        The network with its prior, from whose posterior means a run starts.
    """

    output: ClassOutput
    given: Network = field(kw_only=True)

    @classmethod
    def of(cls, given: Network) -> LikelihoodNetwork:
        """The network of point estimates.

        Raises
        ------
        NotImplementedError
            If the output layer has none.
        """
        prior = given.experts.prior
        noise = MatrixNormalGamma.prior(
            prior.mean, prior.precision, float(prior.shape), NOISE_VARIANCE * prior.rate
        )
        output: Any = given.output.with_prior_power(0.0)
        gate = given.gate.with_prior_power(0.0)
        return cls(LatentExperts(noise), gate, output, given=replace(given, output=output))

    without_information = (
        "linear maps of the latent vector leave the likelihood unchanged, so the information of "
        "the parameters is singular"
    )

    def likelihood(self) -> NetworkLikelihood:
        """Log likelihood of the labels; EM steps would hardly move without noise."""
        return NetworkLikelihood(self)

    def separated(self, posterior: NetworkPosterior, block: Block) -> bool:
        """Whether the label of every row is all but certain: coefficients then grow for ever."""
        return bool(self.log_predictive(posterior, block).min() > np.log(SEPARATED))


@dataclass(frozen=True)
class NetworkLikelihood(AbstractLikelihood[NetworkStats]):
    """Log likelihood of the labels under a network without latent noise.

    Attributes
    ----------
    network : LikelihoodNetwork
    """

    network: LikelihoodNetwork

    def vector(self, stats: NetworkStats) -> Float[np.ndarray, " parameters"]:
        """Coefficients of experts, gate, and output layer at their posterior means."""
        posterior = self.network.given.update(stats)
        means = posterior.experts.mean, posterior.gate.mean, posterior.output.mean
        return np.concatenate([mean.ravel() for mean in means])

    def _parts(
        self, vector: Float[np.ndarray, " parameters"]
    ) -> tuple[
        Float[np.ndarray, "experts latents terms"],
        Float[np.ndarray, "sticks gating_terms"],
        Float[np.ndarray, "class_sticks latents_and_one"],
    ]:
        """Coefficients of experts, gate, and output layer."""
        network = self.network
        experts = (network.n_components, *network.experts.prior.mean.shape)
        shapes = experts, network.gate.prior.mean.shape, network.output.prior.mean.shape
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
        noise = NOISE_VARIANCE + ROUNDING * squares
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
        local = self.network.gate.rows_of(stick, np.zeros_like(stick), design)
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
