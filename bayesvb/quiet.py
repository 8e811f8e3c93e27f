"""Silence for warnings that a page or a summary says itself, in words and beside the numbers."""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["quiet"]


@contextmanager
def quiet() -> Iterator[None]:
    """No warnings to the user inside the block; those for developers stay."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        yield
