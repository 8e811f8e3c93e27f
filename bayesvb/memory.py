"""Keep memory between passes instead of handing it back to the operating system."""

from __future__ import annotations

from functools import lru_cache

import numpy as np

LARGEST_KEPT = 31 * 2**20
"""glibc adapts its limits to the largest array freed so far, up to 32 MiB."""


@lru_cache(maxsize=1)
def keep_freed_memory() -> None:
    """Let later arrays of up to 31 MiB be taken from memory that was freed before.

    A pass allocates and frees the same arrays again and again. Below its limits glibc takes them
    from the heap; above, every pass asks the operating system for zeroed pages, which took as long
    as the arithmetic (1500 page faults per pass of 1600 rows and 10 experts). Freeing one array of
    this size raises the limits for the process. Other allocators are not affected.
    """
    np.empty(LARGEST_KEPT, dtype=np.uint8)
