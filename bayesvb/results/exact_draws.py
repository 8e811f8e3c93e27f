"""Draws of the exact posterior: importance sampling, else parallel tempering, else HMC."""

from __future__ import annotations

import math
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, Protocol, cast, runtime_checkable

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.engines.adaptive_importance import resample
from bayesvb.engines.base import AbstractEngine
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.errors import DataError, warn
from bayesvb.evaluation.mixing import mixing
from bayesvb.evaluation.psis import psis
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import has_all_rows
from bayesvb.results.base import AbstractFit, AbstractPublicModel, replace_draws
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import PosteriorDraws, count, log_joint
from bayesvb.results.reduced_draws import (
    importance_sample,
    resample_posterior,
    sampled_draws,
    space_of,
    streams_of,
    truncate,
)
from bayesvb.variational.local import Draws
from bayesvb.variational.reduced_space import AbstractReducedSpace

if TYPE_CHECKING:
    from bayesvb.distributions.student_mixture import StudentMixture
    from bayesvb.engines.tempering import ChainDraws
    from bayesvb.models.half_t_scales import HalfTScales

STEPS = 300
"""Draws of each chain."""

CONSTANT, FEW_DRAWS = 1e-6, 25
"""Range of log ratios below which they differ by rounding only, and draws that show it."""


def check_exact(
    model: AbstractPublicModel, engine: AbstractEngine, *, combined: bool = False
) -> None:
    """Raise unless the exact posterior of a model can be sampled.

    Raises
    ------
    DataError
        With the reason.
    """
    if isinstance(model.core, IntegratesScales):
        return
    reason = _reason_against(model, engine)
    if combined and model.design.imputed:
        reason = "posteriors of several completed tables are pooled"
    elif combined:
        reason = "restarts are combined, each of them an approximation of the one exact posterior"
    if reason is not None:
        raise DataError(
            f"covariance='exact' is not available: {reason}",
            hint="covariance='linear-response' is the default where available",
        )


def _reason_against(model: AbstractPublicModel, engine: AbstractEngine) -> str | None:
    """Why the exact posterior of a model is not sampled; None if it is."""
    if not engine.maximises_bound or engine.finds_points:
        return f"the fit was made by {engine.title}, which has no linear response to start from"
    if model.weight_type == "sampling":
        return "sampling weights are not counts; covariance='robust' accounts for them"
    if not has_all_rows(model):
        return "it needs all rows in memory"
    if model.source.n_rows > LIMITS.all_rows:
        return (
            f"{model.source.n_rows:,} rows are more than {LIMITS.all_rows:,}, and from 200 rows on "
            "linear response is about as wide"
        )
    blocks = [block for part in model.design.term_blocks.values() for block in part]
    levels = sum(len(block.columns) * block.size for block in blocks if block.kind == "group")
    if levels > LIMITS.sampled_parameters:
        return f"{levels:,} group-level coefficients are more than {LIMITS.sampled_parameters}"
    core = model.core
    if not core.draws_complete or core.reduced_space(model.source.take(np.arange(1))) is None:
        return (
            "only mixtures of Gaussian linear components with coefficient priors in units of the "
            "noise, and of binary, count, gamma and Weibull regressions, can be sampled"
        )
    return None


def with_exact_draws(fit: AbstractFit) -> AbstractFit:
    """The fit of one restart with draws of the exact posterior; the same ones each time.

    Parameters
    ----------
    fit : AbstractFit
        With the draws from which samplers start.

    Raises
    ------
    DataError
        If the model has no reduced space, or restarts are combined.
    """
    check_exact(fit.model, fit.engine)
    space = space_of(fit)
    assert space is not None
    log_ratio = partial(log_importance_ratio, fit)
    try:
        if space.size <= LIMITS.sampled_parameters:
            weighted = importance_sample(fit, space, log_ratio)
            if weighted.is_exact:
                return replace_draws(fit, resample_posterior(fit, weighted, "exact"))
            starts = _starts(fit, weighted.sample.vectors, weighted.sample.log_ratio)
        else:
            starts = _starts(fit, space.vectors(fit.draws), log_ratio())
        return replace_draws(fit, _sample_chains(fit, space, starts))
    except KeyboardInterrupt:
        warn(
            "the sampler of the exact posterior was interrupted: intervals come from "
            f"covariance={fit.covariance!r}"
        )
        return fit


