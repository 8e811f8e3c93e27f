"""Messages between the page and the processes of its fits: small, plain, with drawings as HTML.

The page holds no fit and draws nothing: this module imports neither engines nor reports, so that
only the processes of the fits have them in memory.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from bayesvb.interactive.remedies import Remedy
from bayesvb.results.checks.base import Check

FORMATS = {"HTML": ".html", "Markdown": ".md"}
"""Endings of the files of a report by their name on the page."""


@dataclass(frozen=True, kw_only=True)
class Control:
    """Control for the value of one covariate.

    Attributes
    ----------
    name : str
    label : str
        Label of the column with its unit.
    kind : {"number", "level", "date"}
    value : str
        Value with which the control begins: the median, or the most frequent level.
    low, high, step : str
        Range of a number or of a date; empty for levels.
    levels : tuple of str
    """

    name: str
    label: str
    kind: Literal["number", "level", "date"]
    value: str
    low: str = ""
    high: str = ""
    step: str = ""
    levels: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class PictureNumbers:
    """A table of text.

    Attributes
    ----------
    caption : str
    titles : tuple of str
    rows : tuple of tuple of str
        Each begins with the value of the covariate.
    """

    caption: str
    titles: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]


@dataclass(frozen=True, kw_only=True)
class Picture:
    """Main result of a report of a fit.

    Attributes
    ----------
    figure : str
        HTML; empty if there is none.
    sentences : tuple of str
    along : str
        Covariate along which it is drawn; empty if there is none.
    covariates : tuple of str
        Along which it can be drawn.
    numbers : PictureNumbers or None
        The same as a table.
    """

    figure: str
    sentences: tuple[str, ...]
    along: str
    covariates: tuple[str, ...]
    numbers: PictureNumbers | None = None


@dataclass(frozen=True, kw_only=True)
class Progress:
    """Progress of a full fit: the number of its restart, from 1, and the iterations so far."""

    restart: int
    iteration: int


@dataclass(frozen=True, kw_only=True)
class Shown:
    """The picture of a fit.

    Attributes
    ----------
    picture : Picture
    n_rows : int
        Rows that were fitted.
    seconds : float
        From the start of the task.
    cpu : float
        CPU time of the process until then, s.
    notes : tuple of str
        Warnings.
    controls : tuple of Control
        Controls for the covariates.
    """

    picture: Picture
    n_rows: int
    seconds: float
    cpu: float
    notes: tuple[str, ...]
    controls: tuple[Control, ...] = ()


@dataclass(frozen=True, kw_only=True)
class Judged:
    """The checks of a fit.

    Attributes
    ----------
    verdict : str
        Their worst grade.
    checks : tuple of Check
    remedies : mapping
        Changes that are proposed, by the name of the check.
    sentences : tuple of str
        First sentences of the report, with the wording that the checks allow.
    panels : tuple of str
        Panels of the report as HTML: the largest effects.
    seconds : float
        From the start of the task.
    """

    verdict: str
    checks: tuple[Check, ...]
    remedies: dict[str, list[Remedy]]
    sentences: tuple[str, ...]
    panels: tuple[str, ...]
    seconds: float


@dataclass(frozen=True, kw_only=True)
class Failed:
    """An error in words, and what to do; ``stopped`` if it was an interrupt."""

    message: str
    hint: str = ""
    stopped: bool = False


@dataclass(frozen=True, kw_only=True)
class Along:
    """Question for the picture along another covariate."""

    along: str


@dataclass(frozen=True, kw_only=True)
class ComponentTables:
    """Components and parameters of a fit as HTML.

    Attributes
    ----------
    components : str
        Section of the report; empty for a model of one component.
    parameters : str
        Table of all parameters with their intervals.
    """

    components: str
    parameters: str


@dataclass(frozen=True, kw_only=True)
class Components:
    """Question for the components and the parameters."""


@dataclass(frozen=True, kw_only=True)
class Quantity:
    """A property of the predictive distribution with its 89% credible interval, as text."""

    name: str
    value: str
    interval: str


@dataclass(frozen=True, kw_only=True)
class Prediction:
    """Predictive distribution of one response.

    Attributes
    ----------
    response : str
    sentence : str
        Central intervals of a new observation; empty for levels and for zeros and ones.
    quantities : tuple of Quantity
    figure : str
        Its density, or probabilities of counts, as HTML; empty if it has none.
    """

    response: str
    sentence: str
    quantities: tuple[Quantity, ...]
    figure: str


@dataclass(frozen=True, kw_only=True)
class Predicted:
    """Answer to ``WhatIf``.

    Attributes
    ----------
    values : Mapping of str to str
        Values of the question.
    predictions : tuple of Prediction
        One for each response.
    notes : tuple of str
        Warning of an extrapolation, and the meaning of a prediction for a new group.
    """

    values: Mapping[str, str]
    predictions: tuple[Prediction, ...]
    notes: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class WhatIf:
    """Question for the predictive distribution of one row.

    Attributes
    ----------
    values : Mapping of str to str
        Values by covariate; a covariate without one has its typical value.
    above : str
        Value of the response of which the probability of more is computed; empty for none.
    """

    values: Mapping[str, str]
    above: str = ""


@dataclass(frozen=True, kw_only=True)
class Preview:
    """Short edition of a report.

    Attributes
    ----------
    path : Path
        File of the fit.
    html : str
        A document of its own, without scripts.
    """

    path: Path
    html: str


@dataclass(frozen=True, kw_only=True)
class Written:
    """Report of the fit in this file, with all formats in the same folder."""

    path: Path
