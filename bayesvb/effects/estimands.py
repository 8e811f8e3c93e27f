"""Estimands of effects: a number for each conditional distribution, or several."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_choice
from bayesvb.distributions.base import AbstractDrawnMixture
from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.distributions.response import CONTINUOUS, Response
from bayesvb.distributions.transformations import AbstractTransformation
from bayesvb.distributions.transformed import TransformedMixture
from bayesvb.errors import DataError

Values = Float[np.ndarray, "entries draws rows"]


IN_UNITS = ("mean", "sd", "quantile")
"""Targets in the units of the response."""


@dataclass(frozen=True)
class Estimand:
    """A property of the conditional distribution, at one or several values of its option.

    Attributes
    ----------
    target : str
        A key of ``TARGETS``.
    option : str or None
        Name of the option, which becomes a column of the table where it has several values.
    values : tuple of float
        Values of the option.
    several : bool
        Whether the option was given as a list.
    levels : tuple of str
        Levels of a response of classes, each of which has a probability.
    scales : mapping of str to (transformation, str)
        Response -> its transformation, and the name of the result; empty without transformations.
    described : Response
        Description of the response by its family, with its words for a target.
    """

    target: str
    option: str | None = None
    values: tuple[float, ...] = ()
    several: bool = False
    levels: tuple[str, ...] = ()
    scales: Mapping[str, tuple[AbstractTransformation | None, str]] = field(default_factory=dict)
    described: Response = CONTINUOUS

    @property
    def has_mean(self) -> bool:
        """Whether its average over draws is finite, which moments after ``exp`` have not."""
        return not (self.scales and self.target in ("mean", "sd"))

    @property
    def of_response(self) -> bool:
        """Whether each response has its own; the weights of the components are of all."""
        return self.target != "weights"

    def words(self, response: str, label: Callable[[str], str] = str) -> str:
        """Name of the estimand for one response; ``label`` adds its unit."""
        if self.levels:
            return f"probability of each level of {response}"
        shown = ", ".join(
            f"{value:g}" if isinstance(value, float) else str(value) for value in self.shown
        )
        response = self.scales[response][1] if response in self.scales else response
        if self.target in IN_UNITS:
            response = label(response)
        words = target_words(self.target, self.described)
        if self.option == "at" and self.values == (0.0,) and self.described.kind == "amount":
            words = "P({y} = {v})"
        return words.format(y=response, v=shown, sign=">" if self.option == "above" else "<")

    def entries(self, n_components: int) -> tuple[str | None, tuple[object, ...]]:
        """Column that distinguishes the entries, and its values; None if there is one entry."""
        if self.target == "weights":
            return "component", tuple(range(1, n_components + 1))
        if self.levels:
            return "level", self.levels
        return (self.option, self.shown) if self.several else (None, (None,))

    @property
    def shown(self) -> tuple[object, ...]:
        """Values of the option as the data hold them: of ordered levels their labels."""
        order = self.described.order
        if self.option in ("at", "above", "below") and order.values and not order.are_numbers:
            return tuple(order.labels_at(self.values))
        return self.values

    def __call__(self, mixture: AbstractDrawnMixture, response: str = "") -> Values:
        """The numbers of every draw and row, of a response that holds numbers.

        Raises
        ------
        DataError
            If they are infinite, as the standard deviation of heavy tails is.
        """
        change = self.scales[response][0] if response in self.scales else None
        if change is not None and isinstance(mixture, AbstractLocationScaleMixture):
            mixture = TransformedMixture(mixture, change)
        if self.levels:
            return np.stack([mixture.density(number) for number in self.described.order.numbers])
        if self.target in ("link", "odds"):
            levels = self.described.order.numbers
            mean = mixture.above(levels[0]) if self.described.kind == "levels" else mixture.mean()
            scale = self.described.to_link if self.target == "link" else self.described.to_odds
            return scale(mean)[None]
        if self.option is None:
            values = np.asarray(getattr(mixture, self.target)())[None]
            if np.isinf(values).any():
                raise DataError(
                    f"the {TARGETS[self.target].words.format(y='the response')} is infinite: its "
                    "tails are too heavy",
                    hint="describe its spread by quantiles: target='quantile', q=[0.05, 0.95]",
                )
            return values
        method: Callable[[float], np.ndarray] = getattr(mixture, METHODS[self.option])
        return np.stack([method(value) for value in self.values])


@dataclass(frozen=True)
class Target:
    """A kind of quantity: its options, of which one is needed, and the words for it."""

    options: tuple[str, ...]
    words: str


TARGETS = {
    "mean": Target((), "mean of {y}"),
    "sd": Target((), "standard deviation of {y}"),
    "link": Target((), "link of the mean of {y}"),
    "odds": Target((), "odds of {y}"),
    "quantile": Target(("q",), "quantile of {y} at q = {v}"),
    "probability": Target(("above", "below"), "P({y} {sign} {v})"),
    "density": Target(("at",), "density of {y} at {v}"),
    "weights": Target((), "weights of the components"),
}


def target_words(target: str, response: Response) -> str:
    """Name of a target, with the name of the response and of values to be filled in."""
    return response.label(target) or TARGETS[target].words


METHODS = {"q": "quantile", "above": "above", "below": "below", "at": "density"}
"""Option -> the method of a mixture that takes its value."""

CLASS_TARGETS = ("probability", "weights")
"""Targets of a response of classes, which read no options."""


def estimand(
    target: str | None,
    options: Mapping[str, float | Sequence[float] | None],
    response: Response,
) -> Estimand:
    """The quantity that a target and its options name, of a response as its family describes it.

    Raises
    ------
    DataError
        If the target is unknown, or its option missing, no number, or not read by it.
    """
    given = {name: value for name, value in options.items() if value is not None}
    target = target or response.targets[0]
    if response.is_categorical:
        return _of_classes(target, given, response.levels)
    if target == "probability" and response.order.values and not given:
        return Estimand(target, levels=response.order.labels, described=response)
    if target == "median":
        raise DataError("target='median' is a quantile", hint="write target='quantile', q=0.5")
    check_choice("target", target, tuple(TARGETS))
    reads = TARGETS[target].options
    for name in given:
        if name not in reads:
            reader = next(key for key, one in TARGETS.items() if name in one.options)
            raise DataError(
                f"target={target!r} does not use {name}",
                hint="values of covariates are given as conditional={'x': [0, 1]}; "
                f"{name} is for target={reader!r}",
            )
    if not reads:
        return Estimand(target, described=response)
    if len(given) != 1:
        listed = " or ".join(f"{name}=..." for name in reads)
        one = "exactly one of " if len(reads) > 1 else ""
        raise DataError(f"target={target!r} needs {one}{listed}")
    ((name, value),) = given.items()
    numbers = _numbers(name, value, response)
    if name == "q" and not ((numbers > 0.0) & (numbers < 1.0)).all():
        raise DataError(f"q={value!r} is not between 0 and 1", hint="write 0.05 for 5%")
    values = tuple(np.atleast_1d(numbers).tolist())
    return Estimand(target, name, values, numbers.ndim == 1, described=response)


def _of_classes(target: str, given: Mapping[str, object], levels: tuple[str, ...]) -> Estimand:
    """The probabilities of all levels, or the weights."""
    if target in TARGETS and target not in CLASS_TARGETS:
        raise DataError(
            f"target={target!r} needs a numeric response, but the response holds classes",
            hint="target='probability' has the probability of each level",
        )
    check_choice("target", target, CLASS_TARGETS)
    for name in given:
        raise DataError(
            f"target={target!r} of a categorical response does not use {name}",
            hint=f"omit {name}",
        )
    return Estimand(target, levels=levels if target == "probability" else ())


def _numbers(name: str, value: object, response: Response) -> Float[np.ndarray, "*shape"]:
    """Values of an option as numbers; ordered levels may be given by their labels."""
    if name != "q" and response.order.values and not response.order.are_numbers:
        return response.order.numbers_of(name, value)
    array = np.asarray(value)
    if array.dtype.kind not in "iuf" or array.ndim > 1 or not array.size:
        raise DataError(f"{name}={value!r} is not a number or a list of numbers")
    if not np.isfinite(array).all():
        raise DataError(f"{name}={value!r} must be finite")
    return array.astype(np.float64)
