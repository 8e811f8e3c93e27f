r"""Second derivatives and covariances of the scalars of rows, and equations in their space.

``F' = B D B' V`` couples parameters through the scalars of the rows only, ``B`` their features and
``D`` the second derivatives of the ELBO in them. Where coefficients are Gaussian given the noise,
the covariance of the scalars is

.. math:: B' V B = L \Gamma L' + Q,

``L`` the loadings of the scalars on variables as few as the coefficients, and ``Q`` Hadamard
squares of covariances of predictors. No product of two columns is made. By Woodbury's identity

.. math:: (D^{-1} - B' V B)^{-1} = P + P L (\Gamma^{-1} - L' P L)^{-1} L' P, \qquad
          P = (D^{-1} - Q)^{-1},

and ``P`` takes a few steps of conjugate gradients, as ``Q`` is small: second moments of
coefficients depend on the memberships little. Most columns take two.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int
from scipy.linalg import block_diag, eigh

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.linear.quadratic_forms import Columns, Forms
from bayesvb.numerics.arrays import BlockVector
from bayesvb.variational.model import AnyModel
from bayesvb.variational.row_derivatives import RowDerivatives
from bayesvb.variational.shared_response import FLATTEST

ACCURATE = 1e-6
"""Part of the quadratic form of a variable that conjugate gradients may miss.

The variance of a variable under the posterior is one. With 50 columns and five components each
step divides gains by about 200, and standard deviations are within 2e-6 of themselves.
"""

SINGLE = 1e-7
"""Accuracy down to which solutions are found in single precision."""

NEGLIGIBLE = 1e-10
"""Second derivative, in standard deviations of the scalars, below which a row is not in a vector's
forms: rows that certainly belong to other components, a third of them in the benchmark."""

COLUMNS_AT_ONCE = 128
"""Variables that are solved for together; there are about eight arrays of their scalars."""

MOST_FACTORISED = 4_000
"""Statistics up to which ``I - F'`` is factorised, which takes the cube of them: a few seconds.

