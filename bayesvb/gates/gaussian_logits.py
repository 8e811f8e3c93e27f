"""Expectations and standard coordinates of Gaussian logit coefficients."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.numerics.linalg import quadratic_weights, second_moments, times, unpack
from bayesvb.variational.coordinates import AbstractCoordinates, entries, perturbation_rows
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.row_derivatives import GateDerivatives, RowScalars, consecutive


@dataclass(frozen=True)
class LogitStats(SufficientStats):
    """What rows add to the natural parameters of a gate with linear, Gaussian logits.

    Attributes
    ----------
    curvature : ndarray, shape (logits, pairs)
        Sum of ``w x x'``, packed: what the rows add to each posterior precision.
    linear : ndarray, shape (logits, terms)
        What the rows add to each precision times mean.
    """

    curvature: Float[np.ndarray, "*many logits pairs"]
    linear: Float[np.ndarray, "*many logits terms"]

    @classmethod
    def of_rows(
        cls,
        design: Float[np.ndarray, "terms rows"],
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """Sums from the per-row weights of ``x x'`` and of ``x``."""
        return cls(second_moments(curvature, design), linear @ design.T)


def gaussian_logits(prior: Normal, stats: LogitStats) -> Normal:
    """Gaussian posterior of logit coefficients: prior plus what the rows add.

    Raises
    ------
    numpy.linalg.LinAlgError
        A precision is not positive definite.
    """
    linear = times(prior.precision, prior.mean) + stats.linear
    precision = unpack(stats.curvature)
    precision += prior.precision
    return Normal.from_natural(linear, precision)


@dataclass(frozen=True)
class LogitCoordinates(AbstractCoordinates):
    """``A' (g - m)`` with ``A A'`` the precision; linear in the coefficients already."""

    posterior: Normal

    @property
    def root(self) -> Float[np.ndarray, "logits terms terms"]:
        """Cholesky factor of the precision."""
        return np.linalg.cholesky(self.posterior.precision)

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """``-E[g g'] / 2`` and ``E[g]``, in the order of ``LogitStats``."""
        mean = self.posterior.mean
        second = self.posterior.covariance + mean[..., :, None] * mean[..., None, :]
        return entries(-0.5 * quadratic_weights(second), mean)

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Columns of the root, each at the logit to which it belongs."""
        n_logits, n_terms = self.posterior.mean.shape
        columns = np.swapaxes(self.root, -1, -2)
        linear = np.einsum("ljt,lm->ljmt", columns, np.eye(n_logits))
        linear = linear.reshape(n_logits * n_terms, n_logits, n_terms)
        no_curvature = np.zeros((len(linear), n_logits, n_terms * (n_terms + 1) // 2))
        return perturbation_rows(no_curvature, linear)

    def standard(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, "draws coordinates"]:
        """``A' (g - m)``."""
        shift = draws - self.posterior.mean
        return times(np.swapaxes(self.root, -1, -2), shift).reshape(len(draws), -1)

    def parameters(
        self, standard: Float[np.ndarray, "draws coordinates"]
    ) -> Float[np.ndarray, "draws logits terms"]:
        """``m + A'^-1 z``."""
        shape = (len(standard), *self.posterior.mean.shape)
        upper = np.linalg.inv(np.swapaxes(self.root, -1, -2))
        return np.asarray(self.posterior.mean + times(upper, standard.reshape(shape)))

    def log_volume(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Constant."""
        return np.zeros(len(draws))


@dataclass(frozen=True)
class ContrastCoordinates(AbstractCoordinates):
    """Those of the coefficients that are orthogonal to a shift of all logits.

    Parameters at these coordinates share what the posterior expects of that shift.
    """

    whole: LogitCoordinates

    @property
    def basis(self) -> Float[np.ndarray, "whole contrasts"]:
        """Orthonormal contrasts, in the coordinates of all coefficients."""
        root = self.whole.root
        n_logits, n_terms, _ = root.shape
        shift = np.swapaxes(root, -1, -2).reshape(n_logits * n_terms, n_terms)
        return np.asarray(np.linalg.qr(shift, mode="complete").Q[:, n_terms:])

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Those of all coefficients."""
        return self.whole.expectations()

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Contrasts of the tilts of single coefficients."""
        return np.asarray(self.basis.T @ self.whole.perturbations())

    def standard(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, "draws coordinates"]:
        """Contrasts of the coordinates; a shift does not enter."""
        return np.asarray(self.whole.standard(draws) @ self.basis)

    def parameters(
        self, standard: Float[np.ndarray, "draws coordinates"]
    ) -> Float[np.ndarray, "draws logits terms"]:
        """Coefficients with these contrasts."""
        return self.whole.parameters(standard @ self.basis.T)

    def log_volume(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Constant."""
        return np.zeros(len(draws))


def logit_derivatives(
    block: Block,
    slopes: Float[np.ndarray, "experts scalars rows"],
    bends: Float[np.ndarray, "scalars scalars rows"],
) -> GateDerivatives:
    """Derivatives in ``-E u^2 / 2`` of all logits, then in ``E u``: the order of ``LogitStats``."""
    design, features = block.designs["gating"], block.products("gating")
    curvature, linear = consecutive(len(bends) // 2, [len(features), len(design)])
    scalars = RowScalars(features, curvature), RowScalars(design, linear)
    factors = np.concatenate([curvature, linear], axis=1)
    return GateDerivatives(scalars, factors, slopes, bends)


def logit_prior_rows(prior: Normal, scaling: Scaling, terms: Sequence[str]) -> list[PriorRow]:
    """Prior of the logit coefficients of one component, in the units of the terms."""
    sds = scaling.spread(np.sqrt(np.diagonal(prior.covariance)))
    return [
        PriorRow("gating", term, "Normal", 0.0, float(sd))
        for term, sd in zip(terms, sds, strict=True)
    ]
