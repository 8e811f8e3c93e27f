"""Was the fit computed as it should? Convergence, linear response, restarts, importance ratios."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget
from bayesvb.engines.traces import number_before
from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.unseen_optima import SAME, unseen_share
from bayesvb.models.ensemble import thinned
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import PREDICTION_DISTANCE, AbstractFit, Member
from bayesvb.results.capabilities import HasExactPosterior, HasScores
from bayesvb.results.checks.base import Check, decided
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.grading import GRADES, Grade
from bayesvb.results.exact_draws import is_exact, regimes
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count, log_lik_blocks
from bayesvb.results.subsampling import khat_within, source_at, unit_sample
from bayesvb.results.summary import coefficient_table

if TYPE_CHECKING:
    from bayesvb.data.blocks import Block

PROBE = Budget(tol=1e-8, max_iter=100)
"""Iterations that continue a run to see whether it changes: a twentieth of the default."""


TIMES_MORE = 5
"""Passes or draws that a remedy asks for, as a multiple of those that there were."""


def computation_checks(fit: AbstractFit) -> list[Check]:
    """Checks of how the fit was reached; none of them looks at the data."""
    with ignoring_user_warnings():
        checks = [
            _ascent(fit),
            *_maximum(fit),
            *_linear_response(fit),
            *_chains(fit),
            *_regimes(fit),
            *_noise(fit),
            *_restarts(fit),
            *_rivals(fit),
        ]
        if isinstance(fit.model, HasExactPosterior):
            return [*checks, _exact(fit, fit.model)]
        return [*checks, *_importance(fit)]


def _ascent(fit: AbstractFit) -> Check:
    """Whether the run met its tolerance, and if not, whether predictions still change."""
    ascent = partial(decided, "Convergence", "computation", section="computation")
    if fit.findings.get("elbo_decrease", 0.0) > 0.0:
        remedy = "The bound fell: fit again with a smaller learning_rate or guide='mean-field'."
        return ascent("ok" if fit.converged else "problem", float(fit.n_iter), "passes",
                      threshold="problem: below its start", remedy=remedy)  # fmt: skip
    limits, change = GRADES["Convergence"], None if fit.converged else still_changing(fit)
    more = Edit(arguments={"max_iter": TIMES_MORE * (fit.max_iter or fit.n_iter)})
    remedy = Remedy.of("Fit again with ", more, " before using the numbers.")
    if change is None:
        return ascent("ok" if fit.converged else "problem", float(fit.n_iter), "passes",
                      threshold="problem: cut short while the bound was rising",
                      remedy=remedy)  # fmt: skip
    chosen = unit_sample(fit, LIMITS.quick_subsample)
    rows = "" if chosen.whole else f", of {LIMITS.quick_subsample} {chosen.plural}"
    if change <= limits.problem:
        remedy = Remedy.of("Predictions still change a little: ", more, " would settle them.")
    if change <= limits.note:
        remedy = Remedy.of(
            "The run stopped at max_iter, but predictions have stabilised: no action needed."
        )
    n_further = PROBE.max_iter
    return ascent("problem" if change > limits.problem else "note", change,
                  f"posterior sd by which predictions change in {n_further} more iterations{rows}",
                  threshold=f"note: cut short, counts above {limits.note:g}; "
                  f"problem: above {limits.problem:g}",
                  remedy=remedy, weighs=change > limits.note)  # fmt: skip


def _maximum(fit: AbstractFit) -> list[Check]:
    """Whether a likelihood without prior has a maximum where the fit ended."""
    if not fit.engine.finds_points or fit.engine.prior_counts:
        return []
    n_collapsed = fit.findings.get("collapsed_components", 0.0)
    separated = fit.findings.get("separated", 0.0)
    value, words = n_collapsed, "components on a few rows"
    if separated and fit.parts[0].fit.core.predicts_classes:
        value, words = separated, "separated classes: predictions of all rows are certain"
    return [
        decided("Likelihood has a maximum", "computation", "problem" if value else "ok",
                value, words, threshold="problem: above 0",
                remedy=Remedy.of("Fit with ", Edit(arguments={"prior": True}),
                                 ", or fewer components."), section="computation")
    ]  # fmt: skip


def _linear_response(fit: AbstractFit) -> list[Check]:
    """Whether intervals have the covariance that makes up for independent factors."""
    parts = [member.fit for member in fit.parts]
    if all(one.core.coordinates(one.q) is None for one in parts) or fit.is_sampled:
        return []
    failures = [one.response.failure for one in parts if one.response.failure is not None]
    asked = not any("not asked for" in failure for failure in failures)
    grade: Grade = "ok" if not failures else "problem" if asked else "note"
    points = fit.engine.finds_points
    which = "complete-data information" if points else "the mean-field posterior"
    remedy = (
        f"Intervals come from {which}, and are too narrow ({failures[0]}): "
        "fit with fewer components or a larger max_iter."
        if failures and asked
        else Remedy.of(
            "Intervals are too narrow: fit with ",
            Edit(arguments={"covariance": "linear-response"}),
            ".",
        )
    )
    share = len(failures) / len(parts)
    return [
        decided("Linear response", "computation", grade, 1.0 - share, "share of restarts with it",
                threshold="problem: it was requested and is not available", remedy=remedy,
                section="computation")
    ]  # fmt: skip


def _chains(fit: AbstractFit) -> list[Check]:
    """Whether chains of draws agree, and say enough."""
    if fit.chains == 1:
        return []
    table = coefficient_table(fit)
    r_hat, least = float(table["r_hat"].max()), float(table["ess_bulk"].min())
    enough = LIMITS.draws * fit.chains
    limits, n_draws = GRADES["Chains agree"], count(fit.variational_draws)
    more = Edit(arguments={"draws": TIMES_MORE * n_draws})
    return [
        decided("Chains agree", "computation", limits.grade(r_hat), r_hat,
                "largest R-hat of a parameter", threshold=limits.description,
                remedy="Chains are at different optima, or have other labels: draw more, and "
                "compare predictions, which do not depend on labels.", section="computation"),
        decided("Effective draws", "computation", "ok" if least >= enough else "note", least,
                "smallest effective sample size of a parameter",
                threshold=f"note: below {enough:g}",
                remedy=Remedy.of("Ends of intervals are imprecise: fit with ", more, "."),
                section="computation", weighs=False),
    ]  # fmt: skip


def _regimes(fit: AbstractFit) -> list[Check]:
    """Whether samplers reach the exact posterior of few rows, for information."""
    record = regimes(fit)
    if record is None:
        return []
    n_rows = fit.model.source.n_rows
    chains = not math.isnan(record.r_hat)
    number = record.r_hat if chains else record.khat
    sampled = "Chains of the exact posterior disagree: fit with fewer components."
    remedy = (
        f"The posterior has several modes with these {n_rows} rows, and intervals may miss some "
        'of them: fit with fewer components, or sample all modes by `fit.with_covariance("exact")`.'
    )
    return [
        decided("Several regimes", "computation", "ok" if is_exact(record) else "note", number,
                "R-hat of chains" if chains else "Pareto k of adapted importance weights",
                threshold=f"note: above {LIMITS.exact_r_hat if chains else LIMITS.exact_khat:g}, "
                f"or fewer than {LIMITS.exact_draws:g} effective draws",
                remedy=sampled if chains else remedy, section="computation", weighs=False)
    ]  # fmt: skip


def _noise(fit: AbstractFit) -> list[Check]:
    """Whether rows determine the noise that the components leave over."""
    if not isinstance(fit.model, HasScores) or fit.is_sampled:
        return []
    share, limits = fit.model.noise_from_prior(fit), GRADES["Noise of the components"]
    return [
        decided("Noise of the components", "computation", limits.grade(share), share,
                "share of the noise that is the prior's", threshold=limits.description,
                remedy="The components fit the rows exactly, so densities of new rows depend on "
                "the prior only: fit fewer components, or set priors.noise_rate.",
                section="scores")
    ]  # fmt: skip


def bounds_of(fit: AbstractFit) -> Float[np.ndarray, " runs"]:
    """Bounds of restarts at a maximum, of the larger model where components were pruned."""
    table = fit.restarts[:-1] if number_before(fit.restarts) else fit.restarts
    bounds = table.get("score", table["elbo"]).to_numpy(dtype=float)
    return np.asarray(bounds[(bounds > -np.inf) & (table["converged"] | table["best"])])


def n_runs(fit: AbstractFit) -> int:
    """Number of restarts, without the run after components were pruned."""
    return len(fit.restarts) - bool(number_before(fit.restarts))


def _restarts(fit: AbstractFit) -> list[Check]:
    """Whether another restart may find another optimum; not where starts are fixed or one exists.

    Restarts that are weighed by their predictions need not agree.
    """
    bounds = bounds_of(fit)
    if fit.core.n_components == 1 or bool(fit.core.starts(2).models) or "weight" in fit.restarts:
        return []
    # Runs that ended early, since they could not reach the best ELBO, are one outcome together.
    share = unseen_share(bounds) * len(bounds) / n_runs(fit)
    best = int((bounds >= bounds.max() - SAME).sum())
    grade: Grade = "ok" if best >= 2 or share <= 1.0 / len(bounds) else "note"
    limits = GRADES["Restarts agree"]
    if limits.grade(share) == "note" or len(bounds) == 1:
        grade = "note"
    more = Edit(arguments={"restarts": max(20, 3 * len(bounds))})
    remedy = Remedy.of(
        "More restarts would probably find another optimum: fit with ",
        more,
        ", and compare predictions.",
    )
    threshold = f"note: above {limits.note:g}, or the best was found once"
    return [
        decided("Restarts agree", "computation", grade, share, "share of optima not yet found",
                threshold=threshold, remedy=remedy, section="computation")
    ]  # fmt: skip


def _rivals(fit: AbstractFit) -> list[Check]:
    """Whether restarts with nearly the best bound predict as the one that is kept does."""
    if PREDICTION_DISTANCE not in fit.restarts:
        return []
    distance = fit.restarts[PREDICTION_DISTANCE].to_numpy(dtype=float)
    largest = float(np.nanmax(distance, initial=0.0))
    limits = GRADES["Restart predictions"]
    remedy = Remedy.of(
        "Restarts with nearly the same ELBO predict differently: combine them, ",
        Edit(arguments={"combine": "stack"}), ", or use fewer components.",
    )  # fmt: skip
    return [
        decided("Restart predictions", "computation", limits.grade(largest), largest,
                f"nats per row between restarts within {LIMITS.rival:g} nats",
                threshold=limits.description, remedy=remedy,
                section="computation")
    ]  # fmt: skip


def _exact(fit: AbstractFit, model: HasExactPosterior) -> Check:
    frame = model.exact(fit)
    width = (frame["upper"] - frame["lower"]).unstack("posterior")
    narrowest = float((width["factorised"] / width["exact"]).min())
    limits = GRADES["Close to the posterior"]
    return decided("Close to the posterior", "computation", limits.grade(narrowest), narrowest,
                   "share of the exact width", threshold=limits.description,
                   remedy="Use the exact posterior, which is available for this model: its "
                   "intervals are wider.",
                   section="exact")  # fmt: skip


def _importance(fit: AbstractFit) -> list[Check]:
    """k-hat with its Monte Carlo error, for information: it says nothing of coverage."""
    k, n_draws = khat_within(fit, LIMITS.little_work)
    if k is None or math.isnan(k):
        return []
    grade: Grade = "note" if k > LIMITS.usable_khat else "ok"
    measure = f"Pareto k, Monte Carlo error {khat_error(k, n_draws):.2g}"
    remedy = (
        "The draws cannot be importance-weighted to the exact posterior. Predictions and "
        "linear-response intervals do not depend on it: no action needed."
    )
    return [
        decided("Pareto k-hat", "computation", grade, k, measure,
                threshold=f"note: above {LIMITS.usable_khat:g}; never a problem", remedy=remedy,
                section="computation", weighs=False)
    ]  # fmt: skip


def khat_error(k: float, n_draws: int) -> float:
    """Monte Carlo error of k-hat: the standard error of the shape of a generalised Pareto.

    It is the maximum-likelihood error, (1 + k) over the root of the number of draws in the tail.

    Examples
    --------
    >>> round(khat_error(0.5, 1000), 2)
    0.15
    """
    tail = math.ceil(min(n_draws / 5, 3 * math.sqrt(n_draws)))
    return (1.0 + max(k, 0.0)) / math.sqrt(tail)


def still_changing(fit: AbstractFit) -> float | None:
    """Change of the predictions in further passes, in posterior standard deviations.

    Root mean square, over rows (a choice of many), of the change of the log predictive density, by
    its posterior standard deviation; combined restarts keep their weights. None
    where it would take long, the engine takes no passes towards a maximum, or not all rows are at
    hand.
    """
    unfinished = [part for part in fit.parts if not part.fit.converged]
    work = fit.model.source.n_rows * fit.core.n_components * PROBE.max_iter * len(unfinished)
    known = fit.engine.maximises_bound and fit.model.all_rows is None
    if not known or not unfinished or work > LIMITS.work:
        return None
    chosen = unit_sample(fit, LIMITS.quick_subsample)
    source = fit.model.source if chosen.whole else source_at(fit, chosen.at)
    before = _log_density(fit.parts, source, [part.fit.stats for part in fit.parts])
    after = _log_density(fit.parts, source, [_after(part.fit) for part in fit.parts])
    if before is None or after is None:
        return None
    draws = thinned(fit.draws, min(LIMITS.draws, len(fit.log_q)))
    blocks = list(log_lik_blocks(fit.core, source, draws, 0.0))
    variance = float(np.concatenate(blocks, axis=-1).var(axis=0).mean())
    change = float(np.mean((after - before) ** 2))
    return float(np.sqrt(change / variance)) if variance > 0.0 else None


def _after(fit: AbstractFit) -> object:
    """Statistics of one restart after further passes, if it ran out of them."""
    if fit.converged:
        return fit.stats
    streams = Streams(fit.seed).branch("restart", 0)
    run = fit.engine.run(fit.core, fit.model.source, fit.stats, PROBE, streams)
    return run.whole().stats


def _log_density(
    parts: Sequence[Member], source: AbstractSource, each: Sequence[object]
) -> Float[np.ndarray, " _"] | None:
    """Log predictive density of the rows by all restarts together; None if it has no closed form.

    Of groups whose rows share a component there is one for each group.
    """
    log_density = []
    for part, stats in zip(parts, each, strict=True):
        model = part.fit.core
        predict = partial(model.log_predictive, model.update(stats))
        if predict(source.empty()) is None:
            return None
        density = cast("Callable[[Block], np.ndarray]", predict)
        log_density.append(np.log(part.weight) + np.asarray(source.map_rows(density)))
    return np.asarray(logsumexp(np.stack(log_density), axis=0))
