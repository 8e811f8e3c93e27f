"""The catalogue: what each data set is, where it comes from, and what may be done with it."""

from __future__ import annotations

import difflib
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import resources
from textwrap import fill
from typing import Any

from bayesvb.argument_checks import checked
from bayesvb.errors import DataError

__all__ = ["Column", "Description", "describe", "names"]

_WIDTH = 88
_LABEL = 10  # width of the labels in the margin of a printed description


@dataclass(frozen=True)
class Column:
    """One column of a data set.

    Parameters
    ----------
    name, unit, meaning : str
        Column name, its unit ("none" for a pure number), and what it measures.
    levels : tuple of str
        Categories in their order, the first being the reference; empty for numbers.
    """

    name: str
    unit: str
    meaning: str
    levels: tuple[str, ...] = ()


@dataclass(frozen=True)
class Description:
    """What is known about a data set; printing it gives one readable page.

    Parameters
    ----------
    name, sentence : str
        Name for `load`, and what the data are.
    rows : int
        Number of rows; for a simulation, the number drawn when `n` is not given.
    columns : tuple of Column
        Columns in the order of the frame, the response last.
    formula, model : str
        A sensible first formula, and the class it is for.
    source, licence, citation : str
        Where the copy comes from, on which terms, and what to cite.
    note : str
        What to know before use; may be empty.
    sha256 : str or None
        Checksum of the shipped file; None for a simulation.
    """

    name: str
    sentence: str
    rows: int
    columns: tuple[Column, ...]
    formula: str
    model: str
    source: str
    licence: str
    citation: str
    note: str
    sha256: str | None

    @property
    def simulated(self) -> bool:
        """Whether the rows are drawn at each call."""
        return self.sha256 is None

    def __str__(self) -> str:
        """Page for a terminal."""
        rows = f"{self.rows} unless n is given, drawn at each call" if self.simulated else self.rows
        facts = {
            "rows": str(rows),
            "formula": self.formula,
            "model": self.model,
            "source": self.source,
            "licence": self.licence,
            "citation": self.citation,
            "note": self.note,
            "sha256": self.sha256 or "",
        }
        lines = [_paragraph(label, text) for label, text in facts.items() if text]
        title = fill(f"{self.name}: {self.sentence}", _WIDTH)
        return "\n".join([title, "", *lines, "", "columns", *_column_lines(self.columns)])


def names() -> tuple[str, ...]:
    """Names of all data sets: the shipped ones first, then the simulations.

    Examples
    --------
    >>> from bayesvb import datasets
    >>> "mcycle" in datasets.names()
    True
    """
    return tuple(_catalogue())


@checked
def describe(name: str) -> Description:
    """Source, licence, columns and default formula of a data set.

    Parameters
    ----------
    name : str
        One of `names`.

    Raises
    ------
    DataError
        If there is no data set of that name.

    Examples
    --------
    >>> from bayesvb import datasets
    >>> datasets.describe("mcycle").formula
    'accel ~ s(times)'
    """
    catalogue = _catalogue()
    if name not in catalogue:
        near = difflib.get_close_matches(str(name).lower(), catalogue, n=2)
        guess = f"did you mean {' or '.join(map(repr, near))}? " if near else ""
        raise DataError(
            f"there is no data set named {name!r}", hint=f"{guess}names: {', '.join(catalogue)}"
        )
    entry = dict(catalogue[name])
    columns = tuple(_column(key, value) for key, value in entry.pop("columns").items())
    return Description(name=name, columns=columns, **{"note": "", "sha256": None, **entry})


def _catalogue() -> Mapping[str, Mapping[str, Any]]:
    """Entries of the catalogue by name, as they stand in the file."""
    text = resources.files("bayesvb.datasets").joinpath("catalogue.toml").read_text("utf-8")
    return tomllib.loads(text)


def _column(name: str, entry: Mapping[str, Any]) -> Column:
    return Column(name, entry["unit"], entry["meaning"], tuple(entry.get("levels", ())))


def _paragraph(label: str, text: str) -> str:
    """Text beside its label, wrapped with a hanging indent; long words (links) stay whole."""
    margin = " " * _LABEL
    return fill(
        text,
        _WIDTH,
        initial_indent=label.ljust(_LABEL),
        subsequent_indent=margin,
        break_long_words=False,
        break_on_hyphens=False,
    )


def _column_lines(columns: tuple[Column, ...]) -> Iterator[str]:
    """Name, unit and meaning of each column, aligned."""
    wide = max(len(column.name) for column in columns)
    units = max(len(column.unit) for column in columns)
    for column in columns:
        levels = f" ({', '.join(column.levels)})" if column.levels else ""
        yield f"  {column.name:{wide}}  {column.unit:{units}}  {column.meaning}{levels}"
