"""Supports of parameters, and the unconstrained numbers that stand for them.

Each support maps unconstrained numbers to values and back, and knows the log volume of the map:
log density of the numbers = log density of the values + log volume. All of it is for arrays of
NumPy and of JAX; see ``bayesvb.numerics.array_library``.
"""

from __future__ import annotations

import abc
from dataclasses import dataclass
from math import prod
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from bayesvb.numerics.array_library import namespace, special
from bayesvb.numerics.arrays import DrawParameters, DrawValues, DrawVector, Floats

Constrained = tuple[DrawValues, DrawVector]
"""Values, and the log volume of the map that made them."""


class AbstractSupport(abc.ABC):
    """Values that a parameter of one draw may have.

    Attributes
    ----------
    shape : tuple of int
        Shape of the parameter in one draw.
    """

    words: ClassVar[str]
    """Condition on values, in the middle of a sentence."""

    shape: tuple[int, ...]

    @property
    def size(self) -> int:
        """Number of unconstrained numbers."""
        return prod(self.shape)

    @abc.abstractmethod
    def constrained(self, free: DrawParameters) -> Constrained:
        """Values at these unconstrained numbers, and the log volume."""

    @abc.abstractmethod
    def free(self, values: DrawValues) -> DrawParameters:
        """Unconstrained numbers of these values."""

    @abc.abstractmethod
    def contains(self, values: DrawValues) -> bool:
        """Whether all values are in the support."""


@dataclass(frozen=True)
class Real(AbstractSupport):
    """Any finite number."""

    words = "finite"

    shape: tuple[int, ...]

    def constrained(self, free: DrawParameters) -> Constrained:
        """The numbers themselves."""
        return free.reshape(len(free), *self.shape), namespace(free).zeros(len(free))

    def free(self, values: DrawValues) -> DrawParameters:
        """The values themselves."""
        return values.reshape(len(values), self.size)

    def contains(self, values: DrawValues) -> bool:
        """Whether all are finite."""
        return bool(np.isfinite(values).all())


@dataclass(frozen=True)
class Positive(AbstractSupport):
    """Exponentials of unconstrained numbers."""

    words = "positive"

    shape: tuple[int, ...]

    def constrained(self, free: DrawParameters) -> Constrained:
        """Exponentials."""
        values = namespace(free).exp(free).reshape(len(free), *self.shape)
        return values, free.sum(axis=1)

    def free(self, values: DrawValues) -> DrawParameters:
        """Logarithms."""
        logs: DrawParameters
        logs = namespace(values).log(values).reshape(len(values), self.size)
        return logs

    def contains(self, values: DrawValues) -> bool:
        """Whether all are positive and finite."""
        return bool((np.isfinite(values) & (values > 0.0)).all())


@dataclass(frozen=True)
class Simplex(AbstractSupport):
    """Positive numbers with sum one: a softmax of unconstrained numbers and a zero.

    Densities are with respect to all numbers but the last.
    """

    words = "positive with sum 1"

    shape: tuple[int]

    @property
    def size(self) -> int:
        """One less than there are values."""
        return self.shape[0] - 1

    def constrained(self, free: DrawParameters) -> Constrained:
        """Softmax; its volume is the product of all values."""
        xp = namespace(free)
        logits = xp.concatenate([free, xp.zeros((len(free), 1))], axis=1)
        logs = special(free).log_softmax(logits, axis=1)
        return xp.exp(logs), logs.sum(axis=1)

    def free(self, values: DrawValues) -> DrawParameters:
        """Log ratios to the last; a value that underflowed is taken at the smallest float."""
        xp = namespace(values)
        logs = xp.log(xp.maximum(values, np.finfo(float).tiny))
        ratios: DrawParameters = logs[:, :-1] - logs[:, -1:]
        return ratios

    def contains(self, values: DrawValues) -> bool:
        """Whether none is negative and all sums are one, up to rounding."""
        return bool((values >= 0.0).all() and np.allclose(values.sum(axis=-1), 1.0, atol=1e-8))


