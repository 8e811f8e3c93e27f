r"""Covariances of quadratic forms of Gaussian vectors, which rows of data have, without the forms.

A row ``n`` adds to the statistics of a vector ``k`` a form of its predictor ``u`` centred at the
mean: ``-u^2 / 2``, and multiples of ``u``. With ``S`` the covariance matrix of the predictors of
all rows,

.. math:: \mathrm{Cov}(u_n, u_m) = S_{nm}, \qquad
          \mathrm{Cov}(u_n^2, u_m^2) / 4 = S_{nm}^2 / 2,

and both are uncorrelated. The first part has as few dimensions as the vector, the second is a
Hadamard square: its products with columns are sums over rows, or over the products of two loadings
where these are fewer than the rows.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import accumulate

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.arrays import RowIntegers, RowMask
from bayesvb.numerics.pieces import pieces

ENTRIES_AT_ONCE = 1 << 19
"""Numbers of arrays of 4 MiB: of longer ones products take longer, as they leave the cache."""

FEW_COLUMNS = 12
"""Columns up to which sums over products of two loadings are matrices, of each column in turn: the
products of all rows need not be made. With 2,930 rows and 47 loadings both take 7 ms at 12."""

Columns = Float[np.ndarray, "_ columns"]


@dataclass(frozen=True, kw_only=True)
class VectorForms:
    """Forms of one vector: first of the rows, then one for each square of a coefficient.

    Attributes
    ----------
    own, common : ndarray, shape (forms, variables)
        Loadings of the predictors on independent standard normal variables: of this vector alone,
        and of variables that it shares with other vectors.
    slopes : ndarray, shape (scalars, forms)
        Multiples of the predictor in each scalar of a row. The first has ``-u^2 / 2`` as well.
    noise : ndarray, shape (forms, noises)
        Loadings of the first scalar on the noise variables, which are independent of the others.
    rows : ndarray, shape (rows,)
        Positions of the rows; none of a vector that rows do not depend on.
    squares : ndarray, shape (squares, blocks)
        Sums of squares to which the last forms, one for each square, belong.
    statistics : ndarray, shape (entries, variables)
        Loadings of the statistics that perturbations add to, on the own variables, the common
        and the noise variables.
    """

    own: Float[np.ndarray, "forms own"]
    common: Float[np.ndarray, "forms common"]
    slopes: Float[np.ndarray, "scalars forms"]
    noise: Float[np.ndarray, "forms noises"]
    rows: RowIntegers
    squares: Float[np.ndarray, "squares blocks"]
    statistics: Float[np.ndarray, "entries all"]

    def astype(self, kind: type) -> VectorForms:
        """Loadings in another precision."""
        names = ("own", "common", "slopes", "noise", "squares", "statistics")
        return replace(self, **{name: getattr(self, name).astype(kind) for name in names})

    def covariance_times(self, columns: Columns) -> Columns:
        """Half the squared covariances of the predictors times columns."""
        if not has_fewer_pairs(self.narrow):
            return squares_times(self.loadings, self.loadings, columns)
        n, both = len(self.rows), self.loadings
        of_rows = pairs_times(self.narrow, sum_pairs(self.narrow, columns[:n]))
        of_rows += squares_times(both[:n], both[n:], columns[n:])
        return np.concatenate([of_rows, squares_times(both[n:], both, columns)])

    @cached_property
    def narrow(self) -> Float[np.ndarray, "rows axes"]:
        """Loadings of the rows on as few independent variables as they have columns."""
        loadings = self.loadings[: len(self.rows)]
        if not self.common.shape[1]:
            return loadings
        values, axes = np.linalg.eigh(loadings.T.astype(float) @ loadings)
        # Eigenvalue of a covariance, relative to the largest, below which it is a rounding error.
        axes = axes[:, values > 1e-13 * max(values[-1], 0.0)]
        return np.asarray(loadings @ axes.astype(loadings.dtype))

    @property
    def loadings(self) -> Float[np.ndarray, "forms variables"]:
        """Loadings of the predictors on own and common variables."""
        return np.concatenate([self.own, self.common], axis=1)

    def deviations(
        self, noise: Float[np.ndarray, "noises noises"]
    ) -> Float[np.ndarray, "scalars rows"]:
        """Standard deviations of the scalars of the rows."""
        n = len(self.rows)
        variance = (self.own[:n] ** 2).sum(axis=1) + (self.common[:n] ** 2).sum(axis=1)
        variances = self.slopes[:, :n] ** 2 * variance
        variances[0] += 0.5 * variance**2 + ((self.noise[:n] @ noise) * self.noise[:n]).sum(axis=1)
        return np.asarray(np.sqrt(variances))

    def restricted(self, kept: RowMask) -> VectorForms:
        """Forms of some of the rows, and all squares."""
        forms = np.append(kept, np.ones(len(self.squares), dtype=bool))
        return replace(
            self,
            own=self.own[forms],
            common=self.common[forms],
            slopes=self.slopes[:, forms],
            noise=self.noise[forms],
            rows=self.rows[kept],
        )


@dataclass(frozen=True, kw_only=True)
class Forms:
    """Forms of the vectors of one part of a model: its experts, or its gate.

    Attributes
    ----------
    vectors : tuple of VectorForms
        Those with rows come first.
    noise : ndarray, shape (noises, noises)
        Covariance of the noise variables.
    """

    vectors: tuple[VectorForms, ...]
    noise: Float[np.ndarray, "noises noises"]

    def astype(self, kind: type) -> Forms:
        """Loadings in another precision."""
        vectors = tuple(vector.astype(kind) for vector in self.vectors)
        return Forms(vectors=vectors, noise=self.noise.astype(kind))

    @property
    def with_rows(self) -> tuple[VectorForms, ...]:
        """Vectors that rows have forms of."""
        return tuple(vector for vector in self.vectors if len(vector.statistics))

    def restricted(self, kept: Sequence[RowMask]) -> Forms:
        """Forms of some of the rows, others of each vector."""
        n = len(kept)
        vectors = [v.restricted(rows) for v, rows in zip(self.vectors[:n], kept, strict=True)]
        return replace(self, vectors=(*vectors, *self.vectors[n:]))

    @property
    def n_blocks(self) -> int:
        """Number of sums of squares."""
        return int(self.vectors[0].squares.shape[1])

    @property
    def n_common(self) -> int:
        """Number of variables that vectors share."""
        return int(self.vectors[0].common.shape[1])

    @property
    def n_variables(self) -> int:
        """Number of variables: of each vector, common, of the noise."""
        n_own = sum(vector.own.shape[1] for vector in self.vectors)
        return int(n_own) + self.n_common + len(self.noise)

    @property
    def covariance(self) -> Float[np.ndarray, "variables variables"]:
        """Covariance of all variables, the identity but for the noise."""
        covariance = np.eye(self.n_variables)
        first = len(covariance) - len(self.noise)
        covariance[first:, first:] = self.noise
        return covariance

    def squares_times(self, columns: Sequence[Columns]) -> list[Columns]:
        """Covariance of the forms ``-u^2 / 2`` of all vectors times columns, one array for each."""
        product = [v.covariance_times(c) for v, c in zip(self.vectors, columns, strict=True)]
        if not self.n_common:
            return product
        if has_fewer_pairs(max((v.common for v in self.vectors), key=len)):
            sums = [sum_pairs(v.common, c) for v, c in zip(self.vectors, columns, strict=True)]
            for vector, image, part in zip(self.vectors, product, sums, strict=True):
                image += pairs_times(vector.common, sum(sums) - part)
            return product
        for k, one in enumerate(self.vectors):
            for j, other in enumerate(self.vectors):
                if j != k:
                    product[k] += squares_times(one.common, other.common, columns[j])
        return product

    def squares_with(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "vectors columns"]
    ) -> list[Columns]:
        """``squares_times`` of columns that are zero but for one row each, of all vectors."""
        squares = []
        for one in self.vectors:
            total = np.zeros((len(one.own), len(rows)))
            for other, value in zip(self.with_rows, values, strict=True):
                same = one is other  # of others, loadings on the variables that both have
                left, right = (v.loadings if same else v.common for v in (one, other))
                if left.shape[1]:
                    total += half_squares(left, right[rows]) * value
            squares.append(total)
        return squares

    def squares_at(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "vectors columns"]
    ) -> Float[np.ndarray, " columns"]:
        """Quadratic form of ``squares_with`` in the same columns."""
        common = np.stack([vector.common[rows] for vector in self.with_rows])
        covariance = common.transpose(1, 0, 2) @ common.transpose(1, 2, 0)
        for k, vector in enumerate(self.with_rows):
            covariance[:, k, k] += (vector.own[rows] ** 2).sum(axis=1)
        return np.asarray(0.5 * np.einsum("kn,nkj,jn->n", values, covariance**2, values))

    def loaded(
        self, first: Sequence[Columns], linear: Sequence[Columns]
    ) -> Float[np.ndarray, "variables columns"]:
        """Sum over forms of loadings times columns, of the first scalars and of predictors."""
        pairs = list(zip(self.vectors, linear, strict=True))
        of_own = [vector.own.T @ c for vector, c in pairs]
        common = sum(vector.common.T @ c for vector, c in pairs)
        noise = sum(v.noise.T @ c for v, c in zip(self.vectors, first, strict=True))
        return np.concatenate([*of_own, common, noise])

    def loaded_with(
        self, rows: Int[np.ndarray, " columns"], values: Float[np.ndarray, "kinds vectors columns"]
    ) -> Float[np.ndarray, "variables columns"]:
        """``loaded`` of columns that are zero but for the scalars of one row each."""
        of_own = [np.zeros((vector.own.shape[1], len(rows))) for vector in self.vectors]
        common = np.zeros((self.n_common, len(rows)))
        noise = np.zeros((len(self.noise), len(rows)))
        for k, vector in enumerate(self.with_rows):
            linear = (vector.slopes[:, rows] * values[:, k]).sum(axis=0)
            of_own[k] = vector.own[rows].T * linear
            common += vector.common[rows].T * linear
            noise += vector.noise[rows].T * values[0, k]
        return np.concatenate([*of_own, common, noise])

    def predicted(
        self, variables: Float[np.ndarray, "variables columns"]
    ) -> tuple[list[Columns], list[Columns]]:
        """Predictors of all forms at values of the variables, and the effects of the noise."""
        sizes = np.cumsum([vector.own.shape[1] for vector in self.vectors] + [self.n_common])
        *of_own, common, noise = np.split(variables, sizes)
        predictors = [
            v.own @ z + v.common @ common for v, z in zip(self.vectors, of_own, strict=True)
        ]
        return predictors, [vector.noise @ noise for vector in self.vectors]

    def statistics(self) -> Float[np.ndarray, "vectors entries variables"]:
        """Loadings of the statistics of every vector with rows, on all variables."""
        with_rows = self.with_rows
        n_own, n_shared = with_rows[0].own.shape[1], self.n_common + len(self.noise)
        statistics = np.zeros((len(with_rows), len(with_rows[0].statistics), self.n_variables))
        for k, vector in enumerate(with_rows):
            statistics[k, :, k * n_own : (k + 1) * n_own] = vector.statistics[:, :n_own]
            statistics[k, :, self.n_variables - n_shared :] = vector.statistics[:, n_own:]
        return statistics


def half_squares(
    left: Float[np.ndarray, "left variables"], right: Float[np.ndarray, "right variables"]
) -> Float[np.ndarray, "left right"]:
    """Half the squared covariances of predictors, given by their loadings.

    Examples
    --------
    >>> half_squares(np.array([[1.0, 0.0]]), np.array([[0.6, 0.8]]))
    array([[0.18]])
    """
    squares: Float[np.ndarray, "left right"] = left @ right.T
    squares *= squares
    squares *= 0.5
    return squares


def squares_times(
    left: Float[np.ndarray, "left variables"],
    right: Float[np.ndarray, "right variables"],
    columns: Float[np.ndarray, "right columns"],
) -> Float[np.ndarray, "left columns"]:
    """Half the squared covariances of predictors, given by their loadings, times columns.

    Examples
    --------
    >>> one = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> squares_times(one, one, np.eye(2))
    array([[0.5 , 0.18],
           [0.18, 0.5 ]])
    """
    product = np.zeros((len(left), columns.shape[1]), dtype=columns.dtype)
    for rows in pieces(len(left) if left.shape[1] else 0, len(right), ENTRIES_AT_ONCE):
        spread = left[rows] @ right.T
        spread *= spread
        product[rows] = spread @ columns
    product *= 0.5
    return product


def has_fewer_pairs(loadings: Float[np.ndarray, "forms variables"]) -> bool:
    """Whether products of two variables, if there are any, are fewer than the forms."""
    n_forms, n_variables = loadings.shape
    return bool(0 < n_variables * (n_variables + 1) // 2 < n_forms)


def sum_pairs(
    loadings: Float[np.ndarray, "forms variables"], columns: Float[np.ndarray, "forms columns"]
) -> Float[np.ndarray, "pairs columns"]:
    """Sum over forms of the products of two of their loadings times columns.

    ``pairs_times`` of the sums is ``squares_times`` of the columns.

    Examples
    --------
    >>> one = np.array([[1.0, 0.0], [0.6, 0.8]])
    >>> pairs_times(one, sum_pairs(one, np.eye(2)))
    array([[0.5 , 0.18],
           [0.18, 0.5 ]])
    """
    rows, others = np.triu_indices(loadings.shape[1])
    pairs = np.zeros((len(rows), columns.shape[1]), dtype=columns.dtype)
    if columns.shape[1] <= FEW_COLUMNS:
        scale = np.where(rows == others, 1.0, math.sqrt(2.0)).astype(pairs.dtype)
        for column, sums in zip(columns.T, pairs.T, strict=True):
            sums[:] = scale * ((loadings * column[:, None]).T @ loadings)[rows, others]
        return pairs
    for part in _parts(*loadings.shape):
        pairs += _pairs(loadings[part]) @ columns[part]
    return pairs


def pairs_times(
    loadings: Float[np.ndarray, "forms variables"], sums: Float[np.ndarray, "pairs columns"]
) -> Float[np.ndarray, "forms columns"]:
    """Half the products of two loadings of each form times sums of such products."""
    product = np.empty((len(loadings), sums.shape[1]), dtype=sums.dtype)
    if sums.shape[1] <= FEW_COLUMNS:
        upper = np.zeros((loadings.shape[1],) * 2, dtype=sums.dtype)
        rows, others = np.triu_indices(len(upper))
        scale = np.where(rows == others, 0.5, math.sqrt(0.5)).astype(sums.dtype)
        for column, image in zip(sums.T, product.T, strict=True):
            upper[rows, others] = scale * column
            image[:] = ((loadings @ upper) * loadings).sum(axis=1)
        return product
    for part in _parts(*loadings.shape):
        np.matmul(_pairs(loadings[part]).T, sums, out=product[part])
    product *= 0.5
    return product


def _pairs(loadings: Float[np.ndarray, "forms variables"]) -> Float[np.ndarray, "pairs forms"]:
    """Products of two loadings of each form, of two different ones by the root of two."""
    by_variable = np.ascontiguousarray(loadings.T)
    n, n_forms = by_variable.shape
    pairs = np.empty((n * (n + 1) // 2, n_forms), dtype=loadings.dtype)
    starts = accumulate(range(n, 1, -1), initial=0)
    for number, start in enumerate(starts):
        part = pairs[start : start + n - number]
        np.multiply(by_variable[number:], by_variable[number], out=part)
        part[1:] *= math.sqrt(2.0)
    return pairs


def _parts(n_forms: int, n_variables: int) -> list[slice]:
    """Forms whose products of two loadings are in the cache together."""
    return pieces(n_forms, n_variables * (n_variables + 1), 2 * ENTRIES_AT_ONCE)
