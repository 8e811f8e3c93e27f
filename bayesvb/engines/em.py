"""EM: coordinate ascent of a model whose posterior is a point."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import AbstractEngine, Budget, EngineResult, StatsT
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.point_estimates import PointEstimates
from bayesvb.engines.quasi_newton import maximum
from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.numerics.streams import EngineStreams
from bayesvb.variational.model import AnyModel, ModelOf


@dataclass(frozen=True)
class Em(AbstractEngine):
    """Point estimates by EM: posterior mode, or maximum likelihood; see ``PointEstimates``.

    Attributes
    ----------
    prior : bool
        Whether to maximise the posterior. The mode maximises the joint density of coefficients, log
        precisions and log odds of constant weights. Without the prior the likelihood of a mixture
        is unbounded: a component may shrink to a few rows. Such runs are ranked last, with a
        warning.

    References
    ----------
    Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm,
    JRSS B 39(1), 1-38. Varadhan, Roland (2008), doi:10.1111/j.1467-9469.2007.00585.x, for the
    acceleration. Day (1969), Estimating the components of a mixture of normal distributions,
    Biometrika 56(3), for the likelihood that has no bound.
    """

    title = "EM"
    posterior = "point estimates"
    maximises_bound = True
    resumes = True
    finds_points = True

    prior: bool = True

    def __post_init__(self) -> None:
        """Raise if it is neither true nor false."""
        if not isinstance(self.prior, bool):
            raise DataError(f"prior={self.prior!r} must be True (mode) or False (likelihood)")

    @property
    def found(self) -> str:
        """Name of the point estimate."""
        return f"{'posterior mode' if self.prior else 'maximum likelihood estimates'} (EM)"

    @property
    def objective(self) -> str:
        """The prior enters relative to its own largest value."""
        return "log posterior density" if self.prior else "log likelihood"

    @property
    def symbol(self) -> str:
        """Abbreviation of the point estimate."""
        return "log posterior" if self.prior else "log likelihood"

    @property
    def prior_counts(self) -> bool:
        """Whether it is a mode."""
        return self.prior

    def interval_words(self, covariance: str) -> str | None:
        """Wald intervals, by the observed information if it is available."""
        if covariance == "linear-response":
            return "Standard errors come from the observed information; intervals are normal."
        if covariance == "mean-field":
            return (
                "Standard errors use the complete-data information, as if the component of each "
                "row were known, and are too small"
            )
        return None

    def description(self, factors: str) -> str:
        """Description of the point, and of the algorithm."""
        what = (
            "The mode of the posterior density of coefficients, log precisions and log odds"
            if self.prior
            else "The maximum of the likelihood (of a network by L-BFGS)"
        )
        return (
            f"{what}, by the EM algorithm: components of rows are averaged over given the "
            "parameters, then parameters are set to the best ones given these, and so on. "
            f"The {self.objective} never falls."
        )

    def completed(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        result: EngineResult[StatsT],
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """The run with its number of parameters, and the number of components without a maximum.

        Warns
        -----
        ConvergenceWarning
            Where the likelihood has no maximum.
        """
        posterior = model.update(result.stats)
        coordinates = model.coordinates(posterior)
        findings = self._warned(model, source, posterior)
        if coordinates is not None:
            findings["parameters"] = float(len(coordinates.perturbations()))
        return replace(result, findings=findings)

    @staticmethod
    def _warned(model: AnyModel, source: AbstractSource, at: object) -> dict[str, float]:
        """Components on a few rows, and separated rows, with a warning of either."""
        # Rows, of many, on which it is looked whether the likelihood has a maximum.
        rows = source.thinned(20_000)
        if not isinstance(model, PointEstimates):
            return {}
        collapsed = np.flatnonzero(model.collapsed(at, rows))
        if len(collapsed):
            names = ", ".join(str(k + 1) for k in collapsed)
            plural = len(collapsed) > 1
            warn(
                f"{'components' if plural else 'component'} {names} shrank to a few rows in all "
                "restarts: the likelihood has no maximum there; fit with prior=True, fewer "
                "components, or more restarts",
                ConvergenceWarning,
            )
            return {"collapsed_components": float(len(collapsed))}
        if not model.separated(at, rows):
            return {}
        warn(
            "the covariates separate the classes of all rows: coefficients grow without end, and "
            "predictions are certain; fit with prior=True, or fewer experts"
            if model.predicts_classes
            else "the covariates of the weights separate the components completely: their "
            "coefficients grow without end, and have no standard errors; fit with prior=True, or "
            "fewer gating terms",
            ConvergenceWarning,
        )
        return {"separated": 1.0}

    def model_for(self, core: AnyModel) -> AnyModel:
        """The model with a point for its posterior.

        Raises
        ------
        DataError
            If it has no point estimates.
        """
        try:
            return PointEstimates.of(core, penalised=bool(self.prior))
        except NotImplementedError as error:
            raise DataError(
                f"method='em' is not available for this model: {error}",
                hint="method='cavi' fits every model",
            ) from error

    def run(
        self,
        model: ModelOf[StatsT],
        source: AbstractSource,
        start: StatsT,
        budget: Budget,
        streams: EngineStreams,
    ) -> EngineResult[StatsT]:
        """State at a maximum of the log posterior, or likelihood; nothing is left to chance."""
        likelihood = model.likelihood() if isinstance(model, PointEstimates) else None
        if likelihood is not None:
            return maximum(likelihood, source, start, budget)
        return Cavi().run(model, source, start, budget, streams)
