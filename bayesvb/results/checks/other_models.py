"""Scores under other models that may explain several misfits: log response, one more component."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.evaluation.normal_scores import normal_scores
from bayesvb.evaluation.score_regression import span
from bayesvb.results.checks.causes import Candidate
from bayesvb.results.checks.more_components import MORE, Gain
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

OF_LEVEL = ("Skewness", "Spread by prediction", "Mean by prediction")
"""Checks that a response on a log scale fails; the first that does names the cause."""


def log_candidates(fit: AbstractFit, seen: Observed, problems: Sequence[str]) -> list[Candidate]:
    """Least squares of the logarithm on the mean part, where the response has a logarithm."""
    log, matrices = Remedies(fit, seen.name).log(), fit.model.design.matrices
    failed = [name for start in OF_LEVEL for name in problems if name.startswith(start)]
    if not log or not failed or GROUP_ROWS in matrices:
        return []
    basis = span(np.column_stack([np.ones(len(seen.at)), matrices[MEAN][seen.at]]))
    values = np.log(seen.values)
    rest = values - basis @ (basis.T @ values)
    free = len(rest) - basis.shape[1]
    room = 1.0 - (basis**2).sum(axis=1)
    if free < 1 or not room.min() > 0.0 or not rest.any():
        return []
    scores = rest / np.sqrt(room * (rest @ rest) / free)
    remedy = f"The response is multiplicative: fit {log}."
    return [Candidate(failed[0], lambda _: scores, remedy)]


def split_candidates(seen: Observed, gain: Gain | None, number: int, grade: str) -> list[Candidate]:
    """Leave-one-out predictions with one component more, where it predicts better."""
    if gain is None or grade != "problem":
        return []
    pit = gain.pit[number, seen.at]
    scores = np.where(np.isfinite(pit), normal_scores(pit), seen.scores)
    return [Candidate(MORE, lambda _: scores, is_test=False)]
