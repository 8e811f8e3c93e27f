"""From a design and priors to what engines work on: a model and standardised blocks of rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.experts.base import AbstractExperts
from bayesvb.experts.linear import LinearExperts
from bayesvb.experts.semiconjugate import NormalAndGamma, SemiConjugateExperts
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.factors.normal_gamma import NormalGamma, ScalarGamma
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.models.mixture import Mixture
from bayesvb.models.pca import PrincipalComponents
from bayesvb.models.pca_prior import PcaPrior
from bayesvb.models.pca_start import PrincipalAxes
from bayesvb.models.univariate import UnivariateGaussian
from bayesvb.priors import GaussianPriors, NormalPriors, PcaPriors, Priors
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
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool,
    ) -> Scales:
        """Scales of the training data."""
        parts = {
            name: Scaling.of(matrix, terms[name], weight=weight, active=active)
            for name, matrix in matrices.items()
        }
        centred = parts["mean"].intercept is not None
        return cls(
            parts, Scaling.of_response(response, centred=centred, weight=weight, active=active)
        )

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


def gapped_block(
    scaling: Scaling,
    matrix: Float[np.ndarray, "rows dims"],
    weight: Float[np.ndarray, " rows"] | None = None,
    *,
    gapped: bool,
) -> Block:
    """Scaled variables with zeros for missing entries; if ``gapped``, ``observed`` tells where."""
    standard = scaling.rows_last(matrix)
    if not gapped:
        return Block({"variables": standard}, np.empty((0, len(matrix))), weight)
    seen = ~np.isnan(standard)
    designs = {"variables": np.where(seen, standard, 0.0), "observed": seen.astype(float)}
    return Block(designs, np.empty((0, len(matrix))), weight)


def gapped_source(
    scaling: Scaling,
    matrix: Float[np.ndarray, "rows dims"],
    weight: Float[np.ndarray, " rows"] | None,
) -> Source:
    """Rows with missing entries (NaN) as scaled blocks."""
    gapped = bool(np.isnan(matrix).any())
    blocks = []
    for start in range(0, len(matrix), BLOCK_ROWS):
        rows = slice(start, start + BLOCK_ROWS)
        share = None if weight is None else weight[rows]
        blocks.append(gapped_block(scaling, matrix[rows], share, gapped=gapped))
    return Source(tuple(blocks))


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


def principal_components_of(
    scaling: Scaling, axes: PrincipalAxes, priors: PcaPriors, n_components: int
) -> PrincipalComponents:
    """Factor model with these priors."""
    prior = PcaPrior(
        float(priors.centre_precision),
        float(priors.noise_shape),
        float(priors.noise_rate),
        float(priors.relevance_shape),
        float(priors.relevance_rate),
    )
    return PrincipalComponents(prior, n_components, np.log(scaling.scale), axes, n_components)


def gaussian_of(priors: NormalPriors) -> UnivariateGaussian:
    """One Gaussian sample with this prior."""
    law = ScalarGamma(float(priors.noise_shape), float(priors.noise_rate))
    return UnivariateGaussian(NormalGamma(0.0, float(priors.mean_precision), law))


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
    shape = (len(scales.response.centre), len(terms["mean"]))
    gating = scales.parts["gating"]
    sds = gating_sds(gating, priors)
    intercept = np.zeros(len(sds))
    if gating.intercept is not None:
        intercept[gating.intercept] = 1.0
    coefficients = Normal.from_precision(np.zeros(len(sds)), np.diag(sds**-2.0))
    prior = GatePrior(coefficients, intercept, priors.concentration, even=priors.even_sticks)
    experts = EXPERTS[priors.family](priors, shape)
    return Mixture(experts, GATES[gate].from_prior(n_components, prior))


def _conjugate(priors: Priors, shape: tuple[int, int]) -> LinearExperts:
    """Experts of (responses, terms) whose coefficients have a prior in units of their noise."""
    n_responses, n_terms = shape
    precision = np.eye(n_terms) / priors.coefficient_sd**2
    rate = np.full(n_responses, float(priors.noise_rate))
    return LinearExperts(
        MatrixNormalGamma.prior(np.zeros(shape), precision, priors.noise_shape, rate)
    )


def _semi_conjugate(priors: Priors, shape: tuple[int, int]) -> SemiConjugateExperts:
    """Experts of (responses, terms) whose coefficients know nothing of their noise."""
    n_responses, n_terms = shape
    precision = np.eye(n_terms) / priors.coefficient_sd**2
    noise = Gamma(
        np.full(n_responses, float(priors.noise_shape)),
        np.full(n_responses, float(priors.noise_rate)),
    )
    return SemiConjugateExperts(
        NormalAndGamma(Normal.from_precision(np.zeros(shape), precision), noise)
    )


EXPERTS: dict[str, Callable[[Priors, tuple[int, int]], AbstractExperts[Any, Any]]] = {
    "conjugate": _conjugate,
    "semi-conjugate": _semi_conjugate,
}
"""Linear experts by ``Priors.family``."""
