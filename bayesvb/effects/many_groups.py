"""Effects of very many groups, component by component: without draws where these lack effects."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
import scipy
from jaxtyping import Float

from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.parts import GATING, MEAN
from bayesvb.distributions.intervals import tails
from bayesvb.results.exact_draws import is_integrated

if TYPE_CHECKING:
    from bayesvb.formula.group_places import GroupPlaces
    from bayesvb.results.base import AbstractFit

__all__ = ["many_groups"]


def many_groups(fit: AbstractFit, part: str, effect: int, prob: float) -> pd.DataFrame:
    """Mean and equal-tailed interval of an effect of every group, of one that was not there last.

    Parameters
    ----------
    fit : Fit
        Of a design whose effects of groups stay apart from the columns.
    part : {"mean", "gating"}
    effect : int
        Number of the effect.
    prob : float
    """
    if part == MEAN and is_integrated(fit) and not _holds_effects(fit):
        tables = [_of_integrated(fit, effect, prob)]
    elif _holds_effects(fit):
        tables = {MEAN: _of_drawn_lines, GATING: _of_drawn_weights}[part](fit, effect, prob)
    else:
        tables = {MEAN: _of_lines, GATING: _of_weights}[part](fit, effect, prob)
    return pd.concat(tables, ignore_index=True)


def _holds_effects(fit: AbstractFit) -> bool:
    """Whether draws of a fit hold the effects of all groups."""
    return bool(fit.draws["coefficients"].shape[-1] > len(fit.model.design.terms[MEAN]))


def _of_drawn_lines(fit: AbstractFit, effect: int, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the lines by draws, one for each component and response."""
    model: Any = fit.model
    known, n_terms = model.design.groups, len(model.design.terms[MEAN])
    weights = known.groups.at_zero(effect) / model.scales.parts[GROUP_ROWS].scale[1:]
    names, draws = model.design.response_names, fit.draws["coefficients"][..., n_terms:]
    tables = []
    for component, response in np.ndindex(draws.shape[1:3]):
        own = {"response": names[response]} if len(names) > 1 else {}
        labels = {"component": component + 1, **own}
        values = model.scales.response.scale[response] * _combined(
            draws[:, component, response], weights
        )
        tables.append(_drawn_table(known, effect, labels, values, prob))
    return tables


