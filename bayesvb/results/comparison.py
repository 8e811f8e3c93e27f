"""Comparison of fits by leave-one-out cross-validation."""

from __future__ import annotations

import inspect
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, cast

import numpy as np
import pandas as pd
from jaxtyping import Int

from bayesvb.argument_checks import check_compared, checked
from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.line_width import limited
from bayesvb.errors import DataError, without_controls
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.back_transformation import log_jacobian, original, untransformed
from bayesvb.results.base import AbstractFit
from bayesvb.results.fit_call import FitCall, argument
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.printing import preformatted

if TYPE_CHECKING:
    from bayesvb.evaluation.elpd import Elpd

SAME_SCALE = "jacobian=True compares densities of the response as it is in the data"
"""Remedy where models explain one response on different scales."""


ONE_DECIMAL = ("elpd", "se", "p", "elpd_diff", "dse")
"""Columns in nats, of which less than a tenth matters to no comparison."""


class ComparisonTable(pd.DataFrame):
    """Table of ``compare`` that prints all columns; tables made from it are plain ones.

    Examples
    --------
    >>> rows = {"elpd": [-10.26, -14.0], "weight": [1.0, 0.0]}
    >>> table = ComparisonTable(rows, index=pd.Index(["a", "b"], name="name"))
    >>> table.attrs["left out"] = "one at a time"
    >>> table
          elpd weight
    name
    a    -10.3   1.00
    b    -14.0   0.00
    Rows are held out one at a time.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __str__(self) -> str:
        decimals = {**dict.fromkeys(ONE_DECIMAL, 1), "weight": 2}
        formats = {name: f"{{:.{n}f}}".format for name, n in decimals.items() if name in self}
        text = self.to_string(formatters=formats, line_width=limited(LIMITS.width))
        lines = [line.rstrip() for line in text.splitlines()]
        return without_controls("\n".join([*lines, f"Rows are held out {self.attrs['left out']}."]))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return preformatted(str(self))


@partial(checked, fits=check_compared)
def compare(
    fits: Mapping[str, AbstractFit | object] | Sequence[AbstractFit], *, jacobian: bool = False
) -> pd.DataFrame:
    """Table of fits to the same rows, best first.

    Rows are matched by the index of the data, in whatever order they are.

    Parameters
    ----------
    fits : mapping of str to Fit, or list of Fit
        Fits in a list are called by canonical formula and options; of two fits of one model, in
        whatever spelling, the later one counts. A mapping may hold stored results of ``fit.loo()``
        instead of fits, whose rows must be in one order. If one is a network, the rows of all are
        held out in five-fold cross-validation: draws of a network are optimistic, and estimates of
        different kinds are nats apart for the same predictions. Otherwise one row at a time, as in
        ``fit.loo()``.
    jacobian : bool
        Compare fits of ``log(y)`` with fits of ``y``: densities are of ``y`` in the units of the
        data, ``p(log y) / y``. Logarithms are known; other functions are refused.

    Returns
    -------
    pandas.DataFrame
        Rows in the order of the expected log predictive density, as by ``az.compare``;
        columns rank, elpd, se, p, elpd_diff, dse, weight (stacking) and warning. ``attrs`` say
        how rows were ``"left out"``.

    Raises
    ------
    DataError
        If there are fewer than two fits, they are not of the same response and rows, or stored
        results held out different numbers of rows at a time.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("cps1985")
    >>> few = {"seed": 1, "restarts": 1}
    >>> log = bvb.DensityRegression("log(wage) ~ education", data, n_components=1).fit(**few)
    >>> plain = bvb.DensityRegression("wage ~ education", data, n_components=1).fit(**few)
    >>> compare({"wage": plain, "log(wage)": log}, jacobian=True).index.tolist()
    ['log(wage)', 'wage']
    """
    from bayesvb.evaluation.elpd import compare as compare_elpd
    from bayesvb.results.criteria import loo

    fits = fits if isinstance(fits, Mapping) else {model_name(one): one for one in fits}
    if any(not isinstance(one, AbstractFit) for one in fits.values()):
        return _compare_results(fits, jacobian=jacobian)
    fits = cast("Mapping[str, AbstractFit]", fits)
    check_comparable(fits, jacobian=jacobian)
    folds = folds_for_all(fits)
    method = "folds" if folds else None
    criteria = {name: loo(fit, method=method) for name, fit in fits.items()}
    if jacobian:
        criteria = {
            name: replace(one, pointwise=one.pointwise + log_jacobian(fits[name].model))
            for name, one in criteria.items()
        }
    reference = next(iter(fits.values()))
    criteria = {name: _in_order_of(reference, fits[name], one) for name, one in criteria.items()}
    table = ComparisonTable(compare_elpd(criteria))
    table.attrs["left out"] = "a fifth at a time" if folds else "one at a time"
    return table


def model_name(fit: AbstractFit) -> str:
    """Canonical formula of a fit, number of components, and options that are not the defaults."""
    call = FitCall.from_fit(fit)
    kind = type(fit.model)
    usual = inspect.signature(kind).parameters
    options = [
        argument(name, value)
        for name, value in call.options.items()
        if name == fit.model.size_name or value != usual[name].default
    ]
    priors = [f"priors={call.priors}"] if call.priors else []
    return ", ".join([call.formula, *options, *priors])


def _compare_results(results: Mapping[str, object], *, jacobian: bool) -> pd.DataFrame:
    """Table of stored results of ``fit.loo()``, some of which may be fits still."""
    from bayesvb.evaluation.elpd import compare as compare_elpd
    from bayesvb.evaluation.elpd import elpd_data, labels_of, read_elpd
    from bayesvb.results.criteria import loo

    if jacobian:
        raise DataError(
            "jacobian=True needs the responses, which a stored result does not have",
            hint="give the fits themselves",
        )
    if len(results) < 2:
        raise DataError(f"compare needs two results or more; there are {len(results)}")
    stored = {
        name: elpd_data(loo(one)) if isinstance(one, AbstractFit) else one
        for name, one in results.items()
    }
    folds = {name: read_elpd(one, name).method == "folds" for name, one in stored.items()}
    if len(set(folds.values())) > 1:
        named = ", ".join(repr(name) for name, is_fold in folds.items() if is_fold)
        raise DataError(
            f"cross-validation is five-fold in {named} and leave-one-out in the others",
            hint="compute all by fit.loo('folds')",
        )
    table = ComparisonTable(compare_elpd(stored))
    (first, known), *others = ((name, labels_of(one)) for name, one in stored.items())
    for name, labels in others:
        if known is not None and labels is not None and not np.array_equal(known, labels):
            raise DataError(
                f"{name!r} and {first!r} have rows with other labels, or in another order",
                hint="give the fits themselves, whose rows are matched by their labels",
            )
    table.attrs["left out"] = "a fifth at a time" if any(folds.values()) else "one at a time"
    return table


def folds_for_all(fits: Mapping[str, AbstractFit]) -> bool:
    """Whether to use five-fold cross-validation: for all fits, if for one."""
    from bayesvb.results.criteria import leaves_folds_out

    return any(leaves_folds_out(fit) for fit in fits.values())


def places_of_units(reference: AbstractFit, fit: AbstractFit) -> Int[np.ndarray, " units"] | None:
    """Return the positions of the rows, or groups, of one fit among another's, by their labels.

    None if the labels are not the same ones, or differ in order and are not unique.
    """
    return _places(units_of(reference.model).index, units_of(fit.model).index)


def _places(wanted: pd.Index, given: pd.Index) -> Int[np.ndarray, " labels"] | None:
    """Indices of some labels among others; see ``places_of_units``."""
    if wanted.equals(given):
        return np.arange(len(wanted))
    if len(wanted) != len(given) or not (wanted.is_unique and given.is_unique):
        return None
    places = np.asarray(given.get_indexer(wanted))
    return None if (places < 0).any() else places


def _in_order_of(reference: AbstractFit, fit: AbstractFit, result: Elpd) -> Elpd:
    """A criterion of a fit with its rows in the order of another."""
    places = places_of_units(reference, fit)
    if places is None or (np.diff(places) == 1).all():
        return result
    pareto_k, weights = (
        None if values is None else values[places] for values in (result.pareto_k, result.weights)
    )
    return replace(
        result,
        pointwise=result.pointwise[places],
        pareto_k=pareto_k,
        weights=weights,
        labels=units_of(reference.model).index,
    )


def check_comparable(fits: Mapping[str, AbstractFit], *, jacobian: bool = False) -> None:
    """Refuse fewer than two fits, and fits of different responses or rows.

    Raises
    ------
    DataError
        The message names the two fits that differ.
    """
    if len(fits) < 2:
        raise DataError(f"compare needs two fits or more; there are {len(fits)}")
    (first, reference), *others = fits.items()
    for name, fit in others:
        _check_measures(first, reference, name, fit)
        _check_intervals(first, reference, name, fit, jacobian=jacobian)
        _check_same(first, reference, name, fit, jacobian=jacobian)


def _check_measures(first: str, reference: AbstractFit, name: str, fit: AbstractFit) -> None:
    """Raise if log densities of a response are compared with log probabilities."""
    mine, theirs = reference.model.response.measure, fit.model.response.measure
    if mine != theirs:
        raise DataError(
            f"{first!r} gives the response {mine}, and {name!r} {theirs}: their logarithms are not "
            "comparable",
            hint="compare families of one kind of response",
        )


def _check_same(
    first: str, reference: AbstractFit, name: str, fit: AbstractFit, *, jacobian: bool
) -> None:
    mine, theirs = reference.model.design, fit.model.design
    both = [
        untransformed(one.response_names) if jacobian else one.response_names
        for one in (mine, theirs)
    ]
    if both[0] != both[1]:
        alike = untransformed(mine.response_names) == untransformed(theirs.response_names)
        raise DataError(
            f"{name!r} explains {', '.join(theirs.response_names)}, {first!r} explains "
            f"{', '.join(mine.response_names)}: their densities describe different responses",
            hint=SAME_SCALE if alike and not jacobian else None,
        )
    own, other = units_of(reference.model), units_of(fit.model)
    if own.plural != other.plural:
        raise DataError(
            f"{name!r} predicts {len(other.index)} {other.plural} and {first!r} "
            f"{len(own.index)} {own.plural}: with group=, all rows of a group are predicted "
            "together",
            hint="give both models the same group=",
        )
    places = _places(mine.index, theirs.index)
    if places is None or _places(own.index, other.index) is None:
        raise DataError(
            f"{name!r} uses {len(theirs.index)} rows and {first!r} uses {len(mine.index)}, and "
            "they are not the same rows",
            hint="drop the rows with missing values from the data before both fits",
        )
    observed = [_explained(one, jacobian) for one in (reference, fit)]
    close = partial(np.allclose, rtol=1e-9, atol=0.0) if jacobian else np.array_equal
    if not all(close(one, other[places]) for one, other in zip(*observed, strict=True)):
        sorted_alike = all(close(np.sort(a), np.sort(b)) for a, b in zip(*observed, strict=True))
        raise DataError(
            f"{name!r} and {first!r} were fitted to different values of the same rows",
            hint="rows are in another order: leave the index of the data as it is when sorting"
            if sorted_alike
            else "fit both to the same data",
        )


def _check_intervals(
    first: str, reference: AbstractFit, name: str, fit: AbstractFit, *, jacobian: bool
) -> None:
    """Refuse rows that are seen by one fit and censored, or rounded otherwise, for the other."""
    designs = [one.model.design for one in (reference, fit)]
    ends = [np.zeros((one.n_rows, 2)) if one.interval is None else one.interval for one in designs]
    places = _places(*(one.index for one in designs))
    if jacobian:  # lengths have other units: which of them are zero or infinite stays
        ends = [np.where(np.isinf(one), one, np.sign(one)) for one in ends]
    if places is not None and not np.array_equal(ends[0], ends[1][places]):
        raise DataError(
            f"{name!r} and {first!r} have different censoring or rounding of the same rows: "
            "densities and probabilities are not comparable",
            hint="write the same left-hand side in both formulas",
        )


def _explained(fit: AbstractFit, jacobian: bool) -> list[RowVector]:
    """Observed response, in the units of the data with ``jacobian``."""
    observed = fit.model.observed()
    return [original(*one) if jacobian else one[1] for one in observed.items()]


def ranked(results: Mapping[int, Elpd], hopeful: Collection[int] = ()) -> pd.DataFrame:
    """Criteria by number of components, with the best and the chosen one marked.

    Neither is one of the ``hopeful`` numbers, whose elpd is of draws narrower than the others'.
    """
    numbers = sorted(results)
    eligible = ~np.isin(numbers, list(hopeful))
    pointwise = np.stack([results[k].pointwise for k in numbers])
    elpd = np.array([results[k].elpd for k in numbers])
    best = int(np.argmax(np.where(eligible, elpd, -np.inf)))
    weights = results[numbers[0]].weights
    gaps = [sum_and_error(one, weights, ddof=0) for one in pointwise - pointwise[best]]
    table = pd.DataFrame(
        {
            "elpd": elpd,
            "se": [results[k].se for k in numbers],
            "elpd_diff": [gap for gap, _ in gaps],
            "dse": [error for _, error in gaps],
            "p": [results[k].p for k in numbers],
            "warning": np.array([results[k].warning for k in numbers]) | ~eligible,
            "best": np.arange(len(numbers)) == best,
        },
        index=pd.Index(numbers, name="n_components"),
    )
    return table.assign(chosen=table.index == simplest(table[eligible]))


def simplest(table: pd.DataFrame) -> int:
    """Smallest number whose elpd is within two standard errors, or ``equal_elpd``, of the best.

    The standard error is of the difference. Chance favours the best of several, and one standard
    error was too little: in two of 20 data sets with two components it chose three or four.
    """
    errors = LIMITS.standard_errors * table["dse"]
    near = -table["elpd_diff"] <= errors.clip(lower=LIMITS.equal_elpd)
    return int(table.index[near].min())


def doubtful_nats(fit: AbstractFit, *, refits: bool = True) -> tuple[int, float]:
    """Rows that need refits without themselves, and their loss as they are."""
    from bayesvb.results.leave_one_out import every_row_without

    rows, nats = 0, 0.0
    for part in fit.parts:
        doubtful, weights = every_row_without(part.fit, refits=refits), fit.model.weights
        lost = doubtful.seen - doubtful.log_density
        lost = lost if weights is None else lost * weights[doubtful.at]
        rows = max(rows, int(doubtful.doubtful.sum()))
        nats += part.weight * float(np.abs(lost[doubtful.doubtful]).sum())
    return rows, nats
