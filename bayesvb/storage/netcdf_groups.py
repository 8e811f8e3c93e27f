"""HDF5 groups that hold a data set in the layout of netCDF 4.

A dimension is an HDF5 dimension scale with a number; a variable refers to the scales of its axes.
h5netcdf looks up all scales again for each variable that it writes, which took three quarters of
the time in which a fit of many small arrays was saved.

References
----------
Unidata, NetCDF file format specifications, "The NetCDF-4 format".
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    import h5py
    import xarray as xr

Scales = Mapping[str, tuple[int, "h5py.Dataset"]]
"""Number and dimension scale by the name of a dimension."""

NO_VARIABLE = "This is a netCDF dimension but not a netCDF variable."
DIMENSION, DIMENSIONS = "_Netcdf4Dimid", "_Netcdf4Coordinates"
"""Attributes with the number of the first dimension, and of all."""


def write_dataset(
    group: h5py.Group, data: xr.Dataset, above: Scales, numbers: Iterator[int]
) -> Scales:
    """Dimension scales that the group knows after the data set was written into it.

    Parameters
    ----------
    group : h5py.Group
        An empty group.
    data : xarray.Dataset
    above : mapping
        Scales of the groups that contain this one.
    numbers : iterator of int
        Numbers that no dimension of the file has.
    """
    from xarray.conventions import encode_cf_variable, encode_dataset_coordinates

    variables, attributes = encode_dataset_coordinates(data)
    _write_attributes(group, attributes)
    left = {str(name): encode_cf_variable(one, name=name) for name, one in variables.items()}
    scales = dict(above)
    for name, size in data.sizes.items():
        has_labels = str(name) in left and left[str(name)].dims == (name,)
        labels = left.pop(str(name)) if has_labels else None
        if has_labels or name not in above:
            scales[str(name)] = _write_scale(group, str(name), size, labels, next(numbers))
    for name, variable in left.items():
        # a variable that is no axis cannot have the name of one
        stored = f"_nc4_non_coord_{name}" if name in scales else name
        _write_variable(group, stored, variable, [scales[str(dim)] for dim in variable.dims])
    return scales


def _write_scale(
    group: h5py.Group, name: str, size: int, labels: xr.Variable | None, number: int
) -> tuple[int, h5py.Dataset]:
    """Number and scale of a dimension, with its labels where it has some."""
    if labels is None:
        limit = None if size else (None,)
        scale = group.create_dataset(name, (size,), ">f4", maxshape=limit, track_order=True)
        scale.make_scale(f"{NO_VARIABLE}{size:10}")
    else:
        scale = _created(group, name, labels)
        scale.make_scale(name)
        scale.attrs.create(DIMENSIONS, np.array([number], dtype=np.int32))
    scale.attrs.create(DIMENSION, np.int32(number))
    return number, scale


def _write_variable(
    group: h5py.Group, name: str, variable: xr.Variable, axes: list[tuple[int, h5py.Dataset]]
) -> None:
    """An array that refers to the scales of its axes."""
    array = _created(group, name, variable)
    for axis, (_, scale) in enumerate(axes):
        array.dims[axis].attach_scale(scale)
    if axes:
        numbers = np.array([number for number, _ in axes], dtype=np.int32)
        array.attrs.create(DIMENSIONS, numbers)
        array.attrs.create(DIMENSION, numbers[0])


def _created(group: h5py.Group, name: str, variable: xr.Variable) -> h5py.Dataset:
    """An array with its attributes. A length of zero is unlimited, as in netCDF."""
    h5py, values = importlib.import_module("h5py"), np.asarray(variable.values)
    kind = values.dtype
    if kind.kind in "UO":
        kind, values = h5py.string_dtype(), values.astype(object)
    limit = tuple(size or None for size in values.shape)
    array = group.create_dataset(
        name, values.shape, kind, values, track_order=True,
        maxshape=None if None not in limit else limit,
    )  # fmt: skip
    _write_attributes(array, variable.attrs)
    return array


def _write_attributes(owner: h5py.Group | h5py.Dataset, attributes: Mapping[str, Any]) -> None:
    """Attributes: texts, and numbers as arrays. NaN is missing whether or not it is declared."""
    for name, value in attributes.items():
        if isinstance(value, str | bytes | list):
            owner.attrs[name] = value
        elif name != "_FillValue" or not np.isnan(value):
            owner.attrs[name] = np.atleast_1d(value)
