"""Tables of files, read by the ending of their name."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.data.csv_files import CsvFormat, read_csv
from bayesvb.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

CSV_ENDINGS = (".csv", ".csv.gz")

PARQUET_ENDING = ".parquet"


def read_table_file(
    path: Path, name: str, form: CsvFormat | None = None
) -> tuple[pd.DataFrame, list[str]]:
    """Read the table of a file; also return the recognised format of a CSV file, in words.

    Parameters
    ----------
    path : Path
        Of the file.
    name : str
        Of the file, by which messages call it; its ending decides how it is read.
    form : CsvFormat, optional

    Raises
    ------
    DataError
        If its ending is not known, or it cannot be read as a table.
    """
    if name.lower().endswith(CSV_ENDINGS):
        return read_csv(_content(path, name), name, form)
    if name.lower().endswith(PARQUET_ENDING):
        return _read_parquet(path, name), []
    known = ", ".join((*CSV_ENDINGS, PARQUET_ENDING))
    raise DataError(
        f"DATA={name!r}: no reader for files of this kind; the kinds are {known}",
        hint="give a CSV file a name that ends in .csv",
    )


def _content(path: Path, name: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as error:
        raise DataError(f"{name!r} cannot be read as CSV: {error}") from error


def _read_parquet(path: Path, name: str) -> pd.DataFrame:
    import pandas as pd

    try:
        return pd.read_parquet(path)
    except ImportError as error:
        raise DataError(
            f"{name!r}: Parquet files need pyarrow", hint="pip install pyarrow, or give a CSV"
        ) from error
    except (ValueError, OSError) as error:
        said = str(error).replace(f" '{path}'", "")  # an upload is elsewhere
        raise DataError(f"{name!r} cannot be read as Parquet: {said}") from error
