"""The first sentence of a report about covariates: one contrast, with its interval."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_units import measured
from bayesvb.data.parts import MEAN
from bayesvb.distributions.intervals import PROB
from bayesvb.distributions.transformations import written_function
from bayesvb.effects.average_predictions import average_predictions
from bayesvb.effects.covariates import value_text
from bayesvb.effects.estimands import target_words

from ..cells.clauses import Clause
from ..cells.names import called, level_scale
from ..cells.numerals import counted, numeral, percent, significant
from ..rows.average_effects import Change, clear_signs, rows_averaged, shares_by_sign
from ..rows.contrasts import ERROR, Contrast, contrasts
from ..rows.profiles import labels

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

BETWEEN = 7
"""Values between the two ends at which a turn is looked for."""

BEYOND = 0.25
"""A turn is stated from this part of the change between the two ends on."""

BASES = {"exp": math.e, "exp2": 2.0, "exp10": 10.0}
"""Base of a logarithm by the function that undoes it."""

NUMERIC, LEVELS = ("rises", "falls"), ("is higher", "is lower")
"""Verbs for a larger and for a smaller response."""


def effect_clauses(fit: AbstractFit, name: str, response: str) -> list[tuple[Clause, ...]]:
    """Sentences on the average effect of one covariate.

    Parameters
    ----------
    fit : Fit
        Of a regression or of a categorical response.
    name : str
        The covariate.
    response : str
    """
    number = fit.model.design.response_names.index(response)
    own = [one for one in contrasts(fit) if (one.covariate, one.response) == (name, number)]
    if not own:
        return []
    contrast, first, spread = _largest(fit, own)
    lead = _lead(fit, contrast)
    clauses = [
        Clause(
            f"{lead} {_main(fit, contrast, first)}{_extrapolation(fit, contrast)}",
            f"{lead} {_main(fit, contrast, first, doubted=True)}",
            covariate=name,
            response=response,
        )
    ]
    if by_sign := _by_sign(fit, contrast, first):
        clauses.append(Clause(by_sign, covariate=name, response=response))
    clauses += [
        Clause(_change(fit, contrast, one), covariate=name, response=response, of_spread=True)
        for one in spread
        if fit.is_point_estimate or clear_signs(one.draws, contrast.error)
    ]
    sentences = [tuple(clauses)]
    if turn := _turn(fit, contrast, first):
        sentences.append((Clause(turn, covariate=name, response=response),))
    return sentences


def _largest(fit: AbstractFit, own: list[Contrast]) -> tuple[Contrast, Change, tuple[Change, ...]]:
    """The contrast with the largest clear change of the mean or a probability, and of the spread.

    The largest of all where none is clear.
    """
    contrast = max(own, key=lambda one: (one.of_mean.is_clear, abs(one.of_mean.estimate)))
    if not fit.model.response.is_categorical:
        return contrast, contrast.of_mean, contrast.changes[1:]
    # both of two levels change alike: the second one is stated
    first = contrast.changes[1] if len(contrast.changes) == 2 else contrast.of_mean
    return contrast, first, ()


def _lead(fit: AbstractFit, contrast: Contrast) -> str:
    """From which value to which the covariate goes."""
    design, (first, last) = fit.model.design, contrast.words
    units = {} if contrast.covariate in design.dates else design.known_units
    last, name = measured(last, contrast.covariate, units), called(design, contrast.covariate)
    if contrast.discrete:
        return f"At {name} = {last} compared with {first},"
    return f"From {name} = {first} to {last}"


def _main(fit: AbstractFit, contrast: Contrast, change: Change, *, doubted: bool = False) -> str:
    """The change of the mean, or of a probability, averaged where there are other covariates."""
    return _change(fit, contrast, change, _average(fit, contrast.covariate), doubted=doubted)


def _average(fit: AbstractFit, covariate: str) -> str:
    """Words for an average over rows or groups; empty if the covariate is the only one.

    Where the effect of the covariate varies between groups, the interval is for the groups of the
    data: the average of all groups that there might be is less certain.
    """
    design = fit.model.design
    for term in design.group_terms(MEAN) if MEAN in design.terms else ():
        reads = re.compile(rf"(?<!\w){re.escape(covariate)}(?!\w)")
        if any(map(reads.search, term.covariates)):
            return f" on average over the {counted(len(term.groups), 'group')} of {term.grouping}"
    return " on average" if len(design.covariates) > 1 else ""


def _change(
    fit: AbstractFit,
    contrast: Contrast,
    change: Change,
    average: str = "",
    *,
    doubted: bool = False,
) -> str:
    """A change with its interval; it has a direction where that is clear and not doubted."""
    name = fit.model.design.response_names[contrast.response]
    response = called(fit.model.design, name)
    what = f"probability of {response} = {change.level}"
    if not change.level:
        what = target_words(change.target, fit.model.response).format(y=response)
        what += level_scale(fit.model.response)
    unit = measured("", name, {} if change.level else fit.model.design.known_units)
    sign = 0 if doubted or fit.is_point_estimate else int(clear_signs(change.draws, contrast.error))
    numbers = (change.estimate, change.lower, change.upper)
    if sign < 0:
        numbers = (-change.estimate, -change.upper, -change.lower)
    size, low, high = (numeral(number, change.decimals) for number in numbers)
    factor = _factor(fit, name, change)
    if fit.is_point_estimate:
        return f"the fitted {what} changes by {size}{unit}{average}{factor}"
    interval = f"{percent(PROB)} interval {low} to {high}"
    if doubted:
        return f"the fitted {what} changes by {size}{unit}{average} ({interval}){factor}"
    if sign == 0:
        return _unclear(contrast, change, what, f"by {size}{unit}{average} ({interval}")
    verb = (LEVELS if contrast.discrete else NUMERIC)[0 if sign > 0 else 1]
    return f"the {what} {verb} by {size}{unit}{average} ({interval}){factor}"


def _unclear(contrast: Contrast, change: Change, what: str, amount: str) -> str:
    """A change without a direction; an interval that excludes zero is not enough, and why."""
    if not change.is_clear:
        verb = "differ" if contrast.discrete else "change"
        return f"the {what} does not {verb} clearly: {amount})"
    n = round(ERROR / contrast.error)
    why = "the 95% interval includes zero" if n == 1 else f"the largest of {n} comparisons"
    verb = "differs" if contrast.discrete else "changes"
    return f"the {what} {verb} {amount}; direction uncertain: {why})"


def _factor(fit: AbstractFit, name: str, change: Change) -> str:
    """Change of the mean of a logarithm as the ratio of geometric means of its argument."""
    inverse, original = written_function(name)
    if change.target != "mean" or inverse not in BASES:
        return ""
    ends = [BASES[inverse] ** one for one in (change.estimate, change.lower, change.upper)]
    factor = numeral(ends[0], significant([ends[2] - ends[1] or ends[0]], 2))
    return f", a factor of {factor} in the geometric mean of {called(fit.model.design, original)}"


def _by_sign(fit: AbstractFit, contrast: Contrast, change: Change) -> str:
    """Shares of the rows by the sign of the change, where both signs are clear."""
    entry = fit.model.design.class_labels.index(change.level) if change.level else 0
    shares = shares_by_sign(fit, contrast.covariate, contrast.by_row()[:, :, entry])
    if shares is None:
        return ""
    more, less = LEVELS if contrast.discrete else NUMERIC
    by = f", depending on {called(fit.model.design, shares.by)}" if shares.by else ""
    return (
        f"it {more} for {percent(shares.rising)} of the rows and {less.removeprefix('is ')} for "
        f"{percent(shares.falling)}{by}"
    )


def _extrapolation(fit: AbstractFit, contrast: Contrast) -> str:
    """Whether many rows have no row near them at one of the two values, or means no response."""
    if contrast.reach == "extrapolated":
        return ", an extrapolation for many rows: no observed row is near in all covariates"
    design = fit.model.design
    if design.is_censored and "mean" in contrast.draws:
        ends = contrast.draws["mean"].mean(axis=(0, 2))
        observed = design.responses[:, contrast.response]
        if ends.max() > observed.max() or ends.min() < observed.min():
            return ", an extrapolation: one of the means is beyond all observed values"
    return ""


def _turn(fit: AbstractFit, contrast: Contrast, change: Change) -> str:
    """Value at which the mean is clearly below, or above, its values at both ends."""
    if contrast.discrete or change.target != "mean" or fit.is_point_estimate:
        return ""
    low, high = (float(str(end)) for end in contrast.ends)
    places = [float(place) for place in np.linspace(low, high, BETWEEN + 2)[1:-1]]
    name = contrast.covariate
    between = average_predictions(fit, rows_averaged(fit), name, places, ("mean",))["mean"]
    between = between[:, :, contrast.response, 0]
    ends = contrast.draws["mean"][:, :, 0]
    error = contrast.error / BETWEEN
    least, most = int(between.mean(axis=0).argmin()), int(between.mean(axis=0).argmax())
    turns = []
    for verb, at, beyond in (
        ("falls", least, ends.min(axis=1) - between[:, least]),
        ("rises", most, between[:, most] - ends.max(axis=1)),
    ):
        if beyond.mean() > BEYOND * abs(change.estimate) and clear_signs(beyond, error) > 0:
            value = _response_value(fit, contrast, between[:, at])
            turns.append(f"{verb} to {value} (near {_place(fit, name, places[at])})")
    what = "probability" if fit.model.response.is_probability else "mean"
    return f"Between these values the average {what} {' and '.join(turns)}" if turns else ""


def _response_value(
    fit: AbstractFit, contrast: Contrast, draws: Float[np.ndarray, " draws"]
) -> str:
    """Centre of the draws of a mean, with its unit."""
    design = fit.model.design
    name = design.response_names[contrast.response]
    return measured(numeral(float(draws.mean())), name, design.known_units)


def _place(fit: AbstractFit, name: str, value: float) -> str:
    """A value of a covariate: with its unit, or a date."""
    design = fit.model.design
    if name in design.dates:
        return value_text(design.date_of(name, value))
    return measured(labels([value])[0], name, design.known_units)
