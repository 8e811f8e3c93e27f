"""WAIC, PSIS-LOO and the k-hat of an approximation, from blocks of log densities."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import replace
from functools import partial
from itertools import islice

import numpy as np
import pandas as pd
from scipy.special import logsumexp

from bayesvb.data.case_weights import sum_and_error
from bayesvb.errors import DataError, warn
from bayesvb.evaluation.elpd import Elpd
from bayesvb.numerics.arrays import DrawVector, RowVector

HIGH_P = 0.4  # variance of a row's log density beyond which WAIC fails (Vehtari et al. 2017)

NAMED_ROWS = 5  # how many rows a message names

Blocks = Iterable[np.ndarray]

Pointwise = Callable[[np.ndarray], tuple[np.ndarray, np.ndarray, np.ndarray]]


def waic(
    blocks: Blocks, *, labels: pd.Index | None = None, weights: RowVector | None = None
) -> Elpd:
    r"""Widely applicable information criterion.

    ``elpd = Σᵢ log mean_s p(yᵢ|θ_s) − Σᵢ var_s log p(yᵢ|θ_s)``. Draws of an approximate
    posterior describe the predictive density of the approximation.

    Parameters
    ----------
    blocks : iterable of (draws, rows) arrays
        Log density of each row under each draw; blocks cover the rows in order, and
        only one is held at a time.
    labels : pandas.Index, optional
        Names of all rows, for messages and the coordinate of the pointwise values.
    weights : (rows,) array, optional
        Case weights: a row of weight w counts as w rows, one of weight 0 not at all.

    Notes
    -----
    The variance over draws is divided by their number, as in ArviZ 0.23; that over rows, in the
    standard error, by their number minus one.

    Raises
    ------
    DataError
        If a log density is not finite (the rows are named), or the blocks do not fit together.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC, arXiv:1507.04544, section 2.2.
    """
    pointwise, p, _, draws = _accumulate(_pointwise_waic, blocks, labels)
    p = _counting(p, weights, 0.0)
    total = sum_and_error(p, weights)[0]
    result = Elpd(
        kind="waic", pointwise=pointwise, p=total, n_draws=draws, labels=labels, weights=weights
    )
    high = int(np.count_nonzero(p > HIGH_P))
    if high:
        warn(
            f"the log density of {high} of {result.n_rows} rows varies by more than {HIGH_P} "
            "over the draws (p_waic): WAIC is unreliable, prefer loo()",
        )
    return replace(result, warning=high > 0)


def loo(
    blocks: Blocks,
    *,
    labels: pd.Index | None = None,
    log_ratio: DrawVector | None = None,
    weights: RowVector | None = None,
) -> Elpd:
    """Pareto-smoothed leave-one-out criterion.

    ``elpd = Σᵢ log Σ_s w_is p(yᵢ|θ_s)`` with the weights of a row its smoothed
    ``1/p(yᵢ|θ_s)``; independent draws are assumed. Draws of an approximate posterior describe the
    predictive density of the approximation, unless ``log_ratio`` is given: then a row's ratios
    are ``p(θ_s, y) / (q(θ_s) p(yᵢ|θ_s))``, and its Pareto k judges both corrections together.

    Parameters
    ----------
    blocks : iterable of (draws, rows) arrays
        Log density of each row under each draw; blocks cover the rows in order, and
        only one is held at a time.
    labels : pandas.Index, optional
        Names of all rows, for messages and the coordinate of the pointwise values.
    log_ratio : (draws,) array, optional
        ``log p(θ_s, y) − log q(θ_s)``, up to a constant, of draws from an approximate posterior q.
    weights : (rows,) array, optional
        Case weights. A row of weight w represents w rows, of which one is held out at a time: it
        counts w times, with the ratios of one row. A row of weight 0 does not count.

    Raises
    ------
    DataError
        If a log density is not finite (the rows are named), the blocks do not fit together, or
        there are fewer than 25 draws.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC, arXiv:1507.04544, section 2.1. Magnusson, Andersen,
    Jonasson, Vehtari (2019), Bayesian leave-one-out cross-validation for large data,
    arXiv:1904.10679, for the ratios of an approximate posterior.
    """
    one_row = partial(_pointwise_loo, log_ratio=log_ratio)
    pointwise, p, pareto_k, draws = _accumulate(one_row, blocks, labels)
    pareto_k, total = _counting(pareto_k, weights, np.nan), sum_and_error(p, weights)[0]
    result = Elpd(
        kind="loo", pointwise=pointwise, p=total, n_draws=draws, pareto_k=pareto_k, labels=labels,
        weights=weights,
    )  # fmt: skip
    high = int(np.count_nonzero(pareto_k > result.good_k))
    if not high:
        return result
    warn(
        f"Pareto k of {high} of {result.n_rows} rows is above {result.good_k:.2f} (largest "
        f"{np.nanmax(pareto_k):.2f}): the leave-one-out densities of these rows are unreliable, "
        "either because the rows are outlying or because the model is very flexible there",
    )
    return replace(result, warning=True)


def khat(log_ratio: DrawVector) -> float:
    """Pareto k of the ratio of the joint density to q over draws of q; NaN if it is constant.

    Below 0.5 the approximation is good, up to 0.7 usable. A ratio that varies by at most 5%, its
    standard deviation relative to its mean, counts as constant: whatever its tail, by the
    inequality of Cauchy and Schwarz no posterior mean is off by more than 0.05 standard deviations
    of q. The k of the skewness that a posterior of many rows has left can then be any number.

    Parameters
    ----------
    log_ratio : (draws,) array
        ``log p(θ, y) − log q(θ)``; -inf where the joint density is zero.

    Raises
    ------
    DataError
        If there are fewer than 25 draws, a ratio is NaN or +inf, or all are -inf.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work? Evaluating variational
    inference, arXiv:1802.02538, algorithm 1.
    """
    from bayesvb.evaluation.psis import psis

    ratio = np.asarray(log_ratio, dtype=float)
    _, pareto_k = psis(ratio[:, None])
    varies = np.exp(ratio - ratio.max())
    # Relative standard deviation of importance ratios up to which draws count as posterior draws.
    return float("nan") if varies.std() <= 0.05 * varies.mean() else float(pareto_k[0])


def _counting(values: np.ndarray, weights: RowVector | None, blank: float) -> np.ndarray:
    """Values of the rows that count, ``blank`` for others."""
    return values if weights is None else np.where(weights > 0.0, values, blank)


def _pointwise_waic(block: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected log density, effective parameters, and no diagnostic of each row."""
    p = block.var(axis=0)
    return _log_mean_exp(block) - p, p, np.full_like(p, np.nan)


