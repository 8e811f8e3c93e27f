"""Predictions as pandas objects: one row per row of the data, whatever the data's index."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.distributions.intervals import tails
from bayesvb.distributions.recalibration import Recalibrated, Recalibration
from bayesvb.distributions.transformations import AbstractTransformation
from bayesvb.distributions.transformed import Transformed
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import PointVector, SameShape

if TYPE_CHECKING:
    import pandas as pd

    Values = float | Sequence[float] | np.ndarray | pd.Series

MOST_NUMBERS = 10**9
"""Draws of all rows that one call makes: eight gigabytes."""

NEEDED = "needed"
"""Default of an option that only the caller can know."""


@dataclass(frozen=True, eq=False)
class PredictionOptions:
    """Named options of a prediction as given; None if an option is not given.

    Attributes
    ----------
    prob : float, optional
        Probability of a central interval; by default 0.89.
    q : float or sequence of float, optional
        Probabilities of the quantiles; by default 0.05, 0.5 and 0.95.
    at : float, sequence of float or pandas.Series, optional
        Values of the response. A Series holds one value per row, matched by its index.
    n : int, optional
        Number of draws per row; by default 100.
    seed : int or numpy.random.Generator, optional
        Source of the draws; by default a new one for each call.
    response : str, optional
        Which response the distribution is of: the model reads it, not the kinds below.
    recalibration : Recalibration, optional
        Applied to the distribution before any kind reads it.
    transformation : AbstractTransformation, optional
        Of the response, applied after that.
    """

    prob: float | None = None
    q: Values | None = None
    at: Values | None = None
    n: int | None = None
    seed: int | np.random.Generator | None = None
    response: str | None = None
    recalibration: Recalibration | None = None
    transformation: AbstractTransformation | None = None

    def given(self) -> dict[str, object]:
        """Options that are given, by name."""
        return {name: value for name, value in vars(self).items() if value is not None}


@dataclass(frozen=True)
class Points:
    """Numbers to evaluate at: the same ones for every row, or (``by_row``) one for each row.

    Without ``columns`` the prediction is a Series.
    """

    values: PointVector
    columns: Sequence[float] | None = None
    by_row: bool = False


@dataclass(frozen=True)
class CheckedOptions:
    """Options of all kinds of prediction, checked and complete."""

    prob: float
    q: Points
    at: Points
    n: int
    seed: int | np.random.Generator | None


@dataclass(frozen=True)
class Table:
    """Values before they meet the index; without ``columns`` there is one, and it is a Series."""

    values: Float[np.ndarray, "columns rows"]
    columns: Sequence[object] | None = None


@dataclass(frozen=True)
class Kind:
    """One kind of prediction: how it is computed, and the options it reads with their defaults."""

    table: Callable[[AbstractRowDistribution, CheckedOptions], Table]
    reads: dict[str, object]


def predict(
    distribution: AbstractRowDistribution,
    index: pd.Index,
    complete: Bool[np.ndarray, " all_rows"],
    kind: str,
    options: PredictionOptions,
) -> pd.Series | pd.DataFrame:
    """Prediction of one kind for every row of the data; NaN for rows with missing values.

    ====================  ==========================================================
    kind                  result
    ====================  ==========================================================
    ``"mean"``, ``"sd"``  Series; the sd is infinite where a component has none
    ``"interval"``        DataFrame ``lower``, ``upper``: central interval of ``prob``
    ``"quantile"``        DataFrame with columns ``q``; Series for a single number
    ``"cdf"``             DataFrame with columns ``at``; Series for a number or Series
    ``"density"``         the same, densities per unit of the response
    ``"probability"``     probabilities of the values ``at`` of a discrete response: 1
    ``"component"``       DataFrame 1 … K: weights of the components
    ``"draws"``           DataFrame 0 … n - 1: draws of new responses
    ====================  ==========================================================

    An option that the kind does not use is an error, not ignored.

    Parameters
    ----------
    distribution : AbstractRowDistribution
        Of the complete rows only, in their order.
    index : pandas.Index
        Index of all rows; need not be unique.
    complete : array of bool, shape (all_rows,)
        Rows that the distribution describes.
    kind : str
        One of the kinds above.
    options : PredictionOptions

    Raises
    ------
    DataError
        If the kind is unknown, or an option is missing, out of range, or not read by the kind.
    """
    if kind not in KINDS:
        raise _unknown_kind(kind)
    used = options_read(kind, options)
    checked = CheckedOptions(
        prob=interval_probability(used.get("prob", 0.5)),
        q=_points("q", used.get("q", 0.5)),
        at=_points("at", used.get("at", 0.0), index=index, complete=complete),
        n=_count(used.get("n", 1)),
        seed=options.seed,
    )
    if options.recalibration is not None:
        distribution = Recalibrated(distribution, options.recalibration)
    if options.transformation is not None:
        distribution = Transformed(distribution, options.transformation)
    return _labelled(KINDS[kind].table(distribution, checked), index, complete, kind)


def _mean(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    return Table(distribution.mean()[None])


def _sd(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    return Table(distribution.sd()[None])


def _interval(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    return Table(distribution.quantile(np.array(tails(options.prob))), ("lower", "upper"))


def _quantile(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    return Table(distribution.quantile(options.q.values), options.q.columns)


def _cdf(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    if options.at.by_row:
        return Table(distribution.cdf(options.at.values)[None])
    return Table(distribution.cdf_at(options.at.values), options.at.columns)


def _density(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    if options.at.by_row:
        return Table(np.exp(distribution.log_density(options.at.values))[None])
    return Table(distribution.density_at(options.at.values), options.at.columns)


def _probability(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    if not distribution.has_mass(options.at.values).all():
        at_zero = bool(distribution.has_mass(np.zeros(1)).all())
        raise DataError(
            f"kind='probability': single values {'above 0 ' if at_zero else ''}of a continuous "
            "response have probability zero",
            hint=f"{'at=0 for the probability of 0, ' if at_zero else ''}kind='density', or "
            "kind='cdf' for the probability of a value up to at",
        )
    return _density(distribution, options)


def _component(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    return Table(distribution.weights, range(1, len(distribution.weights) + 1))


def _draws(distribution: AbstractRowDistribution, options: CheckedOptions) -> Table:
    n_rows = distribution.weights.shape[-1]
    if options.n * n_rows > MOST_NUMBERS:
        raise DataError(
            f"n={options.n} draws of {n_rows} rows are more than {MOST_NUMBERS} numbers",
            hint="give fewer rows at a time, or a smaller n",
        )
    rng = np.random.default_rng(options.seed)
    return Table(distribution.draws(options.n, rng), range(options.n))


KINDS = {
    "mean": Kind(_mean, {}),
    "sd": Kind(_sd, {}),
    "interval": Kind(_interval, {"prob": 0.89}),
    "quantile": Kind(_quantile, {"q": (0.05, 0.5, 0.95)}),
    "cdf": Kind(_cdf, {"at": NEEDED}),
    "density": Kind(_density, {"at": NEEDED}),
    "probability": Kind(_probability, {"at": 1.0}),
    "component": Kind(_component, {}),
    "draws": Kind(_draws, {"n": 100, "seed": None}),
}


ELSEWHERE: Mapping[str, tuple[str, ...]] = {
    "kind='quantile', q=0.5": ("median",),
    "kind='quantile'": ("percentile", "ppf"),
    "kind='mean'": ("response", "expected", "point", "link"),
    "kind='sd'": ("std", "se", "var", "variance", "scale"),
    "kind='interval'": ("ci", "confidence", "prediction", "hdi"),
    "kind='density'": ("pdf", "prob_density"),
    "kind='component'": ("weights", "cluster", "responsibilities"),
    "kind='draws'": ("sample", "samples", "posterior"),
    "1 - fit.predict(data, kind='cdf', at=times)": ("survival", "sf", "exceedance"),
    "fit.predict(data, kind='probability').idxmax(axis=1)": ("class", "classes", "label"),
}  # fmt: skip
"""Kinds of predictions here, and their names elsewhere."""


def _unknown_kind(kind: object) -> DataError:
    meant = [f"write {here}" for here, names in ELSEWHERE.items() if str(kind) in names]
    near = [f"did you mean {one!r}?" for one in difflib.get_close_matches(str(kind), KINDS, n=1)]
    return DataError(
        f"kind={kind!r} is not a kind of prediction; choose one of {', '.join(KINDS)}",
        hint=next(iter(meant + near), None),
    )


def options_read(kind: str, options: PredictionOptions) -> dict[str, object]:
    """Options of a kind, defaults filled in.

    Raises
    ------
    DataError
        If one was given that the kind does not use, or one is lacking.
    """
    reads = KINDS[kind].reads
    given = replace(options, response=None, recalibration=None, transformation=None).given()
    for name in given:
        if name not in reads:
            readers = " or ".join(repr(other) for other in KINDS if name in KINDS[other].reads)
            instead = "write q=0.9" if (kind, name) == ("quantile", "prob") else f"omit {name}"
            raise DataError(
                f"kind={kind!r} does not use {name}",
                hint=f"{instead}, or choose kind={readers}",
            )
    used = {**reads, **given}
    for name, value in used.items():
        if value is NEEDED:
            raise DataError(
                f"kind={kind!r} needs {name}",
                hint=f"give the values of the response: {name}=0.5 or {name}=[0, 0.5, 1]",
            )
    return used


def interval_probability(prob: object) -> float:
    """The probability of an interval; a DataError unless it is a number between 0 and 1."""
    values = _numbers("prob", prob)
    if values.ndim or not 0.0 < values < 1.0:
        raise DataError(f"prob = {prob!r} is not between 0 and 1", hint="write 0.89 for 89%")
    return float(values)


def _count(n: object) -> int:
    if isinstance(n, int | np.integer) and not isinstance(n, bool) and n >= 1:
        return int(n)
    raise DataError(f"n = {n!r} is not a number of draws", hint="give a whole number from 1 up")


def _numbers(name: str, value: object) -> SameShape:
    """Value as an array of float without NaN."""
    try:
        array = np.asarray(value)
    except ValueError:  # lists of different lengths
        array = np.array(None, dtype=object)
    if array.size and array.dtype.kind not in "iuf":
        raise DataError(
            f"{name} = {value!r} is not a number or a list of numbers",
            hint=f"convert it first, for example {name}=[0.1, 0.9]",
        )
    array = array.astype(np.float64)
    if np.isnan(array).any():
        raise DataError(f"{name} = {value!r} holds a missing value", hint="omit it")
    return array


def _points(
    name: str,
    value: object,
    *,
    index: pd.Index | None = None,
    complete: Bool[np.ndarray, " all_rows"] | None = None,
) -> Points:
    """Numbers with the column labels they give; with an index, a Series counts by row."""
    import pandas as pd

    if isinstance(value, pd.Series) and index is not None:
        return Points(_aligned(name, value, index)[complete], by_row=True)
    array = _numbers(name, value)
    if array.ndim > 1:
        raise DataError(
            f"{name} has shape {array.shape}; it must be a number or a plain list",
            hint="for one value per row give a pandas Series with the index of the data",
        )
    return Points(np.atleast_1d(array), None if array.ndim == 0 else array.tolist())


def _aligned(name: str, values: pd.Series, index: pd.Index) -> Float[np.ndarray, " all_rows"]:
    """Values of a Series in the order of the index; a missing value stays NaN."""
    import pandas as pd

    if not pd.api.types.is_numeric_dtype(values) or pd.api.types.is_bool_dtype(values):
        raise DataError(
            f"{name} is a Series of {values.dtype}, not of numbers",
            hint=f"convert it first, for example with pd.to_numeric({name})",
        )
    if not values.index.equals(index):
        if not values.index.is_unique:
            raise DataError(
                f"the index of {name} has duplicates and differs from the index of the data",
                hint=f"give {name} the index of the data, row by row",
            )
        absent = ~index.isin(values.index)
        if absent.any():
            (first, *_) = index[absent].tolist()
            raise DataError(
                f"{name} has no value for {absent.sum()} rows, the first is {first!r}",
                hint=f"give {name} the index of the data, or a plain list for the same values "
                "in all rows",
            )
        values = values.reindex(index)
    return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))


def _labelled(
    table: Table, index: pd.Index, complete: Bool[np.ndarray, " all_rows"], name: str
) -> pd.Series | pd.DataFrame:
    """Values at their rows of the index, NaN elsewhere."""
    import pandas as pd

    placed = np.full((len(index), len(table.values)), np.nan)
    placed[complete] = table.values.T
    if table.columns is None:
        return pd.Series(placed[:, 0], index=index, name=name)
    return pd.DataFrame(placed, index=index, columns=list(table.columns))
