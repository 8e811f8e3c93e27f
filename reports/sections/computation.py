"""Computation: how the fit was reached, whether restarts agree, how close q is to the posterior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.engines.traces import number_before
from bayesvb.results.checks.computation import bounds_of, n_runs
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count
from bayesvb.results.printing import interval_line
from bayesvb.results.subsampling import khat_within
from bayesvb.results.summary import coefficient_table

from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.plot import Axis, Canvas, log_axis, number_axis, plotted, scaled_axis
from .posterior import engine_words

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

NEAR = 1.0
"""Nats of the lower bound by which restarts may differ and still agree."""

LEAST = 1e-3
"""Nats below the best bound at which a curve ends."""


def short(fit: AbstractFit) -> Summary:
    """Intervals, agreement of the restarts and k-hat."""
    bounds = bounds_of(fit)
    k, n_draws = khat_within(fit, LIMITS.little_work)
    return {
        "covariance": fit.covariance,
        "failure": fit.response.failure,
        "n_restarts": n_runs(fit),
        "n_near": int((bounds >= bounds.max() - NEAR).sum()),
        "combined": len(fit.parts) if combines(fit) else None,
        "khat": None if k is None else k,
        "khat_draws": n_draws,
        "identified": fit.named_draws.identified,
        **engine_words(fit),
        **({"objective": fit.engine.objective} if fit.engine.finds_points else {}),
    }


def summary(fit: AbstractFit) -> Summary:
    """Engine, restarts, trace and k-hat."""
    first, fixed = short(fit), bool(fit.core.starts(2).models)
    k = first["khat"]
    return {
        **first,
        "factors": fit.model.factor_words,
        "approach": fit.engine.description(fit.model.factor_words),
        "labelled": fit.model.size > 1,
        "seed": fit.seed,
        "seconds": fit.seconds,
        "n_iter": fit.n_iter,
        "n_draws": count(fit.draws),
        "corrected": interval_line(fit),
        "chains": _chains(fit),
        "findings": dict(fit.findings),
        "converged": fit.converged,
        "elbo": fit.elbo,
        "last_gain_per_row": _last_gain(fit),
        "on_sample": bool((fit.restarts["rows"] < fit.model.source.n_rows).any()),
        "exact": k is not None and math.isnan(k),
        "restarts": _restarts(fit, fixed=fixed),
        "trace": _trace(fit) if _climbed(fit) else None,
        **_invariance(fit),
    }


def _invariance(fit: AbstractFit) -> Summary:
    """Forms of the rows in which the model was fitted again, and those that changed the fit."""
    table = fit.cache.get("invariance")
    if table is None:
        return {}
    forms = list(table.index)
    return {
        "invariance": {
            "forms": forms,
            "changed": [form for form in forms if table.loc[form, "moved"]],
            "largest": float(table["largest"].max()),
        }
    }


def _chains(fit: AbstractFit) -> Summary | None:
    """Agreement of chains of draws; None for draws without chains."""
    if fit.chains == 1:
        return None
    found = coefficient_table(fit)
    return {
        "n": fit.chains,
        "each": count(fit.draws) // fit.chains,
        "r_hat": float(found["r_hat"].max()),
        "ess": float(found["ess_bulk"].min()),
    }


def _last_gain(fit: AbstractFit) -> float | None:
    trace = fit.elbo_trace.to_numpy(dtype=float)
    return float(trace[-1] - trace[-2]) / fit.model.source.total_weight if len(trace) > 1 else None


def combines(fit: AbstractFit) -> bool:
    """Whether restarts were weighed by their predictions, rather than chosen by their bounds."""
    return "weight" in fit.restarts


LEADING = ("initialisation", "prior", "weight", "elpd_per_row")
"""Columns of combined restarts that come first."""

TITLES = {
    "below": "below the best",
    "n_iter": "passes",
    "rows": "rows used",
    "best": "kept",
    "elpd_per_row": "LOO",
    "prediction_distance": "prediction distance",
}
"""Titles of the columns of the table of restarts."""

DIGITS = {
    "elbo": 1,
    "below": 1,
    "seconds": 2,
    "elpd_per_row": 3,
    "weight": 3,
    "prediction_distance": 3,
}
"""Digits of the numbers in them."""


def _restarts(fit: AbstractFit, *, fixed: bool) -> Summary:
    frame = fit.restarts.copy()
    frame.insert(list(frame).index("elbo"), "below", frame["elbo"].max() - frame["elbo"])
    if (frame["rows"] == fit.model.source.n_rows).all():
        frame = frame.drop(columns="rows")
    starts = "Initialisations" if fixed else "Restarts from different partitions of the rows"
    short, whole = fit.engine.symbol, fit.engine.objective
    named = f"{whole} ({short}, nats)" if short not in whole else f"{whole} (nats)"
    caption = f"{starts}; the one with the largest {named} is kept."
    if "score" in frame and fit.engine.finds_points:
        caption += " Runs whose objective has no maximum have no score."
    elif "score" in frame:
        caption = (
            f"{starts}; the one with the largest score is kept: a tighter lower bound (nats) of "
            "the same posterior, because the ELBO that is maximised misranks them."
        )
    if number_before(fit.restarts):
        caption += (
            f" The last row is the fit after components were pruned, with "
            f"{fit.core.n_components} components."
        )
    if combines(fit):
        caption = (
            f"{starts}, combined: predictions are mixed and draws shared by weight. LOO: log "
            "density per held-out row of the restart alone; the weights maximise that density "
            f"of the mixture. The {named.removeprefix('lower ')} does not decide."
        )
        first = [name for name in LEADING if name in frame]
        frame = frame[first + [name for name in frame if name not in first]]
    if "prediction_distance" in frame:
        caption += (
            " Prediction distance: mean absolute difference of log predictive densities from "
            f"the kept run, in nats per row, for runs with nearly the same {short}."
        )
    titles = {**TITLES, "elbo": short}
    if combines(fit):
        titles["best"] = "heaviest"
    return table(frame, caption, titles=titles, decimals=DIGITS)


def _climbed(fit: AbstractFit) -> bool:
    """Whether there is a curve to be seen above the least difference that is drawn."""
    values = np.concatenate([np.asarray(trace, dtype=float) for trace in fit.traces.values()])
    return bool(np.ptp(values) > LEAST)


def _trace(fit: AbstractFit) -> Summary:
    kept: int | str = "final" if "final" in fit.traces else fit.best_restart
    top = max(float(np.max(trace)) for trace in fit.traces.values())
    below = {key: np.maximum(top - np.asarray(trace), LEAST) for key, trace in fit.traces.items()}
    depths = np.log10(np.concatenate(list(below.values())))
    down = scaled_axis(log_axis(LEAST, float(10.0 ** depths.max())), lambda depth: -depth)
    longest = max(len(one) for one in below.values())
    canvas = Canvas(number_axis(1.0, float(longest)), Axis(down.high, down.low, down.ticks))
    for key in sorted(below, key=lambda key: key == kept):
        sweeps = np.arange(1.0, len(below[key]) + 1.0)
        canvas.line("curve" if key == kept else "curve dash", sweeps, -np.log10(below[key]))
    which, low = "run that is kept", "A curve that ends low has stopped at a worse optimum."
    if combines(fit):
        which, low = "restart with the largest weight", "A lower end may well predict better."
    caption = (
        f"Distance of the {fit.engine.objective} from the best one, on a log scale, after each "
        f"iteration. Solid: the {which}. Dashed: the other restarts. {low}"
    )
    alt = (
        f"{fit.engine.objective.capitalize()} by iteration for {len(fit.traces)} runs; that kept "
        f"takes {len(fit.traces[kept])} iterations."
    )
    return plotted(canvas, x="iteration", y="nats below the best run", alt=alt, caption=caption)
