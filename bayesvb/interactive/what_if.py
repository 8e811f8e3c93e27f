"""Predictions for one row of covariates: quantities with intervals, and the density."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.distributions.transformations import inverse_of
from bayesvb.effects import predictions
from bayesvb.effects.curve_settings import CURVES
from bayesvb.errors import DataError
from bayesvb.formula.group_columns import UNSEEN
from bayesvb.interactive.covariate_controls import number, row_of
from bayesvb.interactive.messages import Predicted, Prediction, Quantity, WhatIf
from bayesvb.reports.cells.numerals import numeral, significant
from bayesvb.reports.figures.plot import Canvas, number_axis, plotted
from bayesvb.reports.fragments import figure_html
from bayesvb.results.back_transformation import INVERSE
from bayesvb.results.local_support import has_support, supported

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

TAIL = 0.002
"""Probability on each side beyond which the density is not drawn."""

POINTS = 161
"""Points of a density, and most values of a count that are drawn."""

EXTRAPOLATION = "Extrapolation: few observations have such values."

NEW_GROUP = "The table is of a typical new group; sentence and density are of any new group."


def predicted(fit: Fit, question: WhatIf) -> Predicted:
    """Predict each response of a row.

    Raises
    ------
    DataError
        If a value is not one of its covariate.
    """
    row = row_of(fit, question.values)
    # Responses that are predicted, the first ones.
    names = fit.model.design.response_names[:4]
    notes = [] if not has_support(fit) or supported(fit, row)[0] else [EXTRAPOLATION]
    notes += [NEW_GROUP] if (row == UNSEEN).any(axis=None) else []
    made = [_prediction(_Row(fit, row, name), question.above, i) for i, name in enumerate(names)]
    return Predicted(values=question.values, predictions=tuple(made), notes=tuple(notes))


def _prediction(row: _Row, above: str, place: int) -> Prediction:
    response = row.fit.model.response
    if response.level_names or response.is_binary:
        quantities = row.levels() if response.level_names else row.mean()
        return Prediction(response=row.label, sentence="", quantities=quantities, figure="")
    figure = row.counts() if response.is_discrete else row.density()
    return Prediction(
        response=row.label,
        sentence=row.sentence,
        quantities=(*row.mean(), *row.quantiles(), *row.exceedance(above)),
        figure=figure_html(figure, f"density-{place}"),
    )


def _quantity(name: str, table: pd.DataFrame) -> Quantity:
    value, low, high = table[["estimate", "lower", "upper"]].iloc[0].astype(float)
    decimals = significant([high - low or value or 1.0], 2)
    return Quantity(
        name=name, value=numeral(value, decimals), interval=numeral([low, high], decimals)
    )


@dataclass(frozen=True)
class _Row:
    """One row, of which the public verbs of a fit predict one response.

    A response that the formula transforms is predicted in the units of its column.
    """

    fit: Fit
    data: pd.DataFrame = field(repr=False)
    response: str

    @property
    def options(self) -> dict[str, Any]:
        """Arguments of ``predict`` and ``predictions`` for this response."""
        continuous = self.fit.model.response.kind == "continuous"
        known = continuous and inverse_of(self.response)[0] is not None
        return {"response": self.response, "transform": INVERSE if known else None}

    @property
    def label(self) -> str:
        """Name of the prediction, with its unit."""
        name = inverse_of(self.response)[1] if self.options["transform"] else self.response
        return self.fit.model.design.label(name)

    def effects(self, names: Sequence[str], **quantity: Any) -> tuple[Quantity, ...]:
        """Return quantities with their intervals; none where the distribution has no such."""
        try:
            table = predictions(self.fit, data=self.data, **self.options, **quantity).summary
        except DataError:  # heavy tails have no mean; GaussianMixture and others no effects
            return ()
        return tuple(_quantity(name, table.iloc[[i]]) for i, name in enumerate(names))

    def levels(self) -> tuple[Quantity, ...]:
        """Probability of each level."""
        levels = self.fit.model.response.level_names
        names = [f"P({self.label} = {level})" for level in levels]
        return self.effects(names, target="probability")

    def mean(self) -> tuple[Quantity, ...]:
        """Mean, or probability."""
        name = self.fit.model.response.label("mean") or "mean"
        return self.effects([name.format(y=self.label)])

    def quantiles(self) -> tuple[Quantity, ...]:
        """Quantiles of the distribution."""
        names = [f"{100 * q:g}% quantile" for q in CURVES.quantiles]
        return self.effects(names, target="quantile", q=list(CURVES.quantiles))

    def exceedance(self, above: str) -> tuple[Quantity, ...]:
        """Probability of more than a value; nothing without one."""
        if not above.strip():
            return ()
        limit = number("above", above)
        name = f"P({self.label} > {limit:g})"
        return self.effects([name], target="probability", above=limit)

    def places(self, *q: float) -> list[float]:
        """Quantiles of a new observation, which include the uncertainty of the parameters."""
        quantiles = self.fit.predict(
            self.data, "quantile", q=list(q), extrapolation="keep", **self.options
        )
        return [float(value) for value in np.asarray(quantiles)[0]]

    @cached_property
    def ends(self) -> list[float]:
        """Quantiles of a new observation: the ones of curves, between the tails."""
        return self.places(TAIL, *CURVES.quantiles, 1.0 - TAIL)

    @cached_property
    def sentence(self) -> str:
        """Central intervals of a new observation, in words."""
        _, low, lower, _, upper, high, _ = self.ends
        whole = self.fit.model.response.is_discrete
        decimals = 0 if whole else significant([high - low or 1.0], 3)
        half, most = (numeral(list(ends), decimals) for ends in ((lower, upper), (low, high)))
        return f"Half of new observations with these values lie within {half}, 90% within {most}."

    def density(self) -> dict[str, object]:
        """Density with the central half and the central 90%."""
        first, low, lower, _, upper, high, last = self.ends
        ends = [low, lower, upper, high]
        at = np.unique(np.concatenate([np.linspace(first, last, POINTS), ends]))
        heights = self.fit.predict(
            self.data, "density", at=list(at), extrapolation="keep", **self.options
        )
        density = np.asarray(heights, dtype=float)[0]
        canvas = Canvas(number_axis(first, last), number_axis(0.0, 1.06 * float(density.max())))
        for kind, start, end in (("b1", low, high), ("b2", lower, upper)):
            inside = (at >= start) & (at <= end)
            canvas.band(kind, at[inside], np.zeros(inside.sum()), density[inside])
        canvas.line("med", at, density)
        return self._figure(canvas, "density", "Shaded: the central 90%, darker the central half.")

    def counts(self) -> dict[str, object]:
        """Probabilities of counts."""
        low, *_, high = self.ends
        at = np.unique(np.round(np.linspace(low, high, POINTS)))
        table = self.fit.predict(
            self.data, "probability", at=list(at), extrapolation="keep", **self.options
        )
        heights = np.asarray(table, dtype=float)[0]
        canvas = Canvas(
            number_axis(low - 0.5, high + 0.5), number_axis(0.0, 1.06 * float(heights.max()))
        )
        canvas.bars("thick", at, np.zeros(len(at)), heights)
        return self._figure(canvas, "probability", "Bars: probabilities of the values.")

    def _figure(self, canvas: Canvas, what: str, caption: str) -> dict[str, object]:
        alt = f"Predictive {what} of {self.label}. {self.sentence}"
        figure: dict[str, object] = plotted(canvas, x=self.label, y=what, alt=alt, caption=caption)
        return figure
