"""The first sentence of a report about covariates: one line of the table of average effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB
from bayesvb.effects.average_predictions import average_predictions
from bayesvb.effects.covariates import value_text
from bayesvb.effects.estimands import target_words

from ..cells.clauses import Clause
from ..cells.numerals import numeral, percent
from ..rows.average_effects import (
    ENDS,
    Change,
    average_draws,
    changes,
    clear_signs,
    compared_values,
    rows_averaged,
    rows_words,
    shares_by_sign,
    targets_of,
)
from ..rows.profiles import NAMED, Profile, compared, covariate, labels
from ..rows.unseen import unseen

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

ERROR = 0.05
"""Probability of a direction stated for a response that no covariate changes."""

BETWEEN = 7
"""Values between the two ends at which a turn is looked for."""

BEYOND = 0.25
"""A turn is stated from this part of the change between the two ends on."""

NUMERIC, LEVELS = ("rises", "falls"), ("is higher", "is lower")
"""Verbs for a larger and for a smaller response."""


@dataclass(frozen=True)
class Comparison:
    """Two values of one covariate, and the draws of average predictions at them.

    Attributes
    ----------
    fit : Fit
    name : str
        The covariate.
    ends : tuple of two values
    response : int
        Position among the responses.
    changes : list of Change
        Mean and standard deviation, or the probability of the level that is stated.
    draws : mapping of str to array, shape (draws, values, responses, entries)
        By target; the first value and the one that is compared with it.
    n_values : int
        Values from which the second end was chosen, the first one included.
    """

    fit: AbstractFit
    name: str
    ends: tuple[object, object]
    response: int
    changes: list[Change]
    draws: Mapping[str, Float[np.ndarray, "draws values responses entries"]]
    n_values: int

    @property
    def error(self) -> float:
        """Probability outside of the interval that has to exclude 0 for a direction.

        The covariate, the level and the class are those with the largest effect: it is divided by
        the number of comparisons (Bonferroni).
        """
        design = self.fit.model.design
        classes = max(len(design.levels or ()) - 1, 1)
        return ERROR / (len(compared(design)) * (self.n_values - 1) * classes * len(self.changes))

    @property
    def discrete(self) -> bool:
        """Whether levels are compared."""
        return covariate(self.fit.model.design, self.name).discrete


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
    comparison = _compared(fit, name, fit.model.design.response_names.index(response))
    if comparison is None:
        return []
    first, *spread = comparison.changes
    lead = _lead(comparison)
    clauses = [
        Clause(
            f"{lead} {_main(comparison, first)}{_extrapolation(comparison)}",
            f"{lead} {_main(comparison, first, doubted=True)}",
            covariate=name,
            response=response,
        )
    ]
    if by_sign := _by_sign(comparison, first):
        clauses.append(Clause(by_sign, covariate=name, response=response))
    clauses += [
        Clause(_change(comparison, change), covariate=name, response=response, of_spread=True)
        for change in spread
    ]
    sentences = [tuple(clauses)]
    if turn := _turn(comparison, first):
        sentences.append((Clause(turn, covariate=name, response=response),))
    return sentences


def _compared(fit: AbstractFit, name: str, response: int) -> Comparison | None:
    """The first value of a covariate and the one that differs most from it."""
    values = compared_values(fit, name)
    draws = average_draws(fit, name, values, targets_of(fit))
    if len(values) < 2 or not draws:
        return None
    first = next(iter(draws))
    each = [
        changes(fit, {first: draws[first]}, (0, place), response) for place in range(1, len(values))
    ]
    size = np.array([[abs(change.estimate) for change in one] for one in each])
    place, entry = np.unravel_index(int(size.argmax()), size.shape)
    if size.shape[1] == 2:  # both levels change alike: the second one is stated
        entry = np.intp(1)
    ends = 0, int(place) + 1
    stated = changes(fit, draws, ends, response)
    if fit.model.response.is_categorical:
        stated = [stated[int(entry)]]
    pair = {target: one[:, list(ends)] for target, one in draws.items()}
    return Comparison(fit, name, (values[0], values[ends[1]]), response, stated, pair, len(values))


def _lead(comparison: Comparison) -> str:
    """From which value to which the covariate goes, and what is held."""
    design, name = comparison.fit.model.design, comparison.name
    first, last = labels(list(comparison.ends))
    if name in design.dates:
        first, last = (value_text(design.date_of(name, value)) for value in comparison.ends)
    last = measured(last, name, {} if name in design.dates else design.known_units)
    held = _held(comparison)
    if comparison.discrete:
        most = " (the level that differs most from it)" if comparison.n_values > 2 else ""
        return f"At {name} = {last} compared with {first}{most}{held},"
    return f"From {name} = {first} to {last} ({_which(comparison)}){held},"


def _which(comparison: Comparison) -> str:
    """Which values of the covariate the two are."""
    if comparison.ends == covariate(comparison.fit.model.design, comparison.name).values:
        return "its smallest and largest value"
    return f"its {' and '.join(percent(end) for end in ENDS)} quantiles"


def _held(comparison: Comparison) -> str:
    """The other covariates, which stay as they were observed."""
    others = [one for one in comparison.fit.model.design.covariates if one != comparison.name]
    if not others:
        return ""
    shown, more = others[:NAMED], len(others) - NAMED
    last = f"{more} more" if more > 0 else shown.pop()
    return f", with {', '.join(shown)} and {last} as observed" if shown else (
        f", with {last} as observed"
    )  # fmt: skip


def _main(comparison: Comparison, change: Change, *, doubted: bool = False) -> str:
    """The change of the mean, or of a probability, over which rows."""
    rows = rows_words(comparison.fit, rows_averaged(comparison.fit))
    return _change(comparison, change, f" on average over {rows}", doubted=doubted)


def _change(
    comparison: Comparison, change: Change, average: str = "", *, doubted: bool = False
) -> str:
    """A change with its interval; it has a direction where that is clear and not doubted."""
    fit, decimals = comparison.fit, change.decimals
    name = fit.model.design.response_names[comparison.response]
    what = f"probability of {name} = {change.level}"
    if not change.level:
        what = target_words(change.target, fit.model.response).format(y=name)
    unit = measured("", name, {} if change.level else fit.model.design.known_units)
    sign = (
        0 if doubted or fit.is_point_estimate else int(clear_signs(change.draws, comparison.error))
    )
    numbers = (change.estimate, change.lower, change.upper)
    if sign < 0:
        numbers = (-change.estimate, -change.upper, -change.lower)
    size, low, high = (numeral(number, decimals) for number in numbers)
    if fit.is_point_estimate:
        return f"the fitted {what} changes by {size}{unit}{average}"
    kind = "mean-field interval" if fit.covariance == "mean-field" else "interval"
    interval = f"{percent(PROB)} {kind} {low} to {high}"
    if doubted:
        return f"the fitted {what} changes by {size}{unit}{average} ({interval})"
    if sign == 0:
        return f"the {what} changes by {size}{unit}{average} ({interval}; direction uncertain)"
    verb = (LEVELS if comparison.discrete else NUMERIC)[0 if sign > 0 else 1]
    return f"the {what} {verb} by {size}{unit}{average} ({interval})"


def _by_sign(comparison: Comparison, change: Change) -> str:
    """Shares of the rows by the sign of the change, where both signs are clear."""
    fit = comparison.fit
    entry = fit.model.design.class_labels.index(change.level) if change.level else 0
    shares = shares_by_sign(
        fit,
        comparison.name,
        comparison.ends,
        (change.target, comparison.response, entry),
        comparison.error,
    )
    if shares is None:
        return ""
    more, less = LEVELS if comparison.discrete else NUMERIC
    rising, falling = (percent(share) for share in shares)
    return f"it {more} for {rising} of the rows and {less.removeprefix('is ')} for {falling}"


def _extrapolation(comparison: Comparison) -> str:
    """Whether most rows have no observed row near them at one of the two values."""
    rows = rows_averaged(comparison.fit)
    ends = list(comparison.ends)
    profile = Profile(
        covariate(comparison.fit.model.design, comparison.name),
        ends,
        rows.frame_of(comparison.name, ends),
        "",
        len(rows.frame),
        rows.shares,
    )
    if not unseen(comparison.fit, profile).any():
        return ""
    return ", an extrapolation for most rows: no observed row is near in all covariates"


def _turn(comparison: Comparison, change: Change) -> str:
    """Where the mean is clearly below, or above, its values at both ends."""
    fit, name = comparison.fit, comparison.name
    if comparison.discrete or change.target != "mean" or fit.is_point_estimate:
        return ""
    low, high = (float(str(end)) for end in comparison.ends)
    places = [float(place) for place in np.linspace(low, high, BETWEEN + 2)[1:-1]]
    between = average_predictions(fit, rows_averaged(fit), name, places, ("mean",))["mean"]
    between = between[:, :, comparison.response, 0]
    ends = comparison.draws["mean"][:, :, comparison.response, 0]
    error = comparison.error / BETWEEN
    least, most = int(between.mean(axis=0).argmin()), int(between.mean(axis=0).argmax())
    turns = []
    for verb, at, beyond in (
        ("falls", least, ends.min(axis=1) - between[:, least]),
        ("rises", most, between[:, most] - ends.max(axis=1)),
    ):
        if beyond.mean() > BEYOND * abs(change.estimate) and clear_signs(beyond, error) > 0:
            value, place = (
                _response_value(comparison, between[:, at]),
                _place(fit, name, places[at]),
            )
            turns.append(f"{verb} to {value} (near {place})")
    what = "probability" if fit.model.response.is_probability else "mean"
    return f"Between these values the average {what} {' and '.join(turns)}" if turns else ""


def _response_value(comparison: Comparison, draws: Float[np.ndarray, " draws"]) -> str:
    """Centre of the draws of a mean, with its unit."""
    design = comparison.fit.model.design
    name = design.response_names[comparison.response]
    return measured(numeral(float(draws.mean())), name, design.known_units)


def _place(fit: AbstractFit, name: str, value: float) -> str:
    """A value of a covariate: with its unit, or a date."""
    design = fit.model.design
    if name in design.dates:
        return value_text(design.date_of(name, value))
    return measured(numeral(value), name, design.known_units)
