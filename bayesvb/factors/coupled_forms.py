"""Forms of regressions that common coefficients couple: log densities of rows, sums of squares."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.linalg import block_diag
from scipy.special import polygamma

from bayesvb.factors.coupled_normal_gamma import CoupledNormalGamma, noise_through_common
from bayesvb.linear.quadratic_forms import Forms, VectorForms
from bayesvb.numerics.arrays import RowVector, TermRows


@dataclass(frozen=True)
class FormsOfNoise:
    """Changes of the forms with the noise precisions, through the common coefficients.

    Attributes
    ----------
    half : ndarray, shape (columns, columns)
        Cholesky factor ``R`` of the covariance of the common coefficients.
    score : ndarray, shape (experts, columns)
        ``R' p_k``, ``p_k`` their score in ``tau_k``: their mean changes by ``R R' p_k``.
    information : ndarray, shape (experts, columns, columns)
        ``R' G_k R``: their covariance changes by ``-R R' G_k R R'``.
    covariance : ndarray, shape (experts, experts)
        Changes of ``E[tau]`` with additions to minus the rates.
    """

    half: Float[np.ndarray, "columns columns"]
    score: Float[np.ndarray, "experts columns"]
    information: Float[np.ndarray, "experts columns columns"]
    covariance: Float[np.ndarray, "experts experts"]

    @classmethod
    def from_law(cls, law: CoupledNormalGamma) -> FormsOfNoise:
        """Changes at the state of one posterior."""
        middle, among = law.common_covariance, law.prior.information(law.slope)
        half = np.linalg.cholesky(middle)
        score = law.prior.pull(law.base) - among @ law.common
        through = noise_through_common(score, middle, among)
        diagonal = np.diag(law.rate[:, 0] / law.expected_precision[:, 0])
        return cls(half, score @ half, half.T @ among @ half, np.linalg.inv(diagonal + through))

    def loadings(
        self, residual: Float[np.ndarray, " forms"], common: Float[np.ndarray, "forms columns"]
    ) -> Float[np.ndarray, "forms experts"]:
        """Changes of expected forms ``-(r - u)^2 / 2`` with each noise precision."""
        linear = residual[:, None] * (common @ self.score.T)
        among = [((common @ matrix) * common).sum(axis=1) for matrix in self.information]
        return np.asarray(linear + 0.5 * np.stack(among, axis=1))


def coupled_forms(
    law: CoupledNormalGamma,
    columns: TermRows,
    response: RowVector,
    blocks: Float[np.ndarray, "blocks entries"],
) -> Forms:
    """Expected log densities of rows and sums of squares; see ``MatrixNormalGamma.forms``.

    Sums of squares are first of deviations from the common coefficients, then of these, which are a
    vector without rows.
    """
    through, n_terms = FormsOfNoise.from_law(law), len(columns)
    vectors = [
        _forms_of(law, k, through, columns, response, blocks[:, :n_terms])
        for k in range(len(law.shape))
    ]
    n_experts, n_common = len(law.shape), len(law.common)
    noise = through.loadings(-law.common, through.half)
    vectors.append(
        VectorForms(
            own=np.empty((n_common, 0)),
            common=through.half,
            slopes=-law.common[None],
            noise=np.pad(noise, [(0, 0), (0, n_experts)]),
            rows=np.arange(0),
            squares=blocks[:, n_terms:].T,
            statistics=np.empty((0, n_common + 2 * n_experts)),
        )
    )
    of_log = polygamma(1, law.shape) - 1.0 / law.shape
    return Forms(vectors=tuple(vectors), noise=block_diag(through.covariance, np.diag(of_log)))


def _forms_of(
    law: CoupledNormalGamma,
    k: int,
    through: FormsOfNoise,
    columns: TermRows,
    response: RowVector,
    blocks: Float[np.ndarray, "blocks terms"],
) -> VectorForms:
    """Forms of one component."""
    n_terms, n_experts = len(columns), len(law.shape)
    tau = float(law.expected_precision[k, 0])
    scale, shift = np.sqrt(tau), law.mean[k, 0].copy()
    shift[law.prior.columns.places] -= law.common
    residual = scale * np.concatenate([response - law.mean[k, 0] @ columns, -shift])
    apart = np.concatenate([columns.T @ law.slope[k], law.apart[k]])
    root, common = np.linalg.cholesky(law.conditional[k]), scale * apart @ through.half
    weight = np.pad(np.full(len(response), 0.5), (0, n_terms))
    noise = np.pad(through.loadings(residual, common), [(0, 0), (0, n_experts)])
    noise[:, k] += (weight - 0.5 * (residual**2 + (common**2).sum(axis=1))) / tau
    noise[:, n_experts + k] = weight
    of_common = tau * law.slope[k] @ through.half
    statistics = np.zeros((n_terms + 2, n_terms + common.shape[1] + 2 * n_experts))
    of_linear = [scale * root, of_common, of_common @ through.score.T]
    statistics[1:-1, :-n_experts] = np.concatenate(of_linear, axis=1)
    statistics[:, -2 * n_experts + k] += [0.5 / tau, *law.mean[k, 0], -0.5]
    statistics[0, -n_experts + k] = 0.5
    return VectorForms(
        own=np.concatenate([columns.T, np.eye(n_terms)]) @ root,
        common=common,
        slopes=residual[None],
        noise=noise,
        rows=np.arange(len(response)),
        squares=blocks.T,
        statistics=statistics,
    )
