"""Stage 2, bind: a column in one of its roles, and the name that it has during evaluation.

Each column goes by another name while the formula package evaluates the terms. So a column may be
called `log`, or carry blanks, and C(k) may see whole numbers where k itself is a double.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

import pandas as pd

from bayesvb.data.frames import kind_of
from bayesvb.formula.expressions import Role

ALIAS = re.compile(
    r"_bvb_(lookup|value|levels|groups|hashed|status|event|upper)_((?:[0-9a-f]{2})*)_"
)


@dataclass(frozen=True, order=True)
class ColumnRole:
    """A column in one of its roles: alone, in arithmetic, in C() or hashed(), right of a bar.

    Some roles occur in responses only: see ``RESPONSE_ROLES``.
    """

    column: str
    role: Role

    @property
    def alias(self) -> str:
        """Name of the column during evaluation, from which the column can be recovered."""
        return f"_bvb_{self.role}_{self.column.encode().hex()}_"

    def has_levels(self, columns: Mapping[str, pd.Series]) -> bool:
        """Whether the column is text, or stands inside C() or right of a bar."""
        if self.role in ("status", "event", "upper"):
            return False
        marked = self.role in ("levels", "groups")
        return marked or kind_of(columns[self.column], self.column) == "levels"

    def __str__(self) -> str:
        """Column as the formula writes it."""
        bare = self.role == "lookup" or self.column.isidentifier()
        return self.column if bare else f"`{self.column}`"


def roles_in(code: str) -> list[ColumnRole]:
    """The columns whose aliases occur in a text, each time that they do."""
    return [ColumnRole(bytes.fromhex(name).decode(), role) for role, name in ALIAS.findall(code)]


def with_own_names(code: str) -> str:
    """A text with the names of columns instead of their aliases."""
    return ALIAS.sub(lambda found: str(roles_in(found[0])[0]), code)
