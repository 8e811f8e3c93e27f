"""Draws of the exact posterior of models whose prior scales can be integrated out numerically."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import AbstractFit, replace_draws
from bayesvb.results.named_draws import count
from bayesvb.results.posterior_draws import PosteriorDraws

__all__ = ["IntegratesScales", "is_integrated", "log_evidence", "with_integrated_scales"]


@runtime_checkable
class IntegratesScales(Protocol):
    """A model of the standardised scale whose posterior is integrated over its prior scales."""

    integrated: Any

    def integrating(self, stats: Any) -> Any:
        """The model with its exact posterior given sums over rows; None where it has none."""

    def exact_draws(self, n: int, rng: np.random.Generator) -> Any:
        """Draws of all parameters by name, and their log density."""

    def effect_variance(self, draws: Any, design: Any) -> Any:
        """Prior variance of what columns add to the response, given each draw."""

    def exact_predictive(self, block: Block) -> Any:
        """Predictive distribution of the response of each row."""


def is_integrated(fit: AbstractFit) -> bool:
    """Whether the draws of a fit are those of the integrated posterior."""
    core = fit.core
    return isinstance(core, IntegratesScales) and core.integrated is not None


def log_evidence(fit: AbstractFit) -> float | None:
    """Log evidence of the data in their units by the integrated posterior; None without one."""
    if not is_integrated(fit):
        return None
    units = fit.model.source.total_weight * fit.model.log_jacobian
    return float(fit.core.integrated.log_evidence - units)


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
    draws, log_q = core.exact_draws(count(fit.q_draws), rng)
    return replace_draws(replace(fit, core=core), PosteriorDraws(draws, log_q, "exact"))
