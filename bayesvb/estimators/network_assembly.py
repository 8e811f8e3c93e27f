"""Construction of a conditional mixture network from a design and priors; errors and warnings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_choice, check_count
from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.response import CONTINUOUS
from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.estimators.priors import NetworkPriors
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal import Normal
from bayesvb.formula.design import Design
from bayesvb.gates.base import GatePrior
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.models.network.experts import LatentExperts
from bayesvb.models.network.model import Network
from bayesvb.models.network.output_classes import ClassOutput
from bayesvb.models.network.output_classes_shared import SharedClassOutput
from bayesvb.models.network.output_gaussian import GaussianOutput
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.response_notes import warn_of_response

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
    output: Output, n_terms: int, gating: Scaling, priors: NetworkPriors, *, n_experts: int
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
    prior = GatePrior(normal, direction, 1.0, even=priors.equal_prior_weights)
    return StickBreakingGate.from_prior(n_choices, prior)


FEW_ROWS = 5
"""Rows of a class below which it is rare."""


def check_family(covariance: str, posterior: str) -> None:
    """Raise if it is not a family of latent posteriors.

    Raises
    ------
    DataError
    """
    check_choice("latent_covariance", covariance, COVARIANCES)
    check_choice("latent_posterior", posterior, POSTERIORS)
    if covariance == "shared" and posterior == "mean-field":
        raise DataError(
            "latent_covariance='shared' is one covariance per expert, and with "
            "latent_posterior='mean-field' the latent vector does not depend on the expert",
            hint="choose latent_posterior='conditional', or latent_covariance='full'",
        )


def check_response(design: Design, covariance: str) -> None:
    """Refuse a response that a network cannot explain; warn of one that it hardly can.

    Raises
    ------
    DataError
        If every row has a class of its own, or the covariance does not go with numbers.
    """
    n_rows, response, name = design.n_rows, design.responses, design.response_names[0]
    if design.levels is not None:
        if len(design.levels) == n_rows:
            raise DataError(
                f"the response `{name}` has {n_rows} classes in {n_rows} rows: every row has its "
                "own class, so class probabilities are not identified",
                hint="is it an identifier, or a number held as text?",
            )
        _warn_of_rare_classes(name, response[:, 0])
        _warn_of_order(design, name)
        return
    if covariance == "shared":
        raise DataError(
            f"latent_covariance='shared' is for classes, and the response `{name}` holds numbers",
            hint="latent_covariance='full' already is one covariance per expert for numbers",
        )
    columns = zip(response.T, design.response_names, strict=True)
    doubts = [_doubt(column, one) for column, one in columns]
    if not any(doubts):
        warn_of_response(design, CONTINUOUS)


def _warn_of_order(design: Design, name: str) -> None:
    """Warn of classes that have an order, which the network does not use."""
    kind = design.frame[name].dtype if name in design.frame else None
    if isinstance(kind, pd.CategoricalDtype) and kind.ordered and len(kind.categories) > 2:
        warn(
            f"the levels of `{name}` are ordered, and the network does not use their order: did "
            f"you mean DensityRegression({name + ' ~ ...'!r}, data, n_components=1, "
            "family='ordinal')?",
            DesignWarning,
        )


def _warn_of_rare_classes(name: str, codes: RowVector) -> None:
    """Warn of many classes of which most have hardly a row, and of the time that they take."""
    counts = np.unique(codes, return_counts=True)[1]
    rare = int((counts < FEW_ROWS).sum())
    # Largest number of classes without a warning about their numbers of rows.
    if len(counts) > 10 and 2 * rare > len(counts):
        warn(
            f"{rare} of the {len(counts)} classes of `{name}` have fewer than {FEW_ROWS} rows, "
            "too few to estimate their probabilities, and time grows with the cube of the "
            f"number of classes; merge rare classes: data[{name!r}].where(data.groupby({name!r})"
            f"[{name!r}].transform('size') >= {FEW_ROWS}, 'other')",
            DesignWarning,
        )


def _doubt(column: RowVector, name: str) -> bool:
    """Warn of numbers that look like codes of classes; whether they do."""
    levels = np.unique(column)
    # Whole numbers of a response, so few that classes were probably meant.
    few = bool(len(levels) <= 3 and (levels == np.round(levels)).all())
    if few:
        listed = ", ".join(f"{value:g}" for value in levels)
        warn(
            f"the response `{name}` has the values {listed} only, and is taken as a number; "
            f"write C({name}) on the left of the formula if these are classes",
            DesignWarning,
        )
    return few


def latents_of(design: Design, latent_dim: int | None) -> int:
    """Length of the latent vector: as many as sticks, or as responses, unless it is given."""
    if latent_dim is None:
        return len(design.levels) - 1 if design.levels else len(design.response_names)
    check_count("latent_dim", latent_dim)
    return int(latent_dim)
