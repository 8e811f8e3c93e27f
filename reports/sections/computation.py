"""Computation: how the fit was reached, whether restarts agree, how close q is to the posterior."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure

from bayesvb.results.base import number_before
from bayesvb.results.capabilities import HasExactPosterior
from bayesvb.results.named_draws import count
from bayesvb.results.subsampling import khat_within

from ..cells.checks import Verdict, check, graded
from ..cells.numerals import counted, numeral
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.svg import BAND, MUTE, axes_of, drawn

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

NEAR = 1.0
"""Nats of the lower bound by which restarts may differ and still agree."""

LEAST = 1e-3
"""Nats below the best bound at which a curve ends."""

KHAT_BUDGET = 3e7
"""Likelihoods (rows x components x draws) that k-hat may cost: about ten seconds."""


def summary(fit: AbstractFit) -> Summary:
    """Engine, restarts, trace and k-hat, with three checks."""
    bounds = fit.restarts.get("score", fit.restarts["elbo"]).to_numpy(dtype=float)
    bounds = bounds[:-1] if number_before(fit) else bounds  # those of the larger model agree or not
    near = int((bounds >= bounds.max() - NEAR).sum())
    k, n_draws = khat_within(fit, KHAT_BUDGET)
    fixed = bool(fit.core.starting_models(2))
    agree = _combined(fit) if combines(fit) else agreeing(near, bounds, fixed=fixed)
    checks = [_converged(fit), agree]
    return {
        "factors": fit.model.factor_words,
        "approach": fit.engine.description(fit.model.factor_words),
        "labelled": fit.model.size > 1,
        "seed": fit.seed,
        "seconds": fit.seconds,
        "n_iter": fit.n_iter,
        "n_draws": count(fit.draws),
        "covariance": fit.covariance,
        "corrected": fit.model.corrected,
        "failure": fit.response.failure,
        "converged": fit.converged,
        "elbo": fit.elbo,
        "last_gain_per_row": _last_gain(fit),
        "n_restarts": len(bounds),
        "n_near": near,
        "combined": len(fit.parts) if combines(fit) else None,
        "on_sample": bool((fit.restarts["rows"] < fit.model.source.n_rows).any()),
        "khat": None if k is None else k,
        "khat_draws": n_draws,
        "restarts": _restarts(fit, fixed=fixed),
        "trace": _trace(fit) if _climbed(fit) else None,
        "checks": checks if isinstance(fit.model, HasExactPosterior) else [*checks, close(k)],
    }


def _last_gain(fit: AbstractFit) -> float | None:
    trace = fit.elbo_trace.to_numpy(dtype=float)
    return float(trace[-1] - trace[-2]) / fit.model.source.total_weight if len(trace) > 1 else None


def _converged(fit: AbstractFit) -> Summary:
    name, threshold = "Converged", "the bound stops rising before the passes run out"
    value = counted(fit.n_iter, "pass", "passes")
    if fit.converged:
        reading = "The lower bound had stopped rising when the ascent ended."
        return check(name, "ok", value, reading=reading, threshold=threshold)
    reading = "The ascent was cut short: fit again with a larger max_iter before using the numbers."
    return check(name, "problem", value, reading=reading, threshold=threshold)


def agreeing(near: int, bounds: np.ndarray, *, fixed: bool) -> Summary:
    """The check whether more than one restart led to the best optimum."""
    verdict: Verdict = "ok" if near >= 2 or fixed else "look"
    if fixed:
        reading = "The starts of this model do not depend on chance, and the best end is kept."
    elif len(bounds) == 1:
        reading = "Only one start was tried, so nothing is known about other optima."
    elif near == 1:
        second = np.sort(bounds)[-2]
        reading = (
            f"No other restart comes near: the next is {numeral(float(bounds.max() - second))} "
            "nats lower, and more restarts may find a better optimum."
        )
    else:
        reading = "More than one start led to the best optimum."
    value = f"{near} of {len(bounds)} restarts"
    threshold = f"at least 2 within {NEAR:g} nat of the best bound, if starts are random"
    return check("Restarts agree", verdict, value, reading=reading, threshold=threshold)


def combines(fit: AbstractFit) -> bool:
    """Whether restarts were weighed by their predictions, rather than chosen by their bounds."""
    return "weight" in fit.restarts


def _combined(fit: AbstractFit) -> Summary:
    n, n_all = len(fit.parts), len(fit.restarts)
    share = numeral(float(fit.restarts["weight"].max()), 2)
    reading = "They are weighed by what they predict: the bound does not rank their predictions."
    if n_all == 1:
        reading = "Only one start was tried, so nothing is known about other optima."
    elif n == 1:
        reading = f"{reading} Beside the one that is kept the others add nothing."
    else:
        reading = f"{reading} The heaviest has weight {share}."
    return check("Restarts combined", "ok" if n_all > 1 else "look", f"{n} of {n_all} restarts",
                 reading=reading, threshold="at least 2 are tried")  # fmt: skip


def close(k: float | None) -> Summary:
    """The check whether the approximation is close to the posterior, by k-hat."""
    name, threshold = "Close to the posterior", "k-hat: ok up to 0.5, look up to 0.7"
    if k is None:
        reading = "Not computed: there are too many rows for it."
        return check(name, "look", "–", reading=reading, threshold=threshold)
    if math.isnan(k):
        reading = "The approximation is the exact posterior."
        return check(name, "ok", "exact", reading=reading, threshold=threshold)
    verdict = graded(k, ok=0.5, look=0.7)
    reading = {
        "ok": "The approximation is close enough for its means and intervals to be used.",
        "look": "Means are usable; intervals are narrower than they should be.",
        "problem": "The approximation differs from the posterior: trust its predictions as far as "
        "the checks below carry them, and its intervals of parameters little.",
    }[verdict]
    return check(name, verdict, f"k-hat {k:.2f}", reading=reading, threshold=threshold,
                 reach="parameters")  # fmt: skip


def _restarts(fit: AbstractFit, *, fixed: bool) -> Summary:
    frame = fit.restarts.copy()
    frame.insert(list(frame).index("elbo"), "below", frame["elbo"].max() - frame["elbo"])
    if (frame["rows"] == fit.model.source.n_rows).all():
        frame = frame.drop(columns="rows")
    starts = "Starts of the ascent" if fixed else "Restarts from different divisions of the rows"
    caption = f"{starts}; the one with the largest lower bound (ELBO, nats) is kept."
    if "score" in frame:
        caption = (
            f"{starts}; the one with the largest score is kept: a tighter lower bound (nats) of "
            "the same posterior, as the bound that is climbed (ELBO) misranks them."
        )
    if number_before(fit):
        caption += (
            f" The last row is what is left after components were pruned: its bound is that of "
            f"{fit.core.n_components} components."
        )
    if combines(fit):
        caption = (
            f"{starts}, combined: predictions are mixed and draws shared by weight. LOO: log "
            "density per row of rows left out, by the restart alone; the weights make that of the "
            "mixture largest. The bound (ELBO, nats) does not decide."
        )
        first = [name for name in ("start", "prior", "weight", "elpd_per_row") if name in frame]
        frame = frame[first + [name for name in frame if name not in first]]
    titles = {"elbo": "ELBO", "below": "below the best", "n_iter": "passes", "rows": "rows used",
              "best": "kept", "elpd_per_row": "LOO"}  # fmt: skip
    if combines(fit):
        titles["best"] = "heaviest"
    digits = {"elbo": 1, "below": 1, "seconds": 2, "elpd_per_row": 3, "weight": 3}
    return table(frame, caption, titles=titles, decimals=digits)


def _climbed(fit: AbstractFit) -> bool:
    """Whether there is a curve to be seen above the least difference that is drawn."""
    values = np.concatenate([np.asarray(trace, dtype=float) for trace in fit.traces.values()])
    return bool(np.ptp(values) > LEAST)


def _trace(fit: AbstractFit) -> Summary:
    kept: int | str = "final" if "final" in fit.traces else fit.best_restart
    top = max(float(np.max(trace)) for trace in fit.traces.values())

    def draw(figure: Figure) -> None:
        axes = axes_of(figure, x="sweep", y="nats below the best bound", grid="y")
        for key, trace in fit.traces.items():
            best = key == kept
            below = np.maximum(top - np.asarray(trace), LEAST)
            style = (BAND, 2.2, 3) if best else (MUTE, 0.9, 2)
            axes.plot(np.arange(1, len(below) + 1), below, color=style[0], linewidth=style[1],
                      zorder=style[2], linestyle="-" if best else (0, (4, 2)))  # fmt: skip
        axes.set_yscale("log")
        axes.invert_yaxis()
        axes.yaxis.set_major_formatter(lambda value, _: f"{value:g}")
        axes.minorticks_off()

    which, low = "run that is kept", "A curve that ends low has stopped at a worse optimum."
    if combines(fit):
        which, low = "restart with the largest weight", "A lower end may well predict better."
    caption = (
        "Distance of the lower bound from the best one, on a log scale, after every accepted "
        f"sweep. Solid: the {which}. Dashed: the other restarts. {low}"
    )
    alt = (
        f"Lower bound by sweep for {len(fit.traces)} runs; the kept one takes "
        f"{len(fit.traces[kept])} sweeps."
    )
    return drawn(draw, alt=alt, caption=caption)
