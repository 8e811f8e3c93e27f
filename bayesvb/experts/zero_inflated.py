"""Experts of counts with structural zeros: the probability of one depends on the part ``zero``."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.parts import PARTS, ZERO
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.count_laws import ZeroInflatedLaw
from bayesvb.distributions.count_mixture import AbstractCountMixture, DrawnCountMixture
from bayesvb.distributions.zero_inflated_mixture import ZeroInflatedMixture
from bayesvb.experts.further_predictor import (
    AbstractFurtherExperts,
    AbstractFurtherLocalPosterior,
    FurtherPosterior,
    FurtherStats,
)
from bayesvb.experts.linked import AbstractLinkedExperts
from bayesvb.experts.regression import RegressionPrior, RegressionUnits
from bayesvb.factors.normal import Normal
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    ExpertRows,
    RowMask,
)
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.numerics.special import softplus
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitStats, logit_moments
from bayesvb.variational.local import Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars
from bayesvb.variational.supports import AbstractSupport, Real

OneLogit = Float[np.ndarray, "1 rows"]

Logits = Float[np.ndarray, "..."]


@dataclass(frozen=True)
class ZeroLocalPosterior(AbstractFurtherLocalPosterior):
    """Expected log probability of these rows, with the weights of rows in both sums.

    Attributes
    ----------
    structural : ndarray, shape (experts, rows)
        Probability that the row is a structural zero, given its expert.
    logit, share, curvature : ndarray, shape (1, rows)
        Expected log odds of a structural zero, their expected logistic function and its
        derivative.
    """

    structural: ExpertRows
    logit: OneLogit
    share: OneLogit
    curvature: OneLogit

    def further_weights(self, responsibilities: ExpertRows) -> tuple[OneLogit, OneLogit]:
        """Weights of ``z z'`` and of ``z``: of a logistic regression on expected zeros."""
        total = responsibilities.sum(axis=0, keepdims=True)
        expected = (responsibilities * self.structural).sum(axis=0, keepdims=True)
        curvature = total * self.curvature
        return curvature, expected - total * self.share + curvature * self.logit

    def expert_weights(self, responsibilities: ExpertRows) -> ExpertRows:
        """Weights of rows that are not structural zeros."""
        return responsibilities * (1.0 - self.structural)


