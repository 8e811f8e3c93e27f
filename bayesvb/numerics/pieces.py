"""Sizes of arrays that are made at one time."""

from __future__ import annotations

IN_CACHE = 1 << 15
"""Numbers of arrays of 256 KiB: a chain of elementwise steps over them stays in the cache."""

AT_ONCE = 1 << 16
"""Numbers of arrays of 512 KiB: enough that calls take little of the time of their arithmetic."""

PER_PASS = 1 << 20
"""Numbers of arrays of 8 MiB: many vectors share the cost of a pass over the rows."""

IN_MEMORY = 1 << 22
"""Numbers of arrays of 32 MiB, of which some tens may be in memory."""


def pieces(n: int, size: int, most: int) -> list[slice]:
    """Slices of a few of ``n`` items, of this size each: at most ``most`` numbers at a time.

    Examples
    --------
    >>> pieces(5, 10, 25)
    [slice(0, 2, None), slice(2, 4, None), slice(4, 5, None)]
    """
    step = max(most // max(size, 1), 1)
    return [slice(start, min(start + step, n)) for start in range(0, n, step)]
