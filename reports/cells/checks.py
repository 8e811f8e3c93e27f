"""Checks: a finding, its verdict, and the threshold that decided."""

from __future__ import annotations

from typing import Literal

from .plain import Summary

Verdict = Literal["ok", "look", "problem"]

Reach = Literal["everything", "parameters", "accuracy"]
"""What a check is about: the whole fit, its parameters, or estimates of its accuracy."""


def check(
    name: str,
    verdict: Verdict,
    value: str,
    *,
    reading: str,
    threshold: str,
    reach: Reach = "everything",
) -> Summary:
    """One check as the verdict box shows it.

    Parameters
    ----------
    name : str
        What is asked.
    verdict : {"ok", "look", "problem"}
    value : str
        What was found.
    reading : str
        What it means, in one sentence.
    threshold : str
        Where "ok" and "look" end.
    reach : {"everything", "parameters", "accuracy"}
        What is in doubt if the check fails.
    """
    return {
        "name": name,
        "verdict": verdict,
        "value": value,
        "reading": reading,
        "threshold": threshold,
        "reach": reach,
    }


def graded(value: float, *, ok: float, look: float) -> Verdict:
    """Verdict of a number of which less is better.

    Examples
    --------
    >>> graded(0.4, ok=0.5, look=0.7), graded(0.9, ok=0.5, look=0.7)
    ('ok', 'problem')
    """
    return "ok" if value <= ok else "look" if value <= look else "problem"