@dataclass(frozen=True)
class ZeroInflatedExperts(AbstractFurtherExperts[AbstractLinkedExperts]):
    r"""``P(y) = pi 1[y = 0] + (1 - pi) p_k(y)``, ``pi = 1 / (1 + exp(-v))``, ``v = z' g``.

    Experts have one ``g``: with constant weights only the sum over experts of their structural
    zeros is identified. ``g ~ N(0, P_0^{-1})``; the posterior is the posterior of the experts of
    counts times ``q(g) = N(m, S)``. Whether a zero is structural is a latent variable of its row.
    With ``t`` and ``s`` mean and variance of ``v``, and ``e_k`` the expected log probability of the
    row under the experts of counts, its optimal distribution leaves

    .. math:: E_k = -E \log(1 + e^v) + \log(1[y = 0] e^t + e^{e_k}), \qquad
              \tau_k = 1[y = 0] \frac{e^t}{e^t + e^{e_k}}.

    Sums of the experts of counts weight a row by ``r_k (1 - tau_k)``; sums of ``g`` are the
    natural-gradient step of a logistic regression of ``sum_k r_k tau_k``, see
    ``AbstractPredictorExperts``. All expectations are exact, so that the ELBO never decreases.

    References
    ----------
    Lambert (1992), Zero-inflated Poisson regression, with an application to defects in
    manufacturing, Technometrics 34(1), section 3, for the latent variable.

    Experts of the counts that are not structural zeros.
    """

    part = ZERO
    draws_name = ZERO

    first_structural: ClassVar[float] = 0.5
    """Share of the zeros that are structural where runs start."""

    further_text: ClassVar[ParameterText] = ParameterText(
        symbol="ζ",
        meaning="coefficients of the log odds of a structural zero, the same for all components, "
        "per unit of the term; exp(ζ) is an odds ratio, of the intercept the odds",
        heading="Log odds of a structural zero",
        caption="Coefficients of the log odds of a structural zero, per unit of the term",
        forest=True,
        ratio="odds ratio",
    )

    posterior_by_row = True
    learns_scales = True
    reads_offset = True
    scale_units = AbstractLinkedExperts.scale_units
    scale_words = AbstractLinkedExperts.scale_words
    response_scaling = staticmethod(AbstractLinkedExperts.response_scaling)

    @property
    def words(self) -> str:  # type: ignore[override]
        """Name of one component."""
        return f"zero-inflated {self.experts.words}"

    @property
    def formula(self) -> str:  # type: ignore[override]
        """Template of the probability under one component."""
        return f"{self.experts.formula}-zero"

    @property
    def reads_dispersion(self) -> bool:  # type: ignore[override]
        """Whether the counts have a dispersion."""
        return self.experts.reads_dispersion

    def counted(self, block: Block) -> Block:
        """Rows as the experts of counts read them."""
        return block

    def of_zero(self, logit: Logits, of_count: Logits) -> Logits:
        """Log density of a zero, structural or a count, up to a term of the log odds."""
        either: Logits = namespace(logit).logaddexp(logit, of_count)
        return either

    def local(self, posterior: FurtherPosterior, block: Block) -> ZeroLocalPosterior:
        design = self.design(block)
        counts = self.experts.local(posterior.experts, self.counted(block))
        logit, variance = logit_moments(posterior.further, design)
        value, share, curvature = softplus_moments(logit, variance)
        of_count, zeros = counts.expected_log_density, _is_zero(block)
        either = self.of_zero(logit, of_count)
        density = np.where(zeros, either, of_count) - value
        structural = np.where(zeros, np.exp(logit - either), np.zeros_like(of_count))
        return ZeroLocalPosterior(density, counts, design, structural, logit, share, curvature)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> FurtherStats:
        """Sums of one step from even odds, some of the zeros structural."""
        structural = np.where(_is_zero(block), self.first_structural, 0.0)
        some = responsibilities * (1.0 - structural)
        counts = self.experts.partition_stats(some, self.counted(block))
        total = responsibilities.sum(axis=0, keepdims=True)
        # At even odds the logistic function is a half, and its derivative a quarter.
        weights = 0.25 * total, total * (structural - 0.5)
        return FurtherStats(counts, LogitStats.of_rows(self.design(block), *weights))

    def row_derivatives(
        self, posterior: FurtherPosterior, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives | None:
        """Derivatives of ``E_k`` in the scalars of the counts, in ``-E v^2 / 2`` and in ``E v``.

        The posterior has one factor for all: ``g`` belongs to no expert.
        """
        local = self.local(posterior, block)
        weights = responsibilities * (1.0 - local.structural)
        own = self.experts.row_derivatives(posterior.experts, self.counted(block), weights)
        if own is None:
            return None
        present = local.design.present_products()
        moments = RowScalars.of_moments(local.design.columns, *present, 1)
        zero = [part.moved(own.n_entries) for part in moments]
        scalars = (*own.scalars, *zero)
        every = [own.factors.reshape(1, -1), *(part.every for part in zero)]
        _, variance = logit_moments(posterior.further, local.design)
        higher = softplus_moments(local.logit, variance, 4)[3:]
        derivatives = _derivatives(local, own, responsibilities, higher)
        return PartDerivatives(scalars, np.concatenate(every, axis=1), *derivatives)

    def predictive(
        self, posterior: FurtherPosterior, weights: ExpertRows, block: Block, response: int
    ) -> ZeroInflatedMixture:
        """Mixture of the counts with the expected probability of a structural zero, exact."""
        counts = self.experts.predictive(posterior.experts, weights, block, response)
        assert isinstance(counts, AbstractCountMixture)
        zero = self.expected_zeros(posterior, block)
        return ZeroInflatedMixture(weights, counts, np.broadcast_to(zero, weights.shape))

    def expected_zeros(self, posterior: FurtherPosterior, block: Block) -> OneLogit:
        """Expected probability of a structural zero of every row, exact."""
        moments = logit_moments(posterior.further, self.design(block))
        return np.asarray(softplus_moments(*moments, 1)[1])

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        """Draws of independent experts."""
        counts = self.experts.prior_draws(n, n_components, rng)
        return {**counts, ZERO: self.of_further.draws(n, rng)[:, None]}

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """Supports of the parameters of the counts, and ``zero``."""
        return {**self.experts.supports(n_components), ZERO: Real((1, self.n_further))}

    def with_prior_power(self, power: float) -> ZeroInflatedExperts:
        """Experts whose prior density is raised to a power; one copy of it if the power is zero."""
        counts = self.experts.with_prior_power(power)
        further = self.of_further if power == 0.0 else self.of_further.to_the_power(power)
        return type(self)(counts, further)

    def collapsed(self, posterior: FurtherPosterior, block: Block) -> Bool[np.ndarray, " experts"]:
        """Experts of counts without noise."""
        return self.experts.collapsed(posterior.experts, block)

    def among_zeros(
        self, block: Block, logit: Float[np.ndarray, "draws 1 rows"], of_count: DrawExpertRows
    ) -> tuple[DrawExpertRows, DrawExpertRows]:
        """Log probability of rows given the counts, and probability of a structural zero."""
        zeros = _is_zero(block)
        either = self.of_zero(logit, of_count)
        density = np.where(zeros, either, of_count) - softplus(logit)
        return density, np.where(zeros, np.exp(logit - either), np.zeros_like(of_count))

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        logit = self.drawn_further(draws, block)
        of_count = self.experts.log_lik(draws, self.counted(block))
        either: DrawExpertRows
        either = namespace(logit).where(
            _is_zero(block), self.of_zero(logit, of_count), of_count
        ) - softplus(logit)
        return either

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        counts = self.experts.responses(draws, chosen, block, rng)
        return np.where(
            rng.random(counts.shape) < expit(self.drawn_further(draws, block)), 0, counts
        )

    def drawn(
        self, draws: Draws, weights: DrawExpertTerms, block: Block, response: int, scaling: Scaling
    ) -> DrawnCountMixture:
        """Mixture of the counts given each draw, with structural zeros."""
        counts = self.experts.drawn(draws, weights, block, response, scaling)
        assert isinstance(counts, DrawnCountMixture)
        logit = np.moveaxis(self.drawn_further(draws, block), 1, 0)
        mixture: DrawnCountMixture = replace(counts, law=ZeroInflatedLaw(counts.law, expit(logit)))
        return mixture

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Rows of the counts, and of the coefficients of zeros."""
        sds = units.scales.parts[ZERO].spread(self.of_further.precisions**-0.5)
        terms = zip(units.further_terms[ZERO], sds, strict=True)
        rows = [PriorRow(ZERO, term, "Normal", 0.0, float(sd)) for term, sd in terms]
        return [*self.experts.prior_rows(units), *rows]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """Parameters of the counts; ``beta_zero``, coefficients of the log odds."""
        first, *others = self.experts.parameters(draws, units)
        zero = NamedParameter(
            name=PARTS[ZERO].coefficients,
            values=units.scales.parts[ZERO].coefficients(draws[ZERO][:, 0]),
            dims=("term_zero",),
            text=self.further_text,
            part=ZERO,
            signed=True,
            coords={"term_zero": units.further_terms[ZERO]},
        )
        return [first, zero, *others]


def with_zeros(
    counts: AbstractLinkedExperts,
    prior: RegressionPrior,
    kind: type[ZeroInflatedExperts] = ZeroInflatedExperts,
) -> AbstractLinkedExperts | ZeroInflatedExperts:
    """Experts with zeros of this kind; the experts of the counts if zero has no terms."""
    n_terms = prior.further_terms.get(ZERO, 0)
    if not n_terms:
        return counts
    precision = np.eye(n_terms) / prior.zero_sd**2
    return kind(counts, Normal.from_precision(np.zeros(n_terms), precision))


def _is_zero(block: Block) -> RowMask:
    """Rows without counts."""
    is_zero: RowMask = block.response[0] == 0.0
    return is_zero


def _derivatives(
    local: ZeroLocalPosterior,
    own: PartDerivatives,
    responsibilities: ExpertRows,
    higher: list[OneLogit],
) -> tuple[Float[np.ndarray, "experts scalars rows"], Float[np.ndarray, "scalars scalars rows"]]:
    """``slopes`` and ``bends`` of ``PartDerivatives``, those in ``-E v^2 / 2`` and ``E v`` last.

    With ``d_k`` the gradient of ``e_k - t``, second derivatives of ``log(e^t + e^{e_k})`` are the
    second derivatives of ``e_k`` times ``1 - tau_k``, and ``tau_k (1 - tau_k) d_k d_k'``.
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
    bends[[-2, -1], [-1, -2]] += t[0] * fourth - third
    bends[-1, -1] += t[0] * (t[0] * fourth - 2.0 * third)
    return slopes, bends
