"""ELPD results and their comparison, through the installed line of ArviZ."""

from __future__ import annotations

import importlib
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import numpy as np
import pandas as pd

from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.line_width import wrapped_text
from bayesvb.errors import DataError
from bayesvb.evaluation.stacking_weights import weighted_table
from bayesvb.numerics.arrays import RowVector
from bayesvb.storage.arviz_objects import arviz_line, coordinate, import_arviz

WEIGHT = "case_weight"
"""Coordinate of the rows' weights in ArviZ's results."""


@dataclass(frozen=True, kw_only=True)
class Elpd:
    """Expected log pointwise predictive density of one fit, in either line of ArviZ.

    Attributes
    ----------
    kind : {"loo", "waic"}
        The estimator.
    pointwise : array
        Expected log density of each row, counted once, in nats.
    p : float
        Effective number of parameters.
    n_draws : int
        Draws behind the estimate.
    warning : bool
        Whether the estimate of some row is unreliable.
    pareto_k : array, optional
        Pareto k of each row, only for LOO by ratios of draws; NaN where these are constant.
    labels : pandas.Index, optional
        Names of the rows.
    weights : array, optional
        Case weights: as many rows a row stands for.
    method : {"linear-response", "exact", "integrated", "folds", "psis"}
        Method of leave-one-out. Only ratios of draws (``"psis"``) have a Pareto k; ``n_draws`` is
        zero otherwise.
    n_refitted : int
        Rows for which linear response was not reliable: they were refitted.
    """

    kind: str
    pointwise: RowVector
    p: float
    n_draws: int = 0
    warning: bool = False
    pareto_k: RowVector | None = None
    labels: pd.Index | None = None
    weights: RowVector | None = None
    method: str = "psis"
    n_refitted: int = 0

    @property
    def elpd(self) -> float:
        """Sum over the rows, by weight."""
        return sum_and_error(self.pointwise, self.weights)[0]

    @property
    def se(self) -> float:
        """Standard error of the sum, sqrt(n) times the sd (n − 1) of the rows; NaN for one row."""
        return sum_and_error(self.pointwise, self.weights)[1]

    @property
    def n_rows(self) -> int:
        """Number of rows that count."""
        return self.pointwise.size if self.weights is None else int((self.weights > 0.0).sum())

    @property
    def by_folds(self) -> bool:
        """Whether cross-validation was used."""
        return self.method == "folds"

    @property
    def good_k(self) -> float:
        """Pareto k up to which this many draws suffice, min(1 − 1/log₁₀ S, 0.7)."""
        return min(1 - 1 / math.log10(self.n_draws), 0.7) if self.n_draws else 0.7


def elpd_data(result: Elpd) -> object:
    """The result as the installed ArviZ's own ``ELPDData``, which ``az.compare`` takes.

    Its standard error has n − 1 in the denominator in both lines, as ArviZ 1.x and R's loo have;
    ``az.loo`` of ArviZ 0.23 divides by n. A weighted row has its weight times its density, and the
    weight as a coordinate.
    """
    xr = importlib.import_module("xarray")
    n = result.pointwise.size
    rows = coordinate(pd.RangeIndex(n) if result.labels is None else result.labels)
    coords: dict[str, object] = {"obs_id": rows}
    total = result.pointwise
    if result.weights is not None:
        coords, total = coords | {WEIGHT: ("obs_id", result.weights)}, total * result.weights
    pointwise, pareto_k = (
        None if values is None else xr.DataArray(values, coords, "obs_id", name)
        for values, name in ((total, f"{result.kind}_i"), (result.pareto_k, "pareto_k"))
    )
    assert pointwise is not None
    pointwise.attrs.update({METHOD: result.method, REFITTED: result.n_refitted})
    make = _elpd_data_0 if arviz_line() == 0 else _elpd_data_1
    return make(result, pointwise, pareto_k)


