"""What to do about a misfit, in the terms of the formula that was fitted."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from bayesvb.data.parts import GATING, MEAN, SIGMA, ZERO
from bayesvb.formula.limits import LIMITS as FORMULA
from bayesvb.results.groups import grouping_of
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LEVEL = re.compile(r"\[[^\[\]]*\]")
"""The level in the name of a column, ``[T.male]``."""

LOGGED = re.compile(r"\b(?:log\w*|arcsinh)\(")
"""A logarithm in a response: ``log``, ``log1p``, ``log10``, ``logit``, or a function like one."""


def written(name: str) -> str:
    """A column as a formula has it: in backquotes where it is no name.

    Examples
    --------
    >>> written("age"), written("Solar.R")
    ('age', '`Solar.R`')
    """
    return name if name.isidentifier() else f"`{name}`"


def code(term: str) -> str:
    """A term between backticks, two of them where it has some itself, as in Markdown."""
    return f"`` {term} ``" if "`" in term else f"`{term}`"


@dataclass(frozen=True)
class Remedies:
    """Remedies for one response of a fit.

    Parameters
    ----------
    fit : Fit
    response : str, optional
        Its name; the first one of the fit if left out.
    """

    fit: AbstractFit
    response: str | None = None

    def mean(self, name: str, *, distinct: int | None) -> str:
        """The mean misses something of a covariate: of a number, with so many distinct values."""
        if not self._reads(MEAN, name):
            return f"Add {code(written(name))} to the mean part of the formula."
        if self.fit.core.n_components > 1 and self._can_enter_the_weights(name):
            other = "" if distinct is None else f", or {self._bend(name, distinct)}"
            gating = code(f"gating({self._term(name)})")
            return f"Let the weights change with it, {gating}{other}."
        if distinct is None:
            return f"Let the weights change with it: fit {self._more()}{self._gate(name)}."
        bend = self._bend(name, distinct)
        return f"{bend[0].upper()}{bend[1:]}, or fit {self._more()}."

    def spread(self, name: str) -> str:
        """The spread changes with a covariate."""
        if self.fit.core.n_components > 1 and self._can_enter_the_weights(name):
            term = code(self._term(name))
            return f"Let the weights change with it: add {term} to `gating(...)`."
        if self._has_spread and not self._reads(SIGMA, name):
            how = "add the part" if SIGMA not in self.fit.model.formula.parts else "extend the part"
            return f"Let the spread change with it: {how} {code(f'sigma({self._term(name)})')}."
        if self._is_ordered:
            return f"Effects may differ between the levels: compare with {self._more()}."
        return f"Let the spread change with it: fit {self._more()}{self._gate(name)}."

    @property
    def _has_spread(self) -> bool:
        """Whether the family has the part sigma, of one response."""
        model = self.fit.model
        parts = getattr(getattr(model, "experts", None), "parts", ())
        return SIGMA in parts and len(model.observed()) == 1

    def product(self, one: str, other: str) -> str:
        """The mean misses a product of two covariates: of groups, a slope or their combinations."""
        design = self.fit.model.design
        if not {one, other} & design.groupings:
            return f"Add the interaction {code(f'{written(one)}:{written(other)}')} to the formula."
        if {one, other} <= design.by_levels:
            return f"Let combinations of groups differ: add `(1 | {one}:{other})`."
        number, group = (other, one) if one in design.groupings else (one, other)
        slope = f"(0 + {number} | {group})" if self._has_level(group) else f"({number} | {group})"
        return f"Let the effect of `{number}` differ between groups: add `{slope}`."

    def curved(self, numbers: Mapping[str, int]) -> str:
        """The mean misses something of what is predicted, of numbers with so many values."""
        straight = [
            name
            for name, distinct in numbers.items()
            if distinct >= FORMULA.few_levels and not self._curve(name)
        ]
        terms = "interactions"
        if straight:
            listed = ", ".join(code(f"s({written(name)})") for name in straight[: LIMITS.named])
            terms = f"{'a curve' if len(straight) == 1 else 'curves'}, {listed}"
            terms += ", ..." if len(straight) > LIMITS.named else ""
        log = self.log()
        return f"The mean is nonlinear in the prediction: add {terms}{log and f', or fit {log}'}."

    def fanned(self) -> str:
        """The spread changes with what is predicted."""
        log = self.log()
        other = f"{log and f'{log} or '}{self._wider()}"
        return f"The spread changes with the predicted mean: fit {other}."

    def skewed(self) -> str:
        """The noise is skewed."""
        log = self.log()
        return f"The noise is skewed: fit {log and f'{log} or '}{self._wider()}."

    def bounded(self, end: float, *, largest: bool) -> str:
        """Predictions reach beyond all responses: at the lower end a logarithm may help."""
        if largest:
            return f"Predictions exceed the largest response, {end:.4g}: fit {self._more()}."
        log = self.log()
        return (
            f"Predictions reach below the smallest response, {end:.4g}: fit "
            f"{log and f'{log} or '}{self._more()}."
        )

    def tails(self, kurtosis: float) -> str:
        """The tails of the noise are heavier, or lighter, than predicted."""
        if kurtosis < 0.0:
            return f"The noise has two humps or short tails: fit {self._more()}."
        described = self.fit.model.response
        at_hand = described.is_discrete or getattr(self.fit.model, "family", "") == "student"
        student = "" if at_hand else '`family="student"`, or '
        return f"The noise has heavy tails: fit {student}{self._wider()}."

    def shape(self) -> str:
        """The noise has another distribution."""
        return f"The noise has another shape: fit {self._wider()}."

    def width(self, sd: float) -> str:
        """Predictions for rows left out are too narrow or too wide."""
        if sd > 1.0 and self._is_poisson:
            return f"Counts vary more than predicted: fit {self._wider()}."
        if sd > 1.0:
            return (
                "Predictions are too narrow for rows left out: use fewer components or fewer terms."
            )
        return "Predictions are too wide: use fewer components, or priors that say more."

    def zeros(self, excess: float) -> str:
        """A count is zero more often, or less often, than predicted."""
        if excess < 0.0:
            return (
                f"There are fewer zeros than predicted: fit {self._more()}, unless rows with 0 "
                "were left out of the data."
            )
        part = f"{ZERO}(1)"
        add = f"add the part {code(part)}"
        if ZERO in self.fit.model.formula.parts:
            add = f"let structural zeros change with a covariate: {code(f'{ZERO}(...)')}"
        other = 'fit `family="negbinomial"`, or ' if self._is_poisson else ""
        return f"There are more zeros than predicted: {other}{add}."

    def log(self) -> str:
        """Logarithm of the response as code; empty where it has none, or is taken already."""
        if self.fit.model.response.is_discrete:
            return ""
        observed = self.fit.model.observed()
        name = next(iter(observed)) if self.response is None else self.response
        is_column = name in self.fit.model.design.frame
        if not (observed[name] > 0.0).all() or (not is_column and LOGGED.search(name)):
            return ""
        return code(f"log({written(name) if is_column else name})")

    @property
    def _is_ordered(self) -> bool:
        """Whether the response has ordered levels, of which a model has one component."""
        return bool(self.fit.model.response.order.values)

    @property
    def _is_poisson(self) -> bool:
        """Whether counts have a spread that their mean fixes, and another family frees it."""
        return getattr(self.fit.model, "family", "") == "poisson"

    def _wider(self) -> str:
        """The family with a dispersion, of counts that have none; else more components."""
        return '`family="negbinomial"`' if self._is_poisson else self._more()

    def _more(self) -> str:
        """More components, by the name of the argument; another family of ordered levels."""
        model = self.fit.model
        if self._is_ordered:
            other = "ordinal" if getattr(model, "family", "") == "sequential" else "sequential"
            return f'`family="{other}"`'
        if not hasattr(model, model.size_name):
            return "a mixture, as DensityRegression"
        return f"`{model.size_name}={max(model.size + 1, 3)}`"

    def _bend(self, name: str, distinct: int) -> str:
        """A curve for a number, or a better one."""
        if found := self._curve(name):
            return f"give {code(f'{found[1]}({written(name)}, ...)')} more degrees of freedom"
        if distinct < FORMULA.few_levels:
            return f"give each value of `{name}` its own mean, {code(f'C({written(name)})')}"
        few = "" if distinct >= FORMULA.knots else f", k={distinct}"
        return f"let the mean bend, {code(f's({written(name)}{few})')} for `{name}`"

    def _curve(self, name: str) -> re.Match[str] | None:
        """Where the mean has a curve of a number already."""
        curve = re.compile(rf"\b(b?s)\(`?{re.escape(name)}(?!\w)")
        found = (curve.search(term) for term in self.fit.model.design.terms[MEAN])
        return next((one for one in found if one is not None), None)

    def _has_level(self, group: str) -> bool:
        """Whether groups have a level of their own in the mean."""
        blocks = self.fit.model.design.term_blocks.values()
        return any(f"(1 | {group})" == block.name for part in blocks for block in part)

    def _gate(self, name: str) -> str:
        """The part of the weights to be fitted as well, if the column can enter it."""
        gating = code(f"gating({self._term(name)})")
        possible = not self._is_ordered and self._can_enter_the_weights(name)
        return f" and {gating}" if possible else ""

    def _can_enter_the_weights(self, name: str) -> bool:
        """Whether weights may depend on a column and do not: they are alike within a group."""
        model = self.fit.model
        grouping = grouping_of(model)
        if grouping is not None:
            values = model.design.frame[name].to_numpy(dtype=object)
            if (values != values[grouping.first][grouping.number]).any():
                return False
        return not self._reads(GATING, name)

    def _term(self, name: str) -> str:
        """The term that a column enters by: effects of groups if it is one of these elsewhere."""
        own = written(name)
        return f"(1 | {own})" if name in self.fit.model.design.groupings else own

    def _reads(self, part: str, name: str) -> bool:
        """Whether a part of the formula has a term of this column, not of one whose name has it."""
        if part == GATING and self.fit.core.n_components == 1:
            return False
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        terms = (LEVEL.sub("", term) for term in self.fit.model.design.terms.get(part, ()))
        return any(whole.search(term) is not None for term in terms)