def _pointwise_loo(
    block: np.ndarray, *, log_ratio: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Expected log density, effective parameters and Pareto k of each row."""
    from bayesvb.evaluation.psis import psis

    if log_ratio is None:
        log_weights, pareto_k = psis(-block)
        density = _log_mean_exp(block)
    else:
        log_weights, pareto_k = psis(log_ratio[:, None] - block)
        whole, _ = psis(log_ratio[:, None])
        density = logsumexp(whole + block, axis=0)
    elpd = logsumexp(log_weights + block, axis=0)
    return elpd, density - elpd, pareto_k


def _log_mean_exp(block: np.ndarray) -> np.ndarray:
    """Log of the mean density over the draws."""
    return np.asarray(logsumexp(block, axis=0) - np.log(block.shape[0]))


def _accumulate(
    pointwise: Pointwise, blocks: Blocks, labels: pd.Index | None
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """The three rows-sized arrays of all blocks, one after the other, and the number of draws."""
    draws = 0
    parts = []
    for block in _checked(blocks, labels):
        parts.append(pointwise(block))
        draws = block.shape[0]
    if not parts or not draws:
        raise DataError("blocks is empty: at least one array of log densities is needed")
    elpd, p, pareto_k = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    if labels is not None and len(labels) != elpd.size:
        raise DataError(f"labels has {len(labels)} entries for {elpd.size} rows in blocks")
    return elpd, p, pareto_k, draws


def _checked(blocks: Blocks, labels: pd.Index | None) -> Iterator[np.ndarray]:
    """The blocks, if their shapes agree and all values are finite."""
    start, draws = 0, None
    for block in blocks:
        if block.ndim != 2 or draws not in (None, block.shape[0]):
            raise DataError(
                f"a block of log densities has shape {block.shape}, expected "
                f"({'draws' if draws is None else draws}, rows)"
            )
        finite = np.isfinite(block).all(axis=0)
        if not finite.all():
            _refuse(start + np.flatnonzero(~finite), block[:, ~finite], labels)
        start, draws = start + block.shape[1], block.shape[0]
        if block.shape[1]:
            yield block


def _refuse(rows: np.ndarray, values: np.ndarray, labels: pd.Index | None) -> None:
    """Name the rows whose log density is not finite."""
    names = rows if labels is None else labels[rows]
    named = ", ".join(str(name) for name in islice(names, NAMED_ROWS))
    more = ", ..." if len(rows) > NAMED_ROWS else ""
    value = values[~np.isfinite(values)][0]
    raise DataError(
        f"the log density of {'row' if len(rows) == 1 else 'rows'} {named}{more} is not finite "
        f"({value} under some draw)",
        hint="look for an impossible or extreme response in these rows",
    )
