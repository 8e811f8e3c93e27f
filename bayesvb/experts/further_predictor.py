"""Experts with one further linear predictor, of the noise or of structural zeros, say."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.regression import AbstractRegressionExperts
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawTerms,
    DrawVector,
    ExpertRows,
    ExpertTerms,
    ExpertVector,
    TermVector,
)
from bayesvb.numerics.linalg import unpack
from bayesvb.variational.coordinates import JoinedCoordinates
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, design_of
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.passed_on import passed_on

ExpertsT = TypeVar("ExpertsT", bound=AbstractRegressionExperts[Any, Any])

FurtherT = TypeVar("FurtherT", bound="AbstractFurtherExperts[Any]")

Rows = Float[np.ndarray, "_ rows"]


@dataclass(frozen=True)
class FurtherStats(SufficientStats):
    """Sums of the experts, and sums of the coefficients of the further predictor."""

    experts: Any
    further: LogitStats

    @property
    def weight(self) -> ExpertVector:
        """Sum of the responsibilities."""
        return np.asarray(self.experts.weight)

    def permuted(self, order: Sequence[int]) -> FurtherStats:
        """Sums after a new labelling; a predictor that all components share has no label."""
        further = self.further if len(self.further.linear) == 1 else self.further.permuted(order)
        return FurtherStats(self.experts.permuted(order), further)


@dataclass(frozen=True)
class FurtherPosterior:
    """Posterior of the experts, and of the coefficients of the further predictor, independent."""

    experts: Any
    further: Normal


@dataclass(frozen=True)
class AbstractFurtherLocalPosterior(AbstractLocalPosterior):
    """Expected log density of these rows, with the weights of rows in both sums.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    experts : AbstractLocalPosterior
    design : AbstractDesign
        Of the further predictor.
    """

    expected_log_density: ExpertRows
    experts: AbstractLocalPosterior
    design: AbstractDesign

    @abc.abstractmethod
    def further_weights(self, responsibilities: ExpertRows) -> tuple[Rows, Rows]:
        """Weights of ``z z'`` and of ``z``: curvature, and slope plus curvature times mean."""

    def expert_weights(self, responsibilities: ExpertRows) -> ExpertRows:
        """Weights of rows in the sums of the experts."""
        return responsibilities

    def sufficient_stats(self, responsibilities: ExpertRows) -> FurtherStats:
        further = LogitStats.of_rows(self.design, *self.further_weights(responsibilities))
        experts = self.experts.sufficient_stats(self.expert_weights(responsibilities))
        return FurtherStats(experts, further)

    def row_stats(self, responsibilities: ExpertRows) -> FurtherStats | None:
        """Contribution of each row, where the contribution to the experts is available."""
        experts = self.experts.row_stats(self.expert_weights(responsibilities))
        if experts is None:
            return None
        further = LogitStats.by_row(self.design, *self.further_weights(responsibilities))
        return FurtherStats(experts, further)


