"""Rows that a report looks at: all, or an even choice of them where there are too many."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.data.parts import GATING, MEAN
from bayesvb.distributions.base import AbstractRowDistribution
from bayesvb.results.subsampling import RowSample

from ..cells.numerals import numeral

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

POINTS_SHOWN = 2000
"""Points of a scatter."""

ROWS_CHECKED = 2000
"""Rows whose predictive distributions are compared with their observed values."""

ROWS_LEFT_OUT = 2000
"""Rows for leave-one-out: a millisecond each, and as much for their log likelihood."""


def choice_words(chosen: RowSample) -> str:
    """Words for a sample of the rows; empty if all rows are used."""
    if chosen.whole:
        return ""
    return f"{numeral(len(chosen.at))} of {numeral(chosen.n_all)} {chosen.plural}, chosen at random"


def choice_note(lead: str, chosen: RowSample) -> str:
    """Sentence of a caption on a sample, " Points: 2 000 of ..."; empty if all rows are used."""
    words = choice_words(chosen)
    return f" {lead} {words}." if words else ""


def regresses(fit: AbstractFit) -> bool:
    """Whether the fit describes a numeric response given covariates, or could."""
    return gated(fit) and fit.model.response.is_numeric


def gated(fit: AbstractFit) -> bool:
    """Whether the weights of the components may depend on covariates."""
    return {MEAN, GATING} <= set(fit.model.design.terms)


def component_weights(fit: AbstractFit, frame: pd.DataFrame) -> Float[np.ndarray, "experts rows"]:
    """Weights of the components at rows of new data."""
    design = fit.model.design
    response = design.response_names[0] if fit.model.response.is_numeric else None
    found = fit.predict(frame, "component", response=response)
    return np.asarray(found.to_numpy(dtype=float).T)


def predictive_at(
    fit: AbstractFit, at: Int[np.ndarray, " rows"], response: str
) -> AbstractRowDistribution:
    """Predictive distributions of one response at rows of the fit."""
    found: AbstractRowDistribution = fit.predictive(fit.model.design.data_at(at), response=response)
    return found
