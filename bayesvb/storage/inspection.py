"""Inspection of an HDF5 file before it is read: plain local arrays of numbers, single texts.

An HDF5 file can name other files (external storage, external links, virtual data sets), contain
itself (links), and claim sizes that it does not have. The objects are examined one by one before
any data are read.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator
from dataclasses import dataclass
from types import ModuleType
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.errors import DataError

if TYPE_CHECKING:
    import h5py
    from h5py import h5d, h5g, h5s, h5t


@dataclass(frozen=True, kw_only=True)
class FileLimits:
    """Limits of a file's content, checked before any of it is read."""

    depth: int = 4
    """Deepest nesting of groups."""

    least_object: int = 40
    """Fewest bytes of an object in a file."""

    name: int = 1000
    """Longest name of an object, in bytes."""

    texts: int = 64
    """Most texts of one attribute: each may be as long as the file."""

    text: int = 16
    """Bytes of what stands for a text: its length and its place."""


LIMITS = FileLimits()


SIZES = {"i": (1, 2, 4, 8), "u": (1, 2, 4, 8), "f": (2, 4, 8)}
"""Bytes of the numbers that are read, by their kind."""

SCALES = ("DIMENSION_LIST", "REFERENCE_LIST")
"""Attributes of netCDF that refer to the names of axes."""


@dataclass(frozen=True)
class PlainFile:
    """An HDF5 file in memory, all of whose objects are plain.

    Attributes
    ----------
    root : h5py.Group
    groups : tuple of str
        Paths of the groups, without the root.
    arrays : mapping of str to h5py.DatasetID
        Data sets of numbers by their path, and single texts.
    """

    root: h5py.Group
    groups: tuple[str, ...]
    arrays: dict[str, h5d.DatasetID]

    def attribute(self, name: str) -> object:
        """An attribute of the root, None if it has none of that name."""
        return self.root.attrs.get(name)

    def numbers(self, group: str) -> dict[str, np.ndarray]:
        """Arrays of a group, by name."""
        values = {}
        for path, dataset in self.arrays.items():
            parent, _, name = path.rpartition("/")
            if parent == group and dataset.dtype.kind in SIZES:
                array = np.empty(dataset.shape, dtype=dataset.dtype)
                if array.size:
                    _h5py().h5d.DatasetID.read(dataset, _h5py().h5s.ALL, _h5py().h5s.ALL, array)
                values[name] = array
        return values

    def text(self, path: str) -> str:
        """The one text in a data set.

        Raises
        ------
        KeyError
            If there is none.
        """
        return str(_h5py().Dataset(self.arrays[path]).asstr()[()])


def opened(content: bytes) -> PlainFile:
    """The HDF5 file with these bytes, if all that it holds is plain.

    Raises
    ------
    DataError
        Naming the object that is not.
    OSError, RuntimeError, ValueError, KeyError
        If it is not an HDF5 file, or damaged.
    """
    h5py = _h5py()
    file = h5py.h5f.open_file_image(content)
    if file.get_create_plist().get_userblock():
        raise DataError("the file begins with something else")
    inspector = _Inspector(h5py, len(content))
    groups, arrays, held = [], {}, 0
    for path, found in inspector.objects(h5py.h5g.open(file, b"/")):
        if found is None:
            groups.append(path)
            continue
        held += inspector.size(path, found)
        if held > len(content):
            raise DataError("the data sets claim more bytes than the file has")
        if found.get_type().get_class() != h5py.h5t.STRING and _is_axis(h5py, found):
            continue
        arrays[path] = found
    return PlainFile(h5py.Group(h5py.h5g.open(file, b"/")), tuple(groups), arrays)


def _h5py() -> ModuleType:
    return importlib.import_module("h5py")


