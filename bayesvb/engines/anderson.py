"""Anderson extrapolation: the next point of a fixed-point iteration from several earlier ones."""

from __future__ import annotations

from collections import deque

import numpy as np
from jaxtyping import Float

from bayesvb.engines.run_log import Arrays
from bayesvb.engines.stopping import SMALL_ENTRY
from bayesvb.numerics.arrays import EntryVector

MOST_ENTRIES = 50_000
"""Statistics beyond which nothing is kept: twenty vectors would take 8 MB, and more with groups."""


class AndersonMemory:
    r"""Last ``size`` pairs of statistics ``v`` and the sweep's image ``F(v)``.

    With residuals ``r_i = F(v_i) - v_i`` the extrapolation is ``F(v_m) - \sum_i g_i (F(v_{i+1}) -
    F(v_i))``, where ``g`` minimises ``|r_m - \sum_i g_i (r_{i+1} - r_i)|``. Near the optimum, where
    the map is nearly linear, that is GMRES; far from it, proposals are seldom accepted. Norms
    weigh the squared changes of an entry by its inverse size.

    Parameters
    ----------
    size : int
        Pairs that are kept; zero never extrapolates.

    References
    ----------
    Walker, Ni (2011), Anderson acceleration for fixed-point iterations, SIAM Journal on Numerical
    Analysis 49(4), doi:10.1137/10078356X, eq. 2.1. Henderson, Varadhan (2019), Damped Anderson
    acceleration with restarts and monotonicity control for accelerating EM and EM-like algorithms,
    doi:10.1080/10618600.2019.1594835, for proposals that count only where the objective does not
    fall.

    Examples
    --------
    A linear map of two dimensions is solved from three pairs:

    >>> sweep = lambda v: np.array([0.9, 0.5]) * v
    >>> memory, point = AndersonMemory(4), np.array([1.0, 1.0])
    >>> for _ in range(2):
    ...     once, twice = sweep(point), sweep(sweep(point))
    ...     memory.record(point, once, twice)
    ...     point = twice
    >>> bool(np.abs(memory.extrapolation()).max() < 1e-9)
    True
    """

    def __init__(self, size: int) -> None:
        self._points: deque[EntryVector] = deque(maxlen=size)
        self._images: deque[EntryVector] = deque(maxlen=size)

    def record(self, start: EntryVector, once: EntryVector, twice: EntryVector) -> None:
        """Add the two pairs of two sweeps, unless they are too long to be kept."""
        if start.size > MOST_ENTRIES:
            return
        self._points.extend((start, once))
        self._images.extend((once, twice))

    def extrapolation(self) -> EntryVector | None:
        """Proposed statistics; None while there are too few pairs."""
        # Pairs before the first extrapolation: fewer say no more than SQUAREM's two sweeps.
        if len(self._points) < 4:
            return None
        images = np.array(self._images)
        # Entries differ by the number of rows: sums of squares of the largest would decide alone.
        weight = (np.abs(self._points[-1]) + SMALL_ENTRY) ** -0.5
        residuals = weight * (images - np.array(self._points))
        changes = np.diff(residuals, axis=0)
        # Residuals shrink by orders of magnitude: without scaling, the last ones were rounding.
        length = np.linalg.norm(changes, axis=1) + np.finfo(float).tiny
        scaled = (changes / length[:, None]).T
        # Least squares by singular values: changes near convergence are nearly parallel.
        # Relative singular value of the residuals' differences below which a direction is rounding.
        solved = np.linalg.lstsq(scaled, residuals[-1], rcond=1e-8)[0]
        ahead: EntryVector = images[-1] - (solved / length) @ np.diff(images, axis=0)
        return ahead

    def arrays(self) -> dict[str, Float[np.ndarray, "pairs _"]]:
        """Pairs as arrays by name."""
        kept = {"points": self._points, "images": self._images}
        return {f"memory.{name}": np.array(values) for name, values in kept.items() if values}

    def restore(self, arrays: Arrays) -> None:
        """Take the pairs of ``arrays`` over; none where it has none.

        Raises
        ------
        KeyError, ValueError
            If the images of the points are absent, of another shape, or not finite.
        """
        if "memory.points" not in arrays:
            return
        points, images = arrays["memory.points"], arrays["memory.images"]
        if points.ndim != 2 or points.shape != images.shape:
            raise ValueError("'memory' holds no pairs")
        if not (np.isfinite(points).all() and np.isfinite(images).all()):
            raise ValueError("'memory' is not finite")
        self._points.extend(points)
        self._images.extend(images)
