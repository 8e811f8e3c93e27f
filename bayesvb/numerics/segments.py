"""Sums over consecutive segments of the last axis."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.array_library import namespace


def segment_sums(
    values: Float[np.ndarray, "*axes entries"], starts: Int[np.ndarray, " segments"]
) -> Float[np.ndarray, "*axes segments"]:
    """Sums over the entries from each start to the next one, the last to the end.

    Values are an array of NumPy or of JAX.

    Parameters
    ----------
    values : ndarray, shape (..., entries)
    starts : ndarray, shape (segments,)
        Increasing, the first one zero.

    Examples
    --------
    >>> segment_sums(np.array([1.0, 2.0, 4.0, 8.0]), np.array([0, 1, 3]))
    array([1., 6., 8.])
    """
    result: Float[np.ndarray, "*axes segments"]
    if namespace(values) is np:
        result = np.add.reduceat(values, starts, axis=-1)
        return result
    import jax

    sizes = np.diff(starts, append=values.shape[-1])
    numbers = np.repeat(np.arange(len(starts)), sizes)
    rows = namespace(values).moveaxis(values, -1, 0)
    sums = jax.ops.segment_sum(rows, numbers, len(starts), indices_are_sorted=True)
    result = namespace(values).moveaxis(sums, 0, -1)
    return result
