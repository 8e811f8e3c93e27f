"""Stage 2, bind: a factor left of the bar, ``(f | g)``, as indicators of its levels."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pandas as pd

from bayesvb.errors import without_controls
from bayesvb.formula.columns import ALIAS, ColumnRole, roles_in

FACTOR = re.compile(rf"{ALIAS.pattern}|C\({ALIAS.pattern}\)")


@dataclass(frozen=True)
class Indicator:
    """A column that is one in rows with a level of a factor, and zero in others.

    Attributes
    ----------
    factor, level : str
        The factor as the formula writes it, and the level.
    first : str
        First level of the factor.
    centre : float
        Value that is subtracted before the effects of a group multiply the column.
    has_reference : bool
        Whether the first level is the reference, and has no indicator.
    """

    factor: str
    level: str
    first: str
    centre: float
    has_reference: bool

    @property
    def name(self) -> str:
        """Name of the column as in the design: ``f[T.b]``, or ``f[b]`` without reference."""
        return f"{self.factor}[{'T.' if self.has_reference else ''}{self.level}]"

    def text(self, value: float) -> str:
        """Words for a value of the column."""
        if value in (0.0, 1.0):
            return f"{self.factor} = {self.level if value else self.first}"
        return f"the mean over {self.factor}"


def factor_in(code: str, levels: Mapping[ColumnRole, pd.Index]) -> ColumnRole | None:
    """The factor that an expression consists of; None for other expressions."""
    (role, *_) = [*roles_in(code), None]
    return role if role in levels and FACTOR.fullmatch(code) else None


def level_indicators(
    role: ColumnRole, levels: pd.Index, *, has_reference: bool
) -> dict[str, Indicator]:
    """Code -> indicator, of each level of a factor, but the first if it is the reference.

    With a reference the indicators are centred at the mean over levels, so that the group's
    intercept is its mean over levels, whichever level is the reference.
    """
    centre = 1.0 / len(levels) if has_reference else 0.0
    first, *_ = labels = levels.tolist()
    return {
        f"({role.alias} == {level!r}) * 1.0": Indicator(
            factor=str(role),
            level=without_controls(str(level)),
            first=without_controls(str(first)),
            centre=centre,
            has_reference=has_reference,
        )
        for level in labels[int(has_reference) :]
    }


def levels_apart(groups: Sequence[str], factor: ColumnRole) -> str:
    """Terms with independent effects of every level of a factor in every group."""
    return f"(1 | {':'.join(groups)}) + (1 | {':'.join((*groups, factor.column))})"
