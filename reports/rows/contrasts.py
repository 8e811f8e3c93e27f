"""Average contrasts of every covariate: the numbers of the first sentence and of each table.

The sentence, the panel of effects next to the picture and the table of all effects are written from
one object, so that they agree to the last digit.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.effects.covariates import value_text

from ..cells.numerals import percent
from .average_effects import (
    ENDS,
    Change,
    Reach,
    average_draws,
    changes,
    changes_by_row,
    compares_levels,
    probabilities_by_row,
    reached_values,
    rows_averaged,
    rows_words,
    targets_of,
)
from .profiles import (
    Measure,
    compared,
    labels,
    means_moved,
    most_moving,
    moved_along,
)

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

BENT = 2.0
"""Range of the mean of single rows, in average changes, from which the range counts."""

MOST_LEVELS = 8
"""Levels of a covariate from which on only the two at the ends are shown."""

ERROR = 0.05
"""Probability of a direction stated for a response that no covariate changes."""


@dataclass(frozen=True, kw_only=True)
class Contrast:
    """Average change of one response between two values of a covariate.

    Attributes
    ----------
    covariate : str
    ends : tuple of two values
    words : tuple of two str
        The values in words, numbers without their unit.
    discrete : bool
        Whether levels are compared.
    n_values : int
        Values of the covariate that are compared with one another.
    reach : {"all", "shortened", "extrapolated"}
        Whether the values are nearer to the middle than others, as more than a third of the rows
        would be extrapolations at those, or such values nevertheless.
    response : int
        Position among the responses.
    changes : tuple of Change
        Mean and standard deviation; of a categorical response the probability of each level.
    draws : mapping of str to array, shape (draws, 2, entries)
        Average predictions at both values, by target.
    error : float
        Probability outside of the interval that has to exclude 0 for a direction: ``ERROR``
        divided by the number of contrasts from which the largest is chosen (Bonferroni).
    by_row : callable
        Returns ``row_signs`` of the change of the target ``"mean"`` or ``"probability"``, for each
        row and entry.
    """

    covariate: str
    ends: tuple[object, object]
    words: tuple[str, str]
    discrete: bool
    n_values: int
    reach: Reach = "all"
    response: int
    changes: tuple[Change, ...]
    draws: Mapping[str, Float[np.ndarray, "draws 2 entries"]]
    error: float
    by_row: Callable[[], Float[np.ndarray, "4 rows entries"]] = field(compare=False, repr=False)

    @property
    def size(self) -> float:
        """Largest change of a mean, a standard deviation or a probability."""
        return max(abs(one.estimate) for one in self.changes)

    @property
    def of_mean(self) -> Change:
        """Change of the mean, or of the probability that changes most; a clear one if any is."""
        stated = [one for one in self.changes if one.target != "sd"]
        return max(stated, key=lambda one: (one.is_clear, abs(one.estimate)))


def contrasts(fit: AbstractFit) -> tuple[Contrast, ...]:
    """Contrasts of all covariates that are compared, in the order of the formula.

    Levels are compared with the most frequent one; of a number two round values near its 10% and
    90% quantiles. The fit keeps them.
    """
    return fit.cache.once("average contrasts", partial(_computed, fit))


def averaged_words(fit: AbstractFit) -> str:
    """Over which rows, and between which values, contrasts are averages."""
    ends = " and ".join(percent(end) for end in ENDS)
    several = len(fit.model.design.covariates) > 1
    others = ", with the other covariates as observed" if several else ""
    text = (
        f"averages over {rows_words(fit, rows_averaged(fit))}{others}; numeric covariates go "
        f"between round values near their {ends} quantiles"
    )
    if any(one.reach == "shortened" for one in contrasts(fit)):
        text += ", less far where more than a third of the rows would be extrapolations"
    if any(one.discrete and one.n_values > MOST_LEVELS for one in contrasts(fit)):
        text += f"; of more than {MOST_LEVELS} levels those with the largest and the smallest"
    return text


def main_covariate(fit: AbstractFit, measure: Measure, response: str | None = None) -> str | None:
    """Covariate with the largest clear change of the mean of a response, or of a probability.

    The mean of single rows may move much farther than the average between the two values, in a
    curve that turns or if the effect depends on another covariate: then its range counts. If no
    change is clear, it is the covariate with the largest change of the measure. Covariates whose
    contrast is an extrapolation are chosen last, except for classes, for which
    the observed proportions are stated.
    """
    names = fit.model.design.response_names
    number = names.index(response) if response else 0
    known = [one for one in contrasts(fit) if one.response == number]
    far = {one.covariate for one in known if one.reach == "extrapolated"}
    far = set() if fit.model.response.is_categorical else far
    near = [one for one in known if one.covariate not in far] or known
    sizes: dict[str, float] = {}
    for one in near:
        change = one.of_mean
        if (size := _moved_by(fit, one, change, measure, names[number])) or change.is_clear:
            sizes[one.covariate] = max(size, abs(change.estimate), sizes.get(one.covariate, 0.0))
    if sizes:
        return max(sizes, key=lambda name: sizes[name])
    return most_moving(fit, measure, response, without=far)


def is_extrapolated(fit: AbstractFit, name: str) -> bool:
    """Whether the contrasts of a covariate go to values that are extrapolations for many rows."""
    return any(one.covariate == name and one.reach == "extrapolated" for one in contrasts(fit))


def _moved_by(
    fit: AbstractFit, one: Contrast, change: Change, measure: Measure, response: str
) -> float:
    """Range of the mean of single rows if it is far more than the average change; 0 otherwise."""
    if one.discrete:
        return 0.0
    of_mean = measure if fit.model.response.is_categorical else means_moved
    moved = moved_along(fit, one.covariate, of_mean, response)
    least = max(BENT * abs(change.estimate), change.upper - change.lower)
    return moved if moved > least else 0.0


def by_size(fit: AbstractFit) -> list[Contrast]:
    """The contrasts, the covariate with the largest change first; its levels in order.

    Of more than ``MOST_LEVELS`` levels the two with the largest and the smallest response.
    """
    own: dict[str, list[Contrast]] = {}
    for one in contrasts(fit):
        own.setdefault(one.covariate, []).append(one)
    largest = sorted(own.values(), key=lambda each: -max(one.size for one in each))
    return [one for each in largest for one in _of_few_levels(each)]


def _of_few_levels(own: Sequence[Contrast]) -> list[Contrast]:
    """Contrasts of a covariate, of many levels those at both ends for each response."""
    if not own[0].discrete or own[0].n_values <= MOST_LEVELS:
        return list(own)
    kept = []
    for response in dict.fromkeys(one.response for one in own):
        each = [one for one in own if one.response == response]
        sizes = [one.of_mean.estimate for one in each]
        kept += [each[at] for at in sorted({int(np.argmin(sizes)), int(np.argmax(sizes))})]
    return kept


def _computed(fit: AbstractFit) -> tuple[Contrast, ...]:
    names = compared(fit.model.design)
    return tuple(one for name in names for one in _of_covariate(fit, name, len(names)))


def _of_covariate(fit: AbstractFit, name: str, n_covariates: int) -> Iterator[Contrast]:
    design, (values, reach) = fit.model.design, reached_values(fit, name)
    if len(values) < 2:
        return
    n_chosen_from = n_covariates * (len(values) - 1) * max(len(design.levels or ()) - 1, 1)
    signs = None
    if fit.model.response.is_categorical:
        found, signs = probabilities_by_row(fit, name, values, ERROR / n_chosen_from)
        draws: Mapping[str, Float[np.ndarray, "draws values responses entries"]]
        draws = {"probability": found}
    else:
        draws = average_draws(fit, name, values, targets_of(fit))
    if not draws:
        return
    error = ERROR / (n_chosen_from * len(draws))
    target = next((key for key in draws if key != "sd"), "sd")
    texts = labels(values)
    if name in design.dates:
        texts = [value_text(design.date_of(name, value)) for value in values]
    for place in range(1, len(values)):
        for response in range(len(design.response_names)):
            ends = (values[0], values[place])
            by_row = partial(changes_by_row, fit, name, ends, (target, response), error)
            yield Contrast(
                covariate=name,
                ends=ends,
                words=(texts[0], texts[place]),
                discrete=compares_levels(design, name),
                n_values=len(values),
                reach=reach,
                response=response,
                changes=tuple(changes(fit, draws, (0, place), response)),
                draws={key: one[:, [0, place], response] for key, one in draws.items()},
                error=error,
                by_row=by_row if signs is None else partial(np.asarray, signs[:, place]),
            )
