"""Choices of the author of a report, and whether they fit the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from bayesvb.data.frames import nearest
from bayesvb.errors import DataError
from bayesvb.results.base import AbstractFit, with_fields

from .rows.profiles import compared


@dataclass(frozen=True, kw_only=True)
class Choices:
    """Choices of the author of a report.

    ``bvb.report``, ``Fit.report`` and the command line spell these arguments out, so that help and
    completion show them and an error names the wrong one; they meet here.

    Attributes
    ----------
    edition : {"short", "full"} or None
        What follows after two printed pages: nothing, or the full edition, open; None for closed.
    question : str or None
        Heading instead of the question made from the names of the columns.
    along : str or None
        Covariate of the main result and the picture, instead of the one with the largest change.
    labels : mapping of str to str
        Labels of columns, instead of their names.
    source : str or None
        Where the data come from, for the line on the data.
    notes : sequence of str
        Remarks, in the section on limits.
    date : str or None
        Shown as it is.
    """

    edition: str | None = None
    question: str | None = None
    along: str | None = None
    labels: Mapping[str, str] | None = None
    source: str | None = None
    notes: Sequence[str] = ()
    date: str | None = None


UNCHOSEN = Choices()
"""A page as it is made where nothing was chosen."""


def along_of(fit: AbstractFit, along: str | None) -> str | None:
    """The requested covariate, if this fit has it."""
    return along if along in compared(fit.model.design) else None


def check_along(fits: Sequence[AbstractFit], along: str | None) -> None:
    """Raise if no fit has the covariate.

    Raises
    ------
    DataError
        With the names of the covariates that there are.
    """
    known = list(dict.fromkeys(name for fit in fits for name in compared(fit.model.design)))
    if along is None or along in known:
        return
    hint = nearest(along[:80], known) if known else "the model has no covariate: omit `along`"
    raise DataError(f"along={along[:80]!r} is not a covariate of the fit", hint=hint)


def labelled_fits(
    fits: Mapping[str, AbstractFit], labels: Mapping[str, str] | None
) -> dict[str, AbstractFit]:
    """The fits with labels of their columns; those that a fit does not use do not concern it.

    Raises
    ------
    DataError
        If no fit reads a column, or a label is empty.
    """
    if not labels:
        return dict(fits)
    known = list(dict.fromkeys(name for fit in fits.values() for name in _columns(fit)))
    for name, label in labels.items():
        if name not in known:
            what = f"labels: the formula does not use {name[:80]!r}"
            raise DataError(what, hint=nearest(name[:80], known))
        if not label.strip():
            raise DataError(
                f"labels: the label of {name[:80]!r} is empty",
                hint="write a label, or omit the column",
            )
    return {name: _labelled(fit, labels) for name, fit in fits.items()}


def _columns(fit: AbstractFit) -> list[str]:
    """Names in the report of a fit: its columns, and transformed responses."""
    design = fit.model.design
    return [*map(str, design.frame.columns), *design.response_names, *fit.model.observed()]


def _labelled(fit: AbstractFit, labels: Mapping[str, str]) -> AbstractFit:
    """A fit whose page has labels; it keeps what this one has computed, which has no words."""
    known: dict[tuple[tuple[str, str], ...], AbstractFit] = fit.cache.once("labelled fits", dict)
    key = tuple(sorted(labels.items()))
    if key not in known:
        design = replace(fit.model.design, labels=dict(labels))
        known[key] = replace(fit, model=with_fields(fit.model, design=design))
        known[key].cache.take(fit.cache, but=("report parts", "labelled fits", "prior table"))
    return known[key]
