"""Effects of very many groups, component by component: without draws where these lack effects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import ndtri, stdtrit

from bayesvb.data.group_rows import GROUP_DESIGNS
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.parts import GATING, MEAN
from bayesvb.distributions.intervals import tails
from bayesvb.results.capabilities import scales_of
from bayesvb.results.exact_draws import integrated_core, is_integrated

if TYPE_CHECKING:
    from bayesvb.formula.group_places import GroupPlaces
    from bayesvb.results.base import AbstractFit


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
    known = fit.model.design.groups_of(part)
    assert known is not None
    scale = scales_of(fit).parts[GROUP_DESIGNS[part]].scale[1:]
    group_effect = _Effect(known, effect, known.groups.at_zero(effect) / scale)
    if part == MEAN and is_integrated(fit) and not _holds_effects(fit):
        tables = [_of_integrated(fit, group_effect, prob)]
    elif _holds_effects(fit):
        tables = {MEAN: _of_drawn_lines, GATING: _of_drawn_weights}[part](fit, group_effect, prob)
    else:
        tables = {MEAN: _of_lines, GATING: _of_weights}[part](fit, group_effect, prob)
    return pd.concat(tables, ignore_index=True)


@dataclass(frozen=True)
class _Effect:
    """An effect of groups, and its weights on their standardised effects."""

    known: GroupPlaces
    number: int
    weights: Float[np.ndarray, " effects"]

    def table(
        self, labels: dict[str, Any], **columns: Float[np.ndarray, " groups"]
    ) -> pd.DataFrame:
        """Numbers of each group, with the labels of their component and response."""
        term = self.known.effects[self.number]
        table = pd.DataFrame({"term": term, "group": self.known.labels})
        return table.assign(**labels, **columns)

    def symmetric(
        self,
        labels: dict[str, object],
        mean: Float[np.ndarray, " groups"],
        ends: Float[np.ndarray, " groups"],
    ) -> pd.DataFrame:
        """Means, with intervals of these half-widths."""
        return self.table(labels, estimate=mean, lower=mean - ends, upper=mean + ends)

    def drawn(
        self,
        labels: dict[str, object],
        draws: Float[np.ndarray, "draws _"],
        unit: float,
        prob: float,
    ) -> pd.DataFrame:
        """Means and equal-tailed intervals by draws of all effects, in this unit."""
        each = draws.reshape(len(draws), len(self.weights), -1)
        values = unit * np.einsum("a,dag->dg", self.weights, each)
        lower, upper = np.quantile(values, tails(prob), axis=0)
        return self.table(labels, estimate=values.mean(axis=0), lower=lower, upper=upper)


def _holds_effects(fit: AbstractFit) -> bool:
    """Whether draws of a fit hold the effects of all groups."""
    return bool(fit.draws["coefficients"].shape[-1] > len(fit.model.design.terms[MEAN]))


def _of_drawn_lines(fit: AbstractFit, effect: _Effect, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the lines by draws, one for each component and response."""
    design, units = fit.model.design, scales_of(fit).response.scale
    n_terms, names = len(design.terms[MEAN]), design.response_names
    draws = fit.draws["coefficients"][..., n_terms:]
    tables = []
    for component, response in np.ndindex(draws.shape[1:3]):
        own = {"response": names[response]} if len(names) > 1 else {}
        labels = {"component": component + 1, **own}
        unit = float(units[response])
        tables.append(effect.drawn(labels, draws[:, component, response], unit, prob))
    return tables


