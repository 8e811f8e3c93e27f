"""Contract and shared code of the public models: rows of data, and the fit."""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.argument_checks import (
    RENAMED,
    check_choice,
    check_count,
    check_listed,
    check_positive,
    check_progress,
    checked,
    fresh_seed,
    shown,
)
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.base import AbstractEngine, Budget, ProgressCallback
from bayesvb.engines.partitions import KnownStart
from bayesvb.engines.progress import StoppingProgress, progress_told
from bayesvb.engines.restarts import sample_sizes, search
from bayesvb.errors import DataError, warn_renamed, without_controls
from bayesvb.estimators.checkpoint import checkpoint_read, described, opened, seed_in
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.fit_request import FitRequest
from bayesvb.estimators.fitting import fitted
from bayesvb.estimators.parameter_values import checked_draws
from bayesvb.estimators.previous_fit import start_of
from bayesvb.estimators.time_estimate import FirstPasses
from bayesvb.estimators.weighing import passes_to_weigh
from bayesvb.numerics.arrays import DrawVector
from bayesvb.numerics.forking import forks_in_children
from bayesvb.numerics.runtime import processors, single_threaded_blas
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import fitted_rows, is_sample
from bayesvb.results.base import AbstractFit, AbstractPublicModel, with_fields
from bayesvb.results.exact_draws import check_exact
from bayesvb.results.fit_call import prelude
from bayesvb.results.named_draws import log_joint
from bayesvb.results.other_names import meant_of_model
from bayesvb.results.prior_predictive import prior_predictive
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

INTERVALS = ("linear-response", "mean-field")

PUBLIC = frozenset(
    "design divergences effective exact fit log_joint moments prior_draws prior_predictive "
    "prior_table".split()
)
"""Attributes of models that completion lists, with the arguments of the model."""


@lru_cache(maxsize=256)
def _hint(kind: type, name: str) -> str:
    """Name to write instead; cached, as queries of a model's capabilities ask for it too."""
    there = None if name[0] == "_" else meant_of_model(name, dir(kind), dir(Fit))
    return f"\nhint: write {there}" if there else ""


