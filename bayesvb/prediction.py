"""Predictive distributions of a fit at new rows."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp, poch

from bayesvb.blocks import BLOCK_ROWS
from bayesvb.errors import DataError
from bayesvb.posterior_draws import standard_draws
from bayesvb.student_mixture import StudentMixture

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit


def predictive(fit: Fit, rows: Rows, response: str | None) -> StudentMixture:
    """Predictive distribution of one response at the complete rows, in the data's units."""
    names = fit.model.design.response_names
    if response is None and len(names) > 1:
        raise DataError("response=None, and there are several", hint=f"name one of {names}")
    number = 0 if response is None else _number(response, names)
    scaling, q = fit.model.scales.response, fit.q
    pieces = [
        fit.mixture.predictive(q, block, number)
        for block in fit.model.block(rows).split(BLOCK_ROWS)
    ]
    whole = StudentMixture(
        weights=np.concatenate([piece.weights for piece in pieces], axis=1),
        location=np.concatenate([piece.location for piece in pieces], axis=1),
        scale=np.concatenate([piece.scale for piece in pieces], axis=1),
        dof=pieces[0].dof,
    )
    return whole.affine(float(scaling.centre[number]), float(scaling.scale[number]))


def _number(response: str, names: tuple[str, ...]) -> int:
    if response not in names:
        raise DataError(f"response={response!r} is not one of {', '.join(names)}")
    return names.index(response)


def log_density(fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive density of the observed responses, jointly where there are several."""
    import pandas as pd

    values = np.full(len(rows.index), np.nan)
    names = fit.model.design.response_names
    given = [predictive(fit, rows, name) for name in names]
    observed = np.asarray(rows.response, dtype=float)
    with np.errstate(divide="ignore"):  # a weight may vanish far out
        terms = np.log(given[0].weights)
    for i, one in enumerate(given):
        dof = one.dof[:, None]
        size = np.hypot(1.0, (observed[:, i] - one.location) / (one.scale * np.sqrt(dof)))
        constant = np.log(poch(0.5 * dof, 0.5)) - 0.5 * np.log(np.pi * dof)
        terms = terms + (constant - np.log(one.scale) - (dof + 1.0) * np.log(size))
    values[rows.complete] = logsumexp(terms, axis=0)
    return pd.Series(values, rows.index, name="log_density")


def responsibilities(fit: Fit) -> pd.DataFrame:
    """Probability of each component for the rows of the fit, given their responses."""
    import pandas as pd

    q = fit.q
    blocks = [fit.mixture.responsibilities(q, block).T for block in fit.model.source.blocks]
    labels = pd.RangeIndex(1, fit.model.n_components + 1, name="component")
    return pd.DataFrame(np.concatenate(blocks), fit.model.design.index, labels)


def weight_draws(
    fit: Fit, rows: Rows, n_draws: int | None
) -> Float[np.ndarray, "draws rows experts"]:
    """Weights of the components at the complete rows, for the first draws of the fit."""
    if n_draws is not None and not 1 <= n_draws <= fit.n_draws:
        raise DataError(f"draws={n_draws!r} must be between 1 and {fit.n_draws}")
    block = fit.model.block(rows)
    gate = standard_draws(fit)["gate"][:n_draws]
    weights = np.exp(fit.mixture.gate.log_weights(gate, block))
    return np.moveaxis(np.broadcast_to(weights, (*weights.shape[:2], block.n_rows)), 1, 2)
