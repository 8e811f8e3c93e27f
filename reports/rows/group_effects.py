"""Differences between groups: standard deviations of effects, shares of the variance."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesvb.data.column_units import measured
from bayesvb.data.parts import MEAN
from bayesvb.distributions.intervals import PROB
from bayesvb.results.variance_components import has_variance_components, variance_components

from ..cells.names import called
from ..cells.numerals import numeral, percent, significant

if TYPE_CHECKING:
    from bayesvb.formula.group_columns import GroupColumns
    from bayesvb.results.base import AbstractFit

MOST_TERMS = 2
"""Groupings of which a sentence says how much they differ."""

LEVEL = "1"
"""Effect of a group that does not depend on a covariate."""


@dataclass(frozen=True, kw_only=True)
class GroupSpread:
    """Standard deviation of one effect over groups.

    Attributes
    ----------
    grouping : str
    effect : str
        ``"1"`` for the level, or the covariate of a slope.
    of_factor : bool
        Whether the covariate is an indicator of a level of a factor.
    at : str
        Words for the values of covariates whose effects differ between groups too, at which levels
        are described: means, and of factors the first levels; empty without such covariates.
    n_groups : int
    sd : tuple of three float
        Posterior mean and ends of the interval, in units of the response or its link.
    share : float or None
        Share of the variance of the response that the term has; None for counts.
    """

    grouping: str
    effect: str
    of_factor: bool
    at: str
    n_groups: int
    sd: tuple[float, float, float]
    share: float | None


def group_spreads(fit: AbstractFit) -> list[GroupSpread]:
    """Standard deviations of the effects of each grouping of the mean, in the order of the formula.

    Empty where a fit has no variance components.
    """
    if not has_variance_components(fit):
        return []
    frame = variance_components(fit, PROB)
    known: dict[tuple[str, str], list[tuple[str, list[float]]]] = {}
    for (quantity, name, at), row in zip(frame.index, frame.to_numpy(), strict=True):
        known.setdefault((quantity, name), []).append((at, row.tolist()))
    spreads = []
    for term in fit.model.design.group_terms(MEAN):
        indicators = (None,) * term.intercept + term.indicators
        for effect, indicator in zip(term.effects, indicators, strict=True):
            # of several places the first levels of factors, or the means of numbers
            at, sd = known["sd", f"({effect} | {term.grouping})"][0 if any(term.indicators) else -1]
            share = known.get(("share", term.term))
            spreads.append(
                GroupSpread(
                    grouping=term.grouping,
                    effect=effect,
                    of_factor=indicator is not None,
                    at=_place(fit, term, at),
                    n_groups=len(term.labels) - 1,
                    sd=(sd[0], sd[1], sd[2]),
                    share=share[0][1][0] if share else None,
                )
            )
    return spreads


def _place(fit: AbstractFit, term: GroupColumns, at: str) -> str:
    """Words for the values of the covariates at which levels are described."""
    if any(term.indicators) or not at:
        return f" at {at}" if at else ""
    names = (called(fit.model.design, name) for name in term.covariates)
    return f" at the mean of {' and '.join(names)}"


def group_sentences(fit: AbstractFit) -> dict[str, str]:
    """Statement on each of the first groupings by its name, without a full stop."""
    own: dict[str, list[GroupSpread]] = {}
    for spread in group_spreads(fit):
        own.setdefault(spread.grouping, []).append(spread)
    first = [*own.items()][:MOST_TERMS]
    return {name: "; ".join(_words(fit, one) for one in spreads) for name, spreads in first}


def _words(fit: AbstractFit, spread: GroupSpread) -> str:
    """One standard deviation with interval and share; a factor where the link is a logarithm."""
    design, link = fit.model.design, fit.model.response.link
    values = [math.exp(one) if link == "log" else one for one in spread.sd]
    decimals = significant([values[2] - values[1]], 2)
    size, low, high = (numeral(one, decimals) for one in values)
    if link == "identity" and spread.effect == LEVEL:
        size = measured(size, design.response_names[0], design.known_units)
    by = {"identity": f"±{size}", "log": f"a factor of {size}", "logit": f"±{size} log odds"}[link]
    interval = f"{percent(PROB)} interval {low} to {high}"
    if spread.effect != LEVEL:
        kind = "effects" if spread.of_factor else "slopes"
        return f"their {kind} of {called(design, spread.effect)} differ by {by} ({interval})"
    share = "" if spread.share is None else f", {percent(spread.share)} of the variance"
    return (
        f"{numeral(spread.n_groups)} groups of {called(design, spread.grouping)} differ by {by}"
        f"{spread.at} (standard deviation; {interval}){share}"
    )