@dataclass
class _Inspector:
    """The rules for one file of a known size."""

    h5py: ModuleType
    size_of_file: int

    def objects(self, root: object) -> Iterator[tuple[str, h5d.DatasetID | None]]:
        """Path of every object below the root, with its data set; None for a group."""
        seen = {self.h5py.h5o.get_info(root).addr}
        self.attributes("", root)
        waiting = [("", root, 0)]
        while waiting:
            above, group, depth = waiting.pop()
            for name in self.names(group, above):
                path = f"{above}/{name}".lstrip("/")
                self.link(path, group, name)
                info = self.h5py.h5o.get_info(group, name.encode())
                if info.addr in seen:
                    raise DataError(f"{path!r} is the same object as another one")
                seen.add(info.addr)
                if len(seen) * LIMITS.least_object > self.size_of_file:
                    raise DataError(
                        "the file is damaged: it lists more objects than fit into its size"
                    )
                if info.type == self.h5py.h5o.TYPE_GROUP:
                    if depth + 1 >= LIMITS.depth:
                        raise DataError(
                            f"the file is damaged, or no saved fit: {path!r} is nested too deeply"
                        )
                    below = self.h5py.h5g.open(group, name.encode())
                    self.attributes(path, below)
                    waiting.append((path, below, depth + 1))
                    yield path, None
                elif info.type == self.h5py.h5o.TYPE_DATASET:
                    dataset = self.h5py.h5d.open(group, name.encode())
                    self.attributes(path, dataset)
                    yield path, dataset
                else:
                    raise DataError(f"{path!r} is neither a group nor a data set")

    def names(self, group: h5g.GroupID, path: str) -> list[str]:
        """Names in a group."""
        if group.get_num_objs() * LIMITS.least_object > self.size_of_file:
            raise DataError(f"{path!r} claims more objects than the file has room for")
        names = []
        for raw in group:
            name = raw.decode("utf-8", "strict")
            if len(raw) > LIMITS.name or name in ("", ".", "..") or "/" in name:
                raise DataError(f"{name[:60]!r} is not a valid name in a saved file")
            names.append(name)
        return names

    def link(self, path: str, group: h5g.GroupID, name: str) -> None:
        """Refuse what leads elsewhere."""
        if group.links.get_info(name.encode()).type != self.h5py.h5l.TYPE_HARD:
            raise DataError(f"{path!r} is a link outside the file")

    def size(self, path: str, dataset: h5d.DatasetID) -> int:
        """Bytes of a data set in the file.

        Raises
        ------
        DataError
            If they lie in another file, are encoded, or are fewer than its shape needs.
        """
        plan, h5d = dataset.get_create_plist(), self.h5py.h5d
        needed = self.needed(path, dataset.get_type(), dataset.get_space())
        plain = [h5d.CONTIGUOUS, h5d.COMPACT, *([] if needed else [h5d.CHUNKED])]
        if plan.get_layout() not in plain or plan.get_external_count():
            raise DataError(f"{path!r} is not a plain array in this file")
        if plan.get_nfilters():
            raise DataError(f"{path!r} is encoded")
        kept = int(dataset.get_storage_size())
        if kept != needed and not (kept == 0 and _is_axis(self.h5py, dataset)):
            raise DataError(f"{path!r} claims {needed} bytes and has {kept}")
        return kept

    def needed(self, path: str, kind: h5t.TypeID, space: h5s.SpaceID) -> int:
        """Bytes of these numbers, or of one text."""
        shape = space.get_simple_extent_dims() or ()
        if any(length > self.size_of_file for length in shape):
            raise DataError(f"{path!r} is larger than the file")
        each = int(kind.get_size())
        if kind.get_class() == self.h5py.h5t.STRING:
            if not kind.is_variable_str():
                raise DataError(f"{path!r} holds text of a fixed length")
            each = LIMITS.text
        elif not self.is_number(kind):
            raise DataError(f"{path!r} holds neither numbers nor text")
        count = 1
        for length in shape:
            count *= int(length)
        return count * each

    def is_number(self, kind: h5t.TypeID) -> bool:
        """Whether a type is one of the numbers that every machine knows."""
        h5t = self.h5py.h5t
        if kind.get_class() not in (h5t.INTEGER, h5t.FLOAT):
            return False
        order = "LE" if kind.get_order() == h5t.ORDER_LE else "BE"
        bits = 8 * kind.get_size()
        names = [f"STD_I{bits}{order}", f"STD_U{bits}{order}", f"IEEE_F{bits}{order}"]
        return any(kind.equal(getattr(h5t, name)) for name in names if hasattr(h5t, name))

    def attributes(self, path: str, owner: object) -> None:
        """Raise for attributes that are not numbers, texts or names of axes."""
        h5a, h5t = self.h5py.h5a, self.h5py.h5t
        held = 0
        for index in range(h5a.get_num_attrs(owner)):
            attribute = h5a.open(owner, index=index)
            name, kind = attribute.name.decode("utf-8", "replace"), attribute.get_type()
            count = int(attribute.get_space().get_simple_extent_npoints())
            held += count * int(kind.get_size())
            if held > self.size_of_file:
                raise DataError(f"attribute {name!r} of {path!r} is larger than the file")
            if name in SCALES:
                continue
            text = kind.get_class() == h5t.STRING
            if not text and not self.is_number(kind):
                raise DataError(f"attribute {name!r} of {path!r} is neither number nor text")
            if text and kind.is_variable_str() and count > LIMITS.texts:
                raise DataError(f"attribute {name!r} of {path!r} holds {count} texts")


AXIS = b"This is a netCDF dimension but not a netCDF variable"


def _is_axis(h5py: ModuleType, dataset: object) -> bool:
    """Whether a data set is the name of an axis only, whose numbers nobody reads."""
    h5a = h5py.h5a
    if not h5a.exists(dataset, b"CLASS") or not h5a.exists(dataset, b"NAME"):
        return False
    said = h5a.open(dataset, b"NAME")
    if said.get_type().get_class() != h5py.h5t.STRING or said.get_type().is_variable_str():
        return False
    value = np.empty((), dtype=said.dtype)
    if said.shape != ():
        return False
    said.read(value)
    return bytes(value[()]).startswith(AXIS)