def read_elpd(obj: object, name: str = "result") -> Elpd:
    """The numbers in an ArviZ ``ELPDData`` of the installed line.

    Raises
    ------
    DataError
        If it is not a pointwise LOO or WAIC result on the log scale; the message names it `name`.
    """
    kind, data = _kind(obj), cast(Any, obj)
    if kind is None:
        raise DataError(
            f"{name!r} is a {type(obj).__name__}, not a LOO or WAIC result",
            hint="pass the result of fit.loo() or fit.waic()",
        )
    old = arviz_line() == 0
    pointwise = data.get(f"{kind}_i") if old else data.elpd_i
    if pointwise is None or data.scale != "log":
        raise DataError(
            f"{name!r} has scale {data.scale!r} and {'no' if pointwise is None else 'its'} "
            "pointwise values",
            hint="compute it with pointwise=True on the log scale",
        )
    pareto_k = data.get("pareto_k") if old else data.pareto_k
    values, weights = np.asarray(pointwise, dtype=float).ravel(), None
    said = getattr(pointwise, "attrs", {})
    if WEIGHT in getattr(pointwise, "coords", ()):
        weights = np.asarray(pointwise[WEIGHT], dtype=float)
        values = np.divide(values, weights, out=np.zeros_like(values), where=weights > 0.0)
    return Elpd(
        kind=kind,
        pointwise=values,
        p=float(data[f"p_{kind}"] if old else data.p),
        n_draws=int(data.n_samples),
        warning=bool(data.warning),
        pareto_k=None if pareto_k is None else np.asarray(pareto_k, dtype=float).ravel(),
        weights=weights,
        method=said.get(METHOD, "psis"),
        n_refitted=int(said.get(REFITTED, 0)),
    )


def labels_of(obj: object) -> np.ndarray | None:
    """Labels of the rows of an ArviZ ``ELPDData``; None if it has none."""
    kind, data = _kind(obj), cast(Any, obj)
    pointwise = data.get(f"{kind}_i") if arviz_line() == 0 else data.elpd_i
    known = "obs_id" in getattr(pointwise, "coords", ())
    return np.asarray(pointwise["obs_id"]) if known else None


def compare(results: Mapping[str, object]) -> pd.DataFrame:
    """Fits ranked by expected log predictive density, as by ``az.compare``.

    Parameters
    ----------
    results : mapping
        Name to the LOO or WAIC result of a fit, ArviZ's or an ``Elpd``; all of one kind, on the
        same rows.

    Returns
    -------
    pandas.DataFrame
        Index ``name``, best fit first, ties in the order given. Columns ``rank`` (0 is the best),
        ``elpd``, ``se``, ``p``, ``elpd_diff`` (difference from the best fit: zero or negative),
        ``dse`` (its standard error, with n in the denominator as in ArviZ), ``weight`` (stacking)
        and ``warning``. Nothing is rounded.

    Raises
    ------
    DataError
        If there is nothing to compare, or the results differ in kind, number of rows or weights.

    References
    ----------
    Yao, Vehtari, Simpson, Gelman (2018), Using stacking to average Bayesian predictive
    distributions, Bayesian Analysis 13(3), doi:10.1214/17-BA1091, equation (4).
    """
    elpds = {
        name: result if isinstance(result, Elpd) else read_elpd(result, name)
        for name, result in results.items()
    }
    _check_comparable(elpds)
    order = sorted(elpds, key=lambda name: -elpds[name].elpd)
    weights = elpds[order[0]].weights
    pointwise = {name: elpds[name].pointwise for name in order}
    each = np.ones(len(elpds[order[0]].pointwise)) if weights is None else weights
    table = weighted_table(pointwise, each)
    columns = {
        "rank": range(len(order)),
        "elpd": [elpds[name].elpd for name in order],
        "se": [elpds[name].se for name in order],
        "p": [elpds[name].p for name in order],
        "elpd_diff": -table["elpd_diff"].abs().to_numpy() + 0.0,
        "dse": table["dse"].to_numpy(),
        "weight": table["weight"].to_numpy(),
        "warning": [elpds[name].warning for name in order],
    }
    return pd.DataFrame(columns, index=pd.Index(order, name="name"))


def _elpd_data_0(result: Elpd, pointwise: object, pareto_k: object) -> object:
    """ELPDData of ArviZ 0.23, a Series whose first label says the kind."""
    kind = result.kind
    fields: dict[str, object] = {
        f"elpd_{kind}": result.elpd,
        "se": result.se,
        f"p_{kind}": result.p,
        "n_samples": result.n_draws,
        "n_data_points": result.n_rows,
        "warning": result.warning,
        f"{kind}_i": pointwise,
    }
    if kind == "loo":
        ratios = {} if pareto_k is None else {"pareto_k": pareto_k}
        fields |= {**ratios, "scale": "log", "good_k": result.good_k}
    else:
        fields["scale"] = "log"
    import_arviz()
    made = saying_how(importlib.import_module("arviz.stats.stats_utils").ELPDData, result.method)
    return cast(object, made(data=list(fields.values()), index=list(fields)))


def _elpd_data_1(result: Elpd, pointwise: object, pareto_k: object) -> object:
    """ELPDData of ArviZ 1.x, a dataclass for each kind."""
    loo = result.kind == "loo"
    make = importlib.import_module("arviz_stats.utils").ELPDDataLOO if loo else _waic_class()
    made: object = saying_how(make, result.method)(
        elpd=result.elpd,
        se=result.se,
        p=result.p,
        n_samples=result.n_draws,
        n_data_points=result.n_rows,
        scale="log",
        warning=result.warning,
        good_k=result.good_k if loo else None,
        elpd_i=cast(Any, pointwise).rename("elpd_i"),
        pareto_k=pareto_k,
    )
    return made


