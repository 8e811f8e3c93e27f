"""The abstract public model, and the record of a fit of it."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Shaped

from bayesvb.argument_checks import checked
from bayesvb.data.blocks import Block
from bayesvb.data.grouping import Grouping
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.intervals import PROB
from bayesvb.distributions.prediction import PredictionOptions
from bayesvb.distributions.response import CONTINUOUS, NO_RESPONSE, Response
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.base import AbstractEngine
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.engines.traces import trace_series
from bayesvb.errors import DataError
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula
from bayesvb.models.component_model import ClassModel, ComponentModel
from bayesvb.models.ensemble import thinned
from bayesvb.numerics.arrays import DrawRows, DrawVector, RowVector
from bayesvb.results.fit_cache import FitCache
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import HasDraws, NamedDraws, PosteriorDraws, count
from bayesvb.sensitivity.covariance import INTERRUPTED, LinearResponse
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

if TYPE_CHECKING:
    from bayesvb.distributions.prediction import Values
    from bayesvb.results.leave_one_out import Fitted, RowsLeftOut
    from bayesvb.results.simulation_calibration import SimulationCalibration
    from bayesvb.sensitivity.robust import RobustCovariance

PREDICTION_DISTANCE = "prediction_distance"
"""Column of the table of restarts: distance of their predictions from the best restart's."""

# Not `Self`: beartype refuses it in methods that are checked one by one, as jaxtyping does.
FitT = TypeVar("FitT", bound="AbstractFit")


