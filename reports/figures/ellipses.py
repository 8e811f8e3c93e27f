"""Outlines of normal distributions of two variables."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

DEVIATIONS = (1.0, 2.0)
"""Standard deviations at which outlines are drawn."""

POINTS = 49


def ellipse(
    centre: Float[np.ndarray, " 2"], covariance: Float[np.ndarray, "2 2"], deviations: float
) -> Float[np.ndarray, "2 points"]:
    """Points at this Mahalanobis distance from the centre.

    Examples
    --------
    >>> ellipse(np.zeros(2), np.diag([4.0, 1.0]), 2.0).max(axis=1)
    array([4., 2.])
    """
    angle = np.linspace(0.0, 2.0 * np.pi, POINTS)
    values, vectors = np.linalg.eigh(covariance)
    root = vectors * np.sqrt(np.maximum(values, 0.0))
    circle = np.stack([np.cos(angle), np.sin(angle)])
    return np.asarray(centre[:, None] + deviations * (root @ circle))
