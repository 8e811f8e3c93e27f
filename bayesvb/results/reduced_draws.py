"""Importance sampling of a fit in the reduced space of its model; see ``AbstractReducedSpace``."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.engines.adaptive_importance import (
    Proposal,
    StudentProposal,
    WeightedDraws,
    flatten,
    resample,
    sample_adaptively,
)
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.engines.tail_proposal import propose_along
from bayesvb.evaluation.psis import psis
from bayesvb.numerics.arrays import DrawParameters, DrawVector
from bayesvb.numerics.streams import EngineStreams, Streams
from bayesvb.results.all_rows import fitted_rows, has_all_rows
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import PosteriorDraws, count, log_joint
from bayesvb.variational.local import Draws
from bayesvb.variational.reduced_space import AbstractReducedSpace

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class ImportanceSample:
    """Draws of all parameters with Pareto-smoothed weights.

    Attributes
    ----------
    sample : WeightedDraws
    weights : ndarray, shape (draws,)
        Normalised.
    record : SamplerRecord
    """

    sample: WeightedDraws
    weights: DrawVector
    record: SamplerRecord

    @classmethod
    def from_sample(cls, sample: WeightedDraws) -> ImportanceSample:
        """Smooth the weights of a sample."""
        log_weights, k = psis(sample.log_ratio[:, None])
        weights = np.exp(log_weights[:, 0])
        effective = float(1.0 / (weights**2).sum())
        record = SamplerRecord("importance sampling", len(weights), effective, float(k[0]))
        return cls(sample, weights, record)

    @property
    def is_exact(self) -> bool:
        """Whether the weights can be trusted."""
        return self.record.khat < LIMITS.exact_khat and self.record.effective >= LIMITS.exact_draws


def is_enough(log_ratio: DrawVector) -> bool:
    """Whether further rounds of importance sampling are not needed."""
    log_weights, k = psis(log_ratio[:, None])
    # Effective draws, of which a fit keeps 1,000, at which the sampler stops before its last round.
    return bool(k[0] < LIMITS.exact_khat and 1.0 / np.exp(2.0 * log_weights).sum() >= 2000.0)


def space_of(fit: AbstractFit) -> AbstractReducedSpace | None:
    """Reduced space of a fit of one restart; None if the model has none, or not all rows count."""
    model = fit.model
    if fit.members or not has_all_rows(model):
        return None
    if not (fit.core.draws_complete and fit.engine.prior_counts):
        return None
    space: AbstractReducedSpace | None = fit.core.reduced_space(fitted_rows(model).whole())
    return space


def streams_of(fit: AbstractFit) -> EngineStreams:
    """Random streams of the samplers of the exact posterior."""
    return Streams(fit.seed).branch("exact")


def reduced_khat(fit: AbstractFit, space: AbstractReducedSpace, n_draws: int | None) -> float:
    """Pareto k of a multivariate t with the moments that the draws of the fit have in the space."""
    vectors = space.vectors(fit.draws)
    size = min(n_draws or len(vectors), len(vectors))
    proposal = StudentProposal.from_draws(vectors, np.ones(len(vectors)))
    rng = streams_of(fit).rng("khat")
    return float(psis(sample_adaptively(space, proposal, rng, 1, size).log_ratio[:, None])[1][0])


def importance_sample(
    fit: AbstractFit, space: AbstractReducedSpace, log_ratio: Callable[[], DrawVector]
) -> ImportanceSample:
    """Sample from the moments of the draws of a fit, and once more where that is not exact.

    The second time the draws are resampled first, by the ratio of the exact to the approximate
    posterior of all parameters, which is computed only then. That helps where the draws have heavy
    tails, below 200 rows.
    """
    vectors, streams = space.vectors(fit.draws), streams_of(fit)
    proposal = _propose(space, vectors, np.ones(len(vectors)))
    first = ImportanceSample.from_sample(
        sample_adaptively(space, proposal, streams.rng("importance"), is_enough=is_enough)
    )
    if first.is_exact:
        return first
    again = _propose(space, vectors, truncate(log_ratio(), space.size))
    second = ImportanceSample.from_sample(
        sample_adaptively(
            space, again, streams.branch("resampled").rng("importance"), is_enough=is_enough
        )
    )
    return second if second.record.khat < first.record.khat else first


def _propose(space: AbstractReducedSpace, vectors: DrawParameters, weights: DrawVector) -> Proposal:
    """A t with the moments of weighted draws, with others along a tail that they do not reach."""
    middle = StudentProposal.from_draws(vectors, weights)
    tail = space.long_tail(middle.mean)
    return middle if tail is None else propose_along(space, tail, middle)


def truncate(log_ratio: DrawVector, n_numbers: int) -> DrawVector:
    """Importance weights, tempered and cut off at the mean times the root of the number of draws.

    References
    ----------
    Ionides (2008), Truncated importance sampling, JCGS 17(2).
    """
    weights = flatten(log_ratio, n_numbers)
    return np.asarray(np.minimum(weights, weights.mean() * np.sqrt(len(weights))))


def resample_posterior(fit: AbstractFit, sample: ImportanceSample, label: str) -> PosteriorDraws:
    """Resample as many draws as the fit has, by their weights."""
    rng = streams_of(fit).rng("resampling")
    chosen = resample(sample.weights, count(fit.draws), rng)
    draws = {name: values[chosen] for name, values in sample.sample.draws.items()}
    return sampled_draws(fit, draws, sample.record, label)


def sampled_draws(
    fit: AbstractFit, draws: Draws, record: SamplerRecord, label: str
) -> PosteriorDraws:
    """Draws of the exact posterior with their log joint density."""
    joint = log_joint(fit.core, fit.model.source, draws, fit.model.log_jacobian)
    return PosteriorDraws(draws, joint, label, record)
