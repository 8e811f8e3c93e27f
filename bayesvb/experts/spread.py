"""Linear experts whose noise depends on covariates, the terms of the part ``sigma``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Union, cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block, Members
from bayesvb.data.parts import LOG_SIGMA, PARTS, SIGMA, SIGMA_OFFSET
from bayesvb.data.scaling import INTERCEPT, Scaling
from bayesvb.distributions.base import AbstractDrawnMixture, average_nodes
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import PriorError
from bayesvb.experts.drawn_lines import LOG_SD
from bayesvb.experts.further_predictor import (
    AbstractFurtherExperts,
    AbstractFurtherLocalPosterior,
    FurtherPosterior,
    FurtherStats,
)
from bayesvb.experts.linear import AbstractLinearExperts
from bayesvb.experts.regression import RegressionPrior, RegressionUnits
from bayesvb.factors.coupled_normal_gamma import CommonColumns
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import DrawExpertRows, DrawExpertTerms, DrawResponseRows, ExpertRows
from bayesvb.numerics.segments import segment_sums
from bayesvb.numerics.special import LARGEST_EXPONENT
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitStats, logit_moments
from bayesvb.variational.local import Draws
from bayesvb.variational.passed_on import passed_on
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars, consecutive
from bayesvb.variational.supports import AbstractSupport, Real

if TYPE_CHECKING:
    from bayesvb.experts.linear_student import StudentExperts

Lines = Union[AbstractLinearExperts[Any, Any], "StudentExperts"]


SPREAD = "spread"
"""Name of the draws of the coefficients of the log standard deviation."""

NODES = 9
"""Nodes of the quadrature over the log standard deviation of a new response."""


@dataclass(frozen=True)
class SpreadLocalPosterior(AbstractFurtherLocalPosterior):
    """Expected log likelihood of these rows, with the weights of rows in both sums.

    Attributes
    ----------
    squares : ndarray, shape (experts, rows)
        Expected squared residuals in units of the noise of their row.
    log_sd : ndarray, shape (experts, rows)
        Expected log standard deviation, less its level.
    precision : ndarray, shape (experts, rows)
        Expected precision of the noise of the row, relative to its level.
    """

    squares: ExpertRows
    log_sd: ExpertRows
    precision: ExpertRows

    def further_weights(self, responsibilities: ExpertRows) -> tuple[ExpertRows, ExpertRows]:
        curvature = 2.0 * responsibilities * self.squares
        return curvature, responsibilities * (self.squares - 1.0) + curvature * self.log_sd


@dataclass(frozen=True)
class SpreadExperts(AbstractFurtherExperts[Lines]):
    r"""``y ~ N(x' b_k, exp(2 z' g_k) / tau_k)``, or a Student t with this squared scale.

    An offset of the part ``sigma`` is a summand of ``z' g`` with the coefficient one. The columns
    ``z`` of the part are centred and have no intercept: the level of the
    noise is ``tau_k``, whose prior and posterior are as in the linear experts, as are the
    coefficients'. ``g_k ~ N(0, P_0^{-1})``; the posterior is ``q(b, tau) q(g)`` with ``q(g) = N(m,
    S)``. With

    .. math:: W = E e^{-2 z' g} = e^{-2 z' m + 2 z' S z}, \qquad d = E \tau (y - x' b)^2,

    the expected log density of a row is ``(E log tau - log 2 pi) / 2 - z' m - W d / 2``. Sums of
    the linear experts, except the number of rows, weight a row by ``r W`` instead of ``r``. Sums of
    ``g`` are the natural-gradient step of a likelihood of one linear predictor, slope ``W d - 1``
    and curvature ``2 W d``; see ``AbstractPredictorExperts``. For Student t experts the expected
    precision of the row multiplies ``W``.

    Responsibilities use the same posterior as ``W``, so that ``r W d`` is at most 2 / e: experts
    without rows, whose ``S`` is the prior's, cannot overflow the sums.

    References
    ----------
    Smyth (1989), Generalized linear models with varying dispersion, JRSS B 51(1). Nott, Tran, Leng
    (2012), Variational approximation for heteroscedastic linear models, Statistics and Computing
    22(2), section 2, for the variational posterior and its lower bound.

    Experts of the same family whose noise does not depend on covariates.
    """

    part = SIGMA
    draws_name = SPREAD

    words = passed_on("experts")
    scale_words = passed_on("experts")
    scaled_by_medians = passed_on("experts")
    response_scaling = passed_on("experts")
    learns_scales = passed_on("experts")
    scale_units = passed_on("experts")
    has_common_effects = passed_on("experts")
    posterior_by_row = passed_on("experts")
    common = passed_on("experts")

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Template of the density of one component."""
        return f"{self.experts.formula}-sigma"

    def local(self, posterior: FurtherPosterior, block: Block) -> SpreadLocalPosterior:
        design, known = self.design(block), _offset(block)
        log_sd, variance = logit_moments(posterior.further, design)
        ratio = _ratio(log_sd + known, variance)
        squares = self.experts.squares(posterior.experts, block).reshape(ratio.shape)
        lines = self.experts.local_at(posterior.experts, block, ratio * squares, ratio)
        density = lines.expected_log_density - log_sd - known
        weighted = lines.square_weight * squares
        return SpreadLocalPosterior(density, lines, design, weighted, log_sd, lines.square_weight)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> FurtherStats:
        """Sums of rows that all have the level of the noise, and about its squared residuals."""
        lines = self.experts.partition_stats(responsibilities, block)
        weights = 2.0 * responsibilities, np.zeros_like(responsibilities)
        return FurtherStats(lines, LogitStats.of_rows(self.design(block), *weights))

    def row_derivatives(
        self, posterior: FurtherPosterior, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives | None:
        r"""Derivatives of ``c - l + h e^f``, ``f = -4 q - 2 l - 2 l^2``, for lines with scalars.

        ``c`` is ``E log tau / 2``, ``h = -d / 2`` all other scalars of a line together, and ``q``
        and ``l`` are ``-E v^2 / 2`` and ``E v`` of ``v = z' g``: ``e^f`` is ``W``.
        """
        n_experts = len(responsibilities)
        own = self.experts.row_scalars(block, n_experts)
        if own is None:
            return None
        local, first = self.local(posterior, block), own.n_entries
        design = self.design(block)
        features = design.products(), design.columns
        places = consecutive(n_experts, [len(one) for one in features])
        scalars = (
            RowScalars.of(own.features[:1], own.entries[:, :1]),
            RowScalars(own.features[1:], own.entries[:, 1:], own.others),
            *(
                RowScalars.of(one, place + first)
                for one, place in zip(features, places, strict=True)
            ),
        )
        factors = np.concatenate([own.every, *(place + first for place in places)], axis=1)
        return PartDerivatives(scalars, factors, *_derivatives(local, responsibilities))

    def with_common_effects(
        self, columns: CommonColumns, precision: Float[np.ndarray, "*many entries"]
    ) -> SpreadExperts:
        """Experts whose lines scatter around common ones."""
        of_lines, spread = self.split(precision)
        lines = cast(Lines, self.experts.with_common_effects(columns, of_lines))
        return SpreadExperts(lines, spread)

    def with_prior_power(self, power: float) -> SpreadExperts:
        """None: an expert without rows needs the prior of its spread.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError(
            "sigma(...) is not supported, because its coefficients need their prior; omit method"
        )

    def predictive(
        self, posterior: FurtherPosterior, weights: ExpertRows, block: Block, response: int
    ) -> StudentMixture:
        """Mixture over nodes of the log standard deviation of mixtures of the lines."""
        noise, shares = self._variances(posterior, block)
        arguments = posterior.experts, weights, block, response
        each = [self.experts.predictive(*arguments, one) for one in noise]
        return each[0].stacked(each[1:], shares)

    def predictive_without(
        self, posterior: FurtherPosterior, weights: ExpertRows, block: Block, left_out: ExpertRows
    ) -> list[StudentMixture] | None:
        """Mixtures of the lines after a downdate by each row, the spread held.

        Only where effects of groups have no columns: the few coefficients of the spread hardly
        change with a row, the effect of its group does.
        """
        lines: Any = self.experts
        if not lines.line_laws(None):
            return None
        log_sd, variance = logit_moments(posterior.further, self.design(block))
        ratio = _ratio(log_sd + _offset(block), variance)
        noise, shares = self._variances(posterior, block)
        arguments = posterior.experts, weights, block, left_out, ratio
        each = [lines.predictive_without(*arguments, one)[0] for one in noise]
        return [each[0].stacked(each[1:], shares)]

    def _variances(
        self, posterior: FurtherPosterior, block: Block
    ) -> tuple[list[ExpertRows], Float[np.ndarray, " nodes"]]:
        """Variances of the noise of rows, relative to its level, at nodes, and their shares."""
        log_sd, variance = logit_moments(posterior.further, self.design(block))
        nodes, shares = _quadrature()
        log_sd = log_sd + _offset(block)
        logs = [2.0 * (log_sd + node * np.sqrt(variance)) for node in nodes]
        return [np.exp(np.minimum(one, LARGEST_EXPONENT)) for one in logs], shares

    def log_predictive_of_groups(
        self, posterior: FurtherPosterior, members: Members, n_experts: int
    ) -> Float[np.ndarray, "experts groups"]:
        """Product of the densities of the rows of a group, nodes of each row averaged."""
        block = members.rows
        every = np.full((n_experts, block.n_rows), 1.0 / n_experts)
        predictive = self.predictive(posterior, every, block, 0)
        each = predictive.component_log_density(block.response[0])
        return segment_sums(average_nodes(predictive, each, n_experts), members.starts)

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        lines = self.experts.prior_draws(n, n_components, rng)
        further = self.of_further.draws(n * n_components, rng)
        return {**lines, SPREAD: further.reshape(n, n_components, -1)}

    def line_laws(self, posterior: FurtherPosterior | None) -> Sequence[Normal]:
        """Laws of the coefficients of the lines."""
        return self.experts.line_laws(None if posterior is None else posterior.experts)

    def supports(self, n_components: int) -> dict[str, AbstractSupport] | None:
        """Supports of the lines' parameters, and ``spread``."""
        lines = self.experts.supports(n_components)
        return None if lines is None else {**lines, SPREAD: Real((n_components, self.n_further))}

    def _by_row(self, draws: Draws, block: Block) -> Draws:
        """The draws, with the deviation of the log standard deviation of each row."""
        return {**draws, LOG_SD: self.drawn_further(draws, block) + _offset(block)}

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        return self.experts.log_lik(self._by_row(draws, block), block)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        return self.experts.responses(self._by_row(draws, block), chosen, block, rng)

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> AbstractDrawnMixture:
        """Mixture of the lines given each draw."""
        row_experts = self._by_row(draws, block)
        return self.experts.drawn(row_experts, weights, block, response, scaling)

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Rows of the lines, and of the coefficients of the log standard deviation."""
        columns = SpreadColumns.of(units)
        sds = columns.scaling.spread(columns.whole(self.of_further.precisions**-0.5))
        rows = [
            PriorRow(LOG_SIGMA, name, "Normal", 0.0, float(sd))
            for name, sd in zip(columns.names, columns.without_known(sds), strict=True)
            if name != INTERCEPT
        ]
        return [*self.experts.prior_rows(units), *rows]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """Parameters of the lines; ``beta_sigma``, coefficients of the log standard deviation.

        Its intercept is the log standard deviation where all terms are zero; ``sigma`` is the
        standard deviation where they have their means.
        """
        first, *others = self.experts.parameters(draws, units)
        level = next(one for one in others if one.name == "sigma")
        columns = SpreadColumns.of(units)
        standard = columns.whole(draws[SPREAD])
        standard[..., list(columns.known)] = columns.scaling.scale[list(columns.known)]
        values = columns.scaling.coefficients(standard)
        values[..., columns.place] += np.log(level.values)
        spread = NamedParameter(
            name=PARTS[SIGMA].coefficients,
            values=columns.without_known(values),
            dims=("component", "term_sigma"),
            text=OF_LOG_SD,
            part=LOG_SIGMA,
            signed=True,
            coords={"term_sigma": columns.names},
        )
        return [first, spread, *(_at_means(one) if one is level else one for one in others)]


OF_LOG_SD = ParameterText(
    symbol="δ",
    meaning="coefficients of the log standard deviation around each component's line, per unit of "
    "the term; exp(δ) is a ratio of standard deviations, of the intercept the standard deviation",
    heading="Spread around the components' lines",
    caption="Coefficients of the log standard deviation around each line, per unit of the term; "
    "exp of one is the ratio of standard deviations",
    forest=True,
    ratio="sd ratio",
)


def with_spread(lines: Lines, prior: RegressionPrior) -> Lines | SpreadExperts:
    """Experts whose noise depends on the part sigma; the lines themselves if it is constant.

    Raises
    ------
    PriorError
        If there are several responses.
    """
    n_terms = prior.further_terms.get(SIGMA, 0)
    if not n_terms and not prior.has_known_spread:
        return lines
    if prior.n_responses > 1:
        raise PriorError(
            f"sigma(...) is for one response, and there are {prior.n_responses}",
            hint="fit a model of each response, or omit sigma(...)",
        )
    precision = np.eye(n_terms) / prior.sigma_sd**2
    return SpreadExperts(lines, Normal.from_precision(np.zeros(n_terms), precision))


@dataclass(frozen=True)
class SpreadColumns:
    """Columns of the part sigma, those without a coefficient to estimate among them.

    Attributes
    ----------
    names : list of str
        Terms with a coefficient, the intercept included.
    scaling : Scaling
        Of all columns.
    place : int
        Position of the intercept.
    known : tuple of int
        Positions of offsets.
    """

    names: list[str]
    scaling: Scaling
    place: int
    known: tuple[int, ...]

    @classmethod
    def of(cls, units: RegressionUnits) -> SpreadColumns:
        """Columns of a regression."""
        scaling, names = units.scales.parts[SIGMA], list(units.further_terms[SIGMA])
        place = scaling.intercept
        assert place is not None
        names.insert(place, INTERCEPT)
        return cls(names, scaling, place, units.scales.known[SIGMA])

    def whole(self, values: Float[np.ndarray, "*batch terms"]) -> Float[np.ndarray, "*batch _"]:
        """Values of all columns, zero for the intercept and offsets."""
        n_columns = len(self.scaling.scale)
        free = np.delete(np.arange(n_columns), [self.place, *self.known])
        whole = np.zeros((*values.shape[:-1], n_columns))
        whole[..., free] = values
        return whole

    def without_known(
        self, values: Float[np.ndarray, "*batch columns"]
    ) -> Float[np.ndarray, "*batch _"]:
        """Values of the columns with a coefficient."""
        return np.delete(values, list(self.known), axis=-1)


def _at_means(level: NamedParameter) -> NamedParameter:
    """The level of the noise, with the words that say where it is."""
    assert level.text is not None
    where = ", where the terms of sigma have their means"
    text = replace(
        level.text, meaning=level.text.meaning + where, caption=level.text.caption + where
    )
    return replace(level, text=text)


def _offset(block: Block) -> Float[np.ndarray, "_ rows"] | float:
    """Known summand of the log standard deviation of rows, of all experts."""
    return block.designs.get(SIGMA_OFFSET, 0.0)


def _ratio(log_sd: ExpertRows, variance: ExpertRows) -> ExpertRows:
    """``W``: expected precisions of the noise of rows, relative to its level."""
    return np.asarray(np.exp(np.minimum(2.0 * (variance - log_sd), LARGEST_EXPONENT)))


def _quadrature() -> tuple[Float[np.ndarray, " nodes"], Float[np.ndarray, " nodes"]]:
    """Nodes and weights of a standard normal."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(NODES)
    return nodes, weights / weights.sum()


def _derivatives(
    local: SpreadLocalPosterior, responsibilities: ExpertRows
) -> tuple[Float[np.ndarray, "experts scalars rows"], Float[np.ndarray, "scalars scalars rows"]]:
    """``slopes`` and ``bends`` of ``PartDerivatives``, in ``c``, ``h``, ``q`` and ``l``."""
    n_experts, n_rows = local.log_sd.shape
    level, half, square, mean = np.arange(4 * n_experts).reshape(4, -1)
    each, product = np.arange(n_experts), -0.5 * local.squares
    ratio, along = local.precision, -2.0 - 4.0 * local.log_sd
    slopes = np.zeros((n_experts, 4 * n_experts, n_rows))
    slopes[each, level] = 1.0
    slopes[each, half] = ratio
    slopes[each, square] = -4.0 * product
    slopes[each, mean] = along * product - 1.0
    bends = np.zeros((4 * n_experts, 4 * n_experts, n_rows))
    ratio, product = responsibilities * ratio, responsibilities * product
    bends[half, square] = bends[square, half] = -4.0 * ratio
    bends[half, mean] = bends[mean, half] = along * ratio
    bends[square, square] = 16.0 * product
    bends[square, mean] = bends[mean, square] = -4.0 * along * product
    bends[mean, mean] = (along * along - 4.0) * product
    return slopes, bends
