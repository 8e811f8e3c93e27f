"""Checkpoints of fits: state of the runs, in one file that is complete at any moment."""

from __future__ import annotations

import hashlib
import io
import json
import math
import os
import time
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from threading import Lock
from typing import Any

import numpy as np
import pandas as pd

from bayesvb.engines.run_log import AbstractRunLog, AbstractRunPage, Arrays
from bayesvb.engines.run_state import StateError
from bayesvb.errors import DataError
from bayesvb.results.base import AbstractPublicModel
from bayesvb.storage.json_schema import Record, check_json, parsed_json
from bayesvb.storage.sealing import seal, unseal
from bayesvb.storage.whole_files import check_writable, write_whole

DESCRIPTION = "description"
"""Name of the array with the description of the fit."""

SEED = "seed"


@dataclass(eq=False)
class FileLog(AbstractRunLog):
    """Runs of a fit in a file.

    Attributes
    ----------
    path : Path
    every : float
        Seconds between two times that it is written.
    description : mapping of str to value
        Description of the fit; the file of another fit is rejected.
    pages : dict of str to arrays
        State of every run, by its place.
    """

    path: Path
    every: float
    description: Mapping[str, object]
    pages: dict[str, Arrays]
    _visits: dict[str, int] = field(default_factory=dict)
    _written: float = field(default_factory=time.monotonic)
    _lock: Lock = field(default_factory=Lock)

    def run(self, path: tuple[str, ...]) -> FilePage:
        place = "/".join(path)
        with self._lock:
            visit = self._visits[place] = self._visits.get(place, 0) + 1
        return FilePage(self, f"{place}#{visit}")

    def keep(self, name: str, state: Arrays, *, now: bool) -> None:
        """Keep the state of a run, and write all of them if it is time to."""
        with self._lock:
            self.pages[name] = state
            if now or time.monotonic() - self._written >= self.every:
                write_whole(_packed(self.description, self.pages), self.path)
                self._written = time.monotonic()


@dataclass(eq=False)
class FilePage(AbstractRunPage):
    """A run in such a file."""

    log: FileLog
    name: str

    @property
    def known(self) -> Arrays:
        return self.log.pages.get(self.name, {})

    def keep(self, state: Arrays) -> None:
        self.log.keep(self.name, state, now=False)

    def write(self) -> None:
        if self.known:
            self.log.keep(self.name, self.known, now=True)


def described(model: AbstractPublicModel, settings: Mapping[str, object]) -> dict[str, object]:
    """Description of a fit: the model, the data and the settings on which its runs depend."""
    source = model.all_rows or model.source
    return {
        "version": version("bayesvb"),
        "model": type(model).__name__,
        "formula": model.formula.canonical(),
        "arguments": json.dumps(model.options(), sort_keys=True, default=str),
        "data": _data_hash(model),
        "rows": source.n_rows,
        **settings,
    }


def _data_hash(model: AbstractPublicModel) -> str:
    """SHA-256 of the rows in memory as given and as encoded, their weights, and all scales.

    Functions of the user are part of the matrices only: a formula that calls ``h(x)`` is the same
    text for every ``h``.
    """
    design = model.design
    rows = pd.util.hash_pandas_object(design.frame, index=False).to_numpy()
    digest = hashlib.sha256(rows.tobytes())
    total = (model.all_rows or model.source).total_weight
    arrays = {
        "total": np.array([total, model.log_jacobian]),
        "weights": model.weights,
        "response": design.response,
        "offset": design.offset,
        **{f"matrix {part}": matrix for part, matrix in design.matrices.items()},
        **model.given_scales(),
    }
    for name, values in arrays.items():
        if values is not None:
            digest.update(name.encode() + np.ascontiguousarray(values).tobytes())
    return digest.hexdigest()


def seed_in(path: str | os.PathLike[str]) -> int | None:
    """Seed of the fit of a checkpoint; None without a file.

    Raises
    ------
    DataError
        If the file is not a checkpoint, or damaged.
    """
    target = check_writable(path)
    return int(_read(target)[0][SEED]) if target.exists() else None


