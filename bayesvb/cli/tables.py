"""Tables that the command line reads and writes."""

from __future__ import annotations

import gzip
import sys
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from pathlib import Path

import click
import pandas as pd

from bayesvb.data.column_units import UNITS, check_units, declared_units
from bayesvb.data.csv_files import CsvFormat, read_csv
from bayesvb.data.frames import nearest
from bayesvb.data.table_files import read_table_file
from bayesvb.errors import DataError
from bayesvb.storage.whole_files import check_writable, write_whole

STDIN = "-"
"""Name of the standard input."""


def read_table(given: str, form: CsvFormat | None = None) -> pd.DataFrame:
    """Table of a file, of the standard input for ``-``, or the shipped data set of that name.

    The recognised format of a file is reported on stderr.

    Raises
    ------
    DataError
        If the file does not exist, its ending is not known, or it cannot be read as a table.
    """
    from bayesvb.datasets import load, names

    if given == STDIN:
        return _with_warnings(read_csv(sys.stdin.buffer.read(), "standard input", form))
    path = Path(given)
    if not path.exists() and given in names():
        shipped: pd.DataFrame = load(given)
        return shipped
    if not path.is_file():
        raise _no_such_file(path)
    return _with_warnings(read_table_file(path, given, form))


def with_units(table: pd.DataFrame, units: Mapping[str, str]) -> pd.DataFrame:
    """The table with units of its columns, in addition to its earlier ones.

    Raises
    ------
    DataError
        If the column does not exist, or the unit is too long.
    """
    if not units:
        return table
    for name in units:
        if name not in table.columns:
            raise DataError(
                f"--unit {name}={units[name]}: DATA has no column `{name}`",
                hint=nearest(name, table.columns),
            )
    check_units("--unit", units)
    labelled = table.copy(deep=False)
    labelled.attrs[UNITS] = {**declared_units(table, table.columns), **units}
    return labelled


def _with_warnings(summary: tuple[pd.DataFrame, list[str]]) -> pd.DataFrame:
    """The table, after its format has been reported."""
    frame, notes = summary
    for note in notes:
        click.echo(f"note: {note}", err=True)
    return frame


def _no_such_file(path: Path) -> DataError:
    from bayesvb.datasets import names

    if path.is_dir():
        return DataError(f"DATA={str(path)!r} is a folder", hint="add the name of a file")
    siblings = [str(path.with_name(f.name)) for f in path.parent.glob("*")]
    near = get_close_matches(str(path), [*siblings, *names()], n=1)
    hint = f"did you mean {near[0]}?" if near else "shipped data sets: bayesvb datasets"
    return DataError(f"DATA={str(path)!r}: no such file or data set", hint=hint)


def write_csv(table: pd.Series | pd.DataFrame, path: str | None) -> None:
    """Write the columns with a header, one line per row; to stdout without a path.

    Labels of columns that have several parts are joined by ``_``.

    The file is complete or not there.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    if table.ndim == 2 and table.columns.nlevels > 1:
        table = table.set_axis(["_".join(map(str, labels)) for labels in table.columns], axis=1)
    if path is None:
        click.echo(table.to_csv(index=False), nl=False)
        return
    text = table.to_csv(index=False).encode()
    write_whole(gzip.compress(text, mtime=0) if path.endswith(".gz") else text, path)


def check_outputs(outputs: Sequence[str | None], inputs: Sequence[str] = ()) -> None:
    """Raise unless a file can be written at every path that is given, and none is there twice.

    Raises
    ------
    DataError
    """
    taken = {Path(path).resolve(): path for path in inputs if path != STDIN}
    for path in outputs:
        if path is None:
            continue
        final = check_writable(path).resolve()
        if final in taken:
            raise DataError(
                f"path={path!r} would overwrite {taken[final]!r}",
                hint="choose another name",
            )
        taken[final] = path
