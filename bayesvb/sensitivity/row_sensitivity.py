"""Solver in the space of rows, for statistics that are more than the scalars of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.linear.quadratic_forms import Columns
from bayesvb.numerics.arrays import RowVector
from bayesvb.sensitivity.lanczos import ConvexBound
from bayesvb.sensitivity.operator import AbstractAppliedSensitivity, no_maximum
from bayesvb.sensitivity.row_space import (
    COLUMNS_AT_ONCE,
    SINGLE,
    NoMaximum,
    RowSpace,
    Scalars,
    scalar_order,
)
from bayesvb.variational.row_derivatives import RowDerivatives

ACCURATE = 1e-4
"""Part of the quadratic form of a change that may be missing.

With 50 columns and five components log densities without rows are within 1e-4 nats, and a
thousandth of the indirect effect. To first order they are off by some percent of it.
"""

Rows = Float[np.ndarray, "vectors entries"]


@dataclass(frozen=True)
class RowsAdded:
    """Contributions of some rows to the statistics: their space, derivatives, and weights.

    Attributes
    ----------
    space : RowSpace
        Of these rows alone.
    known : RowDerivatives
    weight : ndarray, shape (rows,)
    """

    space: RowSpace
    known: RowDerivatives
    weight: RowVector


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
        kind = np.float32 if self.accurate >= SINGLE else np.float64
        return self._bent.astype(kind)

    @cached_property
    def _information(self) -> tuple[Float[np.ndarray, "variables variables"], Columns]:
        """``L' P L`` and ``Q P L``."""
        return self._bent.information()

    def covariance(self) -> Float[np.ndarray, "variables variables"]:
        r"""Linear-response covariance of the variables.

        Where the ELBO is not concave, ``\rho' (\Gamma^{-1} - L' P L) \rho = \lambda \le 0`` for
        variables ``\rho``. Along ``u = B P L \rho`` the quadratic form of ``I - F'`` in the metric
        ``V`` is ``\lambda (1 - \lambda) - \lambda^2 \rho' L' D L \rho``, which is then not positive
        either as long as the last product is not negative.

        Raises
        ------
        ConvexBound
        NoMaximum
            If the ELBO is not concave in the second moments of coefficients.
        """
        information, products = self._information
        flattest = self._bent.flattest(information)
        if flattest is None:
            return self._bent.inverse(information)
        variables = flattest[1][:, None]
        loadings = self._bent.loadings(variables)
        direction = self._combined(
            self._bent.bent(self._bent.moved(loadings, products @ variables))
        )
        metric = self.metric_of(direction)
        size = float(np.sqrt(direction[0] @ metric[0]))
        raise ConvexBound(1.0 - flattest[0], direction[0] / size)

    @cached_property
    def _variables(self) -> tuple[Columns, Float[np.ndarray, "variables variables"]]:
        """``Q P L``, and the covariance of the variables."""
        try:
            information, products = self._information
        except NoMaximum:
            raise no_maximum() from None
        return products.astype(self._single.hessian.dtype), self._bent.inverse(information)

    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        solution = np.array(added, dtype=float)
        for part in _parts(len(added)):
            if solution[part].any():
                solution[part] += self._indirect(self.metric_of(added[part]))
        return solution

    def solve_transposed(
        self, slopes: Float[np.ndarray, "values entries"]
    ) -> Float[np.ndarray, "values entries"]:
        """``I + V B (D^-1 - B' V B)^-1 B'`` times each of these."""
        solution = np.array(slopes, dtype=float)
        for part in _parts(len(slopes)):
            solution[part] += self.metric_of(self._indirect(slopes[part]))
        return solution

    def whole(self) -> Float[np.ndarray, "entries entries"]:
        """Images of the units."""
        change = self.metric_of(np.eye(self.n_entries))
        return self._combined(self.space.bent(self._scalars(change))).T

    def indirect(
        self, rows: Int[np.ndarray, " some"], weight: Float[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some entries"]:
        r"""``(I - F')^-1 - I`` times each row's contribution to the statistics, weighted.

        For the scalars ``g`` of a row it is ``B x``,

        .. math:: x = P Q g + P L C (L' + L' P Q) g, \qquad C = (\Gamma^{-1} - L' P L)^{-1},

        as ``\Gamma + C L' P L \Gamma = C``: the first term, of second moments, is small, so that
        conjugate gradients take few steps. No product of two columns is made but in the result.
        """
        changes = np.empty((len(rows), self.n_entries))
        for some in _parts(len(rows)):
            changes[some] = self._solved(*self._covariances(rows[some], weight[some]))
        return changes

    def own_changes(
        self, rows: Int[np.ndarray, " some"], weight: Float[np.ndarray, " some"]
    ) -> Float[np.ndarray, "changes some"]:
        r"""Changes of each row's part of the ELBO, itself weighted once more, to first order.

        In nats: direct by first moments of coefficients, direct by second moments, and indirect.
        Nothing is solved for. With ``R = L + Q P L``, the response of the scalars of a row to its
        own gradient ``g`` is the diagonal block of their linear-response covariance

        .. math:: B' V (I - F')^{-1} B = R C R' + Q + Q P Q,

        of which ``L \Gamma L' + Q`` is direct. ``Q P Q``, of the order of the fourth power of the
        leverage, is neglected.
        """
        changes = np.empty((3, len(rows)))
        products, covariance = self._variables
        n_rows, n_quadratic = self.space.n_rows, self.space.n_quadratic
        by_row = products[: n_rows * n_quadratic].reshape(n_rows, n_quadratic, -1)
        for some in _parts(len(rows)):
            gradient = self.known.gradient[self._order][:, rows[some]]
            loaded = self.space.loaded_rows(rows[some], gradient)
            moved = loaded + np.einsum("nsv,sn->vn", by_row[rows[some]], gradient[:n_quadratic])
            direct = (loaded * (self.space.covariance @ loaded)).sum(axis=0)
            whole = (moved * (covariance @ moved)).sum(axis=0)
            changes[:, some] = direct, self.space.squares_at(rows[some], gradient), whole - direct
        return np.asarray(changes * weight)

    def indirect_of_difference(
        self, rows: Int[np.ndarray, " some"], ends: Sequence[RowsAdded]
    ) -> Float[np.ndarray, "some entries"]:
        """``indirect`` of the sum of what some rows add with other responses, each weighted."""
        gradients = [end.known.gradient[self._order] * end.weight for end in ends]
        loaded = [
            end.space.loaded_rows(np.arange(len(rows)), gradient)
            for end, gradient in zip(ends, gradients, strict=True)
        ]
        gradient, loadings = np.sum(gradients, axis=0), np.sum(loaded, axis=0)
        changes = np.empty((len(rows), self.n_entries))
        for some in _parts(len(rows)):
            given = self._given(rows[some], gradient[:, some], loadings[:, some])
            changes[some] = self._solved(*given)
        return changes

    def change_of_variables(
        self, rows: Int[np.ndarray, " some"], weight: Float[np.ndarray, " some"]
    ) -> Float[np.ndarray, "some variables"]:
        """Changes of the expected variables where what some rows add is added once more, weighted.

        By the identity of ``indirect`` they are ``C (L' + L' P Q) g``: nothing is solved for.
        """
        change = np.empty((len(rows), self.space.n_variables))
        for some in _parts(len(rows)):
            _, loaded = self._covariances(rows[some], weight[some])
            change[some] = (self._variables[1] @ loaded).T
        return change

    def _covariances(
        self, rows: Int[np.ndarray, " some"], weight: Float[np.ndarray, " some"]
    ) -> tuple[Scalars, Float[np.ndarray, "variables some"]]:
        """``_given`` of the scalars of each row, weighted."""
        gradient = self.known.gradient[self._order][:, rows] * weight
        return self._given(rows, gradient, self.space.loaded_rows(rows, gradient))

    def _given(
        self,
        rows: Int[np.ndarray, " some"],
        gradient: Float[np.ndarray, "scalars some"],
        loaded: Float[np.ndarray, "variables some"],
    ) -> tuple[Scalars, Float[np.ndarray, "variables some"]]:
        """``Q g`` and ``(L' + L' P Q) g`` of columns ``g`` in one row each, given ``L' g``."""
        space = self._single
        squares = self.space.squares_rows(rows, gradient).astype(space.hessian.dtype)
        values = space.moved(space.zeros(*gradient.shape), squares)
        return values, loaded + self._loaded(values)

    def _indirect(self, change: Rows) -> Rows:
        """``B (D^-1 - B' V B)^-1 B'`` times each change of the expectations."""
        values = self._scalars(change).astype(self._single.hessian.dtype.type)
        return self._solved(values, self._loaded(values))

    def _loaded(self, values: Scalars) -> Float[np.ndarray, "variables columns"]:
        """``L' P`` times each column."""
        space = self._single
        moved = self._variables[0].T @ space.bent_quadratic(values)
        return np.asarray(space.loaded(space.bent(values)) + moved, dtype=float)

    def _solved(self, values: Scalars, loaded: Float[np.ndarray, "variables columns"]) -> Rows:
        """``B (P v + P L C u)`` of each column ``v`` and its effect on the variables, ``u``."""
        space, (products, covariance) = self._single, self._variables
        change = covariance @ loaded
        gain = np.abs(np.einsum("ij,ij->j", loaded, change))
        gain += space.gain_bound(space.bent_quadratic(values))
        try:
            _, product = space.solve(values, self.accurate * gain)
        except NoMaximum:
            raise no_maximum() from None
        change = change.astype(products.dtype)
        total = values.plus(space.loadings(change))
        return self._combined(space.bent(space.moved(total, product + products @ change)))

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
        total = np.zeros((values.squares.shape[1], self.n_entries))
        for slot, (entries, features) in enumerate(self._features):
            total[:, entries] = values.rows[:, slot].T @ features
        last = np.concatenate([values.squares, values.precisions])
        total[:, self.n_entries - len(last) :] = last.T
        return total

    @cached_property
    def _features(self) -> list[tuple[Int[np.ndarray, " features"], Rows]]:
        """Entries of each scalar of the space, and the features of its rows."""
        kind = self._single.hessian.dtype
        each = [
            (entries, features)
            for one in self.known.scalars
            for features in [np.ascontiguousarray(one.features.T, dtype=kind)]
            for entries in one.entries
        ]
        return [each[number] for number in self._order]


def _parts(n_columns: int) -> list[slice]:
    """Columns that are in memory together."""
    starts = range(0, n_columns, COLUMNS_AT_ONCE)
    return [slice(start, min(start + COLUMNS_AT_ONCE, n_columns)) for start in starts]
