"""Files with separated values: separator, decimal mark and encoding as given, or recognised."""

from __future__ import annotations

import codecs
import gzip
import io
import re
import warnings
import zlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesvb.errors import DataError

if TYPE_CHECKING:
    import pandas as pd

SEPARATORS = (",", ";", "\t", "|")
"""The first of them that divides the first line into most names is taken."""

ENCODINGS = {"utf-8": "", "cp1252": " (Latin-1)", "latin-1": ""}
"""Tried in this order, with their other names; the last one can read anything."""

MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
"""First two bytes of a text in UTF-16."""

WORDS = {";": "semicolons", "\t": "tabs", "|": "vertical bars", " ": "blanks"}

TELL = "--sep and --encoding say otherwise"

GZIP = b"\x1f\x8b"

DECIMAL_COMMA = r"[+-]?\d*,\d+(?:[eE][+-]?\d+)?|[+-]?\d+"


@dataclass(frozen=True)
class CsvFormat:
    """Format of a CSV file; None where it is to be detected.

    Attributes
    ----------
    separator : str, optional
    encoding : str, optional
    """

    separator: str | None = None
    encoding: str | None = None


NO_LEVEL = "if None is a level, write it in another way"
"""Remedy where the word means a level, as in files that R writes."""


def read_csv(
    content: bytes, name: str, form: CsvFormat | None = None
) -> tuple[pd.DataFrame, list[str]]:
    r"""Table of a file with a header, compressed or not, and the recognised format, in words.

    Empty fields, NA, NaN, null and similar texts are missing values. If values are separated by
    semicolons numbers may have decimal commas. Columns whose values are all dates of ISO 8601 are
    dates. Columns in which leading zeros distinguish values, as 7 and 007, are text.

    Parameters
    ----------
    content : bytes
    name : str
        What messages call the file.
    form : CsvFormat, optional

    Raises
    ------
    DataError
        If it is not such a file, or its header does not fit its rows.

    Examples
    --------
    >>> frame, notes = read_csv(b"x;name\n0,5;M\xfcller\n", "a.csv")
    >>> frame["x"].tolist(), frame["name"].tolist(), len(notes)
    ([0.5], ['Müller'], 2)
    """
    from bayesvb.data.column_kinds import stray_text
    from bayesvb.data.frames import writes_dates

    form = form or CsvFormat()
    text, notes = _decoded(content, name, form.encoding)
    separator = form.separator or _separator(text)
    if separator != "," and form.separator is None:
        seen = f"{name}: values are separated by {WORDS.get(separator, repr(separator))}"
        notes.append(f"{seen}; {TELL}")
    frame = _parsed(text, name, separator)
    codes = _codes(text, separator, frame)
    if codes:
        frame = frame.assign(**codes)
        listed = ", ".join(f"`{one}`" for one in codes)
        notes.append(f"{name}: {listed} read as text: leading zeros distinguish values")
    for column in map(str, frame):
        why = stray_text(frame[column].dropna()) if frame[column].dtype.kind not in "biuf" else ""
        if why and column not in codes:
            notes.append(f"{name}: `{column}` read as text: {why}")
    for column, count in _nones(text, separator, frame).items():
        notes.append(f"{name}: `{column}`: {count:,} values None read as missing; {NO_LEVEL}")
    dates = [column for column in map(str, frame) if writes_dates(frame[column])]
    if dates:
        notes.append(f"{name}: {', '.join(f'`{one}`' for one in dates)} read as dates")
    return frame.assign(**{one: _as_dates(frame[one]) for one in dates}), notes


def _as_dates(column: pd.Series) -> pd.Series:
    """Dates that are written in ISO 8601."""
    import pandas as pd

    return pd.to_datetime(column, format="ISO8601")