Leave-one-out of 2,930 rows takes 5.6 s instead of 14.5 s with 4,732 statistics.
"""


class NoMaximum(np.linalg.LinAlgError):
    """The ELBO is not concave at the fit."""


@dataclass(frozen=True)
class Scalars:
    """Values of the scalars of all rows and of the prior.

    Attributes
    ----------
    rows : ndarray, shape (rows, scalars, columns)
        Those that have a square come first, and may be alone.
    squares, precisions : ndarray, shape (blocks, columns)
        Of sums of squares of coefficients, and of their prior precisions.
    """

    rows: Float[np.ndarray, "rows scalars columns"]
    squares: Float[np.ndarray, "blocks columns"]
    precisions: Float[np.ndarray, "blocks columns"]

    def plus(self, other: Scalars) -> Scalars:
        """Sum of both."""
        rows, squares = self.rows + other.rows, self.squares + other.squares
        return Scalars(rows, squares, self.precisions + other.precisions)

    def astype(self, kind: type) -> Scalars:
        """Values in another precision."""
        each = (self.rows, self.squares, self.precisions)
        return Scalars(*(values.astype(kind, copy=False) for values in each))


@dataclass(frozen=True)
class RowSpace:
    """Second derivatives ``D`` and the covariance ``L Gamma L' + Q`` of the scalars of a fit.

    Attributes
    ----------
    parts : tuple of Forms
        Of the experts and of the gate.
    hessian : ndarray, shape (rows, scalars, scalars)
        By case weight.
    scale : ndarray, shape (blocks,)
        Standard deviations of minus half the prior precisions.
    """

    parts: tuple[Forms, ...]
    hessian: Float[np.ndarray, "rows scalars scalars"]
    scale: BlockVector

    @classmethod
    def from_rows(
        cls, model: AnyModel, posterior: object, block: Block, known: RowDerivatives
    ) -> RowSpace:
        """Row space of these rows with their derivatives, of a model with ``row_forms``."""
        forms = model.row_forms(posterior, block)
        assert forms is not None
        hessian = known.hessian if block.weight is None else known.hessian * block.weight
        order = scalar_order(forms[0])
        return cls(forms[0], np.ascontiguousarray(hessian[np.ix_(order, order)].T), forms[1])

    def astype(self, kind: type) -> RowSpace:
        """Derivatives and loadings in another precision."""
        parts = tuple(part.astype(kind) for part in self.parts)
        return RowSpace(parts, self.hessian.astype(kind), self.scale.astype(kind))

    @property
    def n_rows(self) -> int:
        """Number of rows."""
        return len(self.hessian)

    @cached_property
    def slots(self) -> list[Int[np.ndarray, "kinds vectors"]]:
        """Positions of the scalars of each part, by kind and vector."""
        return scalar_slots(self.parts)

    @property
    def n_quadratic(self) -> int:
        """Scalars of a row that have a square."""
        return sum(slots.shape[1] for slots in self.slots)

    @cached_property
    def scale_slices(self) -> list[slice]:
        """Sums of squares of each part."""
        return _slices([part.n_blocks for part in self.parts])

    @cached_property
    def places(self) -> list[slice]:
        """Variables of each part, then of the prior precisions."""
        return _slices([*(part.n_variables for part in self.parts), len(self.scale)])

    @property
    def n_variables(self) -> int:
        """Number of variables."""
        return int(self.places[-1].stop)

    @cached_property
    def covariance(self) -> Float[np.ndarray, "variables variables"]:
        r"""``\Gamma``, the covariance of the variables under the posterior."""
        each = (part.covariance for part in self.parts)
        return np.asarray(block_diag(*each, np.eye(len(self.scale))))

    def restricted(self) -> RowSpace:
        """Row space without the forms of rows whose second derivatives are negligible.

        Products with ``D``, and so ``L' P L``, are the same; covariances of single rows are not.
        """
        deviations = np.ones(self.hessian.shape[:2])
        for part, slots in zip(self.parts, self.slots, strict=True):
            for k, vector in enumerate(part.with_rows):
                deviations[:, slots[:, k]] = vector.deviations(part.noise).T
        bend = np.abs(self.hessian) * deviations[:, :, None] * deviations[:, None, :]
        kept = bend.max(axis=2) > NEGLIGIBLE
        parts = [
            part.restricted([kept[:, slot].any(axis=1) for slot in slots.T])
            for part, slots in zip(self.parts, self.slots, strict=True)
        ]
        return RowSpace(tuple(parts), self.hessian, self.scale)

    def zeros(self, n_scalars: int, n_columns: int) -> Scalars:
        """Scalars that are zero."""
        kind = self.hessian.dtype
        squares, precisions = np.zeros((2, len(self.scale), n_columns), dtype=kind)
        rows = np.zeros((self.n_rows, n_scalars, n_columns), dtype=kind)
        return Scalars(rows, squares, precisions)

    def _firsts(self, values: Scalars, number: int) -> list[Columns]:
        """First scalars of every vector of a part: first of its rows, then of its squares."""
        part, squares = self.parts[number], values.squares[self.scale_slices[number]]
        slots = [*self.slots[number][0], *[0] * (len(part.vectors) - len(part.with_rows))]
        return [
            np.concatenate([values.rows[vector.rows, slot], vector.squares @ squares])
            for vector, slot in zip(part.vectors, slots, strict=True)
        ]

    def _collect(self, scalars: Scalars, number: int, firsts: Sequence[Columns]) -> None:
        """Fill in the first scalars of a part, the transpose of ``_firsts``."""
        part, squares = self.parts[number], scalars.squares[self.scale_slices[number]]
        for vector, first in zip(part.vectors, firsts, strict=True):
            squares += vector.squares.T @ first[len(vector.rows) :]
        for vector, first, slot in zip(part.with_rows, firsts, self.slots[number][0], strict=False):
            scalars.rows[vector.rows, slot] = first[: len(vector.rows)]

    def loaded(self, values: Scalars) -> Float[np.ndarray, "variables columns"]:
        """``L'`` times each column."""
        loaded = []
        for number, (part, slots) in enumerate(zip(self.parts, self.slots, strict=True)):
            firsts = self._firsts(values, number)
            linear = [v.slopes[0][:, None] * c for v, c in zip(part.vectors, firsts, strict=True)]
            for kind in range(1, len(slots)):
                for vector, linear_part, slot in zip(
                    part.with_rows, linear, slots[kind], strict=True
                ):
                    n = len(vector.rows)
                    linear_part[:n] += (
                        vector.slopes[kind, :n, None] * values.rows[vector.rows, slot]
                    )
            loaded.append(part.loaded(firsts, linear))
        return np.concatenate([*loaded, self.scale[:, None] * values.precisions])

    def loadings(self, variables: Float[np.ndarray, "variables columns"]) -> Scalars:
        """``L`` times each column."""
        loadings = self.zeros(self.hessian.shape[1], variables.shape[1])
        for number, (part, slots) in enumerate(zip(self.parts, self.slots, strict=True)):
            predictors, noises = part.predicted(variables[self.places[number]])
            each = zip(part.vectors, predictors, noises, strict=True)
            self._collect(loadings, number, [v.slopes[0][:, None] * u + e for v, u, e in each])
            for kind in range(1, len(slots)):
                for vector, predictor, slot in zip(
                    part.with_rows, predictors, slots[kind], strict=True
                ):
                    n = len(vector.rows)
                    loadings.rows[vector.rows, slot] = vector.slopes[kind, :n, None] * predictor[:n]
        loadings.precisions[:] = self.scale[:, None] * variables[self.places[-1]]
        return loadings

    def bent(self, values: Scalars) -> Scalars:
        """``D`` times each column.

        The prior has the product of a sum of squares and minus half its precision.
        """
        squares, precisions = -2.0 * values.precisions, -2.0 * values.squares
        return Scalars(self.hessian @ values.rows, squares, precisions)

    def squares_times(self, columns: Columns) -> Columns:
        """``Q`` times each column, of scalars that have a square, on one axis."""
        values, product = self.quadratic(columns), np.zeros_like(columns)
        into = self.quadratic(product)
        for number, part in enumerate(self.parts):
            self._collect(into, number, part.squares_times(self._firsts(values, number)))
        return product

    def quadratic(self, columns: Columns) -> Scalars:
        """Scalars that have a square, from one axis: of all rows, then sums of squares."""
        n, (_, n_columns) = self.n_rows * self.n_quadratic, columns.shape
        rows = columns[:n].reshape(self.n_rows, self.n_quadratic, n_columns)
        return Scalars(rows, columns[n:], np.zeros_like(columns[n:]))

    def scalars(self, columns: Columns) -> Scalars:
        """All scalars, from one axis."""
        n_rows, n_scalars, _ = self.hessian.shape
        rows, squares, precisions = np.split(
            columns, [n_rows * n_scalars, n_rows * n_scalars + len(self.scale)]
        )
        return Scalars(rows.reshape(n_rows, n_scalars, -1), squares, precisions)

    def bent_quadratic(self, values: Scalars) -> Columns:
        """``D`` times each column, of the scalars that have a square, on one axis."""
        n_given, n_columns = values.rows.shape[1:]
        rows = self.hessian[:, : self.n_quadratic, :n_given] @ values.rows
        return np.concatenate([rows.reshape(-1, n_columns), -2.0 * values.precisions])

    def moved(self, values: Scalars, columns: Columns) -> Scalars:
        """Add columns of the scalars that have a square."""
        more, rows = self.quadratic(columns), values.rows.copy()
        rows[:, : self.n_quadratic] += more.rows
        return Scalars(rows, values.squares + more.squares, values.precisions)

    @cached_property
    def _row_sums(self) -> Columns:
        """Sums of the entries of ``Q``, none of which is negative, by row."""
        size = self.n_rows * self.n_quadratic + len(self.scale)
        return self.squares_times(np.ones((size, 1), dtype=self.hessian.dtype))

    def gain_bound(self, rest: Columns) -> Float[np.ndarray, " columns"]:
        """Bound ``sum_i r_i^2 sum_j Q_ij`` of ``r' Q r``, without a product with ``Q``."""
        return np.asarray((self._row_sums.T @ rest**2)[0])

    def solve(
        self, values: Scalars, last: Float[np.ndarray, " columns"]
    ) -> tuple[Columns, Columns]:
        """Solve ``(I - D Q) x = D v`` for each column ``v``; return ``x`` and ``Q x``.

        ``P v`` is ``D (v + Q x)``. Conjugate gradients in the inner product ``u' Q v``, in which
        ``I - D Q`` is self-adjoint. A column leaves as soon as a bound of its next gain, and
        nearly so of all that follow, is small: products with ``Q`` take the time, and most
        variables need two.

        Parameters
        ----------
        values : Scalars
        last : ndarray, shape (columns,)
            Gain of ``v' D Q x`` that may be missing.

        Raises
        ------
        NoMaximum
        """
        rest = self.bent_quadratic(values)
        solution, product = np.zeros_like(rest), np.zeros_like(rest)
        active = np.flatnonzero(self.gain_bound(rest) > last)
        rest, step, step_metric = rest[:, active], 0.0, 0.0
        before = np.full(len(active), np.inf)
        # Steps of conjugate gradients; two are usual.
        for _ in range(50):
            if not active.size:
                return solution, product
            metric = self.squares_times(rest)
            length = np.einsum("ij,ij->j", rest, metric)
            ratio = (length / before).astype(rest.dtype)
            step, step_metric = ratio * step + rest, ratio * step_metric + metric
            image = step - self.bent_quadratic(self.quadratic(step_metric))
            bend = np.einsum("ij,ij->j", step_metric, image)
            if (bend < -last[active]).any():
                break
            size = np.divide(length, bend, out=np.zeros_like(bend), where=bend > 0.0)
            solution[:, active] += size * step
            product[:, active] += size * step_metric
            rest -= size * image
            left = (self.gain_bound(rest) > last[active]) & (size * length > last[active])
            active, before, rest = active[left], length[left], rest[:, left]
            step, step_metric = step[:, left], step_metric[:, left]
        raise NoMaximum("the ELBO is not concave in the second moments of coefficients")

    def information(
        self,
    ) -> tuple[Float[np.ndarray, "variables variables"], Float[np.ndarray, "scalars variables"]]:
        """``L' P L``, which rows and prior add to the precision of the variables, and ``Q P L``.

        Errors of solutions count to second order only, with their residuals. In single precision,
        which halves the time, standard deviations are within 2e-7 of themselves.
        """
        kind = np.float32 if ACCURATE >= SINGLE else np.float64
        space, size = self.astype(kind), self.n_quadratic * self.n_rows + len(self.scale)
        products, residuals = np.empty((2, size, self.n_variables), dtype=kind)
        information = np.empty((self.n_variables, self.n_variables))
        for start in range(0, self.n_variables, COLUMNS_AT_ONCE):
            some = slice(start, start + COLUMNS_AT_ONCE)
            information[:, some], products[:, some], residuals[:, some] = self._columns(space, some)
        information += products.T @ residuals
        return np.asarray(0.5 * (information + information.T)), products

    def _columns(
        self, space: RowSpace, some: slice
    ) -> tuple[Float[np.ndarray, "variables columns"], Columns, Columns]:
        """``L' P L``, ``Q P L`` and residuals of some variables, solved for in another precision.

        A function of its own, so that its scalars are freed before the next variables are solved
        for: an eighth of the memory of a fit with 50 columns.
        """
        scalars = self.loadings(np.eye(self.n_variables)[:, some])
        last = np.full(scalars.rows.shape[2], ACCURATE)
        solution, product = space.solve(scalars.astype(space.hessian.dtype.type), last)
        scalars = self.moved(scalars, product)
        return self.loaded(self.bent(scalars)), product, self.bent_quadratic(scalars) - solution

    def flattest(
        self, information: Float[np.ndarray, "variables variables"]
    ) -> tuple[float, Float[np.ndarray, " variables"]] | None:
        """Smallest curvature of the ELBO and its direction; None if the ELBO is concave.

        Curvature is in units of the posterior precision, zero or negative where the ELBO is not
        concave. The direction is one posterior standard deviation long.
        """
        root, inner = self._standardised(information)
        try:  # a Cholesky factor takes a twentieth of the time of an eigenvector
            np.linalg.cholesky(inner - FLATTEST * np.eye(len(inner)))
        except np.linalg.LinAlgError:
            values, axes = eigh(inner, subset_by_index=[0, 0])
            return float(values[0]), np.asarray(root @ axes[:, 0])
        return None

    def loaded_rows(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "scalars columns"]
    ) -> Float[np.ndarray, "variables columns"]:
        """``L'`` times columns that are zero but for the scalars of one row each."""
        each = zip(self.parts, self.slots, strict=True)
        loadings = [part.loaded_with(rows, values[slots]) for part, slots in each]
        return np.concatenate([*loadings, np.zeros((len(self.scale), len(rows)))])

    def squares_at(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "scalars columns"]
    ) -> Float[np.ndarray, " columns"]:
        """Quadratic form of ``Q`` in columns that are zero but for the scalars of one row each."""
        each = zip(self.parts, self.slots, strict=True)
        squares = [part.squares_at(rows, values[slots[0]]) for part, slots in each]
        return np.asarray(np.sum(squares, axis=0))

    def squares_rows(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "scalars columns"]
    ) -> Columns:
        """``Q`` times columns that are zero but for the scalars of one row each."""
        result = self.zeros(self.n_quadratic, len(rows))
        for number, (part, slots) in enumerate(zip(self.parts, self.slots, strict=True)):
            self._collect(result, number, part.squares_with(rows, values[slots[0]]))
        return np.concatenate([result.rows.reshape(-1, len(rows)), result.squares])

    def inverse(
        self, information: Float[np.ndarray, "variables variables"]
    ) -> Float[np.ndarray, "variables variables"]:
        """``(Gamma^-1 - L' P L)^-1``: linear-response covariance of the variables at a maximum."""
        root, inner = self._standardised(information)
        inverse = root @ np.linalg.solve(inner, root.T)
        return np.asarray(0.5 * (inverse + inverse.T))

    def _standardised(
        self, information: Float[np.ndarray, "variables variables"]
    ) -> tuple[Float[np.ndarray, "variables _"], Float[np.ndarray, "_ _"]]:
        """Root of ``Gamma``, and the precision of variables that it standardises."""
        root = np.linalg.cholesky(self.covariance)
        return root, np.eye(len(root)) - root.T @ information @ root


