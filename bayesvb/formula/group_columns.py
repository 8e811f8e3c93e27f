"""Stage 3, encode: effects of groups, one column per group and one for groups not seen before.

No group is a reference: a prior scale that the groups share separates their effects from the
intercept. The last column is zero in the first rows, so that its coefficient keeps the prior with
the scale learned from the groups: the distribution of a new group.

References
----------
Gelman and Hill (2007), Data Analysis Using Regression and Multilevel/Hierarchical Models, chapters
11 and 12.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import cast

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.errors import DataError, FormulaError, without_controls
from bayesvb.formula.binding import BoundTerm
from bayesvb.formula.columns import roles_in, with_own_names
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.level_indicators import Indicator, levels_apart
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.arrays import RowColumns, RowIntegers

MOST_CORRELATED = 4
"""Effects with a full covariance: ten numbers are integrated over, and at most twelve in all."""

UNSEEN = "new group"
"""Name, in names of columns, of a group that was not in the first rows."""


@dataclass(frozen=True, eq=False)
class GroupColumns(AbstractTermColumns):
    """Effects of groups.

    Attributes
    ----------
    grouping : str
        The columns that make the groups.
    effects : tuple of str
        What varies between groups: ``"1"``, and covariates.
    centres : ndarray, shape (covariates,)
        Means of the covariates' distinct values: slopes are of the distance from these, so that no
        scale depends on where a covariate has its zero.
    groups : ndarray, shape (groups,)
        Numbers of the combinations of levels that are there, ascending.
    labels : tuple of str
        Names of the groups, and of those that were not there.
    indicators : tuple of Indicator or None
        Level of a factor that each covariate stands for; None of other covariates.
    correlated : bool
        Whether the effects of a group have a full covariance.
    """

    grouping: str
    effects: tuple[str, ...]
    centres: Float[np.ndarray, " covariates"]
    groups: Int[np.ndarray, " groups"]
    labels: tuple[str, ...]
    indicators: tuple[Indicator | None, ...]
    correlated: bool = False

    @property
    def term(self) -> str:
        """The term with all its effects: ``(1 + x | g)``."""
        bar = "|" if self.correlated or len(self.effects) == 1 else "||"
        return f"({' + '.join(self.effects)} {bar} {self.grouping})"

    @property
    def names(self) -> tuple[str, ...]:
        """Effect by effect: ``(x | g)[level]``."""
        return tuple(
            f"({effect} | {self.grouping})[{label}]"
            for effect in self.effects
            for label in self.labels
        )

    @property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """The groups of each effect."""
        size = len(self.labels)
        return tuple(tuple(range(i * size, (i + 1) * size)) for i in range(len(self.effects)))

    @property
    def term_blocks(self) -> tuple[TermBlock, ...]:
        """One scale for each effect."""
        joint = self.term if self.correlated else ""
        return tuple(
            TermBlock(f"({effect} | {self.grouping})", places, "group", joint=joint)
            for effect, places in zip(self.effects, self.together, strict=True)
        )

    def at_zero(self, effect: int) -> Float[np.ndarray, " effects"]:
        """Return the weights of the effects in one of them where the covariates are zero.

        A level there is the level at the covariates' centres less the slopes times these; a slope
        is the same everywhere.
        """
        columns = np.zeros(len(self.effects))
        if self.intercept and effect == 0:
            columns[1:] = -self.centres
        columns[effect] = 1.0
        return columns

    @property
    def intercept(self) -> bool:
        """Whether groups have levels of their own, the first of the effects."""
        return self.effects[:1] == ("1",)

    @property
    def covariates(self) -> tuple[str, ...]:
        """Covariates whose effects differ between groups; of a factor once for each indicator."""
        names = self.effects[int(self.intercept) :]
        each = zip(names, self.indicators, strict=True)
        return tuple(name if level is None else level.factor for name, level in each)

    def matrix(self, data: TermData) -> RowColumns:
        place = self.places(data)
        rows = np.arange(len(place))
        matrix = np.zeros((len(place), len(self.labels)))
        matrix[rows, place] = 1.0
        if not data.sampled:
            matrix[:, -1] = 0.0
        slopes = [
            matrix * (x - centre)[:, None]
            for x, centre in zip(data.numbers, self.centres, strict=True)
        ]
        return np.hstack([matrix, *slopes] if "1" in self.effects else slopes)

    def places(self, data: TermData) -> RowIntegers:
        """The group of each row; their number for one that was not there."""
        numbers = _combinations(data)
        near = np.minimum(np.searchsorted(self.groups, numbers), len(self.groups) - 1)
        return np.where(self.groups[near] == numbers, near, len(self.groups))


def fit_groups(bound: BoundTerm, data: TermData) -> GroupColumns:
    """The groups of the first rows.

    Raises
    ------
    DataError
        If there is one group only.
    FormulaError
        If more than ``MOST_CORRELATED`` effects are correlated.
    """
    term, groups = cast(GroupTerm, bound.term), np.unique(_combinations(data))
    if len(groups) == 1:
        raise DataError(f"`{term.place.text}` has only one group", hint="omit this term")
    each = tuple(bound.indicators.get(code) for code in bound.numbers)
    names = [
        with_own_names(code) if one is None else one.name
        for code, one in zip(bound.numbers, each, strict=True)
    ]
    effects = (*(("1",) if term.intercept else ()), *names)
    if term.correlated and len(effects) > MOST_CORRELATED:
        raise _many_correlated(bound, term, len(effects))
    centres = [
        np.unique(x).mean() if one is None else one.centre
        for x, one in zip(data.numbers, each, strict=True)
    ]
    return GroupColumns(
        grouping=":".join(term.groups),
        effects=effects,
        centres=np.array(centres),
        groups=groups,
        labels=(*_labels(groups, data.levels), UNSEEN),
        indicators=each,
        correlated=term.correlated and len(effects) > 1,
    )


def _many_correlated(bound: BoundTerm, term: GroupTerm, count: int) -> FormulaError:
    """The refusal of more correlated effects than can be integrated over."""
    written = term.place.text
    hint = f"write `{written.replace('|', '||')}` for independent effects"
    if bound.indicators:
        (factor, *_) = roles_in(next(iter(bound.indicators)))
        hint = f"write {levels_apart(term.groups, factor)} for effects of every level with one sd"
    return term.place.refused(
        f"`{written}` has {count} correlated effects of a group, and at most {MOST_CORRELATED} are "
        "possible",
        hint,
    )


def check_columns_of(columns: GroupColumns, written: str) -> None:
    """Refuse more groups than columns can hold.

    Raises
    ------
    DataError
    """
    count = len(columns.groups)
    if count > LIMITS.groups:
        raise DataError(
            f"`{written}` has {count:,} groups, and at most {LIMITS.groups} are possible here: the "
            f"covariance of their effects has {count**2:,} entries for each component",
            hint="use fewer, larger groups. With the default coefficient_units, one group-level "
            "term in each part of the formula of a DensityRegression may have more groups",
        )


def _combinations(data: TermData) -> RowIntegers:
    """Number of the combination of levels in each row, negative for one that was not there."""
    number = np.zeros(len(data.columns[0]), dtype=np.int64)
    unseen = np.zeros(len(number), dtype=bool)
    for place, levels in zip(data.columns, data.levels, strict=True):
        size = 0 if levels is None else len(levels)
        number = number * size + place
        unseen |= place < 0
    return np.where(unseen, -1, number)


def _labels(groups: Int[np.ndarray, " groups"], levels: Sequence[pd.Index | None]) -> list[str]:
    """Names of combinations, joined from the names of their levels."""
    rest, labels = groups, [""] * len(groups)
    for known in reversed(levels):
        names = [] if known is None else list(known)
        rest, place = np.divmod(rest, max(len(names), 1))
        each = [without_controls(str(names[one])) for one in place]
        labels = [f"{a}:{b}" if b else a for a, b in zip(each, labels, strict=True)]
    return labels
