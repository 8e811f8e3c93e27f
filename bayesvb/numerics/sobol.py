"""Sobol points whose digits are scrambled, without the import of SciPy's statistics."""

from __future__ import annotations

from functools import reduce

import numpy as np
from jaxtyping import Float, UInt

BITS = 30
"""Binary digits of a point."""

DIRECTIONS = (
    (3, (1,)),
    (7, (1, 3)),
    (11, (1, 3, 1)),
    (13, (1, 1, 1)),
    (19, (1, 1, 3, 3)),
    (25, (1, 3, 5, 13)),
    (37, (1, 1, 5, 5, 17)),
    (41, (1, 1, 5, 5, 5)),
    (47, (1, 1, 7, 11, 19)),
    (55, (1, 1, 5, 1, 1)),
    (59, (1, 1, 1, 3, 11)),
    (61, (1, 3, 5, 5, 31)),
    (67, (1, 3, 3, 9, 7, 49)),
    (91, (1, 1, 1, 15, 21, 21)),
    (97, (1, 3, 1, 13, 27, 49)),
    (103, (1, 1, 1, 15, 7, 5)),
    (109, (1, 3, 1, 15, 13, 25)),
    (115, (1, 1, 5, 5, 19, 61)),
    (131, (1, 3, 7, 11, 23, 15, 103)),
    (137, (1, 3, 7, 13, 13, 15, 69)),
    (143, (1, 1, 3, 13, 7, 35, 63)),
    (145, (1, 3, 5, 9, 1, 25, 53)),
    (157, (1, 3, 1, 13, 9, 35, 107)),
)
"""Primitive polynomials and first direction numbers of dimensions 2 to 24, by Joe and Kuo."""


def sobol_points(n_dims: int, n_points: int) -> Float[np.ndarray, "points dims"]:
    """Low-discrepancy points of the unit cube, always the same.

    The points equal ``scipy.stats.qmc.Sobol(n_dims, seed=np.random.default_rng(0))``, whose
    module takes 0.3 s to import; it is used beyond the dimensions of ``DIRECTIONS``.

    References
    ----------
    Joe, Kuo (2008), Constructing Sobol sequences with better two-dimensional projections, SIAM
    Journal on Scientific Computing 30(5), eqs 2.2 to 2.4. Matousek (1998), On the L2-discrepancy
    for anchored boxes, Journal of Complexity 14(4), for linear scrambling with a digital shift.

    Examples
    --------
    >>> points = sobol_points(2, 8)
    >>> np.sort((points * 8).astype(int), axis=0)[:, 0]  # one point in each eighth
    array([0, 1, 2, 3, 4, 5, 6, 7])
    """
    if n_dims > len(DIRECTIONS) + 1:
        from scipy.stats import qmc

        return np.asarray(qmc.Sobol(n_dims, seed=np.random.default_rng(0)).random(n_points))
    (rng,) = np.random.default_rng(0).spawn(1)
    shift = rng.integers(2, size=(n_dims, BITS), dtype=np.uint32) @ (
        np.uint32(1) << np.arange(BITS, dtype=np.uint32)
    )
    scramble = np.tril(rng.integers(2, size=(n_dims, BITS, BITS), dtype=np.uint32))
    scramble |= np.eye(BITS, dtype=np.uint32)
    digits = scramble @ _direction_digits(n_dims, (n_points - 1).bit_length()) % 2
    place = (np.uint32(1) << np.arange(BITS, dtype=np.uint32))[::-1]
    directions = np.einsum("dbj,b->dj", digits, place)
    numbers = np.arange(n_points)
    gray = numbers ^ (numbers >> 1)
    points = np.tile(shift, (n_points, 1))
    for j, direction in enumerate(directions.T):
        points ^= np.where((gray[:, None] >> j) & 1, direction, np.uint32(0))
    return np.asarray(points * 2.0**-BITS)


def _direction_digits(n_dims: int, n_directions: int) -> UInt[np.ndarray, "dims bits directions"]:
    """Binary digits of the direction numbers, the largest first."""
    digits = np.zeros((n_dims, BITS, n_directions), dtype=np.uint32)
    for dim in range(n_dims):
        polynomial, first = DIRECTIONS[dim - 1] if dim else (1, (1,) * n_directions)
        numbers = list(first)
        degree = polynomial.bit_length() - 1
        for j in range(degree, n_directions if dim else 0):
            powers = [i for i in range(1, degree + 1) if polynomial >> (degree - i) & 1]
            terms = [numbers[j - i] << i for i in powers]
            numbers.append(reduce(int.__xor__, terms, numbers[j - degree]))
        for j, number in enumerate(numbers[:n_directions]):
            digits[dim, : j + 1, j] = [number >> (j - bit) & 1 for bit in range(j + 1)]
    return digits
