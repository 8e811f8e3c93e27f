"""Request for a fit: engine, budget, and combination of the restarts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.base import AbstractEngine, Budget, ProgressCallback
from bayesvb.variational.model import AnyModel

ENOUGH = 1e-4
"""Nats per row that the ELBO may still lack where the predictive distributions of several networks
are mixed, as measured; other models have not been measured."""

COMBINATIONS = ("best", "stack", "average")
"""Combinations of the restarts."""


@dataclass(frozen=True, kw_only=True)
class FitRequest:
    """Request for a fit.

    Attributes
    ----------
    combine : {"best", "stack", "average"}
    n_draws : int
    covariance : {"linear-response", "mean-field", "exact", "auto"}
    budget : Budget
    seed : int
    began : float
        When the work began, by ``time.perf_counter``.
    progress : callable, optional
        Called as ``search`` does.
    method : str
        Key of the engine in ``ENGINES``.
    options : Mapping of str to value
        Options of the engine.
    start : SufficientStats, optional
        Statistics of a fit from which the first run continues.
    start_code : str
        Its code; empty if it is of other rows.
    """

    combine: str
    n_draws: int
    covariance: str
    budget: Budget
    seed: int
    began: float
    progress: ProgressCallback | None = None
    method: str = DEFAULT_METHOD
    options: Mapping[str, object] = field(default_factory=dict)
    start: SufficientStats | None = None
    start_code: str = ""

    @property
    def engine(self) -> AbstractEngine:
        """Engine that runs."""
        return ENGINES[self.method].with_options(**self.options)

    @property
    def rough(self) -> bool:
        """Whether it is not the best restart alone that counts, and needs to converge."""
        return self.combine != "best"

    def of(self, core: AnyModel) -> FitRequest:
        """The request with the tolerance of this model, if several restarts are combined.

        It is then ``tol`` nats per row, at most ``ENOUGH``: combined restarts mix densities.
        """
        if not self.rough:
            return self
        per_row = min(self.budget.tol, ENOUGH if core.follows_rows else 0.0)
        return replace(self, budget=replace(self.budget, per_row=per_row))
