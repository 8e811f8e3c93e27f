"""Designs of regressions: rows that multiply coefficients, whatever the structure of the design.

Rows are on the last axis. Sums of ``x x'`` come packed in the order of ``AbstractPrecision``.
"""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from math import prod
from typing import Any, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    ExpertRows,
    ExpertVector,
    Indices,
    PackedBatch,
    ResponseRows,
    RowIntegers,
    RowVector,
)
from bayesvb.numerics.linalg import (
    linear_at,
    lower_pairs,
    one_by_one,
    outer_by_row,
    present_products,
    products,
    quadratic_at,
    quadratic_weights,
    second_moments,
)

DesignT = TypeVar("DesignT", bound="AbstractDesign")

RowSums = tuple[
    ExpertVector,
    Float[np.ndarray, "experts packed"],
    Float[np.ndarray, "experts responses coefficients"],
    Float[np.ndarray, "experts responses"],
]
"""Weighted sums of ``1``, ``x x'`` (packed), ``y_i x`` and ``y_i^2``."""

DrawnEffects = Callable[
    [Int[np.ndarray, " there"]], Float[np.ndarray, "draws experts effects there"]
]
"""Effects of some groups in each draw, by the numbers of the groups."""


class AbstractDesign(abc.ABC):
    """Rows ``x_n`` of a regression."""

    @property
    @abc.abstractmethod
    def n_rows(self) -> int:
        """Number of rows."""

    @abc.abstractmethod
    def predict(
        self, coefficients: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch rows"]:
        """Return ``b' x_n``."""

    @abc.abstractmethod
    def predict_drawn(
        self, coefficients: DrawExpertTerms, effects: DrawExpertRows | None = None
    ) -> DrawExpertRows:
        """Return ``b' x_n`` of draws; arrays of NumPy or of JAX.

        Parameters
        ----------
        coefficients : ndarray, shape (draws, experts, coefficients) or (draws, experts, shared)
        effects : ndarray, shape (draws, experts, rows), optional
            What effects of groups add to rows, where the coefficients lack them.
        """

    @abc.abstractmethod
    def split_drawn(
        self, coefficients: DrawExpertTerms, effects: DrawExpertRows | None = None
    ) -> tuple[Float[np.ndarray, "draws experts shared"], DrawExpertRows | None]:
        """Return drawn coefficients that all rows share, and what effects of groups add to rows.

        None without groups. Arguments as in ``predict_drawn``.
        """

    @abc.abstractmethod
    def quadratic(self, precision: Any) -> ExpertRows:
        """Return ``x_n' V^-1 x_n`` of a precision with the structure of the design."""

    @abc.abstractmethod
    def gram(self, weights: Float[np.ndarray, "*batch rows"]) -> PackedBatch:
        """Return ``sum_n w_n x_n x_n'``, packed."""

    @abc.abstractmethod
    def cross(
        self, weights: Float[np.ndarray, "*batch rows"]
    ) -> Float[np.ndarray, "*batch coefficients"]:
        """Return ``sum_n w_n x_n``."""

    @abc.abstractmethod
    def products(self) -> Float[np.ndarray, "packed rows"]:
        """Return ``x_n x_n'`` of each row, packed."""

    @abc.abstractmethod
    def present_products(
        self,
    ) -> tuple[Bool[np.ndarray, " packed"], Float[np.ndarray, "present rows"]]:
        """Return which products some of the rows have, and these products."""

    @property
    @abc.abstractmethod
    def columns(self) -> Float[np.ndarray, "coefficients rows"]:
        """Rows with a column for each coefficient: for few rows, or few coefficients."""

    @abc.abstractmethod
    def take(self, rows: Indices) -> AbstractDesign:
        """Return these rows."""

    @abc.abstractmethod
    def joined(self: DesignT, others: Sequence[DesignT]) -> DesignT:
        """Return these rows, then the rows of other designs with the same coefficients."""

    def residuals(
        self,
        coefficients: Float[np.ndarray, "experts coefficients"],
        observed: RowVector,
        scale: ExpertVector,
    ) -> ExpertRows:
        """Return ``s_k (x_n' b_k - y_n)``."""
        scaled = self.predict(scale[:, None] * coefficients)
        scaled -= scale[:, None] * observed
        return scaled

    def sums(self, weights: ExpertRows, response: ResponseRows) -> RowSums:
        """Return the weighted sums of rows that a regression needs."""
        weighted = weights[:, None, :] * response
        squares = (weighted * response).sum(axis=2)
        return weights.sum(axis=1), self.gram(weights), self.cross(weighted), squares

    def gram_by_row(
        self, weights: Float[np.ndarray, "*batch rows"]
    ) -> Float[np.ndarray, "rows *batch packed"]:
        """Return ``w_n x_n x_n'`` of each row, rows first."""
        return outer_by_row(weights, self.products())

    def cross_by_row(
        self, weights: Float[np.ndarray, "*batch rows"]
    ) -> Float[np.ndarray, "rows *batch coefficients"]:
        """Return ``w_n x_n`` of each row, rows first."""
        return outer_by_row(weights, self.columns)


@dataclass(frozen=True, eq=False)
class DenseDesign(AbstractDesign):
    """Rows with a column for each coefficient.

    Attributes
    ----------
    x : ndarray, shape (coefficients, rows)
    pairs : ndarray, shape (pairs, rows), optional
        Products of the columns, if they are at hand.
    """

    x: Float[np.ndarray, "coefficients rows"]
    pairs: Float[np.ndarray, "pairs rows"] | None = None

    @property
    def n_rows(self) -> int:
        return int(self.x.shape[1])

    @property
    def columns(self) -> Float[np.ndarray, "coefficients rows"]:
        """The columns."""
        return self.x

    def predict(
        self, coefficients: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch rows"]:
        return np.asarray(coefficients @ self.x)

    def predict_drawn(
        self,
        coefficients: Float[np.ndarray, "draws experts shared"],
        effects: DrawExpertRows | None = None,
    ) -> DrawExpertRows:
        location: DrawExpertRows = coefficients @ self.x
        return location

    def split_drawn(
        self, coefficients: DrawExpertTerms, effects: DrawExpertRows | None = None
    ) -> tuple[Float[np.ndarray, "draws experts shared"], None]:
        """Return the coefficients: effects are absent."""
        return coefficients, None

    def quadratic(self, precision: Any) -> ExpertRows:
        """Return ``x_n' V^-1 x_n``; a precision may have matrices of each row on a first axis."""
        if not precision.is_dense:
            return np.asarray(precision.quadratic(self.x))
        inverse = precision.inverse
        if inverse.ndim != 3 or one_by_one(len(inverse), len(self.x)):
            return quadratic_at(inverse, self.x)
        return linear_at(quadratic_weights(inverse), self.products())

    def gram(self, weights: Float[np.ndarray, "*batch rows"]) -> PackedBatch:
        if one_by_one(prod(weights.shape[:-1]), len(self.x)):
            flat = second_moments(_by_row(weights), self.x)
            return flat.reshape(*weights.shape[:-1], flat.shape[1])
        return np.asarray(weights @ self.products().T)

    def cross(
        self, weights: Float[np.ndarray, "*batch rows"]
    ) -> Float[np.ndarray, "*batch coefficients"]:
        return np.asarray(weights @ self.x.T)

    def products(self) -> Float[np.ndarray, "packed rows"]:
        """Return products of the columns, which are made once."""
        return self._products

    @cached_property
    def _products(self) -> Float[np.ndarray, "packed rows"]:
        return products(self.x) if self.pairs is None else self.pairs

    def present_products(
        self,
    ) -> tuple[Bool[np.ndarray, " packed"], Float[np.ndarray, "present rows"]]:
        return present_products(self.x)

    def take(self, rows: Indices) -> DenseDesign:
        return DenseDesign(self.x[:, rows], None if self.pairs is None else self.pairs[:, rows])

    def joined(self, others: Sequence[DenseDesign]) -> DenseDesign:
        return DenseDesign(np.concatenate([self.x, *(one.x for one in others)], axis=1))

    def residuals(
        self,
        coefficients: Float[np.ndarray, "experts coefficients"],
        observed: RowVector,
        scale: ExpertVector,
    ) -> ExpertRows:
        """Return ``s_k (x_n' b_k - y_n)``: one matrix product."""
        scaled = np.concatenate([scale[:, None] * coefficients, -scale[:, None]], axis=1)
        return np.asarray(scaled @ np.concatenate([self.x, observed[None]]))

    def sums(self, weights: ExpertRows, response: ResponseRows) -> RowSums:
        """Return weighted sums, by one matrix product with everything that is summed of a row.

        With many columns the products of a row no longer fit into cache: sums are then separate.
        """
        shape = (len(weights), len(response), len(self.x))
        if one_by_one(len(weights), len(self.x)):
            return super().sums(weights, response)
        places = np.cumsum([0, shape[2] * (shape[2] + 1) // 2, shape[1] * shape[2], shape[1], 1])
        summed = np.empty((places[-1], self.n_rows))
        pairs, cross, squares, ones = np.split(summed, places[1:-1])
        products(self.x, out=pairs)
        np.multiply(response[:, None], self.x, out=cross.reshape(shape[1:] + cross.shape[1:]))
        np.multiply(response, response, out=squares)
        ones[:] = 1.0
        xx, xy, yy, weight = np.split(weights @ summed.T, places[1:-1], axis=1)
        return weight[:, 0], xx, xy.reshape(shape), yy


@dataclass(frozen=True)
class GroupRows:
    """The groups of some rows.

    Attributes
    ----------
    place : ndarray of int, shape (rows,)
        Number of each row's group.
    values : ndarray, shape (effects, rows)
        Values that the effects of its group are multiplied by.
    """

    place: RowIntegers
    values: Float[np.ndarray, "effects rows"]

    @classmethod
    def from_matrix(cls, matrix: Float[np.ndarray, "_ rows"]) -> GroupRows:
        """Groups of a design whose first row holds their numbers, the others the values."""
        return cls(namespace(matrix).rint(matrix[0]).astype(np.int64), matrix[1:])

    def at_rows(self, values: Float[np.ndarray, "*axes groups"]) -> Float[np.ndarray, "*axes rows"]:
        """Return for each row the value of its group."""
        taken: Float[np.ndarray, "*axes rows"]
        taken = namespace(values).take(values, self.place, axis=-1)
        return taken

    def linear(
        self, effects: Float[np.ndarray, "*axes effects groups"]
    ) -> Float[np.ndarray, "*axes rows"]:
        """Return for each row its values times the effects of its group."""
        total: Float[np.ndarray, "*axes rows"]
        if not len(self.values):
            return np.zeros((*effects.shape[:-2], len(self.place)))
        total = self.at_rows(effects[..., 0, :]) * self.values[0]
        for j in range(1, len(self.values)):
            total += self.at_rows(effects[..., j, :]) * self.values[j]
        return total

    def drawn(self, effects: DrawnEffects) -> DrawExpertRows:
        """Return what drawn effects of the groups that are there add to rows."""
        there, place = np.unique(self.place, return_inverse=True)
        return GroupRows(place.ravel(), self.values).linear(effects(there))

    def sums(
        self, values: Float[np.ndarray, "*axes rows"], n_groups: int
    ) -> Float[np.ndarray, "*axes groups"]:
        """Sum values over the rows of each group."""
        sums = np.empty((*values.shape[:-1], n_groups))
        for axes in np.ndindex(*values.shape[:-1]):
            sums[axes] = np.bincount(self.place, values[axes], n_groups)
        return sums


@dataclass(frozen=True, eq=False)
class GroupedDesign(AbstractDesign):
    """Rows with columns that all rows share, and effects of the group of each row.

    Attributes
    ----------
    border : ndarray, shape (shared, rows)
    groups : GroupRows
    n_groups : int
        Number of groups, of which some may have none of the rows.
    """

    border: Float[np.ndarray, "shared rows"]
    groups: GroupRows
    n_groups: int

    @property
    def n_rows(self) -> int:
        return int(self.border.shape[1])

    @property
    def columns(self) -> Float[np.ndarray, "coefficients rows"]:
        """Shared columns, then for each effect a column for each group."""
        return np.concatenate([self.border, self._scattered(self.groups.values)])

    def _scattered(self, values: Float[np.ndarray, "features rows"]) -> Float[np.ndarray, "_ rows"]:
        """Values of each row in the place of its group."""
        each = np.zeros((len(values), self.n_groups, self.n_rows))
        each[:, self.groups.place, np.arange(self.n_rows)] = values
        return each.reshape(-1, self.n_rows)

    def _effects(
        self, coefficients: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch effects groups"]:
        """Effects among the coefficients."""
        effects = coefficients[..., len(self.border) :]
        return effects.reshape(*effects.shape[:-1], len(self.groups.values), self.n_groups)

    def predict(
        self, coefficients: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch rows"]:
        location: Float[np.ndarray, "*batch rows"]
        location = coefficients[..., : len(self.border)] @ self.border
        location += self.groups.linear(self._effects(coefficients))
        return location

    def predict_drawn(
        self, coefficients: DrawExpertTerms, effects: DrawExpertRows | None = None
    ) -> DrawExpertRows:
        shared, group_part = self.split_drawn(coefficients, effects)
        location: DrawExpertRows = shared @ self.border
        location = location + group_part
        return location

    def split_drawn(
        self, coefficients: DrawExpertTerms, effects: DrawExpertRows | None = None
    ) -> tuple[Float[np.ndarray, "draws experts shared"], DrawExpertRows]:
        """Return the coefficients that all rows share, and what effects add to rows.

        Raises
        ------
        ValueError
            If the coefficients lack effects, and ``effects`` is not given: they are not zeros.
        """
        n_shared = len(self.border)
        if coefficients.shape[-1] > n_shared:
            return coefficients[..., :n_shared], self.groups.linear(self._effects(coefficients))
        if effects is None:
            raise ValueError(
                "draws do not contain group effects, and none are given for these rows"
            )
        return coefficients, effects

    def left(
        self, regression: Float[np.ndarray, "*batch effects shared groups"]
    ) -> Float[np.ndarray, "*batch shared rows"]:
        """Return ``x_n - F_g' z_n``: columns that are left where effects follow the others."""
        return np.asarray(self.border - self.groups.linear(np.swapaxes(regression, -3, -2)))

    def quadratic(self, precision: Any) -> ExpertRows:
        """Return ``z' D_g^-1 z + (x - F_g' z)' S^-1 (x - F_g' z)``."""
        left = self.left(precision.regression)
        spread: ExpertRows
        spread = ((precision.marginal.inverse @ left) * left).sum(axis=-2)
        for j, value in enumerate(self.groups.values):
            spread += self.groups.linear(precision.within[..., j, :, :]) * value
        return spread

    def joint_quadratic(self, precision: Any) -> Float[np.ndarray, "rows vectors vectors"]:
        """Return covariances of several predictors of a row, whose coefficients are one vector.

        Parameters
        ----------
        precision : ArrowPrecision
            One matrix: shared coefficients of the first predictor, of the next, and so on, and
            effects of a group on all predictors.
        """
        groups, x = self.groups, self.border
        n_effects, (n_terms, n_rows) = len(groups.values), x.shape
        n_vectors = precision.n_shared // n_terms
        regressions = groups.at_rows(precision.regression[0]).reshape(
            n_vectors, n_effects, -1, n_rows
        )
        lean = -np.einsum("kapn,an->nkp", regressions, groups.values)
        for vector in range(n_vectors):
            lean[:, vector, vector * n_terms : (vector + 1) * n_terms] += x.T
        within = groups.at_rows(precision.within[0])
        within = within.reshape(n_vectors, n_effects, n_vectors, n_effects, n_rows)
        alone = np.einsum("kalbn,an,bn->nkl", within, groups.values, groups.values)
        return np.asarray(alone + lean @ precision.marginal.inverse @ lean.swapaxes(1, 2))

    def gram(self, weights: Float[np.ndarray, "*batch rows"]) -> PackedBatch:
        """Return sums of ``x x'``, then by group of ``z z'`` and of ``z x'``."""
        flat, values = _by_row(weights), self.groups.values
        first, second = lower_pairs(len(values))
        weighted = flat[:, None] * values
        squares = self.groups.sums(weighted[:, first] * values[second], self.n_groups)
        across = self.groups.sums(weighted[:, :, None] * self.border, self.n_groups)
        parts = (second_moments(flat, self.border), squares, across)
        each = [part.reshape(len(flat), prod(part.shape[1:])) for part in parts]
        packed = np.concatenate(each, axis=1)
        return packed.reshape(*weights.shape[:-1], packed.shape[1])

    def cross(
        self, weights: Float[np.ndarray, "*batch rows"]
    ) -> Float[np.ndarray, "*batch coefficients"]:
        """Return ``sum_n w_n x_n``, then by group ``sum_n w_n z_n``."""
        sums = self.groups.sums(weights[..., None, :] * self.groups.values, self.n_groups)
        flat = sums.reshape(*sums.shape[:-2], -1)
        return np.concatenate([weights @ self.border.T, flat], axis=-1)

    def products(self) -> Float[np.ndarray, "packed rows"]:
        """Return products of each row, those with effects in the place of its group."""
        values = self.groups.values
        across = (values[:, None] * self.border).reshape(-1, self.n_rows)
        within = np.concatenate([products(values), across])
        return np.concatenate([products(self.border), self._scattered(within)])

    def present_products(
        self,
    ) -> tuple[Bool[np.ndarray, " packed"], Float[np.ndarray, "present rows"]]:
        """Return products of columns, and those with effects of groups that have rows."""
        every = self.products()
        present = np.asarray(every.any(axis=1))
        return present, every[present]

    def take(self, rows: Indices) -> GroupedDesign:
        groups = GroupRows(self.groups.place[rows], self.groups.values[:, rows])
        return GroupedDesign(self.border[:, rows], groups, self.n_groups)

    def joined(self, others: Sequence[GroupedDesign]) -> GroupedDesign:
        each = [self, *others]
        place = np.concatenate([one.groups.place for one in each])
        values = np.concatenate([one.groups.values for one in each], axis=1)
        border = np.concatenate([one.border for one in each], axis=1)
        return GroupedDesign(border, GroupRows(place, values), self.n_groups)


def _by_row(weights: Float[np.ndarray, "*batch rows"]) -> Float[np.ndarray, "flat rows"]:
    """Weights with one axis before the rows' axis, which may be empty."""
    return weights.reshape(prod(weights.shape[:-1]), weights.shape[-1])
