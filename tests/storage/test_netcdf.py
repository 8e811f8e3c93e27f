import json
import os
import pickle
import subprocess
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import DataError
from bayesvb.evaluation.information_criteria import loo
from bayesvb.storage import netcdf as storage
from bayesvb.storage.arviz_objects import as_tree, from_tree, group, group_names, to_arviz
from bayesvb.storage.netcdf import (
    check_writable,
    dataset_to_frame,
    frame_to_dataset,
    read_tree,
    write_tree,
)

OTHER = os.environ.get("BAYESVB_OTHER_PYTHON")


def fit(rng):
    """An ArviZ object with the kinds of arrays and attributes that a fit has."""
    log_lik = rng.normal(-1, 0.1, size=(100, 7))
    return to_arviz(
        {
            "posterior": {"beta": rng.normal(size=(100, 2)), "sigma": rng.gamma(1, size=100)},
            "log_likelihood": {"y": log_lik},
            "observed_data": {"y": rng.normal(size=7)},
        },
        dims={"beta": ["term"], "y": ["obs_id"]},
        coords={"term": ["Intercept", "größe ≤ 3"], "obs_id": pd.Index(list("abcdefg"))},
        attrs={"formula": "y ~ größe", "seed": 3, "elbo": -1.5, "levels": ["a"], "text": ""},
    )


@pytest.fixture
def tree(rng):
    tree = as_tree(fit(rng)).copy()
    tree["model"] = xr.DataTree(xr.Dataset({"scale": ("term", [1.0, np.nan])}))
    tree["model/inner"] = xr.DataTree(xr.Dataset({"count": ((), 3)}))
    return tree


# -- files --------------------------------------------------------------------------------------


def test_a_tree_comes_back(tree, tmp_path):
    path = write_tree(tree, tmp_path / "fit.nc")
    assert path == tmp_path / "fit.nc"
    back = read_tree(path)
    xr.testing.assert_identical(back, tree)
    assert back.attrs == tree.attrs
    assert {type(value) for value in back.attrs.values()} == {str, int, float}
    assert back["posterior"].attrs["sample_dims"] == ["chain", "draw"]


def test_the_arviz_object_comes_back(rng, tmp_path):
    obj = fit(rng)
    back = from_tree(read_tree(write_tree(as_tree(obj), tmp_path / "fit.nc")))
    assert type(back) is type(obj)
    assert group_names(back) == group_names(obj)
    assert back.attrs == obj.attrs
    for name in group_names(obj):
        xr.testing.assert_identical(group(back, name), group(obj, name))


def test_the_tree_is_left_alone(tree, tmp_path):
    before = tree.copy(deep=True)
    write_tree(tree, tmp_path / "fit.nc")
    assert tree.attrs == before.attrs
    xr.testing.assert_identical(tree, before)


def test_the_file_can_be_replaced_after_reading(tree, tmp_path):
    path = write_tree(tree, tmp_path / "fit.nc")
    opened = read_tree(path)
    xr.testing.assert_identical(read_tree(write_tree(opened, path)), tree)


def test_long_text_comes_back(tmp_path):
    text = "é" * 200_000
    tree = xr.DataTree(xr.Dataset({"spec": ((), np.array(text, dtype=object))}))
    tree.attrs["text"] = text
    back = read_tree(write_tree(tree, tmp_path / "fit.nc"))
    assert back.attrs["text"] == text
    assert back["spec"].item() == text


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), Interrupted()])
def test_a_failed_write_leaves_the_old_file(tree, tmp_path, monkeypatch, failure):
    path = write_tree(tree, tmp_path / "fit.nc")
    before = path.read_bytes()

    def half(descriptor):
        raise failure

    monkeypatch.setattr(os, "fsync", half)
    with pytest.raises(DataError if isinstance(failure, OSError) else Interrupted):
        write_tree(tree, path)
    assert path.read_bytes() == before
    assert os.listdir(tmp_path) == ["fit.nc"]


def test_a_new_file_has_the_usual_permissions(tree, tmp_path):
    (tmp_path / "plain").touch()
    path = write_tree(tree, tmp_path / "fit.nc")
    assert path.stat().st_mode == (tmp_path / "plain").stat().st_mode


def test_a_link_stays_a_link(tree, tmp_path):
    (tmp_path / "real").mkdir()
    target, link = tmp_path / "real" / "fit.nc", tmp_path / "link.nc"
    write_tree(tree, target)
    link.symlink_to(target)
    before = target.read_bytes()
    write_tree(xr.DataTree(), link)
    assert link.is_symlink()
    assert target.read_bytes() != before


