"""Is the fit worth its size? Held-out rows, compared with a baseline and with other models."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.case_weights import sum_and_error
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.evaluation.mean_tests import mean_below
from bayesvb.evaluation.normal_scores import normal_scores
from bayesvb.evaluation.score_regression import span
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.baselines import linear_baseline
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.causes import Candidate
from bayesvb.results.checks.edits import Remedy
from bayesvb.results.checks.more_components import MORE, Gain
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import Remedies
from bayesvb.results.class_evaluation import JudgedClasses
from bayesvb.results.limits import LIMITS
from bayesvb.results.subsampling import left_out_at, left_out_by_draws, unit_sample

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

PENALISED = "ridge-penalised multinomial regression"
"""Exists whatever the data, also if the terms separate the classes."""


def against_least_squares(fit: AbstractFit) -> list[Misfit]:
    """Whether least squares on the same terms predicts held-out rows better."""
    baseline = linear_baseline(fit)
    if baseline is None:
        return []
    every = fit.model.source.n_rows <= LIMITS.all_rows
    most = LIMITS.all_rows if every else LIMITS.subsample
    chosen = unit_sample(fit, LIMITS.quick_subsample if left_out_by_draws(fit) else most)
    at = chosen.at
    loo = left_out_at(fit, at)
    gain = loo.pointwise - baseline[at]
    known = np.isfinite(gain)
    if known.sum() < 2:
        return []
    weights = None if loo.weights is None else loo.weights[known]
    scale = chosen.n_all / len(at)
    return [_compared(fit, gain[known], weights, scale, "least squares", "accuracy")]


def against_multinomial(classes: JudgedClasses) -> list[Misfit]:
    """Whether multinomial regression with a ridge penalty predicts held-out rows better."""
    if classes.baseline is None:
        return []
    fit, gain = classes.fit, gain_over_multinomial(classes)
    return [_compared(fit, gain, fit.model.weights, 1.0, PENALISED, "classification")]


def gain_over_multinomial(classes: JudgedClasses) -> RowVector:
    """Gain in log predictive density (nats) of each held-out row, for the same folds."""
    if classes.baseline is None:
        raise ValueError("the fit has not held out folds")
    held_out, (linear, _) = classes.held_out, classes.baseline
    rows = np.arange(len(held_out.codes))
    # a class that was called impossible counts as the least probable one in double precision
    least = np.finfo(float).tiny
    codes = held_out.codes
    ours, theirs = held_out.probabilities[rows, codes], linear[rows, codes]
    return np.asarray(np.log(np.maximum(ours, least)) - np.log(np.maximum(theirs, least)))


def _compared(
    fit: AbstractFit,
    gain: RowVector,
    weights: RowVector | None,
    scale: float,
    other: str,
    section: str,
) -> Misfit:
    """The simpler model as a test: that it is better than the fit, by more than matters.

    A model that contains the simpler one loses a few nats to it where that is the true one, and
    and as its differences are estimated precisely, even that may be significant.
    """
    total, error = sum_and_error(gain, weights)
    n_rows = scale * (len(gain) if weights is None else float(weights.sum()))
    total, error = scale * total, scale * error
    p = mean_below(gain, -LIMITS.equal_elpd / n_rows, weights)
    larger = fit.core.n_components > 1
    better = total < -LIMITS.equal_elpd
    alike = f"{other.capitalize()} predicts held-out rows about as well: a smaller model may do."
    ahead = f"{other.capitalize()} predicts held-out rows better: use it, or fewer components."
    unsure = f"The data do not show whether {other} predicts held-out rows better than the fit."
    noted = "" if not larger or total >= LIMITS.equal_elpd else unsure if better else alike
    limit = f"more than {LIMITS.equal_elpd:g} nats behind"
    measure = f"nats gained, se {error:.2g}"
    remedy = ahead if better else alike
    return Misfit(
        f"Compared with {other}",
        total,
        measure,
        remedy,
        section,
        p,
        better,
        limit,
        "accuracy",
        noted,
    )


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
    remedy = Remedy.of("Residuals of the logarithm are closer to normal: fit ", log, ".")
    return [Candidate(failed[0], lambda _: scores, remedy)]


def split_candidates(seen: Observed, gain: Gain | None, number: int, grade: str) -> list[Candidate]:
    """Leave-one-out predictions with one component more, where it predicts better."""
    if gain is None or grade != "problem":
        return []
    pit = gain.pit[number, seen.at]
    scores = np.where(np.isfinite(pit), normal_scores(pit), seen.scores)
    return [Candidate(MORE, lambda _: scores, is_test=False)]
