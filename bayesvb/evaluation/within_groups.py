"""Columns after removal of group effects: least squares within each group."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.linear.designs import GroupRows
from bayesvb.numerics.arrays import RowVector

DEPENDENT = 1e-10
"""Part of a column left by others in a group, from which on it has a coefficient of its own."""


@dataclass(frozen=True)
class WithinGroups:
    """Least squares of columns on effects of the groups of their rows.

    Attributes
    ----------
    rows : GroupRows
        Of effects that are orthogonal and of length one within each group, or zero in it.
    n_groups : int
    """

    rows: GroupRows
    n_groups: int

    @classmethod
    def of(cls, rows: GroupRows) -> WithinGroups:
        """Projection from the multipliers of the group effects.

        Examples
        --------
        >>> groups = WithinGroups.of(GroupRows(np.array([0, 1, 0, 1]), np.ones((1, 4))))
        >>> groups.rest(np.array([1.0, 2.0, 3.0, 2.0])).round(9), groups.n_coefficients
        (array([-1.,  0.,  1.,  0.]), 2)
        """
        groups = cls(GroupRows(rows.place, rows.values[:0]), int(rows.place.max()) + 1)
        for values in rows.values:
            rest = groups.rest(groups.rest(values))
            length, before = (groups._lengths(one) for one in (rest, values))
            informative = length > DEPENDENT * before
            scale = np.where(informative, 1.0 / np.where(informative, length, 1.0), 0.0)
            extended = np.vstack([groups.rows.values, rest * scale[rows.place]])
            groups = cls(GroupRows(rows.place, extended), groups.n_groups)
        return groups

    @property
    def n_coefficients(self) -> int:
        """Coefficients that are estimated, of all groups together."""
        return int(sum((self._lengths(one) > 0.5).sum() for one in self.rows.values))

    def rest(self, values: Float[np.ndarray, "rows ..."]) -> Float[np.ndarray, "rows ..."]:
        """Residuals of columns."""
        left: Float[np.ndarray, "... rows"] = np.array(values.T, dtype=float)
        for one in self.rows.values:
            left -= self.rows.at_rows(self.rows.sums(left * one, self.n_groups)) * one
        return np.asarray(left.T)

    def _lengths(self, values: RowVector) -> Float[np.ndarray, " groups"]:
        return np.asarray(np.sqrt(self.rows.sums(values**2, self.n_groups)))