def test_a_path_that_can_be_written(tmp_path):
    assert check_writable(str(tmp_path / "new.nc")) == tmp_path / "new.nc"
    assert os.listdir(tmp_path) == []


def test_a_bare_name_means_the_working_folder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert check_writable("fit.nc") == Path("fit.nc")


def test_a_missing_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"the folder '.*no' does not exist\nhint: .*mkdir -p"):
        check_writable(tmp_path / "no" / "fit.nc")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(DataError, match="is a folder\nhint: add the name of a file"):
        check_writable(tmp_path)


@pytest.mark.skipif(not Path("/proc/self").is_dir(), reason="needs a folder closed to everyone")
def test_a_folder_that_takes_no_files_is_refused():
    with pytest.raises(DataError, match="no file can be written in '/proc'"):
        check_writable("/proc/fit.nc")


def test_a_read_only_file_is_refused(tmp_path, monkeypatch):
    path = tmp_path / "fit.nc"
    path.touch()
    monkeypatch.setattr(os, "access", lambda path, mode: False)  # root may write everywhere
    with pytest.raises(DataError, match="is read-only"):
        check_writable(path)


def test_what_is_no_file_is_refused(tmp_path):
    with pytest.raises(DataError, match=r"'.*no\.nc' does not exist"):
        read_tree(tmp_path / "no.nc")
    with pytest.raises(DataError, match="is a folder"):
        read_tree(tmp_path)


def test_foreign_files_are_refused(tree, tmp_path):
    csv, empty, foreign = tmp_path / "a.csv", tmp_path / "a.nc", tmp_path / "b.nc"
    csv.write_text("x,y\n1,2\n")
    empty.touch()
    tree.to_netcdf(foreign, engine="h5netcdf")
    for path in (csv, empty, foreign):
        with pytest.raises(DataError, match=rf"'.*{path.name}' is not a bayesvb file"):
            read_tree(path)


def test_later_formats_are_refused(tree, tmp_path, monkeypatch):
    monkeypatch.setattr(storage, "FORMAT", storage.FORMAT + 1)
    path = write_tree(tree, tmp_path / "fit.nc")
    monkeypatch.undo()
    with pytest.raises(DataError, match="has format 2, this version reads up to 1"):
        read_tree(path)


@pytest.mark.parametrize("share", [0.001, 0.1, 0.3, 0.5, 0.7, 0.9, 0.999])
def test_truncated_files_are_refused(tree, tmp_path, share):
    path = write_tree(tree, tmp_path / "fit.nc")
    content = path.read_bytes()
    path.write_bytes(content[: int(share * len(content))])
    with pytest.raises(DataError, match="not a bayesvb file, or it is damaged"):
        read_tree(path)