def count_scalars(
    model: AnyModel, source: AbstractSource, stats: SufficientStats, longer: float
) -> int | None:
    """Number of scalars of all rows; None without a row space, or if it takes longer.

    Products in it take the square of the rows, in the space of statistics rows times statistics.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
    longer : float
        Scalars relative to statistics up to which it takes less time.
    """
    n_entries = stats.to_vector().size
    if n_entries <= MOST_FACTORISED or not (source.rows_at_hand and model.draws_complete):
        return None
    posterior, one = model.update(stats), source.take(np.arange(1))
    known = model.row_derivatives(posterior, one)
    if known is None or model.row_forms(posterior, one) is None:
        return None
    n_scalars = source.n_rows * len(known.gradient)
    return n_scalars if n_scalars <= longer * n_entries else None


def scalar_slots(parts: Sequence[Forms]) -> list[Int[np.ndarray, "kinds vectors"]]:
    """Positions of the scalars of each part: first scalars of all parts, then the others."""
    shapes = [(len(part.vectors[0].slopes), len(part.with_rows)) for part in parts]
    first, later = 0, sum(vectors for _, vectors in shapes)
    slots = []
    for kinds, vectors in shapes:
        more = later + np.arange((kinds - 1) * vectors).reshape(kinds - 1, vectors)
        slots.append(np.concatenate([first + np.arange(vectors)[None], more]))
        first, later = first + vectors, later + more.size
    return slots


def scalar_order(parts: Sequence[Forms]) -> Int[np.ndarray, " scalars"]:
    """Numbers, among the scalars of ``RowDerivatives``, in the order of ``scalar_slots``."""
    return np.argsort(np.concatenate([slots.ravel() for slots in scalar_slots(parts)]))


def _slices(sizes: Sequence[int]) -> list[slice]:
    """Consecutive slices of these sizes."""
    return [slice(int(start), int(stop)) for start, stop in pairwise(np.cumsum([0, *sizes]))]