@cache
def _waic_class() -> type:
    """The class that ArviZ 1.x lacks: the base, with WAIC as the name of the estimator."""
    base = importlib.import_module("arviz_stats.utils").ELPDData
    return type("ELPDDataWAIC", (base,), {"_kind": "waic", "_display_kind": "waic"})


def _kind(obj: object) -> str | None:
    """The estimator behind an ELPDData of the installed line, None for anything else."""
    if type(obj).__name__ == "ELPDData" and isinstance(obj, pd.Series):
        kind = str(obj.index[0]).removeprefix("elpd_")
    else:
        kind = getattr(obj, "kind", None) or ""
    return kind if kind in ("loo", "waic") and hasattr(obj, "n_data_points") else None


def _check_comparable(elpds: Mapping[str, Elpd]) -> None:
    """Raise for results without a common scale."""
    if not elpds:
        raise DataError("there is nothing to compare", hint="give {name: fit.loo(), ...}")
    kinds = {name: elpd.kind for name, elpd in elpds.items()}
    if len(set(kinds.values())) > 1:
        raise DataError(f"the results mix estimators: {kinds}", hint="use loo for all of them")
    rows = {name: elpd.pointwise.size for name, elpd in elpds.items()}
    if len(set(rows.values())) > 1:
        raise DataError(
            f"the results have different numbers of rows: {rows}",
            hint="fit all models to the same rows: remove incomplete ones beforehand",
        )
    (name, first), *others = ((name, elpd.weights) for name, elpd in elpds.items())
    for other, weights in others:
        if not np.array_equal(1.0 if first is None else first, 1.0 if weights is None else weights):
            raise DataError(
                f"the rows of {name!r} and {other!r} have different weights",
                hint="fit all models with the same weights",
            )


METHOD, REFITTED = "left_out_by", "n_refitted"
"""Attributes of the pointwise values that name the method."""

COMPUTED = re.compile(r"^Computed from .*$", re.MULTILINE)
"""First line of both lines of ArviZ; without draws it would report 0 posterior samples."""

HOW = {
    "linear-response": "by a first-order approximation (linear response)",
    "exact": "by refits",
    "integrated": "without approximation (posterior integrated over scales)",
    "folds": "by cross-validation, with a refit without each fold",
}
"""Text by method of leave-one-out."""


def saying_how(base: type, method: str) -> type:
    """A class of results of ArviZ, or a subclass that names the method instead of draws.

    Parameters
    ----------
    base : type
        ``ELPDData`` of ArviZ 0.23, or of 1.x one of its kinds.
    method : {"linear-response", "exact", "integrated", "folds", "psis"}
        Ratios of draws (``"psis"``) are what ArviZ prints.
    """
    return _saying_how(base) if method in HOW else base


@cache
def _saying_how(base: Any) -> type:
    """A subclass of the same name, so that tools of ArviZ accept it."""

    def text(self: object) -> str:
        return COMPUTED.sub(lambda _: _first_line(self), base.__str__(self), count=1)

    def copied(self: object, *args: object, **kwargs: object) -> object:
        return _saying_how(base)(base.copy(self, *args, **kwargs))

    def reduced(self: object, protocol: object) -> tuple[object, ...]:
        _, (_, *args), *rest = base.__reduce_ex__(self, 2)
        return (_blank, (base, *args), *rest)

    methods = {"__str__": text, "__repr__": text, "__reduce_ex__": reduced, "__doc__": base.__doc__}
    if hasattr(base, "copy"):
        methods["copy"] = copied
    return type(base.__name__, (base,), methods)


def _blank(base: object, *args: object) -> object:
    """An object of the subclass without state: the first step of unpickling."""
    made = _saying_how(base)
    return made.__new__(made, *args)


def _first_line(result: Any) -> str:
    """Number of observations, and the method of leave-one-out."""
    pointwise = result.get("loo_i") if hasattr(result, "get") else result.elpd_i
    said = getattr(pointwise, "attrs", {})
    method, n_refitted = said.get(METHOD, ""), int(said.get(REFITTED, 0))
    again = ""
    if n_refitted and method == "linear-response":
        again = f"; {n_refitted} by a refit"
    how = HOW.get(method, "without draws")
    return wrapped_text(f"Leave-one-out of {result.n_data_points:,} observations {how}{again}.")