@pytest.mark.skipif(OTHER is None, reason="BAYESVB_OTHER_PYTHON names no second interpreter")
def test_a_file_opens_under_the_other_arviz_line(rng, tmp_path):
    obj = fit(rng)
    here, there = tmp_path / "here.nc", tmp_path / "there.nc"
    write_tree(as_tree(obj), here)
    script = """
import json, sys
from bayesvb.storage.arviz_objects import arviz_line, as_tree, from_tree, group
from bayesvb.evaluation.information_criteria import loo
from bayesvb.storage.netcdf import read_tree, write_tree
obj = from_tree(read_tree(sys.argv[1]))
elpd = loo([group(obj, "log_likelihood")["y"].values[0]])
write_tree(as_tree(obj), sys.argv[2])
print(json.dumps({"line": arviz_line(), "kind": type(obj).__name__, "elpd": elpd.elpd}))
"""
    command = [str(OTHER), "-W", "error", "-c", script, str(here), str(there)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    answer = json.loads(done.stdout)
    assert answer["kind"] == ("DataTree" if answer["line"] else "InferenceData")
    mine = loo([group(obj, "log_likelihood")["y"].values[0]])
    # the lines round the length of the Pareto tail differently
    assert answer["elpd"] == pytest.approx(mine.elpd, abs=1e-3)
    back = from_tree(read_tree(there))
    assert back.attrs == obj.attrs
    for name in group_names(obj):
        xr.testing.assert_identical(group(back, name), group(obj, name))


# -- frames -------------------------------------------------------------------------------------

CUT = pd.cut(pd.Series([1.0, 2.0, 7.0, np.nan]), 3)
COLUMNS = {
    "float": [1.0, -0.0, np.nan, np.inf],
    "float32": np.array([1.1, 2, 3, np.nan], dtype="float32"),
    "half": np.array([1.5, 2, 3, np.nan], dtype="float16"),
    "big-endian": np.array([1, 2, 3, 4], dtype=">f8"),
    "int": [1, -(2**63), 2**63 - 1, 0],
    "int8": np.array([1, -128, 127, 0], dtype="int8"),
    "uint64": np.array([0, 2**64 - 1, 1, 2], dtype="uint64"),
    "bool": [True, False, True, True],
    "text": ["a", "", "größe\x00", "a\n'\""],
    "missing text": ["a", None, "b", None],
    "all missing text": pd.array([None] * 4, dtype="str"),
    "string": pd.array(["a", None, "b", "a"], dtype="string"),
    "object": pd.Series(["a", None, "b", np.nan], dtype=object),
    "mixed": pd.Series([1, True, 1.0, "1"], dtype=object),
    "marked": pd.Series([pd.NA, pd.NaT, None, np.nan], dtype=object),
    "category": pd.Categorical(["b", None, "a", "b"], categories=["b", "unused", "a"]),
    "ordered": pd.Categorical([3, 1, 3, 2], categories=[3, 1, 2], ordered=True),
    "range categories": pd.Categorical.from_codes([0, 1, 1, 0], pd.RangeIndex(2)),
    "empty category": pd.Categorical([None] * 4),
    "cut": CUT.array,
    "interval": pd.arrays.IntervalArray.from_breaks([0, 1, 2, 3, 4], closed="left"),
    "Int64": pd.array([1, None, 2**63 - 1, -1], dtype="Int64"),
    "UInt8": pd.array([1, None, 255, 0], dtype="UInt8"),
    "Float32": pd.array([1.5, None, 2, 0], dtype="Float32"),
    "boolean": pd.array([True, None, False, True], dtype="boolean"),
    "date": pd.to_datetime(["2020-01-01", None, "1677-09-22", "2262-04-11"]),
    "second": np.array(["2020-01-01", "NaT", "0001-01-01", "9999-12-31"], "datetime64[s]"),
    "zoned": pd.date_range("2020-10-25", periods=4, freq="h", tz="Europe/Paris"),
    "offset": pd.DatetimeIndex(["2020-01-01T00:00+05:30"] * 4),
    "span": pd.to_timedelta(["1s", None, "-3 days", "0s"]),
    "period": pd.PeriodIndex(["2020-01", None, "2021-05", "1900-12"], freq="M"),
}


def assert_kept(frame):
    stored = frame_to_dataset(frame)
    types = {variable.dtype.str[1:] for name, variable in stored.items() if name != "schema"}
    assert types <= {"b1", "i1", "i2", "i4", "i8", "u1", "u2", "u4", "u8", "f4", "f8"}, "netCDF's"
    back = dataset_to_frame(stored)
    pd.testing.assert_frame_equal(back, frame, check_exact=True, check_freq=True)
    assert [str(dtype) for dtype in back.dtypes] == [str(dtype) for dtype in frame.dtypes]
    return stored


def through_file(dataset, path):
    return read_tree(write_tree(xr.DataTree.from_dict({"data": dataset}), path))[
        "data"
    ].to_dataset()


@pytest.mark.parametrize("name", COLUMNS)
def test_a_column_is_kept(name):
    assert_kept(pd.DataFrame({name: COLUMNS[name]}))


def test_all_columns_are_kept_through_a_file(tmp_path):
    frame = pd.DataFrame(COLUMNS)
    back = dataset_to_frame(through_file(frame_to_dataset(frame), tmp_path / "frame.nc"))
    pd.testing.assert_frame_equal(back, frame, check_exact=True)


@pytest.mark.parametrize("name", ["object", "mixed", "marked"])
def test_objects_keep_their_types(name):
    values = COLUMNS[name]
    back = dataset_to_frame(frame_to_dataset(pd.DataFrame({"a": values})))["a"]
    assert [type(value) for value in back] == [type(value) for value in values]


def test_negative_zero_and_offset_are_kept():
    frame = pd.DataFrame({name: COLUMNS[name] for name in ("float", "offset")})
    back = dataset_to_frame(frame_to_dataset(frame))
    assert np.signbit(back["float"]).tolist() == [False, True, False, False]
    assert back["offset"].astype(str).tolist() == frame["offset"].astype(str).tolist()


INDEXES = {
    "range": pd.RangeIndex(2, 14, 3, name="id"),
    "repeated": pd.Index([7, 7, -1, 7]),
    "float": pd.Index([0.5, np.nan, 1.0, 0.5], name="t"),
    "text": pd.Index(["a", "b", "a", None]),
    "mixed": pd.Index([1, "1", 1.5, None], dtype=object),
    "tuples": pd.Index([("a", 1), ("b", 2), ("c", None), ("a", 1)], tupleize_cols=False),
    "uneven tuples": pd.Index([("a", 1), ("b",), (), ("a", 1)], tupleize_cols=False),
    "category": pd.CategoricalIndex(["b", "a", "b", "a"], ["b", "a"], ordered=True, name=0),
    "date": pd.date_range("2020", periods=4, freq="MS", name="month"),
    "irregular": pd.DatetimeIndex(["2020-01-01", "2020-01-05", "2020-01-05", "2019-01-01"]),
    "zoned": pd.date_range("2020", periods=4, freq="D", tz="Europe/Paris"),
    "span": pd.timedelta_range("1h", periods=4, freq="2h"),
    "period": pd.period_range("2020Q1", periods=4, freq="Q-DEC"),
    "interval": pd.interval_range(0, 4, name="bin"),
    "Int64": pd.Index([1, None, 2, 3], dtype="Int64"),
    "multi": pd.MultiIndex.from_arrays([["a", "a", "b", "b"], [1, 1, 2, 1]], names=["g", None]),
    "multi of kinds": pd.MultiIndex.from_arrays(
        [pd.date_range("2020", periods=4), pd.Categorical(list("xyxy")), [1.0, np.nan, 2, 2]],
        names=[("a", 1), 3, "x"],
    ),
    "multi with unused levels": pd.MultiIndex.from_product([[2, 1], ["b", "a", "c"]])[[0, 4, 1, 0]],
    "one level": pd.MultiIndex.from_arrays([[1, 2, 3, 4]], names=["only"]),
}


@pytest.mark.parametrize("name", INDEXES)
@pytest.mark.parametrize("axis", ["index", "columns"])
def test_an_index_is_kept(name, axis):
    index = INDEXES[name]
    frame = pd.DataFrame(np.arange(16.0).reshape(4, 4)).set_axis(index, axis=axis)
    assert_kept(frame)
    back = getattr(dataset_to_frame(frame_to_dataset(frame)), axis)
    assert type(back) is type(index)
    pd.testing.assert_index_equal(back, index, exact=True)
    assert getattr(back, "freq", None) == getattr(index, "freq", None)


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame({"a": [1.0], "b": ["x"]}).iloc[:0],
        pd.DataFrame(index=pd.Index([3, 3])),
        pd.DataFrame(),
        pd.DataFrame([[1, "a"], [2, "b"]], columns=["same", "same"]),
        pd.DataFrame({"schema": [1], "index_0_values": [2], "labels": [3]}),
        pd.DataFrame({i: [float(i)] for i in range(12)}),
    ],
    ids=["no rows", "no columns", "nothing", "same names", "our names", "many columns"],
)
def test_shapes_and_names_are_kept(frame, tmp_path):
    stored = assert_kept(frame)
    back = dataset_to_frame(through_file(stored, tmp_path / "frame.nc"))
    pd.testing.assert_frame_equal(back, frame)


