"""Weights of several posteriors of the same data."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import cast

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.argument_checks import check_choice
from bayesvb.data.sources import AbstractSource
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import Elpd
from bayesvb.evaluation.psis import psis
from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.models.ensemble import Ensemble, joined
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import AbstractFit, Member
from bayesvb.results.exact_draws import automatic_draws, check_exact
from bayesvb.results.importance import of_one_restart, with_default_covariance
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import PosteriorDraws, count, log_lik_blocks
from bayesvb.results.robust import cluster_numbers, moved, robust_covariance
from bayesvb.sensitivity.covariance import LinearResponse, withheld
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

COVARIANCES = ("auto", "linear-response", "mean-field", "importance", "exact", "robust")
"""Possible sources of the draws of a fit."""

ENGINE_COVARIANCES = ("engine", "importance")
"""Possible sources of the draws of a fit whose engine returned draws."""

INDEPENDENT_TABLES = 14.0
"""Independent completed tables with the information of the 20 that are kept."""


def with_covariance(fit: AbstractFit, covariance: str, *, cluster: object = None) -> AbstractFit:
    """Fit with other draws; see ``Fit.with_covariance``."""
    allowed = ENGINE_COVARIANCES if fit.is_sampled else COVARIANCES
    check_choice("covariance", covariance, allowed)
    if cluster is not None and covariance != "robust":
        raise DataError(
            f"cluster= is for covariance='robust', not for covariance={covariance!r}",
            hint="omit cluster, or choose covariance='robust'",
        )
    if covariance == "auto":
        return _with_automatic(fit)
    if covariance != "exact":  # no need to sample what is replaced
        fit = fit.plain
    if covariance == fit.covariance != "robust":
        return fit
    if covariance == "exact":
        check_exact(fit.model, fit.engine, combined=bool(fit.members))
    clusters = cluster_numbers(fit, cluster)

    def one(member: AbstractFit) -> AbstractFit:
        if covariance == "robust":
            return moved(member, robust_covariance(member, clusters))
        return of_one_restart(replace(member, robust=None), covariance)

    if not fit.members:
        return one(fit)
    return stacked([replace(member, fit=one(member.fit)) for member in fit.members])


def _with_automatic(fit: AbstractFit) -> AbstractFit:
    """The fit with the draws that it has by default."""
    if fit.members:
        members = [replace(one, fit=with_default_covariance(one.fit)) for one in fit.members]
        return stacked(members)
    if fit.automatic:
        return fit
    made = with_default_covariance(replace(fit, robust=None))
    return replace(made, make_draws=automatic_draws)


def stacked(members: Sequence[Member]) -> AbstractFit:
    """The fit that several restarts make together, the heaviest first.

    Each has a share of the draws that goes by its weight.
    """
    labels = {member.fit.covariance for member in members}
    label = labels.pop() if len(labels) == 1 else "mean-field"
    fits = [of_one_restart(member.fit, label) for member in members]
    first = fits[0]
    weights = np.array([member.weight for member in members])
    counts = whole_shares(weights, count(first.draws))
    streams = Streams(first.seed)
    own_draws = draws_between_tables(fits) if first.model.completed else [one.draws for one in fits]
    draws, order = joined(own_draws, counts, streams.rng("stacking"))
    variational_draws, _ = joined(
        [one.variational_draws for one in fits], counts, streams.rng("stacking")
    )
    log_q = np.concatenate([one.log_q[:n] for one, n in zip(fits, counts, strict=True)])
    own = [
        one.engine_log_q[:n]
        for one, n in zip(fits, counts, strict=True)
        if one.engine_log_q is not None
    ]
    return replace(
        first,
        core=cast(AnyModel, Ensemble(tuple(one.core for one in fits), weights)),
        stats=tuple(one.stats for one in fits),
        given_draws=PosteriorDraws(draws, log_q[order], label),
        make_draws=None,
        variational_draws=variational_draws,
        response=_responses(fits),
        converged=all(one.converged for one in fits),
        members=tuple(members),
        engine_log_q=np.concatenate(own)[order] if own else None,
        n_chains=1,
        sample_stats={},
    )


def draws_between_tables(fits: Sequence[AbstractFit]) -> list[Draws]:
    r"""Draws of the fits to completed tables, with the variance between tables of Rubin's rules.

    The posterior is a mixture over all completed tables. Of ``m`` independent ones, centres have
    the variance ``(1 - 1/m) B`` on average instead of ``B``, and their mean an error of variance
    ``B / m`` (Rubin 1987, equation 3.1.6). Deviations of the centres from their mean are
    multiplied by the root of ``(1 + 1/m) / (1 - 1/m)``, in coordinates without bounds.

    Parameters
    ----------
    fits : sequence of AbstractFit
        Of an iteration every few of a Gibbs sampler, which are worth ``INDEPENDENT_TABLES``.
    """
    given = [one.draws for one in fits]
    core = fits[0].core.with_complete_draws()
    coordinates = core.coordinates(fits[0].q) if core is fits[0].core else None
    if coordinates is None:  # eliminated groups: draws do not hold all coordinates
        return given
    standard = [coordinates.standard(draws) for draws in given]
    centres = np.stack([one.mean(axis=0) for one in standard])
    m = min(INDEPENDENT_TABLES, len(fits))
    further = np.sqrt((m + 1.0) / max(m - 1.0, 1.0)) - 1.0
    shifts = further * (centres - centres.mean(axis=0))
    return [
        {**draws, **coordinates.parameters(one + shift)}
        for draws, one, shift in zip(given, standard, shifts, strict=True)
    ]


def _responses(fits: Sequence[AbstractFit]) -> LinearResponse:
    """Linear response shared by all members: none if one has none."""
    passes = sum(one.response.n_iter for one in fits)
    failures = [one.response.failure for one in fits if one.response.failure is not None]
    if failures:
        return withheld(failures[0], passes)
    return LinearResponse(np.empty((0, 0)), passes)


def combined(weights: Float[np.ndarray, " members"], each: Sequence[Elpd]) -> Elpd:
    """Criterion of the mixture of the members' predictive distributions.

    The density of a row is the mixture of its densities; its Pareto k the largest; ``p`` the
    average by weight. That the weights were chosen on the same rows is not corrected for.
    """
    pointwise = logsumexp(
        np.log(weights)[:, None] + np.stack([one.pointwise for one in each]), axis=0
    )
    ks = [one.pareto_k for one in each if one.pareto_k is not None]
    return replace(
        each[0],
        pointwise=pointwise,
        p=float(weights @ [one.p for one in each]),
        warning=any(one.warning for one in each),
        pareto_k=np.fmax.reduce(ks) if ks else None,
        n_refitted=sum(one.n_refitted for one in each),
    )


def held_out(core: AnyModel, source: AbstractSource, draws: Draws) -> RowVector:
    """Leave-one-out log density of every row, by Pareto-smoothed importance sampling."""
    parts = []
    for block in log_lik_blocks(core, source, draws, 0.0):
        log_weights, _ = psis(-block)
        parts.append(logsumexp(log_weights + block, axis=0))
    return np.concatenate(parts)


def distinct(bounds: Sequence[float], log_density: Float[np.ndarray, "members rows"]) -> list[int]:
    """Numbers of the members that are optima of their own, the best bound of each."""
    chosen: list[int] = []
    for number in np.argsort(-np.asarray(bounds), kind="stable").tolist():
        if not any(
            abs(bounds[other] - bounds[number]) < SAME
            and np.abs(log_density[other] - log_density[number]).mean() < LIMITS.same_density
            for other in chosen
        ):
            chosen.append(number)
    return sorted(chosen)


def kept(weights: Float[np.ndarray, " members"]) -> Float[np.ndarray, " members"]:
    """Weights without those too small to matter."""
    large = np.where(weights < min(LIMITS.negligible_weight, weights.max()), 0.0, weights)
    return np.asarray(large / large.sum())


def whole_shares(weights: Float[np.ndarray, " members"], total: int) -> list[int]:
    """Numbers of draws by weight, with this sum: largest remainders, at least one each."""
    exact = weights * total
    counts = np.maximum(np.floor(exact), 1.0)
    while counts.sum() < total:
        counts[np.argmax(exact - counts)] += 1.0
    while counts.sum() > total:
        counts[np.argmax(counts)] -= 1.0
    return [int(n) for n in counts]
