"""Whether a prediction depends on components that have rows nearby."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    ExpertRows,
    ExpertTerms,
    ExpertVector,
    RowMask,
    RowVector,
    TermRows,
)
from bayesvb.numerics.linalg import quadratic_at, second_moments, unpack
from bayesvb.numerics.streams import Streams
from bayesvb.results.capabilities import HasRegressors
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True, kw_only=True)
class RemotenessLimits:
    """When a prediction is called unsupported."""

    floor: float = 0.25
    """Remoteness up to which every prediction is supported.

    The regression line of its component is then known as well as from three rows at that place.
    """

    rows_per_term: int = 10
    """Rows per term that a component counts as having, at most.

    Many rows determine a line far away from them, if it is one; but none of them is nearby.
    """

    alarms: float = 0.05
    """Largest expected proportion of new rows like the fitted ones that are marked."""

    prior_rows: float = 0.1
    """Rows, spread like all rows, that are added to every component.

    The distance from a component without rows is then in standard deviations of the covariates.
    """


SUPPORT = RemotenessLimits()


COLUMN = "supported"
"""Column of a prediction that says so."""


@dataclass(frozen=True)
class Moments(SufficientStats):
    """``sum r`` and ``sum r x x'`` of each component, packed."""

    rows: ExpertVector
    value: Float[np.ndarray, "experts pairs"]


@dataclass(frozen=True)
class LocalSupport:
    r"""Distance of predictions from the rows of the components that determine them.

    With ``M_k`` the moments of the covariates weighted by responsibility, the leverage of ``x``
    for component ``k`` is ``h_k = x' M_k^{-1} x``: the variance of the line there, in units of the
    noise variance, of a fit without prior, so that shrinkage cannot pass for knowledge. Moments of
    ``SUPPORT.rows_per_term`` rows for each term are scaled to that number; the leverage is
    then a distance from the rows (Mahalanobis). The remoteness of a prediction is

    .. math:: s(x) = \sum_k \pi_k(x)\, \frac{h_k(x)}{1 + h_k(x)},

    zero where all components that count have rows, one where they have none. A prediction is
    supported if ``s`` is at most ``SUPPORT.floor``, or at most the value that all but a proportion
    ``SUPPORT.alarms`` of the rows of the fit, or of a sample of ``LIMITS.all_rows``, have when held
    out: new rows of the same population are marked no more often.

    Attributes
    ----------
    inverse : ndarray, shape (experts, terms, terms)
        ``M_k^{-1}``, scaled.
    threshold : float
        Largest remoteness of a supported prediction.

    References
    ----------
    Cook (1979), Influential observations in linear regression, Journal of the American
    Statistical Association 74, for leverage as distance. Vovk, Gammerman, Shafer (2005),
    Algorithmic Learning in a Random World, for thresholds by held-out rows.
    """

    inverse: Float[np.ndarray, "experts terms terms"]
    threshold: float

    def remoteness(self, weights: ExpertTerms, x: TermRows) -> RowVector:
        """Remoteness of predictions with these weights at these covariates."""
        return _shared(weights, quadratic_at(self.inverse, x))

    def supported(self, weights: ExpertTerms, x: TermRows) -> RowMask:
        """Whether predictions are supported."""
        return np.asarray(self.remoteness(weights, x) <= self.threshold)


def local_support(fit: AbstractFit) -> LocalSupport:
    """Support of the rows of a fit.

    Raises
    ------
    DataError
        If the components are not regressions.
    """
    model = _regressors(fit)
    core, posterior, source = fit.mixture, fit.q, fit.model.source

    def moments(block: Block) -> Moments:
        weight = _members(block, block.weighted(core.responsibilities(posterior, block)))
        x = model.regressors(block.ungrouped())
        return Moments(weight.sum(axis=1), second_moments(weight, x))

    sums = _summed(source, moments)
    whole = unpack(sums.value)
    spread = np.diagonal(whole, axis1=1, axis2=2).sum(axis=0) / sums.rows.sum()
    scale = np.where(spread > 0.0, spread, 1.0)
    counted = np.maximum(1.0, sums.rows / (SUPPORT.rows_per_term * len(scale)))
    inverse = np.linalg.inv(whole + SUPPORT.prior_rows * np.diag(scale))

    def left_out(block: Block) -> RowVector:
        x = model.regressors(block.ungrouped())
        members = _members(block, core.responsibilities(posterior, block))
        leverage = quadratic_at(inverse, x)
        without = counted[:, None] * leverage / np.maximum(1.0 - members * leverage, 1e-12)
        weights = np.broadcast_to(core.mean_weights(posterior, block), (len(members), block.n_rows))
        return _shared(_members(block, weights), without)

    values = _chosen(source, fit.seed).map_rows(left_out)
    return LocalSupport(counted[:, None, None] * inverse, max(SUPPORT.floor, _quantile(values)))


def support_of(fit: AbstractFit) -> LocalSupport:
    """Support of the rows of a fit, found once."""
    return fit.cache.once("local support", lambda: local_support(fit))


def supported(fit: AbstractFit, data: object) -> Bool[np.ndarray, " given"]:
    """Whether the prediction of each row of the data is supported; False for an incomplete row."""
    model = _regressors(fit)
    known, rows = support_of(fit), fit.model.rows(data)
    support = np.zeros(len(rows.index), dtype=bool)
    pieces = [
        known.supported(fit.mixture.mean_weights(fit.q, block), model.regressors(block))
        for block in fit.model.block(rows).split(BLOCK_ROWS)
    ]
    support[rows.complete] = np.concatenate(pieces)
    return support


def with_support(
    fit: AbstractFit, data: object, predicted: pd.Series | pd.DataFrame
) -> pd.DataFrame:
    """A prediction with a column that says whether it is supported."""
    return pd.DataFrame(predicted).assign(**{COLUMN: supported(fit, data)})


def has_support(fit: AbstractFit) -> bool:
    """Whether the support of predictions can be determined."""
    return isinstance(fit.model, HasRegressors) and holds_all_rows(fit.model.source)


def _regressors(fit: AbstractFit) -> HasRegressors:
    model: object = fit.model
    if not isinstance(model, HasRegressors):
        raise DataError(
            f"the components of {type(model).__name__} are not regressions on covariates",
            hint="supported=True is for DensityRegression",
        )
    return model


def _chosen(source: AbstractSource, seed: int) -> AbstractSource:
    """All rows, or a random sample of this size."""
    if source.n_rows <= LIMITS.all_rows:
        return source
    rows = source.sample(LIMITS.all_rows, Streams(seed).rows(LIMITS.all_rows, source.n_rows))
    return InMemorySource.of(rows, workers=source.workers)


def _summed(source: AbstractSource, moments: Callable[[Block], Moments]) -> Moments:
    total: Moments = source.map_reduce(moments)
    return total


def _shared(weights: ExpertTerms, leverage: ExpertRows) -> RowVector:
    """Average of ``h / (1 + h)`` over the components by weight."""
    return np.asarray((weights * (leverage / (1.0 + leverage))).sum(axis=0))


def _members(block: Block, values: ExpertTerms) -> ExpertTerms:
    """Values of groups for each of their rows."""
    return values if block.members is None else block.members.repeated(values)


def _quantile(values: RowVector) -> float:
    """Limit that one more row of the kind exceeds with probability at most ``SUPPORT.alarms``."""
    rank = int(np.ceil((1.0 - SUPPORT.alarms) * (len(values) + 1)))
    return float(np.sort(values)[min(rank, len(values)) - 1])
