"""Systems of the statistics of single groups, solved for many groups at a time."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.linalg import lower_pairs


class ConvexGroup(np.linalg.LinAlgError):
    """The bound bends upwards in the effects of a group.

    Attributes
    ----------
    group : int
    way : ndarray, shape (experts, own)
        Change of its statistics along which it does so.
    """

    def __init__(self, group: int, way: Float[np.ndarray, "experts own"]) -> None:
        super().__init__("the bound bends upwards in the effects of a group")
        self.group, self.way = group, way


def sums_by_group(
    values: Float[np.ndarray, "several rows"], place: Int[np.ndarray, " rows"], n_groups: int
) -> Float[np.ndarray, "several groups"]:
    """Sums by group of rows that are in the order of their groups; some groups have none."""
    there, starts = np.unique(place, return_index=True)
    found = np.zeros((len(values), n_groups))
    if len(there):
        found[:, there] = np.add.reduceat(values, starts, axis=1)
    return found


def group_inverses(
    roots: Float[np.ndarray, "experts groups own own"],
    hessian: Float[np.ndarray, "experts experts rows"],
    features: Float[np.ndarray, "own rows"],
    place: Int[np.ndarray, " rows"],
) -> Float[np.ndarray, "groups all all"]:
    """``(R^-1 - H)^-1 = L (I - L' H L)^-1 L'`` of every group, ``L L' = R``.

    Raises
    ------
    ConvexGroup
        A system is not positive definite.
    """
    n_experts, n_groups, size, _ = roots.shape
    first, second = lower_pairs(size)
    sums = np.empty((n_experts, n_experts, n_groups, size, size))
    products = features[first] * features[second]
    for k in range(n_experts):
        for j in range(k + 1):
            own = sums_by_group(products * hessian[k, j], place, n_groups).T
            sums[k, j][:, first, second] = sums[k, j][:, second, first] = own
            sums[j, k] = sums[k, j]
    system = np.empty((n_groups, n_experts, size, n_experts, size))
    for k in range(n_experts):
        for j in range(n_experts):
            system[:, k, :, j] = -np.swapaxes(roots[k], -1, -2) @ sums[k, j] @ roots[j]
    flat = system.reshape(n_groups, n_experts * size, n_experts * size)
    flat += np.eye(n_experts * size)
    try:
        factor = np.linalg.cholesky(flat)
    except np.linalg.LinAlgError as error:
        raise _convex(roots, flat) from error
    root = np.zeros_like(system)
    for k in range(n_experts):
        root[:, k, :, k] = roots[k]
    half = np.linalg.solve(factor, np.swapaxes(root.reshape(flat.shape), -1, -2))
    return np.asarray(np.swapaxes(half, -1, -2) @ half)


def _convex(
    roots: Float[np.ndarray, "experts groups own own"], systems: Float[np.ndarray, "groups all all"]
) -> ConvexGroup:
    """The group whose system is the furthest from positive definite."""
    values, axes = np.linalg.eigh(systems)
    group = int(values[:, 0].argmin())
    way = axes[group, :, 0].reshape(len(roots), -1)
    each = [np.linalg.solve(root[group].T, own) for root, own in zip(roots, way, strict=True)]
    return ConvexGroup(group, np.stack(each))
