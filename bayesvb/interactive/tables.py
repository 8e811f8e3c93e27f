"""The data of a page, with the code that makes them."""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import pandas as pd

from bayesvb.data.frames import as_frame
from bayesvb.data.table_files import PARQUET_ENDING, read_table_file
from bayesvb.datasets import describe, load, names
from bayesvb.errors import DataError
from bayesvb.formula.formula_changes import written

AS_RECOGNISED = (
    "from pathlib import Path\n\nfrom bayesvb.data.table_files import read_table_file\n\n"
    "data, _ = read_table_file(Path({path!r}), {path!r})"
)
"""Code for a file in which more was recognised than pandas does: separators, dates, codes."""


@dataclass(frozen=True, kw_only=True)
class Table:
    """Rows, and where they come from.

    Attributes
    ----------
    frame : pandas.DataFrame
    name : str
        Of the data set, or of the file.
    python : str
        Lines that make the variable `data`.
    source : str or None
        Argument of the command line; None of a frame that only Python has.
    formula : str
        A first formula.
    notes : tuple of str
        Recognised format of a file.
    """

    frame: pd.DataFrame = field(repr=False)
    name: str
    python: str
    source: str | None
    formula: str
    notes: tuple[str, ...] = ()

    @cached_property
    def sha256(self) -> str:
        """Hash of the rows, by which data that have changed are recognised."""
        return data_hash(self.frame)


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of the columns, and of the values in each row.

    Examples
    --------
    >>> frame = pd.DataFrame({"x": [1, 2]})
    >>> data_hash(frame) == data_hash(frame.copy()), data_hash(frame) == data_hash(frame[::-1])
    (True, False)
    """
    digest = hashlib.sha256(json.dumps([str(name) for name in frame]).encode())
    for name in frame:
        column = frame[name].astype(str) if frame[name].dtype == object else frame[name]
        digest.update(pd.util.hash_pandas_object(column, index=False).to_numpy().tobytes())
    return digest.hexdigest()


def shipped_table(name: str) -> Table:
    """Return a data set of the package, with the formula that its catalogue suggests.

    Examples
    --------
    >>> table = shipped_table("mcycle")
    >>> table.formula, table.python
    ('accel ~ s(times)', "data = bvb.datasets.load('mcycle')")
    """
    return Table(
        frame=load(name),
        name=name,
        python=f"data = bvb.datasets.load({name!r})",
        source=name,
        formula=describe(name).formula,
    )


def file_table(path: Path, name: str) -> Table:
    """Read a file; its code has the name that it has for the user.

    Parameters
    ----------
    path : Path
        Where it is: an upload has a name of its own there.
    name : str
        Name given by the user.

    Raises
    ------
    DataError
        If it cannot be read as a table.
    """
    frame, notes = read_table_file(path, name)
    if frame.empty:
        raise DataError(f"{name!r} has a header, but no rows", hint="add rows below the header")
    return Table(
        frame=frame,
        name=Path(name).name,
        python=_reading(path, name, frame),
        source=name,
        formula=first_formula(frame),
        notes=tuple(notes),
    )


def python_table(data: object) -> Table:
    """Return a frame of the user; the lines of code begin with his variable."""
    frame = as_frame(data)
    python = "# data: the frame that the workbench was given"
    formula = first_formula(frame)
    return Table(frame=frame, name="data", python=python, source=None, formula=formula)


def open_table(data: object) -> Table:
    """Return the table of a frame, or of a path or the name of a shipped data set.

    Raises
    ------
    DataError
        If the file or data set does not exist, or is not a table.
    """
    if not isinstance(data, str | Path):
        return python_table(data)
    if str(data) in names() and not Path(data).exists():
        return shipped_table(str(data))
    return file_table(Path(data), str(data))


def first_formula(frame: pd.DataFrame) -> str:
    """Return a formula of the first columns of numbers: the first given the second.

    Examples
    --------
    >>> first_formula(pd.DataFrame({"site": ["a"], "wage": [1.0], "years at school": [2.0]}))
    'wage ~ `years at school`'
    """
    numeric = [name for name in frame if pd.api.types.is_numeric_dtype(frame[name])]
    rest = [name for name in frame if name not in numeric]
    response, *others = map(str, [*numeric, *rest])
    return f"{written(response)} ~ {written(others[0]) if others else '1'}"


def _reading(path: Path, name: str, frame: pd.DataFrame) -> str:
    """Lines that read the file as it was read here: by pandas where that gives the same."""
    if name.lower().endswith(PARQUET_ENDING):
        return f"import pandas as pd\n\ndata = pd.read_parquet({name!r})"
    try:
        same = pd.read_csv(path).equals(frame)
    except ValueError:
        same = False
    if same:
        return f"import pandas as pd\n\ndata = pd.read_csv({name!r})"
    return AS_RECOGNISED.format(path=name)
