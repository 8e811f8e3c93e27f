"""Very many small symmetric matrices, equal entries of all of them side by side.

Axes (..., terms, terms, blocks): a loop over the few terms goes along the blocks, where a matrix
function would be called for each of them.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.arrays import BatchArray


def inverse_of_blocks(
    matrix: Float[np.ndarray, "*batch terms terms blocks"],
) -> tuple[Float[np.ndarray, "*batch terms terms blocks"], BatchArray]:
    """Inverses of positive definite blocks, and the sum of their log-determinants.

    Raises
    ------
    numpy.linalg.LinAlgError
        A block is not positive definite.

    References
    ----------
    Goodnight (1979), A tutorial on the SWEEP operator, The American Statistician 33(3).

    Examples
    --------
    >>> inverse, log_det = inverse_of_blocks(np.array([[[2.0, 4.0]]]))
    >>> inverse, round(float(np.exp(log_det)), 12)
    (array([[[0.5 , 0.25]]]), 8.0)
    """
    if matrix.shape[-2] == 1:  # the one effect of most formulas, in half the time
        if not (matrix > 0.0).all():
            raise np.linalg.LinAlgError("a block is not positive definite")
        return 1.0 / matrix, np.asarray(np.log(matrix).sum(axis=(-3, -2, -1)))
    inverse = np.array(matrix, dtype=float)
    log_det: BatchArray = np.zeros(inverse.shape[:-3])
    for j in range(inverse.shape[-2]):
        pivot = inverse[..., j, j, :].copy()
        if not (pivot > 0.0).all():
            raise np.linalg.LinAlgError("a block is not positive definite")
        log_det = log_det + np.log(pivot).sum(axis=-1)
        column = inverse[..., :, j, :].copy()
        scaled = column / pivot[..., None, :]
        inverse -= column[..., :, None, :] * scaled[..., None, :, :]
        inverse[..., :, j, :] = inverse[..., j, :, :] = scaled
        inverse[..., j, j, :] = -1.0 / pivot
    return -inverse, np.asarray(log_det)


def roots_of_blocks(
    matrix: Float[np.ndarray, "*batch terms terms blocks"],
) -> Float[np.ndarray, "*batch terms terms blocks"]:
    """Lower triangular Cholesky factors of positive definite blocks.

    Examples
    --------
    >>> roots_of_blocks(np.array([[[4.0, 9.0]]]))
    array([[[2., 3.]]])
    """
    roots = np.zeros(matrix.shape)
    for j in range(matrix.shape[-2]):
        rest = matrix[..., j:, j, :] - (
            roots[..., j:, :j, :] * roots[..., j, :j, :][..., None, :, :]
        ).sum(axis=-2)
        roots[..., j:, j, :] = rest / np.sqrt(rest[..., :1, :])
    return roots
