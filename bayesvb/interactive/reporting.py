"""The report of a saved fit: a preview of its short edition, and files of the full one."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from bayesvb.estimators.loading import load

FORMATS = {"HTML": ".html", "Markdown": ".md"}
"""Endings of the files by their name on the page."""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Short edition of a report.

    Attributes
    ----------
    path : Path
        File of the fit.
    html : str
        A document of its own, without scripts.
    """

    path: Path
    html: str


@dataclass(frozen=True, kw_only=True)
class Written:
    """Report of the fit in this file, with all formats beside it."""

    path: Path


@dataclass(frozen=True, kw_only=True)
class ReportTask:
    """Report of a saved fit, as the work of a process.

    Attributes
    ----------
    path : Path
        File of the fit.
    source : str
        Where the data come from.
    """

    path: Path
    source: str

    def messages(
        self, tell: Callable[[object], None], questions: Iterator[object]
    ) -> Iterator[object]:
        """Yield ``Preview``, then ``Written``."""
        fit = load(self.path)
        page = self.path.with_suffix(FORMATS["HTML"])
        fit.report(page, source=self.source, edition="short")
        yield Preview(path=self.path, html=page.read_text("utf-8"))
        for ending in FORMATS.values():
            fit.report(self.path.with_suffix(ending), source=self.source)
        yield Written(path=self.path)
