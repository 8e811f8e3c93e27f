"""Regressions without one of their rows, exact given memberships and weights of the others."""

from __future__ import annotations

from dataclasses import dataclass

from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import ExpertRows, RowVector


@dataclass(frozen=True)
class RowDowndate:
    """Posteriors of regressions without each of some rows, as far as these rows see them.

    Attributes
    ----------
    posterior : MatrixNormalGamma
    design : AbstractDesign
        The rows.
    weight : ndarray, shape (experts, rows)
        Weight of each row in the sums of ``x x'`` that is taken out.
    kept : ndarray, shape (experts, rows)
        ``1 - w x' V^-1 x``: remaining proportion of the variance of a residual.
    spread : ndarray, shape (experts, rows)
        ``x' V^-1 x`` without the row.
    shape : ndarray, shape (experts, rows)
        Shape of the noise precision without the row.

    References
    ----------
    Cook, Weisberg (1982), Residuals and Influence in Regression, section 2.2 and appendix A.2.
    """

    posterior: MatrixNormalGamma
    design: AbstractDesign
    weight: ExpertRows
    kept: ExpertRows
    spread: ExpertRows
    shape: ExpertRows

    @classmethod
    def of(
        cls,
        posterior: MatrixNormalGamma,
        design: AbstractDesign,
        left_out: ExpertRows,
        weight: ExpertRows | None = None,
    ) -> RowDowndate:
        """Downdate without such a part of each row, or of such a weight in the sums of ``x x'``."""
        weight_out = left_out if weight is None else weight
        spread = posterior.spread_at(design)
        kept = 1.0 - weight_out * spread
        shape = posterior.shape[:, None] - 0.5 * left_out
        return cls(posterior, design, weight_out, kept, spread / kept, shape)

    def without(self, response: int, observed: RowVector) -> tuple[ExpertRows, ExpertRows]:
        """Return location and rate of a response without each row."""
        location = self.posterior.location_at(response, self.design)
        residual = observed - location
        rate = self.posterior.rate[:, response, None]
        rate = rate - 0.5 * self.weight * residual**2 / self.kept
        return location - self.weight * self.spread * residual, rate
