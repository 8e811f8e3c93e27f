"""From a design and priors to a conditional mixture network and its rows."""

from __future__ import annotations

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import InMemorySource
from bayesvb.estimators.priors import NetworkPriors
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import GatePrior
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.model import Network
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.output_classes_shared import SharedClassOutput
from bayesvb.models.network.output_gaussian import GaussianOutput

PRODUCTS_BYTES = 1 << 28
"""Memory that the kept products of the designs may take; beyond it each pass makes them again."""

COVARIANCES = ("full", "diagonal", "shared")

POSTERIORS = ("conditional", "mean-field")

Output = ClassOutput | SharedClassOutput | GaussianOutput


def with_products(source: InMemorySource) -> InMemorySource:
    """Rows in memory that keep the products of their designs, if there is room."""
    designs = source.empty().designs
    same = designs[MEAN] is designs[GATING]
    widths = [len(designs[name]) for name in (MEAN, GATING)[: 1 if same else 2]]
    pairs = sum(width * (width + 1) // 2 for width in widths)
    if 8 * pairs * source.n_rows > PRODUCTS_BYTES:
        return source
    return source.each(Block.with_products)


def class_output(
    n_classes: int, n_latents: int, priors: NetworkPriors, *, covariance: str, posterior: str
) -> ClassOutput | SharedClassOutput:
    """Output layer for classes with these priors."""
    prior = _sticks(n_classes, n_latents + 1, n_latents, priors.output_variance, priors)
    conditional = posterior == "conditional"
    if covariance == "shared":
        return SharedClassOutput(ClassOutput(prior.prior))
    return ClassOutput(prior.prior, covariance=covariance, conditional=conditional)


def gaussian_output(
    n_responses: int, n_latents: int, priors: NetworkPriors, *, covariance: str, posterior: str
) -> GaussianOutput:
    """Output layer for numbers with these priors."""
    prior = MatrixNormalGamma.prior(
        np.zeros((n_responses, n_latents + 1)),
        np.eye(n_latents + 1) / priors.output_variance,
        priors.noise_shape,
        np.full(n_responses, float(priors.noise_rate)),
    )
    return GaussianOutput(prior, covariance=covariance, conditional=posterior == "conditional")


def network_of(
    output: Output,
    n_terms: int,
    gating: Scaling,
    priors: NetworkPriors,
    *,
    n_experts: int,
) -> Network:
    """Network with this output layer and these priors."""
    shape = (output.n_latents, n_terms)
    experts = MatrixNormalGamma.prior(
        np.zeros(shape),
        np.eye(n_terms) / priors.coefficient_variance,
        priors.latent_shape,
        np.full(output.n_latents, float(priors.latent_rate)),
    )
    n_gating = len(gating.scale)
    gate = _sticks(n_experts, n_gating, gating.intercept, priors.gating_variance, priors)
    return Network(LatentExperts(experts), gate, output)


def _sticks(
    n_choices: int, n_terms: int, intercept: int | None, variance: float, priors: NetworkPriors
) -> StickBreakingGate:
    """Sticks with independent normal coefficients."""
    direction = np.zeros(n_terms)
    if intercept is not None:
        direction[intercept] = 1.0
    normal = Normal.from_precision(np.zeros(n_terms), np.eye(n_terms) / variance)
    prior = GatePrior(normal, direction, 1.0, even=priors.even_sticks)
    return StickBreakingGate.from_prior(n_choices, prior)
