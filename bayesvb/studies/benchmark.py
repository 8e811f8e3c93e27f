"""Models, data sets and methods side by side, judged by rows that they have not seen."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bayesvb.argument_checks import check_choice, check_count, check_names, checked
from bayesvb.data.frames import as_frame
from bayesvb.engines import ENGINES
from bayesvb.errors import ConvergenceWarning, DataError, warn
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.numerics.streams import EngineStreams
from bayesvb.studies.folds import fold_numbers, splits
from bayesvb.studies.held_out_scores import Trial
from bayesvb.studies.model_makers import MakesModel, class_codes, maker_of, quietly_made

CRITERIA = ("waic", "loo")

TrialProgress = Callable[[int, int], None]
"""Called with the number of fits that are done and of all."""


@checked
def benchmark(
    models: Mapping[str, MakesModel | AbstractEstimator],
    data: object,
    methods: Sequence[str] | Mapping[str, Mapping[str, object]] = ("cavi",),
    folds: int = 5,
    seeds: Sequence[int] = (1,),
    *,
    groups: str | None = None,
    criteria: Sequence[str] = ("waic",),
    progress: TrialProgress | None = None,
    **options: object,
) -> pd.DataFrame:
    """Cross-validate every combination of model, method, and data set.

    Scores are of held-out rows only. Folds are the same for all models and methods; where the
    first model explains classes, each of these is spread evenly over them. All that is learned of
    data, the standardisation included, is learned of the training rows. Fits are made one after the
    other on one thread, so that their times can be compared.

    Parameters
    ----------
    models : mapping
        Name to a function that makes a model of training rows, ``lambda rows:
        bvb.DensityRegression("y ~ x", rows)``; or to a model, whose formula and options are taken.
    data : table, or mapping of str to table
    methods : sequence of str, or mapping of str to mapping
        Keys of ``bayesvb.engines.ENGINES``. With a mapping, name to further arguments of ``fit``;
        the argument ``method`` is the name unless it is among them.
    folds : int
    seeds : sequence of int
        Each gives another division of the rows; it is also the seed of the fits.
    groups : str, optional
        Column whose rows of equal value are held out together.
    criteria : sequence of {"waic", "loo"}
        Estimates from the training rows, for comparison with held-out rows.
    progress : callable, optional
        Called with the fits that are done and their number.
    **options
        Arguments of all fits: ``restarts``, ``draws``, ``tol`` and so on.

    Returns
    -------
    pandas.DataFrame
        One row per fit: model, method, data, seed, fold; ``n`` and ``n_test``, rows; ``lpd``, mean
        log predictive density of a held-out row; ``accuracy`` and ``ece`` (20 bins) for classes;
        the criteria, per training row; ``seconds`` and ``passes`` over the rows, of all restarts;
        ``converged``; ``failure``, the reason why scores are missing.
        ``plots.benchmark`` draws it.

    Raises
    ------
    DataError
        If an argument is not valid. An error of a fit is a row of the table.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended it: rows that were done are kept, if there are any.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> faithful = bvb.datasets.load("faithful")
    >>> models = {
    ...     f"K={k}": bvb.DensityRegression("waiting ~ 1", faithful, n_components=k) for k in (1, 2)
    ... }
    >>> table = bvb.benchmark(models, faithful, folds=2, restarts=2, draws=50)
    >>> table.groupby("model")["lpd"].mean().round(1).to_dict()
    {'K=1': -4.0, 'K=2': -3.8}
    """
    _check(models, folds, seeds, criteria)
    ways = _ways(methods)
    makers = {str(name): maker_of(model) for name, model in models.items()}
    tables = _tables(data)
    trials = [
        trial
        for name, frame in tables.items()
        for trial in _trials(
            _Division(name, frame, groups, folds), makers, ways, seeds, criteria, options
        )
    ]
    return pd.DataFrame(_done(trials, progress))


@dataclass(frozen=True)
class _Division:
    """A data set, and what its folds go by."""

    name: str
    frame: pd.DataFrame
    groups: str | None
    folds: int

    def numbers(self, seed: int, make: MakesModel) -> RowIntegers:
        """Fold of every row; a model of all rows knows whether there are classes."""
        rng = EngineStreams(seed).branch("benchmark", self.name).rng("folds")
        if self.groups is None:
            strata = class_codes(quietly_made(make, self.frame))
            return fold_numbers(len(self.frame), self.folds, rng, strata=strata)
        if self.groups not in self.frame:
            raise DataError(f"groups={self.groups!r} is not a column of {self.name}")
        return fold_numbers(len(self.frame), self.folds, rng, groups=self.frame[self.groups])


_Named = tuple[dict[str, object], Trial]


def _trials(
    division: _Division,
    makers: Mapping[str, MakesModel],
    ways: Mapping[str, Mapping[str, object]],
    seeds: Sequence[int],
    criteria: Sequence[str],
    options: Mapping[str, object],
) -> Iterator[_Named]:
    """Every fit to one data set, with its labels."""
    frame, first = division.frame, next(iter(makers.values()))
    for seed in seeds:
        numbers = division.numbers(seed, first)
        for fold, (kept, left) in enumerate(splits(numbers, division.folds), start=1):
            training, test = frame.iloc[kept], frame.iloc[left]  # one copy for all fits
            for (model, make), (method, own) in itertools.product(makers.items(), ways.items()):
                labels = {"model": model, "method": method, "data": division.name}
                arguments = {"n_jobs": 1, **options, **own, "seed": int(seed)}
                trial = Trial(make, training, test, arguments, criteria)
                yield {**labels, "seed": int(seed), "fold": fold}, trial


def _done(trials: Sequence[_Named], progress: TrialProgress | None) -> list[dict[str, object]]:
    """Rows of the table; those that were done if Ctrl-C comes."""
    rows: list[dict[str, object]] = []
    try:
        for labels, trial in trials:
            rows.append({**labels, **trial.record()})
            if progress is not None:
                progress(len(rows), len(trials))
    except KeyboardInterrupt:
        if not rows:
            raise
        warn(
            f"the benchmark was interrupted; it contains {len(rows)} of {len(trials)} fits",
            ConvergenceWarning,
        )
    return rows


def _check(models: object, folds: object, seeds: object, criteria: Sequence[str]) -> None:
    if not isinstance(models, Mapping) or not models:
        raise DataError(
            "models must be a mapping of names to models",
            hint='write {"two": bvb.DensityRegression(...)}',
        )
    check_count("folds", folds, least=2)
    if isinstance(seeds, str) or not isinstance(seeds, Sequence) or not len(seeds):
        raise DataError(f"seeds={seeds!r} must be several numbers", hint="write (1,)")
    for seed in seeds:
        check_count("seeds", seed, least=0, most=2**63 - 1, what="of the largest seed")
    if isinstance(criteria, str):
        raise DataError(f"criteria={criteria!r} must be several", hint=f"write ({criteria!r},)")
    for name in criteria:
        check_choice("criteria", name, CRITERIA)


def _ways(
    methods: Sequence[str] | Mapping[str, Mapping[str, object]],
) -> dict[str, dict[str, object]]:
    """Arguments of ``fit`` by the name of the way."""
    if isinstance(methods, str):
        methods = (methods,)
    given = methods if isinstance(methods, Mapping) else {name: {} for name in methods}
    for options in given.values():
        check_names("methods", options)
    ways = {name: {"method": name, **options} for name, options in given.items()}
    for options in ways.values():
        check_choice("methods", options["method"], tuple(ENGINES))
    if not ways:
        raise DataError(f"methods={methods!r} holds no method", hint='write ("cavi",)')
    return ways


def _tables(data: object) -> dict[str, pd.DataFrame]:
    """Data sets by name: a mapping to tables, or one table, which may be a mapping to columns."""
    if isinstance(data, Mapping) and data and all(hasattr(one, "columns") for one in data.values()):
        return {str(name): as_frame(one) for name, one in data.items()}
    return {"data": as_frame(data)}