def _decoded(content: bytes, name: str, encoding: str | None) -> tuple[str, list[str]]:
    """Text of a file, and a note if it is not UTF-8."""
    try:
        content = gzip.decompress(content) if content[:2] == GZIP else content
    except (OSError, EOFError, zlib.error) as error:
        raise DataError(f"{name!r} cannot be read as CSV: {error}") from error
    usual = {"utf-16": "", **ENCODINGS} if content[:2] in MARKS else ENCODINGS
    for one in usual if encoding is None else (encoding,):
        try:
            text = content.decode(one)
        except UnicodeDecodeError as error:
            if encoding is not None:
                raise DataError(
                    f"encoding={encoding!r}: {name!r} has another encoding: {error}"
                ) from error
            continue
        except LookupError as error:
            raise DataError(
                f"encoding={encoding!r} is not known", hint="utf-8, latin-1, cp1252, for example"
            ) from error
        if "\0" in text:
            raise DataError(
                f"{name!r} cannot be read as CSV: it holds NUL characters",
                hint="if the text is UTF-16, give --encoding utf-16",
            )
        other = encoding is None and one != "utf-8"
        notes = [f"{name}: not UTF-8, read as {one}{usual[one]}; {TELL}"] if other else []
        return text.removeprefix("\N{ZERO WIDTH NO-BREAK SPACE}"), notes
    raise AssertionError("Latin-1 reads anything")


def _separator(text: str) -> str:
    """Separator that divides the first line into most parts; a comma if none does."""
    first = next((line for line in text.splitlines() if line.strip()), "")
    return max(SEPARATORS, key=lambda mark: _parts(first, mark))


def _parts(line: str, separator: str) -> int:
    """Number of names in a line; what stands between quotes is one."""
    return sum(part.count(separator) for part in line.split('"')[::2])


def _parsed(text: str, name: str, separator: str) -> pd.DataFrame:
    """Table of the text."""
    import pandas as pd

    try:
        header = pd.read_csv(io.StringIO(text), sep=separator, header=None, nrows=1, dtype=str)
        with warnings.catch_warnings():
            warnings.simplefilter("error", pd.errors.ParserWarning)  # values beyond the header
            frame = pd.read_csv(io.StringIO(text), sep=separator, index_col=False, low_memory=False)
    except pd.errors.ParserWarning as error:
        raise DataError(
            f"{name!r} has a row with more values than the header has names",
            hint="give every column a name, also a column of row numbers",
        ) from error
    except ValueError as error:
        raise DataError(f"{name!r} cannot be read as CSV: {error}") from error
    names = header.iloc[0].dropna()
    twice = names[names.duplicated()]
    if len(twice):
        raise DataError(f"{name!r} has two columns named {twice.iloc[0]!r}", hint="rename one")
    return _with_points(frame) if separator == ";" else frame


def _codes(text: str, separator: str, frame: pd.DataFrame) -> dict[str, pd.Series]:
    """Columns of numbers as text, where the same number is written with and without zeros."""
    import pandas as pd

    numeric = [name for name in map(str, frame) if frame[name].dtype.kind in "iuf"]
    if not numeric or not re.search(rf"(?:^|[\"{re.escape(separator)}])0+\d", text, re.MULTILINE):
        return {}
    written = pd.read_csv(
        io.StringIO(text), sep=separator, index_col=False, usecols=numeric, dtype=str
    )
    padded = [name for name in numeric if written[name].str.fullmatch(r"0+\d+").any()]
    return {
        name: written[name]
        for name in padded
        if written[name].dropna().str.fullmatch(r"\d+").all()
        and written[name].nunique() > frame[name].nunique()
    }


def _nones(text: str, separator: str, frame: pd.DataFrame) -> dict[str, int]:
    """Count values ``None``, which pandas takes as missing, by column of text."""
    import pandas as pd

    columns = [name for name in map(str, frame)
               if frame[name].dtype.kind not in "biuf" and frame[name].isna().any()]  # fmt: skip
    if not columns or "None" not in text:
        return {}
    written = pd.read_csv(
        io.StringIO(text), sep=separator, index_col=False, usecols=columns, dtype=str,
        keep_default_na=False,
    )  # fmt: skip
    counts = {name: int((written[name] == "None").sum()) for name in columns}
    return {name: count for name, count in counts.items() if count}


def _with_points(frame: pd.DataFrame) -> pd.DataFrame:
    """The table with numbers instead of text such as ``0,5``."""
    import pandas as pd

    changed: dict[str, pd.Series] = {}
    for name in map(str, frame):
        column = frame[name]
        if pd.api.types.is_numeric_dtype(column):
            continue
        words = column.dropna().astype(str).str.strip()
        if len(words) and words.str.fullmatch(DECIMAL_COMMA).all():
            changed[name] = column.astype("string").str.replace(",", ".").astype("float64")
    return frame.assign(**changed)
