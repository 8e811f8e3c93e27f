"""Rows that a report looks at: all, or an even choice of them where there are too many."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.blocks import Source
from bayesvb.criteria import loo, waic
from bayesvb.design import Rows
from bayesvb.elpd import Elpd, read_elpd
from bayesvb.named_draws import log_lik_blocks
from bayesvb.stacking import combined
from bayesvb.student_mixture import StudentMixture
from bayesvb.trust import leaves_folds_out, left_out

from .held_out import affordable
from .numerals import numeral
from .quiet import quiet

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.fit import Fit

POINTS_SHOWN = 2000
"""Points of a scatter."""

ROWS_CHECKED = 5000
"""Rows whose predictive distributions are compared with what was observed."""

ROWS_LEFT_OUT = 3000
"""Rows for leave-one-out: a millisecond each, and as much for their log likelihood."""


@dataclass(frozen=True)
class Sample:
    """Rows of a fit, in the order of the data.

    Attributes
    ----------
    at : ndarray, shape (rows,)
        Positions among the rows of the fit.
    n_all : int
        Rows of the fit.
    """

    at: Int[np.ndarray, " rows"]
    n_all: int

    @property
    def whole(self) -> bool:
        """Whether all rows are there."""
        return len(self.at) == self.n_all

    @property
    def words(self) -> str:
        """What to say of the choice; nothing if it is everything."""
        if self.whole:
            return ""
        return f"{numeral(len(self.at))} of {numeral(self.n_all)} rows, chosen at random"


def sample(fit: Fit, most: int) -> Sample:
    """At most so many rows of a fit, the same ones each time."""
    n_all = len(fit.model.design.frame)
    if n_all <= most:
        return Sample(np.arange(n_all), n_all)
    rng = np.random.default_rng([fit.seed, most])
    return Sample(np.sort(rng.choice(n_all, size=most, replace=False)), n_all)


def regresses(fit: Fit) -> bool:
    """Whether the fit describes a numeric response given covariates, or could."""
    return gated(fit) and fit.model.design.levels is None


def gated(fit: Fit) -> bool:
    """Whether the weights of the components may depend on covariates."""
    return {"mean", "gating"} <= set(fit.model.design.terms)


def component_weights(fit: Fit, frame: pd.DataFrame) -> Float[np.ndarray, "experts rows"]:
    """Weights of the components at rows of new data."""
    design = fit.model.design
    response = None if design.levels else design.response_names[0]
    found = fit.predict(frame, "component", response=response)
    return np.asarray(found.to_numpy(dtype=float).T)


def predictive_at(fit: Fit, at: Int[np.ndarray, " rows"], response: str) -> StudentMixture:
    """Predictive distributions of one response at rows of the fit."""
    found: StudentMixture = fit.predictive(fit.model.design.frame.iloc[at], response=response)
    return found


def _rows(fit: Fit, at: Int[np.ndarray, " rows"]) -> Rows:
    design = fit.model.design
    matrices = {part: np.ascontiguousarray(matrix[at]) for part, matrix in design.matrices.items()}
    given = None if design.response is None else design.response[at]
    return Rows(design.index[at], np.ones(len(at), dtype=bool), matrices, given)


def source_at(fit: Fit, at: Int[np.ndarray, " rows"]) -> Source:
    """Rows of the fit on the standardised scale, each counted once."""
    rows = _rows(fit, at)
    return Source((fit.model.block(rows),))


def log_likelihood(fit: Fit, at: Int[np.ndarray, " rows"]) -> Float[np.ndarray, "draws rows"]:
    """Log likelihood of rows of the fit under every draw, in the data's units."""
    blocks = log_lik_blocks(fit.core, source_at(fit, at), fit.draws, fit.model.log_unit)
    return np.concatenate(list(blocks), axis=1)


def criteria_at(
    fit: Fit, at: Int[np.ndarray, " rows"], folds: bool | None = None
) -> tuple[Elpd, Elpd]:
    """LOO and WAIC of rows of the fit; their warnings are said by the report in words.

    With ``folds`` a fifth of the rows is left out at a time, as it is of networks unless told, if
    there are not too many rows for it.
    """
    folds = leaves_folds_out(fit) and affordable(fit) if folds is None else folds
    weights = np.array([member.weight for member in fit.parts])
    each = [log_likelihood(member.fit, at) for member in fit.parts]
    labels, cases = fit.model.design.index[at], fit.model.weights
    options = {"labels": labels, "weights": None if cases is None else cases[at]}
    with quiet():
        if folds:
            without = [left_out(member.fit, at) for member in fit.parts]
        else:
            without = [read_elpd(loo([values], **options)) for values in each]
        widely = [read_elpd(waic([values], **options)) for values in each]
    alone, wide = combined(weights, without), combined(weights, widely)
    return replace(alone, labels=labels), replace(wide, labels=labels)
