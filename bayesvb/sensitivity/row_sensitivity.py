"""Solver in the space of rows, for statistics that are more than the scalars of the rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.sensitivity.operator import AbstractAppliedSensitivity, no_maximum
from bayesvb.sensitivity.row_space import (
    COLUMNS_AT_ONCE,
    NoMaximum,
    RowSpace,
    Scalars,
    scalar_order,
)
from bayesvb.variational.row_derivatives import RowDerivatives

ACCURATE = 1e-6
"""Last gain of conjugate gradients, as a part of the first: its root is that of solutions.

Predictions without rows are of first order, which is off by some percent of the indirect effect.
"""

Rows = Float[np.ndarray, "vectors entries"]


@dataclass(frozen=True)
class RowSensitivity(AbstractAppliedSensitivity):
    r"""``F' = B D B' V`` by ``(I - F')^-1 = I + B (D^-1 - B' V B)^-1 B' V``.

    Attributes
    ----------
    answering : ndarray, shape (entries,)
    metric_of : callable
        ``V`` times each of some directions.
    space : RowSpace
        ``D`` and ``B' V B``.
    known : RowDerivatives
        Of the rows, with their features.
    accurate : float
    """

    answering: Bool[np.ndarray, " entries"]
    metric_of: Callable[[Rows], Rows]
    space: RowSpace
    known: RowDerivatives
    accurate: float = ACCURATE

    @cached_property
    def _bent(self) -> RowSpace:
        """The space of the rows whose second derivatives are not negligible."""
        return self.space.restricted()

    @cached_property
    def _single(self) -> RowSpace:
        """The space in single precision, unless that is too little."""
        kind = np.float32 if self.accurate >= ACCURATE else np.float64
        return self._bent.astype(kind).keeping()

    @cached_property
    def _variables(self) -> tuple[Float[np.ndarray, "scalars variables"], np.ndarray]:
        """``P L``, and the covariance of the variables."""
        size = self.space.hessian.shape[0] * self.space.hessian.shape[1] + 2 * len(self.space.scale)
        images = np.empty((size, self.space.n_variables), dtype=self._single.hessian.dtype)
        information = self._bent.information(images)
        return images, self._bent.inverse(information)

    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        """``(I - F')^-1`` times each of these, some at a time."""
        found = np.array(added, dtype=float)
        for start in range(0, len(added), COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            if found[part].any():
                found[part] += self._indirect(self.metric_of(added[part]))
        return found

    def solve_transposed(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """``I + V B (D^-1 - B' V B)^-1 B'`` times each of these."""
        found = np.array(slopes, dtype=float)
        for start in range(0, len(slopes), COLUMNS_AT_ONCE):
            part = slice(start, start + COLUMNS_AT_ONCE)
            found[part] += self.metric_of(self._indirect(slopes[part]))
        return found

    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """Images of the units."""
        change = self.metric_of(np.eye(self.n_entries))
        return self._combined(self.space.bent(self._scalars(change))).T

    def _indirect(self, change: Rows) -> Rows:
        """``B (D^-1 - B' V B)^-1 B'`` times each change of the expectations."""
        return self._solved(self._scalars(change))

    def indirect(
        self, rows: Int[np.ndarray, " some"], weight: Float[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some entries"]:
        """``(I - F')^-1 - I`` times what each of some rows adds to the statistics, weighted.

        No product of two columns is made but in the result: the covariance of the scalars of a row
        with those of all others is in closed form.
        """
        found = np.empty((len(rows), self.n_entries))
        for start in range(0, len(rows), COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            at = rows[some]
            gradient = self.known.gradient[self._order][:, at] * weight[some]
            found[some] = self._solved(self.space.covariance_with(at, gradient))
        return found

    def _solved(self, values: Scalars) -> Rows:
        """``B (D^-1 - B' V B)^-1`` times each column."""
        space = self._single
        scalars = values.astype(space.hessian.dtype.type)
        try:
            images, covariance = self._variables
            solution = space.solve(scalars, self.accurate, relative=True)
        except NoMaximum:
            raise no_maximum() from None
        found = space.bent(space.moved(scalars, space.squares_times(solution))).flat()
        found += images @ (covariance.astype(images.dtype) @ (images.T @ scalars.flat()))
        return self._combined(space.scalars(found))

    @cached_property
    def _order(self) -> list[int]:
        """Numbers of the scalars of ``known`` in the order of the space."""
        return [int(number) for number in scalar_order(self.space.parts)]

    def _scalars(self, change: Rows) -> Scalars:
        """``B'`` times each change of the expectations."""
        by_row = np.concatenate([one.changed(change) for one in self.known.scalars])
        n_blocks = len(self.space.scale)
        last = change[:, change.shape[1] - 2 * n_blocks :].T
        rows = np.ascontiguousarray(by_row[self._order].transpose(2, 0, 1))
        return Scalars(rows, last[:n_blocks], last[n_blocks:])

    def _combined(self, values: Scalars) -> Rows:
        """``B`` times each column."""
        found = np.zeros((values.squares.shape[1], self.n_entries))
        each = [(entries, one.features) for one in self.known.scalars for entries in one.entries]
        for slot, number in enumerate(self._order):
            entries, features = each[number]
            found[:, entries] = values.rows[:, slot].T @ features.T
        last = np.concatenate([values.squares, values.precisions])
        found[:, self.n_entries - len(last) :] = last.T
        return found
