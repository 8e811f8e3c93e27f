"""Evidence of class labels on latent vectors: stick-breaking with Polya-Gamma augmentation."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.factors.normal import Normal
from bayesvb.models.network.experts import LatentPrior
from bayesvb.numerics.arrays import ExpertRows, RowVector, TermRows
from bayesvb.numerics.linalg import pack, quadratic_weights
from bayesvb.numerics.packed_matrices import diagonal_numbers
from bayesvb.numerics.special import jaakkola, polya_gamma_mean


@dataclass(frozen=True)
class StickLabels:
    """Labels as sticks.

    Attributes
    ----------
    reach : ndarray, shape (sticks, rows)
        1 where a row gets to a stick.
    kappa : ndarray, shape (sticks, rows)
        1/2 at the stick at which it stops, -1/2 at those that it passes, 0 beyond.
    """

    reach: Float[np.ndarray, "sticks rows"]
    kappa: Float[np.ndarray, "sticks rows"]

    @classmethod
    def of(cls, codes: RowVector, n_classes: int) -> StickLabels:
        """Sticks of class codes 0, 1, ..."""
        sticks = np.arange(n_classes - 1.0)[:, None]
        reach = (codes >= sticks).astype(np.float64)
        return cls(reach, (codes == sticks) - 0.5 * reach)


@dataclass(frozen=True)
class LabelEvidence:
    r"""Evidence of labels on latent vectors, under the posterior of the output layer.

    For given Polya-Gamma means ``omega`` it is a Gaussian: precision ``sum_l omega_l W_l^xx``,
    precision times mean ``sum_l kappa_l mu_l^x - omega_l w_l^x1``, with ``W_l = E[beta_l beta_l']``
    and ``mu_l = E[beta_l]``.

    Attributes
    ----------
    squares : ndarray, shape (sticks, pairs)
        ``squares @ E[u u'] = E[psi^2]``.
    curvature : ndarray, shape (pairs - 1, sticks)
        ``2 curvature @ omega`` is the packed precision, bordered by what omega adds to ``linear``.
    linear : ndarray, shape (latents + 1, rows)
        ``sum_l kappa_l mu_l``: the part that no omega enters.
    reach : ndarray, shape (sticks - 1, 1, rows)
        Of the sticks after the first, to which every row gets.
    mean : ndarray, shape (sticks, latents + 1)
        ``mu_l``.
    """

    squares: Float[np.ndarray, "sticks pairs"]
    curvature: Float[np.ndarray, "natural_pairs sticks"]
    linear: TermRows
    reach: Float[np.ndarray, "later_sticks 1 rows"]
    mean: Float[np.ndarray, "sticks terms"]

    @classmethod
    def of(cls, posterior: Normal, labels: StickLabels) -> LabelEvidence:
        """Evidence of these labels."""
        mean = posterior.mean
        second = posterior.covariance + mean[:, :, None] * mean[:, None, :]
        curvature = 0.5 * pack(second)[:, :-1].T
        curvature[-(mean.shape[1] - 1) :] *= -1.0
        return cls(
            squares=quadratic_weights(second),
            curvature=curvature,
            linear=mean.T @ labels.kappa,
            reach=labels.reach[1:, None],
            mean=mean,
        )

    def before(
        self, prior: LatentPrior
    ) -> tuple[Float[np.ndarray, "sticks experts rows"], Float[np.ndarray, "latents experts rows"]]:
        """``E[psi^2]`` and ``E[x1]`` before the label is seen.

        The uncertainty of the coefficients is included with a latent vector of zero: this is only
        the start of the inner steps.
        """
        variance = 1.0 / prior.precision
        location = prior.linear * variance
        n_latents, *shape = location.shape
        slope, intercept = self.mean[:, :-1], self.mean[:, -1, None, None]
        second = np.dot(slope, location.reshape(n_latents, -1)).reshape(len(slope), *shape)
        second += intercept
        second *= second
        squares = self.squares[:, diagonal_numbers(n_latents + 1), None, None]
        second += (squares[:, :-1] * variance).sum(axis=1) + squares[:, -1] - intercept**2
        return second, location

    def after(
        self, moments: Float[np.ndarray, "pairs experts rows"]
    ) -> Float[np.ndarray, "sticks experts rows"]:
        """``E[psi^2]`` for given ``E[u u']``."""
        flat = self.squares @ moments.reshape(len(moments), -1)
        return np.reshape(flat, (len(flat), *moments.shape[1:]))

    def collect(
        self,
        second: Float[np.ndarray, "sticks experts rows"],
        out: Float[np.ndarray, "pairs experts rows"],
    ) -> None:
        """Natural parameters at the best omega for ``E[psi^2]``, which is overwritten.

        Without ``linear``.
        """
        omega = polya_gamma_mean(second)
        omega[1:] *= self.reach
        flat = out.reshape(len(out), -1)
        np.dot(self.curvature, omega.reshape(len(omega), -1), out=flat[:-1])

    def close(
        self, second: Float[np.ndarray, "sticks experts rows"]
    ) -> tuple[ExpertRows, Float[np.ndarray, "sticks experts rows"]]:
        """Expected (bounded) log likelihood of the labels at the best omega, and that omega.

        Without ``[E[x1], 1]' linear``. ``second`` is overwritten.
        """
        log_cosh, omega = jaakkola(np.sqrt(second, out=second))
        omega[1:] *= self.reach
        log_cosh[1:] *= self.reach
        terms = np.negative(log_cosh[0])
        for later in log_cosh[1:]:
            terms -= later
        return terms, omega
