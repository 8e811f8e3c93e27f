"""The gate of a model: its class, its prior, its drawn coefficients and the mixing proportions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_count
from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.estimators.priors import Priors
from bayesvb.factors.normal import Normal
from bayesvb.gates import GATES
from bayesvb.gates.base import GAMMA, AnyGate, GatePrior
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.models.component_model import ComponentModel
from bayesvb.numerics.arrays import DrawExperts, ExpertVector
from bayesvb.results.named_draws import count
from bayesvb.variational.descriptions import NamedParameter, ParameterText
from bayesvb.variational.local import Draws

if TYPE_CHECKING:
    from bayesvb.formula.design import Design, Rows
    from bayesvb.models.ensemble import Ensemble
    from bayesvb.models.mixture import Mixture
    from bayesvb.models.network.model import Network
    from bayesvb.results.base import AbstractFit, AbstractPublicModel


def gate_class(name: str, n_components: int) -> type[AnyGate]:
    """Gate of this name; a single component has the weight 1, which needs no coefficients."""
    return GATES[name] if n_components > 1 else DirichletGate


def gate_prior(scaling: Scaling, priors: Priors) -> GatePrior:
    """Prior of the gate's coefficients on the standardised scale."""
    sds = np.full(len(scaling.scale), float(priors.gating_sd))
    intercept = np.zeros(len(sds))
    if scaling.intercept is not None:
        sds[scaling.intercept] = priors.gating_intercept_sd
        intercept[scaling.intercept] = 1.0
    coefficients = Normal.from_precision(np.zeros(len(sds)), np.diag(sds**-2.0))
    return GatePrior(coefficients, intercept, priors.concentration, even=priors.equal_prior_weights)


SHARE_ENTRIES = 1 << 21
"""Entries of the array of which shares are averaged; rows are thinned to fit."""


def shares(core: Mixture | Network | Ensemble, source: AbstractSource, draws: Draws) -> DrawExperts:
    """Weights of the components for each draw, averaged over the rows."""
    rows = source.thinned(max(SHARE_ENTRIES // (len(draws["gate"]) * core.n_components), 50))
    return averaged(np.exp(core.log_weights(draws, rows)), rows)


def expected_shares(
    core: ComponentModel, source: AbstractSource, posterior: object
) -> ExpertVector:
    """Posterior mean of the weights, averaged over the rows."""
    # Rows over which expected weights are averaged: each costs a quadrature.
    rows = source.thinned(10_000)
    return averaged(core.mean_weights(posterior, rows), rows)


def averaged(
    weights: Float[np.ndarray, "*draws experts _"], rows: Block
) -> Float[np.ndarray, "*draws experts"]:
    """Mean over the rows, by case weight."""
    if rows.weight is None or weights.shape[-1] == 1:
        return np.asarray(weights.mean(axis=-1))
    return np.asarray(weights @ (rows.weight / rows.weight.sum()))


SHARE = ParameterText(
    symbol="π",
    meaning="weights of the components; the share is their average over the rows",
    heading="Shares",
    caption="Share of each component: its weight averaged over the rows",
)


def share_parameter(
    core: Mixture | Network | Ensemble, source: AbstractSource, draws: Draws
) -> NamedParameter:
    """Shares of the components."""
    values = shares(core, source, draws)
    return NamedParameter("share", values, ("component",), SHARE, part="share")


def gate_parameters(
    core: Mixture | Network | Ensemble, draws: Draws, scaling: Scaling, design: Design
) -> list[NamedParameter]:
    """Coefficients of the gate in the units of the terms; none of a gate without."""
    coefficients = core.gate_coefficients(draws)
    if not coefficients:
        return []
    n_terms = len(design.terms[GATING])  # draws may hold effects of groups besides
    standard = np.stack([coefficients[k][:, :n_terms] for k in sorted(coefficients)], axis=1)
    gamma = NamedParameter(
        name="gamma",
        values=design.at_zero(GATING, scaling.coefficients(standard)),
        dims=("component_gating", "term_gating"),
        text=replace(
            GAMMA,
            meaning=f"{GAMMA.meaning}: {core.coefficient_meaning()}",
            caption=f"{GAMMA.caption}: {core.coefficient_meaning()}",
        ),
        part=GATING,
        signed=True,
        coords={
            "component_gating": [k + 1 for k in sorted(coefficients)],
            "term_gating": design.terms[GATING],
        },
    )
    return [gamma]


def weights_at(
    model: AbstractPublicModel, fit: AbstractFit, rows: Rows, draws: int | None
) -> Float[np.ndarray, "draws rows experts"]:
    """Draws of the component weights at each complete row."""
    if draws is not None:
        check_count("draws", draws, most=count(fit.draws), what="draws of the fit")
    block = model.block(rows)
    first = {name: values[:draws] for name, values in fit.draws.items()}
    weights = np.exp(fit.mixture.log_weights(first, block))
    whole = np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))
    return np.moveaxis(whole, 1, 2)
