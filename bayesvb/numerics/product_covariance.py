"""Covariances of products of two normal variables each."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


def product_covariance(
    mean: Float[np.ndarray, "*batch variables variables"],
    covariance: Float[np.ndarray, "*batch variables variables"],
    pairs: tuple[Int[np.ndarray, " products"], Int[np.ndarray, " products"]],
) -> Float[np.ndarray, "*batch products products"]:
    """Covariance of the products ``a_i a_j`` of jointly normal variables.

    Parameters
    ----------
    mean : ndarray
        ``E[a] E[a]'``, or its average where means are variable too.
    covariance : ndarray
        Covariance of the variables.
    pairs : tuple of ndarray
        ``i`` and ``j`` of each product.

    References
    ----------
    Isserlis (1918), On a formula for the product-moment coefficient of any order of a normal
    frequency distribution, Biometrika 12(1-2).

    Examples
    --------
    >>> first = np.array([0])
    >>> product_covariance(np.array([[9.0]]), np.array([[4.0]]), (first, first))
    array([[176.]])
    """
    i, j = (np.asarray(one)[:, None] for one in pairs)
    k, other = (np.asarray(one)[None, :] for one in pairs)
    result: Float[np.ndarray, "*batch products products"]
    second = mean + covariance
    result = second[..., i, k] * covariance[..., j, other]
    result += second[..., i, other] * covariance[..., j, k]
    result += mean[..., j, k] * covariance[..., i, other]
    result += mean[..., j, other] * covariance[..., i, k]
    return result