def opened(
    path: str | os.PathLike[str], every: float, description: Mapping[str, object]
) -> FileLog:
    """The log in a file, empty if the file does not exist.

    Raises
    ------
    DataError
        If the file belongs to another fit, is not a checkpoint, or is damaged.
    """
    target = check_writable(path)
    if not target.exists():
        return FileLog(target, every, description, {})
    before, pages = _read(target)
    other = [name for name, value in description.items() if before.get(name) != value]
    if other:
        name = other[0]
        raise DataError(
            f"checkpoint={str(target)!r} belongs to another fit: "
            + _differs(name, before.get(name), description[name]),
            hint="give another name, or delete the file",
        )
    return FileLog(target, every, description, pages)


@contextmanager
def checkpoint_read(path: str | os.PathLike[str] | None) -> Iterator[None]:
    """States of a file that are found to be none inside, as its damage.

    Raises
    ------
    DataError
        Naming the file.
    """
    resumed = path is not None and os.path.exists(path)
    try:
        yield
    except StateError as error:
        raise _damaged(str(path), error.why) from error
    except np.linalg.LinAlgError as error:  # engines step back from states that they reach
        if not resumed:
            raise
        raise _damaged(str(path), f"a state in it has no posterior: {error}") from error


def _damaged(path: str, why: object) -> DataError:
    return DataError(
        f"checkpoint={path!r} is not a checkpoint, or damaged: {why}",
        hint="give another name, or delete the file",
    )


def _differs(name: str, before: object, now: object) -> str:
    """Text that names the difference."""
    if name == "data":
        return "its data are others"
    return f"its {name} is {before!r}, and here it is {now!r}"


def _packed(description: Mapping[str, object], pages: Mapping[str, Arrays]) -> bytes:
    """Content of the file."""
    arrays = {f"{name}|{key}": value for name, page in pages.items() for key, value in page.items()}
    text = np.frombuffer(json.dumps(description).encode(), dtype=np.uint8)
    stream = io.BytesIO()
    known: dict[str, Any] = {DESCRIPTION: text, **arrays}
    np.savez(stream, **known)
    return seal(stream.getvalue())


def _read(path: Path) -> tuple[dict[str, Any], dict[str, Arrays]]:
    """Description and runs of a file."""
    try:
        content, sealed = unseal(path.read_bytes())
        if not sealed:
            raise ValueError("it has no checksum")
        known = _arrays(content)
        description = parsed_json(known.pop(DESCRIPTION).tobytes().decode())
        check_json(description, Record({SEED: int}), DESCRIPTION)
    except DataError as error:
        raise _damaged(str(path), error.why) from error
    except (OSError, ValueError, KeyError, zipfile.BadZipFile) as error:
        raise _damaged(str(path), error) from error
    pages: dict[str, dict[str, Any]] = {}
    for name, values in known.items():
        place, _, key = name.rpartition("|")
        pages.setdefault(place, {})[key] = values
    return description, dict(pages)


def _arrays(content: bytes) -> dict[str, np.ndarray]:
    """Arrays of an archive that ``numpy.savez`` wrote, none larger than its bytes in the file.

    Raises
    ------
    ValueError, zipfile.BadZipFile
        If it is another file, or an array does not hold real numbers or is of another size.
    """
    arrays = {}
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        for member in archive.infolist():
            name = member.filename.removesuffix(".npy")
            if member.compress_type != zipfile.ZIP_STORED:
                raise ValueError(f"{name!r} is compressed")
            stream = io.BytesIO(archive.read(member))
            if np.lib.format.read_magic(stream) != (1, 0):
                raise ValueError(f"{name!r} is in an unknown format")
            shape, _, dtype = np.lib.format.read_array_header_1_0(stream)
            n_bytes = math.prod(shape) * dtype.itemsize
            if dtype.kind not in "biuf" or n_bytes != member.file_size - stream.tell():
                raise ValueError(
                    f"{name!r} is not an array of numbers, or not of the size it claims"
                )
            stream.seek(0)
            arrays[name] = np.lib.format.read_array(stream, allow_pickle=False)
    return arrays
