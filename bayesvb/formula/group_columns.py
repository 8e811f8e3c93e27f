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

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.errors import DataError, without_controls
from bayesvb.formula.columns import with_own_names
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.linear.structure import LIMITS

__all__ = ["GroupColumns", "check_columns_of", "fit_groups"]

MOST_CORRELATED = 3
"""Effects with a full covariance: six numbers are integrated over. Four have ten, for which the
points of the integration were not measured."""

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
    correlated : bool
        Whether the effects of a group have a full covariance.
    """

    grouping: str
    effects: tuple[str, ...]
    centres: Float[np.ndarray, " covariates"]
    groups: Int[np.ndarray, " groups"]
    labels: tuple[str, ...]
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
        found = np.zeros(len(self.effects))
        if self.intercept and effect == 0:
            found[1:] = -self.centres
        found[effect] = 1.0
        return found

    @property
    def intercept(self) -> bool:
        """Whether groups have levels of their own, the first of the effects."""
        return self.effects[:1] == ("1",)

    def matrix(self, data: TermData) -> Float[np.ndarray, "rows _"]:
        """The columns of these rows."""
        place = self.places(data)
        rows = np.arange(len(place))
        own = np.zeros((len(place), len(self.labels)))
        own[rows, place] = 1.0
        if not data.sampled:
            own[:, -1] = 0.0
        slopes = [
            own * (x - centre)[:, None]
            for x, centre in zip(data.numbers, self.centres, strict=True)
        ]
        return np.hstack([own, *slopes] if "1" in self.effects else slopes)

    def places(self, data: TermData) -> Int[np.ndarray, " rows"]:
        """The group of each row; their number for one that was not there."""
        numbers = _combinations(data)
        near = np.minimum(np.searchsorted(self.groups, numbers), len(self.groups) - 1)
        return np.where(self.groups[near] == numbers, near, len(self.groups))


def fit_groups(term: GroupTerm, codes: tuple[str, ...], data: TermData) -> GroupColumns:
    """The groups of the first rows.

    Raises
    ------
    DataError
        If there is one group only.
    FormulaError
        If more than ``MOST_CORRELATED`` effects are correlated.
    """
    groups = np.unique(_combinations(data))
    count = len(groups)
    if count == 1:
        raise DataError(f"`{term.place.text}` has only one group", hint="omit this term")
    effects = (*(("1",) if term.intercept else ()), *map(with_own_names, codes))
    if term.correlated and len(effects) > MOST_CORRELATED:
        raise term.place.refused(
            f"`{term.place.text}` has {len(effects)} correlated effects of a group, and at most "
            f"{MOST_CORRELATED} are possible",
            f"write `{term.place.text.replace('|', '||')}` for independent effects",
        )
    centres = np.array([np.unique(x).mean() for x in data.numbers])
    labels = (*_labels(groups, data.levels), UNSEEN)
    grouping = ":".join(term.groups)
    return GroupColumns(grouping, effects, centres, groups, labels, term.correlated)


def check_columns_of(found: GroupColumns, written: str) -> None:
    """Refuse more groups than columns can hold.

    Raises
    ------
    DataError
    """
    count = len(found.groups)
    if count > LIMITS.groups:
        raise DataError(
            f"`{written}` has {count:,} groups, and at most {LIMITS.groups} are possible here: the "
            f"covariance of their effects has {count**2:,} entries for each component",
            hint="group by something coarser; one term of more groups may stand in each part of a "
            "DensityRegression with the default coefficient_units",
        )


def _combinations(data: TermData) -> Int[np.ndarray, " rows"]:
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
    rest, found = groups, [""] * len(groups)
    for known in reversed(levels):
        names = [] if known is None else list(known)
        rest, place = np.divmod(rest, max(len(names), 1))
        each = [without_controls(str(names[one])) for one in place]
        found = [f"{a}:{b}" if b else a for a, b in zip(each, found, strict=True)]
    return found
