"""Likelihoods of one linear predictor: families whose log density is a function of it."""

from __future__ import annotations

import abc
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.experts.linked import AbstractLinkedExperts, with_offset
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import (
    DrawCoordinates,
    DrawExpertRows,
    DrawResponseRows,
    DrawVector,
    ExpertRows,
    RowVector,
)
from bayesvb.numerics.linalg import unpack
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.passed_on import passed_on
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars

SMALLEST_COUNT = 0.5
"""Added to counts, or to successes and failures, before the logarithm from which a run starts."""


@dataclass(frozen=True)
class Expected:
    r"""Expected log density ``e(t, s) = E log p(y | u)``, ``u ~ N(t, s)``, with derivatives.

    The derivative in the variance is half of the second derivative in the mean.

    Attributes
    ----------
    value : ndarray, shape (..., experts, rows)
    slope : ndarray, shape (..., experts, rows)
        ``de / dt``.
    curvature : ndarray, shape (..., experts, rows)
        ``-d^2 e / dt^2``, not negative: the log density is concave in the predictor.
    third, fourth : ndarray, shape (..., experts, rows), optional
        Derivatives of third and fourth order in the mean, if they were requested.

    References
    ----------
    Opper, Archambeau (2009), The variational Gaussian approximation revisited, Neural Computation
    21(3), equations 9 and 10, for derivatives in mean and variance.
    """

    value: Float[np.ndarray, "*nodes experts rows"]
    slope: Float[np.ndarray, "*nodes experts rows"]
    curvature: Float[np.ndarray, "*nodes experts rows"]
    third: Float[np.ndarray, "*nodes experts rows"] | None = None
    fourth: Float[np.ndarray, "*nodes experts rows"] | None = None


@dataclass(frozen=True)
class PredictorLocalPosterior(AbstractLocalPosterior):
    """Expected log density of these rows, with the weights of ``x x'`` and of ``x``."""

    expected_log_density: ExpertRows
    curvature: ExpertRows
    linear: ExpertRows
    design: AbstractDesign

    def sufficient_stats(self, responsibilities: ExpertRows) -> LogitStats:
        """``sum r w x x'`` and ``sum r (e_t + w x' m) x``, ``w`` the curvature."""
        weights = responsibilities * self.curvature, responsibilities * self.linear
        return LogitStats.of_rows(self.design, *weights)

    def row_stats(self, responsibilities: ExpertRows) -> LogitStats:
        weights = responsibilities * self.curvature, responsibilities * self.linear
        return LogitStats.by_row(self.design, *weights)


