"""Linear experts of a latent vector: its distribution before the response is observed."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.experts.linear import LinearStats
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.arrays import ExpertRows, ExpertTerms, TermRows
from bayesvb.numerics.packed_matrices import diagonal_numbers, row_of
from bayesvb.numerics.special import LOG_2PI


@dataclass(frozen=True)
class LatentPrior:
    r"""``constant + x1' linear - x1' diag(precision) x1 / 2`` for every row and expert.

    The expectation, under the experts' posterior, of the log density of the latent vector; the
    constant also holds the gate's bounded log weight.

    Attributes
    ----------
    linear : ndarray, shape (latents, experts, rows)
    precision : ndarray, shape (latents, experts, 1), or with rows on the last axis
    constant : ndarray, shape (experts, rows)
    """

    linear: Float[np.ndarray, "latents experts rows"]
    precision: Float[np.ndarray, "latents experts _"]
    constant: ExpertRows

    def plus(self, linear: TermRows) -> LatentPrior:
        """Natural parameters with ``[x1, 1]' linear`` added for every expert."""
        return LatentPrior(
            self.linear + linear[:-1, None], self.precision, self.constant + linear[-1]
        )


def latent_sums(
    design: TermRows,
    xx: Float[np.ndarray, "experts pairs"],
    responsibilities: ExpertRows,
    moments: Float[np.ndarray, "latent_pairs _ rows"],
) -> LinearStats:
    """Sums weighted by the responsibilities; moments of one expert serve all.

    ``xx`` are the sums of the products of the design, ``moments`` the moments of the latent vector
    and of one.
    """
    n_latents = int(np.sqrt(2 * len(moments))) - 1
    weighted = responsibilities * row_of(moments, n_latents)[:-1]
    squares = moments[diagonal_numbers(n_latents)]
    return LinearStats(
        weight=responsibilities.sum(axis=1),
        xx=xx,
        xy=np.ascontiguousarray(np.swapaxes(weighted @ design.T, 0, 1)),
        yy=np.ascontiguousarray(np.vecdot(responsibilities, squares).T),
    )


@dataclass(frozen=True)
class LatentExperts:
    r"""``x1_i ~ N(x' A_ki, 1 / tau_ki)`` for a latent vector ``x1`` of ``h`` entries.

    Conjugate prior shared by all experts, one scaled precision for all entries of an expert.

    References
    ----------
    Heins et al. (2024), arXiv:2408.16429, eqs 5, 16-18 and appendix B.
    """

    prior: MatrixNormalGamma

    @property
    def n_latents(self) -> int:
        """Length of the latent vector."""
        return len(self.prior.mean)

    def with_variance(self, scale: float) -> LatentExperts:
        """Experts whose coefficients have this multiple of the prior variance."""
        prior = self.prior
        return LatentExperts(
            MatrixNormalGamma.prior(
                prior.mean, prior.precision / scale, float(prior.shape), prior.rate
            )
        )

    def local(
        self,
        posterior: MatrixNormalGamma,
        spread: ExpertRows,
        log_weights: ExpertTerms,
        design: TermRows,
    ) -> LatentPrior:
        """Expected log density of the latent vector, plus the given log weights.

        ``spread`` is ``x' V x`` of every row and expert; it is overwritten.
        """
        precision = posterior.expected_precision.T[:, :, None]
        root = np.sqrt(0.5 * precision)
        scaled = (np.swapaxes(posterior.mean, 0, 1) * root) @ design
        linear = scaled * (2.0 * root)
        spread *= -0.5 * self.n_latents
        for each in scaled:
            spread -= np.multiply(each, each, out=each)
        spread += 0.5 * (posterior.expected_log_precision - LOG_2PI).sum(axis=1)[:, None]
        spread += log_weights
        return LatentPrior(linear, precision, spread)

    def update(self, stats: LinearStats) -> MatrixNormalGamma:
        """Exact coordinate update of every expert."""
        return self.prior.posterior(stats.weight, stats.xx, stats.xy, stats.yy)

    def kl(self, posterior: MatrixNormalGamma) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return posterior.kl(self.prior)
