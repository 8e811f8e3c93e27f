# bayesvb/data/parts/shift.py
"""Shift part: terms of the components' lines whose coefficients have a prior of their own."""

from __future__ import annotations

from bayesvb.data.parts.base import Part

__all__ = ["SHIFT", "SHIFT_PART"]

SHIFT = "shift"

SHIFT_PART = Part(name=SHIFT, synonyms=("move",), coefficients="delta")
