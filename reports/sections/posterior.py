"""Posterior: every coefficient with its interval, as tables and as a forest by component."""

from __future__ import annotations

from collections.abc import Collection, Hashable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.data.parts import MEAN
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.results.exact_draws import is_integrated
from bayesvb.results.group_covariance import group_notes
from bayesvb.results.limits import LIMITS
from bayesvb.results.printing import interval_line
from bayesvb.results.summary import coefficient_table, empty_components, empty_words
from bayesvb.results.variance_components import has_variance_components, variance_components

from ..cells.numerals import PROBABILITY, percent
from ..cells.plain import Summary
from ..cells.tables import after_uncertainty, table
from ..figures.plot import FEW_TICKS, Canvas, panelled, row_axis, series, spread_axis

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

INTERCEPT = "Intercept"

MOST_PANELS = 12
"""Terms of a forest; the table has all of them."""

STATISTICS = {False: "posterior mean, standard deviation", True: "estimate, standard error"}
"""Columns of a table, of posteriors and of point estimates."""

ROBUST = (
    "In {rows} median and 1.48 times the median absolute deviation: the mean of the draws is "
    "outside the interval, or their standard deviation wider than it."
)

RATIO = "_ratio"
"""End of the names of columns with exponentials of coefficients, as ``odds_ratio``."""


def summary(fit: AbstractFit) -> Summary:
    """Tables of the parts and their forests."""
    whole, named = coefficient_table(fit, robust=None), fit.named_draws
    shares = named.values["share"].mean(axis=0) if "share" in named.values else np.ones(1)
    occupied = [k for k, share in enumerate(shares, start=1) if share >= LIMITS.negligible_weight]
    parts, basis, empty = [], _basis_functions(fit), empty_components(fit)
    for name, text in named.texts.items():
        if name == "share" and len(shares) == 1:
            continue
        part = named.parts[name]
        rows = whole.loc[[part]].droplevel("part")
        curves = _mostly_curves(rows, basis)
        alone = _single_terms(rows, basis) if curves else rows
        forest = _forest(alone, text.heading, occupied) if text.forest and len(alone) else None
        single = "a point estimate" if fit.is_point_estimate else named.single.get(name)
        without = rows.index.get_level_values("component").isin(empty)
        kept = rows if without.all() else rows[~without]
        told = {(k, term) for own, k, term in whole.attrs["robust"] if own == part}
        shown = _table(kept, text.caption, single, points=fit.engine.finds_points, robust=told)
        shown["folded"] = shown["folded"] or not text.identified
        rest = len(kept) < len(rows) and name != "share"
        parts.append({
            "heading": text.heading,
            "table": shown if name != "share" else _table(rows, text.caption, single, robust=told),
            "empty": _table(rows[without], text.caption, single, robust=told) if rest else None,
            "forest": forest,
            "curves": curves,
        })  # fmt: skip
    return {
        "prob": PROB,
        "covariance": fit.covariance,
        "corrected": interval_line(fit),
        **engine_words(fit),
        "parts": parts,
        **_variances(fit),
        "n_not_drawn": len(shares) - len(occupied),
        "empty": empty_words(fit),
        "smallest_share_drawn": LIMITS.negligible_weight,
    }


def _variances(fit: AbstractFit) -> Summary:
    """Table of the variance components of a model with groups, and notes; empty without."""
    design = fit.model.design
    notes = group_notes(design, integrated=is_integrated(fit)) if MEAN in design.terms else []
    found: Summary = {"notes": notes} if notes else {}
    if not has_variance_components(fit):
        return found
    frame = variance_components(fit, PROB)
    is_sd = frame.index.get_level_values("quantity") == "sd"
    spread = 0.25 * (frame["upper"] - frame["lower"]).to_numpy()
    each = np.where(is_sd, after_uncertainty(spread, frame["estimate"].to_numpy()), 2).tolist()
    low, high = (percent(end, 1) for end in tails(PROB))
    caption = (
        "Standard deviations, in units of the response or its link, correlations, intraclass "
        "correlations (icc) and shares of the variance: posterior mean and central "
        f"{percent(PROB)} interval, at values of the covariates of slopes."
    )
    titles = {"estimate": "mean", "lower": low, "upper": high}
    decimals: dict[str, Any] = dict.fromkeys(["estimate", "lower", "upper"], each)
    return {**found, "variances": table(frame, caption, titles=titles, decimals=decimals)}


def _basis_functions(fit: AbstractFit) -> set[str]:
    """Terms that are one of several columns: of a spline, a polynomial, a smooth, or of groups."""
    design = fit.model.design
    return {
        design.terms[part][column]
        for part, blocks in design.term_blocks.items()
        for block in blocks
        if block.kind == "smooth" or (block.kind != "factor" and len(block.columns) > 1)
        for column in block.columns
    }


