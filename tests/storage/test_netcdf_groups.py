"""The layout of a file, beside that which xarray and h5netcdf write of the same tree."""

import io
from importlib import import_module

import h5netcdf
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesvb.storage.netcdf import MARK, SEALED, write_tree
from bayesvb.storage.sealing import unseal

ENGINE = "h5netcdf"


@pytest.fixture
def tree(rng):
    """Labels and none, axes of a parent, no rows, texts, times, truth values, shared names."""
    posterior = xr.Dataset(
        {
            "beta": (("draw", "term"), rng.normal(size=(3, 2))),
            "square": (("draw", "draw2"), np.eye(3)),
            "empty": (("none", "term"), np.zeros((0, 2))),
            "seen": ("draw", [True, False, True]),
            "when": ("draw", pd.date_range("2020-01-01", periods=3)),
            "text": ((), np.array("größe ≤ 3", dtype=object)),
            "gap": ("draw", [1.0, np.nan, -np.inf]),
            "small": ((), np.int8(3)),
        },
        {"term": ["Intercept", "x"], "draw": [0, 1, 2], "half": ("draw", [0.0, 0.5, 1.0])},
    )
    inner = xr.Dataset({"count": ("draw", [1, 2, 3]), "rest": ("left", [1.5, 2.5])})
    tree = xr.DataTree.from_dict({"posterior": posterior, "posterior/inner": inner})
    tree.attrs = {"formula": "y ~ größe", "seed": 3, "elbo": -1.5, "text": ""}
    tree["posterior"].attrs["sample_dims"] = ["chain", "draw"]
    return tree


def layout(content):
    """Axes, shapes and types of every group, with the numbers of the dimensions."""
    found = {}

    def read(group):
        found[group.name] = {name: one.size for name, one in group.dimensions.items()}
        for name, one in group.variables.items():
            found[f"{group.name}/{name}"] = (one.dimensions, one.shape, one.dtype)
        for inner in group.groups.values():
            read(inner)

    with h5netcdf.File(io.BytesIO(content), "r") as file:
        read(file)
    return found


def test_the_layout_is_that_of_h5netcdf(tree, tmp_path):
    content, _ = unseal(write_tree(tree, tmp_path / "fit.nc").read_bytes())
    tree.to_netcdf(tmp_path / "xarray.nc", engine=ENGINE)
    if xr.__version__ >= "2025":  # before, groups repeat dimensions of their parents
        assert layout(content) == layout((tmp_path / "xarray.nc").read_bytes())
    with xr.open_datatree(io.BytesIO(content), engine=ENGINE) as back:
        assert (back.attrs.pop(MARK), back.attrs.pop(SEALED)) == (1, 1)
        xr.testing.assert_identical(back.load(), tree)


def test_each_array_names_the_numbers_of_its_axes(tree, tmp_path):
    content, _ = unseal(write_tree(tree, tmp_path / "fit.nc").read_bytes())
    with import_module("h5py").File(io.BytesIO(content)) as file:
        group = file["posterior"]
        numbers = {name: int(group[name].attrs["_Netcdf4Dimid"]) for name in ("draw", "term")}
        assert len(set(numbers.values())) == 2
        axes = group["beta"].attrs["_Netcdf4Coordinates"].tolist()
        assert axes == [numbers["draw"], numbers["term"]]
        assert [axis[0].name for axis in group["beta"].dims] == [
            "/posterior/draw",
            "/posterior/term",
        ]
