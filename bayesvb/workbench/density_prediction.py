"""Predictions of density regression at new rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import BLOCK_ROWS
from bayesvb.errors import DataError
from bayesvb.named_draws import count
from bayesvb.options import check_count
from bayesvb.predict import predict
from bayesvb.student_mixture import StudentMixture, joint_log_density

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit
    from bayesvb.workbench.density import DensityRegression
    from bayesvb.workbench.mixture_base import AbstractMixture


def predictive(
    model: DensityRegression, fit: Fit, rows: Rows, response: str | None
) -> StudentMixture:
    """Predictive distribution of one response at the complete rows, in the data's units."""
    names = model.design.response_names
    if response is None and len(names) > 1:
        raise DataError("response=None, and there are several", hint=f"name one of {names}")
    number = 0 if response is None else _number(response, names)
    scaling, q = model.scales.response, fit.q
    pieces = [
        fit.core.predictive(q, block, number) for block in model.block(rows).split(BLOCK_ROWS)
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


def prediction(
    model: DensityRegression, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    """Prediction of one kind for every row, NaN where a value is missing."""
    others = {name: value for name, value in options.items() if name != "response"}
    distribution = predictive(model, fit, rows, options["response"])
    if kind == "component":
        distribution = by_label(distribution, model.n_components)
    return predict(distribution, rows.index, rows.complete, kind=kind, **others)


def by_label(distribution: StudentMixture, n_components: int) -> StudentMixture:
    """Weights of components that share a label in combined restarts, added; the rest is of one."""
    n_rows = distribution.weights.shape[1]
    weights = distribution.weights.reshape(-1, n_components, n_rows).sum(axis=0)
    first = slice(n_components)
    return StudentMixture(
        weights, distribution.location[first], distribution.scale[first], distribution.dof[first]
    )


def weights_at(
    model: AbstractMixture, fit: Fit, rows: Rows, draws: int | None
) -> Float[np.ndarray, "draws rows experts"]:
    """Draws of the component weights at each complete row."""
    if draws is not None:
        check_count("draws", draws, most=count(fit.draws), what="draws of the fit")
    block = model.block(rows)
    first = {name: values[:draws] for name, values in fit.draws.items()}
    weights = np.exp(fit.core.log_weights(first, block))
    whole = np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))
    return np.moveaxis(whole, 1, 2)


def log_density(model: DensityRegression, fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive density of the observed responses, jointly where there are several."""
    import pandas as pd

    values = np.full(len(rows.index), np.nan)
    names = model.design.response_names
    given = [predictive(model, fit, rows, name) for name in names]
    observed = np.asarray(rows.response, dtype=float).T
    values[rows.complete] = joint_log_density(given, observed)
    return pd.Series(values, rows.index, name="log_density")
