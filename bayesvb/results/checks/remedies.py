"""Remedies of a misfit, in the terms of the formula that was fitted."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.line_width import number_text
from bayesvb.data.parts import GATING, MEAN, SIGMA, ZERO
from bayesvb.formula.formula_changes import listed_terms, written
from bayesvb.formula.group_columns import MOST_CORRELATED
from bayesvb.formula.limits import LIMITS as FORMULA
from bayesvb.formula.parser import RESPONSE
from bayesvb.results.checks.edits import Edit, Remedy, code
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LEVEL = re.compile(r"\[[^\[\]]*\]")
"""The level in the name of a column, ``[T.male]``."""

LOGGED = re.compile(r"\b(?:log\w*|arcsinh)\(")
"""A logarithm in a response: ``log``, ``log1p``, ``log10``, ``logit``, or a function like one."""


STUDENT, DISPERSED = Edit(options={"family": "student"}), Edit(options={"family": "negbinomial"})
HURDLE = Edit(options={"family": "gamma"}, part=ZERO, terms=("1",))
WEIBULL = Edit(options={"family": "weibull"})
"""Families with heavier tails, of counts with a dispersion, of amounts with zeros, of durations."""

ROW_EFFECTS = "an effect of each row, `(1 | row)` with a column `row` that numbers the rows"
"""Model of successes that vary more than binomial ones (as in the help of lme4's ``cbpp``)."""

NONE_BETTER = (
    'one more component does not predict better; `fit.with_covariance("robust")` has intervals '
    "that allow for it"
)
"""Remedy where no other model helps."""


def _curve_of(term: str, distinct: int) -> str:
    """Curve of a column, whose knots are at most its distinct values."""
    return f"s({term})" if distinct >= FORMULA.knots else f"s({term}, k={distinct})"


@dataclass(frozen=True)
class Remedies:
    """Remedies for one response of a fit.

    Parameters
    ----------
    fit : Fit
    response : str, optional
        Name of the response; by default the first one of the fit.
    may_split : bool
        Whether remedies name more components: not where one more was tried and does not help.
    """

    fit: AbstractFit
    response: str | None = None
    may_split: bool = True

    def mean(self, name: str, *, distinct: int | None) -> Remedy:
        """The mean misses a nonlinear effect of a covariate with this number of distinct values."""
        if not self._reads(MEAN, name):
            term = Edit(part=MEAN, terms=(written(name),))
            return Remedy.of("Add ", term, " to the mean part of the formula.")
        if self.fit.core.n_components > 1 and self._can_enter_the_weights(name):
            other = () if distinct is None else (", or ", self._bend(name, distinct))
            gating = Edit(part=GATING, terms=(self._term(name),))
            return Remedy.of("Let the weights change with it, ", gating, *other, ".")
        if distinct is None:
            more = self._more(gate=name)
            if more is None:
                return Remedy.of("Add interactions.")
            return Remedy.of("Let the weights change with it: fit ", more, ".")
        words, edit = self._bend(name, distinct)
        bend = words[0].upper() + words[1:]
        more = self._more()
        start: str | tuple[str, Edit] = (bend, edit) if edit else bend
        if more is None:
            return Remedy.of(start, ".")
        return Remedy.of(start, ", or fit ", more, ".")

    def spread(self, name: str) -> Remedy:
        """The spread changes with a covariate."""
        term = self._term(name)
        if self.fit.core.n_components > 1 and self._can_enter_the_weights(name):
            add = f"add {code(term)} to `gating(...)`", Edit(part=GATING, terms=(term,))
            return Remedy.of(f"The spread changes with `{name}`: ", add, ".")
        if self._has_spread and not self._reads(SIGMA, name):
            how = "add the part" if SIGMA not in self.fit.model.formula.parts else "extend the part"
            sigma = Edit(part=SIGMA, terms=(term,))
            return Remedy.of(f"The spread changes with `{name}`: {how} ", sigma, ".")
        if self._is_ordered:
            other = self._fit(self._more(), start="compare with ")
            return Remedy.of("Effects may differ between the levels: ", *other, ".")
        more = self._fit(self._wider(gate=name))
        return Remedy.of(f"The spread changes with `{name}`: ", *more, ".")

    @property
    def _has_spread(self) -> bool:
        """Whether the family has the part sigma, of one response."""
        model = self.fit.model
        parts = getattr(getattr(model, "experts", None), "parts", ())
        return SIGMA in parts and len(model.observed()) == 1

    def product(self, one: str, other: str) -> Remedy:
        """The mean misses a product of two covariates: of groups, a slope or their combinations."""
        design, add = self.fit.model.design, partial(Edit, part=MEAN)
        if not {one, other} & design.groupings:
            product = add(terms=(f"{written(one)}:{written(other)}",))
            return Remedy.of("Add the interaction ", product, " to the formula.")
        if {one, other} <= design.by_levels:
            groups = add(terms=(f"(1 | {written(one)}:{written(other)})",))
            factor, group = (other, one) if one in design.groupings else (one, other)
            if factor in design.groupings or not self._can_correlate(factor, group):
                return Remedy.of("Let combinations of groups differ: add ", groups, ".")
            term, level = (f"({left} | {written(group)})" for left in (written(factor), "1"))
            correlated = add(terms=(term,), replaced=(level,))
            words = f"replace {code(level)} by {code(term)}", correlated
            return Remedy.of(
                f"Let the effect of `{factor}` differ between groups: add ",
                groups,
                ", or ",
                words,
                ".",
            )
        number, group = (other, one) if one in design.groupings else (one, other)
        level = "0 + " if self._has_level(group) else ""
        slope = add(terms=(f"({level}{written(number)} | {written(group)})",))
        return Remedy.of(f"Let the effect of `{number}` differ between groups: add ", slope, ".")

    def curved(self, numbers: Mapping[str, int], *, convex: bool = True) -> Remedy:
        """The mean is nonlinear in the predictions, of covariates with this number of values.

        A logarithm of the response straightens a convex mean, and bends a concave one more.
        """
        straight = {
            written(name): _curve_of(written(name), distinct)
            for name, distinct in numbers.items()
            if distinct >= FORMULA.few_levels and not self._curve(name)
        }
        terms: str | tuple[str, Edit] = "interactions"
        if straight:
            curves = tuple(straight.values())
            words = f"{'a curve' if len(straight) == 1 else 'curves'}, "
            words += ", ".join(code(curve) for curve in curves[: LIMITS.named])
            words += ", ..." if len(straight) > LIMITS.named else ""
            terms = words, Edit(part=MEAN, terms=curves, replaced=tuple(straight))
        log = self.log() if convex else None
        other = (", or fit ", log) if log else ()
        return Remedy.of("The mean is nonlinear in the prediction: add ", terms, *other, ".")

    def _fit(self, *choices: str | Edit | None, start: str = "fit ") -> Sequence[str | Edit]:
        """The choices that there are, with *or* between them; robust intervals without any."""
        there = [one for one in choices if one]
        if not there:
            return [NONE_BETTER]
        return [start, *[piece for one in there for piece in (" or ", one)][1:]]

    def fanned(self, *, rising: bool = True) -> Remedy:
        """The spread changes with the predictions: a logarithm helps only where it rises."""
        choices = self._fit(self.log() if rising else None, self._wider())
        return Remedy.of("The spread changes with the predicted mean: ", *choices, ".")

    def skewed(self, skewness: float) -> Remedy:
        """The noise is skewed: a logarithm helps only where the upper tail is the longer one."""
        log, tail = (self.log(), "high") if skewness > 0.0 else (None, "low")
        choices = self._fit(log, self._wider())
        return Remedy.of(f"The noise is skewed towards {tail} values: ", *choices, ".")

    def bounded(self, end: float, *, largest: bool) -> Remedy:
        """Predictions reach beyond all responses: at the lower end a logarithm may help."""
        beyond = "exceed the largest" if largest else "reach below the smallest"
        choices = self._fit(None if largest else self.log(), self._more())
        return Remedy.of(f"Predictions {beyond} response, {number_text(end)}: ", *choices, ".")

    def tails(self, kurtosis: float) -> Remedy:
        """The tails of the noise are heavier, or lighter, than predicted."""
        if kurtosis < 0.0:
            return Remedy.of(
                "The noise has two modes or short tails: ", *self._fit(self._more()), "."
            )
        described = self.fit.model.response
        at_hand = described.is_discrete or getattr(self.fit.model, "family", "") == "student"
        choices = self._fit(None if at_hand else STUDENT, self._wider())
        return Remedy.of("The noise has heavy tails: ", *choices, ".")

    def shape(self) -> Remedy:
        """The noise has another distribution."""
        return Remedy.of("The noise has another distribution: ", *self._fit(self._wider()), ".")

    def width(self, sd: float) -> Remedy:
        """Predictions for held-out rows are too narrow or too wide."""
        if sd > 1.0 and self._free_spread:
            return Remedy.of("Counts vary more than predicted: fit ", self._free_spread, ".")
        components = "fewer components or " if self.fit.core.n_components > 1 else ""
        if sd > 1.0:
            words = f"Predictions are too narrow for held-out rows: use {components}fewer terms."
        else:
            words = f"Predictions are too wide: use {components}more informative priors."
        return Remedy.of(words)

    def zeros(self, excess: float) -> Remedy:
        """A count is zero more often, or less often, than predicted."""
        if excess < 0.0:
            return Remedy.of(
                "There are fewer zeros than predicted: ", *self._fit(self._more()),
                ", unless rows with 0 were removed from the data.",
            )  # fmt: skip
        add: Sequence[str | Edit] = ("add the part ", Edit(part=ZERO, terms=("1",)))
        if ZERO in self.fit.model.formula.parts:
            add = (f"let structural zeros change with a covariate: {code(f'{ZERO}(...)')}",)
        other = ("fit ", DISPERSED, ", or ") if self._is_poisson else ()
        return Remedy.of("There are more zeros than predicted: ", *other, *add, ".")

    def log(self) -> Edit | None:
        """The logarithm of the response; None where it has none, or is taken already.

        A response that is a call, ``Surv(time, event)``, takes no logarithm: a family of durations.
        """
        if self.fit.model.response.measure != "a density":
            return None
        observed = self.fit.model.observed()
        name = next(iter(observed)) if self.response is None else self.response
        is_column = name in self.fit.model.design.frame
        if not (observed[name] > 0.0).all() or (not is_column and LOGGED.search(name)):
            return None
        left = self.fit.model.formula.read.get(RESPONSE)
        if left is not None and left.call is not None:
            return WEIBULL if getattr(self.fit.model, "family", "") != "weibull" else None
        term = written(name) if is_column else name
        return Edit(part=RESPONSE, terms=(f"log({term})",), replaced=(term,))

    def rounded(self) -> Edit | None:
        """The response as rounded to its step; None where that is not possible, or no step is."""
        model = self.fit.model
        alone = len(model.design.response_names) == 1 and SIGMA not in model.formula.parts
        (name, values), *_ = model.observed().items()
        has_intervals = getattr(model, "family", "") in ("gaussian", "student")
        if not (alone and has_intervals and name in model.design.frame):
            return None
        step = np.diff(np.unique(values)).min()
        if not np.allclose(values / step, np.round(values / step), atol=1e-3):
            return None
        term = written(name)
        return Edit(part=RESPONSE, terms=(f"rounded({term}, {step:.6g})",), replaced=(term,))

    @property
    def _is_ordered(self) -> bool:
        """Whether the response has ordered levels, of which a model has one component."""
        return bool(self.fit.model.response.order.values)

    @property
    def _is_poisson(self) -> bool:
        """Whether counts have a spread that their mean fixes, and another family frees it."""
        return getattr(self.fit.model, "family", "") == "poisson"

    @property
    def _free_spread(self) -> str | Edit:
        """Model whose spread is not fixed by the mean, of counts and successes; else empty."""
        models: dict[str, str | Edit] = {"binomial": ROW_EFFECTS, "poisson": DISPERSED}
        return models.get(getattr(self.fit.model, "family", ""), "")

    def _wider(self, gate: str = "") -> str | Edit | None:
        """A model with a free spread, of counts and successes; else more components."""
        return self._free_spread or self._more(gate)

    def _more(self, gate: str = "") -> str | Edit | None:
        """More components, with a column in the weights; another family of ordered levels."""
        model = self.fit.model
        if self._is_ordered:
            other = "ordinal" if getattr(model, "family", "") == "sequential" else "sequential"
            return Edit(options={"family": other})
        if not hasattr(model, model.size_name):
            return "a mixture, as DensityRegression"
        if not self.may_split:
            return None
        size = {model.size_name: max(model.size + 1, 3)}
        if gate and self._can_enter_the_weights(gate):
            return Edit(options=size, part=GATING, terms=(self._term(gate),))
        return Edit(options=size)

    def _bend(self, name: str, distinct: int) -> tuple[str, Edit | None]:
        """A curve for a number, or a better one, in words and as an edit."""
        term, add = written(name), partial(Edit, part=MEAN)
        if result := self._curve(name):
            words = f"give {code(f'{result[1]}({term}, ...)')} more degrees of freedom"
            larger = self._larger_basis(name, distinct) if name in self._knots else words
            return words, larger[1] if isinstance(larger, tuple) else None
        if distinct < FORMULA.few_levels:
            levels = f"C({term})"
            words = f"give each value of `{name}` its own mean, {code(levels)}"
            return words, add(terms=(levels,), replaced=(term,))
        curve = _curve_of(term, distinct)
        words = f"let the mean bend, {code(curve)} for `{name}`"
        return words, add(terms=(curve,), replaced=(term,))

    def basis(self, name: str, distinct: int) -> Remedy:
        """The smooth of a number has too few basis functions."""
        words = f"The basis of `s({name})` is too small, k={self._knots[name]}: fit "
        return Remedy.of(words, self._larger_basis(name, distinct), ".")

    @property
    def _knots(self) -> Mapping[str, int]:
        """Basis functions of the smooths of the mean by covariate."""
        curves = self.fit.model.design.curves(MEAN)
        return {one.variable: one.spline.n_knots for one in curves}

    def _larger_basis(self, name: str, distinct: int) -> str | tuple[str, Edit]:
        """A smooth with twice as many basis functions; only in words if it has a ``by=``."""
        pattern = re.compile(rf"s\(\s*`?{re.escape(name)}`?\s*(?:,\s*k\s*=\s*\d+\s*)?\)")
        terms = listed_terms(self.fit.model.formula.parts[MEAN])
        present = tuple(term for _, term in terms if pattern.fullmatch(term))
        larger = f"s({written(name)}, k={min(2 * self._knots[name], distinct)})"
        edit = Edit(part=MEAN, terms=(larger,), replaced=present)
        return (code(larger), edit) if present else code(larger)

    def _curve(self, name: str) -> re.Match[str] | None:
        """Match of a curve of this covariate in the mean formula; None without one."""
        curve = re.compile(rf"\b(b?s)\(`?{re.escape(name)}(?!\w)")
        curves = (curve.search(term) for term in self.fit.model.design.terms[MEAN])
        return next((one for one in curves if one is not None), None)

    def _has_level(self, group: str) -> bool:
        """Whether groups have a level of their own in the mean."""
        blocks = self.fit.model.design.term_blocks.values()
        return any(f"(1 | {group})" == block.name for part in blocks for block in part)

    def _can_correlate(self, factor: str, group: str) -> bool:
        """Whether groups with a level of their own may have correlated effects of a factor."""
        n_levels = self.fit.model.design.frame[factor].nunique()
        return self._has_level(group) and n_levels <= MOST_CORRELATED

    def _can_enter_the_weights(self, name: str) -> bool:
        """Whether weights may depend on a column and do not: they are alike within a group."""
        model = self.fit.model
        grouping = model.grouping
        if grouping is not None:
            values = model.design.frame[name].to_numpy(dtype=object)
            if (values != values[grouping.first][grouping.number]).any():
                return False
        return not self._reads(GATING, name)

    def _term(self, name: str) -> str:
        """The term that a column enters by: effects of groups if it is one of these elsewhere."""
        text = written(name)
        return f"(1 | {text})" if name in self.fit.model.design.groupings else text

    def _reads(self, part: str, name: str) -> bool:
        """Whether a part of the formula has a term of this column, not of one whose name has it."""
        if part == GATING and self.fit.core.n_components == 1:
            return False
        whole = re.compile(rf"(?<!\w){re.escape(name)}(?!\w)")
        terms = (LEVEL.sub("", term) for term in self.fit.model.design.terms.get(part, ()))
        return any(whole.search(term) is not None for term in terms)