class AbstractEstimator(AbstractPublicModel):
    """A public model that is fitted: formula and data in, ``fit`` out.

    Subclasses are frozen and define the meaning of their fits; everything else is shared.
    """

    __dataclass_fields__: ClassVar[dict[str, object]]

    known_start: ClassVar[KnownStart | None] = None

    if not TYPE_CHECKING:  # what is not there is an error for type checkers too

        def __getattr__(self, name: str) -> object:
            """Raise an error that names the attribute of the fit, or the name used here."""
            if RENAMED.get(name) in self.__dataclass_fields__:
                warn_renamed(f"model.{name}", f"model.{RENAMED[name]}")
                return getattr(self, RENAMED[name])
            if hasattr(type(self), name):  # a property failed: say why, not that it is missing
                return object.__getattribute__(self, name)
            said = f"a {type(self).__name__} has no attribute {name!r}"
            raise AttributeError(said + _hint(type(self), name), name=name, obj=self)

    def __dir__(self) -> list[str]:
        """Names that completion lists; all others are for modules of the library."""
        shown = PUBLIC.union(inspect.signature(type(self)).parameters)
        return [name for name in super().__dir__() if name in shown or name.startswith("_")]

    @property
    def single_start(self) -> bool:
        """Whether all initialisations of a fit are the same, so that one is enough."""
        return False

    def _keep(self, *values: object) -> None:
        """Set the fields of the frozen record, in their order."""
        for name, value in zip(self.__dataclass_fields__, values, strict=True):
            object.__setattr__(self, name, value)

    def _keep_rows(self, all_rows: AbstractSource | None) -> None:
        """Set the fitted source, if it is not the rows in memory."""
        object.__setattr__(self, "all_rows", all_rows)

    def given_scales(self) -> dict[str, Float[np.ndarray, "_ _"]]:
        given = getattr(self, "scaling", None)
        if given is None or not is_sample(self):
            return {}
        return {"variables": np.stack([given.centre, given.scale])}

    def in_given_scales(self, numbers: Mapping[str, Float[np.ndarray, "_ _"]]) -> AbstractEstimator:
        """Model of the same rows in the units of more rows, where it may have such units."""
        return self

    def weight_options(self) -> dict[str, object]:
        """Meaning of case weights, as an argument, unless it is the default."""
        usual = self.weight_type == "frequency"
        return {} if usual else {"weight_type": self.weight_type}

    def recalling(
        self, complete: Bool[np.ndarray, " given"], missing: Mapping[str, int]
    ) -> AbstractEstimator:
        """Copy of the model that records the rows excluded from the original data.

        ``missing`` counts these rows by the column without a value.
        """
        return with_fields(self, design=replace(self.design, complete=complete, missing=missing))

    def over(self, source: AbstractSource) -> AbstractEstimator:
        """Copy of the model with other rows in its units; the scales do not change.

        The design still holds the original rows: of a fit to other rows, only results that use
        draws and blocks are valid.
        """
        return with_fields(self, source=source, all_rows=None)

    @partial(checked, progress=check_progress)
    def fit(
        self,
        method: str = DEFAULT_METHOD,
        *,
        restarts: int = 8,
        combine: str | None = None,
        draws: int = 1000,
        seed: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 2000,
        covariance: str = "auto",
        n_jobs: int | None = None,
        progress: bool | ProgressCallback | None = None,
        checkpoint: str | Path | None = None,
        checkpoint_every: float = 30.0,
        seconds: float | None = None,
        start: AbstractFit | str | None = None,
        **options: object,
    ) -> Fit:
        """Fit by variational inference: coordinate ascent unless another ``method`` is chosen.

        Parameters
        ----------
        method : str
            What fits: a key of ``bayesvb.engines.ENGINES``, ``"cavi"`` for coordinate ascent.
        restarts : int
            Runs from different initialisations, a single one for a ``DensityRegression`` with one
            component. The run with the largest score is kept: the ELBO, or for the gate
            ``softmax-bouchard``, whose ELBO ranks restarts wrongly, the tilted bound.
        combine : {"best", "stack", "average"}, optional
            ``"stack"`` mixes the predictive distributions of the restarts with the weights that
            maximise their leave-one-out density; draws then come from several of them.
            ``"average"`` gives each restart the same weight. ``"best"`` is the default, except for
            networks, whose ELBO ranks restarts wrongly: they are stacked, unless ``prior=False``
            requests the largest likelihood.
        draws : int
            Draws from the posterior, for intervals and for ArviZ; at least 25.
        seed : int, optional
            The same seed gives bitwise identical results. By default a new one is drawn, and kept
            in the fit.
        tol : float
            Stop when all further iterations together would raise the ELBO by less than this, in
            nats, extrapolated from the last ones; for any number of rows. Restarts that are not
            kept stop at ten times this, or at 1e-5 nats per row if that is more. Restarts of a
            network that are combined stop at ``tol`` nats per row, or at 0.0001 if that is less,
            and restarts with a weight below 0.2 at thirty times as much.
        max_iter : int
            Largest number of iterations of one run.
        covariance : {"auto", "linear-response", "mean-field", "exact"}
            Origin of the draws that intervals are made of. ``"auto"``: the exact posterior below
            200 rows, or below 100 per component, where importance sampling reaches it, and linear
            response otherwise. The sampler runs when draws are first needed, in a fraction of the
            time of the fit. ``"mean-field"`` saves some tens to hundreds of iterations; its
            intervals are too narrow. With sampling weights linear response is replaced by the
            robust covariance, where the model has one; see ``Fit.with_covariance``.
        n_jobs : int, optional
            Processes for restarts, and over which rows in memory are shared (on Linux; else
            threads, as for rows that are read in blocks); by default all processors. It does not
            change the results. In a child process of ``multiprocessing`` a fit uses further
            processes only if ``n_jobs`` is given.
        progress : bool or callable, optional
            True for a line on a terminal or below a notebook's cell with the restarts that are
            done, the passes of the one under way, and about how long it all will take; a function
            is called with the number of the restart, the passes so far and the bound, and ends
            the fit as Ctrl-C does by returning True: the best result so far is kept, with
            ``is_interrupted=True``.
        checkpoint : path, optional
            File in which the runs are checkpointed: the same call continues where a killed run
            stopped, and gives bitwise identical results. For ``"cavi"``, ``"em"`` and ``"svi"``.
        checkpoint_every : float
            Seconds between two times that the file is written; zero for after every sweep.
        seconds : float, optional
            Time after which the restarts end as by Ctrl-C, at the end of an iteration.
        start : Fit, optional
            Fit of this model, to these or to similar rows, from which the first of the restarts
            continues; with ``restarts=1`` it is the only one. Use it to finish an interrupted fit,
            or to extend a fit of some of the rows to all. A text is passed to the engine as its
            option ``start``, which ``"nuts"`` has.
        **options
            Options of the engine that ``method`` names, its fields; ``"cavi"`` has none.

        Raises
        ------
        DataError
            For an argument out of range, an option that the engine does not have, or a ``start``
            whose parameters have other shapes.

        Warns
        -----
        ConvergenceWarning
            If the run that is kept stopped early, or was interrupted (Ctrl-C).
        LongFitWarning
            After the first passes, if the fit may take more than ten seconds: how long, about.
        """
        options |= {"start": start} if isinstance(start, str) else {}
        combine = combine or self._combination(method, options)
        self._check_choices(method, combine, covariance, (restarts, max_iter, n_jobs, draws))
        restarts = 1 if self.single_start else restarts
        check_positive("tol", tol)
        seed = seed_in(checkpoint) if seed is None and checkpoint is not None else seed
        seed, budget = fresh_seed(seed), Budget(float(tol), max_iter, n_draws=draws)
        if checkpoint is not None:
            settings = {
                "method": method, "options": repr(sorted(options.items())), "seed": seed,
                "restarts": restarts, "combine": combine, "tol": float(tol), "max_iter": max_iter,
            }  # fmt: skip
            budget = self._written_down(budget, checkpoint, checkpoint_every, settings)
        request = FitRequest(combine=combine, n_draws=draws, covariance=covariance, budget=budget,
            seed=seed, began=time.perf_counter(), method=method, options=options,
            start=self._statistics(start, checkpoint), start_code=prelude(self, start))  # fmt: skip
        allowed = forks_in_children(allowed=n_jobs is not None)
        with progress_told(progress, restarts) as line, checkpoint_read(checkpoint), allowed:
            watch = None if line is None and seconds is None else StoppingProgress(line, seconds)
            workers = processors() if n_jobs is None else n_jobs
            return self._fitted(replace(request, progress=watch), Streams(seed, restarts), workers)

    def _combination(self, method: str, options: Mapping[str, object]) -> str:
        """Default combination of restarts; a likelihood has one largest value."""
        check_choice("method", method, tuple(ENGINES))
        has_prior = ENGINES[method].with_options(**options).prior_counts
        return self.default_combination if has_prior else "best"

    def _check_choices(
        self,
        method: str,
        combine: str,
        covariance: str,
        limits: tuple[int, int, int | None, int],
    ) -> None:
        """Raise for a choice that there is not, or a number below its least."""
        check_choice("method", method, tuple(ENGINES))
        check_choice("combine", combine, self.combinations)
        check_choice("covariance", covariance, (*INTERVALS, "exact", "auto"))
        restarts, max_iter, n_jobs, draws = limits
        counts = {"restarts": restarts, "max_iter": max_iter, "n_jobs": n_jobs}
        for name, value in counts.items():
            if value is not None:
                check_count(name, value)
        check_count("draws", draws, least=25)

    def _statistics(
        self, start: AbstractFit | str | None, checkpoint: object
    ) -> SufficientStats | None:
        """Statistics from which the first run starts; None if it starts like the others."""
        if not isinstance(start, AbstractFit):
            return None
        if checkpoint is not None:
            raise DataError(
                f"checkpoint={str(checkpoint)!r} cannot be combined with start=: the file does not "
                "contain the fit from which the first run continues",
                hint="omit one of them",
            )
        blank = self.core.first_stats(empty_stats(self.core, self.source))
        return start_of(self, start, blank)

    def _written_down(
        self, budget: Budget, path: str | Path, every: float, settings: Mapping[str, Any]
    ) -> Budget:
        """The budget of a fit whose runs are checkpointed in a file."""
        method = settings["method"]
        if not ENGINES[method].resumes:
            raise DataError(
                f"checkpoint={str(path)!r}: method={method!r} has no checkpoints",
                hint="omit checkpoint, or choose one of the methods "
                + ", ".join(repr(name) for name in sorted(ENGINES) if ENGINES[name].resumes),
            )
        return replace(budget, log=opened(path, float(every), described(self, settings)))

    def starting_near(self, known: KnownStart | None) -> AbstractEstimator:
        """Copy of the model whose next fit has one run, which starts from known values."""
        return with_fields(self, known_start=known)

    def _fitted(self, request: FitRequest, streams: Streams, workers: int) -> Fit:
        """The fit of a search over as many restarts as there are streams."""
        core = self.core
        request = request.of(core)
        request.engine.check(core)
        if request.covariance == "exact":
            check_exact(self, request.engine, combined=request.rough)
        rows = (self.all_rows or self.source).with_workers(workers)
        # Threads of BLAS take twice the CPU time over matrices of this size.
        with single_threaded_blas(), rows.shared() as source:
            return self._fitted_to(source, request, streams)

    def _fitted_to(self, source: AbstractSource, request: FitRequest, streams: Streams) -> Fit:
        """Fit to rows that are ready to be read."""
        engine, core = request.engine, self.core
        later = passes_to_weigh(core, source.n_rows, streams.restarts, request)
        model = self._seen_by(engine, core)
        sizes = sample_sizes(model, engine, source, rough=request.rough)
        progress, share = request.progress, sizes[0] / sizes[-1]
        outcome = search(
            model,
            source,
            engine,
            restarts=streams.restarts,
            budget=request.budget,
            streams=streams,
            rough=request.rough,
            known=self.known_start,
            stats=request.start,
            progress=FirstPasses(streams.restarts, share, progress, later=later),
        )
        return fitted(self.starting_near(None), outcome, source, request, streams)

    def _seen_by(self, engine: AbstractEngine, core: AnyModel) -> AnyModel:
        """The model as the engine fits it; error messages name the public model."""
        try:
            return engine.model_for(core)
        except DataError as error:
            raise DataError(f"{type(self).__name__}: {error.why}", hint=error.hint) from error

    @checked
    def prior_predictive(self, draws: int = 500, seed: int | None = None) -> Any:
        """Draws of the parameters and of the data from the prior, before anything is fitted.

        Parameters
        ----------
        draws : int
        seed : int, optional
            By default a new one is drawn, and kept in the attributes.

        Returns
        -------
        InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x)
            Group ``prior`` with the names, axes and units of the posterior of a fit, and group
            ``prior_predictive`` with data at the rows used, at most 500 of them.
        """
        return prior_predictive(self, draws, seed)

    @checked
    def prior_draws(self, draws: int = 500, seed: int | None = None) -> Draws:
        """Draws of the parameters from the prior, as the model has them: what ``log_joint`` takes.

        They belong to the standardised data, and to the model's own parametrisation: a softmax gate
        has coefficients of all components, of which ``prior_predictive`` shows differences.

        Parameters
        ----------
        draws : int
        seed : int, optional
            By default a new one is drawn.

        Returns
        -------
        dict of str to ndarray, shape (draws, ...)
            ``fit.draws`` has the same names and shapes.
        """
        check_count("draws", draws)
        return self.core.prior_draws(draws, np.random.default_rng(fresh_seed(seed)))

    def log_joint(
        self, parameters: Mapping[str, object], *, order: Sequence[int] | None = None
    ) -> float | DrawVector:
        r"""Log prior density of the parameters plus the log likelihood of the data given them.

        The likelihood is in the units of the data; a row of case weight w counts w times; classes,
        scores and latent vectors are summed or integrated out. The prior density belongs to the
        parameters as they are given here, on the standardised scale: ``prior_table`` has it in the
        units of the data.

        Parameters
        ----------
        parameters : Mapping of str to array
            Named and shaped as ``prior_draws`` and ``fit.draws``: all parameters, with a leading
            axis of draws or, for one point, without. Coefficients belong to standardised columns
            and response; ``precision`` is ``1 / sigma^2`` or the inverse of a covariance matrix;
            ``gate`` has the coefficients of the logits of all components or sticks, or the weights
            themselves if they do not depend on covariates.
        order : sequence of int, optional
            ``fit.order``, for the draws of a fit: how its components were sorted. Only sticks need
            it, whose order is part of the model.

        Returns
        -------
        float or ndarray, shape (draws,)

        Raises
        ------
        DataError
            A parameter is missing or unknown, has another shape, or a value outside its support; or
            ``order`` is not an order of the components.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("mcycle")
        >>> model = bvb.DensityRegression("accel ~ times", data, n_components=2)
        >>> model.log_joint(model.prior_draws(3, seed=1)).shape
        (3,)
        """
        if order is None:
            core = self.core
        else:
            core = self.relabelled(self.core, _permutation(order, self.size))
        draws, single = checked_draws(core, parameters)
        log_density = log_joint(core, fitted_rows(self), draws, self.log_jacobian)
        return float(log_density[0]) if single else log_density

    def __str__(self) -> str:
        from bayesvb.results.printing import model_text

        return without_controls(model_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayesvb.results.printing import text_html

        return text_html(str(self))


def empty_stats(core: AnyModel, source: AbstractSource) -> SufficientStats:
    """Statistics of no rows: zeros of the right shapes."""
    empty: SufficientStats = core.partition_stats(source.empty(), np.zeros((core.n_components, 0)))
    return empty


def _permutation(order: Sequence[int], size: int) -> list[int]:
    """The order of the components as integers; a single component may be omitted.

    Raises
    ------
    DataError
        If it is not each number of a component once.
    """
    check_listed("order", order)
    numbers = [int(one) for one in order if isinstance(one, int | np.integer)]
    if size == 1 and len(order) == 0:
        return [0]
    if len(numbers) != len(order) or sorted(numbers) != list(range(size)):
        raise DataError(
            f"order={shown(order)} must name each of the components 0 to {size - 1} once",
            hint="write order=fit.order",
        )
    return numbers
