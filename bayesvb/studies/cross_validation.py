"""Cross-validation: models fitted without each fold of the rows, and scored by it."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.argument_checks import check_count, check_probability, checked, fresh_seed
from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import EngineStreams
from bayesvb.studies.compared_rows import ComparedRows, compared_rows
from bayesvb.studies.cross_validated import CrossValidation
from bayesvb.studies.folds import fold_numbers
from bayesvb.studies.model_makers import MakesModel, maker_of, quietly_made
from bayesvb.studies.processes import results
from bayesvb.studies.quiet_fits import in_one_line, quiet_fit
from bayesvb.studies.row_scores import Asked, scores_where_known

FoldProgress = Callable[[int, int], None]
"""Called with the number of fits that are done and of all."""

PROBS = (0.5, 0.9)
"""Probabilities of the central intervals that are scored by default."""

QUANTILES = (0.05, 0.5, 0.95)
"""Levels of the quantiles that are scored by default."""


@checked
def cross_validate(
    models: AbstractEstimator | Mapping[str, MakesModel | AbstractEstimator],
    data: object = None,
    folds: int = 10,
    groups: object = None,
    repeats: int = 1,
    *,
    probs: Sequence[float] = PROBS,
    quantiles: Sequence[float] = QUANTILES,
    jacobian: bool = False,
    seed: int | None = None,
    n_jobs: int | None = None,
    progress: FoldProgress | None = None,
    **options: object,
) -> CrossValidation:
    """Fit models without each fold of the rows, and score their predictions for it.

    All models are fitted to the same rows, those that every one of them can use, and divided into
    the same folds; where they explain classes each class is spread evenly. All that is learned of
    data, the standardisation included, is learned of the training rows.

    Parameters
    ----------
    models : model, or mapping of str to model
        Models of the same response: their formulas, options and classes may differ. Instead of a
        model, a function from training rows to a model, ``lambda rows: bvb.DensityRegression("y ~
        x", rows)``.
    data : table, optional
        Rows to be divided; by default the rows of the models.
    folds : int
    groups : str or array of shape (rows,), optional
        Subjects, sites, blocks, by a column's name or a label per row: rows of one group are held
        out together, and standard errors are clustered by them. The default is the ``group`` of the
        models, if one has it: then the log density of each group is scored.
    repeats : int
        Divisions into folds. More of them make scores depend less on the division; they bring no
        new rows, and standard errors know that.
    probs : sequence of float
        Probabilities of the central intervals whose coverage is counted.
    quantiles : sequence of float
        Quantiles whose pinball loss is measured.
    jacobian : bool
        Score predictions of the response in the units of the data, so that models of ``log(y)`` and
        of ``y`` can be compared: ``p(log y) / y``, and quantiles of ``y``. It has no CRPS.
    seed : int, optional
        Seed of folds and fits; by default a new one is drawn, and kept.
    n_jobs : int, optional
        Processes, by default as many as processors; one if a model cannot be sent to others. The
        numbers are the same for any.
    progress : callable, optional
        Called with the fits that are done and their number.
    **options
        Arguments of all fits: ``restarts``, ``draws``, ``tol`` and so on.

    Returns
    -------
    CrossValidation
        ``scores``, ``differences()``, ``rows``, ``fits``; it prints a table, and draws.

    Raises
    ------
    DataError
        If models explain different things, or nothing could be fitted. What single fits raise is
        in the table ``fits``, and printed.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended it: folds that were done are kept, if there are any.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), doi:10.1007/s11222-016-9696-4; Nadeau, Bengio (2003), Inference
    for the generalization error, Machine Learning 52, for the error over training rows; Gneiting,
    Raftery (2007), doi:10.1198/016214506000001437, for the scores.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> faithful = bvb.datasets.load("faithful")
    >>> models = {
    ...     "line": bvb.DensityRegression("waiting ~ eruptions", faithful, n_components=1),
    ...     "flat": bvb.DensityRegression("waiting ~ 1", faithful, n_components=1),
    ... }
    >>> found = bvb.cross_validate(models, folds=4, seed=1, n_jobs=1, restarts=1, draws=50)
    >>> found.best
    'line'
    """
    named = _named(models)
    asked = _asked(probs, quantiles)
    check_count("repeats", repeats)
    seed = fresh_seed(seed)
    makers = {name: maker_of(model) for name, model in named.items()}
    compared = compared_rows(named, makers, data, groups, jacobian=jacobian)
    streams = EngineStreams(seed).branch("cross-validation")
    numbers = np.stack([_numbers(compared, folds, streams.branch(i)) for i in range(repeats)])
    asked = Asked(asked.probs, asked.quantiles, compared.unit, jacobian)
    trials = FoldTrials(makers, compared.frame, numbers, folds, options, asked, seed)
    return CrossValidation.of(_done(trials, n_jobs, progress), trials.n, compared, numbers, seed)


@dataclass(frozen=True)
class FoldTrials:
    """Every fit that there is to be made, by its number; it travels to other processes.

    Attributes
    ----------
    makers : mapping of str to callable
    frame : pandas.DataFrame
    numbers : ndarray, shape (repeats, rows)
        Fold of each row.
    folds : int
    options : mapping
        Arguments of ``fit``.
    asked : Asked
    seed : int
    """

    makers: Mapping[str, MakesModel]
    frame: pd.DataFrame
    numbers: Int[np.ndarray, "repeats rows"]
    folds: int
    options: Mapping[str, object]
    asked: Asked
    seed: int

    @property
    def n(self) -> int:
        """Number of fits."""
        return len(self.makers) * self.folds * len(self.numbers)

    def labels(self, number: int) -> dict[str, object]:
        """Model, repetition and fold of a number."""
        rest, model = divmod(number, len(self.makers))
        repeat, fold = divmod(rest, self.folds)
        return {"model": list(self.makers)[model], "repeat": repeat + 1, "fold": fold + 1}

    def crashed(self, number: int, why: str) -> tuple[dict[str, object], pd.DataFrame | None]:
        """Replacement for the fit of a process that ended."""
        return {"number": number, **self.labels(number), **_failed(why)}, None

    def __call__(self, number: int) -> tuple[dict[str, object], pd.DataFrame | None]:
        """Record of a fit and the scores of its fold; what goes wrong is in the record."""
        labels = self.labels(number)
        try:
            with single_threaded_blas(), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                made, scored = self._made(labels)
        except Exception as error:
            return self.crashed(number, in_one_line(error))
        return {"number": number, **labels, **made}, scored

    def _made(self, labels: Mapping[str, Any]) -> tuple[dict[str, object], pd.DataFrame]:
        repeat, fold = labels["repeat"] - 1, labels["fold"] - 1
        left = self.numbers[repeat] == fold
        streams = EngineStreams(self.seed).branch("cross-validation", repeat, fold)
        seed = int(streams.rng("fit").integers(2**32))
        began = time.perf_counter()
        model = quietly_made(self.makers[labels["model"]], self.frame[~left])
        fit = quiet_fit(model, {**self.options, "seed": seed, "n_jobs": 1})
        seconds = time.perf_counter() - began
        scored, known = scores_where_known(fit, self.frame[left], self.asked)
        record = {
            "n": int((~left).sum()),
            "n_test": int(known.sum()),
            "unknown": np.flatnonzero(left)[~known],
            "seconds": seconds,
            "converged": bool(fit.converged),
            "failure": "",
        }
        return record, scored


def _failed(why: str) -> dict[str, object]:
    none = {"n": 0, "n_test": 0, "unknown": np.empty(0, dtype=int), "seconds": np.nan}
    return {**none, "converged": False, "failure": why}


def _named(models: object) -> dict[str, object]:
    """Models by name; one alone has the name of its class."""
    if isinstance(models, AbstractEstimator):
        return {type(models).__name__: models}
    if not isinstance(models, Mapping) or not models:
        raise DataError(
            "models must be a model, or a mapping of names to models",
            hint='write {"two": bvb.DensityRegression(...)}; the model of a fit is fit.model',
        )
    return {str(name): model for name, model in models.items()}


def _asked(probs: object, quantiles: object) -> Asked:
    """Levels of intervals and quantiles, checked."""
    return Asked(_levels("probs", probs), _levels("quantiles", quantiles))


def _levels(name: str, given: object) -> tuple[float, ...]:
    if isinstance(given, str) or not isinstance(given, Sequence | np.ndarray):
        raise DataError(f"{name}={given!r} must be several numbers", hint="write (0.5, 0.9)")
    for value in given:
        check_probability(name, value)
    return tuple(float(value) for value in given)


def _numbers(compared: ComparedRows, folds: int, streams: EngineStreams) -> np.ndarray:
    """Fold of each row of one division."""
    rng, n = streams.rng("folds"), len(compared.frame)
    return fold_numbers(n, folds, rng, strata=compared.strata, groups=compared.groups)


def _done(
    trials: FoldTrials, n_jobs: int | None, progress: FoldProgress | None
) -> list[tuple[dict[str, object], pd.DataFrame | None]]:
    """Fits in their order; those that were done if Ctrl-C comes."""
    made: list[tuple[dict[str, Any], pd.DataFrame | None]] = []
    try:
        with closing(results(trials, trials.n, n_jobs, trials.crashed)) as running:
            for one in running:
                made.append(one)
                if progress is not None:
                    progress(len(made), trials.n)
    except KeyboardInterrupt:
        if not any(scored is not None for _, scored in made):
            raise
        warn(
            f"the cross-validation was interrupted; it contains {len(made)} of {trials.n} fits",
            ConvergenceWarning,
        )
    return sorted(made, key=lambda one: int(one[0]["number"]))