def _of_drawn_weights(fit: AbstractFit, effect: int, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the weights by draws: of components with own coefficients."""
    model: Any = fit.model
    known, n_terms = model.design.gate_groups, len(model.design.terms[GATING])
    weights = known.groups.at_zero(effect) / model.scales.parts[GATE_GROUPS].scale[1:]
    return [
        _drawn_table(
            known, effect, {"component": k + 1}, _combined(own[:, n_terms:], weights), prob
        )
        for k, own in sorted(fit.core.gate_coefficients(fit.draws).items())
    ]


def _combined(
    draws: Float[np.ndarray, "draws _"], weights: Float[np.ndarray, " effects"]
) -> Float[np.ndarray, "draws groups"]:
    """Draws of a combination of the effects of each group."""
    each = draws.reshape(len(draws), len(weights), -1)
    return np.asarray(np.einsum("a,dag->dg", weights, each))


def _drawn_table(
    known: GroupPlaces,
    effect: int,
    labels: dict[str, Any],
    values: Float[np.ndarray, "draws groups"],
    prob: float,
) -> pd.DataFrame:
    """Mean and equal-tailed interval of an effect of every group."""
    lower, upper = np.quantile(values, tails(prob), axis=0)
    table = pd.DataFrame({"term": known.effects[effect], "group": known.labels})
    return table.assign(**labels, estimate=values.mean(axis=0), lower=lower, upper=upper)


def _of_integrated(fit: AbstractFit, effect: int, prob: float) -> pd.DataFrame:
    """Table of the effect on the line of one component, its prior scales integrated out."""
    model: Any = fit.model
    known = model.design.groups
    weights = known.groups.at_zero(effect) / model.scales.parts[GROUP_ROWS].scale[1:]
    law = fit.core.effect_law(weights).affine(0.0, float(model.scales.response.scale[0]))
    lower, upper = law.quantile(np.array(tails(prob)))
    table = pd.DataFrame({"term": known.effects[effect], "group": known.labels, "component": 1})
    return table.assign(estimate=law.mean(), lower=lower, upper=upper)


def _of_lines(fit: AbstractFit, effect: int, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the lines, one for each component and response."""
    model: Any = fit.model
    known, one = model.design.groups, fit.parts[0].fit
    weights = known.groups.at_zero(effect) / model.scales.parts[GROUP_ROWS].scale[1:]
    names, tables = model.design.response_names, []
    laws = [one.q.experts.regression(response) for response in range(len(names))]
    variances = _variances(one, weights, laws)
    for component in range(model.n_components):
        for response, (name, law) in enumerate(zip(names, laws, strict=True)):
            shape, rate = law.shape[component], law.rate[component, 0]
            effects = law.operator.split(law.mean)[1][component, 0]
            unit = model.scales.response.scale[response]
            sd = unit * np.sqrt(rate / shape * variances[component, response])
            own = {"response": name} if len(names) > 1 else {}
            labels = {"component": component + 1, **own}
            ends = scipy.stats.t.ppf(tails(prob)[1], 2.0 * shape) * sd
            tables.append(_table(known, effect, labels, unit * weights @ effects, ends))
    return tables


def _of_weights(fit: AbstractFit, effect: int, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the weights: of each component that has coefficients of its own."""
    model, one = fit.model, fit.parts[0].fit
    design: Any = model.design
    known, law, scales = design.gate_groups, one.q.gate, cast(Any, model).scales
    weights = known.groups.at_zero(effect) / scales.parts[GATE_GROUPS].scale[1:]
    covariance, effects = _logit_covariances(one, weights), law.operator.split(law.mean)[1]
    each, tables = np.eye(len(law.mean))[:, :, None], []
    for component, own in sorted(one.core.gate_coefficients({"gate": each}).items()):
        contrast = own[:, 0]
        mean = contrast @ np.einsum("a,kag->kg", weights, effects)
        sd = np.sqrt(np.einsum("k,gkl,l->g", contrast, covariance, contrast))
        ends = scipy.stats.norm.ppf(tails(prob)[1]) * sd
        tables.append(_table(known, effect, {"component": component + 1}, mean, ends))
    return tables


def _table(
    known: GroupPlaces,
    effect: int,
    labels: dict[str, Any],
    mean: Float[np.ndarray, " groups"],
    ends: Float[np.ndarray, " groups"],
) -> pd.DataFrame:
    """An effect of every group with the ends of its interval."""
    table = pd.DataFrame({"term": known.effects[effect], "group": known.labels})
    return table.assign(**labels, estimate=mean, lower=mean - ends, upper=mean + ends)


def _variances(
    fit: AbstractFit, weights: Float[np.ndarray, " effects"], laws: Sequence[Any]
) -> Float[np.ndarray, "experts responses groups"]:
    """Variances of a combination of the effects of each group, in units of the noise.

    By linear response, if the fit has it for effects of groups; else those of the posterior.
    """
    shared = _shared_response(fit)
    found = None if shared is None else shared.effect_variances(weights)
    if found is not None:
        return np.asarray(found)
    return np.stack([_spread(law.operator, weights) for law in laws], axis=1)


def _spread(operator: Any, weights: Float[np.ndarray, " effects"]) -> Float[np.ndarray, "_ groups"]:
    """Variances of a combination of the effects of each group."""
    return np.asarray(np.einsum("a,kabg,b->kg", weights, operator.effect_covariances, weights))


def _logit_covariances(
    fit: AbstractFit, weights: Float[np.ndarray, " effects"]
) -> Float[np.ndarray, "groups logits logits"]:
    """Covariances over all logits of a combination of the effects of each group.

    By linear response, if the fit has it; else those of the posterior.
    """
    law, shared = fit.q.gate, _shared_response(fit)
    found = None if shared is None else shared.law_of_logits()
    n_logits, n_effects = len(law.mean), law.operator.n_effects
    if found is None:
        return np.asarray(_spread(law.operator, weights).T[:, :, None] * np.eye(n_logits))
    joint = found.operator.effect_covariances[0]
    joint = joint.reshape(n_logits, n_effects, n_logits, n_effects, -1)
    own = np.einsum("a,kalbg,b->gkl", weights, joint, weights, optimize=True)
    return np.asarray(own)


def _shared_response(fit: AbstractFit) -> Any:
    """Linear response of what all rows share, if the fit has it and its rows are here."""
    if fit.covariance != "linear-response" or not holds_all_rows(fit.model.source):
        return None
    return fit.core.response_of_shared(fit.stats, fit.core.update(fit.stats), fit.model.source)
