"""Local posteriors of a block, and draws by name, of gates, experts, and models."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import DrawValues, ExpertRows, ExpertTerms

LocalT = TypeVar("LocalT", bound="AbstractLocalPosterior")

Draws = Mapping[str, DrawValues]
"""Draws of global parameters by name; the first axis counts the draws."""


class AbstractLocalPosterior(abc.ABC):
    """State of a gate or an expert for the rows of one block and one posterior.

    ``expected_log_density`` of shape (experts, rows), or (experts, 1) if rows do not differ, is the
    contribution of the part to the log responsibilities, and to the ELBO.
    """

    expected_log_density: ExpertTerms

    @abc.abstractmethod
    def sufficient_stats(self, responsibilities: ExpertRows) -> SufficientStats:
        """Sums over the rows, given (weighted) responsibilities."""

    def joined(self: LocalT, others: Sequence[LocalT]) -> LocalT:
        """Return these rows and the rows of others as one, of a part whose fields all have rows."""
        each = [vars(one) for one in (self, *others)]
        whole = {name: _joined([fields[name] for fields in each]) for name in each[0]}
        return type(self)(**whole)

    def row_stats(self, responsibilities: ExpertRows) -> SufficientStats | None:
        """Contribution of each row to the sums, rows on the first axis; None if unavailable."""
        return None


def _joined(parts: Sequence[Any]) -> object:
    """Return arrays side by side, rows on the last axis, or designs; None if there are none."""
    if parts[0] is None:
        return None
    if isinstance(parts[0], np.ndarray):
        return np.concatenate(parts, axis=-1)
    return parts[0].joined(parts[1:])