class AbstractPublicModel(abc.ABC):
    """A public model as fits use it: parameters and predictions in the units of the data.

    It holds design, standardised rows and options, and says what draws and predictions are.
    """

    @property
    @abc.abstractmethod
    def title(self) -> str:
        """Title of the model, in the first line of the printed fit."""

    prior_class: ClassVar[type]
    """Class of the prior's numbers."""

    completed: bool = False
    """Whether it is of one of the tables that a fit with imputed values goes over."""

    @property
    @abc.abstractmethod
    def likelihood_name(self) -> str:
        """Name of the distribution, in the middle of a sentence."""

    formula_template: ClassVar[str] = "other"
    """Template of the page with the likelihood as a formula."""

    factor_words: ClassVar[str] = "its parameters"
    """Factors that are independent in the posterior, in words."""

    reference: ClassVar[str | None] = None
    """Publication that describes the model and its algorithm."""

    own_kinds: ClassVar[tuple[str, ...]] = ()
    """Kinds of prediction that only this model has."""

    combinations: ClassVar[tuple[str, ...]] = ("best",)
    """Possible combinations of restarts, of ``COMBINATIONS``."""

    default_combination: ClassVar[str] = "best"
    """Default combination of the restarts."""

    prunable: ClassVar[bool] = False
    """Whether components can be taken out of a fit one by one, the lower bound as judge."""

    size_name: ClassVar[str] = "n_components"
    """Argument that is the number of components."""

    order_rule: ClassVar[str] = ""
    """Order of the components, in a sentence; empty for a model without components."""

    corrected: ClassVar[str] = "Intervals have the linear-response covariance of all parameters."
    """Sentence on the covariance of intervals, which corrects for the independent factors."""

    @property
    def scale_words(self) -> str:
        """Scale of the standardised columns and response, within a sentence."""
        return "columns and response with mean 0 and standard deviation 1"

    formula: Formula
    design: Design
    priors: Any
    source: AbstractSource
    weights: RowVector | None
    weight_type: str
    all_rows: AbstractSource | None = None
    """Model of all rows where not all are in memory: ``design`` and ``source`` are a sample."""

    grouping: Grouping | None = None
    """Groups of rows that share one component; None where each row has its own."""

    @property
    def response(self) -> Response:
        """Description of the response by its family."""
        if self.design.response is None:
            return NO_RESPONSE
        levels = self.design.levels
        return Response(kind="classes", levels=levels) if levels else CONTINUOUS

    @property
    @abc.abstractmethod
    def core(self) -> AnyModel:
        """The model on the standardised scale."""

    @property
    @abc.abstractmethod
    def log_jacobian(self) -> float:
        """Log Jacobian, subtracted from a row's log density in the units of the data."""

    @abc.abstractmethod
    def options(self) -> dict[str, object]:
        """Arguments that make this model again, JSON-able, other than formula, data and weights."""

    @abc.abstractmethod
    def ordered(
        self, core: AnyModel, stats: Any
    ) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
        """Model and statistics with components in the order of their labels, and that order."""

    @abc.abstractmethod
    def relabelled(self, core: AnyModel, order: Sequence[int]) -> AnyModel:
        """The model whose components have this order."""

    @abc.abstractmethod
    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Draws in the data's units."""

    @abc.abstractmethod
    def observed(self) -> dict[str, RowVector]:
        """Observed data that the model explains, by name."""

    @abc.abstractmethod
    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        """One replicated data set per draw, by name."""

    @abc.abstractmethod
    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data; see ``Fit.predict``."""

    @abc.abstractmethod
    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        """Log predictive density of each row; see ``Fit.log_density``."""

    @abc.abstractmethod
    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data.

        Returns
        -------
        pandas.DataFrame
            Index (part, term); ``prior`` in words, and its ``location`` and ``scale``.
        """

    @abc.abstractmethod
    def headings(self, fit: AbstractFit) -> dict[str, str]:
        """Title of each part's table in the printed fit, in order."""

    @abc.abstractmethod
    def description(self) -> str:
        """First line of the printed model."""

    def formula_names(self) -> dict[str, str]:
        """Names of the gate's formula and of further formulas, for the templates of the report."""
        return {}

    @abc.abstractmethod
    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale."""

    @abc.abstractmethod
    def over(self, source: AbstractSource) -> AbstractPublicModel:
        """The model of other rows, in the units that it has."""

    @abc.abstractmethod
    def given_scales(self) -> dict[str, Float[np.ndarray, "_ _"]]:
        """Centres and scales by part, if they do not come from the rows in memory."""

    def default_priors(self, size: int) -> object:
        """Priors where none are given, of a model with this number of components."""
        return self.prior_class()

    def headline(self, engine: AbstractEngine) -> str:
        """First line of the printed fit, with the engine."""
        return f"{self.title}, {engine.found}"

    def aligned(
        self, fit: AbstractFit, core: AnyModel, stats: SufficientStats
    ) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
        """Model, statistics, and order, with the labels of another fit to the same rows."""
        raise self._lacks("combination of restarts")

    def notes(self, fit: AbstractFit) -> list[str]:
        """Sentences at the end of the printed fit."""
        return []

    def components(self, fit: AbstractFit, prob: float) -> pd.DataFrame:
        """One row per component; see ``Fit.components``."""
        raise self._lacks("mixture components")

    def responsibilities(self, fit: AbstractFit, data: object = None) -> pd.DataFrame:
        """Probability of each component; see ``Fit.responsibilities``."""
        raise self._lacks("mixture components")

    def predictive(self, fit: AbstractFit, data: object, response: str | None) -> Any:
        """Predictive distribution; see ``Fit.predictive``."""
        raise self._lacks("predictive distribution of one response")

    def weights_at(
        self, fit: AbstractFit, data: object, draws: int | None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the weights; see ``Fit.weights_at``."""
        raise self._lacks("weights that depend on covariates")

    def _lacks(self, what: str) -> DataError:
        return DataError(f"a {type(self).__name__} has no {what}")

    @property
    def size(self) -> int:
        """Number of components as the user counts them; one for a model without."""
        return int(getattr(self, self.size_name, 1))

    @property
    def joint_name(self) -> str:
        """Name of all that is observed together."""
        return ", ".join(self.observed())

    def rows(self, data: object = None, *, response: bool = False) -> Rows:
        """Rows of other data after the formula; by default the rows of the fit."""
        if data is not None:
            return self.design.new(data, response=response)
        design, complete = self.design, np.ones(self.design.n_rows, dtype=bool)
        given = design.response if response else None
        matrices = design.matrices if response else design.covariate_matrices
        return Rows(design.index, complete, matrices, given, design.offset)


