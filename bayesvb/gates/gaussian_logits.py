"""Gaussian logit coefficients: what gates with them share, expectations, coordinates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, TypeVar, cast

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AbstractGate
from bayesvb.numerics.linalg import (
    lower_pairs,
    outer_by_row,
    quadratic_weights,
    second_moments,
    times,
    unpack,
)
from bayesvb.numerics.product_covariance import product_covariance
from bayesvb.variational.coordinates import AbstractCoordinates, entries, perturbation_rows
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.row_derivatives import GateDerivatives, RowScalars, consecutive
from bayesvb.variational.supports import Real

LogitGateT = TypeVar("LogitGateT", bound="AbstractLogitGate")


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

    @classmethod
    def by_row(
        cls,
        features: Float[np.ndarray, "pairs rows"],
        design: Float[np.ndarray, "terms rows"],
        curvature: Float[np.ndarray, "logits rows"],
        linear: Float[np.ndarray, "logits rows"],
    ) -> LogitStats:
        """What each row adds."""
        return cls(outer_by_row(curvature, features), outer_by_row(linear, design))


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


class AbstractLogitGate(AbstractGate[Normal, LogitStats]):
    """A gate whose logits are linear in the covariates, their coefficients Gaussian a priori."""

    posterior_by_row = True
    learns_scales = True

    def update(self, stats: LogitStats) -> Normal:
        """Gaussian of these natural parameters."""
        return gaussian_logits(self.prior, stats)

    def statistics_covariance(self, posterior: Normal) -> Float[np.ndarray, "entries entries"]:
        """Of ``-g g' / 2`` of all logits, packed, then of ``g``."""
        mean, covariance = posterior.mean, posterior.covariance
        n_logits, n_terms = mean.shape
        first, second = lower_pairs(n_terms)
        one = np.full(n_terms, n_terms)
        pairs = np.concatenate([first, np.arange(n_terms)]), np.concatenate([second, one])
        sign = np.concatenate([-0.5 * (2.0 - (first == second)), np.ones(n_terms)])
        spread = np.zeros((n_logits, n_terms + 1, n_terms + 1))
        spread[:, :-1, :-1] = covariance
        known = np.concatenate([mean, np.ones((n_logits, 1))], axis=1)
        each = product_covariance(known[:, :, None] * known[:, None], spread, pairs)
        places = np.concatenate(consecutive(n_logits, [len(first), n_terms]), axis=1)
        found = np.zeros((places.size, places.size))
        for at, own in zip(places, each, strict=True):
            found[np.ix_(at, at)] = sign[:, None] * own * sign
        return found

    def kl(self, posterior: Normal) -> float:
        """``KL(posterior || prior)``."""
        return posterior.kl(self.prior)

    def with_coefficient_precision(
        self: LogitGateT, precision: Float[np.ndarray, "*many terms"]
    ) -> LogitGateT:
        """The same gate whose coefficients have these precisions a priori."""
        gate: Any = self
        return cast(LogitGateT, replace(gate, prior=self.prior.with_precision(precision)))

    def coefficient_squares(self, posterior: Normal) -> Float[np.ndarray, " terms"]:
        """``sum E[g_kj^2]``."""
        return np.asarray(posterior.squares().sum(axis=-2))

    def drawn_squares(
        self, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, "draws terms"]:
        """``sum g_kj^2`` of each draw."""
        squares: Float[np.ndarray, "draws terms"] = (draws**2).sum(axis=1)
        return squares

    def draws(
        self, posterior: Normal, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws logits terms"]:
        """Draws of the coefficients of every logit."""
        return posterior.draws(n, rng)

    def support(self) -> Real:
        """The coefficients."""
        return Real(self.prior.mean.shape)

    def log_density(
        self, posterior: Normal | None, draws: Float[np.ndarray, "draws logits terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw."""
        density: Float[np.ndarray, " draws"]
        density = (posterior or self.prior).log_density(draws).sum(axis=-1)
        return density


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
