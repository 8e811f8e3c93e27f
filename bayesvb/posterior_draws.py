"""Draws of a fit in the data's units, and likelihoods of rows under them, a few rows at a time."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import Scales
from bayesvb.blocks import Block, Source
from bayesvb.errors import DataError
from bayesvb.models.base import Draws
from bayesvb.models.mixture import Mixture, MixturePosterior
from bayesvb.options import check_choice

if TYPE_CHECKING:
    from bayesvb.fit import Fit

COVARIANCES = ("linear-response", "mean-field")
"""What the draws of a fit may be made with."""

CHUNK_ENTRIES = 1 << 22
"""Entries of an array (draws, experts, rows) that is in memory at one time: 32 MiB."""

SHARE_ENTRIES = 1 << 21
"""Entries of the array of which shares are averaged; rows are thinned to fit."""


@dataclass(frozen=True)
class NamedDraws:
    """Draws by name, with the names and labels of their axes.

    Attributes
    ----------
    values : dict of str to ndarray, shape (draws, ...)
    dims : dict of str to list of str
        Names of the axes after the draws.
    coords : dict of str to list
        Labels along the named axes.
    """

    values: dict[str, Float[np.ndarray, "draws ..."]]
    dims: dict[str, list[str]]
    coords: dict[str, list[object]]


@dataclass(frozen=True)
class Approximation:
    """Draws from an approximate posterior on the standardised scale, and their log density.

    Attributes
    ----------
    draws : Mapping of str to ndarray, shape (draws, ...)
    log_density : ndarray, shape (draws,)
    covariance : str
        One of ``COVARIANCES``.
    """

    draws: Draws
    log_density: Float[np.ndarray, " draws"]
    covariance: str


def approximation(fit: Fit, covariance: str | None = None) -> Approximation:
    """Draws with this covariance; with the fit's own if None.

    Raises
    ------
    DataError
        If linear response is asked for and is not to be had.
    """
    wanted = fit.response.label if covariance is None else covariance
    check_choice("covariance", wanted, COVARIANCES)
    if wanted == "mean-field":
        density = fit.mixture.log_posterior(fit.q, fit.q_draws)
        return Approximation(fit.q_draws, density, wanted)
    if fit.response.failure is not None:
        raise DataError(
            f"covariance={covariance!r} is not to be had: {fit.response.failure}",
            hint="covariance='mean-field' is, with intervals that are too narrow",
        )
    return Approximation(*fit.response.move(fit.mixture, fit.q, fit.q_draws), wanted)


def standard_draws(fit: Fit, covariance: str | None = None) -> Draws:
    """Draws on the standardised scale; see ``approximation``."""
    return approximation(fit, covariance).draws


def named_draws(fit: Fit, draws: Draws | None = None) -> NamedDraws:
    """Coefficients, noise and shares of the components in the data's units.

    ``beta`` are the coefficients of the experts, ``gamma`` those of the gate (for a softmax gate as
    log odds against component 1), ``sigma`` the noise standard deviations, ``share`` the weights
    averaged over (evenly thinned) rows. ``draws`` are those of the fit unless given.
    """
    scales, design = fit.model.scales, fit.model.design
    draws = standard_draws(fit) if draws is None else draws
    values = {
        "beta": expert_coefficients(draws["coefficients"], scales),
        "sigma": scales.response.scale / np.sqrt(draws["precision"]),
        "share": shares(fit.mixture, fit.model.source, draws),
    }
    dims = {
        "beta": ["component", "response", "term_mean"],
        "sigma": ["component", "response"],
        "share": ["component"],
    }
    coords: dict[str, list[object]] = {
        "component": list(range(1, fit.model.n_components + 1)),
        "term_mean": list(design.terms["mean"]),
    }
    if len(design.response_names) == 1:
        values["beta"], values["sigma"] = values["beta"][:, :, 0], values["sigma"][:, :, 0]
        dims["beta"].remove("response")
        dims["sigma"].remove("response")
    else:
        coords["response"] = list(design.response_names)
    own = fit.mixture.gate.coefficients(draws["gate"])
    if own:
        standard = np.stack([own[k] for k in sorted(own)], axis=1)
        values["gamma"] = scales.parts["gating"].coefficients(standard)
        dims["gamma"] = ["component_gating", "term_gating"]
        coords["component_gating"] = [k + 1 for k in sorted(own)]
        coords["term_gating"] = list(design.terms["gating"])
    return NamedDraws(values, dims, coords)


def expert_coefficients(
    standard: Float[np.ndarray, "draws experts responses terms"], scales: Scales
) -> Float[np.ndarray, "draws experts responses terms"]:
    """Expert coefficients in the data's units."""
    mean, response = scales.parts["mean"], scales.response
    given = mean.coefficients(standard) * response.scale[:, None]
    if mean.intercept is not None:
        given[..., mean.intercept] += response.centre
    return np.asarray(given)


def shares(mixture: Mixture, source: Source, draws: Draws) -> Float[np.ndarray, "draws experts"]:
    """Weights of the components for each draw, averaged over the rows."""
    rows = thinned(source, max(SHARE_ENTRIES // (len(draws["gate"]) * mixture.n_components), 50))
    return averaged(np.exp(mixture.gate.log_weights(draws["gate"], rows)), rows)


def expected_shares(
    mixture: Mixture, source: Source, posterior: MixturePosterior
) -> Float[np.ndarray, " experts"]:
    """Posterior mean of the weights, averaged over the rows."""
    rows = thinned(source, max(SHARE_ENTRIES // mixture.n_components, 50))
    return averaged(mixture.gate.mean_weights(posterior.gate, rows), rows)


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


def chunks(mixture: Mixture, source: Source, n_draws: int) -> Iterator[Block]:
    """Rows in order, in blocks small enough for arrays with draws and experts."""
    n_rows = max(CHUNK_ENTRIES // (n_draws * mixture.n_components), 1)
    for block in source.blocks:
        yield from block.split(n_rows)


def log_lik_blocks(
    mixture: Mixture, source: Source, draws: Draws, scales: Scales
) -> Iterator[Float[np.ndarray, "draws rows"]]:
    """Log likelihood of the rows in the data's units, block by block."""
    change = np.log(scales.response.scale).sum()
    for block in chunks(mixture, source, len(draws["gate"])):
        yield mixture.log_lik(draws, block) - change


def log_joint(
    mixture: Mixture, source: Source, draws: Draws, scales: Scales
) -> Float[np.ndarray, " draws"]:
    """Log likelihood of all rows plus log prior, latent components summed out."""
    total = mixture.log_prior(draws)
    blocks = chunks(mixture, source, len(draws["gate"]))
    for block, values in zip(blocks, log_lik_blocks(mixture, source, draws, scales), strict=True):
        total = total + (values.sum(axis=1) if block.weight is None else values @ block.weight)
    return np.asarray(total)


def response_draws(
    mixture: Mixture, source: Source, draws: Draws, scales: Scales, rng: np.random.Generator
) -> Iterator[Float[np.ndarray, "draws responses rows"]]:
    """One replicated response per draw and row, in the data's units, block by block."""
    centre, scale = scales.response.centre[:, None], scales.response.scale[:, None]
    for block in chunks(mixture, source, len(draws["gate"])):
        yield mixture.responses(draws, block, rng) * scale + centre
