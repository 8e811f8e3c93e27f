"""Rows of a table of checks by the names that the checks had before."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from bayesvb.errors import warn_renamed

RENAMED: Mapping[str, str] = {
    "Ascent ended": "Convergence",
    "Beside": "Compared with",
    "Component of one value": "Degenerate component",
    "Importance ratios": "Pareto k-hat",
    "Restarts predict alike": "Restart predictions",
    "Row order": "Serial correlation",
    "Rows by": "Correlation within",
    "Shared value": "Repeated value",
    "Width": "Predictive spread",
}
"""First words of a former name -> present ones; former names expire with version 0.5."""


class FormerLabels:
    """Indexer ``table.loc`` that finds a check under its former name, with a warning."""

    def __init__(self, indexer: Any) -> None:
        self._indexer = indexer

    def __getattr__(self, name: str) -> object:
        return getattr(self._indexer, name)

    def __getitem__(self, key: object) -> object:
        """Return what pandas does, for present names."""
        if isinstance(key, tuple) and key:
            return self._indexer[(self._present(key[0]), *key[1:])]
        return self._indexer[self._present(key)]

    def __setitem__(self, key: object, value: object) -> None:
        """Set what pandas does."""
        self._indexer[key] = value

    def _present(self, label: object) -> object:
        """The label, or the present name of a check whose former name it is."""
        index = self._indexer.obj.index
        if not isinstance(label, str) or label in index:
            return label
        for former, present in RENAMED.items():
            name = present + label.removeprefix(former)
            if label.startswith(former) and name in index:
                warn_renamed(f"check {label!r}", repr(name))
                return name
        return label
