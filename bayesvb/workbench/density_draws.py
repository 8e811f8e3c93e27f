"""Draws of density regression in the data's units."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import Scales
from bayesvb.blocks import Block, Source
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.normal_mixture import NormalMixture
from bayesvb.parts import Draws
from bayesvb.scaling import Scaling

if TYPE_CHECKING:
    from bayesvb.workbench.density import DensityRegression

SHARE_ENTRIES = 1 << 21
"""Entries of the array of which shares are averaged; rows are thinned to fit."""

SHARE_ROWS = 10_000
"""Rows over which expected weights are averaged: each costs a quadrature."""

PARTS = {"beta": "mean", "gamma": "gating", "sigma": "sigma", "share": "share"}


def named_draws(model: DensityRegression, fit: Drawn) -> NamedDraws:
    """Coefficients, noise and shares of the components in the data's units.

    ``beta`` are the coefficients of the experts, ``gamma`` those of the gate (for a softmax gate as
    log odds against component 1), ``sigma`` the noise standard deviations, ``share`` the weights
    averaged over (evenly thinned) rows.
    """
    draws, scales, design = fit.draws, model.scales, model.design
    values = {
        "beta": expert_coefficients(draws["coefficients"], scales),
        "sigma": scales.response.scale / np.sqrt(draws["precision"]),
        "share": shares(fit.core, model.source, draws),
    }
    dims = {
        "beta": ["component", "response", "term_mean"],
        "sigma": ["component", "response"],
        "share": ["component"],
    }
    coords: dict[str, list[object]] = {
        "component": list(range(1, model.n_components + 1)),
        "term_mean": list(design.terms["mean"]),
    }
    if len(design.response_names) == 1:
        values["beta"], values["sigma"] = values["beta"][:, :, 0], values["sigma"][:, :, 0]
        dims["beta"].remove("response")
        dims["sigma"].remove("response")
    else:
        coords["response"] = list(design.response_names)
    own = fit.core.gate_coefficients(draws)
    if own:
        standard = np.stack([own[k] for k in sorted(own)], axis=1)
        values["gamma"] = scales.parts["gating"].coefficients(standard)
        dims["gamma"] = ["component_gating", "term_gating"]
        coords["component_gating"] = [k + 1 for k in sorted(own)]
        coords["term_gating"] = list(design.terms["gating"])
    parts = {name: PARTS[name] for name in PARTS if name in values}
    return NamedDraws(values, dims, coords, parts, signed=frozenset({"beta", "gamma"}))


def expert_coefficients(
    standard: Float[np.ndarray, "draws experts responses terms"], scales: Scales
) -> Float[np.ndarray, "draws experts responses terms"]:
    """Expert coefficients in the data's units."""
    mean, response = scales.parts["mean"], scales.response
    given = mean.coefficients(standard) * response.scale[:, None]
    if mean.intercept is not None:
        given[..., mean.intercept] += response.centre
    return np.asarray(given)


def shares(core: Any, source: Source, draws: Draws) -> Float[np.ndarray, "draws experts"]:
    """Weights of the components for each draw, averaged over the rows."""
    rows = thinned(source, max(SHARE_ENTRIES // (len(draws["gate"]) * core.n_components), 50))
    return averaged(np.exp(core.log_weights(draws, rows)), rows)


def expected_shares(core: Any, source: Source, posterior: Any) -> Float[np.ndarray, " experts"]:
    """Posterior mean of the weights, averaged over the rows."""
    rows = thinned(source, SHARE_ROWS)
    return averaged(core.mean_weights(posterior, rows), rows)


def thinned(source: Source, wanted: int) -> Block:
    """About this many rows, at even distances."""
    step = max(source.n_rows // wanted, 1)
    return Block.joined([block.take(np.arange(0, block.n_rows, step)) for block in source.blocks])


def averaged(
    weights: Float[np.ndarray, "*draws experts _"], rows: Block
) -> Float[np.ndarray, "*draws experts"]:
    """Mean over the rows, by case weight."""
    if rows.weight is None or weights.shape[-1] == 1:
        return np.asarray(weights.mean(axis=-1))
    return np.asarray(weights @ (rows.weight / rows.weight.sum()))


def drawn_mixture(
    model: DensityRegression, fit: Drawn, block: Block, response: int
) -> NormalMixture:
    """Mixture of one response for every draw and row, in the data's units.

    Axes (experts, draws, rows). Each draw is evaluated by the restart that it is from.
    """
    draws = fit.draws
    location = draws["coefficients"][:, :, response] @ block.designs["mean"]
    scale = 1.0 / np.sqrt(draws["precision"][:, :, response, None])
    weights = np.exp(fit.core.log_weights(draws, block))
    return in_units(model.scales.response, response, weights, location, scale)


def in_units(
    scaling: Scaling,
    response: int,
    weights: Float[np.ndarray, "draws experts _"],
    location: Float[np.ndarray, "draws experts rows"],
    scale: Float[np.ndarray, "draws experts 1"],
) -> NormalMixture:
    """Mixtures of one response on the standardised scale, in the data's units (in place)."""
    unit = float(scaling.scale[response])
    location *= unit
    location += float(scaling.centre[response])
    parts = (np.broadcast_to(part, location.shape) for part in (weights, location, unit * scale))
    return NormalMixture(*(np.moveaxis(part, 1, 0) for part in parts))
