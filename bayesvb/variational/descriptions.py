"""Descriptions of gates, experts, and models: rows of the prior table, named parameters."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from bayesvb.numerics.arrays import DrawValues


@dataclass(frozen=True)
class PriorRow:
    """One row of the table of priors, in the units of the data.

    Attributes
    ----------
    part, term : str
        Part and term of the prior; ``term`` is empty for a part of one number.
    prior : str
        The distribution in words.
    centre, scale : float
        Centre and scale of the distribution; NaN if it has none.
    """

    part: str
    term: str
    prior: str
    centre: float
    scale: float


@dataclass(frozen=True)
class ParameterText:
    """Meaning of a parameter, in words for tables and reports.

    Attributes
    ----------
    symbol, meaning : str
        As in the table of parameters.
    heading, caption : str
        Of the table of its posterior.
    forest : bool
        Whether its intervals are drawn as well.
    identified : bool
        Whether single numbers of it mean something.
    ratio : str
        Name of the exponential of a number of it, such as odds ratio; empty if it has none.
    """

    symbol: str
    meaning: str
    heading: str
    caption: str
    forest: bool = False
    identified: bool = True
    ratio: str = ""


@dataclass(frozen=True)
class NamedParameter:
    """Draws of one parameter in the data's units.

    Attributes
    ----------
    name : str
    values : ndarray, shape (draws, ...)
    dims : tuple of str
        Names of the axes after the draws; an axis of components has a name that begins so.
    text : ParameterText or None
        None for a parameter that tables do not show.
    part : str
        Name of the parameter in tables.
    signed : bool
        Whether its sign is of interest.
    coords : mapping of str to sequence
        Labels along axes that only this parameter has.
    single : str
        What its numbers are if all draws share them, ``"fixed"`` or ``"point estimate"``: nothing
        is then said of their uncertainty. Empty where draws differ.
    """

    name: str
    values: DrawValues
    dims: tuple[str, ...]
    text: ParameterText | None = None
    part: str = ""
    signed: bool = False
    coords: Mapping[str, Sequence[object]] = field(default_factory=dict)
    single: str = ""

    @property
    def of_components(self) -> bool:
        """Whether each component has its own."""
        return bool(self.dims) and self.dims[0].startswith("component")

    @property
    def summary_words(self) -> str:
        """Meaning of the parameter, for the middle of a line, and whether it has an interval."""
        heading = "" if self.text is None else self.text.heading
        words = heading[:1].lower() + heading[1:]
        return f"{words}: {self.single}, no interval" if self.single else words
