"""Keep memory between passes instead of handing it back to the operating system."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

import numpy as np
from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _threadpools() -> ThreadpoolController:
    """Handle on the BLAS libraries in this process (looking them up takes milliseconds)."""
    return ThreadpoolController().select(user_api="blas")


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Keep BLAS to one thread: our own threads go over blocks, and sums keep their bits.

    A number that is one already is not set again. In a forked process OpenBLAS makes its threads
    when their number is set, and each of them waits for work for 0.1 s of CPU time: processes are
    forked where BLAS has one thread.
    """
    pools = _threadpools()
    if all(pool.num_threads == 1 for pool in pools.lib_controllers):
        yield
        return
    with pools.limit(limits=1):
        yield


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


def processors() -> int:
    """Number of processors that this process may use."""
    allowed = getattr(os, "sched_getaffinity", None)  # not on macOS and Windows
    return len(allowed(0)) if allowed else os.cpu_count() or 1
