"""Draws of a conditional mixture network by name, in the units of the data where they have any."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.normal_mixture import NormalMixture
from bayesvb.parts import Draws
from bayesvb.workbench.density_draws import in_units, shares

if TYPE_CHECKING:
    from bayesvb.workbench.network import ConditionalMixtureNetwork

PARTS = {
    "beta": "mean", "sigma": "sigma", "gamma": "gating", "output": "output",
    "output_sd": "output_sd", "share": "share",
}  # fmt: skip


def named_draws(model: ConditionalMixtureNetwork, fit: Drawn) -> NamedDraws:
    """Coefficients of experts, gate and output layer, noise and shares.

    ``beta`` are coefficients of the latent vector per unit of a term, ``sigma`` standard deviations
    of latent noise: the latent vector has no unit, and any invertible map of it leaves the
    predictions as they are. ``gamma`` are those of the gate: log odds of stopping at a stick.
    ``output`` takes the latent vector to log odds of stopping at a class, or to the response in
    its units, with noise ``output_sd``.
    """
    draws, design = fit.draws, model.design
    parts = model.scales.parts
    values = {
        "beta": parts["mean"].coefficients(draws["coefficients"]),
        "sigma": 1.0 / np.sqrt(draws["precision"]),
        "share": shares(fit.core, model.source, draws),
        **_output(model, draws),
    }
    latents = [f"latent {i + 1}" for i in range(model.latent_dim)]
    over = "level" if design.levels else "response"
    dims = {
        "beta": ["component", "latent", "term_mean"],
        "sigma": ["component", "latent"],
        "share": ["component"],
        "output": [over, "term_output"],
    }
    coords: dict[str, list[object]] = {
        "component": list(range(1, model.n_components + 1)),
        "latent": list(latents),
        "term_mean": list(design.terms["mean"]),
        "term_output": [*latents, "Intercept"],
        over: list(design.levels[:-1] if design.levels else design.response_names),
    }
    if "output_sd" in values:
        dims["output_sd"] = [over]
    own = fit.core.gate_coefficients(draws)
    if own:
        standard = np.stack([own[k] for k in sorted(own)], axis=1)
        values["gamma"] = parts["gating"].coefficients(standard)
        dims["gamma"] = ["component_gating", "term_gating"]
        coords["component_gating"] = [k + 1 for k in sorted(own)]
        coords["term_gating"] = list(design.terms["gating"])
    named = {name: PARTS[name] for name in PARTS if name in values}
    return NamedDraws(values, dims, coords, named, frozenset({"beta", "gamma", "output"}))


def _output(
    model: ConditionalMixtureNetwork, draws: Draws
) -> dict[str, Float[np.ndarray, "draws ..."]]:
    """Coefficients and noise of the output layer."""
    if model.design.levels:
        return {"output": np.asarray(draws["output"])}
    response = model.scales.response
    coefficients = draws["output"] * response.scale[:, None]
    coefficients[..., -1] += response.centre
    return {
        "output": coefficients,
        "output_sd": response.scale / np.sqrt(draws["output_precision"]),
    }


def drawn_mixture(
    model: ConditionalMixtureNetwork, fit: Drawn, block: Block, response: int
) -> NormalMixture:
    """Mixture of one numeric response for every draw and row, latent vectors summed out.

    Axes (experts, draws, rows), in the data's units. The response is linear in the latent vector:
    ``N(b' A_k x + b_0, b' diag(sigma_k^2) b + s^2)`` given the expert.
    """
    draws = fit.draws
    slope = draws["output"][:, response, :-1]
    coefficients = np.einsum("si,skit->skt", slope, draws["coefficients"])
    location = coefficients @ block.designs["mean"] + draws["output"][:, response, -1:, None]
    variance = (slope[:, None] ** 2 / draws["precision"]).sum(axis=2)
    variance += 1.0 / draws["output_precision"][:, response, None]
    weights = np.exp(fit.core.log_weights(draws, block))
    scale = np.sqrt(variance)[:, :, None]
    return in_units(model.scales.response, response, weights, location, scale)
