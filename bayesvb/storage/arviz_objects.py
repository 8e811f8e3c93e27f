"""ArviZ objects in either line: InferenceData on ArviZ 0.23, xarray.DataTree on ArviZ 1.x."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import json
import warnings
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Shaped

from bayesvb.errors import DataError

if TYPE_CHECKING:
    import xarray as xr

GROUPS: tuple[str, ...] = (  # the ArviZ schema, in its own order
    "posterior",
    "posterior_predictive",
    "predictions",
    "log_likelihood",
    "log_prior",
    "sample_stats",
    "prior",
    "prior_predictive",
    "sample_stats_prior",
    "unconstrained_posterior",
    "unconstrained_prior",
    "observed_data",
    "constant_data",
    "predictions_constant_data",
)

UNSAMPLED = frozenset({"observed_data", "constant_data", "predictions_constant_data"})


RESERVED = ("chain", "draw", "obs_id", "group_id", "iteration", "elbo")
"""Names in the ArviZ object that no column can have as well."""


@functools.cache  # it reads a file of the installation
def arviz_line() -> int:
    """Major version of the installed ArviZ: 0 or 1.

    Raises
    ------
    DataError
        If ArviZ is not installed.
    """
    try:
        return int(importlib.metadata.version("arviz").split(".")[0])
    except importlib.metadata.PackageNotFoundError:
        raise DataError("ArviZ is not installed", hint="pip install arviz") from None


def import_arviz() -> ModuleType:
    """The ``arviz`` module, without the notice that 0.23 prints about its successor."""
    arviz_line()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        return importlib.import_module("arviz")


def to_arviz(
    groups: Mapping[str, Mapping[str, object] | xr.Dataset],
    *,
    dims: Mapping[str, Sequence[str]] | None = None,
    coords: Mapping[str, Sequence[object] | np.ndarray | pd.Index | range] | None = None,
    attrs: Mapping[str, object] | None = None,
    kind: str = "auto",
    n_chains: int = 1,
) -> object:
    """InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x) of draws.

    Parameters
    ----------
    groups : mapping
        ArviZ group to its variables. Arrays of sampled groups start with the draws,
        ``(draw, ...)``; a chain axis is put in front. A Dataset is taken as it is.
    dims : mapping, optional
        Names of a variable's axes after the draws; none for a scalar per draw.
    coords : mapping, optional
        Labels along a dim; unused ones are dropped.
    attrs : mapping, optional
        Attributes of the root; see `encode_attributes`.
    kind : {"auto", "inferencedata", "datatree"}
        ``"auto"`` is the class that functions of the installed ArviZ accept.
    n_chains : int
        Chains that the draws are from, one after the other; it divides their number.

    Raises
    ------
    DataError
        If a group is unknown to ArviZ, or an array does not have the dims named for it.

    Examples
    --------
    >>> tree = to_arviz({"posterior": {"beta": np.zeros((4, 2))}}, dims={"beta": ["term"]},
    ...                 coords={"term": ["Intercept", "x"]}, kind="datatree")
    >>> dict(group(tree, "posterior").sizes)
    {'chain': 1, 'draw': 4, 'term': 2}
    """
    import xarray as xr

    unknown = sorted(set(groups) - set(GROUPS))
    if unknown:
        raise DataError(f"groups={unknown} are not ArviZ groups", hint=f"use {', '.join(GROUPS)}")
    stamp = _stamp()
    labels = {dim: coordinate(values) for dim, values in (coords or {}).items()}
    datasets = {}
    for name in (name for name in GROUPS if name in groups and len(groups[name])):
        data = groups[name]
        if not isinstance(data, xr.Dataset):
            chains = None if name in UNSAMPLED else n_chains
            data = _dataset(data, dims or {}, labels, chains)
        sample_dims = {} if name in UNSAMPLED else {"sample_dims": ["chain", "draw"]}
        datasets[name] = data.assign_attrs(stamp | sample_dims)
    interface = {name.replace("inference_library", "modeling_interface"): value
                 for name, value in stamp.items()}  # fmt: skip
    return _wrap(datasets, stamp | interface | encode_attributes(attrs or {}), kind)


def group(obj: object, name: str) -> xr.Dataset:
    """The named group of either object, as a Dataset.

    Raises
    ------
    DataError
        If the object has no such group.
    """
    import xarray as xr

    names = group_names(obj)
    if name not in names:
        raise DataError(f"group {name!r} is missing", hint=f"there are {', '.join(names)}")
    node = cast(Any, obj)[name]
    return cast("xr.Dataset", node.to_dataset() if isinstance(node, xr.DataTree) else node)


def group_names(obj: object) -> list[str]:
    """Names of the groups of either object."""
    import xarray as xr

    names: Iterable[str] = obj.children if isinstance(obj, xr.DataTree) else cast(Any, obj).groups()
    return list(names)


def as_tree(obj: object) -> xr.DataTree:
    """Either object as a DataTree, with the attributes of the root."""
    import xarray as xr

    if isinstance(obj, xr.DataTree):
        return obj
    datasets = {name: group(obj, name) for name in group_names(obj)}
    return _wrap_tree(datasets, cast(Any, obj).attrs)


def from_tree(tree: xr.DataTree, kind: str = "auto") -> object:
    """The ArviZ object in a tree: its ArviZ groups in the order of the schema, nothing else."""
    datasets = {name: tree[name].to_dataset() for name in GROUPS if name in tree.children}
    return _wrap(datasets, tree.attrs, kind)


def check_names(values: Mapping[str, np.ndarray]) -> None:
    """Refuse a response with a name that ArviZ needs for itself."""
    taken = [name for name in values if name in RESERVED]
    if taken:
        raise DataError(
            f"the response `{taken[0]}` has a name that ArviZ needs for itself",
            hint="rename the column",
        )
    parted = [name for name in values if "/" in name or name == "."]
    if parted:
        raise DataError(
            f"the response `{parted[0]}` has a name that ArviZ and files do not allow",
            hint="rename the column: a name contains no / and is not a single dot",
        )


def encode_attributes(attrs: Mapping[str, object]) -> dict[str, str | int | float]:
    """Attributes that every file format keeps: text and numbers as they are, the rest as JSON.

    Booleans, None, lists and mappings become JSON text (netCDF turns a list of one into its
    element, and refuses booleans and None).

    Examples
    --------
    >>> encode_attributes({"seed": None, "converged": True, "elbo": -12.5, "levels": ["a"]})
    {'seed': 'null', 'converged': 'true', 'elbo': -12.5, 'levels': '["a"]'}
    """
    return {name: _plain(value) for name, value in attrs.items()}


def coordinate(values: Sequence[object] | np.ndarray | pd.Index | range) -> np.ndarray:
    """Labels of a dim as xarray and netCDF hold them: numbers, dates without zone, else text.

    The levels of a MultiIndex are joined by a comma; dates with a zone are given in UTC.

    Examples
    --------
    >>> coordinate(pd.MultiIndex.from_product([["a"], [1, 2]])).tolist()
    ['a, 1', 'a, 2']
    """
    index = values if isinstance(values, pd.Index) else pd.Index(values)
    if isinstance(index, pd.MultiIndex):
        return np.array([", ".join(map(str, label)) for label in index], dtype=str)
    if isinstance(index, pd.DatetimeIndex) and index.tz is not None:
        index = index.tz_convert("UTC").tz_localize(None)
    array = index.to_numpy()
    return array if array.dtype.kind in "biufMm" else np.array([str(v) for v in array], dtype=str)


def _plain(value: Any) -> str | int | float:
    """One attribute, as text or a Python number."""
    if isinstance(value, np.generic | np.ndarray):
        value = value.tolist()
    plain = isinstance(value, str | int | float) and not isinstance(value, bool)
    return value if plain else json.dumps(value)


def _stamp() -> dict[str, str]:
    """Date and library that created the object, in ArviZ's own words."""
    stamp = {"created_at": datetime.now(UTC).isoformat(), "inference_library": "bayesvb"}
    try:
        stamp["inference_library_version"] = importlib.metadata.version("bayesvb")
    except importlib.metadata.PackageNotFoundError:  # run from a checkout that is not installed
        pass
    return stamp


