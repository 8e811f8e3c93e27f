"""Files that read other files, hang, or take more memory than they have bytes."""

import io
import tracemalloc

import h5py
import numpy as np
import pandas as pd
import pytest
import xarray as xr

from bayesvb.errors import DataError, FileWarning
from bayesvb.storage.inspection import opened
from bayesvb.storage.netcdf import frame_to_dataset, read_plain, read_tree, write_tree
from bayesvb.storage.sealing import seal, unseal

SECRET = "numbers that belong to somebody else"


@pytest.fixture
def good(tmp_path):
    tree = xr.DataTree(xr.Dataset())
    tree["data"] = xr.DataTree(frame_to_dataset(pd.DataFrame({"x": np.arange(50.0)})))
    tree.attrs["fit"] = "{}"
    return write_tree(tree, tmp_path / "fit.nc")


def changed(path, change, *, sealed=True):
    """The file after a change with h5py, and with a seal that fits."""
    memory = io.BytesIO(unseal(path.read_bytes())[0])
    with h5py.File(memory, "r+") as file:
        change(file, path.parent)
    content = memory.getvalue()
    path.write_bytes(seal(content) if sealed else content)
    return path


def external_storage(file, folder):
    (folder / "secret").write_text(SECRET * 20)
    del file["data/column_0_values"]
    file["data"].create_dataset(
        "column_0_values", (50,), "f8", external=[(str(folder / "secret"), 0, 400)]
    )


def external_link(file, folder):
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.ones(50)
    del file["data/column_0_values"]
    file["data/column_0_values"] = h5py.ExternalLink(str(folder / "other.h5"), "/x")


def soft_link(file, folder):
    del file["data/column_0_values"]
    file["data/column_0_values"] = h5py.SoftLink("/data/row")


def virtual(file, folder):
    with h5py.File(folder / "other.h5", "w") as other:
        other["x"] = np.ones(50)
    layout = h5py.VirtualLayout((50,), "f8")
    layout[:] = h5py.VirtualSource(str(folder / "other.h5"), "x", (50,))
    del file["data/column_0_values"]
    file["data"].create_virtual_dataset("column_0_values", layout)


def circle(file, folder):
    file["data/again"] = file["data"]


def root_again(file, folder):
    file["data/root"] = file["/"]


def deep(file, folder):
    file.create_group("/".join("abcdefgh"))


def huge(file, folder):
    del file["data/column_0_values"]
    file["data"].create_dataset("column_0_values", (400_000_000,), "f8", fillvalue=1.0)


def compressed(file, folder):
    del file["data/column_0_values"]
    zeros = np.zeros(10_000_000)
    file["data"].create_dataset("column_0_values", data=zeros, compression="gzip")


def chunked(file, folder):
    del file["data/column_0_values"]
    file["data"].create_dataset("column_0_values", (10**12,), "f8", chunks=(10**6,))


def compound(file, folder):
    file["data/odd"] = np.zeros(3, dtype=[("a", "f8"), ("b", "i4")])


def reference(file, folder):
    file["data"].create_dataset("odd", data=file["data"].ref, dtype=h5py.ref_dtype)


def opaque(file, folder):
    file["data"].create_dataset("odd", data=np.void(b"abc"))


def named_type(file, folder):
    file["data/odd"] = np.dtype("f8")


def fixed_text(file, folder):
    file["data/odd"] = np.array([b"a" * 100], dtype="S100")


def odd_float(file, folder):
    kind = h5py.h5t.IEEE_F64LE.copy()
    kind.set_ebias(5)
    space = h5py.h5s.create_simple((3,))
    h5py.h5d.create(file["data"].id, b"odd", kind, space)


def attribute(file, folder):
    file["data"].attrs.create("odd", np.zeros(3, dtype=[("a", "f8")]))


def texts(file, folder):
    file["data"].attrs["odd"] = ["x"] * 1000


HOSTILE = [
    external_storage, external_link, soft_link, virtual, circle, root_again, deep, huge, compressed,
    chunked, compound, reference, opaque, named_type, fixed_text, odd_float, attribute, texts,
]  # fmt: skip


@pytest.mark.parametrize("change", HOSTILE, ids=lambda change: change.__name__)
@pytest.mark.parametrize("read", [read_plain, read_tree])
def test_what_is_not_plain_is_refused_before_it_is_read(good, change, read):
    path = changed(good, change)
    tracemalloc.start()
    with pytest.raises(DataError, match="not a bayesvb file, or it is damaged"):
        read(path)
    taken = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert taken < 20 * path.stat().st_size + 2_000_000


def test_a_file_that_was_changed_is_refused_whatever_it_says(good):
    def other_number(file, folder):
        file["data/column_0_values"][3] = 77.0

    with pytest.raises(DataError, match="the checksum, are not there"):
        read_plain(changed(good, other_number, sealed=False))


def test_no_flipped_bit_is_read(good, rng):
    content = good.read_bytes()
    for _ in range(300):
        flipped = bytearray(content)
        flipped[rng.integers(len(content))] ^= 1 << int(rng.integers(8))
        good.write_bytes(bytes(flipped))
        with pytest.raises(DataError, match="damaged"):
            read_plain(good)


def test_a_file_of_before_checksums_is_read_with_a_warning(good):
    def without_mark(file, folder):
        del file.attrs["bayesvb_sealed"]

    path = changed(good, without_mark, sealed=False)
    with pytest.warns(FileWarning, match="without a checksum.*Save the fit again"):
        file = read_plain(path)
    np.testing.assert_array_equal(file.numbers("data")["column_0_values"], np.arange(50.0))


def test_what_is_written_can_be_read(good):
    file = opened(unseal(good.read_bytes())[0])
    assert file.groups == ("data",)
    assert file.attribute("fit") == "{}"
    assert file.attribute("absent") is None
    assert "schema" not in file.numbers("data")
    assert file.text("data/schema").startswith("{")
    with pytest.raises(KeyError):
        file.text("data/absent")


def test_what_follows_the_file_hides_nothing_from_other_programs(good):
    with h5py.File(good) as file:
        np.testing.assert_array_equal(file["data/column_0_values"], np.arange(50.0))
