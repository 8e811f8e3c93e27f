"""Standard coordinates of the means and precisions of Gaussian experts, for small deviations."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.factors.normal_wishart import NormalWishart
from bayesvb.numerics.arrays import DrawCoordinates, DrawVector, EntryVector
from bayesvb.numerics.linalg import pack, times
from bayesvb.variational.coordinates import AbstractCoordinates, perturbation_rows
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class DiagonalCoordinates(AbstractCoordinates):
    """Coordinates of regressions on a constant term: means, then log precisions.

    Attributes
    ----------
    posterior : MatrixNormalGamma
    expected : ndarray, shape (entries,)
        Expected sufficient statistics.
    """

    posterior: MatrixNormalGamma
    expected: EntryVector

    @property
    def linear(self) -> LinearCoordinates:
        """Coordinates of the regressions."""
        return LinearCoordinates(self.posterior, coupled=False)

    def expectations(self) -> EntryVector:
        """Expectations as they were given."""
        return self.expected

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Perturbations of the regressions, whose sums of squares of the term are the weights."""
        n_experts = len(self.posterior.shape)
        return np.pad(self.linear.perturbations()[:, 2 * n_experts :], [(0, 0), (n_experts, 0)])

    def standard(self, draws: Draws) -> DrawCoordinates:
        """Coordinates of means and precisions."""
        each = {"coefficients": draws["mean"][..., None], "precision": draws["precision"]}
        return self.linear.standard(each)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        """Means and precisions at these coordinates."""
        each = self.linear.parameters(standard)
        return {"mean": each["coefficients"][..., 0], "precision": each["precision"]}

    def log_volume(self, draws: Draws) -> DrawVector:
        """``sum log tau``."""
        return np.asarray(np.log(draws["precision"]).sum(axis=(1, 2)))


@dataclass(frozen=True)
class FullCoordinates(AbstractCoordinates):
    r"""``sqrt(beta) R' (mu - m)`` with ``R R' = E[Lambda]``, then ``log R^-1 Lambda R^-T``.

    The logarithm of the matrix has variances ``2 / nu`` on the diagonal and ``1 / nu`` off it.
    Stand-ins are ``sqrt(beta) R^-1 Lambda (mu - m)`` and the entries of ``R^-1 Lambda R^-T``.

    Attributes
    ----------
    posterior : NormalWishart
    expected : ndarray, shape (entries,)
        Expected sufficient statistics.
    """

    posterior: NormalWishart
    expected: EntryVector

    @cached_property
    def root(self) -> Float[np.ndarray, "experts dims dims"]:
        """``R``."""
        return np.linalg.cholesky(self.posterior.expected_precision)

    @property
    def pairs(self) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
        """Rows and columns of the distinct entries of a matrix."""
        first, second = np.triu_indices(self.posterior.n_dims)
        return first, second

    @property
    def spread(self) -> Float[np.ndarray, "experts pairs"]:
        """Standard deviations of the entries of the logarithm."""
        first, second = self.pairs
        return np.asarray(
            np.sqrt(np.where(first == second, 2.0, 1.0) / self.posterior.dof[:, None])
        )

    def expectations(self) -> EntryVector:
        """Expectations as they were given."""
        return self.expected

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the means of every expert, then of its precision matrix."""
        q, (first, second) = self.posterior, self.pairs
        n_experts, n_dims = q.mean.shape
        n_pairs, inverse = len(first), np.linalg.inv(self.root)
        rows = np.sqrt(q.mean_precision)[:, None, None] * inverse
        outer = rows[..., :, None] * q.mean[:, None, None]
        of_means = pack(outer + np.swapaxes(outer, -1, -2))
        left, right = inverse[:, first], inverse[:, second]
        outer = left[..., :, None] * right[..., None, :]
        scale = (1.0 / self.spread)[..., None, None]
        of_precisions = pack(-scale * (outer + np.swapaxes(outer, -1, -2)))
        here = np.eye(n_experts)
        x = np.einsum("kjd,kl->kjld", rows, here).reshape(-1, n_experts, n_dims)
        each = (of_means, of_precisions)
        xx = [np.einsum("kjp,kl->kjlp", one, here).reshape(-1, n_experts, n_pairs) for one in each]
        padding = np.zeros((len(xx[1]), n_experts, n_dims))
        n_tilts = len(x) + len(padding)
        return perturbation_rows(
            np.zeros((n_tilts, n_experts)), np.concatenate([x, padding]), np.concatenate(xx)
        )

    def standard(self, draws: Draws) -> DrawCoordinates:
        """Coordinates of means and precision matrices."""
        q, (first, second), n_draws = self.posterior, self.pairs, len(draws["mean"])
        upper = np.swapaxes(self.root, -1, -2)
        mean = np.sqrt(q.mean_precision)[:, None] * times(upper, draws["mean"] - q.mean)
        inverse = np.linalg.inv(self.root)
        values, axes = np.linalg.eigh(inverse @ draws["precision"] @ np.swapaxes(inverse, -1, -2))
        logarithm = (axes * np.log(values)[..., None, :]) @ np.swapaxes(axes, -1, -2)
        entries = logarithm[..., first, second] / self.spread
        return np.concatenate([mean.reshape(n_draws, -1), entries.reshape(n_draws, -1)], axis=1)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        """Means and precision matrices at these coordinates."""
        q, (first, second), n_draws = self.posterior, self.pairs, len(standard)
        scaled = standard[:, : q.mean.size].reshape(n_draws, *q.mean.shape)
        upper = np.linalg.inv(np.swapaxes(self.root, -1, -2))
        mean = q.mean + times(upper, scaled) / np.sqrt(q.mean_precision)[:, None]
        entries = standard[:, q.mean.size :].reshape(n_draws, *self.spread.shape) * self.spread
        logarithm = np.zeros((*mean.shape, q.n_dims))
        logarithm[..., first, second] = entries
        logarithm[..., second, first] = entries
        values, axes = np.linalg.eigh(logarithm)
        turned = self.root @ axes
        return {
            "mean": mean,
            "precision": (turned * np.exp(values)[..., None, :]) @ np.swapaxes(turned, -1, -2),
        }

    def log_volume(self, draws: Draws) -> DrawVector:
        """``(D + 1) / 2 sum log |Lambda|``, for small deviations."""
        half = 0.5 * (self.posterior.n_dims + 1.0)
        return np.asarray(half * np.linalg.slogdet(draws["precision"]).logabsdet.sum(axis=1))
