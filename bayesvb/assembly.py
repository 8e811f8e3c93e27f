"""From a design and priors to what engines work on: a model and standardised blocks of rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.experts.linear import LinearExperts
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.models.mixture import Mixture
from bayesvb.priors import GaussianPriors, Priors
from bayesvb.scaling import Scaling


@dataclass(frozen=True)
class Scales:
    """Standardisation of every part and of the responses."""

    parts: Mapping[str, Scaling]
    response: Scaling

    @classmethod
    def of(
        cls,
        matrices: Mapping[str, Float[np.ndarray, "rows _"]],
        terms: Mapping[str, tuple[str, ...]],
        response: Float[np.ndarray, "rows responses"],
        *,
        active: bool,
    ) -> Scales:
        """Scales of the training data."""
        parts = {
            name: Scaling.of(matrix, terms[name], active=active)
            for name, matrix in matrices.items()
        }
        centred = parts["mean"].intercept is not None
        return cls(parts, Scaling.of_response(response, centred=centred, active=active))

    def block(
        self,
        matrices: Mapping[str, Float[np.ndarray, "rows _"]],
        response: Float[np.ndarray, "rows responses"] | None = None,
        weight: Float[np.ndarray, " rows"] | None = None,
    ) -> Block:
        """Standardised rows; zeros stand for a response that is not known."""
        designs = {name: self.parts[name].rows_last(m) for name, m in matrices.items()}
        if response is None:
            n_rows = next(iter(designs.values())).shape[1]
            standard = np.zeros((len(self.response.centre), n_rows))
        else:
            standard = self.response.rows_last(response)
        return Block(designs, standard, weight)


def source_of(
    scales: Scales,
    matrices: Mapping[str, Float[np.ndarray, "rows _"]],
    response: Float[np.ndarray, "rows responses"],
    weight: Float[np.ndarray, " rows"] | None,
) -> Source:
    """Training rows as standardised blocks, each one contiguous."""
    blocks = []
    for start in range(0, len(response), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        part = {name: matrix[rows] for name, matrix in matrices.items()}
        blocks.append(scales.block(part, response[rows], None if weight is None else weight[rows]))
    return Source(tuple(blocks))


def variables_source(
    scaling: Scaling,
    matrix: Float[np.ndarray, "rows dims"],
    weight: Float[np.ndarray, " rows"] | None,
) -> Source:
    """Rows of a model without a response as standardised blocks."""
    blocks = []
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        share = None if weight is None else weight[rows]
        blocks.append(variables_block(scaling, matrix[rows], share))
    return Source(tuple(blocks))


def variables_block(
    scaling: Scaling,
    matrix: Float[np.ndarray, "rows dims"],
    weight: Float[np.ndarray, " rows"] | None = None,
) -> Block:
    """Standardised variables of some rows; there is no response."""
    return Block({"variables": scaling.rows_last(matrix)}, np.empty((0, len(matrix))), weight)


def gaussians_of(
    n_dims: int, priors: GaussianPriors, *, n_components: int, covariance: str
) -> Mixture:
    """Mixture of Gaussians with these priors and constant weights."""
    scatter = priors.covariance_scale**2 * priors.covariance_rows * np.eye(n_dims)
    experts = GAUSSIAN_EXPERTS[covariance].from_prior(
        np.zeros(n_dims),
        float(priors.mean_precision),
        priors.covariance_rows + n_dims + 1.0,
        scatter,
    )
    concentration = priors.concentration or 1.0 / n_components
    return Mixture(experts, DirichletGate(Dirichlet(np.full(n_components, float(concentration)))))


def gating_sds(scaling: Scaling, priors: Priors) -> Float[np.ndarray, " terms"]:
    """Prior standard deviation of each logit coefficient on the standardised scale."""
    sds = np.full(len(scaling.scale), float(priors.gating_sd))
    if scaling.intercept is not None:
        sds[scaling.intercept] = priors.gating_intercept_sd
    return sds


def mixture_of(
    terms: Mapping[str, tuple[str, ...]],
    scales: Scales,
    priors: Priors,
    *,
    n_components: int,
    gate: str,
) -> Mixture:
    """Mixture of linear experts with these priors."""
    n_terms = len(terms["mean"])
    n_responses = len(scales.response.centre)
    experts = MatrixNormalGamma.prior(
        np.zeros((n_responses, n_terms)),
        np.eye(n_terms) / priors.coefficient_sd**2,
        priors.noise_shape,
        np.full(n_responses, float(priors.noise_rate)),
    )
    gating = scales.parts["gating"]
    sds = gating_sds(gating, priors)
    intercept = np.zeros(len(sds))
    if gating.intercept is not None:
        intercept[gating.intercept] = 1.0
    coefficients = Normal.from_precision(np.zeros(len(sds)), np.diag(sds**-2.0))
    prior = GatePrior(coefficients, intercept, priors.concentration)
    return Mixture(LinearExperts(experts), GATES[gate].from_prior(n_components, prior))
