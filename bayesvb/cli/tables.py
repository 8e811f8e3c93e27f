"""Tables that the command line reads and writes."""

from __future__ import annotations

import gzip
import warnings
from collections.abc import Callable, Sequence
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.errors import DataError
from bayesvb.storage.whole_files import check_writable, write_whole

if TYPE_CHECKING:
    import pandas as pd

OTHER_SEPARATORS = (";", "\t", "|")


def read_table(given: str) -> pd.DataFrame:
    """Table of a file, or the shipped data set of that name where there is no such file.

    Raises
    ------
    DataError
        If there is no such file, its ending is not known, or it cannot be read as a table.
    """
    from bayesvb.datasets import load, names

    path = Path(given)
    if not path.exists() and given in names():
        shipped: pd.DataFrame = load(given)
        return shipped
    if not path.is_file():
        raise _no_such_file(path)
    for ending, reader in READERS.items():
        if path.name.lower().endswith(ending):
            return reader(path)
    raise DataError(
        f"DATA={given!r}: no reader for files of this kind; known are {', '.join(READERS)}",
        hint="give a CSV file a name that ends in .csv",
    )


def _no_such_file(path: Path) -> DataError:
    from bayesvb.datasets import names

    if path.is_dir():
        return DataError(f"DATA={str(path)!r} is a folder", hint="add the name of a file")
    beside = [str(path.with_name(f.name)) for f in path.parent.glob("*")]
    near = get_close_matches(str(path), [*beside, *names()], n=1)
    hint = f"did you mean {near[0]}?" if near else "shipped data sets: bayesvb datasets"
    return DataError(f"DATA={str(path)!r}: there is no such file or data set", hint=hint)


def read_csv(path: Path) -> pd.DataFrame:
    """Table of a comma-separated file with a header, compressed or not.

    Empty fields, NA, NaN, null and their like are missing values.

    Raises
    ------
    DataError
        If it is no such file, or its header does not fit its rows.
    """
    import pandas as pd

    try:
        header = pd.read_csv(path, header=None, nrows=1, dtype=str)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # values beyond the header
            frame = pd.read_csv(path, index_col=False, low_memory=False)
    except pd.errors.ParserWarning as error:
        raise DataError(
            f"{str(path)!r} has more values in a row than names in its header",
            hint="give every column a name, also that of the row numbers",
        ) from error
    except (ValueError, OSError, EOFError) as error:  # of the parser, of UTF-8, of gzip
        raise DataError(f"{str(path)!r} cannot be read as CSV: {error}") from error
    names = header.iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise DataError(
            f"{str(path)!r} has two columns named {twice.iloc[0]!r}", hint="rename one of them"
        )
    separators = [mark for mark in OTHER_SEPARATORS if mark in str(frame.columns[0])]
    if frame.shape[1] == 1 and separators:
        raise DataError(
            f"{str(path)!r} has a single column, {frame.columns[0]!r}",
            hint=f"separate the values by commas instead of {separators[0]!r}",
        )
    return frame


def read_parquet(path: Path) -> pd.DataFrame:
    """Table of a Parquet file.

    Raises
    ------
    DataError
        If pyarrow is not installed, or it is no such file.
    """
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise DataError(
            f"{str(path)!r}: Parquet files need pyarrow", hint="pip install pyarrow, or give a CSV"
        ) from error
    except (ValueError, OSError) as error:
        raise DataError(f"{str(path)!r} cannot be read as Parquet: {error}") from error


READERS: dict[str, Callable[[Path], pd.DataFrame]] = {
    ".csv": read_csv,
    ".csv.gz": read_csv,
    ".parquet": read_parquet,
}
"""Reader by the ending of the file's name."""


def write_csv(table: pd.Series | pd.DataFrame, path: str | None) -> None:
    """Write the columns with a header, one line per row; to stdout without a path.

    Labels of columns that have several parts are joined by ``_``.

    The file is complete or not there.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    import click

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
    taken = {Path(path).resolve(): path for path in inputs}
    for path in outputs:
        if path is None:
            continue
        final = check_writable(path).resolve()
        if final in taken:
            raise DataError(
                f"path={path!r} would be written over {taken[final]!r}", hint="choose another name"
            )
        taken[final] = path
