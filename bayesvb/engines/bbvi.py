"""Black-box variational inference: a Gaussian on unconstrained parameters, by stochastic steps."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, fields, replace

import numpy as np
from scipy.special import softmax

from bayesvb.argument_checks import check_choice, check_count, check_positive
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import (
    AbstractEngine,
    Budget,
    EngineResult,
    RunProgress,
    StatsT,
    is_ended_by,
    one_pass,
)
from bayesvb.engines.compiled import potential_of
from bayesvb.engines.differentiated import (
    Target,
    check_differentiable,
    double_precision,
    jax_key,
)
from bayesvb.engines.gaussian_guide import GaussianGuide, GuideFit
from bayesvb.numerics.array_library import AnyArray
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel, ModelOf

GUIDES = ("full-rank", "mean-field")

PRESETS: Mapping[str, GuideFit] = {
    "usual": GuideFit(True, steps=5000, particles=8, learning_rate=0.02, decaying=True),
    "network-paper": GuideFit(
        False, steps=20_000, particles=8, learning_rate=0.005, decaying=False
    ),
}
"""Values of all options by name; the second ones follow Heins et al. (2024), section 5."""

START_DRAWS, BOUND_DRAWS, LABEL_DRAWS = 1000, 1000, 100
"""Draws of which the first Gaussian, the last bound and the last memberships are made."""


@dataclass(frozen=True)
class Bbvi(AbstractEngine):
    """A Gaussian on unconstrained parameters, fitted to the log joint by stochastic gradients.

    Classes are summed out and latent vectors integrated, so that the Gaussian has the global
    parameters alone: jointly (``"full-rank"``), or independently (``"mean-field"``). Restarts are
    ranked by the ELBO of their first posteriors, and the Gaussian starts from the best of these.
    The reported ELBO is the Gaussian's, whose draws the fit has; labels are the initial ones.

    Attributes
    ----------
    preset : {"usual", "network-paper"}
        Values of options that are not given.
    guide : {"full-rank", "mean-field"}, optional
    steps : int, optional
    particles : int, optional
        Vectors of which each step makes its gradient, by all rows.
    learning_rate : float, optional
        Size of steps at the start; steps of ``"usual"`` shrink, steps of the paper do not.

    References
    ----------
    Ranganath, Gerrish, Blei (2014), Black box variational inference, AISTATS. Kucukelbir et al.
    (2017), Automatic differentiation variational inference, JMLR 18(14). Heins et al. (2024),
    arXiv:2408.16429, for the preset.
    """

    title = "BBVI"
    posterior = "Gaussian variational posterior"

    preset: str = "usual"
    guide: str | None = None
    steps: int | None = None
    particles: int | None = None
    learning_rate: float | None = None

    def __post_init__(self) -> None:
        check_choice("preset", self.preset, tuple(PRESETS))
        if self.guide is not None:
            check_choice("guide", self.guide, GUIDES)
        for name in ("steps", "particles"):
            if getattr(self, name) is not None:
                check_count(name, getattr(self, name))
        if self.learning_rate is not None:
            check_positive("learning_rate", self.learning_rate)

    @property
    def settings(self) -> GuideFit:
        """The options, with the preset's values where none is given."""
        options = {one.name: getattr(self, one.name, None) for one in fields(GuideFit)}
        options["full"] = None if self.guide is None else self.guide == "full-rank"
        given = {name: value for name, value in options.items() if value is not None}
        return replace(PRESETS[self.preset], **given)

    def check(self, core: AnyModel) -> None:
        """Raise unless NumPyro is installed and the model can be differentiated."""
        check_differentiable(core, "bbvi")

    def model_for(self, core: AnyModel) -> AnyModel:
        """The model whose draws hold the effects of groups."""
        return core.with_complete_draws()

    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """The start, and its bound."""
        here = one_pass(model, source, start)
        ended = is_ended_by(budget.progress, 1, here.bound)
        return EngineResult(start, np.array([here.bound]), 1, not ended, ended)

    def completed(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        result: EngineResult[StatsT],
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """The Gaussian's draws, and statistics in which rows belong as they do there.

        After Ctrl-C the Gaussian's current draws, if its ELBO is above the initial one.
        """
        settings, target = self.settings, Target.of(model, source)
        posterior = model.update(result.stats)
        drawn = model.draws(posterior, START_DRAWS, streams.rng("start"))
        guide = GaussianGuide.of_draws(target.space.vectors(drawn), full=settings.full)
        before = _bound(target, guide, streams)
        reached = _Reached(0, guide)
        with double_precision():
            potential, arrays = potential_of(target)
            stages = settings.stages(potential, guide, jax_key(streams, "steps"), arrays)
            interrupted = reached.follow(stages, budget.progress)
        guide = reached.guide
        trace = [*reached.bounds, _bound(target, guide, streams)]
        if interrupted and trace[-1] <= before:
            raise KeyboardInterrupt  # where it set out from is better
        failure = "" if interrupted else _fall(before, trace[-1], settings.learning_rate)
        vectors, log_density = guide.draws(budget.n_draws, streams.rng("draws"))
        draws, log_volume = target.space.draws(vectors)
        found = {name: np.array(values) for name, values in draws.items()}
        return replace(
            result,
            stats=_stats(model, source, found),
            trace=np.array(trace),
            n_iter=reached.steps,
            converged=not (failure or interrupted),
            interrupted=interrupted,
            draws=found,
            log_q=log_density - log_volume,
            findings={"elbo_decrease": before - trace[-1]} if failure else {},
            failure=failure,
        )


@dataclass
class _Reached:
    """State of the steps: their number, the Gaussian, and estimates of its ELBO."""

    steps: int
    guide: GaussianGuide
    bounds: list[float] = field(default_factory=list)

    def follow(
        self, stages: Iterator[tuple[int, float, GaussianGuide]], progress: RunProgress | None
    ) -> bool:
        """Whether Ctrl-C ended the steps."""
        try:
            for steps, bound, guide in stages:
                self.steps, self.guide = steps, guide
                self.bounds.append(bound)
                if progress is not None:
                    progress(steps, bound)
        except KeyboardInterrupt:
            return True
        return False


def _bound(target: Target, guide: GaussianGuide, streams: EngineStreams) -> float:
    """Lower bound of the Gaussian, by draws that are the same for all Gaussians."""
    vectors, log_density = guide.draws(BOUND_DRAWS, streams.rng("bound"))
    return float((target.log_densities(vectors) - log_density).mean())


def _fall(before: float, after: float, learning_rate: float) -> str:
    """Warning that the steps diverged from their start, with the remedy; empty if they did not."""
    # Nats by which the final ELBO may be below the initial one: the last steps are random.
    if after > before - 1.0:
        return ""
    return (
        f"method='bbvi': the bound fell from {before:.1f} to {after:.1f} nats; choose a smaller "
        f"learning_rate (now {learning_rate:g}), more particles, or guide='mean-field'"
    )


def _stats(model: ModelOf[StatsT], source: AbstractSource, draws: Draws) -> StatsT:
    """Statistics after several iterations from the rows' average memberships under draws."""
    few = {name: values[:LABEL_DRAWS] for name, values in draws.items()}

    def sums(block: AnyArray) -> AnyArray:
        shares = softmax(model.component_log_lik(few, block), axis=1).mean(axis=0)
        return model.partition_stats(block, shares)

    stats = model.first_stats(source.map_reduce(sums))
    # Sweeps in which a gate and experts come to agree with memberships, before labels are read off.
    for _ in range(20):
        stats = one_pass(model, source, stats).following
    return stats