scalars = st.none() | st.booleans() | st.integers(-(2**80), 2**80) | st.floats() | st.text()


@pytest.mark.heavy
@given(cells=st.lists(scalars, max_size=8))
def test_any_object_cells_are_kept(cells):
    values = np.empty(len(cells), dtype=object)
    values[:] = cells
    frame = pd.DataFrame({"a": pd.Series(values, dtype=object)})
    back = dataset_to_frame(frame_to_dataset(frame))["a"]
    assert back.dtype == object
    assert list(map(repr, back)) == list(map(repr, cells))


@pytest.mark.parametrize(
    ("values", "why"),
    [
        (np.array([1 + 2j]), "its dtype is complex128"),
        (pd.arrays.SparseArray([0, 1]), "its dtype is Sparse"),
        (pd.Series([[1, 2]]), r"it holds \[1, 2\], a list"),
        (pd.Series([pd.Timestamp("2020")], dtype=object), "a Timestamp"),
        (np.array([1.0], dtype=np.longdouble), "its dtype is float128|its dtype is longdouble"),
    ],
)
def test_what_cannot_be_stored_is_named(values, why):
    with pytest.raises(DataError, match=rf"column 'bad' cannot be stored: .*({why})"):
        frame_to_dataset(pd.DataFrame({"good": np.ones(len(values)), "bad": values}))


def test_reading_unpickles_nothing(tree, tmp_path, monkeypatch):
    tree["frame"] = xr.DataTree(frame_to_dataset(pd.DataFrame(COLUMNS)))
    path = write_tree(tree, tmp_path / "fit.nc")

    def refuse(*args, **options):
        raise AssertionError("a file was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    dataset_to_frame(read_tree(path)["frame"].to_dataset())