@dataclass(frozen=True)
class AbstractFurtherExperts(
    AbstractRegressionExperts[FurtherPosterior, FurtherStats], Generic[ExpertsT]
):
    """Experts of any family with a further linear predictor ``v = z' g``, ``g ~ N(0, P_0^{-1})``.

    The posterior is ``q(theta) q(g)``: the experts' posterior, and a Gaussian by natural-gradient
    steps, see ``AbstractPredictorExperts``. A subclass defines the density of a row, the weights of
    rows in both sums, and its labels.

    Attributes
    ----------
    experts : AbstractRegressionExperts
        Experts without the further predictor.
    of_further : Normal
        Prior of ``g``.
    """

    is_conjugate = False

    part: ClassVar[str]
    """Part of the formula with the columns ``z``."""

    draws_name: ClassVar[str]
    """Name of the draws of ``g``."""

    experts: ExpertsT
    of_further: Normal

    parts = passed_on("experts")
    response = passed_on("experts")

    @property
    def prior(self) -> FurtherPosterior:  # type: ignore[override]
        """Prior of one expert."""
        return FurtherPosterior(self.experts.prior, self.of_further)

    @property
    def n_further(self) -> int:
        """Coefficients of one further predictor."""
        return int(self.of_further.mean.shape[-1])

    def design(self, block: Block) -> AbstractDesign:
        """Return the columns of the further predictor."""
        return design_of(self.of_further.operator, block, self.part)

    def global_step(self, posterior: FurtherPosterior | None, stats: FurtherStats) -> FurtherStats:
        """Statistics of the step of the experts; for ``g``, its full natural gradient."""
        known = None if posterior is None else posterior.experts
        return FurtherStats(self.experts.global_step(known, stats.experts), stats.further)

    def update(self, stats: FurtherStats) -> FurtherPosterior:
        """Posterior of the experts, and Gaussian of these natural parameters."""
        further = stats.further.posterior(self.of_further)
        return FurtherPosterior(self.experts.update(stats.experts), further)

    def kl(self, posterior: FurtherPosterior) -> float:
        return self.experts.kl(posterior.experts) + posterior.further.kl(self.of_further)

    def coordinates(self, posterior: FurtherPosterior) -> JoinedCoordinates | None:
        """Standard coordinates of the experts, where they have them, then of ``g``."""
        experts = self.experts.coordinates(posterior.experts)
        if experts is None:
            return None
        return JoinedCoordinates(experts, LogitCoordinates(posterior.further), self.draws_name)

    def expectations_along(
        self,
        posterior: FurtherPosterior,
        change: FurtherStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[FurtherStats, Float[np.ndarray, "many entries"]] | None:
        n_terms = 0 if precision is None else precision.shape[-1] - self.n_further
        of_experts = None if precision is None else precision[:, :n_terms]
        experts = self.experts.expectations_along(posterior.experts, change.experts, of_experts)
        if experts is None:
            return None
        further = change.further
        if precision is not None:
            further = further.with_squares(precision[:, n_terms:])
        moved = LogitStats(
            *posterior.further.expectations_along(further.linear, unpack(further.curvature))
        )
        squares = np.concatenate([experts[1], -2.0 * moved.squares], axis=1)
        return FurtherStats(experts[0], moved), squares

    def split(
        self, precision: Float[np.ndarray, "*many entries"]
    ) -> tuple[Float[np.ndarray, "*many _"], Normal]:
        """Return precisions of the experts, and the prior of ``g`` with the others: the last."""
        n_terms = precision.shape[-1] - self.n_further
        of_experts, of_further = precision[..., :n_terms], precision[..., n_terms:]
        return of_experts, self.of_further.with_precision(of_further)

    def with_coefficient_precision(
        self: FurtherT, precision: Float[np.ndarray, "*many terms"]
    ) -> FurtherT:
        """Experts with these precisions of their terms, then of the terms of ``g``."""
        of_experts, further = self.split(precision)
        return type(self)(self.experts.with_coefficient_precision(of_experts), further)

    def coefficient_squares(self, posterior: FurtherPosterior) -> TermVector:
        """Squares of the experts' coefficients, then ``sum E[g_j^2]``."""
        experts = self.experts.coefficient_squares(posterior.experts)
        return np.concatenate([experts, posterior.further.squares().sum(axis=-2)], axis=-1)

    def drawn_squares(self, draws: Draws) -> DrawTerms:
        own = (draws[self.draws_name] ** 2).sum(axis=1)
        squares: DrawTerms
        squares = namespace(own).concatenate([self.experts.drawn_squares(draws), own], axis=1)
        return squares

    def effective_dof(self, posterior: FurtherPosterior) -> ExpertTerms | None:
        return self.experts.effective_dof(posterior.experts)

    def draws(self, posterior: FurtherPosterior, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the experts, and of ``g`` (draws, predictors, terms)."""
        experts = self.experts.draws(posterior.experts, n, rng)
        return {**experts, self.draws_name: posterior.further.draws(n, rng)}

    def drawn_further(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws _ rows"]:
        """Further predictor of every row given each draw."""
        return self.design(block).predict_drawn(draws[self.draws_name], None)

    def log_density(self, posterior: FurtherPosterior | None, draws: Draws) -> DrawVector:
        known = None if posterior is None else posterior.experts
        further = self.of_further if posterior is None else posterior.further
        density: DrawVector
        density = self.experts.log_density(known, draws)
        density = density + further.log_density(draws[self.draws_name]).sum(axis=1)
        return density
