"""Simultaneous intervals of several effects, and comparisons of all pairs of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import ndtr, ndtri

from bayesvb.argument_checks import check_choice
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.effects.contrasts import COMPARISONS, compared
from bayesvb.effects.covariates import value_text
from bayesvb.effects.table import NUMBERS, EffectsTable
from bayesvb.errors import DataError
from bayesvb.numerics.order_statistics import mid_ranks
from bayesvb.results.limits import LIMITS

Table = TypeVar("Table", bound=EffectsTable)

PAIRED = ("difference", "ratio")
"""Comparisons of two rows of a table."""


def joint_intervals(
    draws: Float[np.ndarray, "draws rows"], prob: float, *, robust: bool | None = None
) -> tuple[Float[np.ndarray, " rows"], Float[np.ndarray, " rows"]]:
    """Return intervals that contain the draws of all rows together with this probability.

    Each is centre plus or minus ``c`` times spread, where ``c`` is the quantile of the largest
    standardised deviation ``max_j |d_j - centre_j| / spread_j`` over the draws. Of rows with heavy
    tails, which would widen the intervals of all, deviations are normal scores of ranks, and the
    ends are quantiles of the draws. Rows of NaN do not count.

    Parameters
    ----------
    draws : ndarray, shape (draws, rows)
    prob : float
    robust : bool, optional
        As of ``summarised``.

    Examples
    --------
    >>> import numpy as np
    >>> draws = np.random.default_rng(1).standard_normal((20000, 3))
    >>> joint_intervals(draws, 0.95)[1].round(1)  # 1.96 for one row
    array([2.4, 2.4, 2.4])
    """
    summary = summarised(draws, prob, robust=robust)
    spread = np.where(summary.spread > 0.0, summary.spread, 1.0)
    deviations = np.abs(draws - summary.centre) / spread
    heavy = summary.robust & ~np.isnan(summary.centre)
    for row in np.flatnonzero(heavy):
        deviations[:, row] = np.abs(ndtri((mid_ranks(draws[:, row]) - 0.5) / len(draws)))
    largest = np.fmax.reduce(deviations, axis=1)
    critical = np.quantile(largest, prob)
    width = critical * summary.spread
    lower, upper = summary.centre - width, summary.centre + width
    ends = ndtr([-critical, critical])
    lower[heavy], upper[heavy] = np.quantile(draws[:, heavy], ends, axis=0)
    return lower, upper


def with_joint_intervals(effects: Table) -> Table:
    """Return the effects with simultaneous intervals; ratios have them on the log scale.

    References
    ----------
    Hothorn, Bretz and Westfall (2008), Simultaneous inference in general parametric models,
    Biometrical Journal 50(3), section 3, for the largest of the standardised deviations.
    """
    draws, robust = effects.draws.to_numpy(), _as_summarised(effects)
    if effects.measure == "ratio" and (draws > 0.0).all():
        lower, upper = np.exp(joint_intervals(np.log(draws), effects.prob, robust=robust))
    else:
        lower, upper = joint_intervals(draws, effects.prob, robust=robust)
    return replace(
        effects, summary=effects.summary.assign(lower=lower, upper=upper), simultaneous=True
    )


def compare_pairs(effects: Table, comparison: str) -> Table:
    """Return comparisons of every later row of a table with every earlier one, draw by draw.

    Rows are compared within a response, level, component or value of an option.

    Raises
    ------
    DataError
        If no covariate distinguishes the rows, they are many single rows of the data, or the draws
        of all pairs take too much memory.
    """
    import xarray as xr

    check_choice("comparison", comparison, PAIRED)
    table = effects.summary
    names = [name for name in effects.by if name in table]
    _check_rows(effects, names)
    within = [str(name) for name in table if name not in (*names, *NUMBERS)]
    pairs = _pairs_within(table, within)
    needed = 8 * effects.draws.sizes["draw"] * len(pairs)
    if needed > LIMITS.bytes_stored:
        raise DataError(
            f"{len(pairs):,} pairs of rows take {needed / 2**30:.1f} GiB",
            hint=f"average the rows first: average_by={names[0]!r}",
        )
    a, b = np.transpose(pairs)
    values = effects.draws.to_numpy()
    draws = compared(values[None, :, a], values[None, :, b], comparison)[0]
    dof = effects.dof if comparison == "difference" else None
    summary = summarised(draws, effects.prob, robust=_as_summarised(effects), dof=dof)
    labels = pd.DataFrame({"contrast": _labels(table, names, comparison, pairs)})
    labels = labels.assign(**{name: table[name].to_numpy()[a] for name in within})
    numbers = dict(
        zip(NUMBERS, (summary.centre, summary.spread, summary.lower, summary.upper), strict=True)
    )
    coords = {str(name): ("row", np.asarray(labels[name])) for name in labels}
    return replace(
        effects,
        kind="comparisons",
        measure=comparison,
        words=effects.measured,
        summary=labels.assign(**numbers),
        draws=xr.DataArray(draws, dims=("draw", "row"), coords=coords, name=effects.target),
        by=(),
        robust=int(summary.robust.sum()),
        dof=dof,
    )


def _check_rows(effects: EffectsTable, names: Sequence[str]) -> None:
    """Raise an error where pairs of rows have no meaning, or no use."""
    n = len(effects.summary)
    if not names or n < 2:
        raise DataError(
            "pairs() compares values of a covariate, and the rows of this table have none",
            hint='name one: predictions(fit, "x").pairs() or average_by="x"; for '
            "comparisons use .adjusted()",
        )
    if effects.of_rows and n > LIMITS.printed_rows:
        raise DataError(
            f"pairs() is not for effects of {n:,} single rows of the data",
            hint="average the rows first: average_by=True, or by a covariate",
        )


def _as_summarised(effects: EffectsTable) -> bool | None:
    """Whether medians and quantiles describe all effects; None if moments may."""
    return True if effects.summary["sd"].isna().all() else None


def _pairs_within(table: pd.DataFrame, within: Sequence[str]) -> list[tuple[int, int]]:
    """Positions of each pair of rows that agree in these columns."""
    positions = pd.Series(range(len(table)))
    keys = [table[name].to_numpy() for name in within]
    parts = positions.groupby(keys, sort=False) if keys else [(None, positions)]
    return [pair for _, part in parts for pair in combinations(part.tolist(), 2)]


def _labels(
    table: pd.DataFrame, names: Sequence[str], comparison: str, pairs: Sequence[tuple[int, int]]
) -> list[str]:
    """Values of the covariates of both rows, as ``b - a``."""
    rows = zip(*(table[name] for name in names), strict=True)
    words = [", ".join(map(value_text, values)) for values in rows]
    words = [f"({text})" for text in words] if len(names) > 1 else words
    return [COMPARISONS[comparison].format(a=words[a], b=words[b]) for a, b in pairs]
