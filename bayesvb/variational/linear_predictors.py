"""Linear predictors with Gaussian coefficients: statistics, moments and standard coordinates.

Logits of gates and predictors of experts are linear in their coefficients, and the posterior of
these is Gaussian; both take their sums, moments and coordinates from here.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag

from bayesvb.data.blocks import PRODUCTS, Block
from bayesvb.data.group_rows import GROUP_DESIGNS
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.linear.precisions import AbstractPrecision
from bayesvb.numerics.arrays import DrawCoordinates, DrawVector, EntryVector
from bayesvb.numerics.linalg import linear_at, packed_diagonal, times_each, with_diagonal
from bayesvb.variational.coordinates import AbstractCoordinates, entries, perturbation_rows


@dataclass(frozen=True)
class LogitStats(SufficientStats):
    """Contribution of rows to the natural parameters of a gate with linear, Gaussian logits.

    Attributes
    ----------
    curvature : ndarray, shape (logits, packed)
        Sum of ``w x x'``, packed as the design packs it: contribution to each precision.
    linear : ndarray, shape (logits, terms)
        Contribution of the rows to each precision times mean.
    """

    curvature: Float[np.ndarray, "*many logits packed"]
    linear: Float[np.ndarray, "*many logits terms"]

    @classmethod
    def of_rows(
        cls,
        design: AbstractDesign,
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        return cls(design.gram(curvature), design.cross(linear))

    @classmethod
    def by_row(
        cls,
        design: AbstractDesign,
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Return the contribution of each row."""
        return cls(design.gram_by_row(curvature), design.cross_by_row(linear))

    def with_squares(self, more: Float[np.ndarray, "many terms"]) -> LogitStats:
        """Sums with these added to the squares of the terms of every logit."""
        return replace(self, curvature=with_diagonal(self.curvature, more[..., None, :]))

    @property
    def squares(self) -> Float[np.ndarray, "*many terms"]:
        """Squares of the terms, summed over logits."""
        diagonal = packed_diagonal(self.linear.shape[-1])
        return np.asarray(self.curvature[..., diagonal].sum(axis=-2))

    def posterior(self, prior: Normal) -> Normal:
        """Posterior of the coefficients: prior plus the contribution of the rows."""
        return prior.plus(self.curvature, self.linear)


def logit_moments(
    posterior: Normal, design: AbstractDesign
) -> tuple[Float[np.ndarray, "logits rows"], Float[np.ndarray, "logits rows"]]:
    """Means and variances of the logits of every row.

    The posterior is the same for all rows, or has one for each on a leading axis.
    """
    mean = posterior.mean
    logit = design.predict(mean) if mean.ndim == 2 else linear_at(mean, design.columns)
    return logit, design.quadratic(posterior.operator)


@dataclass(frozen=True)
class LogitCoordinates(AbstractCoordinates):
    """``A' (g - m)`` with ``A A'`` the precision; linear in the coefficients already.

    Of the coefficients that all rows share: effects of groups follow them, as statistics do.
    """

    posterior: Normal

    @cached_property
    def law(self) -> Normal:
        """Marginal law of the coefficients that all rows share."""
        return self.posterior.shared

    @cached_property
    def root(self) -> Float[np.ndarray, "logits terms terms"]:
        """Cholesky factor of the precision."""
        return np.linalg.cholesky(self.law.precision)

    @property
    def upper(self) -> Float[np.ndarray, "logits terms terms"]:
        """``A'``."""
        return np.swapaxes(self.root, -1, -2)

    @cached_property
    def _inverse(self) -> Float[np.ndarray, "logits terms terms"]:
        """Inverse of ``A'``."""
        return np.linalg.inv(self.upper)

    @property
    def size(self) -> int:
        """Number of coefficients."""
        return int(self.law.mean.size)

    def expectations(self) -> EntryVector:
        """``-E[g g'] / 2`` and ``E[g]``, in the order of ``LogitStats``."""
        return entries(-0.5 * self.posterior.second_moments(), self.posterior.mean)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Change of the statistics by a unit perturbation of each: columns of the root.

        Each at the logit to which it belongs; effects of groups are not touched.
        """
        linear, n_terms = self.linear_perturbations(), self.law.mean.shape[1]
        n_effects = self.posterior.mean.shape[1] - n_terms
        # Effects of groups are not perturbed: given what is shared they follow by their update.
        linear = np.pad(linear, [(0, 0), (0, 0), (0, n_effects)])
        no_curvature = np.zeros((len(linear), *self.posterior.second_moments().shape))
        return perturbation_rows(no_curvature, linear)

    def linear_perturbations(self) -> Float[np.ndarray, "coordinates logits terms"]:
        """Columns of the root."""
        n_logits, n_terms = self.law.mean.shape
        roots = block_diag(*np.swapaxes(self.root, -1, -2))
        return np.asarray(roots.reshape(n_logits * n_terms, n_logits, n_terms))

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """``A'`` times changes of ``E[g]``."""
        mean = self.posterior.mean
        shift = change[:, -mean.size :].reshape(len(change), *mean.shape)
        return self.centre_along(shift[..., : self.law.mean.shape[1]])

    def centre_along(
        self, change: Float[np.ndarray, "changes logits terms"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """``A'`` times changes of the means of each vector."""
        return times_each(self.upper, change).reshape(len(change), -1)

    def standard(self, draws: Float[np.ndarray, "draws logits terms"]) -> DrawCoordinates:
        """``A' (g - m)``."""
        shift = draws - self.law.mean
        return times_each(self.upper, shift).reshape(len(draws), -1)

    def parameters(self, standard: DrawCoordinates) -> Float[np.ndarray, "draws logits terms"]:
        """``m + A'^-1 z``."""
        shape = (len(standard), *self.law.mean.shape)
        return np.asarray(self.law.mean + times_each(self._inverse, standard.reshape(shape)))

    def log_volume(self, draws: Float[np.ndarray, "draws logits terms"]) -> DrawVector:
        """Constant."""
        return np.zeros(len(draws))


def design_of(operator: AbstractPrecision, block: Block, part: str) -> AbstractDesign:
    """Return the rows of a part as a design with the structure of a precision.

    Parameters
    ----------
    operator : AbstractPrecision
    block : Block
    part : str
        Groups without columns belong to ``"mean"`` and ``"gating"``.
    """
    groups = block.designs.get(GROUP_DESIGNS.get(part, ""))
    return operator.design(block.designs[part], groups, block.designs.get(part + PRODUCTS))