def _dataset(
    arrays: Mapping[str, object],
    dims: Mapping[str, Sequence[str]],
    labels: Mapping[str, np.ndarray],
    n_chains: int | None,
) -> xr.Dataset:
    """One group, of draws in chains or of no draws; every dim gets an index: ArviZ wants one."""
    import xarray as xr

    variables = {}
    for name, values in arrays.items():
        names = (*(() if n_chains is None else ("draw",)), *dims.get(name, ()))
        array = np.asarray(values)
        if len(names) != array.ndim:
            raise DataError(
                f"{name!r} has shape {array.shape}, but its dims are {names}",
                hint=f"give the names of its other axes: dims={{{name!r}: ...}}",
            )
        if n_chains is None:
            variables[name] = names, array
        else:
            variables[name] = ("chain", *names), in_chains(array, n_chains)
    used = {dim for names, _ in variables.values() for dim in names}
    data = xr.Dataset(variables, {dim: label for dim, label in labels.items() if dim in used})
    return data.assign_coords({dim: np.arange(data.sizes[dim]) for dim in used - set(data.coords)})


def in_chains(
    draws: Shaped[np.ndarray, "draws ..."], n_chains: int
) -> Shaped[np.ndarray, "chains each ..."]:
    """Draws that stand chain after chain, with an axis of chains in front."""
    return draws.reshape(n_chains, -1, *draws.shape[1:])


def _wrap(datasets: Mapping[str, xr.Dataset], attrs: Mapping[Any, Any], kind: str) -> object:
    """The datasets as the object asked for."""
    if kind not in ("auto", "inferencedata", "datatree"):
        raise DataError(f"kind={kind!r} is unknown", hint="use auto, inferencedata or datatree")
    if kind == "datatree" or (kind == "auto" and arviz_line() > 0):
        return _wrap_tree(datasets, attrs)
    if arviz_line() > 0:
        raise DataError("kind='inferencedata' needs ArviZ 0.x", hint="use kind='datatree'")
    return import_arviz().InferenceData(attrs=dict(attrs), **datasets)


def _wrap_tree(datasets: Mapping[str, xr.Dataset], attrs: Mapping[object, object]) -> xr.DataTree:
    """The datasets as children of a root that holds the attributes."""
    import xarray as xr

    tree = xr.DataTree.from_dict(dict(datasets))
    tree.attrs.update(attrs)
    return tree
