"""Contract of the experts of a regression: a likelihood of the response that describes itself."""

from __future__ import annotations

import abc
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.ordered_levels import UNORDERED, OrderedLevels
from bayesvb.data.parts import MEAN
from bayesvb.data.responses import AllResponses
from bayesvb.data.scaling import Scaling
from bayesvb.data.standardised_blocks import Scales
from bayesvb.distributions.base import AbstractDrawnMixture
from bayesvb.distributions.response import CONTINUOUS, Response
from bayesvb.errors import PriorError
from bayesvb.experts.base import AbstractExperts, PosteriorT, StatsT
from bayesvb.experts.drawn_lines import drawn_lines, noise_precision
from bayesvb.factors.coupled_normal_gamma import CommonColumns
from bayesvb.linear.arrow_precisions import diagonal_precision
from bayesvb.linear.designs import AbstractDesign
from bayesvb.linear.precisions import AbstractPrecision
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, DrawTerms, TermVector
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class RegressionPrior:
    """Prior values that experts may need, on the standardised scale; each family uses its part.

    Attributes
    ----------
    n_responses, n_terms : int
    coefficient_sd : float
        Prior standard deviation of a coefficient.
    in_noise : bool
        Whether that is in units of the expert's noise, or else of the response.
    is_alone : bool
        Whether there is one component.
    learned_terms : tuple of int
        Columns whose scale is learned.
    noise_shape, noise_rate : float
        ``1 / sigma^2 ~ Ga(noise_shape, noise_rate)``.
    dof : float or None
        Degrees of freedom of heavy tails; None if they are to be learned.
    dispersion : float or None
        Dispersion of counts; None if it is to be learned.
    standardised : bool
        Whether the response has the scale of ``response_scaling``, or of the data.
    further_terms : mapping of str to int
        Number of terms of the parts that experts read besides the mean.
    has_known_spread : bool
        Whether the part ``sigma`` has an offset.
    n_effects, n_groups : int
        Effects of each group, and groups, where effects have no columns.
    response_columns : tuple of str
        Kinds of further columns of the response, names of ``RESPONSE_COLUMNS``.
    levels : OrderedLevels
        Levels of an ordered response; none of others.
    sigma_sd : float
        Prior standard deviation of a coefficient of the log standard deviation of the noise.
    zero_sd : float
        Prior standard deviation of a coefficient of the log odds of a structural zero.
    """

    n_responses: int
    n_terms: int
    coefficient_sd: float
    in_noise: bool
    noise_shape: float
    noise_rate: float
    dof: float | None = None
    dispersion: float | None = None
    is_alone: bool = False
    learned_terms: tuple[int, ...] = ()
    standardised: bool = True
    further_terms: Mapping[str, int] = field(default_factory=dict)
    has_known_spread: bool = False
    n_effects: int = 0
    n_groups: int = 0
    response_columns: tuple[str, ...] = ()
    levels: OrderedLevels = UNORDERED
    sigma_sd: float = 1.0
    zero_sd: float = 2.5

    @property
    def operator(self) -> AbstractPrecision:
        """Precision of the coefficients, effects of groups behind those that all rows share."""
        precision = self.coefficient_sd**-2.0
        shared, effects = (np.full(n, precision) for n in (self.n_terms, self.n_effects))
        return diagonal_precision(shared, effects, self.n_groups)

    def check_no_dof(self) -> None:
        """Raise if degrees of freedom are given, which these experts do not have.

        Raises
        ------
        PriorError
            If ``dof`` is a number.
        """
        if self.dof is not None:
            raise PriorError(
                f"dof={self.dof:g}, and only family='student' has degrees of freedom",
                hint="omit dof",
            )


@dataclass(frozen=True)
class RegressionUnits:
    """Names and units of a regression, in which experts describe themselves.

    Attributes
    ----------
    terms, responses : tuple of str
    scales : Scales
        Of the terms (part ``"mean"``) and of the responses.
    effects : tuple of str
        Effects of groups that have no columns among the terms.
    further_terms : mapping of str to tuple of str
        Terms of the parts that experts read besides the mean.
    """

    terms: tuple[str, ...]
    responses: tuple[str, ...]
    scales: Scales
    effects: tuple[str, ...] = ()
    further_terms: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    def labelled(self, response: int, term: str = "") -> str:
        """A term of one response: with its name if there are several."""
        return term if len(self.responses) == 1 else f"{self.responses[response]}: {term}"

    def effect_rows(self, words: str, sd: Float[np.ndarray, " effects"]) -> list[PriorRow]:
        """Prior of the effects of groups that have no columns, each a law with this scale."""
        if not self.effects:
            return []
        each = sd / self.scales.parts[GROUP_ROWS].scale[1:]
        return [
            PriorRow(MEAN, self.labelled(response, effect), words, 0.0, float(own * unit))
            for response, unit in enumerate(self.scales.response.scale)
            for effect, own in zip(self.effects, each, strict=True)
        ]