@dataclass(frozen=True)
class PositiveDefinite(AbstractSupport):
    """Symmetric positive definite matrices, by Cholesky factors with logs on the diagonal.

    Densities are with respect to the entries on and below the diagonal.
    """

    words = "symmetric and positive definite"

    shape: tuple[int, ...]

    @property
    def n_dims(self) -> int:
        """Rows of a matrix."""
        return self.shape[-1]

    @property
    def n_entries(self) -> int:
        """Entries on and below the diagonal of a matrix."""
        return self.n_dims * (self.n_dims + 1) // 2

    @property
    def size(self) -> int:
        """Entries on and below the diagonals of all matrices."""
        return prod(self.shape[:-2]) * self.n_entries

    def constrained(self, free: DrawParameters) -> Constrained:
        """``L L'``, whose volume is ``2^D`` times powers ``D + 1 - i`` of ``L_ii`` from 0."""
        xp, n_dims = namespace(free), self.n_dims
        packed = free.reshape(len(free), *self.shape[:-2], self.n_entries)
        rows, columns = np.tril_indices(n_dims)
        place = np.zeros((n_dims, n_dims), dtype=int)
        place[rows, columns] = np.arange(self.n_entries)
        lower = packed[..., place] * np.tri(n_dims, k=-1)
        logs = packed[..., np.diagonal(place)]
        lower = lower + xp.exp(logs)[..., None] * np.eye(n_dims)
        volume = (logs * (n_dims + 1.0 - np.arange(n_dims))).reshape(len(free), -1).sum(axis=1)
        n_matrices = prod(self.shape[:-2])
        values = lower @ xp.swapaxes(lower, -1, -2)
        return values, volume + n_matrices * n_dims * np.log(2.0)

    def free(self, values: DrawValues) -> DrawParameters:
        """Entries of Cholesky factors, those on the diagonal as logarithms."""
        xp = namespace(values)
        lower = xp.linalg.cholesky(values)
        rows, columns = np.tril_indices(self.n_dims)
        packed = lower[..., rows, columns]
        packed = xp.where(rows == columns, xp.log(xp.abs(packed)), packed)
        numbers: DrawParameters = packed.reshape(len(values), self.size)
        return numbers

    def contains(self, values: DrawValues) -> bool:
        """Whether all are symmetric, up to rounding, and have positive eigenvalues."""
        alike = np.allclose(values, np.swapaxes(values, -1, -2), rtol=1e-8)
        return bool(alike and (np.linalg.eigvalsh(values) > 0.0).all())


@dataclass(frozen=True)
class Fixed(AbstractSupport):
    """Known values.

    Attributes
    ----------
    values : ndarray
    """

    words = "their fixed values"

    values: Floats

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Shape of the values."""
        return self.values.shape

    @property
    def size(self) -> int:
        """None: nothing is free."""
        return 0

    def constrained(self, free: DrawParameters) -> Constrained:
        """The values, once for each draw."""
        xp = namespace(free)
        return xp.broadcast_to(self.values, (len(free), *self.shape)), xp.zeros(len(free))

    def free(self, values: DrawValues) -> DrawParameters:
        """No numbers."""
        vectors: DrawParameters = namespace(values).zeros((len(values), 0))
        return vectors

    def contains(self, values: DrawValues) -> bool:
        """Whether all are the known ones."""
        return bool((values == self.values).all())


@dataclass(frozen=True)
class Shared(AbstractSupport):
    """One value that all components have in common.

    Attributes
    ----------
    one : AbstractSupport
        Of the value.
    n_components : int
    """

    words = "the same for all components, and within their support"

    one: AbstractSupport
    n_components: int

    @property
    def shape(self) -> tuple[int, ...]:  # type: ignore[override]
        """Components, then the axes of the value."""
        return (self.n_components, *self.one.shape)

    @property
    def size(self) -> int:
        """Size of the value."""
        return self.one.size

    def constrained(self, free: DrawParameters) -> Constrained:
        """The value, once for each component."""
        value, volume = self.one.constrained(free)
        shape = (len(free), *self.shape)
        return namespace(free).broadcast_to(value[:, None], shape), volume

    def free(self, values: DrawValues) -> DrawParameters:
        """Numbers of the first component's value."""
        return self.one.free(values[:, 0])

    def contains(self, values: DrawValues) -> bool:
        """Whether all components have one value, which is in its support."""
        alike: Bool[np.ndarray, ""] = (values == values[:, :1]).all()
        return bool(alike and self.one.contains(values[:, 0]))