def automatic_draws(fit: AbstractFit) -> PosteriorDraws:
    """Draws of the exact posterior where rows are few and importance sampling reaches it.

    Otherwise the draws that the fit has, and the record of the sampler if it was tried.
    """
    given = fit.posterior_draws
    space = _affordable_space(fit) if given.sampler is None else None
    if space is None or np.ptp(log_importance_ratio(fit, FEW_DRAWS)) < CONSTANT:
        return given  # among others if the approximation is the exact posterior
    try:
        sample = importance_sample(fit, space, partial(log_importance_ratio, fit))
    except KeyboardInterrupt:
        warn(
            "the sampler of the exact posterior was interrupted: intervals come from "
            f"covariance={given.covariance!r}"
        )
        return given
    if sample.is_exact:
        return resample_posterior(fit, sample, "exact")
    return replace(given, sampler=sample.record)


def _affordable_space(fit: AbstractFit) -> AbstractReducedSpace | None:
    """Reduced space of a fit to few rows in which importance weights can be expected to work."""
    if fit.covariance != fit.own_covariance or fit.response.failure is not None:
        return None
    if fit.model.source.n_rows > LIMITS.all_rows or _reason_against(fit.model, fit.engine):
        return None
    space = space_of(fit)
    if space is None or space.size > LIMITS.sampled_parameters or not has_few_rows(fit, space):
        return None
    return space


def log_importance_ratio(fit: AbstractFit, n_draws: int | None = None) -> DrawVector:
    """Log of the exact over the approximate posterior at the (first) draws, up to a constant."""
    draws = {name: values[:n_draws] for name, values in fit.draws.items()}
    joint = log_joint(fit.core, fit.model.source, draws, fit.model.log_jacobian)
    return np.asarray(joint - fit.log_q[:n_draws])


def _starts(
    fit: AbstractFit, vectors: DrawParameters, log_ratio: DrawVector
) -> Float[np.ndarray, "starts numbers"]:
    """Vectors from which chains start: resampled by truncated weights."""
    weights = truncate(log_ratio, vectors.shape[1])
    return np.asarray(vectors[resample(weights, len(vectors), streams_of(fit).rng("starts"))])


def _sample_chains(
    fit: AbstractFit, space: AbstractReducedSpace, starts: Float[np.ndarray, "starts numbers"]
) -> PosteriorDraws:
    """Draws by parallel tempering, or by HMC where there are many numbers."""
    from bayesvb.engines.tempering import POWERS, Ladders

    tempered, streams = space.size <= LIMITS.sampled_parameters, streams_of(fit)
    rng = streams.rng("chains")
    chains = Ladders(space, POWERS if tempered else (1.0,)).sample(starts, STEPS, rng)
    draws, weights = _complete(space, chains, streams.rng("completion"))
    mixed = mixing(_quantities(fit, chains, draws))
    record = SamplerRecord(
        "parallel tempering" if tempered else "HMC",
        chains.log_density.size,
        float(np.nanmin(mixed["ess_bulk"])),
        r_hat=float(np.nanmax(mixed["r_hat"])),
        n_chains=len(chains.log_density),
        interrupted=chains.interrupted,
    )
    if not is_converged(record):
        warn(
            f"draws of the exact posterior are inaccurate ({record.words}), because the posterior "
            "has several modes"
        )
    chosen = _choose(weights, count(fit.draws), streams.rng("resampling"))
    some = {name: values[chosen] for name, values in draws.items()}
    block = fit.model.source.thinned(LIMITS.quick_subsample)
    labelled, _ = fit.core.relabelled_draws(some, fit.q, block)
    return sampled_draws(fit, labelled, record, "exact")


def has_automatic_draws(fit: AbstractFit) -> bool:
    """Whether exact draws were tried when no covariance was requested."""
    return _affordable_space(fit) is not None


def has_few_rows(fit: AbstractFit, space: AbstractReducedSpace) -> bool:
    """Whether a fit has so few rows that exact intervals may differ from linear response."""
    return fit.model.source.n_rows < space.few_rows


def regimes(fit: AbstractFit) -> SamplerRecord | None:
    """Sampler of the exact posterior of a fit to few rows; None where there is none.

    Sampler of its draws, or else of importance sampling, with reliable weights or without.
    """
    if fit.sampler is not None:
        return fit.sampler
    space = None if fit.members or fit.is_sampled else _affordable_space(fit)
    if space is None:
        return None
    return importance_sample(fit, space, partial(log_importance_ratio, fit)).record


def is_exact(record: SamplerRecord) -> bool:
    """Whether draws of a sampler can be called exact."""
    if math.isnan(record.r_hat):
        return record.khat < LIMITS.exact_khat and record.effective >= LIMITS.exact_draws
    return is_converged(record)


