"""Scores of every held-out row by a fit that has not seen it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.response_columns import INTERVAL
from bayesvb.estimators.fit import Fit
from bayesvb.evaluation.calibration import inside_central, pit_values, randomised_pit
from bayesvb.evaluation.classification import scores_by_row
from bayesvb.evaluation.crps import crps, pinball
from bayesvb.formula.new_rows import Unseen
from bayesvb.numerics.arrays import RowMask, RowVector
from bayesvb.numerics.streams import Streams
from bayesvb.results.back_transformation import before_formula, original, row_jacobian

MANY = "log_density"
"""The one score that whole rows of several variables, and groups of rows, have."""


@dataclass(frozen=True)
class Asked:
    """Scores besides densities.

    Attributes
    ----------
    probs : tuple of float
        Probabilities of central intervals.
    quantiles : tuple of float
    unit : str or None
        Column of groups that are scored as wholes; None where rows are.
    jacobian : bool
        Score predictions of responses as they are in the data, before formulas transform them.
    """

    probs: tuple[float, ...]
    quantiles: tuple[float, ...]
    unit: str | None = None
    jacobian: bool = False


def scores_where_known(fit: Fit, test: pd.DataFrame, asked: Asked) -> tuple[pd.DataFrame, RowMask]:
    """Scores of the rows whose levels the fit knows, and which rows these are.

    Of a factor, a level that training rows lack has no coefficient. A group of ``(1 | g)`` needs
    none: it is predicted as a typical one. Groups that are scored as wholes are known as wholes.
    """
    lenient = fit.model.design.with_unseen(Unseen(levels="missing"))
    known = np.asarray(lenient.new(test).complete, dtype=bool)
    if asked.unit is not None:
        strange = test[asked.unit][~known]
        known = ~test[asked.unit].isin(strange).to_numpy()
    if not known.any():  # which is an error that names the levels
        return row_scores(fit, test, asked), known
    return row_scores(fit, test[known], asked), known


def row_scores(fit: Fit, test: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Scores of rows, or of groups of rows, one column for each score; index as the units have.

    For numbers: ``log_density``, ``crps``, ``pit``, pinball losses and whether central intervals
    contain the response; with several responses each has its own, named after a colon. For classes:
    ``log_density``, ``accuracy`` (one or zero), ``brier``, ``class`` (the observed one) and the
    probability of every class, ``p[class]``. Without a response, and for groups: ``log_density``.
    With ``asked.jacobian`` ``crps`` is missing: for the exponential of a Student t it is infinite.

    Parameters
    ----------
    fit : Fit
    test : pandas.DataFrame
        Complete rows.
    asked : Asked
    """
    if asked.unit is not None:
        return _of_groups(fit, test, asked)
    design = fit.model.design
    if fit.model.response.is_categorical:
        return _of_classes(fit, test)
    scores = pd.DataFrame({MANY: fit.log_density(test)})
    if design.response is None:
        return scores
    rows = fit.model.rows(test, response=True)
    observed = np.asarray(rows.response, dtype=float).reshape(len(test), -1)
    if asked.jacobian:
        scores[MANY] += row_jacobian(fit, rows)
    several = len(design.response_names) > 1
    for i, name in enumerate(design.response_names):
        columns = _of_numbers(fit, test, name, observed[:, i], asked)
        if INTERVAL in rows.matrices:
            columns = _of_seen(columns, rows.matrices[INTERVAL])
        for score, values in columns.items():
            scores[f"{score}: {name}" if several else score] = values
    return scores


def _of_numbers(
    fit: Fit, test: pd.DataFrame, name: str, observed: RowVector, asked: Asked
) -> dict[str, RowVector]:
    """Scores of one response by its predictive distribution."""
    distribution = fit.predictive(test, response=name)
    pit = pit_values(distribution, observed)
    if (probable := fit.model.response.has_mass(observed)).any():
        v = Streams(fit.seed).branch("pit").rng("test").random(len(test))
        mass = np.where(probable, np.exp(distribution.log_density(observed)), 0.0)
        pit = randomised_pit(pit, mass, v)
    coverage = (
        {"pit": pit} if asked.jacobian else {"crps": crps(distribution, observed), "pit": pit}
    )
    if asked.jacobian:
        distribution, observed = before_formula(distribution, name), original(name, observed)
    if asked.quantiles:
        levels = np.array(asked.quantiles)
        losses = pinball(observed, distribution.quantile(levels), levels)
        coverage |= _named("pinball", asked.quantiles, losses)
    if asked.probs:
        inside = inside_central(pit, np.array(asked.probs)).astype(float)
        coverage |= _named("coverage", asked.probs, inside)
    return coverage


def _of_seen(
    scores: dict[str, RowVector], interval: Float[np.ndarray, "rows 2"]
) -> dict[str, RowVector]:
    """Scores of rows that are seen; NaN elsewhere, of which only the log score is known."""
    hidden = interval.any(axis=1)
    return {name: np.where(hidden, np.nan, values) for name, values in scores.items()}


def _named(
    score: str, levels: Sequence[float], values: Float[np.ndarray, "levels rows"]
) -> dict[str, RowVector]:
    return {f"{score} {level:g}": row for level, row in zip(levels, values, strict=True)}


def _of_classes(fit: Fit, test: pd.DataFrame) -> pd.DataFrame:
    """Scores of the probabilities of the classes, and these themselves."""
    rows = fit.model.rows(test, response=True)
    p = fit.predict(test, kind="probability", extrapolation="keep")
    codes = np.asarray(rows.response)
    scores = pd.DataFrame(scores_by_row(p.to_numpy(), codes), index=test.index)
    labels = np.array(fit.model.design.class_labels)
    scores["class"] = labels[codes]
    for label, values in zip(labels, p.to_numpy().T, strict=True):
        scores[f"p[{label}]"] = values
    return scores[[MANY, *(name for name in scores if name != MANY)]]


def _of_groups(fit: Fit, test: pd.DataFrame, asked: Asked) -> pd.DataFrame:
    """Log density of all responses of each group; of models of single rows their sum."""
    densities, labels = fit.log_density(test), test[asked.unit].to_numpy()
    if fit.model.grouping is None:
        densities = densities.groupby(labels, sort=False).sum()
    if asked.jacobian and fit.model.response.is_numeric:
        gain = pd.Series(row_jacobian(fit, fit.model.rows(test, response=True)), labels)
        densities = densities + gain.groupby(level=0, sort=False).sum().reindex(densities.index)
    return pd.DataFrame({MANY: densities})
