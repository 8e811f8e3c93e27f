r"""Precisions of regression coefficients: linear algebra that does not ask for their structure.

A precision is a positive definite matrix ``V`` with verbs that use its structure. Sums of ``x x'``
over rows come packed: the distinct entries that the structure does not force to be zero, as
``AbstractDesign.gram`` makes them. A matrix is factorised when a verb first needs it.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass, is_dataclass
from functools import cached_property
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.linear.designs import AbstractDesign, DenseDesign, DrawnEffects
from bayesvb.numerics.arrays import BatchArray, Indices, PackedBatch
from bayesvb.numerics.linalg import (
    diagonal,
    inverse_and_log_det,
    pack,
    packed_diagonal,
    quadratic_weights,
    times_each,
    trace_of_product,
    unpack,
)
from bayesvb.numerics.records import RecordT, changed, values_of

PrecisionT = TypeVar("PrecisionT", bound="AbstractPrecision")


Vectors = Float[np.ndarray, "... _"]
"""Some vectors for each matrix of a batch; leading axes broadcast."""


class AbstractPrecision(abc.ABC):
    """A batch of positive definite matrices of one structure.

    *Coefficients* are rows and columns of a matrix. *Terms* are coefficients that have a prior
    precision of their own: one effect of all groups is one term.
    """

    is_complete: bool = True
    """Whether draws of a law hold every coefficient; others are drawn where rows ask for them."""

    is_dense: ClassVar[bool] = False
    """Whether matrices have no structure: rows can have one each, on a leading axis, and
    covariances of products of coefficients have closed forms."""

    @property
    @abc.abstractmethod
    def n_coefficients(self) -> int:
        """Number of rows of a matrix."""

    @property
    def n_groups(self) -> int:
        """Number of groups that have effects in the structure of the matrix."""
        return 0

    @property
    @abc.abstractmethod
    def shared(self) -> DensePrecision:
        """Marginal precision of the coefficients that draws hold."""

    def completed(self: PrecisionT) -> PrecisionT:
        """Return the same matrices of laws whose draws hold every coefficient."""
        return self

    @abc.abstractmethod
    def design(
        self,
        x: Float[np.ndarray, "shared rows"],
        groups: Float[np.ndarray, "_ rows"] | None = None,
        pairs: Float[np.ndarray, "pairs rows"] | None = None,
    ) -> AbstractDesign:
        """Return rows as a design with as many coefficients as this precision.

        Parameters
        ----------
        x : ndarray, shape (shared, rows)
            Columns that all rows share.
        groups : ndarray, shape (1 + effects, rows), optional
            Group of each row, and the values that its effects are multiplied by.
        pairs : ndarray, shape (pairs, rows), optional
            Products of the columns, if they are at hand.
        """

    @abc.abstractmethod
    def times(self, vectors: Vectors) -> Vectors:
        """Return ``V v``."""

    def times_drawn(self, vectors: Vectors) -> Vectors:
        """Return ``V v`` of coefficients in draws, whose axis leads; arrays of NumPy or of JAX."""
        return times_each(self.shared.matrix[..., None, :, :], vectors)

    @abc.abstractmethod
    def solve(self, vectors: Vectors) -> Vectors:
        """Return ``V^-1 v``.

        Raises
        ------
        numpy.linalg.LinAlgError
            A matrix is not positive definite. All verbs below that factorise raise so.
        """

    @abc.abstractmethod
    def draw_effects(
        self,
        mean: Vectors,
        shared: Float[np.ndarray, "draws *batch vectors shared"],
        keys: Float[np.ndarray, "draws *batch vectors keys"],
        scale: Float[np.ndarray, "draws *batch vectors"],
        factors: Float[np.ndarray, "draws effects *more"] | None = None,
    ) -> DrawnEffects | None:
        """Return effects of groups in draws that hold shared coefficients; None without such.

        Parameters
        ----------
        mean : ndarray, shape (..., vectors, coefficients)
            Means of all coefficients.
        shared : ndarray, shape (draws, ..., vectors, shared)
            Drawn coefficients that all rows share.
        keys : ndarray, shape (draws, ..., vectors, keys)
            Keys of the random numbers; several share the effects of one vector among them.
        scale : ndarray, shape (draws, ..., vectors)
            Square roots of the factors by which the precision is divided.
        factors : ndarray, shape (draws, effects) or (draws, effects, effects), optional
            Factors of the drawn effects, or matrices that the effects of a group are multiplied by.
        """

    @property
    @abc.abstractmethod
    def log_det(self) -> BatchArray:
        """Log-determinant."""

    @property
    @abc.abstractmethod
    def variances(self) -> Float[np.ndarray, "*batch coefficients"]:
        """Diagonal of the inverse."""

    @abc.abstractmethod
    def plus(self: PrecisionT, gram: PackedBatch) -> PrecisionT:
        """Return the matrix plus packed sums of ``x x'``."""

    @abc.abstractmethod
    def like(self: PrecisionT, gram: PackedBatch) -> PrecisionT:
        """Return packed sums of ``x x'`` as a matrix of this structure, which may be singular."""

    @abc.abstractmethod
    def packed(self) -> PackedBatch:
        """Return the matrix in the order of packed sums."""

    @abc.abstractmethod
    def take(self: PrecisionT, chosen: Indices) -> PrecisionT:
        """Return some matrices of a batch."""

    @abc.abstractmethod
    def scaled(self: PrecisionT, factor: float) -> PrecisionT:
        """Return the matrix times a positive number."""

    @abc.abstractmethod
    def diagonal(self: PrecisionT, entries: Float[np.ndarray, "*many terms"]) -> PrecisionT:
        """Return a diagonal matrix of this structure with one entry for each term.

        Entries of several rows have an axis of length one after the rows' axes: the matrices then
        broadcast over the second axis.
        """

    @property
    @abc.abstractmethod
    def entries(self) -> Float[np.ndarray, "*batch terms"]:
        """Diagonal entries of a prior, one for each term."""

    @abc.abstractmethod
    def by_term(
        self, values: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch terms"]:
        """Sum values of the coefficients over the coefficients of each term; NumPy or JAX."""

    @abc.abstractmethod
    def trace_with(self: PrecisionT, other: PrecisionT) -> BatchArray:
        """Return the trace of this matrix times the inverse of another of the same structure."""

    @abc.abstractmethod
    def plus_diagonal(self: PrecisionT, entries: Float[np.ndarray, "many terms"]) -> PrecisionT:
        """Return many batches of matrices with an entry for each term added to their diagonals."""

    @abc.abstractmethod
    def packed_squares(self, packed: PackedBatch) -> Float[np.ndarray, "*batch terms"]:
        """Return the sums of diagonal entries of packed matrices over the coefficients of terms."""

    @abc.abstractmethod
    def moments_along(
        self: PrecisionT, left: Vectors, right: Vectors, change: PrecisionT
    ) -> PackedBatch:
        """Return changes of ``second_moments`` of ``n`` vectors with the matrix.

        Parameters
        ----------
        left, right : ndarray, shape (..., 2 n, coefficients)
            The sum of all ``l_i r_i'`` is the change of the products of the vectors.
        change : AbstractPrecision
            Change of the matrix.
        """

    @abc.abstractmethod
    def second_moments(self, left: Vectors, right: Vectors) -> PackedBatch:
        """Return weights of packed products: ``sum_i l_i r_i'`` plus ``n V^-1``, ``n`` vectors.

        Entries off the diagonal count twice, so that the scalar product with packed sums of
        ``x x'`` is the trace of the product of both matrices. ``l_i r_i'`` has to be symmetric.
        """


@dataclass(frozen=True, eq=False)
class DensePrecision(AbstractPrecision):
    """Matrices without structure.

    Attributes
    ----------
    matrix : ndarray, shape (..., coefficients, coefficients)
    factors : tuple of ndarray, optional
        Inverse and log-determinant, if they are at hand.
    """

    is_dense: ClassVar[bool] = True

    matrix: Float[np.ndarray, "*batch coefficients coefficients"]
    factors: tuple[Float[np.ndarray, "*batch coefficients coefficients"], BatchArray] | None = None

    @cached_property
    def _factors(self) -> tuple[Float[np.ndarray, "*batch coefficients coefficients"], BatchArray]:
        return self.factors or inverse_and_log_det(self.matrix)

    @property
    def inverse(self) -> Float[np.ndarray, "*batch coefficients coefficients"]:
        """Covariance that belongs to the precision."""
        return self._factors[0]

    @property
    def log_det(self) -> BatchArray:
        return self._factors[1]

    @property
    def n_coefficients(self) -> int:
        return int(self.matrix.shape[-1])

    @property
    def shared(self) -> DensePrecision:
        """The precision itself: all rows share all coefficients."""
        return self

    def design(
        self,
        x: Float[np.ndarray, "shared rows"],
        groups: Float[np.ndarray, "_ rows"] | None = None,
        pairs: Float[np.ndarray, "pairs rows"] | None = None,
    ) -> DenseDesign:
        """Return the columns."""
        return DenseDesign(x, pairs)

    def times(self, vectors: Vectors) -> Vectors:
        return np.asarray(vectors @ self.matrix)

    def solve(self, vectors: Vectors) -> Vectors:
        """Return ``V^-1 v``."""
        return np.asarray(vectors @ self.inverse)

    def draw_effects(
        self,
        mean: Vectors,
        shared: Float[np.ndarray, "draws *batch vectors shared"],
        keys: Float[np.ndarray, "draws *batch vectors keys"],
        scale: Float[np.ndarray, "draws *batch vectors"],
        factors: Float[np.ndarray, "draws effects *more"] | None = None,
    ) -> None:
        """Return None: draws hold all coefficients."""
        return

    @property
    def variances(self) -> Float[np.ndarray, "*batch coefficients"]:
        return np.diagonal(self.inverse, axis1=-2, axis2=-1)

    def plus(self, gram: PackedBatch) -> DensePrecision:
        return DensePrecision(self.matrix + unpack(gram))

    def like(self, gram: PackedBatch) -> DensePrecision:
        return DensePrecision(unpack(gram))

    def packed(self) -> PackedBatch:
        """Return the lower triangle."""
        return pack(self.matrix)

    def take(self, chosen: Indices) -> DensePrecision:
        return DensePrecision(self.matrix[chosen])

    def scaled(self, factor: float) -> DensePrecision:
        return DensePrecision(factor * self.matrix)

    def diagonal(self, entries: Float[np.ndarray, "*many terms"]) -> DensePrecision:
        """Return a diagonal matrix, whose inverse is known."""
        matrix, *factors = diagonal(entries)
        return DensePrecision(matrix, (factors[0], factors[1]))

    @property
    def entries(self) -> Float[np.ndarray, "*batch terms"]:
        return np.diagonal(self.matrix, axis1=-2, axis2=-1)

    def by_term(
        self, values: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch terms"]:
        """Return the values: each coefficient is a term."""
        return values

    def trace_with(self, other: DensePrecision) -> BatchArray:
        return trace_of_product(self.matrix, other.inverse)

    def plus_diagonal(self, entries: Float[np.ndarray, "many terms"]) -> DensePrecision:
        return DensePrecision(self.matrix + entries[:, None, :, None] * np.eye(entries.shape[1]))

    def packed_squares(self, packed: PackedBatch) -> Float[np.ndarray, "*batch terms"]:
        return packed[..., packed_diagonal(self.n_coefficients)]

    def moments_along(self, left: Vectors, right: Vectors, change: DensePrecision) -> PackedBatch:
        """Return changes of weights of packed products."""
        second = np.swapaxes(left, -1, -2) @ right
        if change.matrix.any():
            second -= 0.5 * left.shape[-2] * (self.inverse @ change.matrix @ self.inverse)
        return quadratic_weights(second)

    def second_moments(self, left: Vectors, right: Vectors) -> PackedBatch:
        second = np.swapaxes(left, -1, -2) @ right + left.shape[-2] * self.inverse
        return quadratic_weights(second)


def as_precision(
    precision: Float[np.ndarray, "*batch coefficients coefficients"] | AbstractPrecision,
) -> AbstractPrecision:
    """Return matrices as a precision, and a precision as it is."""
    if isinstance(precision, AbstractPrecision):
        return precision
    return DensePrecision(precision)


def with_complete_draws(record: RecordT) -> RecordT:
    """Return a frozen record whose laws have draws that hold every coefficient.

    Parameters
    ----------
    record : dataclass instance
        Experts, a gate, or a distribution; precisions among its fields, and in records among its
        fields, are ``completed``.
    """
    changes: dict[str, object] = {}
    for name, value in values_of(record).items():
        if isinstance(value, AbstractPrecision):
            changes[name] = value.completed()
        elif is_dataclass(value) and not isinstance(value, type):
            changes[name] = with_complete_draws(value)
    return changed(record, **changes)
