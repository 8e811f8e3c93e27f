"""Probability of 1, or of success in one trial, along one covariate, with its interval."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.response_columns import TRIALS
from bayesvb.distributions.draw_summaries import summarised
from bayesvb.distributions.intervals import PROB
from bayesvb.effects.marginal_effects import predictions
from bayesvb.results.subsampling import sample

from ..cells.names import called
from ..cells.numerals import numeral, percent
from ..cells.plain import Summary
from ..rows.profiles import Profile
from ..rows.sampling import POINTS_SHOWN, choice_note
from .plot import Canvas, covariate_axis, number_axis, plotted
from .scatter import places

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MARGIN = 0.06
"""Height above 1 and below 0, where half of the rows' points would be cut off."""


def probability_curve(fit: AbstractFit, curve: Profile, name: str) -> Summary:
    """Mean over the draws of the parameters and interval at each value; points are the rows."""
    design, one = fit.model.design, curve.covariate
    values = design.responses.ravel()
    shares = TRIALS in design.matrices
    if shares:
        values = values / np.maximum(design.matrices[TRIALS][:, 0], 1.0)
    what = str(fit.model.response.label("mean")).format(y=called(design, name))
    first = what[:1].upper() + what[1:]
    each = predictions(fit, data=curve.frame).draws.to_numpy()
    found = summarised(curve.averaged(each.reshape(len(each), -1)), PROB)
    chosen = sample(fit, POINTS_SHOWN)

    canvas = Canvas(covariate_axis(design, one)[0], number_axis(-MARGIN, 1.0 + MARGIN))
    canvas.dots("pts", places(design.frame, one, chosen.at), values[chosen.at])
    if one.discrete:
        canvas.bars("thin", curve.x, found.lower, found.upper)
        canvas.dots("median", curve.x, found.centre)
    else:
        canvas.band("b2", curve.x, found.lower, found.upper)
        canvas.line("med", curve.x, found.centre)
    fixed = f" Other covariates {curve.fixed}." if curve.fixed else ""
    band = "bar" if one.discrete else "band"
    caption = (
        f"{first} given {called(design, one.name)} with {percent(PROB)} {band}; the points are "
        f"{'shares of successes in ' if shares else ''}all rows.{fixed}"
        f"{choice_note('Points:', chosen)}"
    )
    alt = (
        f"{first} against {called(design, one.name)}; from its first to its last value it goes "
        f"from {numeral(float(found.centre[0]), 2)} to {numeral(float(found.centre[-1]), 2)}."
    )
    return plotted(canvas, x=design.label(one.name), y=what, alt=alt, caption=caption)
