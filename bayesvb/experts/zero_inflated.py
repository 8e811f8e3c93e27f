"""Experts of counts with structural zeros: the probability of one depends on the part ``zero``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import design_of
from bayesvb.data.parts import PARTS, ZERO
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.count_laws import ZeroInflatedLaw
from bayesvb.distributions.count_mixture import DrawnCountMixture
from bayesvb.distributions.response import Response
from bayesvb.distributions.zero_inflated_mixture import ZeroInflatedMixture
from bayesvb.experts.linked import AbstractLinkedExperts, Rows
from bayesvb.experts.regression import AbstractRegressionExperts, RegressionPrior, RegressionUnits
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.linalg import unpack
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.numerics.special import softplus
from bayesvb.variational.coordinates import JoinedCoordinates
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars, consecutive

__all__ = ["ZeroInflatedExperts", "ZeroPosterior", "ZeroStats", "with_zeros"]

OneLogit = Float[np.ndarray, "1 rows"]

FIRST_STRUCTURAL = 0.5
"""Share of the zeros that are structural where runs start."""


@dataclass(frozen=True)
class ZeroStats(SufficientStats):
    """Sums of the experts of counts, and those of the coefficients of structural zeros."""

    counts: Any
    zero: LogitStats

    @property
    def weight(self) -> Float[np.ndarray, " experts"]:
        """Sum of the responsibilities for counts."""
        weight: Float[np.ndarray, " experts"] = self.counts.weight
        return weight


@dataclass(frozen=True)
class ZeroPosterior:
    """Posterior of the experts of counts, and of the coefficients of zeros, independent."""

    counts: Any
    zero: Normal


@dataclass(frozen=True)
class ZeroLocalPosterior(AbstractLocalPosterior):
    """Expected log probability of these rows, with what both sums weight them by.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    counts : AbstractLocalPosterior
        Of the experts of counts.
    structural : ndarray, shape (experts, rows)
        Probability that the row is a structural zero, given its expert.
    logit, share, curvature : ndarray, shape (1, rows)
        Expected log odds of a structural zero, their expected logistic function and its
        derivative.
    design : AbstractDesign
        Of the part ``zero``.
    """

    expected_log_density: Rows
    counts: Any
    structural: Rows
    logit: OneLogit
    share: OneLogit
    curvature: OneLogit
    design: AbstractDesign

    def _weights(self, responsibilities: Rows) -> tuple[OneLogit, OneLogit]:
        """Weights of ``z z'`` and of ``z``: of a logistic regression on expected zeros."""
        total = responsibilities.sum(axis=0, keepdims=True)
        expected = (responsibilities * self.structural).sum(axis=0, keepdims=True)
        curvature = total * self.curvature
        return curvature, expected - total * self.share + curvature * self.logit

    def sufficient_stats(self, responsibilities: Rows) -> ZeroStats:
        """Sums weighted by the responsibilities."""
        counts = self.counts.sufficient_stats(responsibilities * (1.0 - self.structural))
        return ZeroStats(counts, LogitStats.of_rows(self.design, *self._weights(responsibilities)))

    def row_stats(self, responsibilities: Rows) -> ZeroStats | None:
        """Contribution of each row, where that to the experts of counts is at hand."""
        counts = self.counts.row_stats(responsibilities * (1.0 - self.structural))
        if counts is None:
            return None
        return ZeroStats(counts, LogitStats.by_row(self.design, *self._weights(responsibilities)))


