"""What to do about a misfit, in the terms of the formula that was fitted."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesvb.formula.smooth_terms import USUAL_KNOTS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

FEWEST_FOR_A_CURVE = 5
"""Distinct values below which a number is told of as a factor."""


@dataclass(frozen=True)
class Remedies:
    """Remedies for one fit.

    Parameters
    ----------
    fit : Fit
    """

    fit: AbstractFit

    def mean(self, name: str, *, distinct: int | None) -> str:
        """The mean misses something of a covariate: of a number, with so many distinct values."""
        if not self._reads("mean", name):
            return f"Add `{name}` to the mean part of the formula."
        if self.fit.core.n_components > 1 and not self._reads("gating", name):
            other = "" if distinct is None else f", or {self._bend(name, distinct)}"
            return f"Let the weights change with it, `gating({name})`{other}."
        if distinct is None:
            return f"Let the weights change with it: fit {self._more()} and `gating({name})`."
        bend = self._bend(name, distinct)
        return f"{bend[0].upper()}{bend[1:]}, or fit {self._more()}."

    def spread(self, name: str) -> str:
        """The spread changes with a covariate."""
        if self.fit.core.n_components > 1 and not self._reads("gating", name):
            return f"Let the weights change with it: add `{name}` to `gating(...)`."
        gate = "" if self._reads("gating", name) else f" and `gating({name})`"
        return f"Let the spread change with it: fit {self._more()}{gate}."

    def curved(self) -> str:
        """The mean misses something of what is predicted."""
        return (
            "The mean bends more than predicted: add terms such as `s(x)`, or transform the "
            "response, as in `log(y)`."
        )

    def fanned(self) -> str:
        """The spread changes with what is predicted."""
        return (
            f"The spread changes with the level: transform the response, as in `log(y)`, or fit "
            f"{self._more()}."
        )

    def skewed(self) -> str:
        """The noise is skewed."""
        more = self._more()
        return f"The noise is skewed: fit {more}, or transform the response (`log(y)` if positive)."

    def tails(self, kurtosis: float) -> str:
        """The tails of the noise are heavier, or lighter, than predicted."""
        if kurtosis < 0.0:
            return f"The noise has two humps or short tails: fit {self._more()}."
        student = "" if getattr(self.fit.model, "family", "") == "student" else (
            '`family="student"`, or '
        )  # fmt: skip
        return f"The noise has heavy tails: fit {student}{self._more()}."

    def shape(self) -> str:
        """The noise has another distribution."""
        return f"The noise has another shape: fit {self._more()}."

    def width(self, sd: float) -> str:
        """Predictions for rows left out are too narrow or too wide."""
        if sd > 1.0:
            return (
                "Predictions are too narrow for rows left out: use fewer components or fewer terms."
            )
        return "Predictions are too wide: use fewer components, or priors that say more."

    def _more(self) -> str:
        """More components, by the name of the argument."""
        model = self.fit.model
        if not hasattr(model, model.size_name):
            return "a mixture, as DensityRegression"
        return f"`{model.size_name}={max(model.size + 1, 3)}`"

    def _bend(self, name: str, distinct: int) -> str:
        """A curve for a number, or a better one."""
        curve = re.compile(rf"\b(b?s)\(`?{re.escape(name)}\b")
        for term in self.fit.model.design.terms["mean"]:
            if found := curve.search(term):
                return f"give `{found[1]}({name}, ...)` more degrees of freedom"
        if distinct < FEWEST_FOR_A_CURVE:
            return f"give each value of `{name}` its own mean, `C({name})`"
        few = "" if distinct >= USUAL_KNOTS else f", k={distinct}"
        return f"let the mean bend, `s({name}{few})` for `{name}`"

    def _reads(self, part: str, name: str) -> bool:
        """Whether a part of the formula has a term of this column."""
        return any(name in term for term in self.fit.model.design.terms.get(part, ()))
