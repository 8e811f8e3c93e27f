"""Small symmetric matrices, many at a time: feature products, packing, Cholesky inverses.

A row ``x`` enters every statistic through its ``D (D + 1) / 2`` distinct products ``x_i x_j``
(``products``). With these as columns, ``sum_n r_kn x_n x_n'`` for all ``k`` is one matrix product,
and ``x_n' S_k x_n`` for all ``k`` and ``n`` is another (``quadratic_weights``). With many terms the
products no longer fit into cache, and a product of ``x`` with itself for each ``k`` is faster
(``second_moments``, ``quadratic_at``); where most terms of a row are zero, as indicators of groups,
the products that are not are a sparse matrix, made once (``sparse_products``).
"""

from __future__ import annotations

from functools import lru_cache
from weakref import ref

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg.lapack import dtrtri
from scipy.sparse import csr_array

from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    BatchArray,
    DrawParameters,
    ExpertRows,
    ExpertTerms,
    Floats,
    TermRows,
)
from bayesvb.numerics.packed_matrices import log_det as log_product
from bayesvb.numerics.packed_matrices import solve_and_invert

MANY_TERMS = 16
"""Terms, and two more for each matrix, from which one product for each matrix is faster."""

DRAWS_PER_NUMBER = 10
"""Draws for each number from which their covariance is made exact."""


@lru_cache(maxsize=64)
def lower_pairs(n_terms: int) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " pairs"]]:
    """Row and column numbers of the lower triangle, in the order in which it is packed."""
    rows, columns = np.tril_indices(n_terms)
    return rows, columns


def packed_diagonal(n_terms: int) -> Int[np.ndarray, " terms"]:
    """Indices of the diagonal of a matrix in its packed lower triangle.

    Examples
    --------
    >>> pack(np.arange(9.0).reshape(3, 3))[packed_diagonal(3)]
    array([0., 4., 8.])
    """
    number = np.arange(n_terms)
    return number * (number + 3) // 2


def with_diagonal(
    packed: Float[np.ndarray, "*batch pairs"], more: Float[np.ndarray, "*some terms"]
) -> Float[np.ndarray, "*batch pairs"]:
    """Packed lower triangles with these added to their diagonals."""
    changed = np.array(packed)
    changed[..., packed_diagonal(more.shape[-1])] += more
    return changed


@lru_cache(maxsize=64)
def _positions(
    n_terms: int,
) -> tuple[Int[np.ndarray, " pairs"], Int[np.ndarray, " squares"], Float[np.ndarray, " pairs"]]:
    """Packed entries in the flat matrix, flat entries in the triangle, how often a pair counts."""
    first, second = lower_pairs(n_terms)
    rows, columns = np.divmod(np.arange(n_terms * n_terms), n_terms)
    low, high = np.minimum(rows, columns), np.maximum(rows, columns)
    return first * n_terms + second, high * (high + 1) // 2 + low, 2.0 - (first == second)


