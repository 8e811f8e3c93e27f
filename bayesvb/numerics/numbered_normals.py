"""Standard normal numbers that are a function of a key and a place: none of them has to be kept."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int, UInt64
from scipy.special import ndtri

LARGEST_KEY = 2**52
"""Keys are whole numbers below this, which a double holds."""

STEP, FIRST, SECOND = (
    np.uint64(one) for one in (0x9E3779B97F4A7C15, 0xBF58476D1CE4E5B9, 0x94D049BB133111EB)
)


def numbered_normals(
    keys: Float[np.ndarray, "*axes"], places: Int[np.ndarray, " places"]
) -> Float[np.ndarray, "*axes places"]:
    """Independent standard normal numbers, for each key a sequence, at these indices of it.

    Parameters
    ----------
    keys : ndarray
        Whole numbers from zero, below ``LARGEST_KEY``.
    places : ndarray of int, shape (places,)

    References
    ----------
    Steele, Lea, Flood (2014), Fast splittable pseudorandom number generators, OOPSLA, for the
    function that mixes the bits.

    Examples
    --------
    >>> both = numbered_normals(np.array([7.0]), np.array([3, 1, 3]))
    >>> bool(both[0, 0] == both[0, 2] != both[0, 1])
    True
    """
    with np.errstate(over="ignore"):
        # Mixed once before places are added: neighbouring keys would share shifted sequences.
        start = _mixed(keys.astype(np.uint64) * STEP + STEP)
        bits = _mixed(start[..., None] + (places.astype(np.uint64) + np.uint64(1)) * STEP)
    # 53 bits at the middle of their cells: never 0 or 1, whose quantiles are infinite.
    return np.asarray(ndtri(((bits >> np.uint64(11)).astype(float) + 0.5) * 2.0**-53))


def _mixed(bits: UInt64[np.ndarray, "*axes"]) -> UInt64[np.ndarray, "*axes"]:
    """A permutation of all numbers of 64 bits, each bit of which depends on all."""
    bits = (bits ^ (bits >> np.uint64(30))) * FIRST
    bits = (bits ^ (bits >> np.uint64(27))) * SECOND
    return np.asarray(bits ^ (bits >> np.uint64(31)), dtype=np.uint64)
