"""Schema of a saved fit: its description, the names of its arrays and their shapes."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Shaped

from bayesvb.errors import DataError
from bayesvb.storage.json_schema import ANYTHING, ListOf, MapOf, OneOf, Record, check_json

Arrays = Mapping[str, Shaped[np.ndarray, "..."]]

Description = Mapping[str, Any]
"""Description of a saved fit, or of a part of it, as JSON has it."""

CELL = OneOf((None, bool, float, str))

RESPONSE = Record({"n_iter": int, "failure": OneOf((None, str))})

ROBUST = Record({"n_clusters": float, "clustered": bool})

SAMPLER = Record(
    {
        "method": str,
        "n_drawn": int,
        "effective": float,
        "khat": OneOf((None, float)),
        "r_hat": OneOf((None, float)),
        "n_chains": int,
        "interrupted": bool,
    }
)

PART = Record(
    {
        "number": int,
        "weight": float,
        "order": ListOf(int),
        "response": RESPONSE,
        "converged": bool,
        "n_iter": int,
    },
    {
        "robust": OneOf((None, ROBUST)),
        "sampler": OneOf((None, SAMPLER)),
        "n_chains": int,
        "findings": MapOf(float),
        "restart": int,
    },
)

AUDIT = Record(
    {
        "ranks": ListOf(ListOf(float)),
        "ranked": ListOf(float),
        "quantities": ListOf(ListOf(str)),
        "replications": MapOf(ListOf(CELL)),
    }
)

DESCRIPTION = Record(
    {
        "model": str,
        "formula": str,
        "options": MapOf(ANYTHING),
        "parts": ListOf(PART),
        "combined": bool,
        "covariance": str,
        "traces": ListOf(str),
        "restarts": MapOf(ListOf(CELL)),
        "seconds": float,
        "seed": int,
    },
    {
        "method": str,
        "method_options": MapOf(CELL),
        "audit": OneOf((None, AUDIT)),
        "read_from": str,
        "units": MapOf(str),
        "missing": MapOf(int),
        "automatic": bool,
        "correlated_groups": bool,
        "tol": float,
        "max_iter": int,
        "start_code": str,
    },
)
"""Schema of the description in files of all versions; entries of later versions are optional."""

NAME = re.compile(
    r"part\d{1,9}\.[\w.]{1,200}|trace\.\w{1,100}|complete|weights|all_rows|scales\.\w{1,100}"
    r"|sample\.\w{1,20}"
)
"""Names of arrays of the state."""

COVARIANCES = ("mean-field", "linear-response", "importance", "exact", "robust", "engine")
"""Sources of the spread of the draws."""

MOST_PARTS = 10_000
"""Restarts and components that are read; a fit has tens."""


def check_description(record: Any) -> None:
    """Raise unless a fit can describe itself so.

    Raises
    ------
    DataError
        Naming the entry.
    """
    check_json(record, DESCRIPTION, "fit")
    for name, value in record["options"].items():
        _require(not isinstance(value, int) or abs(value) <= MOST_PARTS, f"options.{name}", value)
    parts = record["parts"]
    _require(0 < len(parts) <= MOST_PARTS, "fit.parts", len(parts))
    _require(record["combined"] or len(parts) == 1, "fit.combined", record["combined"])
    _require(record["covariance"] in COVARIANCES, "fit.covariance", record["covariance"])
    _require(0 <= record["seed"] < 2**63, "fit.seed", record["seed"])
    lengths = {len(column) for column in record["restarts"].values()}
    _require(len(lengths) == 1 and 0 < max(lengths) <= MOST_PARTS, "fit.restarts", sorted(lengths))
    (n_restarts,) = lengths
    for part in parts:
        order = part["order"]
        restart = part.get("restart", part["number"])
        _require(1 <= restart <= n_restarts, "fit.parts.number", restart)
        _require(1 <= part["number"] <= MOST_PARTS, "fit.parts.number", part["number"])
        _require(sorted(order) == list(range(len(order))), "fit.parts.order", order)
        _require(part.get("n_chains", 1) >= 1, "fit.parts.n_chains", part.get("n_chains"))
        sampler = part.get("sampler")
        _require(sampler is None or sampler["n_chains"] >= 1, "fit.parts.sampler", sampler)
    numbers = [part["number"] for part in parts]
    _require(len(set(numbers)) == len(numbers), "fit.parts.number", numbers)


def check_state(state: Arrays, record: Description) -> None:
    """Raise unless the arrays have the names and axes that the description speaks of.

    Raises
    ------
    DataError
        Naming the array.
    """
    for name, array in state.items():
        _require(NAME.fullmatch(name) is not None, "name of an array", name)
        _require(array.dtype.kind in "iuf", f"type of {name}", array.dtype)
    _require("complete" in state, "complete", "not there")
    _check_one_axis(state, "complete")
    _check_one_axis(state, "weights")
    _check_one_axis(state, "all_rows")
    if "read_from" in record:
        for name in ("sample.counts", "sample.learned"):
            _require(name in state, name, "not there")
            _check_one_axis(state, name)
            _require(bool(np.isfinite(state[name]).all()), f"values of {name}", "not finite")
    if "all_rows" in state:
        rows = state["all_rows"]
        _require(len(rows) == 2 and bool(((rows >= 0) & (rows < 1e18)).all()), "all_rows", rows)
    for key in record["traces"]:
        if f"trace.{key}" not in state:
            raise KeyError(f"trace.{key}")
        _check_one_axis(state, f"trace.{key}")
        _require(len(state[f"trace.{key}"]) > 0, f"length of trace.{key}", 0)
    for part in record["parts"]:
        for name in ("response", "robust"):
            _check_square(state, f"part{part['number']}.{name}")


def _check_one_axis(state: Arrays, name: str) -> None:
    if name in state:
        _require(state[name].ndim == 1, f"axes of {name}", state[name].ndim)
        _require(not np.isnan(state[name]).any(), f"values of {name}", "not a number")


def _check_square(state: Arrays, name: str) -> None:
    if name in state:
        shape = state[name].shape
        _require(len(shape) == 2 and shape[0] == shape[1], f"shape of {name}", shape)
        _require(bool(np.isfinite(state[name]).all()), f"values of {name}", "not finite")


def check_same_shapes(arrays: Arrays, expected: Arrays, what: str, *, skipped: int = 0) -> None:
    """Raise unless arrays of these names have these shapes, but for the first few axes.

    Raises
    ------
    DataError
        Naming the array.
    """
    _require(set(arrays) == set(expected), f"names of {what}", sorted(arrays))
    for name, array in arrays.items():
        shape, other = array.shape, expected[name].shape
        same = len(shape) == len(other) and shape[skipped:] == other[skipped:]
        _require(same, f"shape of {what} {name!r}", shape)


def check_arrays(arrays: Arrays, expected: Mapping[str, Sequence[int]], what: str) -> None:
    """Raise unless the arrays have exactly these names and shapes.

    Raises
    ------
    DataError
        Naming the array.
    """
    _require(set(arrays) == set(expected), f"names of {what}", sorted(arrays))
    for name, shape in expected.items():
        _require(
            arrays[name].shape == tuple(shape), f"shape of {what} {name!r}", arrays[name].shape
        )


def _require(holds: bool, what: str, value: object) -> None:
    if not holds:
        text = repr(value)
        raise DataError(f"{what} is {text if len(text) < 100 else text[:97] + '...'}")
