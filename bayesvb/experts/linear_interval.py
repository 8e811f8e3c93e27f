"""Gaussian linear experts of responses that are censored, rounded or otherwise in intervals."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.experts.drawn_lines import drawn_lines
from bayesvb.experts.intervals import AbstractIntervalExperts, HiddenRows
from bayesvb.experts.linear import LinearExperts, LinearStats
from bayesvb.factors.coupled_normal_gamma import Regressions
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import DrawExpertRows, ExpertRows
from bayesvb.numerics.truncated_laws import TruncatedNormal, truncated_normal
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars, consecutive


@dataclass(frozen=True)
class IntervalLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows, and the first two moments of their responses.

    Attributes
    ----------
    expected_log_density, mean, square : ndarray, shape (experts, rows)
        ``E y`` and ``E y^2`` given the expert.
    design : AbstractDesign
    """

    expected_log_density: ExpertRows
    mean: ExpertRows
    square: ExpertRows
    design: AbstractDesign

    def sufficient_stats(self, responsibilities: ExpertRows) -> LinearStats:
        """Sums weighted by the responsibilities, of expected responses and squares."""
        return LinearStats(
            responsibilities.sum(axis=1),
            self.design.gram(responsibilities),
            self.design.cross(responsibilities * self.mean)[:, None],
            (responsibilities * self.square).sum(axis=1)[:, None],
        )


@dataclass(frozen=True)
class IntervalLinearExperts(  # type: ignore[misc]
    AbstractIntervalExperts[Regressions, LinearStats], LinearExperts
):
    r"""``y ~ N(x' B_k, 1 / tau_k)``, where rows say only ``l < y <= h``.

    Given the component, the response of such a row has at its optimum the posterior
    ``N(x' m_k, 1 / w_k)`` cut to the interval, ``w_k = E tau_k``. With ``Z`` its mass there,

    .. math:: E_{nk} = \tfrac12 (E\log\tau_k - \log w_k) - \tfrac12 x'V_k^{-1}x + \log Z_{nk}.

    The update of coefficients and noise uses the mean and the mean square of the response and
    otherwise equals ``LinearExperts``: it is exact, so that the ELBO never decreases.

    References
    ----------
    Tobin (1958), Estimation of relationships for limited dependent variables, Econometrica 26(1),
    for the model; Dempster, Laird, Rubin (1977), section 4.2, for the update of the mode.
    """

    log_unit: float = 0.0

    def local(self, posterior: Regressions, block: Block) -> IntervalLocalPosterior:  # type: ignore[override]
        """Expected log likelihood, with the response of every hidden row at its optimum."""
        seen, rows = LinearExperts.local(self, posterior, block), HiddenRows.of_block(block)
        terms = seen.expected_log_density - self.log_unit
        mean = np.array(np.broadcast_to(block.response, terms.shape))
        square = mean * mean
        if len(rows.at):
            precision = posterior.expected_precision
            design = seen.design.take(rows.at)
            law, line = _hidden(posterior, design, rows)
            constant = 0.5 * (posterior.expected_log_precision - np.log(precision))
            terms[:, rows.at] = constant + law.log_mass - 0.5 * posterior.spread_at(design)
            mean[:, rows.at] = line + law.mean / np.sqrt(precision)
            square[:, rows.at] = mean[:, rows.at] ** 2 + law.variance / precision
        return IntervalLocalPosterior(terms, mean, square, seen.design)

    def row_derivatives(
        self, posterior: Regressions, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives:
        r"""Derivatives of ``E log tau / 2 - x' E[tau b b'] x / 2 + A(v, h)``.

        ``A`` is the log integral of ``exp(y v + y^2 h)`` over the interval, ``v = x' E[tau b]`` and
        ``h = -E[tau] / 2``: its derivatives are the mean of ``(y, y^2)`` and their covariance.
        """
        design, rows = self.design(block), HiddenRows.of_block(block)
        local = self.local(posterior, block)
        n_experts, n_rows = local.mean.shape
        ones, pairs, columns = np.ones((1, n_rows)), design.products(), design.columns
        widths = [1, len(pairs), len(columns), 1]
        weight, xx, xy, yy = consecutive(n_experts, widths)
        known, line, noise = np.arange(3 * n_experts).reshape(3, -1)
        numbers = np.arange(n_experts)
        slopes = np.zeros((n_experts, 3 * n_experts, n_rows))
        slopes[numbers, known] = 1.0
        slopes[numbers, line], slopes[numbers, noise] = local.mean, local.square
        bends = np.zeros((3 * n_experts, 3 * n_experts, n_rows))
        if len(rows.at):
            law, _ = _hidden(posterior, design.take(rows.at), rows)
            unit = posterior.expected_precision**-0.5
            one, both, two = _covariance(law, unit, local.mean[:, rows.at])
            share, at = responsibilities[:, rows.at], rows.at
            for i, j, value in ((line, line, one), (line, noise, both), (noise, noise, two)):
                bends[i[:, None], j[:, None], at] = bends[j[:, None], i[:, None], at] = (
                    share * value
                )
        scalars = (
            RowScalars.of(np.concatenate([ones, pairs]), np.concatenate([weight, xx], axis=1)),
            RowScalars.of(columns, xy),
            RowScalars.of(ones, yy),
        )
        return PartDerivatives(scalars, np.concatenate([weight, xx, xy, yy], axis=1), slopes, bends)

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log density of rows that are seen, log probability of intervals, given each draw."""
        total, rows = LinearExperts.log_lik(self, draws, block), HiddenRows.of_block(block)
        total -= self.log_unit
        if len(rows.at):
            line = drawn_lines(self.design(block.take(rows.at)), draws, 0)
            root = np.sqrt(draws["precision"])
            law = truncated_normal(root * (rows.lower - line), root * (rows.upper - line))
            total[:, :, rows.at] = law.log_mass
        return total


def _hidden(
    posterior: Regressions, design: AbstractDesign, rows: HiddenRows
) -> tuple[TruncatedNormal, Float[np.ndarray, "experts hidden"]]:
    """Standardised responses of hidden rows given each expert, and its line."""
    line = design.predict(posterior.mean[:, 0])
    root = np.sqrt(posterior.expected_precision)
    return truncated_normal(root * (rows.lower - line), root * (rows.upper - line)), line


def _covariance(
    law: TruncatedNormal, unit: Float[np.ndarray, "experts 1"], mean: ExpertRows
) -> tuple[ExpertRows, ExpertRows, ExpertRows]:
    """Variance of ``y``, covariance of ``y`` and ``y^2``, and variance of ``y^2``.

    With ``y = m + d``, ``y^2 - m^2`` is ``2 m d + d^2``.
    """
    second, third, fourth = (
        moment * unit**power
        for moment, power in ((law.variance, 2), (law.third, 3), (law.fourth, 4))
    )
    both = 2.0 * mean * second + third
    return second, both, 4.0 * mean * (mean * second + third) + fourth - second * second
