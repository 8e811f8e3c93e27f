"""Standard deviations of group-level effects and of the noise, and their shares of the variance."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN, SIGMA
from bayesvb.distributions.intervals import tails
from bayesvb.errors import DataError
from bayesvb.formula.design import Design
from bayesvb.formula.term_blocks import TermBlock

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

LATENT_LOGISTIC = np.pi**2 / 3.0
"""Variance of the logistic distribution, of the noise of a latent response on the logit scale."""

RESIDUAL = "residual"


def variance_components(fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Table of the components; see ``Fit.variance_components``."""
    import pandas as pd

    blocks = _group_blocks(fit)
    draws = {block.name: _sds(fit, block) for block in blocks}
    design, rows = fit.model.design, fit.model.weights
    size = {block.name: np.average(_multiplier(design, block) ** 2, weights=rows)
            for block in blocks}  # fmt: skip
    variance = {name: size[name] * sd**2 for name, sd in draws.items()}
    noise = _residual_variance(fit)
    if noise is not None:
        draws[RESIDUAL], variance[RESIDUAL] = np.sqrt(noise), noise
    total = np.sum(list(variance.values()), axis=0)
    table = {}
    for name, sd in draws.items():
        share = variance[name] / total if noise is not None else np.full(len(sd), np.nan)
        lower, upper = np.quantile(np.stack([sd, share], axis=1), tails(prob), axis=0)
        table[name] = [sd.mean(), lower[0], upper[0], share.mean(), lower[1], upper[1]]
    columns = ["sd", "sd_lower", "sd_upper", "share", "share_lower", "share_upper"]
    return pd.DataFrame.from_dict(table, orient="index", columns=columns).rename_axis("term")


def _group_blocks(fit: AbstractFit) -> list[TermBlock]:
    """The group-level effects on the mean.

    Raises
    ------
    DataError
        If there are none, or several components or responses.
    """
    model = fit.model
    blocks = [b for b in model.design.term_blocks.get(MEAN, ()) if b.kind == "group"]
    if not blocks:
        raise DataError("the mean has no groups", hint="effects of groups are written (1 | g)")
    if model.size > 1 or len(model.design.response_names) > 1:
        raise DataError(
            f"{fit.model.title} has several components or responses, each with its own variance",
            hint="fit.summary() has the scales of group-level effects; n_components=1 has one "
            "variance",
        )
    return blocks


def _sds(fit: AbstractFit, block: TermBlock) -> Float[np.ndarray, " draws"]:
    """Standard deviation of an effect over groups, in units of the response or of its link."""
    model: Any = fit.model
    named, scales = fit.named, model.scales
    if "group_sd" in named.values:
        at = named.coords["block_groups"].index(block.name)
        return np.asarray(named.values["group_sd"][:, at])
    at = named.coords["block_mean"].index(block.name)
    scale = named.values["scale_mean"][:, at]
    apart = _place_apart(model.design, block)
    own, place = (MEAN, block.columns[0]) if apart is None else (GROUP_ROWS, apart)
    unit = scales.parts[own].scale[place]
    noise = named.values["sigma"][:, 0] if "sigma" in named.values else 1.0
    return np.asarray(scale * noise / unit)


def _multiplier(design: Design, block: TermBlock) -> Float[np.ndarray, " rows"]:
    """What the effect of a row's group is multiplied by: one, or a covariate less its centre."""
    apart = _place_apart(design, block)
    if apart is not None:
        return np.asarray(design.matrices[GROUP_ROWS][:, apart])
    return np.asarray(design.matrices[MEAN][:, list(block.columns)].sum(axis=1))


def _place_apart(design: Design, block: TermBlock) -> int | None:
    """Column of the matrix of groups, after their numbers; None of effects that are columns."""
    behind = block.columns[0] - len(design.terms[MEAN])
    return None if behind < 0 else behind + 1


def _residual_variance(fit: AbstractFit) -> Float[np.ndarray, " draws"] | None:
    """Variance of the noise averaged over rows; None for counts, whose noise follows the mean."""
    values, design = fit.named.values, fit.model.design
    if "sigma" not in values:
        latent = fit.model.response.link == "logit"
        return np.full(len(values["beta"]), LATENT_LOGISTIC) if latent else None
    variance = np.asarray(values["sigma"][:, 0] ** 2)
    if "beta_sigma" in values:
        logs = 2.0 * values["beta_sigma"][:, 0] @ design.matrices[SIGMA].T
        variance = np.average(np.exp(logs), axis=1, weights=fit.model.weights)
    if "nu" in values:
        dof = values["nu"]
        variance = variance * np.where(dof > 2.0, dof / np.maximum(dof - 2.0, 1e-300), np.inf)
    return np.asarray(variance)
