"""Description of a part: the terms on which one aspect of the response's distribution depends."""

from __future__ import annotations

from dataclasses import dataclass

BETWEEN_GROUPS = "between groups"
"""Dimension over which the coefficients of group-level terms vary, if there is one component."""


@dataclass(frozen=True, kw_only=True)
class Part:
    """Part of a formula, ``gating`` of ``y ~ x | gating(z)``.

    Attributes
    ----------
    name : str
        Name in formulas, of the design in a block and, unless ``table`` says otherwise, in tables
        of coefficients and priors.
    synonyms : tuple of str
        Words for which the parser suggests this part.
    default : str or None
        Part whose terms it has where a formula does not write it. None: it is then absent.
    of_weights : bool
        Whether a gate reads it, hence only models with two components or more; else the experts do.
    coefficients : str
        Name of the drawn coefficients of its terms, in the units of the data.
    coefficient_sd : str
        Field of the priors with the standard deviation of these coefficients, of a part that the
        experts read besides the mean.
    table : str
        Name in tables of coefficients and priors if ``name`` is used for another parameter.
    has_level : bool
        Whether its level is a parameter of its own. Blocks then hold its columns without the
        intercept, which centres them.
    is_common : bool
        Whether components have its coefficients in common.
    scale : str
        Title in tables of the learned prior scales of its terms; empty if scales are fixed.
    scale_meaning : str
        Coefficients of which such a scale is the standard deviation, for the heading of their
        table, with ``{varying}`` and ``{units}`` as in ``scale_heading``.
    scale_rate : str
        Field of the priors with the rate of the inverse squares of these scales.
    """

    name: str
    synonyms: tuple[str, ...] = ()
    default: str | None = None
    of_weights: bool = False
    coefficients: str
    coefficient_sd: str = ""
    table: str = ""
    has_level: bool = False
    is_common: bool = False
    scale: str = ""
    scale_meaning: str = ""
    scale_rate: str = ""

    @property
    def label(self) -> str:
        """Name in tables of coefficients and priors."""
        return self.table or self.name

    def scale_heading(self, varying: str, units: str) -> str:
        """Heading of the table of learned prior scales.

        Parameters
        ----------
        varying : str
            Dimension over which the coefficients of a term vary, as "over components".
        units : str
            Units of the coefficients of the mean.
        """
        meaning = self.scale_meaning.format(varying=varying, units=units)
        if varying == BETWEEN_GROUPS:
            return f"{self.scale} (sd of {meaning}; of slopes, per sd of the covariate)"
        return f"{self.scale} (prior sd of {meaning} per sd of the column)"
