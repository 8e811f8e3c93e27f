"""Gaussian logit coefficients: what gates with them share, expectations, coordinates."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING
from bayesvb.data.scaling import Scaling
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AbstractGate
from bayesvb.linear.designs import AbstractDesign, GroupedDesign
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import (
    DrawCoordinates,
    DrawExpertRows,
    DrawTerms,
    DrawVector,
    EntryVector,
    ExpertRows,
    RowVector,
    TermRows,
    TermVector,
)
from bayesvb.numerics.records import changed
from bayesvb.numerics.special import softmax_spread
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.linear_predictors import (
    LogitCoordinates,
    LogitStats,
    design_of,
    logit_moments,
)
from bayesvb.variational.local import Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars
from bayesvb.variational.supports import Real

LOGIT_EFFECTS = "logit_effects"
"""Name of what effects of groups add to the logits of rows, in draws that do not hold effects."""

LogitLaw = Normal
"""Law of coefficients, one vector for each logit."""

LogitGateT = TypeVar("LogitGateT", bound="AbstractLogitGate")

Slopes = tuple[Float[np.ndarray, "experts scalars rows"], Float[np.ndarray, "scalars scalars rows"]]
"""``slopes`` and ``bends`` of ``PartDerivatives``."""


class AbstractLogitGate(AbstractGate[LogitLaw, LogitStats]):
    """A gate whose logits are linear in the covariates, their coefficients Gaussian a priori."""

    learns_scales = True

    def design(self, block: Block) -> AbstractDesign:
        """Return rows in the structure of the prior."""
        return design_of(self.prior.operator, block, GATING)

    @property
    def posterior_by_row(self) -> bool:  # type: ignore[override]
        """Unless effects of groups have no columns: a posterior of each row would have them all."""
        return self.prior.operator.is_dense

    @property
    def draws_complete(self) -> bool:
        return self.prior.operator.is_complete

    def update(self, stats: LogitStats) -> LogitLaw:
        """Gaussian of these natural parameters."""
        return stats.posterior(self.prior)

    @abc.abstractmethod
    def logit_slopes(
        self, posterior: LogitLaw, block: Block, responsibilities: ExpertRows
    ) -> Slopes | None:
        """Derivatives of the expected log weights in ``-E u^2 / 2`` of all logits, then in ``E u``.

        None if they are not at hand.
        """

    def row_derivatives(
        self, posterior: LogitLaw, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives | None:
        """Derivatives in the scalars of all statistics, in the order of ``LogitStats``."""
        derivatives = self.logit_slopes(posterior, block, responsibilities)
        if derivatives is None:
            return None
        design = self.design(block)
        present = design.present_products()
        scalars = RowScalars.of_moments(design.columns, *present, len(derivatives[1]) // 2)
        factors = np.concatenate([part.every for part in scalars], axis=1)
        return PartDerivatives(scalars, factors, *derivatives)

    def forms(
        self, posterior: LogitLaw, block: Block, blocks: Float[np.ndarray, "blocks terms"]
    ) -> Forms | None:
        """Forms in closed form, where all rows share all coefficients."""
        if not self.prior.operator.is_dense:
            return None
        return posterior.forms(self.design(block).columns, blocks)

    def expectations_along(
        self,
        posterior: LogitLaw,
        change: LogitStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> LogitStats:
        """Changes of the expectations in closed form."""
        curvature = self.prior.operator.like(change.curvature)
        if precision is not None:
            curvature = curvature.plus_diagonal(precision)
        return LogitStats(*posterior.expectations_along(change.linear, curvature))

    def kl(self, posterior: LogitLaw) -> float:
        return float(posterior.kl(self.prior))

    def with_coefficient_precision(
        self: LogitGateT, precision: Float[np.ndarray, "*many terms"]
    ) -> LogitGateT:
        """Gate whose coefficients have these precisions a priori."""
        return changed(self, prior=self.prior.with_precision(precision))

    def coefficient_squares(self, posterior: LogitLaw) -> TermVector:
        """``sum E[g_kj^2]``."""
        return np.asarray(posterior.squares().sum(axis=-2))

    def drawn_squares(self, draws: Float[np.ndarray, "draws logits coefficients"]) -> DrawTerms:
        """``sum g_kj^2`` of each draw, by term."""
        squares: DrawTerms
        squares = self.prior.operator.by_term((draws**2).sum(axis=1))
        return squares

    def draws(
        self, posterior: LogitLaw, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws logits terms"]:
        """Draws of the coefficients of every logit that the prior's structure has draws hold."""
        return posterior.draws(n, rng)

    @abc.abstractmethod
    def log_weights_at(
        self,
        draws: Float[np.ndarray, "draws logits terms"],
        design: TermRows,
        effects: Float[np.ndarray, "draws logits rows"] | None = None,
    ) -> DrawExpertRows:
        """Exact log weights of rows, whose logits may have drawn effects besides."""

    def log_weights(
        self, draws: Float[np.ndarray, "draws logits terms"], block: Block
    ) -> DrawExpertRows:
        return self.drawn_log_weights({"gate": draws}, block)

    def drawn_log_weights(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log weights with the contributions of group effects to the logits, if given."""
        design = self.design(block)
        shared, effects = design.split_drawn(draws["gate"], draws.get(LOGIT_EFFECTS))
        return self.log_weights_at(shared, block.designs[GATING], effects)

    def weights_without(
        self,
        posterior: LogitLaw,
        block: Block,
        responsibilities: ExpertRows,
        copies: RowVector,
        law: Normal | None = None,
    ) -> ExpertRows:
        """Weights where copies of a row, of a group that has effects, are taken out of its logits.

        Means move by Newton's step without the row, its membership following; they have the
        covariance of draws, by linear response if this is known. The row's contribution to
        precisions is removed from variances.

        References
        ----------
        Opper, Winther (2000), Gaussian processes for classification: mean-field algorithms, Neural
        Computation 12(11), for leave-one-out by the law of a logit without its own row.
        """
        weights = None
        if not self.draws_complete:
            weights = self.logit_slopes(posterior, block, responsibilities)
        if weights is None:
            return self.mean_weights(posterior, block)
        design = self.design(block)
        logit, variance = logit_moments(posterior, design)
        gradient, bend, weight = slopes_in_means(logit, responsibilities, *weights)
        spread = variance.T[:, :, None] * np.eye(len(logit))
        if law is not None and len(law.mean) < len(logit):
            assert isinstance(design, GroupedDesign)
            spread = design.joint_quadratic(law.operator)
        system = np.eye(len(logit)) + spread @ (copies[:, None, None] * bend)
        step = np.linalg.solve(system, spread @ (copies[:, None] * gradient)[..., None])
        left = variance / (1.0 - copies * weight * variance)
        return self.weights_of(logit - step[..., 0].T, left)

    @abc.abstractmethod
    def weights_of(
        self, logit: Float[np.ndarray, "logits rows"], variance: Float[np.ndarray, "logits rows"]
    ) -> ExpertRows:
        """Expected weights of rows whose logits are normal with these moments."""

    def mean_weights(self, posterior: LogitLaw, block: Block) -> ExpertRows:
        """Expected weights of the rows."""
        return self.weights_of(*logit_moments(posterior, self.design(block)))

    def support(self) -> Real:
        """The coefficients."""
        return Real(self.prior.shared.mean.shape)

    def log_density(
        self, posterior: LogitLaw | None, draws: Float[np.ndarray, "draws logits terms"]
    ) -> DrawVector:
        density: DrawVector
        density = (posterior or self.prior).log_density(draws).sum(axis=-1)
        return density


@dataclass(frozen=True)
class ContrastCoordinates(AbstractCoordinates):
    """Coordinates of the coefficients that are orthogonal to a shift of all logits.

    Parameters at these coordinates share the posterior expectation of that shift.
    """

    whole: LogitCoordinates

    @property
    def size(self) -> int:
        """Number of coefficients, without a common shift."""
        return self.whole.size - int(self.whole.posterior.mean.shape[-1])

    @property
    def basis(self) -> Float[np.ndarray, "whole contrasts"]:
        """Orthonormal contrasts, in the coordinates of all coefficients."""
        root = self.whole.root
        n_logits, n_terms, _ = root.shape
        shift = np.swapaxes(root, -1, -2).reshape(n_logits * n_terms, n_terms)
        return np.asarray(np.linalg.qr(shift, mode="complete").Q[:, n_terms:])

    def expectations(self) -> EntryVector:
        """Expectations of all coefficients."""
        return self.whole.expectations()

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Contrasts of the tilts of single coefficients."""
        return np.asarray(self.basis.T @ self.whole.perturbations())

    def linear_perturbations(self) -> Float[np.ndarray, "contrasts logits terms"]:
        """Contrasts of single coefficients' perturbations."""
        return np.tensordot(self.basis.T, self.whole.linear_perturbations(), axes=1)

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Contrasts of single coefficients' slopes."""
        return np.asarray(self.whole.centre_slopes(change) @ self.basis)

    def centre_along(
        self, change: Float[np.ndarray, "changes logits terms"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Contrasts of single coefficients' changes."""
        return np.asarray(self.whole.centre_along(change) @ self.basis)

    def standard(self, draws: Float[np.ndarray, "draws logits terms"]) -> DrawCoordinates:
        """Contrasts of the coordinates; a shift does not enter."""
        return np.asarray(self.whole.standard(draws) @ self.basis)

    def parameters(self, standard: DrawCoordinates) -> Float[np.ndarray, "draws logits terms"]:
        """Coefficients with these contrasts."""
        return self.whole.parameters(standard @ self.basis.T)

    def log_volume(self, draws: Float[np.ndarray, "draws logits terms"]) -> DrawVector:
        """Constant."""
        return np.zeros(len(draws))


def slopes_in_means(
    logit: Float[np.ndarray, "logits rows"],
    responsibilities: ExpertRows,
    slopes: Float[np.ndarray, "experts scalars rows"],
    bends: Float[np.ndarray, "scalars scalars rows"],
) -> tuple[
    Float[np.ndarray, "rows logits"],
    Float[np.ndarray, "rows logits logits"],
    Float[np.ndarray, "logits rows"],
]:
    """Derivatives of a row's part of the bound in the means of its logits, first and second.

    Last, its contribution to the precision of each logit.
    """
    n = len(logit)
    first = np.einsum("kn,ksn->sn", responsibilities, slopes)
    spread = softmax_spread(responsibilities)
    second = np.einsum("isn,ijn,jtn->stn", slopes, spread, slopes, optimize=True) + bends
    by_mean = second[:, n:] - second[:, :n] * logit  # squares fall with the mean's own
    within = by_mean[n:] - logit[:, None] * by_mean[:n] - np.eye(n)[..., None] * first[:n]
    return (first[n:] - logit * first[:n]).T, np.moveaxis(within, -1, 0), first[:n]


def logit_prior_rows(prior: Normal, scaling: Scaling, terms: Sequence[str]) -> list[PriorRow]:
    """Prior of the logit coefficients of one component, in the units of the terms."""
    sds = scaling.spread(np.sqrt(np.diagonal(prior.covariance)))
    return [
        PriorRow(GATING, term, "Normal", 0.0, float(sd))
        for term, sd in zip(terms, sds, strict=True)
    ]
