"""A session as a folder: one JSON file, and one netCDF file for each full fit.

The data stay where they are: the session has their source, and a hash by which other rows are
recognised.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from bayesvb.datasets import names
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import Elpd
from bayesvb.interactive.history import History, Record
from bayesvb.interactive.request import Request
from bayesvb.interactive.tables import Table, open_table
from bayesvb.storage.whole_files import as_path, write_whole

FILE = "session.json"
"""Name of the JSON file, by which a folder is recognised."""

FORMAT = 1
"""Raised when older versions cannot read the file."""


@dataclass(frozen=True, kw_only=True)
class Session:
    """Data, the fits made of them, and what stands in the controls.

    Attributes
    ----------
    table : Table
    request : Request
    history : History
    """

    table: Table
    request: Request
    history: History


def new_session(table: Table) -> Session:
    """Return a session without fits."""
    return Session(table=table, request=first_request(table), history=History())


def first_request(table: Table) -> Request:
    """Return the formula of a table with one component."""
    return Request(formula=table.formula, options={"n_components": 1})


def is_session(path: object) -> bool:
    """Whether a path is a folder with a session."""
    if not isinstance(path, str | Path):
        return False
    try:
        return (Path(path) / FILE).is_file()
    except (OSError, ValueError):  # no name of a file: too long, or with NUL
        return False


def save_session(session: Session, folder: str | Path) -> Path:
    """Write a session, replacing an older one.

    Parameters
    ----------
    session : Session
    folder : str or Path
        New, empty, or with a session.

    Raises
    ------
    DataError
        If the folder has other files, or cannot be written; an older session is unchanged then.
    """
    target = _folder(folder)
    fits = []
    for record in session.history.records:
        name = f"fit-{_digest(record.path)}.nc"  # files of an older session stay
        if not (target / name).exists():
            write_whole(record.path.read_bytes(), target / name)
        fits.append({**_record_values(record), "file": name})
    content = {
        "format": FORMAT,
        "version": version("bayesvb"),
        "data": {"name": session.table.name, "source": _source(session.table),
                 "sha256": session.table.sha256},
        "request": asdict(session.request),
        "fits": fits,
    }  # fmt: skip
    write_whole(json.dumps(content, ensure_ascii=False).encode(), target / FILE)
    for path in target.glob("fit-*.nc"):
        if path.name not in {fit["file"] for fit in fits}:
            path.unlink()
    return target


def open_session(folder: str | Path, data: object, into: Path) -> Session:
    """Read a session that ``save_session`` has written.

    Parameters
    ----------
    folder : str or Path
    data : table, path, str or None
        The data; None if they are where they were.
    into : Path
        Folder to which the files of the fits are copied.

    Raises
    ------
    DataError
        If it is not a session, a file of it is missing, or the data have changed.
    """
    source = as_path(folder) / FILE
    try:
        content = json.loads(source.read_bytes())
        known, fits = content["data"], content["fits"]
        request = Request.from_values(content["request"])
        if content["format"] != FORMAT:
            raise DataError(
                f"{source} was written by another version of bayesvb: {content['version']}"
            )
        records = tuple(_record(source.parent, values, into) for values in fits)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise DataError(f"{source} is not a saved session: {error!r}") from None
    table = _known_table(known) if data is None else open_table(data)
    if table.sha256 != known["sha256"]:
        raise DataError(
            f"the data {table.name} have changed since the session was saved",
            hint="open them without the session: its fits used other rows",
        )
    return Session(table=table, request=request, history=History(records))


def _folder(path: str | Path) -> Path:
    """Return the folder of a session, made if it is not there."""
    target = as_path(path).expanduser().resolve()
    try:
        target.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise DataError(f"{target} cannot be made: {error.strerror}") from error
    if any(target.iterdir()) and not is_session(target):
        raise DataError(
            f"{target} contains files that do not belong to a session", hint="name a new folder"
        )
    return target


@cache
def _digest(path: Path) -> str:
    """Return the beginning of the hash of a fit's file, which does not change."""
    return hashlib.sha256(path.read_bytes()).hexdigest()[:16]


def _known_table(known: Mapping[str, object]) -> Table:
    if known["source"] is None:
        raise DataError(
            f"the data {known['name']} of the session came from an upload, or from Python",
            hint="give them: bayesvb workbench DATA --session FOLDER",
        )
    return open_table(known["source"])


def _source(table: Table) -> str | None:
    """Return the data set, or the path of the file from any folder; None if there is none."""
    if table.source is None or (table.source in names() and not Path(table.source).exists()):
        return table.source
    path = Path(table.source).resolve()
    return str(path) if path.is_file() else None


def _record_values(record: Record) -> dict[str, object]:
    """Return a record as JSON has it: labels of rows only if they are numbers or text."""
    elpd = record.elpd
    labels = None if elpd.labels is None else elpd.labels.tolist()
    plain = labels is not None and all(isinstance(label, int | str) for label in labels)
    return {
        "request": asdict(record.request),
        "key": record.key,
        "response": record.response,
        "verdict": record.verdict,
        "elpd": {
            "kind": elpd.kind,
            "method": elpd.method,
            "p": elpd.p,
            "pointwise": elpd.pointwise.tolist(),
            "weights": None if elpd.weights is None else elpd.weights.tolist(),
            "labels": labels if plain else None,
        },
    }


def _record(folder: Path, values: Mapping[str, Any], into: Path) -> Record:
    """Read a record, and copy its file."""
    name, elpd = Path(values["file"]).name, dict(values["elpd"])
    pointwise = np.asarray(elpd.pop("pointwise"), dtype=float)
    weights, labels = elpd.pop("weights"), elpd.pop("labels")
    shutil.copyfile(folder / name, into / name)
    return Record(
        request=Request.from_values(values["request"]),
        key=str(values["key"]),
        response=str(values["response"]),
        elpd=Elpd(
            pointwise=pointwise,
            weights=None if weights is None else np.asarray(weights, dtype=float),
            labels=None if labels is None else pd.Index(labels),
            **elpd,
        ),
        verdict=str(values["verdict"]),
        path=into / name,
    )