@dataclass(frozen=True, eq=False, kw_only=True)
class AbstractFit(abc.ABC):
    """The record of a fit, as functions of results take it; ``Fit`` has the public methods.

    Attributes
    ----------
    model : AbstractPublicModel
        Fitted model, with its data.
    core : AbstractVariationalModel
        The model on the standardised scale, its components in the order of the labels.
    stats : SufficientStats
        Expected sufficient statistics at the end: the state of the fit.
    order : tuple of int
        Index of each component during the optimisation.
    given_draws : PosteriorDraws
        Draws that the fit was made with.
    variational_draws : Mapping of str to ndarray
        Draws from the variational posterior itself, or those that the engine returned.
    response : LinearResponse
        Covariance of all parameters beyond mean-field, or why there is none.
    restarts : pandas.DataFrame
        One row per restart: start, elbo, n_iter, converged, rows, seconds, best; ``elpd_per_row``
        and ``weight`` if they are combined; ``apart`` if one is kept: mean absolute difference of
        log density of rows from the best restart, within 2 nats of it. The largest elbo is
        kept; with ``softmax-bouchard`` the largest ``score``, a tighter bound of the same q.
    traces : Mapping of int to ndarray
        Lower bound after every accepted sweep, by restart; ``"final"`` of a fit whose restarts
        went over a sample of the rows.
    converged : bool
    n_iter : int
        Passes over the rows of the run that was kept.
    seconds : float
        Time of all restarts and draws, without exact draws, which are made when first needed.
    seed : int
        Makes the same fit again.
    members : tuple of Member
        Restarts that are combined, the heaviest first; empty for a fit of one restart. ``core``,
        ``stats`` and ``draws`` are then of all of them together, bound and trace of the heaviest.
    method : str
        Key of the engine in ``ENGINES``.
    method_options : Mapping of str to value
        Options of the engine, where they are not its usual ones.
    engine_log_q : ndarray, shape (draws,), or None
        Log density of ``variational_draws`` under the engine's proposal distribution; None if they
        are from q.
    n_chains : int
        Chains that the engine's draws come from, one after the other.
    sample_stats : Mapping of str to ndarray, shape (draws,)
        Statistics of the engine's sampler for each draw, by the names of ArviZ.
    findings : Mapping of str to float
        What else the engine had to say of the run that was kept.
    robust : RobustCovariance or None
        State of the draws if ``covariance`` is ``"robust"``; of combined restarts, of the one with
        the largest weight.
    make_draws : callable, optional
        Returns the draws that intervals are made of, when they are first needed, from the fit with
        ``given_draws``: exact draws if rows are few. Without it, ``given_draws``.
    held_out : ndarray, shape (rows,), or None
        Log predictive density of every row without its fold, standardised, of a restart that was
        weighted by it; None without a cross-validation of all rows.
    sbc : SimulationCalibration or None
        Simulation-based calibration of the model, if it was made; see ``with_sbc``.
    tol : float or None
        Tolerance that the fit was made with; None in files of earlier versions.
    max_iter : int or None
        Likewise the number of passes that a run was allowed.
    start_code : str
        Code of the fit of the same rows from which the first run continued; empty otherwise.
    cache : FitCache
        Results that were computed once; no argument, and empty in a copy with other fields.
    """

    model: AbstractPublicModel
    core: AnyModel
    stats: Any
    order: tuple[int, ...]
    given_draws: PosteriorDraws
    variational_draws: Draws
    response: LinearResponse
    restarts: pd.DataFrame
    traces: Mapping[int | str, Float[np.ndarray, " sweeps"]]
    converged: bool
    n_iter: int
    seconds: float
    seed: int
    members: tuple[Member, ...] = ()
    method: str = DEFAULT_METHOD
    method_options: Mapping[str, object] = field(default_factory=dict)
    engine_log_q: DrawVector | None = None
    n_chains: int = 1
    sample_stats: Mapping[str, Shaped[np.ndarray, " draws"]] = field(default_factory=dict)
    findings: Mapping[str, float] = field(default_factory=dict)
    robust: RobustCovariance | None = None
    make_draws: Callable[[AbstractFit], PosteriorDraws] | None = None
    held_out: RowVector | None = None
    sbc: SimulationCalibration | None = None
    tol: float | None = None
    max_iter: int | None = None
    start_code: str = ""
    cache: FitCache = field(default_factory=FitCache, init=False, repr=False)

    @property
    def mixture(self) -> ComponentModel:
        """``core`` of a model with components."""
        return cast(ComponentModel, self.core)

    @property
    def classifier(self) -> ClassModel:
        """``core`` of a model of classes."""
        return cast(ClassModel, self.core)

    @property
    def parts(self) -> tuple[Member, ...]:
        """Restarts that the fit combines, with their weights; one restart has weight one."""
        return self.members or (Member(number=self.best_restart, weight=1.0, fit=self),)

    @property
    def combination(self) -> str:
        """Verb and object that describe a fit of several members."""
        n = len(self.members)
        if self.model.design.imputed:
            return f"pools the fits of {n} completed tables"
        return f"combines {n} restarts"

    @property
    def engine(self) -> AbstractEngine:
        """Engine that made the fit."""
        return ENGINES[self.method].with_options(**self.method_options)

    @property
    def is_sampled(self) -> bool:
        """Whether the engine returned draws: predictions are then averages over these."""
        return self.engine_log_q is not None

    @property
    def posterior_draws(self) -> PosteriorDraws:
        """Draws that intervals are made of, with their origin."""
        make = self.make_draws
        if make is None:
            return self.given_draws
        return self.cache.once("exact draws", lambda: make(self.plain))

    @property
    def automatic(self) -> bool:
        """Whether intervals use exact draws where rows are few."""
        return self.make_draws is not None

    @property
    def plain(self: FitT) -> FitT:
        """Fit with the draws with which it was made."""
        return self if self.make_draws is None else replace(self, make_draws=None)

    @property
    def draws(self) -> Draws:
        """Draws that intervals are made of, on the standardised scale."""
        return self.posterior_draws.values

    @property
    def log_q(self) -> DrawVector:
        """Log density of the draws under the distribution from which they were drawn."""
        return self.posterior_draws.log_density

    @property
    def covariance(self) -> str:
        """Origin of the draws: a key of ``with_covariance``, or ``"engine"``."""
        return self.posterior_draws.covariance

    @property
    def sampler(self) -> SamplerRecord | None:
        """Record of the sampler of the exact posterior, whether or not the draws come from it."""
        return self.posterior_draws.sampler

    @property
    def chains(self) -> int:
        """Chains of the draws, one after the other."""
        n = self.n_chains if self.covariance == "engine" else 1
        return n if self.sampler is None else self.sampler.n_chains

    @property
    def predictive_draws(self) -> Draws:
        """Subset of the draws over which predictions are averaged, if they use draws."""
        return thinned(
            self.variational_draws, min(count(self.variational_draws), LIMITS.predictive_draws)
        )

    @property
    def is_interrupted(self) -> bool:
        """Whether Ctrl-C, ``progress`` or ``seconds`` ended the fit before it converged."""
        return any(part.fit.response.failure == INTERRUPTED for part in self.parts)

    @property
    def is_point_estimate(self) -> bool:
        """Whether there are point estimates without standard errors."""
        each = [part.fit for part in self.parts] if self.engine.finds_points else []
        return any(one.core.coordinates(one.q) is None for one in each)

    @property
    def own_covariance(self) -> str:
        """Covariance of the draws that the fit was created with."""
        return "engine" if self.is_sampled else self.response.label

    @property
    def q(self) -> Any:
        """Variational posterior on the standardised scale."""
        return self.cache.once("posterior", lambda: self.core.update(self.stats))

    @property
    def elbo(self) -> float:
        """Evidence lower bound (ELBO) of the data in their units, or the engine's objective."""
        return float(self.elbo_trace.iloc[-1])

    @property
    def elbo_trace(self) -> pd.Series:
        """ELBO after every accepted iteration of the selected run."""
        return trace_series(self.traces, self.best_restart)

    @property
    def best_restart(self) -> int:
        """Number of the selected restart."""
        return int(self.restarts.index[self.restarts["best"]][0])

    @property
    def without_folds(self) -> tuple[SufficientStats, ...]:
        """Statistics of the five-fold cross-validation runs; for one restart."""
        from bayesvb.results.leave_one_out import stats_without_folds

        return self.cache.once("fold statistics", lambda: stats_without_folds([self])[0])

    @property
    def named_draws(self) -> NamedDraws:
        """Draws in the data's units."""
        return self.cache.once("named draws", lambda: self.model.named_draws(self))

    @property
    def one_restart(self) -> Fitted:
        """State that leave-one-out needs, with the derivative of an iteration; for one restart."""
        from bayesvb.results.leave_one_out import Fitted

        return self.cache.once("leave-one-out state", lambda: Fitted.of(self))

    @property
    def rows_left_out(self) -> RowsLeftOut:
        """Leave-one-out predictions of every row (of a sample of very many); for one restart."""
        from bayesvb.results.leave_one_out import every_row, leave_one_out

        def compute() -> RowsLeftOut:
            return leave_one_out(self.one_restart, every_row(self.model.source.n_rows, self.seed))

        return self.cache.once("leave-one-out predictions", compute)

    @checked
    def with_sbc(self: FitT, calibration: SimulationCalibration) -> FitT:
        """Return the fit with the result of ``bayesvb.sbc``, for its reports and its file.

        Raises
        ------
        DataError
            If that is of another model, or is something else.
        """
        description = (self.model.formula.canonical(), self.model.description())
        other = (calibration.formula, calibration.description)
        if description != other:
            raise DataError(
                f"calibration belongs to another model, {other[1]}: {other[0]}",
                hint="give this model or this fit to bayesvb.sbc",
            )
        return replace(self, sbc=calibration)

    @abc.abstractmethod
    def code(self, data: str | None = None, *, weights: str | None = None) -> str:
        """Lines of Python that make the fit again; see ``Fit.code``."""

    @abc.abstractmethod
    def components(self, prob: float = PROB) -> pd.DataFrame:
        """One row per component; see ``Fit.components``."""

    @abc.abstractmethod
    def responsibilities(self, data: object = None) -> pd.DataFrame:
        """Probability of each component; see ``Fit.responsibilities``."""

    @abc.abstractmethod
    def predictive(self, data: object = None, *, response: str | None = None) -> Any:
        """Predictive distribution for each complete row; see ``Fit.predictive``."""

    @abc.abstractmethod
    def predict(
        self,
        data: object = None,
        kind: str | None = None,
        *,
        prob: float | None = None,
        q: Values | None = None,
        at: Values | None = None,
        n: int | None = None,
        seed: int | None = None,
        response: str | None = None,
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row; see ``Fit.predict``."""

    @abc.abstractmethod
    def log_density(self, data: object = None) -> pd.Series:
        """Log predictive density of each row; see ``Fit.log_density``."""

    @abc.abstractmethod
    def weights_at(
        self, data: object = None, *, draws: int | None = None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the component weights at each complete row; see ``Fit.weights_at``."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Member:
    """One restart of a fit that combines several.

    Attributes
    ----------
    number : int
        Number of the restart.
    weight : float
    fit : Fit
        The fit which that restart makes by itself.
    """

    number: int
    weight: float
    fit: AbstractFit


ModelT = TypeVar("ModelT")


def with_fields(model: ModelT, **fields: object) -> ModelT:
    """A copy of a frozen model with other values of these fields, the rest as it is.

    ``dataclasses.replace`` would rebuild the model from its arguments; here nothing is derived.
    """
    changed = copy(model)
    for name, value in fields.items():
        object.__setattr__(changed, name, value)
    return changed


def replace_draws(fit: FitT, draws: PosteriorDraws) -> FitT:
    """Fit with other draws, which replace those that it makes when they are first needed."""
    return replace(fit, given_draws=draws, make_draws=None)


def linear_dof(fit: AbstractFit, target: str = "mean") -> float | None:
    """Degrees of freedom of quantities that are linear in the coefficients; None if not Student t.

    Of the targets of effects, the mean is linear in them.
    """
    if target != "mean" or fit.members or fit.covariance not in ("linear-response", "mean-field"):
        return None
    dof: float | None = fit.core.linear_dof(fit.q)
    return dof
