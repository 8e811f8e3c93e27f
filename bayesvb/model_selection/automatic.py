"""A fit in one call: the response decides the family, leave-one-out the number of components."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.argument_checks import checked
from bayesvb.data.frame_kinds import frames_of
from bayesvb.data.frames import as_frame, kind_of, numbers
from bayesvb.data.parts import MEAN, PARTS, SIGMA, ZERO
from bayesvb.estimators import ConditionalMixtureNetwork, DensityRegression
from bayesvb.estimators.component_choice import margin_of_refits
from bayesvb.estimators.identification import MOST_COMPONENTS, SEVERAL, most_tried
from bayesvb.estimators.refitting import split_arguments
from bayesvb.evaluation.elpd import compare as compare_elpd
from bayesvb.formula.formula_changes import written
from bayesvb.formula.parser import RESPONSE, Formula, parse_formula
from bayesvb.results.comparison import compare
from bayesvb.results.criteria import elpd

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit

FAMILIES: Mapping[str, str] = {
    "cens": "gaussian",
    "Surv": "weibull",
    "rounded": "gaussian",
    "cbind": "binomial",
    "trials": "binomial",
}
"""Family of a response that is written as a call."""


@dataclass(frozen=True, kw_only=True)
class ResponseChoice:
    """Interpretation of a response.

    Attributes
    ----------
    reason : str
        Reason for the family.
    families : tuple of str
        Candidates, keys of ``EXPERTS``; none for unordered classes, which a network predicts.
    response : str or None
        Response of the formula that is fitted, where it is another one: of two classes an event.
    has_zeros : bool
        Whether the formula that is fitted has the terms of the mean in a part ``zero`` as well.
    """

    reason: str
    families: tuple[str, ...] = ()
    response: str | None = None
    has_zeros: bool = False

    @classmethod
    def from_column(cls, column: pd.Series, name: str) -> ResponseChoice:
        """Return the choice for a column of the data.

        Examples
        --------
        >>> ResponseChoice.from_column(pd.Series([0, 3, 1]), "n").families
        ('poisson', 'negbinomial')
        """
        values = column.dropna()
        ordered = isinstance(column.dtype, pd.CategoricalDtype) and column.cat.ordered
        if ordered:
            return cls(reason=f"{name} has ordered levels", families=("ordinal",))
        if kind_of(column, name) == "levels":
            classes = values.astype("category").cat.remove_unused_categories().cat.categories
            # A formula cannot hold a text with quotes; the network takes any levels.
            event = classes[1] if len(classes) == 2 else None
            if isinstance(event, str) and re.fullmatch(r"[^'\"\\\x00-\x1f]+", event):
                return cls._of_event(event, name)
            reason = f"{name} has {len(classes)} unordered classes; ordered=True in its "
            return cls(reason=reason + "pandas.Categorical would make the family 'ordinal'")
        present = numbers(values, name)
        if set(np.unique(present)) == {0.0, 1.0}:
            return cls(reason=f"{name} is 0 or 1", families=("bernoulli",))
        if (present == np.round(present)).all() and present.min(initial=1.0) == 0.0:
            families = ("poisson", "negbinomial")
            return cls(reason=f"{name} is a count: whole numbers from 0", families=families)
        different, counts = np.unique(present, return_counts=True)
        if different.min(initial=1.0) == 0.0 and counts[0] == counts.max() > 1:
            zeros = f"exactly 0 in {counts[0] / counts.sum():.0%} of the rows"
            reason = f"{name} is positive, or {zeros}; zero(...) has the terms of the mean"
            return cls(reason=reason, families=("gamma",), has_zeros=True)
        return cls(reason=f"{name} is numeric", families=("gaussian",))

    @classmethod
    def _of_event(cls, event: str, name: str) -> ResponseChoice:
        """Logistic regression of one of two classes."""
        reason = f"{name} has two classes; the event is {event!r}"
        return cls(
            reason=reason, families=("bernoulli",), response=f"I({written(name)} == {event!r})"
        )


@checked
def fit(
    formula: str,
    data: object,
    *,
    seed: int | None = None,
    quiet: bool = False,
    **options: object,
) -> Fit:
    """Fit a formula with a family and a number of components that suit the response.

    The response decides the family: ``cens`` and ``rounded`` Gaussian, ``Surv(time, event)``
    Weibull, ``Surv(log(time), event)`` Gaussian, successes in trials binomial; a column of 0 and 1
    Bernoulli, of two classes too, with the second as the event, of whole numbers from 0 Poisson or
    negative binomial, of ordered levels ordinal, of unordered classes a
    ``ConditionalMixtureNetwork``; positive amounts with repeated zeros gamma, with the terms of the
    mean in a part ``zero(...)``, unless the formula has ``gating(...)`` or ``sigma(...)``; all
    other numbers Gaussian, or gamma if the formula has a part ``zero(...)``. A Gaussian response
    without group-level terms has one to five components, all others one. Where there are
    candidates, leave-one-out densities decide, as in ``select`` and ``compare``; numbers of
    components are tried in order, until two in a row do not gain 4 nats.

    Parameters
    ----------
    formula : str
        As of ``DensityRegression``.
    data : table
        As of ``DensityRegression``. A numeric response of data that are not in memory is taken as
        Gaussian.
    seed : int, optional
        Seed of every fit; by default a new one is drawn.
    quiet : bool
        Suppress the printed choice and its reasons.
    **options
        Arguments of the model, as ``n_components=2`` or ``family="student"``, which are then not
        chosen, and of ``model.fit``, as ``restarts=4``.

    Returns
    -------
    Fit
        ``fit.code()`` has the lines of Python that make it without this function.

    Raises
    ------
    FormulaError, DataError
        As by the model.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> fit = bvb.fit("waiting ~ 1", data, seed=1, restarts=2)
    Family: gaussian, because waiting is numeric.
    Components: 2, the fewest with a leave-one-out density near the largest; at most 5 are tried.
    To choose yourself: family=, n_components=; the same model: fit.code().
    """
    choice = _choice(formula, data, options)
    if choice.response is not None:
        formula = "~".join([f"{choice.response} ", *formula.split("~")[1:]])
    if choice.has_zeros:
        formula += f" | zero({_read(formula).parts[MEAN]})"
    fitted, lines = _fitted(formula, data, choice, {**options, "seed": seed})
    if not quiet:
        print("\n".join(lines))
    return fitted


def _choice(formula: str, data: object, options: Mapping[str, object]) -> ResponseChoice:
    """Interpretation of the response, unless the family is given."""
    if "family" in options:
        return ResponseChoice(reason="it was given", families=(str(options["family"]),))
    read = _read(formula)
    call, text = read.read[RESPONSE].call, str(read.response)
    if call is not None:
        if call.form.name == "Surv" and re.search(r"\blog\w*\(", call.texts[0]):
            return ResponseChoice(reason=f"{call.texts[0]} is numeric", families=("gaussian",))
        reason = f"the response is written as {call.form.name}(...)"
        return ResponseChoice(reason=reason, families=(FAMILIES[call.form.name],))
    choice = _of_values(text, data)
    is_amount = choice.has_zeros or choice.families == ("gaussian",)
    if ZERO in read.parts and is_amount:
        return ResponseChoice(reason="the formula has the part zero(...)", families=("gamma",))
    if choice.has_zeros and (SIGMA in read.parts or read.gating_given):
        return ResponseChoice(reason=f"{text} is numeric", families=("gaussian",))
    return choice


def _read(formula: str) -> Formula:
    """Parts of the formula of a density regression."""
    return parse_formula(formula, parts=tuple(PARTS), offset=True, calls=True)


def _of_values(text: str, data: object) -> ResponseChoice:
    """Interpretation of a response by its values, where the data hold it."""
    if frames_of(data) is not None:
        return ResponseChoice(reason="the data are not in memory", families=("gaussian",))
    name, frame = text.strip("`"), as_frame(data)
    if name in frame:
        return ResponseChoice.from_column(frame[name], name)
    return ResponseChoice(reason=f"{text} is numeric", families=("gaussian",))


def _fitted(
    formula: str, data: object, choice: ResponseChoice, options: Mapping[str, object]
) -> tuple[Fit, list[str]]:
    """The fit, and the printed lines on the choice."""
    if not choice.families:
        fitted = _made(ConditionalMixtureNetwork, formula, data, options)
        return fitted, [f"Model: ConditionalMixtureNetwork, because {choice.reason}."]
    ways = "To choose yourself: family=, n_components=; the same model: fit.code()."
    options = {"n_components": None, **options}
    fits = {
        family: _made(DensityRegression, formula, data, {**options, "family": family})
        for family in choice.families
    }
    best = _best_family(fits) if len(fits) > 1 else choice.families[0]
    reason = f"Family: {best}, because {choice.reason}"
    if len(fits) > 1:
        reason += "; its leave-one-out density is the largest of " + ", ".join(fits)
    chosen = fits[best]
    return chosen, [f"{reason}.", f"Components: {_why(chosen, options['n_components'])}.", ways]


def _best_family(fits: Mapping[str, Fit]) -> str:
    """Name of the fit with the largest leave-one-out density, with refits where these may decide.

    As in ``choose_components``, slow refits are not made otherwise.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rows that need refits
        table = compare_elpd({name: elpd(fit, refits=False) for name, fit in fits.items()})
    close = table["elpd_diff"].abs() < margin_of_refits(table["dse"])
    if close.sum() > 1:  # the first has a difference of zero
        table = compare(fits)
    return str(table.index[0])


def _why(fit: Fit, given: object) -> str:
    """Number of components of a fit, with the reason unless it was given."""
    number = getattr(fit.model, "n_components", 1)
    if given is not None:
        return f"{number}"
    if fit.model.design.groupings:
        return f"{number}, as the formula has group-level effects"
    if getattr(fit.model, "family", "") not in SEVERAL:
        return f"{number}"
    return (
        f"{number}, the fewest with a leave-one-out density near the largest; at most "
        f"{most_tried(fit.model.design, MOST_COMPONENTS)} are tried"
    )


def _made(kind: type[Any], formula: str, data: object, options: Mapping[str, object]) -> Fit:
    """The fit of a model of this class."""
    of_model, of_fit = split_arguments(kind, options)
    made: Fit = kind(formula, data, **of_model).fit(**of_fit)
    return made