def is_converged(record: SamplerRecord) -> bool:
    """Whether chains agree well enough for intervals to be called exact."""
    return record.r_hat <= LIMITS.exact_r_hat and record.effective >= LIMITS.exact_draws


def _complete(
    space: AbstractReducedSpace, chains: ChainDraws, rng: np.random.Generator
) -> tuple[Draws, Float[np.ndarray, "chains of_each"]]:
    """Draws of all parameters, and weights that make up for an inexact integration.

    Weights belong to each chain: nearly even, as only the prior is integrated inexactly.
    """
    draws, joint = space.weigh(chains.vectors.reshape(-1, space.size), rng)
    log_ratio = joint.reshape(chains.log_density.shape) - chains.log_density
    if np.ptp(log_ratio) < CONSTANT:
        return draws, np.ones_like(log_ratio)
    return draws, np.exp(psis(log_ratio.reshape(-1, 1))[0].reshape(log_ratio.shape))


def _quantities(
    fit: AbstractFit, chains: ChainDraws, draws: Draws
) -> Float[np.ndarray, "chains of_each quantities"]:
    """Log posterior density, and log densities of a few rows: they do not depend on labels."""
    source = fit.model.source
    at = np.unique(np.linspace(0, source.n_rows - 1, LIMITS.example_rows).astype(np.intp))
    of_rows = fit.core.log_lik(draws, source.take(at))
    shape = chains.log_density.shape
    return np.concatenate(
        [chains.log_density[:, :, None], of_rows.reshape(*shape, len(at))], axis=2
    )


def _choose(
    weights: Float[np.ndarray, "chains draws"], n: int, rng: np.random.Generator
) -> np.ndarray:
    """Indices of draws, as many of each chain as ``n`` allows, in the order of the chains."""
    n_chains, n_each = weights.shape
    each = max(n // n_chains, 1)
    return np.concatenate(
        [np.sort(resample(weight, each, rng)) + k * n_each for k, weight in enumerate(weights)]
    )


@runtime_checkable
class IntegratesScales(Protocol):
    """A model of the standardised scale whose posterior is integrated over its prior scales."""

    integrated: HalfTScales | None

    def integrating(self, stats: SufficientStats) -> Any:
        """The model with its exact posterior given sums over rows; None where it has none."""

    def exact_draws(self, n: int, rng: np.random.Generator) -> tuple[Draws, DrawVector]:
        """Draws of all parameters by name, and their log density."""

    def effect_variance(self, draws: object, block: Block, typical: Block) -> object:
        """Prior variance of the difference of the lines of two blocks of rows, given each draw."""

    def exact_predictive(self, block: Block) -> AbstractComponentMixture:
        """Predictive distribution of the response of each row."""

    def effect_law(self, weights: Float[np.ndarray, " effects"]) -> StudentMixture:
        """Distribution of a combination of the effects of each group without columns."""


def is_integrated(fit: AbstractFit) -> bool:
    """Whether the draws of a fit come from the integrated posterior."""
    core = fit.core
    return isinstance(core, IntegratesScales) and core.integrated is not None


def likelihood_draws(fit: AbstractFit) -> Draws:
    """Draws over which likelihoods of rows are averaged: of q, or of the integrated posterior.

    Where scales are integrated, the core takes effects of groups from draws with prior scales.
    """
    return fit.draws if is_integrated(fit) else fit.variational_draws


def integrated_core(fit: AbstractFit) -> IntegratesScales:
    """Model of a fit whose draws come from the integrated posterior."""
    return cast(IntegratesScales, fit.core)


def log_evidence(fit: AbstractFit) -> float | None:
    """Log evidence of the data in their units by the integrated posterior; None without one."""
    core = fit.core
    if not isinstance(core, IntegratesScales) or core.integrated is None:
        return None
    units = fit.model.source.total_weight * fit.model.log_jacobian
    return float(core.integrated.log_evidence - units)


def with_integrated_scales(fit: AbstractFit) -> AbstractFit | None:
    """The fit of one restart with exact draws, the same ones each time; None where it has none."""
    if (
        fit.is_sampled
        or not isinstance(fit.core, IntegratesScales)
        or not fit.engine.maximises_bound
    ):
        return None
    core = fit.core.integrating(fit.stats)
    if core is None:
        return None
    rng = Streams(fit.seed).branch("integrated scales").rng("draws")
    draws, log_q = core.exact_draws(count(fit.variational_draws), rng)
    return replace_draws(replace(fit, core=core), PosteriorDraws(draws, log_q, "exact"))
