"""Files whose checksum fits, but which no fit has written."""

import copy
import json

import numpy as np
import pytest
import xarray as xr

import bayesvb as bvb
from bayesvb.errors import BayesVBError, DataError
from bayesvb.estimators.saved_schema import check_description
from bayesvb.storage.netcdf import read_tree, write_tree

WRONG = [None, True, -1, 0, 10**9, 10**30, float("nan"), "", "x", "../../etc/passwd", [], [0], {}]


@pytest.fixture(scope="module")
def saved(regimes_fit, tmp_path_factory):
    """What a file of a fit holds."""
    return read_tree(regimes_fit.save(tmp_path_factory.mktemp("saved") / "fit.nc"))


@pytest.fixture
def described(saved):
    return json.loads(saved.attrs["fit"])


def places(value, above=()):
    """Every place of a description, and the containers first."""
    items = value.items() if isinstance(value, dict) else enumerate(value[:2])
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, key))


def with_other(value, place, other):
    changed = copy.deepcopy(value)
    at = changed
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = other
    return changed


def test_a_description_passes(described):
    check_description(described)


@pytest.mark.heavy
@pytest.mark.parametrize("other", WRONG, ids=str)
def test_any_other_description_is_refused_by_name_or_is_one(described, other):
    for place in places(described):
        if place[0] == "options":
            continue  # arguments of the model, which checks them
        changed = with_other(described, place, other)
        try:
            check_description(changed)
        except DataError as error:
            assert str(place[0]) in str(error)


REFUSED = {
    "a number as text": {"seed": "1"},
    "no parts": {"parts": []},
    "no restarts": {"restarts": {}},
    "a seed below zero": {"seed": -1},
    "a million components": {"options": {"n_components": 10**6}},
    "an unknown gate": {"options": {"gate": "../gate"}},
    "priors of text": {"options": {"priors": "x"}},
    "no formula": {"formula": None},
    "no model": {"model": ["DensityRegression"]},
    "no covariance": {"covariance": "none"},
    "a formula that hangs": {"formula": "y ~ I(I(9**9)**I(9**9) + x)"},
}


def changed_file(saved, folder, change):
    tree = saved.copy(deep=True)
    change(tree)
    return write_tree(tree, folder / "changed.nc")


@pytest.mark.heavy
@pytest.mark.parametrize("change", REFUSED.values(), ids=list(REFUSED))
def test_what_no_fit_says_of_itself_is_refused(saved, described, tmp_path, change):
    def describe(tree):
        tree.attrs["fit"] = json.dumps({**described, **change})

    with pytest.raises(BayesVBError):
        bvb.load(changed_file(saved, tmp_path, describe))


@pytest.mark.heavy
@pytest.mark.parametrize("part", ["draws.precision", "sums.experts.weight", "response"])
@pytest.mark.parametrize("how", ["absent", "shorter", "not a number", "other axes", "another"])
def test_arrays_that_no_fit_has_are_refused(saved, tmp_path, part, how):
    def change(tree):
        state = tree["fit_state"].to_dataset()
        (name,) = [str(n) for n in state if str(n).endswith(part)]
        values = state[name].to_numpy()
        other = {
            "absent": None,
            "shorter": values[:-1],
            "not a number": np.full_like(values, np.nan),
            "other axes": np.zeros((2, 2, 2, 2, 2)),
            "another": values,
        }[how]
        state = state.drop_vars(name)
        if how == "another":
            state["part1.no such thing"] = xr.DataArray(values)
        if other is not None:
            axes = [f"{name}_axis{axis}" for axis in range(other.ndim)]
            state[name] = xr.DataArray(other, dims=axes)
        tree["fit_state"] = xr.DataTree(state)

    with pytest.raises(DataError, match=r"changed\.nc.*does not hold a fit"):
        bvb.load(changed_file(saved, tmp_path, change))


@pytest.mark.heavy
def test_an_unknown_group_is_refused(saved, tmp_path):
    def change(tree):
        tree["elsewhere"] = xr.DataTree(xr.Dataset({"a": ("x", [1.0])}))

    with pytest.raises(DataError, match="has a group 'elsewhere'"):
        bvb.load(changed_file(saved, tmp_path, change))


COLUMNS = {
    "a zone that is a path": {"kind": "zoned", "zone": "../../../etc/passwd", "unit": "ns"},
    "a zone that is none": {"kind": "zoned", "zone": "Europe/Nowhere", "unit": "ns"},
    "a dtype of objects": {"kind": "number", "dtype": "O"},
    "a dtype of long texts": {"kind": "number", "dtype": "<U999999999"},
    "a dtype with a zone": {"kind": "text", "dtype": "datetime64[ns, ../x]", "levels": []},
    "a masked dtype": {"kind": "masked", "dtype": "category"},
    "an unknown kind": {"kind": "pickle"},
    "a list": [],
}


@pytest.mark.heavy
@pytest.mark.parametrize("column", COLUMNS.values(), ids=list(COLUMNS))
def test_columns_that_no_frame_has_are_refused(saved, tmp_path, column):
    def change(tree):
        frame = tree["data_frame"].to_dataset()
        schema = json.loads(str(frame["schema"].item())) | {"column_0": column}
        frame["schema"] = ((), np.array(json.dumps(schema), dtype=object))
        tree["data_frame"] = xr.DataTree(frame)

    with pytest.raises(DataError, match=r"changed\.nc.*does not hold a fit"):
        bvb.load(changed_file(saved, tmp_path, change))


@pytest.mark.heavy
def test_ranges_that_take_no_place_are_refused(saved, tmp_path):
    def change(tree):
        frame = tree["data_frame"].to_dataset()
        schema = json.loads(str(frame["schema"].item()))
        schema["index"] = {"names": ["null"], "range": [0, 10**12, 1]}
        frame["schema"] = ((), np.array(json.dumps(schema), dtype=object))
        tree["data_frame"] = xr.DataTree(frame)

    with pytest.raises(DataError, match="an index is the range"):
        bvb.load(changed_file(saved, tmp_path, change))
