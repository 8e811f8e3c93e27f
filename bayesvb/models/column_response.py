"""Linear response of coefficients of groups' columns, the groups eliminated one by one."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.models.grouped_response import GroupedResponse
from bayesvb.models.groups_apart import GroupsApart
from bayesvb.variational.shared_response import BendsUpwards

Matrix = Float[np.ndarray, "_ _"]


def column_response(apart: GroupsApart, coordinates: Any) -> Matrix:
    r"""Covariance of the standard coordinates of a mixture with columns for groups.

    Tilts touch ``tau b`` and ``tau`` of the experts, logits, and precisions. With ``L`` what
    these follow of the statistics that all rows share, ``S`` the linear-response covariance of
    the latter and ``Q_g`` that of a group by itself, their covariance is ``L S L'`` plus ``Q_g``
    for two effects of one group.

    Raises
    ------
    BendsUpwards
        The fit is at no maximum, with the direction in the statistics of columns.
    """
    try:
        model, stats = apart.model, apart.stats
        shared = model.response_of_shared(stats, model.update(stats), apart.source)
        lean, alone = _followed(apart, shared)
        covariance = lean @ shared.response() @ lean.T
    except BendsUpwards as error:
        raise BendsUpwards(apart.with_columns(error.direction)) from error
    groups = np.arange(alone.shape[0])
    at = _places_of_effects(apart)
    for i, j in np.ndindex(alone.shape[1:]):
        covariance[at[i][groups], at[j][groups]] += alone[:, i, j]
    tilts = coordinates.touched(linear_gate=shared.logits is not None)
    found = tilts @ covariance @ tilts.T
    return np.asarray(0.5 * (found + found.T))


def _places_of_effects(apart: GroupsApart) -> list[Any]:
    """Where effects stand among what tilts touch: of each expert, response and effect by group.

    Then of each logit.
    """
    columns = apart.columns
    n_experts, n_responses = apart.stats.experts.yy.shape
    each = columns.experts.n_terms * np.arange(n_experts * n_responses)
    found = [start + own for start in each for own in columns.experts.own]
    if columns.gate is not None:
        first = n_experts * n_responses * (columns.experts.n_terms + 1)
        n_logits, n_terms = len(apart.stats.gate.linear), columns.gate.n_terms
        each = first + n_terms * np.arange(n_logits)
        found += [start + own for start in each for own in columns.gate.own]
    return found


def _followed(apart: GroupsApart, shared: GroupedResponse) -> tuple[Matrix, Any]:
    """What is touched in terms of what rows share, and covariances of effects beyond it."""
    n_experts, n_responses = apart.stats.experts.yy.shape
    columns, size = apart.columns.experts, len(shared.covariance)
    n_terms, n_pairs = len(columns.border), len(columns.border) * (len(columns.border) + 1) // 2
    linear = np.zeros((n_experts, n_responses, columns.n_terms, size))
    noise = np.zeros((n_experts, n_responses, size))
    for k, at in enumerate(shared.entries):
        for i in range(n_responses):
            places = at[1 + n_pairs + i * n_terms + np.arange(n_terms)]
            linear[k, i, columns.border, places] = 1.0
            noise[k, i, at[1 + n_pairs + n_responses * n_terms + i]] = 1.0
    n_effects = len(columns.own)
    leans, alone = shared.effects_by_group()
    for (k, i, a), lean in zip(np.ndindex(n_experts, n_responses, n_effects), leans, strict=False):
        linear[k, i, columns.own[a]] = lean
    gate = _logits(apart, shared, leans[n_experts * n_responses * n_effects :])
    scales = np.eye(size)[size - len(shared.scales.rate) :]
    flat = (linear.reshape(-1, size), noise.reshape(-1, size), gate, scales)
    return np.concatenate(flat), alone


def _logits(
    apart: GroupsApart, shared: GroupedResponse, leans: Float[np.ndarray, "effects groups entries"]
) -> Matrix:
    """Coefficients of the weights in terms of what rows share; all statistics without groups."""
    size, columns = len(shared.covariance), apart.columns.gate
    if columns is None or shared.logits is None:
        return np.eye(size)[shared.entries.size : size - len(shared.scales.rate)]
    n_logits, n_terms, n_effects = shared.logits.shape
    found = np.zeros((n_logits, columns.n_terms, size))
    for logit, at in enumerate(shared.logits.entries):
        found[logit, columns.border, at[-n_terms:]] = 1.0
    for (logit, effect), lean in zip(np.ndindex(n_logits, n_effects), leans, strict=True):
        found[logit, columns.own[effect]] = lean
    return found.reshape(-1, size)