def _of_drawn_weights(fit: AbstractFit, effect: _Effect, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the weights by draws: of components with own coefficients."""
    n_terms = len(fit.model.design.terms[GATING])
    return [
        effect.drawn({"component": k + 1}, coefficients[:, n_terms:], 1.0, prob)
        for k, coefficients in sorted(fit.mixture.gate_coefficients(fit.draws).items())
    ]


def _of_integrated(fit: AbstractFit, effect: _Effect, prob: float) -> pd.DataFrame:
    """Table of the effect on the line of one component, its prior scales integrated out."""
    unit = float(scales_of(fit).response.scale[0])
    law = integrated_core(fit).effect_law(effect.weights).affine(0.0, unit)
    lower, upper = law.quantile(np.array(tails(prob)))
    return effect.table({"component": 1}, estimate=law.mean(), lower=lower, upper=upper)


def _of_lines(fit: AbstractFit, effect: _Effect, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the lines, one for each component and response."""
    one, weights, units = fit.parts[0].fit, effect.weights, scales_of(fit).response.scale
    names, tables = fit.model.design.response_names, []
    laws = [one.q.experts.regression(response) for response in range(len(names))]
    variances = _variances(one, weights, laws)
    for component in range(fit.core.n_components):
        for response, (name, law) in enumerate(zip(names, laws, strict=True)):
            shape, rate = law.shape[component], law.rate[component, 0]
            effects = law.operator.split(law.mean)[1][component, 0]
            unit = units[response]
            sd = unit * np.sqrt(rate / shape * variances[component, response])
            own = {"response": name} if len(names) > 1 else {}
            labels = {"component": component + 1, **own}
            ends = stdtrit(2.0 * shape, tails(prob)[1]) * sd
            tables.append(effect.symmetric(labels, unit * weights @ effects, ends))
    return tables


def _of_weights(fit: AbstractFit, effect: _Effect, prob: float) -> list[pd.DataFrame]:
    """Tables of the effect on the weights: of each component that has coefficients of its own."""
    one, weights = fit.parts[0].fit, effect.weights
    law = one.q.gate
    covariance, effects = _logit_covariances(one, weights), law.operator.split(law.mean)[1]
    each, tables = np.eye(len(law.mean))[:, :, None], []
    for component, coefficients in sorted(one.mixture.gate_coefficients({"gate": each}).items()):
        contrast = coefficients[:, 0]
        mean = contrast @ np.einsum("a,kag->kg", weights, effects)
        sd = np.sqrt(np.einsum("k,gkl,l->g", contrast, covariance, contrast))
        ends = ndtri(tails(prob)[1]) * sd
        tables.append(effect.symmetric({"component": component + 1}, mean, ends))
    return tables


def _variances(
    fit: AbstractFit, weights: Float[np.ndarray, " effects"], laws: Sequence[Any]
) -> Float[np.ndarray, "experts responses groups"]:
    """Variances of a combination of the effects of each group, in units of the noise.

    By linear response, if the fit has it for group effects; else from the posterior.
    """
    shared = _shared_response(fit)
    variances = None if shared is None else shared.effect_variances(weights)
    if variances is not None:
        return np.asarray(variances)
    return np.stack([_spread(law.operator, weights) for law in laws], axis=1)


def _spread(operator: Any, weights: Float[np.ndarray, " effects"]) -> Float[np.ndarray, "_ groups"]:
    """Variances of a combination of the effects of each group."""
    return np.asarray(np.einsum("a,kabg,b->kg", weights, operator.effect_covariances, weights))


def _logit_covariances(
    fit: AbstractFit, weights: Float[np.ndarray, " effects"]
) -> Float[np.ndarray, "groups logits logits"]:
    """Covariances over all logits of a combination of the effects of each group.

    By linear response, if the fit has it; else from the posterior.
    """
    law, shared = fit.q.gate, _shared_response(fit)
    distribution = None if shared is None else shared.law_of_logits()
    n_logits, n_effects = len(law.mean), law.operator.n_effects
    if distribution is None:
        return np.asarray(_spread(law.operator, weights).T[:, :, None] * np.eye(n_logits))
    joint = distribution.operator.effect_covariances[0]
    joint = joint.reshape(n_logits, n_effects, n_logits, n_effects, -1)
    covariances = np.einsum("a,kalbg,b->gkl", weights, joint, weights, optimize=True)
    return np.asarray(covariances)


def _shared_response(fit: AbstractFit) -> Any:
    """Linear response of shared statistics, if the fit has it and its rows are in memory."""
    if fit.covariance != "linear-response" or not holds_all_rows(fit.model.source):
        return None
    return fit.core.response_of_shared(fit.stats, fit.core.update(fit.stats), fit.model.source)