class AbstractPredictorExperts(AbstractLinkedExperts):
    r"""Experts ``p(y | u)`` of one linear predictor ``u = x' b_k`` plus an offset.

    The log density is concave in ``u`` and the coefficients are Gaussian under prior and posterior,
    ``q(b_k) = N(m_k, P_k^{-1})``. A pass leaves behind

    .. math:: \sum_n r_{nk} w_{nk} x_n x_n', \qquad
              \sum_n r_{nk} (\partial_t e_{nk} + w_{nk} x_n' m_k) x_n, \qquad
              w_{nk} = -\partial_t^2 e_{nk},

    which add to the natural parameters ``(P m, P)`` of the prior: the full natural-gradient step.
    It is Newton's step for the mean. A posterior that lies a share of the way, in natural
    parameters, is the damped step; engines halve the share until the ELBO does not fall, and a
    short step always rises. The fixed point is the optimum whatever the share.

    A family is a subclass with ``expected`` and its distributions.

    References
    ----------
    Khan, Lin (2017), Conjugate-computation variational inference, AISTATS, section 3, for the step.
    Challis, Barber (2013), Gaussian Kullback-Leibler approximate inference, JMLR 14, section 3.2,
    for the concavity of the ELBO.
    """

    prior: Normal

    @abc.abstractmethod
    def expected(
        self, block: Block, mean: ExpertRows, variance: ExpertRows, *, all_orders: bool = False
    ) -> Expected:
        """Expected log density of the response of each row, the predictor normal."""

    @abc.abstractmethod
    def first_predictor(self, block: Block) -> RowVector:
        """Predictor at which the response of each row is about its mean: where runs start."""

    @abc.abstractmethod
    def log_mass(self, block: Block, predictor: DrawExpertRows) -> DrawExpertRows:
        """Log probability of responses given their predictor."""

    def local(self, posterior: Normal, block: Block) -> PredictorLocalPosterior:
        """Expected log density, with the weights of the natural-gradient step."""
        design = self.design(block)
        mean, variance = with_offset(*logit_moments(posterior, design), block)
        return local_posterior(self.expected(block, mean, variance), mean, block, design)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> LogitStats:
        """Statistics of one step of iteratively reweighted least squares from the responses."""
        # Without variance: a start has no posterior yet, and e(t, 0) is the log density itself.
        start = self.first_predictor(block)[None]
        expected = self.expected(block, start, np.zeros_like(start))
        local = local_posterior(expected, start, block, self.design(block))
        return local.sufficient_stats(responsibilities)

    def update(self, stats: LogitStats) -> Normal:
        """Gaussian of these natural parameters."""
        return stats.posterior(self.prior)

    def kl(self, posterior: Normal) -> float:
        return posterior.kl(self.prior)

    def coordinates(self, posterior: Normal) -> PredictorCoordinates:
        """Standard coordinates of the coefficients."""
        return PredictorCoordinates(LogitCoordinates(posterior))

    def row_derivatives(
        self, posterior: Normal, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives:
        r"""Derivatives of ``e(t, s)`` in ``-E v^2 / 2`` and in ``E v``, ``v = x' b`` each expert's.

        The variance is the square less the squared mean, so that it falls with the mean where the
        square stays.
        """
        design = self.design(block)
        known, variance = logit_moments(posterior, design)
        mean, _ = with_offset(known, variance, block)
        expected = self.expected(block, mean, variance, all_orders=True)
        slopes, bends = in_moments(expected, known, responsibilities)
        present = design.present_products()
        scalars = RowScalars.of_moments(design.columns, *present, len(mean))
        factors = np.concatenate([part.every for part in scalars], axis=1)
        return PartDerivatives(scalars, factors, slopes, bends)

    def forms(
        self, posterior: Normal, block: Block, blocks: Float[np.ndarray, "blocks _"]
    ) -> Forms | None:
        """Forms in closed form: all rows share all coefficients."""
        return posterior.forms(self.design(block).columns, blocks)

    def expectations_along(
        self,
        posterior: Normal,
        change: LogitStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[LogitStats, Float[np.ndarray, "many entries"]]:
        """Changes of the expectations, and of ``coefficient_squares``, in closed form."""
        moved = change if precision is None else change.with_squares(precision)
        expectations = LogitStats(
            *posterior.expectations_along(moved.linear, unpack(moved.curvature))
        )
        return expectations, -2.0 * expectations.squares

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        return self.log_mass(block, self.drawn_predictor(draws, block))

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        each = self.drawn_predictor(draws, block)
        return self.simulate(block, np.take_along_axis(each, chosen[:, None], axis=1), rng)

    @abc.abstractmethod
    def simulate(
        self, block: Block, predictor: Float[np.ndarray, "draws 1 rows"], rng: np.random.Generator
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Responses given their predictor."""


def local_posterior(
    expected: Expected, mean: ExpertRows, block: Block, design: AbstractDesign
) -> PredictorLocalPosterior:
    """Weights of the step; the predictor less its offset is linear in the coefficients."""
    known = mean if block.offset is None else mean - block.offset
    linear = expected.slope + expected.curvature * known
    return PredictorLocalPosterior(expected.value, expected.curvature, linear, design)


def in_moments(
    expected: Expected, known: ExpertRows, responsibilities: ExpertRows
) -> tuple[Float[np.ndarray, "experts scalars rows"], Float[np.ndarray, "scalars scalars rows"]]:
    r"""First derivatives in the scalars of all experts, squares first, and averaged second ones.

    With ``q = -E v^2 / 2`` and ``l = E v`` the variance is ``-2 q - l^2``; ``e_3`` and ``e_4`` of
    ``Expected`` give ``e_qq = e_4``, ``e_ql = l e_4 - e_3`` and ``e_ll = l^2 e_4 - 2 l e_3``.
    """
    assert expected.third is not None and expected.fourth is not None
    n_experts, n_rows = known.shape
    square, mean = np.arange(2 * n_experts).reshape(2, -1)
    numbers = np.arange(n_experts)
    slopes = np.zeros((n_experts, 2 * n_experts, n_rows))
    slopes[numbers, square] = expected.curvature
    slopes[numbers, mean] = expected.slope + expected.curvature * known
    bends = np.zeros((2 * n_experts, 2 * n_experts, n_rows))
    fourth, third = responsibilities * expected.fourth, responsibilities * expected.third
    bends[square, square] = fourth
    bends[square, mean] = bends[mean, square] = known * fourth - third
    bends[mean, mean] = known * (known * fourth - 2.0 * third)
    return slopes, bends


@dataclass(frozen=True)
class PredictorCoordinates(AbstractCoordinates):
    """Coordinates of Gaussian coefficients, which draws hold by the name ``coefficients``.

    Attributes
    ----------
    vectors : LogitCoordinates
    further : str
        Name of the draws of the last parameters of each vector, if these have one of their own.
    n_further : int
        Number of these parameters.
    """

    vectors: LogitCoordinates
    further: str = ""
    n_further: int = 0

    size = passed_on("vectors")
    expectations = passed_on("vectors")
    perturbations = passed_on("vectors")
    linear_perturbations = passed_on("vectors")
    centre_slopes = passed_on("vectors")
    centre_along = passed_on("vectors")

    def standard(self, draws: Draws) -> DrawCoordinates:
        return self.vectors.standard(self._joined(draws))

    def parameters(self, standard: DrawCoordinates) -> Draws:
        values = self.vectors.parameters(standard)
        if not self.further:
            return {"coefficients": values[:, :, None]}
        at = values.shape[-1] - self.n_further
        return {"coefficients": values[:, :, None, :at], self.further: values[..., at:]}

    def log_volume(self, draws: Draws) -> DrawVector:
        """Zero up to a constant: the map is linear."""
        return self.vectors.log_volume(self._joined(draws))

    def _joined(self, draws: Draws) -> Float[np.ndarray, "draws logits terms"]:
        """Whole vectors."""
        first = draws["coefficients"][:, :, 0]
        return np.concatenate([first, draws[self.further]], axis=-1) if self.further else first
