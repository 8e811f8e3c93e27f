"""What was found, in a sentence with its interval and a picture: the first that a page shows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.distributions.row_averages import averaged_mixture
from bayesvb.effects import predictions
from bayesvb.effects.covariates import value_text
from bayesvb.effects.effect_draws import drawn_distributions_of
from bayesvb.results.capabilities import HasExactPosterior, HasJointDensity, HasScores
from bayesvb.results.summary import coefficient_table

from ..cells.numerals import PROBABILITY, counted, numeral, percent, significant
from ..cells.plain import Summary
from ..rows.profiles import Profile, compared, labels, most_moving, profile, quantiles_moved
from ..rows.sampling import regresses
from .classes import drawn_probabilities, probabilities, probabilities_moved

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

ENDS = (0.1, 0.9)
"""Quantiles of a covariate between which the response is compared."""

MOST_DRAWS = 1000
"""Draws behind the interval of a probability."""

WIDE = (0.05, 0.5, 0.95)
"""Quantiles of the response: its median, and the ends of its middle 90 %."""

BEYOND = 0.25
"""A turn between the two ends is told from this part of the width of the middle 90 % on."""


@dataclass(frozen=True)
class Told:
    """When a change is said to have a direction.

    The covariate is the one of several that moves the response most, so that its interval would
    exclude no change far too often by chance. A direction is therefore said where the interval
    does that whose level is adjusted for their number (Bonferroni).

    Attributes
    ----------
    n_compared : int
        Covariates, or pairs of levels, of which this is the one that moves most.
    only_points : bool
        Whether there are no intervals.
    interval : str
        What its intervals are called.
    of_probability : bool
        Whether what changes is a probability.
    """

    n_compared: int
    only_points: bool
    interval: str = f"{percent(PROB)} interval"
    of_probability: bool = False

    def is_clear(self, draws: Float[np.ndarray, " draws"], nothing: float) -> bool:
        """Whether the adjusted interval excludes that there is no change."""
        outside = (1.0 - PROB) / self.n_compared
        low, high = np.quantile(draws, [outside / 2.0, 1.0 - outside / 2.0])
        return not low <= nothing <= high


def finding(
    fit: AbstractFit, sections: Summary, told: Mapping[str, list[str]] | None = None
) -> tuple[Summary, Summary]:
    """Sentences and a picture, and the sections without the picture: a page has it once.

    Parameters
    ----------
    fit : Fit
    sections : mapping
        Summaries of the sections of the page.
    told : mapping, optional
        Sentences that belong to sections, from ``sentences_of``; made here if left out.
    """
    for name, (_, picture) in KINDS.items():
        if name not in sections:
            continue
        section = sections[name]
        several = "responses" in section
        first = section["responses"][0] if several else section
        words = sentences_of(fit, name, section) if told is None else told[name]
        found = {"sentences": words, "figure": first[picture] if picture else None}
        if picture is None:
            return found, sections
        left = {**first, picture: None}
        if several:
            left = {**section, "responses": [left, *section["responses"][1:]]}
        return found, {**sections, name: left}
    return {"sentences": [], "figure": None}, sections


def sentences_of(fit: AbstractFit, name: str, section: Summary | None) -> list[str]:
    """What a page says first if it begins with this section; nothing for other sections."""
    if section is None or name not in KINDS:
        return []
    words, _ = KINDS[name]
    return words(fit, section["responses"][0] if "responses" in section else section)


def _of_numbers(fit: AbstractFit, section: Summary) -> list[str]:
    """How median and width of a response change along the covariate that moves it most."""
    y, along = section["name"], section["along"]
    if along is None:
        units = fit.model.design.known_units
        low, middle, high = fit.predictive(
            fit.model.design.data_at(np.arange(1)), response=y
        ).quantile(np.array(WIDE))[:, 0]
        return [
            f"No covariate changes the distribution of {y}: its median is "
            f"{numeral(float(middle))}, and its middle {percent(0.9)} goes from "
            f"{numeral(float(low))} to {measured(numeral(float(high)), y, units)}."
        ]
    ends, whole = _ends(fit, along, y)
    draws, design = _drawn_quantiles(fit, ends, y), fit.model.design
    width = draws[:, :, 2] - draws[:, :, 0]
    told = _told(fit, whole)
    unit = measured("", y, design.known_units)
    median = _difference(draws[:, :, 1], f"the median of {y}", told, unit)
    spread = _ratio(width, told)
    turns = _turns(fit, whole, ends, y, float(np.median(width)))
    return [f"{_lead(fit, ends)} {median}; {spread}.", *turns]


def _drawn_quantiles(
    fit: AbstractFit, ends: Profile, response: str
) -> Float[np.ndarray, "draws 2 quantiles"]:
    """Quantiles of the response at both rows under the draws of the parameters."""
    if ends.n_each == 1:
        found = predictions(
            fit, data=ends.frame, target="quantile", q=list(WIDE), response=response
        )
        return found.draws.to_numpy().reshape(-1, 2, len(WIDE))
    number = fit.model.design.response_names.index(response)
    block = fit.model.block(fit.model.design.of_typical_groups.new(ends.frame))
    drawn = drawn_distributions_of(fit).drawn_mixture(fit, block, number)
    if not isinstance(drawn, AbstractLocationScaleMixture):
        raise TypeError(f"{type(drawn).__name__} cannot be averaged over rows")
    mixture = averaged_mixture(drawn, ends.n_each, ends.shares)
    return np.stack([mixture.quantile(q) for q in WIDE], axis=-1)


def _ends(fit: AbstractFit, along: str, response: str) -> tuple[Profile, Profile]:
    """Two rows that are compared, and the curve between them."""
    whole = profile(fit, along)
    if whole.covariate.discrete:
        median = whole.predictive(fit, response).quantile(np.array([0.5]))[0]
        two = [whole.values[int(median.argmin())], whole.values[int(median.argmax())]]
    else:
        two = _places(fit.model.design.frame, along)
    return profile(fit, along, two), whole


def _told(fit: AbstractFit, whole: Profile) -> Told:
    """What the one comparison was chosen from."""
    pairs = len(whole.values) * (len(whole.values) - 1) // 2 if whole.covariate.discrete else 1
    classes = max(len(fit.model.design.levels or ()) - 1, 1)
    kind = "mean-field interval" if fit.covariance == "mean-field" else "interval"
    n_compared, interval = (
        len(compared(fit.model.design)) * pairs * classes,
        f"{percent(PROB)} {kind}",
    )
    return Told(n_compared, fit.only_points, interval, bool(fit.model.design.levels))


def _places(frame: pd.DataFrame, along: str) -> list[object]:
    """Two quantiles of a covariate; its extremes where these are the same."""
    column = frame[along].to_numpy(dtype=float)
    low, high = np.quantile(column, ENDS)
    return [float(low), float(high)] if low < high else [float(column.min()), float(column.max())]


def _lead(fit: AbstractFit, ends: Profile) -> str:
    """From where to where the covariate goes, and that the others do not."""
    design = fit.model.design
    name, (first, last) = ends.covariate.name, labels(ends.values)
    if name in design.dates:
        first, last = (value_text(design.date_of(name, value)) for value in ends.values)
    else:
        last = measured(last, name, design.known_units)
    held = "held" if ends.n_each == 1 else "as observed"
    others = f", other covariates {held}," if ends.fixed else ""
    if ends.in_new_group:
        others = f"{others or ','} in a typical group,"
    if ends.covariate.discrete:
        return f"Between {name} = {first} and {last}, the levels that differ most{others or ','}"
    return f"From {name} = {first} to {last} ({_which(ends)}){others}"


def _which(ends: Profile) -> str:
    """Which values of the covariate the two are."""
    known = ends.covariate.values
    if tuple(ends.values) == known:
        return "its smallest and largest value"
    return f"its {' and '.join(percent(end) for end in ENDS)} quantiles"


def _difference(draws: Float[np.ndarray, "draws 2"], what: str, told: Told, unit: str = "") -> str:
    """A change and its interval; it has a direction where that is clear."""
    change = draws[:, 1] - draws[:, 0]
    low, high = np.quantile(change, tails(PROB))
    before, after = np.median(draws, axis=0)
    decimals = significant([float(high - low) or float(after - before)], 2)
    first, last, size, low_text, high_text = (
        numeral(float(one), decimals) for one in (before, after, after - before, low, high)
    )
    if told.of_probability:  # none is nothing, or certainty
        first, last = numeral(float(before), PROBABILITY), numeral(float(after), PROBABILITY)
    last += unit
    if told.only_points:
        return f"{what} goes from {first} to {last}"
    interval = f"{told.interval} {low_text} to {high_text}"
    if not told.is_clear(change, 0.0):
        return f"{what} goes from {first} to {last} (change {size}, {interval})"
    if change.mean() > 0.0:
        return f"{what} rises from {first} to {last}, by {size} ({interval})"
    fall = f"{told.interval} {high_text.lstrip('−')} to {low_text.lstrip('−')}"
    return f"{what} falls from {first} to {last}, by {size.lstrip('−')} ({fall})"


def _ratio(width: Float[np.ndarray, "draws 2"], told: Told) -> str:
    """How many times as wide the middle 90 % becomes."""
    ratio = width[:, 1] / width[:, 0]
    low, high = np.quantile(ratio, tails(PROB))
    what, middle = f"its middle {percent(0.9)}", float(np.median(ratio))
    value = numeral(middle, significant([middle], 2))
    if np.allclose(ratio, 1.0):
        return f"{what} stays as wide"
    if told.only_points:
        return f"{what} becomes {value} times as wide"
    decimals = significant([float(high - low)], 2)
    ends = (numeral(float(low), decimals), numeral(float(high), decimals))
    interval = f"{told.interval} {' to '.join(ends)}"
    verb = "becomes" if told.is_clear(ratio, 1.0) else "is"
    return f"{what} {verb} {value} times as wide ({interval})"


def _turns(
    fit: AbstractFit, whole: Profile, ends: Profile, response: str, width: float
) -> list[str]:
    """Places between the ends at which the median is far below or above both."""
    if whole.covariate.discrete:
        return []
    units = fit.model.design.known_units
    low, high = ends.x
    median = whole.predictive(fit, response).quantile(np.array([0.5]))[0]
    between = (whole.x >= low) & (whole.x <= high)
    x, median = whole.x[between], median[between]
    if len(median) < 3:
        return []
    least, most = int(median.argmin()), int(median.argmax())
    told = [
        f"{verb} to {measured(numeral(float(median[at])), response, units)} "
        f"(near {_place(fit, whole.covariate.name, float(x[at]))})"
        for at, beyond, verb in (
            (least, min(median[0], median[-1]) - median[least], "falls"),
            (most, median[most] - max(median[0], median[-1]), "rises"),
        )
        if beyond > BEYOND * width
    ]
    return [f"In between the median {' and '.join(told)}."] if told else []


def _place(fit: AbstractFit, name: str, value: float) -> str:
    """A value of a covariate: with its unit, or a date."""
    design = fit.model.design
    if name in design.dates:
        return value_text(design.date_of(name, value))
    return measured(numeral(value), name, design.known_units)


def _of_classes(fit: AbstractFit, section: Summary) -> list[str]:
    """How the probability of the class that changes most does so."""
    along = section["along"]
    response = fit.model.design.response_names[0]
    if along is None:
        return [f"No covariate changes the probabilities of {response}."]
    whole = profile(fit, along)
    mean = probabilities(fit, whole)
    if whole.covariate.discrete:
        most = int(np.ptp(mean, axis=0).argmax())
        two = [whole.values[int(mean[:, most].argmin())], whole.values[int(mean[:, most].argmax())]]
    else:
        two = _places(fit.model.design.frame, along)
    ends = profile(fit, along, two)
    levels = fit.model.design.class_labels
    draws = np.moveaxis(drawn_probabilities(fit, ends, MOST_DRAWS), 1, 2)
    k = int(np.abs(draws[:, 1] - draws[:, 0]).mean(axis=0).argmax())
    what = f"the probability of {response} = {levels[k]}"
    lead = _lead(fit, ends)
    return [f"{lead} {_difference(draws[:, :, k], what, _told(fit, whole))}."]


def _of_groups(fit: AbstractFit, section: Summary) -> list[str]:
    """How many components hold rows, and the largest."""
    frame = fit.components()
    held = int((frame["rows"] > 0).sum())
    first = frame.iloc[0]
    low, high = float(first["share_lower"]), float(first["share_upper"])
    told = (
        "" if fit.only_points else f" ({percent(PROB)} interval {percent(low)} to {percent(high)})"
    )
    verb = "holds" if held == 1 else "hold"
    share = percent(float(first["share"]))
    if len(frame) == 1:
        return [f"One component describes all {section['n_variables']} variables together."]
    which = _of_all(held, len(frame))
    return [f"{which} {verb} rows; the largest has {share} of them{told}."]


def _of_all(number: int, whole: int) -> str:
    """So many of all components."""
    if number == whole > 1:
        return f"All {counted(whole, 'component')}"
    return f"Of {counted(whole, 'component')} {numeral(number)}"


def _of_scores(fit: AbstractFit, section: Summary) -> list[str]:
    """How much of the variance the components explain that carry signal."""
    frame = fit.components()
    effective = frame[frame["effective"]]
    if effective.empty:
        return ["No component stands out of the noise."]
    shares = effective["variance"].to_numpy(dtype=float)
    more = f", the first alone {percent(shares[0])}" if len(shares) > 1 else ""
    one = len(effective) == 1
    verbs = ("stands", "explains") if one else ("stand", "explain")
    return [
        f"{_of_all(len(effective), len(frame))} {verbs[0]} out of the noise and {verbs[1]} "
        f"{percent(shares.sum())} of the variance{more}."
    ]


def _of_a_sample(fit: AbstractFit, section: Summary) -> list[str]:
    """Mean and standard deviation with their intervals."""
    frame = coefficient_table(fit).droplevel(["component", "term"])
    name, told = fit.model.design.response_names[0], []
    for part, word in (("mu", "mean"), ("sigma", "standard deviation")):
        each = frame.loc[[part], ["mean", "lower", "upper"]].to_numpy(dtype=float)[0]
        mean, low, high = (numeral(float(one), significant(np.diff(each[1:]), 2)) for one in each)
        mean = measured(mean, name, fit.model.design.known_units)
        told.append(f"{word} {mean} ({percent(PROB)} interval {low} to {high})")
    return [f"{name} has {' and '.join(told)}."]


KINDS: dict[str, tuple[Callable[[AbstractFit, Summary], list[str]], str | None]] = {
    "conditional": (_of_numbers, "bands"),
    "classes": (_of_classes, "curves"),
    "pairs": (_of_groups, "pairs"),
    "scores": (_of_scores, "scores"),
    "exact": (_of_a_sample, None),
}
"""Section -> what makes its sentences, and the key of its picture if one says the same."""


def sentences(fit: AbstractFit) -> list[str]:
    """What the page says first, without its pictures; of several responses for each."""
    model = fit.model
    if regresses(fit):
        names = model.design.response_names
        sections = [{"name": name, "along": most_moving(fit, quantiles_moved, name)}
                    for name in names]  # fmt: skip
        return [one for section in sections for one in _of_numbers(fit, section)]
    if model.design.levels:
        return _of_classes(fit, {"along": most_moving(fit, probabilities_moved)})
    if isinstance(model, HasJointDensity):
        return _of_groups(fit, {"n_variables": len(model.variables)})
    if isinstance(model, HasScores):
        return _of_scores(fit, {})
    return _of_a_sample(fit, {}) if isinstance(model, HasExactPosterior) else []
