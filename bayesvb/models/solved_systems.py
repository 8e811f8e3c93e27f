"""Systems of the statistics of single groups, solved for many groups at a time."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int


class ConvexGroup(np.linalg.LinAlgError):
    """The bound bends upwards in the effects of a group.

    Attributes
    ----------
    group : int
    way : ndarray, shape (all,)
        Change of its statistics along which it does so.
    """

    def __init__(self, group: int, way: Float[np.ndarray, " all"]) -> None:
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


def joined_roots(
    parts: list[Float[np.ndarray, "_ groups _own _own"]],
) -> Float[np.ndarray, "groups all all"]:
    """Block-diagonal roots of every group, from the roots of each expert or logit of all parts."""
    each = [root for part in parts for root in part]
    size, first = sum(root.shape[-1] for root in each), 0
    found = np.zeros((each[0].shape[0], size, size))
    for root in each:
        at = slice(first, first + root.shape[-1])
        found[:, at, at], first = root, at.stop
    return found


def group_inverses(
    roots: Float[np.ndarray, "groups all all"], bend: Float[np.ndarray, "groups all all"]
) -> Float[np.ndarray, "groups all all"]:
    """``(R^-1 - H)^-1 = L (I - L' H L)^-1 L'`` of every group, ``L L' = R``.

    Raises
    ------
    ConvexGroup
        A system is not positive definite.
    """
    turned = np.swapaxes(roots, -1, -2)
    systems = np.eye(roots.shape[-1]) - turned @ bend @ roots
    try:
        factor = np.linalg.cholesky(systems)
    except np.linalg.LinAlgError as error:
        raise _convex(roots, systems) from error
    half = np.linalg.solve(factor, turned)
    return np.asarray(np.swapaxes(half, -1, -2) @ half)


def _convex(
    roots: Float[np.ndarray, "groups all all"], systems: Float[np.ndarray, "groups all all"]
) -> ConvexGroup:
    """The group whose system is the furthest from positive definite."""
    values, axes = np.linalg.eigh(systems)
    group = int(values[:, 0].argmin())
    return ConvexGroup(group, np.linalg.solve(roots[group].T, axes[group, :, 0]))
