"""Printed tables and sentences within the width of a terminal."""

from __future__ import annotations

import math
import os
import sys
import textwrap
from typing import Any

import pandas as pd

WIDTH = 100
"""Columns of tables without a terminal."""

LEAST = 40
"""Columns below which text is not made narrower."""


def number_text(value: float, digits: int = 4) -> str:
    """Return a number with four significant digits, from 10,000 on with commas.

    Examples
    --------
    >>> number_text(87683.4), number_text(0.031416), number_text(-9999.6)
    ('87,680', '0.03142', '-10,000')
    """
    text = f"{value:.{digits}g}"
    # Size from which on numbers are printed in scientific notation.
    return f"{float(text):,.0f}" if "e+" in text and abs(value) < 1e9 else text


def ratio_text(value: float) -> str:
    """Return a ratio, of which two digits differ from 1: of one dollar it may be 1.000058.

    Examples
    --------
    >>> ratio_text(1.0000576), ratio_text(0.99871), ratio_text(1.0), ratio_text(2.0)
    ('1.000058', '0.9987', '1', '2')
    """
    distance = abs(value - 1.0)
    if not 1e-12 < distance < 1e-3:
        return number_text(value)
    return f"{value:.{1 - math.floor(math.log10(distance))}f}".rstrip("0")


class PrintedTable(pd.DataFrame):
    """Table that prints all columns within the width of the terminal; parts of it are plain.

    Examples
    --------
    >>> PrintedTable({"mean": [1.23456], "sd": [0.1]}, index=pd.Index(["x"], name="term"))
          mean  sd
    term
    x    1.235 0.1
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return pd.DataFrame

    def __str__(self) -> str:
        text = self.to_string(
            float_format=number_text,
            formatters=self._ratios,
            line_width=line_width() or WIDTH,
            max_rows=pd.get_option("display.max_rows"),
        )
        return "\n".join(line.rstrip() for line in text.splitlines())

    __repr__ = __str__

    def _repr_html_(self) -> str:
        rows = pd.get_option("display.max_rows")
        html = self.to_html(float_format=number_text, formatters=self._ratios, max_rows=rows)
        return str(html)

    @property
    def _ratios(self) -> dict[Any, Any]:
        """Formats of columns of ratios."""
        return {name: ratio_text for name in self if str(name).endswith("_ratio")}


def line_width() -> int | None:
    """Return the columns of the terminal, or of the variable COLUMNS; None if there is neither."""
    given = os.environ.get("COLUMNS", "")
    if given.isdecimal():
        return max(int(given), LEAST)
    try:
        columns = os.get_terminal_size(sys.stdout.fileno()).columns
    except (AttributeError, OSError, ValueError):  # a file, a notebook, a closed stream
        return None
    return max(columns, LEAST) if columns else None


def limited(most: int) -> int:
    """Return the width of lines, at most this."""
    return min(line_width() or most, most)


def table_text(table: pd.DataFrame, *, keys: int = 1, indent: int = 0, **options: Any) -> str:
    """Return a table without its index, in blocks of columns that are as wide as the terminal.

    Parameters
    ----------
    table : DataFrame
    keys : int
        First columns, which identify the rows and are repeated in each block.
    indent : int
        Columns that are left free.
    **options
        As of ``DataFrame.to_string``.

    Examples
    --------
    >>> print(table_text(pd.DataFrame({"term": ["x"], "estimate": [1.5]})))
    term  estimate
       x       1.5
    """
    width = line_width()
    whole = str(table.to_string(index=False, **options))
    if width is None or _widest(whole) + indent <= width:
        return whole
    blocks: list[str] = []
    named, rest = list(range(keys)), list(range(keys, table.shape[1]))
    while rest:
        taken = next(
            (n for n in range(len(rest), 1, -1)
             if _widest(_block(table, [*named, *rest[:n]], options)) + indent <= width), 1
        )  # fmt: skip
        blocks.append(_block(table, [*named, *rest[:taken]], options))
        rest = rest[taken:]
    return "\n\n".join(blocks) if blocks else whole


def wrapped_text(text: str) -> str:
    """Return the text with lines that are too long for the terminal continued on the next one."""
    width = line_width()
    if width is None or _widest(text) <= width:
        return text
    lines = []
    for line in text.split("\n"):
        indent = " " * (len(line) - len(line.lstrip()) + 2)
        lines += textwrap.wrap(
            line, width, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False,
            drop_whitespace=True, replace_whitespace=False,
        ) or [line]  # fmt: skip
    return "\n".join(lines)


def _block(table: pd.DataFrame, columns: list[int], options: dict[str, Any]) -> str:
    return str(table.iloc[:, columns].to_string(index=False, **options))


def _widest(text: str) -> int:
    return max(map(len, text.split("\n")), default=0)