def _mostly_curves(rows: pd.DataFrame, basis: set[str]) -> bool:
    """Whether more than half of the terms mean nothing one by one."""
    terms = set(rows.index.get_level_values("term"))
    return 2 * len(terms & basis) > len(terms)


def _single_terms(rows: pd.DataFrame, basis: set[str]) -> pd.DataFrame:
    """Coefficients that mean something one by one, if there are others than the intercept."""
    kept = rows[~rows.index.get_level_values("term").isin(basis)]
    return kept if set(kept.index.get_level_values("term")) - {INTERCEPT} else rows[:0]


def engine_words(fit: AbstractFit) -> Summary:
    """Sentence on intervals, where the engine has words for it."""
    own = fit.engine.interval_words(fit.covariance)
    if own is None:
        return {}
    return {
        "intervals": interval_line(fit),
        **({"only_points": True} if fit.is_point_estimate else {}),
    }


def _table(
    frame: pd.DataFrame,
    words: str,
    single: str | None = None,
    *,
    points: bool = False,
    robust: Collection[object] = (),
) -> Summary:
    n_robust = sum(label in robust for label in frame.index)
    frame = _without_blank_levels(frame)
    if single is not None:
        caption = f"{words}: {single}, without an interval."
        return table(frame[["mean"]], caption, titles={"mean": "value"}, rest="fit.summary()")
    each = after_uncertainty(frame["sd"].to_numpy(), frame["mean"].to_numpy())
    decimals: dict[str, Any] = dict.fromkeys(["mean", "sd", "lower", "upper"], each)
    ratios = [str(name) for name in frame if str(name).endswith(RATIO)]
    frame = frame.drop(columns=[name for name in ratios if frame[name].isna().all()])
    if frame["p_positive"].isna().all():
        frame = frame.drop(columns="p_positive")
    else:
        decimals["p_positive"] = PROBABILITY
    low, high = (1.0 - PROB) / 2.0, (1.0 + PROB) / 2.0
    titles = {"p_positive": "P(> 0)", "lower": percent(low, 1), "upper": percent(high, 1)}
    titles |= {name: name.replace("_", " ") for name in ratios}
    caption = f"{words}: {STATISTICS[points]} and central {percent(PROB)} interval."
    if n_robust:
        caption += f" {ROBUST.format(rows='one row' if n_robust == 1 else f'{n_robust} rows')}"
    return table(frame, caption, titles=titles, decimals=decimals, rest="fit.summary()")


def _without_blank_levels(frame: pd.DataFrame) -> pd.DataFrame:
    """The rows without levels of the index that name nothing, one level at the least."""
    levels = frame.index.to_frame()
    blank: list[Hashable] = [name for name in ("component", "term") if (levels[name] == "").all()]
    if len(blank) < 2:
        return frame.droplevel(blank)
    return frame.droplevel("term").rename_axis("")


def _forest(rows: pd.DataFrame, heading: str, occupied: list[int]) -> Summary | None:
    """One panel per term, one interval per component."""
    rows = rows.reset_index("component")
    terms = list(dict.fromkeys(rows.index))
    rows = rows[rows["component"].isin(occupied)]
    if rows.empty:
        return None
    shown = terms[:MOST_PANELS]
    present = list(dict.fromkeys(rows["component"]))
    panels = [(str(term), _panel(rows.loc[[term]], present)) for term in shown]
    more = f" The first {len(shown)} of {len(terms)} terms." if len(terms) > len(shown) else ""
    caption = (
        f"Posterior mean and {percent(PROB)} interval of each component, one panel per term, each "
        f"with its own scale. The vertical line is zero.{more}"
    )
    alt = (
        f"Forest plot, {heading}: {len(shown)} terms, {len(present)} components; the table holds "
        "the same numbers."
    )
    return panelled(panels, x="", y="", alt=alt, caption=caption)


def _panel(rows: pd.DataFrame, components: list[int]) -> Canvas:
    """Intervals of one term, a row for each component."""
    mean, low, high = (rows[name].to_numpy(dtype=float) for name in ("mean", "lower", "upper"))
    at = -np.array([components.index(k) for k in rows["component"]], dtype=float)
    ends = [low.min(), high.max()]
    if low.min() - np.ptp(high) <= 0.0 <= high.max():
        ends.append(0.0)
    several = len(components) > 1
    names = [str(k) if several else "" for k in components]
    canvas = Canvas(spread_axis(np.array(ends), FEW_TICKS), row_axis(names))
    canvas.upright("axis", 0.0)
    for place, k in enumerate(rows["component"]):
        own, kind = slice(place, place + 1), series(k - 1) if several else ""
        canvas.steps(f"thin {kind}", low[own], high[own], at[own])
        canvas.dots(f"dot {kind}", mean[own], at[own])
    return canvas