def products(
    x: TermRows, out: Float[np.ndarray, "pairs rows"] | None = None
) -> Float[np.ndarray, "pairs rows"]:
    """All distinct products of two terms, row by row.

    Parameters
    ----------
    x : ndarray, shape (terms, rows)
    out : ndarray, shape (pairs, rows), optional
        Where to write them.

    Examples
    --------
    >>> products(np.array([[1.0], [3.0]])).ravel()
    array([1., 3., 9.])
    """
    n_terms, n_rows = x.shape
    result = np.empty((n_terms * (n_terms + 1) // 2, n_rows)) if out is None else out
    for i, term in enumerate(x):
        start = i * (i + 1) // 2
        np.multiply(x[: i + 1], term, out=result[start : start + i + 1])
    return result


def present_products(
    x: TermRows,
) -> tuple[Bool[np.ndarray, " pairs"], Float[np.ndarray, "present rows"]]:
    """Mask of the distinct products of two terms that some row has, and these products.

    All of them unless terms are many and most products are zero.

    Examples
    --------
    >>> present, found = present_products(np.repeat(np.eye(16), 2, axis=1))
    >>> int(present.sum()), found.shape
    (16, (16, 32))
    """
    n_terms = len(x)
    first, second = lower_pairs(n_terms)
    if n_terms >= MANY_TERMS:
        there = (x != 0.0).astype(np.float32)
        present = (there @ there.T)[first, second] > 0.0
        # Share of products of terms up to which those that are zero in all rows are looked for.
        if np.count_nonzero(present) < 0.5 * len(present):
            return present, x[first[present]] * x[second[present]]
    return np.ones(len(first), dtype=bool), products(x)


def one_by_one(n_matrices: int, n_terms: int) -> bool:
    """Whether a matrix product for each matrix is faster than one with all products of terms."""
    return n_terms >= MANY_TERMS + 2 * n_matrices


def second_moments(weights: ExpertRows, x: TermRows) -> Float[np.ndarray, "experts pairs"]:
    """``sum_n w_kn x_n x_n'`` for all ``k``, packed.

    Examples
    --------
    >>> second_moments(np.array([[1.0, 2.0]]), np.array([[1.0, 1.0], [3.0, 5.0]]))
    array([[ 3., 13., 59.]])
    """
    if not one_by_one(len(weights), len(x)):
        return np.asarray(weights @ products(x).T)
    sparse = sparse_products(x)
    if sparse is not None:
        return np.ascontiguousarray((sparse.T @ weights.T).T)
    moments = np.empty((len(weights), len(x) * (len(x) + 1) // 2))
    for weight, result in zip(weights, moments, strict=True):
        result[:] = pack((x * weight) @ x.T)
    return moments


_SPARSE: dict[int, tuple[ref[np.ndarray], csr_array | None]] = {}
"""Products of matrices that are alive, by identity: designs stay the same over all iterations."""


def sparse_products(x: TermRows) -> csr_array | None:
    """``products(x)`` transposed, as a sparse matrix that is kept as long as ``x``.

    None unless terms are many, and products of each row at most as many as terms: they then take
    at most 1.5 times the memory. With 100 indicators of groups and 2,000 rows ``second_moments``
    takes 0.06 ms of CPU time instead of 1.7, ``quadratic_at`` 0.06 instead of 2.0.
    """
    kept = _SPARSE.get(id(x))
    if kept is None or kept[0]() is not x:
        number = id(x)
        kept = ref(x, lambda _: _SPARSE.pop(number, None)), _few_products(x)
        _SPARSE[number] = kept
    return kept[1]


def _few_products(x: TermRows) -> csr_array | None:
    """Sparse products, if they are few: terms of each row side by side, then all their pairs."""
    n_terms, n_rows = x.shape
    row, column = np.nonzero(x.T) if n_terms >= MANY_TERMS else (np.empty(0, int),) * 2
    counts = np.bincount(row, minlength=n_rows)
    first, second = lower_pairs(int(counts.max(initial=0)))
    if not 0 < len(first) <= n_terms:
        return None
    slot = np.arange(len(row)) - np.repeat(np.cumsum(counts) - counts, counts)
    place, value = np.zeros((n_rows, slot.max() + 1), dtype=int), np.zeros((n_rows, slot.max() + 1))
    place[row, slot], value[row, slot] = column, x[column, row]
    # Columns ascend, but for zeros that fill up a row: their products are zero wherever they are.
    high, low = (np.sort(place[:, [first, second]], axis=1)[:, at] for at in (1, 0))
    pairs, every = high * (high + 1) // 2 + low, value[:, first] * value[:, second]
    starts = np.arange(0, pairs.size + 1, len(first))
    shape = n_rows, n_terms * (n_terms + 1) // 2
    return csr_array((every.ravel(), pairs.ravel(), starts), shape=shape)


def pack(matrix: Float[np.ndarray, "*batch terms terms"]) -> Float[np.ndarray, "*batch pairs"]:
    """Lower triangles of symmetric matrices, packed."""
    flat = matrix.reshape(*matrix.shape[:-2], matrix.shape[-1] ** 2)
    packed: Float[np.ndarray, "*batch pairs"]
    packed = namespace(flat).take(flat, _positions(matrix.shape[-1])[0], axis=-1)
    return packed


def unpack(packed: Float[np.ndarray, "*batch pairs"]) -> Float[np.ndarray, "*batch terms terms"]:
    """Symmetric matrices from their packed lower triangles."""
    n_terms = int((np.sqrt(8 * packed.shape[-1] + 1) - 1) / 2 + 0.5)
    flat = np.take(packed, _positions(n_terms)[1], axis=-1)
    return flat.reshape(*packed.shape[:-1], n_terms, n_terms)


def quadratic_weights(
    matrix: Float[np.ndarray, "*batch terms terms"],
) -> Float[np.ndarray, "*batch pairs"]:
    """Weights ``w`` with ``w @ products(x) = x' S x``: off-diagonal entries count twice.

    Examples
    --------
    >>> x = np.array([[1.0], [3.0]])
    >>> quadratic_weights(np.array([[2.0, 0.5], [0.5, 1.0]])) @ products(x)
    array([14.])
    """
    weights = pack(matrix)
    weights *= _positions(matrix.shape[-1])[2]
    return weights


def inverse_and_log_det(
    matrix: Float[np.ndarray, "*batch terms terms"],
) -> tuple[Float[np.ndarray, "*batch terms terms"], BatchArray]:
    """Inverse and log-determinant of positive definite matrices, from one factorisation of each.

    Raises
    ------
    numpy.linalg.LinAlgError
        A matrix is not positive definite.
    """
    xp = namespace(matrix)
    if xp is not np:
        return xp.linalg.inv(matrix), xp.linalg.slogdet(matrix).logabsdet
    n_terms = matrix.shape[-1]
    if not n_terms:
        return matrix, np.zeros(matrix.shape[:-2])
    # Matrices, plus the cube of their terms, from which eliminations run in all at once.
    if matrix.size >= (n_terms**3 + 16) * n_terms**2:
        return _of_many(matrix)
    half = np.ascontiguousarray(np.linalg.cholesky(matrix))
    log_det = 2.0 * np.log(np.diagonal(half, axis1=-2, axis2=-1)).sum(axis=-1)
    for factor in half.reshape(-1, *half.shape[-2:]):
        dtrtri(factor.T, lower=0, overwrite_c=1)  # in place: LAPACK stores matrices by columns
    return np.swapaxes(half, -1, -2) @ half, np.asarray(log_det)


def _of_many(
    matrix: Float[np.ndarray, "*batch terms terms"],
) -> tuple[Float[np.ndarray, "*batch terms terms"], BatchArray]:
    """Inverses and log determinants by eliminations in all matrices at once."""
    packed = pack(matrix)
    triangle = np.ascontiguousarray(packed.reshape(-1, packed.shape[-1]).T)
    with np.errstate(all="ignore"):  # what is not positive definite is refused at the end
        pivots = solve_and_invert(triangle, matrix.shape[-1])
    inverse = unpack(np.ascontiguousarray(triangle.T)).reshape(matrix.shape)
    return inverse, log_product(pivots).reshape(matrix.shape[:-2])


def diagonal(
    entries: Float[np.ndarray, "*many terms"],
) -> tuple[
    Float[np.ndarray, "*batch terms terms"],
    Float[np.ndarray, "*batch terms terms"],
    BatchArray,
]:
    """Diagonal matrices, their inverses and log-determinants.

    For several rows of entries, an axis of length one follows the rows' axis, so that the matrices
    broadcast.

    Examples
    --------
    >>> matrix, inverse, log_det = diagonal(np.array([2.0, 0.5]))
    >>> matrix @ inverse, float(log_det)
    (array([[1., 0.],
           [0., 1.]]), 0.0)
    """
    each = entries if entries.ndim == 1 else entries[..., None, :]
    n_terms = each.shape[-1]
    matrix, inverse = np.zeros((2, *each.shape[:-1], n_terms * n_terms))
    matrix[..., :: n_terms + 1] = each
    inverse[..., :: n_terms + 1] = 1.0 / each
    shape = (*each.shape, n_terms)
    with np.errstate(invalid="ignore"):  # only matrices are read of entries that are not positive
        log_det = np.log(each).sum(axis=-1)
    return matrix.reshape(shape), inverse.reshape(shape), np.asarray(log_det)


def times(
    matrix: Float[np.ndarray, "*matrices terms terms"], vector: Float[np.ndarray, "*vectors terms"]
) -> Float[np.ndarray, "*batch terms"]:
    """Matrix times vector; leading axes broadcast."""
    product: Float[np.ndarray, "*batch terms"] = (matrix @ vector[..., None])[..., 0]
    return product


def times_each(
    matrix: Float[np.ndarray, "*matrices terms terms"],
    vectors: Float[np.ndarray, "draws *vectors terms"],
) -> Float[np.ndarray, "draws *batch terms"]:
    """``times`` for many vectors of each matrix: one product of matrices with all of them.

    Examples
    --------
    >>> times_each(np.array([[0.0, 2.0], [1.0, 0.0]]), np.array([[3.0, 5.0], [1.0, 0.0]]))
    array([[10.,  3.],
           [ 0.,  1.]])
    """
    if namespace(vectors) is not np:
        return times(matrix, vectors)
    batch = np.broadcast_shapes(matrix.shape[:-2], vectors.shape[1:-1])
    result = np.empty((len(vectors), *batch, vectors.shape[-1]))
    vectors = vectors.reshape(
        len(vectors), *(1,) * (result.ndim - vectors.ndim), *vectors.shape[1:]
    )
    by_matrix = np.moveaxis(vectors, 0, -2), np.swapaxes(matrix, -1, -2)
    np.matmul(*by_matrix, out=np.moveaxis(result, 0, -2))
    return result


def trace_of_product(
    first: Float[np.ndarray, "*matrices terms terms"],
    second: Float[np.ndarray, "*others terms terms"],
) -> BatchArray:
    """Trace of the product of two symmetric matrices; leading axes broadcast.

    Examples
    --------
    >>> float(trace_of_product(2.0 * np.eye(3), np.ones((3, 3))))
    6.0
    """
    size = first.shape[-1] ** 2
    flat = (matrix.reshape(*matrix.shape[:-2], size) for matrix in (first, second))
    return np.asarray(np.vecdot(*flat))


def outer_by_row(
    weights: Float[np.ndarray, "*batch rows"], features: Float[np.ndarray, "features rows"]
) -> Float[np.ndarray, "rows *batch features"]:
    """Weights of each row times its features.

    Examples
    --------
    >>> outer_by_row(np.array([[2.0, 3.0]]), np.array([[1.0, 1.0], [4.0, 5.0]]))
    array([[[ 2.,  8.]],
    <BLANKLINE>
           [[ 3., 15.]]])
    """
    return np.asarray(
        np.moveaxis(weights, -1, 0)[..., None]
        * np.moveaxis(np.expand_dims(features, tuple(range(weights.ndim - 1))), -1, 0)
    )


def linear_at(coefficients: Float[np.ndarray, "... experts terms"], x: TermRows) -> ExpertRows:
    """``b_k' x_n`` for coefficients of shape (experts, terms), or (rows, experts, terms).

    In the second case every row has coefficients of its own.

    Examples
    --------
    >>> x = np.array([[1.0, 1.0], [3.0, 5.0]])
    >>> linear_at(np.array([[1.0, 2.0]]), x), linear_at(np.array([[[1.0, 2.0]], [[0.0, 1.0]]]), x)
    (array([[ 7., 11.]]), array([[7., 5.]]))
    """
    if coefficients.ndim == 2:
        return np.asarray(coefficients @ x)
    return np.asarray(np.matmul(coefficients, x.T[:, :, None])[:, :, 0].T)


def quadratic_at(matrix: Float[np.ndarray, "... terms terms"], x: TermRows) -> ExpertRows:
    """``x_n' S_k x_n`` for matrices of shape (experts, terms, terms), or with rows before it.

    Examples
    --------
    >>> x = np.array([[1.0, 2.0], [3.0, 0.0]])
    >>> each = np.array([[[2.0, 0.5], [0.5, 1.0]]])
    >>> quadratic_at(each, x), quadratic_at(np.stack([each, 2.0 * each]), x)
    (array([[14.,  8.]]), array([[14., 16.]]))
    """
    # Terms from which products of a row with its own matrices are faster than of packed ones.
    if matrix.ndim > 3 and len(x) >= 10:
        one_matrix = x.T[:, None, :]
        return np.asarray(np.vecdot(np.matmul(matrix, one_matrix[..., None])[..., 0], one_matrix).T)
    if matrix.ndim > 3 or not one_by_one(len(matrix), len(x)):
        return linear_at(quadratic_weights(matrix), products(x))
    sparse = sparse_products(x)
    if sparse is not None:
        return np.ascontiguousarray((sparse @ quadratic_weights(matrix).T).T)
    values = np.empty((len(matrix), x.shape[1]))
    for one_matrix, result in zip(matrix, values, strict=True):
        np.einsum("in,in->n", one_matrix @ x, x, out=result)
    return values


def effective_dof(
    covariance: Float[np.ndarray, "*batch terms terms"],
    prior_precision: Float[np.ndarray, "terms terms"],
) -> Float[np.ndarray, "*batch terms"]:
    """Effective degrees of freedom of each coefficient: diagonal of ``(P + S)^-1 S``.

    ``P`` is the diagonal precision of the prior, and ``S`` the precision of the data: one for a
    coefficient determined by the data, zero for one determined by the prior, whatever the rounding.
    """
    spread = np.diagonal(covariance, axis1=-2, axis2=-1)
    return np.asarray(np.maximum(1.0 - spread * np.diagonal(prior_precision), 0.0))


def by_row(values: Floats) -> ExpertTerms:
    """Numbers of shape (experts,) as (experts, 1), or of shape (rows, experts) as its transpose."""
    return values[:, None] if values.ndim == 1 else values.T


def match_covariance(
    vectors: DrawParameters, covariance: Float[np.ndarray, "numbers numbers"]
) -> DrawParameters:
    """Draws moved linearly so that their mean is zero and their covariance is the given one.

    Few draws of many numbers are only centred: their lengths would become nearly equal.

    Parameters
    ----------
    vectors : ndarray, shape (draws, numbers)
        Draws of which mean and covariance are zero and the given one but for sampling error.
    covariance : ndarray, shape (numbers, numbers)

    Examples
    --------
    >>> draws = np.random.default_rng(0).standard_normal((40, 2))
    >>> np.allclose(np.cov(match_covariance(draws, np.eye(2)).T), np.eye(2))
    True
    """
    n_draws, n_numbers = vectors.shape
    if n_draws < DRAWS_PER_NUMBER * n_numbers:
        return np.asarray(vectors - vectors.mean(axis=0))
    return np.asarray(whitened(vectors) @ np.linalg.cholesky(covariance).T)


def whitened(vectors: DrawParameters) -> DrawParameters:
    """Draws moved linearly so that their mean is zero and their covariance is one.

    Examples
    --------
    >>> whitened(np.array([[1.0], [3.0]])).round(3).tolist()
    [[-0.707], [0.707]]
    """
    centred = vectors - vectors.mean(axis=0)
    root = np.linalg.cholesky(centred.T @ centred / (len(vectors) - 1.0))
    return np.asarray(np.linalg.solve(root, centred.T).T)


def shrunken_covariance(vectors: DrawParameters) -> Float[np.ndarray, "numbers numbers"]:
    """Covariance of draws with a part of the correlations taken away, so that it is definite.

    Few draws have little information on correlations of many numbers: with ``S`` draws of ``D``
    numbers they are multiplied by ``S / (S + D)``, and variances are unchanged.

    Examples
    --------
    >>> draws = np.array([[0.0, 0.0], [2.0, 2.0]])
    >>> float(shrunken_covariance(draws)[0, 1])
    1.0
    """
    n_draws, n_numbers = vectors.shape
    share = n_draws / (n_draws + n_numbers)
    whole = np.cov(vectors.T).reshape(n_numbers, n_numbers)
    return np.asarray(share * whole + (1.0 - share) * np.diag(vectors.var(axis=0)))
