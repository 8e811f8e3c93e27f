"""Tables whose columns can still be read by their former names."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.errors import warn_renamed

RENAMED: Mapping[str, str] = {
    "apart": "prediction_distance",
    "centre": "location",
    "separation": "membership_prob",
    "start": "initialisation",
}
"""Columns by their former names, which work with a DeprecationWarning."""


class FormerColumns(pd.DataFrame):
    """Table that returns a column under its former name, with a DeprecationWarning.

    Only ``table[name]`` does; ``table.loc`` knows the present names only.
    """

    @property
    def _constructor(self) -> type[pd.DataFrame]:
        return FormerColumns

    if not TYPE_CHECKING:  # the overloads of pandas are those of this method

        def __getitem__(self, key: object) -> object:
            """Return columns or rows as pandas does."""
            former = [
                name for name in (key if isinstance(key, list) else [key]) if self._is_former(name)
            ]
            for name in former:
                warn_renamed(f"column {name!r}", repr(RENAMED[name]))
            if former and isinstance(key, list):
                key = [RENAMED[name] if name in former else name for name in key]
            elif former:
                key = RENAMED[key]
            return super().__getitem__(key)

    def _is_former(self, name: object) -> bool:
        """Whether a name is a column's former name."""
        if not isinstance(name, str) or name in self.columns:
            return False
        return RENAMED.get(name) in self.columns