@dataclass(frozen=True)
class ZeroInflatedExperts(AbstractRegressionExperts[ZeroPosterior, ZeroStats]):
    r"""``P(y) = pi 1[y = 0] + (1 - pi) p_k(y)``, ``pi = 1 / (1 + exp(-v))``, ``v = z' g``.

    Experts have one ``g``: with constant weights only the sum over experts of their structural
    zeros is identified. ``g ~ N(0, P_0^{-1})``; the posterior is that of the experts of counts
    times ``q(g) = N(m, S)``. Whether a zero is structural is a latent variable of its row. With
    ``t`` and ``s`` mean and variance of ``v``, and ``e_k`` the expected log probability of the row
    under the experts of counts, its optimal distribution leaves

    .. math:: E_k = -E \log(1 + e^v) + \log(1[y = 0] e^t + e^{e_k}), \qquad
              \tau_k = 1[y = 0] \frac{e^t}{e^t + e^{e_k}}.

    Sums of the experts of counts weight a row by ``r_k (1 - tau_k)``; those of ``g`` are the
    natural-gradient step of a logistic regression of ``sum_k r_k tau_k``, see
    ``AbstractPredictorExperts``. All expectations are exact, so that the ELBO never falls.

    References
    ----------
    Lambert (1992), Zero-inflated Poisson regression, with an application to defects in
    manufacturing, Technometrics 34(1), section 3, for the latent variable.

    Attributes
    ----------
    counts : AbstractLinkedExperts
        Experts of the counts that are no structural zeros.
    of_zero : Normal
        Prior of ``g``.
    """

    is_conjugate = False
    posterior_by_row = True
    learns_scales = True
    reads_offset = True
    scale_units = AbstractLinkedExperts.scale_units
    scale_words = AbstractLinkedExperts.scale_words
    response_scaling = staticmethod(AbstractLinkedExperts.response_scaling)

    counts: AbstractLinkedExperts
    of_zero: Normal

    @property
    def prior(self) -> ZeroPosterior:  # type: ignore[override]
        """Prior of one expert, and of the coefficients of zeros."""
        return ZeroPosterior(self.counts.prior, self.of_zero)

    @property
    def words(self) -> str:  # type: ignore[override]
        """Name of one component."""
        return f"zero-inflated {self.counts.words}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Template of the probability under one component."""
        return f"{self.counts.formula}-zero"

    @property
    def parts(self) -> tuple[str, ...]:  # type: ignore[override]
        """Parts of the counts, zero among them."""
        return self.counts.parts

    @property
    def response(self) -> Response:  # type: ignore[override]
        """Values of the response."""
        return self.counts.response

    @property
    def reads_dispersion(self) -> bool:  # type: ignore[override]
        """Whether the counts have a dispersion."""
        return self.counts.reads_dispersion

    @property
    def n_zero(self) -> int:
        """Number of coefficients of zeros."""
        return int(self.of_zero.mean.shape[-1])

    def design(self, block: Block) -> AbstractDesign:
        """Return the columns of the part ``zero``."""
        design: AbstractDesign = design_of(self.of_zero.operator, block, ZERO)
        return design

    def local(self, posterior: ZeroPosterior, block: Block) -> ZeroLocalPosterior:
        """Expected log probability of these rows under every expert."""
        design = self.design(block)
        counts = self.counts.local(posterior.counts, block)
        logit, variance = logit_moments(posterior.zero, design)
        value, share, curvature = softplus_moments(logit, variance)
        of_count, zeros = counts.expected_log_density, _is_zero(block)
        density = np.where(zeros, np.logaddexp(logit, of_count), of_count) - value
        structural = np.where(zeros, expit(logit - of_count), 0.0)
        return ZeroLocalPosterior(density, counts, structural, logit, share, curvature, design)

    def partition_stats(self, responsibilities: Rows, block: Block) -> ZeroStats:
        """Sums of one step from even odds, some of the zeros structural."""
        structural = np.where(_is_zero(block), FIRST_STRUCTURAL, 0.0)
        counts = self.counts.partition_stats(responsibilities * (1.0 - structural), block)
        total = responsibilities.sum(axis=0, keepdims=True)
        # At even odds the logistic function is a half, and its derivative a quarter.
        weights = 0.25 * total, total * (structural - 0.5)
        return ZeroStats(counts, LogitStats.of_rows(self.design(block), *weights))

    def global_step(self, posterior: ZeroPosterior | None, stats: ZeroStats) -> ZeroStats:
        """Statistics of the step of the counts; those of ``g`` are its full natural gradient."""
        known = None if posterior is None else posterior.counts
        return ZeroStats(self.counts.global_step(known, stats.counts), stats.zero)

    def update(self, stats: ZeroStats) -> ZeroPosterior:
        """Posteriors of these natural parameters."""
        return ZeroPosterior(self.counts.update(stats.counts), stats.zero.posterior(self.of_zero))

    def kl(self, posterior: ZeroPosterior) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return self.counts.kl(posterior.counts) + posterior.zero.kl(self.of_zero)

    def coordinates(self, posterior: ZeroPosterior) -> JoinedCoordinates | None:
        """Standard coordinates of the experts of counts, then of ``g``."""
        counts = self.counts.coordinates(posterior.counts)
        if counts is None:
            return None
        return JoinedCoordinates(counts, LogitCoordinates(posterior.zero), ZERO)

    def row_derivatives(
        self, posterior: ZeroPosterior, block: Block, responsibilities: Rows
    ) -> PartDerivatives | None:
        """Derivatives of ``E_k`` in the scalars of the counts, in ``-E v^2 / 2`` and in ``E v``.

        The posterior has one factor for all: ``g`` belongs to no expert.
        """
        local = self.local(posterior, block)
        weights = responsibilities * (1.0 - local.structural)
        own = self.counts.row_derivatives(posterior.counts, block, weights)
        if own is None:
            return None
        features = local.design.products(), local.design.columns
        places = consecutive(1, [len(one) for one in features])
        zero = [RowScalars.of(one, place) for one, place in zip(features, places, strict=True)]
        scalars = (*own.scalars, *(one.moved(own.n_entries) for one in zero))
        every = [own.factors.reshape(1, -1), *(place + own.n_entries for place in places)]
        _, variance = logit_moments(posterior.zero, local.design)
        higher = softplus_moments(local.logit, variance, 4)[3:]
        found = _derivatives(local, own, responsibilities, higher)
        return PartDerivatives(scalars, np.concatenate(every, axis=1), *found)

    def expectations_along(
        self,
        posterior: ZeroPosterior,
        change: ZeroStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[ZeroStats, Float[np.ndarray, "many entries"]] | None:
        """Changes of the expectations and of ``coefficient_squares``, where counts have them."""
        of_counts = None if precision is None else precision[:, : -self.n_zero]
        counts = self.counts.expectations_along(posterior.counts, change.counts, of_counts)
        if counts is None:
            return None
        zero = change.zero
        if precision is not None:
            zero = zero.with_squares(precision[:, -self.n_zero :])
        found = posterior.zero.expectations_along(zero.linear, unpack(zero.curvature))
        moved = LogitStats(*found)
        squares = np.concatenate([counts[1], -2.0 * moved.squares], axis=1)
        return ZeroStats(counts[0], moved), squares

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> ZeroInflatedExperts:
        """The same experts with these precisions of the mean's terms, then of those of zero."""
        of_counts, own = precision[..., : -self.n_zero], precision[..., -self.n_zero :]
        counts = self.counts.with_coefficient_precision(of_counts)
        return ZeroInflatedExperts(counts, self.of_zero.with_precision(own))

    def coefficient_squares(self, posterior: ZeroPosterior) -> Float[np.ndarray, " terms"]:
        """``sum E[b_kj^2]``, then ``E[g_j^2]``."""
        own = posterior.zero.squares().sum(axis=-2)
        return np.concatenate([self.counts.coefficient_squares(posterior.counts), own], axis=-1)

    def drawn_squares(self, draws: Draws) -> Float[np.ndarray, "draws terms"]:
        """The same sums of squares of drawn coefficients."""
        own = (draws[ZERO] ** 2).sum(axis=1)
        return np.concatenate([self.counts.drawn_squares(draws), own], axis=1)

    def effective_dof(self, posterior: ZeroPosterior) -> Float[np.ndarray, "experts _"] | None:
        """Effective degrees of freedom of each coefficient of the mean."""
        return self.counts.effective_dof(posterior.counts)

    def predictive(
        self, posterior: ZeroPosterior, weights: Rows, block: Block, response: int
    ) -> ZeroInflatedMixture:
        """Mixture of the counts with the expected probability of a structural zero, exact."""
        counts: Any = self.counts.predictive(posterior.counts, weights, block, response)
        moments = logit_moments(posterior.zero, self.design(block))
        share = softplus_moments(*moments, 1)[1]
        return ZeroInflatedMixture(weights, counts, np.broadcast_to(share, weights.shape))

    def draws(self, posterior: ZeroPosterior, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the experts of counts, and ``zero`` (draws, 1, terms)."""
        counts = self.counts.draws(posterior.counts, n, rng)
        return {**counts, ZERO: posterior.zero.draws(n, rng)}

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Draws of independent experts."""
        counts = self.counts.prior_draws(n, n_components, rng)
        return {**counts, ZERO: self.of_zero.draws(n, rng)[:, None]}

    def drawn_logit(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws 1 rows"]:
        """Log odds of a structural zero in every row given each draw."""
        return self.design(block).predict_drawn(draws[ZERO], None)

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log probability of each row under each drawn expert."""
        logit, of_count = self.drawn_logit(draws, block), self.counts.log_lik(draws, block)
        either = np.where(_is_zero(block), np.logaddexp(logit, of_count), of_count)
        return np.asarray(either - softplus(logit))

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the chosen expert, or a structural zero."""
        counts = self.counts.responses(draws, chosen, block, rng)
        return np.where(rng.random(counts.shape) < expit(self.drawn_logit(draws, block)), 0, counts)

    def log_density(
        self, posterior: ZeroPosterior | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw under the posterior, or under the prior (None)."""
        counts = self.counts.log_density(None if posterior is None else posterior.counts, draws)
        zero = self.of_zero if posterior is None else posterior.zero
        found: Float[np.ndarray, " draws"] = counts + zero.log_density(draws[ZERO]).sum(axis=1)
        return found

    def permuted(self, order: list[int], stats: ZeroStats) -> ZeroStats:
        """Statistics after a new labelling; structural zeros have no label."""
        return ZeroStats(self.counts.permuted(order, stats.counts), stats.zero)

    def drawn(
        self,
        draws: Draws,
        weights: Float[np.ndarray, "draws experts _"],
        block: Block,
        response: int,
        scaling: Scaling,
    ) -> DrawnCountMixture:
        """Mixture of the counts given each draw, with structural zeros."""
        counts: Any = self.counts.drawn(draws, weights, block, response, scaling)
        logit = np.moveaxis(self.drawn_logit(draws, block), 1, 0)
        mixture: DrawnCountMixture = replace(counts, law=ZeroInflatedLaw(counts.law, expit(logit)))
        return mixture

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Rows of the counts, and of the coefficients of zeros."""
        sds = units.scales.parts[ZERO].spread(self.of_zero.precisions**-0.5)
        terms = zip(units.further_terms[ZERO], sds, strict=True)
        own = [PriorRow(ZERO, term, "Normal", 0.0, float(sd)) for term, sd in terms]
        return [*self.counts.prior_rows(units), *own]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """Parameters of the counts; ``beta_zero``, coefficients of the log odds."""
        first, *others = self.counts.parameters(draws, units)
        own = NamedParameter(
            name=PARTS[ZERO].coefficients,
            values=units.scales.parts[ZERO].coefficients(draws[ZERO][:, 0]),
            dims=("term_zero",),
            text=OF_LOG_ODDS,
            part=ZERO,
            signed=True,
            coords={"term_zero": units.further_terms[ZERO]},
        )
        return [first, own, *others]


OF_LOG_ODDS = ParameterText(
    symbol="ζ",
    meaning="coefficients of the log odds of a structural zero, the same for all components, per "
    "unit of the term; exp(ζ) is an odds ratio, of the intercept the odds",
    heading="Log odds of a structural zero",
    caption="Coefficients of the log odds of a structural zero, per unit of the term",
    forest=True,
    ratio="odds ratio",
)


def with_zeros(
    counts: AbstractLinkedExperts, prior: RegressionPrior
) -> AbstractLinkedExperts | ZeroInflatedExperts:
    """Experts with structural zeros; those of the counts themselves if zero has no terms."""
    n_terms = prior.further_terms.get(ZERO, 0)
    if not n_terms:
        return counts
    precision = np.eye(n_terms) / prior.zero_sd**2
    return ZeroInflatedExperts(counts, Normal.from_precision(np.zeros(n_terms), precision))


def _is_zero(block: Block) -> Bool[np.ndarray, " rows"]:
    """Rows without counts."""
    return np.asarray(block.response[0] == 0.0)


def _derivatives(
    local: ZeroLocalPosterior, own: PartDerivatives, responsibilities: Rows, higher: list[OneLogit]
) -> tuple[Float[np.ndarray, "experts scalars rows"], Float[np.ndarray, "scalars scalars rows"]]:
    """``slopes`` and ``bends`` of ``PartDerivatives``, those in ``-E v^2 / 2`` and ``E v`` last.

    With ``d_k`` the gradient of ``e_k - t``, second derivatives of ``log(e^t + e^{e_k})`` are
    those of ``e_k`` by ``1 - tau_k``, and ``tau_k (1 - tau_k) d_k d_k'``.
    """
    shape, n_own = responsibilities.shape, own.slopes.shape[1]
    counted, t = 1.0 - local.structural, local.logit
    square = np.broadcast_to(local.curvature, shape)
    mean = local.structural - local.share + local.curvature * t
    slopes = np.concatenate([own.slopes * counted[:, None], square[:, None], mean[:, None]], axis=1)
    ones = np.ones((shape[0], 1, shape[1]))
    gap = np.concatenate([own.slopes, 0.0 * ones, -ones], axis=1)
    mixed = responsibilities * local.structural * counted
    bends = np.einsum("kn,kin,kjn->ijn", mixed, gap, gap)
    bends[:n_own, :n_own] += own.bends
    third, fourth = (-responsibilities.sum(axis=0) * one[0] for one in higher)
    bends[-2, -2] += fourth
    bends[-2, -1] += t[0] * fourth - third
    bends[-1, -2] += t[0] * fourth - third
    bends[-1, -1] += t[0] * (t[0] * fourth - 2.0 * third)
    return slopes, bends
