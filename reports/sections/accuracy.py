"""Accuracy: leave-one-out densities, unreliable rows, and comparison with a linear model."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.case_weights import sum_and_error
from bayesvb.evaluation.elpd import Elpd
from bayesvb.results.baselines import linear_baseline
from bayesvb.results.groups import units_of
from bayesvb.results.subsampling import RowSample, criteria_at, unit_sample

from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Canvas, number_axis, plotted, spread_axis
from ..rows.sampling import ROWS_LEFT_OUT, choice_words, regresses

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_COLUMNS = 6

LISTED = 20
"""High-k rows that are listed, the worst first."""


def summary(fit: AbstractFit) -> Summary | None:
    """LOO and WAIC, with Pareto k where there is one, and least squares; None for classes.

    Rows of classes are held out in refits, in the section on classification.
    """
    if fit.model.response.is_categorical:
        return None
    chosen = unit_sample(fit, ROWS_LEFT_OUT)
    loo, waic = criteria_at(fit, chosen.at)
    linear = linear_baseline(fit) if regresses(fit) else None
    straight = None if linear is None else linear[chosen.at]
    k = np.full(len(loo.pointwise), -np.inf) if loo.pareto_k is None else _known(loo.pareto_k)
    narrow = fit.covariance == "mean-field"
    return {
        "n_rows": len(chosen.at),
        "rows_note": choice_words(chosen),
        "weighted": fit.model.weights is not None,
        "table": _table(loo, waic, straight, chosen),
        "good_k": loo.good_k,
        "narrow": narrow,
        "by_folds": loo.by_folds,
        "method": loo.method,
        "n_refitted": loo.n_refitted,
        "in_doubt": loo.warning,
        "plural": chosen.plural,
        "n_high": int((k > loo.good_k).sum()),
        "k": _figure(k, loo.good_k, chosen) if loo.method == "psis" else None,
        "high": _high(fit, chosen, loo, k) if loo.method == "psis" else None,
        "baseline_missing": regresses(fit)
        and straight is None
        and not fit.model.response.is_discrete,
    }


def _known(k: Float[np.ndarray, " rows"]) -> Float[np.ndarray, " rows"]:
    """Pareto k, the lowest where ratios are constant."""
    return np.asarray(np.nan_to_num(k, nan=-np.inf))


def _line(
    values: Float[np.ndarray, " rows"], weights: Float[np.ndarray, " rows"], p: float
) -> dict[str, float]:
    n = float(weights.sum())
    elpd, se = sum_and_error(values, weights)
    return {"elpd": elpd, "se": se, "mean": elpd / n, "mean_se": se / n, "p": p}


def _table(
    loo: Elpd, waic: Elpd, straight: Float[np.ndarray, " rows"] | None, chosen: RowSample
) -> Summary:
    weights = _weights(loo)
    rows = {"this fit, LOO": _line(loo.pointwise, weights, loo.p)}
    rows["this fit, WAIC"] = _line(waic.pointwise, weights, waic.p)
    if straight is not None:
        known = np.isfinite(straight)
        gap = (loo.pointwise - straight)[known]
        rows["least squares, exact LOO"] = _line(straight[known], weights[known], np.nan)
        rows["fit minus least squares"] = _line(gap, weights[known], np.nan)
    frame = pd.DataFrame.from_dict(rows, orient="index").rename_axis("model")
    caption = (
        "Expected log predictive density (elpd, in nats; larger is better) of "
        f"held-out {chosen.plural}, with standard errors over {chosen.plural}; p: "
        "effective number of parameters."
    )
    if straight is not None:
        caption += " Least squares: the terms of the mean part, with one error variance."
    words = choice_words(chosen)
    caption += f" From {words}; sums are over these." if words else ""
    one = chosen.plural.removesuffix("s")
    titles = {"mean": f"elpd per {one}", "mean_se": f"se per {one}"}
    return table(frame, caption, titles=titles,
                 decimals={"elpd": 1, "se": 1, "mean": 3, "mean_se": 3, "p": 1})  # fmt: skip


def _weights(loo: Elpd) -> Float[np.ndarray, " rows"]:
    return np.ones_like(loo.pointwise) if loo.weights is None else loo.weights


def _figure(k: Float[np.ndarray, " rows"], good: float, chosen: RowSample) -> Summary:
    shown = np.maximum(k, -0.5)
    high = k > good
    one = chosen.plural.removesuffix("s")
    least, most = min(float(shown.min()), 0.0), max(float(shown.max()), good)
    canvas = Canvas(
        number_axis(float(chosen.at.min()), float(chosen.at.max())),
        spread_axis(np.array([least, most])),
    )
    canvas.across("curve bad", good)
    canvas.across("axis", 0.0)
    canvas.dots("pts", chosen.at[~high], shown[~high])
    canvas.dots("dot bad", chosen.at[high], shown[high])
    caption = (
        f"Pareto k of each {one}: how far its deletion moves the posterior. Points above the "
        f"dashed line ({good:.2f}) are {chosen.plural} whose leave-one-out density is unreliable."
    )
    alt = (
        f"Pareto k by {one}: {int(high.sum())} of {len(k)} above {good:.2f}, largest {k.max():.2f}."
    )
    return plotted(
        canvas, x=f"{one}, in the order of the data", y="Pareto k", alt=alt, caption=caption
    )


def _high(
    fit: AbstractFit, chosen: RowSample, loo: Elpd, k: Float[np.ndarray, " rows"]
) -> Summary | None:
    worst = [i for i in np.argsort(-k)[:LISTED] if k[i] > loo.good_k]
    if not worst:
        return None
    at = chosen.at[worst]
    units, one = units_of(fit.model), chosen.plural.removesuffix("s")
    columns: dict[str, object] = {}
    if units.grouping is None:
        observed = list(fit.model.observed().items())[:MOST_COLUMNS]
        columns = {name: values[at] for name, values in observed}
    columns |= {"Pareto k": k[worst], f"elpd of the {one}": loo.pointwise[worst]}
    index = pd.Index([str(label) for label in units.index[at]], name=f"{one} (index)")
    frame = pd.DataFrame(columns, index=index)
    n_high = int((k > loo.good_k).sum())
    more = f" The {LISTED} highest of {n_high}." if n_high > LISTED else ""
    caption = f"{chosen.plural.capitalize()} with a high Pareto k, the highest first.{more}"
    return table(frame, caption, decimals={"Pareto k": 2, f"elpd of the {one}": 2})