class AbstractRegressionExperts(AbstractExperts[PosteriorT, StatsT]):
    """Distribution of the response under each component, given the terms of the mean part.

    Adding a family touches its own file and the table ``EXPERTS``: all output of a fit queries the
    experts.
    """

    words: ClassVar[str]
    """Name of one component, in the middle of a sentence; with an s, of several."""

    formula: ClassVar[str] = "other"
    """Template of the page with the density of one component: ``density-<this>.html``; a plain
    ``p`` if there is none."""

    scale_words: ClassVar[str] = "columns and response with mean 0 and standard deviation 1"
    """Scale of the standardised columns and response, within a sentence."""

    parts: ClassVar[tuple[str, ...]] = (MEAN,)
    """Parts of a formula that the experts read, each the design of its name in a block."""

    response: ClassVar[Response] = CONTINUOUS
    """Values that the response can take, and the words for them."""

    response_columns: ClassVar[tuple[str, ...]] = ()
    """Kinds of further columns of the response that the experts read, each a design of a block."""

    several_sd: ClassVar[float | None] = None
    """Default prior standard deviation of coefficients with several components; None as with one.

    A component without rows has coefficients from the prior, and they enter the predictive mean.
    """

    reads_dispersion: ClassVar[bool] = False
    """Whether there is a dispersion that the prior may fix."""

    reads_offset: ClassVar[bool] = False
    """Whether an offset is added to the linear predictor, and not subtracted from the response."""

    scale_units: ClassVar[str] = "units of each component's noise"
    """Units of learned scales."""

    has_common_effects: ClassVar[bool] = False
    """Whether coefficients can scatter around ones that all components share."""

    scaled_by_medians: ClassVar[bool] = False
    """Whether ``response_scaling`` reads medians: sites then pool quantiles of the response."""

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> AbstractRegressionExperts[PosteriorT, StatsT]:
        """Experts whose coefficients have these precisions a priori, by term.

        This and the next two are there where ``learns_scales``.
        """
        raise NotImplementedError(f"{type(self).__name__} have a prior with fixed scales")

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> AbstractRegressionExperts[PosteriorT, StatsT]:
        """Experts whose coefficients scatter around ones that all components share.

        Precisions of the differences by term come first, then precisions of the common
        coefficients. Available with ``has_common_effects``.
        """
        raise NotImplementedError(f"{type(self).__name__} have no common coefficients")

    def coefficient_squares(self, posterior: PosteriorT) -> TermVector:
        """Expected squares of coefficients, in the units of those precisions.

        Summed over experts and responses: the statistic from which precisions are learned.
        """
        raise NotImplementedError(f"{type(self).__name__} have a prior with fixed scales")

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        """Sums of squares of drawn coefficients."""
        raise NotImplementedError(f"{type(self).__name__} have a prior with fixed scales")

    @staticmethod
    def response_scaling(response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Derive the scaling of the response: the scale on which the prior's numbers are meant.

        Parameters
        ----------
        response : AllResponses
            Of all rows, in memory or not: their moments, and medians.
        centred : bool
            Whether an intercept can take a shift.
        active : bool
            Whether anything is to be standardised; the identity if not.
        """
        return Scaling.of_response(response, centred=centred, active=active)

    @abc.abstractmethod
    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Rows of the prior table, in the units of the data."""

    @abc.abstractmethod
    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """Drawn parameters by name, in the units of the data; coefficients first."""

    @abc.abstractmethod
    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> AbstractDrawnMixture:
        """Distribution of one response given each draw, in the units of ``scaling``.

        Axes (experts, draws, rows).
        """


BETA = ParameterText(
    symbol="β",
    meaning="coefficients of each component's line, in units of the response per unit of the term",
    heading="Components' lines",
    caption="Coefficients of the components' lines, in units of the response per unit of the term",
    forest=True,
)

SIGMA_TEXT = ParameterText(
    symbol="σ",
    meaning="standard deviation of the response around each component's line",
    heading="Noise",
    caption="Noise standard deviation of each component, in units of the response",
)


AnyExperts = AbstractRegressionExperts[Any, Any]
"""Experts of a regression of any posterior and statistics."""


def squares_in_noise(draws: Draws) -> DrawTerms:
    """Squares of drawn coefficients in units of their noise, over experts and responses."""
    squares: DrawTerms
    squares = (draws["precision"][..., None] * draws["coefficients"] ** 2).sum(axis=(1, 2))
    return squares


def coefficients_parameter(draws: Draws, units: RegressionUnits) -> NamedParameter:
    """Coefficients of the experts in the units of the data."""
    mean, response = units.scales.parts[MEAN], units.scales.response
    shared = draws["coefficients"][..., : len(units.terms)]  # effects of groups may be behind
    given = mean.coefficients(shared) * response.scale[:, None]
    if mean.intercept is not None:
        given[..., mean.intercept] += response.centre
    several = len(units.responses) > 1
    return NamedParameter(
        name="beta",
        values=given if several else given[:, :, 0],
        dims=("component", *(["response"] if several else []), "term_mean"),
        text=BETA,
        part=MEAN,
        signed=True,
        coords={"term_mean": units.terms, **({"response": units.responses} if several else {})},
    )


def noise_parameter(
    draws: Draws, units: RegressionUnits, text: ParameterText = SIGMA_TEXT
) -> NamedParameter:
    """Scale of the noise of each expert in the units of the data."""
    values = units.scales.response.scale / np.sqrt(draws["precision"])
    several = len(units.responses) > 1
    return NamedParameter(
        name="sigma",
        values=values if several else values[:, :, 0],
        dims=("component", *(["response"] if several else [])),
        text=text,
        part="sigma",
    )


def coefficient_rows(units: RegressionUnits, words: str, sd: float | TermVector) -> list[PriorRow]:
    """Prior of every coefficient: a law with this scale, in standard units of the response."""
    mean, responses = units.scales.parts[MEAN], units.scales.response
    rows = []
    for response, unit in enumerate(responses.scale):
        scale = mean.spread(np.broadcast_to(sd * unit, mean.scale.shape))
        for number, term in enumerate(units.terms):
            centre = responses.centre[response] if number == mean.intercept else 0.0
            label = units.labelled(response, term)
            rows.append(PriorRow(MEAN, label, words, float(centre), float(scale[number])))
    return rows


def noise_rows(units: RegressionUnits, shape: float, rate: float) -> list[PriorRow]:
    """Prior of the noise of every response."""
    rows = []
    for response, unit in enumerate(units.scales.response.scale):
        variance = rate * unit * unit
        words = f"1/sigma^2 ~ Gamma({shape:g}, {variance:.3g})"
        label = units.labelled(response)
        rows.append(PriorRow("sigma", label, words, float(np.sqrt(variance / shape)), np.nan))
    return rows


Axes = Float[np.ndarray, "experts draws rows"]


def in_units(
    scaling: Scaling,
    response: int,
    weights: DrawExpertTerms,
    location: DrawExpertRows,
    scale: DrawExpertTerms,
) -> tuple[Axes, Axes, Axes]:
    """Weights, locations and scales in the units of the data, experts first (in place)."""
    unit = float(scaling.scale[response])
    location *= unit
    location += float(scaling.centre[response])
    parts = (np.broadcast_to(part, location.shape) for part in (weights, location, unit * scale))
    first, second, third = (np.moveaxis(part, 1, 0) for part in parts)
    return first, second, third


def located(
    design: AbstractDesign,
    draws: Draws,
    weights: DrawExpertTerms,
    block: Block,
    response: int,
    scaling: Scaling,
) -> tuple[Axes, Axes, Axes]:
    """Weights, lines and noise of drawn regressions, in the units of the data, experts first."""
    location = drawn_lines(design, draws, response)
    scale = 1.0 / np.sqrt(noise_precision(draws, response))
    if block.offset is not None:
        location += block.offset / float(scaling.scale[response])
    return in_units(scaling, response, weights, location, scale)
