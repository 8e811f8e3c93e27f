"""Description of a response by its family: its possible values, and its names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import ndtri

from bayesvb.data.ordered_levels import UNORDERED, OrderedLevels
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import Floats

ResponseKind = Literal[
    "continuous", "positive", "amount", "count", "successes", "binary", "levels", "classes", "none"
]

POSSIBLE: dict[ResponseKind, str] = {
    "continuous": "a number in the support of its family",
    "positive": "a number above 0",
    "amount": "a number from 0",
    "count": "a whole number from 0",
    "successes": "a whole number from 0 to the number of trials",
    "binary": "0 or 1",
    "levels": "a whole number",
}
"""Possible values, within an error message."""

RATIOS: dict[ResponseKind, str] = {
    "binary": "risk ratio",
    "successes": "risk ratio",
    "count": "rate ratio",
}
"""Names of ratios of means."""

REMEDIES: dict[ResponseKind, str] = {
    "continuous": "correct the value, or choose another family",
    "positive": "of amounts some of which are 0 write the part zero(1), or zero(z) with terms of "
    "the probability of 0; of numbers below 0 choose family='gaussian'",
    "amount": "correct the value, or choose family='gaussian'",
    "count": "correct the value, or choose a family for continuous responses",
    "successes": "write cbind(successes, failures) ~ ..., or successes | trials(n) ~ ...",
    "levels": "levels=[...] names the levels from the lowest to the highest",
    "binary": "write 1 where the event occurred and 0 elsewhere, or choose another family",
}


@dataclass(frozen=True, kw_only=True)
class Response:
    """Values that a response can take: what its family says of it, whatever the data hold.

    Attributes
    ----------
    kind : {"continuous", "positive", "amount", "count", "successes", "binary", "levels", \
            "classes", "none"}
        ``"amount"`` is positive or exactly 0, which has a probability.
        ``"successes"`` are counted among trials; without their number a row is one trial.
        ``"levels"`` are ordered, as in ``order``. ``"classes"`` have no order and no numbers; their
        labels are ``levels``. ``"none"``: the variables of a row are modelled jointly.
    support : tuple of float
        Smallest and largest possible value; infinite where there is none.
    levels : tuple of str
        Labels of the classes.
    order : OrderedLevels
        Levels of an ordered response; none of others.
    link : {"identity", "logit", "probit", "log"}
        Function of the mean that is linear in the covariates, in one component; of ordered levels
        of the probability of a level above the lowest.
    """

    kind: ResponseKind
    support: tuple[float, float] = (-np.inf, np.inf)
    levels: tuple[str, ...] = ()
    order: OrderedLevels = UNORDERED
    link: Literal["identity", "logit", "probit", "log"] = "identity"

    @property
    def level_names(self) -> tuple[str, ...]:
        """Labels of classes, or of ordered levels, each of which has a probability."""
        return self.levels or self.order.labels

    @property
    def is_numeric(self) -> bool:
        """Whether the response has a distribution function: classes have none."""
        return self.kind not in ("classes", "none")

    @property
    def is_categorical(self) -> bool:
        """Whether the response is one of several classes."""
        return self.kind == "classes"

    @property
    def is_binary(self) -> bool:
        """Whether the response is 0 or 1: one probability is all of its distribution."""
        return self.kind == "binary"

    @property
    def is_probability(self) -> bool:
        """Whether a probability is all that covariates change: of 1, or of success in one trial."""
        return self.kind in ("binary", "successes")

    @property
    def is_discrete(self) -> bool:
        """Whether values are whole numbers with probabilities, and not densities.

        A discrete response enters as it is, so that no offset is subtracted, and a model has one.
        """
        return self.kind in ("count", "successes", "binary", "levels")

    @property
    def measure(self) -> str:
        """Measure of the density; fits whose densities have different measures do not compare."""
        if self.kind == "amount":
            return "a probability of 0 and a density elsewhere"
        return "probabilities" if self.is_discrete else "a density"

    def score_name(self, names: Sequence[str]) -> str:
        """Name of log densities: on which scale they are densities, or probabilities of what.

        Examples
        --------
        >>> Response(kind="continuous").score_name(["log(wage)"])
        'log density of log(wage)'
        >>> Response(kind="count").score_name(["visits"])
        'log probability of visits'
        """
        kind = "log probability" if self.is_discrete else "log density"
        of_zero = ", log probability of 0" if self.kind == "amount" else ""
        return f"{kind} of {', '.join(names)}{of_zero}"

    def has_mass(self, values: Floats) -> Bool[np.ndarray, "..."]:
        """Values that have a probability, and not a density.

        Examples
        --------
        >>> Response(kind="amount").has_mass(np.array([0.0, 1.5]))
        array([ True, False])
        """
        if self.kind == "amount":
            return np.asarray(values == 0.0)
        return np.full(np.shape(values), self.is_discrete)

    @property
    def targets(self) -> tuple[str, ...]:
        """Quantities that summarise its distribution, the default target of effects first.

        The standard deviation of zeros and ones says nothing that their mean does not.
        """
        if self.is_categorical:
            return ("probability",)
        return ("mean",) if self.is_probability else ("mean", "sd")

    def label(self, target: str) -> str | None:
        """Name of a target of response ``{y}`` if it differs from a density's."""
        if target == "density" and self.is_discrete:
            return "P({y} = {v})"
        if target in ("odds", "link"):
            return self._link_label(target)
        if target == "mean" and self.is_binary:
            return "probability of {y} = 1"
        if target == "mean" and self.kind == "levels":
            return "mean level of {y}"
        if target == "mean" and self.kind == "successes":
            return "probability of {y} in one trial"
        return None

    def _link_label(self, target: str) -> str:
        """Name of the link, or of the odds."""
        if target == "link" and self.link == "log":
            return "log mean of {y}"
        event = {"binary": "{y} = 1", "levels": "{y} above its lowest level"}
        scale = {"logit": "log odds"}.get(self.link, self.link) if target == "link" else "odds"
        return f"{scale} of {event.get(self.kind, '{y} in one trial')}"

    def ratio_name(self, target: str) -> str:
        """Name of the ratio of two values of a target; empty where it has none of its own."""
        if target == "mean":
            return RATIOS.get(self.kind, "")
        return "odds ratio" if target == "odds" else ""

    def to_link(self, mean: Floats) -> Floats:
        """Means, or probabilities of a level above the lowest, on the scale of the link.

        Raises
        ------
        DataError
            If the link is the identity.
        """
        if self.link == "identity":
            raise DataError(
                "target='link': the link of this family is the identity", hint="use target='mean'"
            )
        if self.link == "probit":
            return np.asarray(ndtri(mean))
        with np.errstate(divide="ignore"):
            rest = np.log1p(-mean) if self.link == "logit" else 0.0
            return np.asarray(np.log(mean) - rest)

    def to_odds(self, mean: Floats) -> Floats:
        """Odds of probabilities.

        Raises
        ------
        DataError
            If they are not probabilities whose log odds are linear.
        """
        if self.link != "logit":
            raise DataError(
                "target='odds': the mean of this family is not a probability",
                hint="ratio=True compares means by their ratio",
            )
        return np.asarray(np.exp(self.to_link(mean)))

    def check(
        self,
        values: Float[np.ndarray, "rows responses"],
        names: tuple[str, ...],
        *,
        has_offset: bool = False,
    ) -> None:
        """Raise for responses that the family cannot have.

        Raises
        ------
        DataError
            For a value outside the support, a fraction, an offset, or a second discrete response.
        """
        low, high = self.support
        impossible = (values < low) | (values > high)
        if self.kind == "positive":
            impossible |= values == low
        if self.kind != "continuous":
            self._check_alone(names, has_offset=has_offset)
        if self.is_discrete:
            impossible |= values != np.round(values)
        for name, column, wrong in zip(names, values.T, impossible.T, strict=True):
            if wrong.any():
                raise DataError(
                    f"the response `{name}` holds {column[wrong][0]:g}, and must be "
                    f"{POSSIBLE[self.kind]}",
                    hint=self._remedy(column[wrong]),
                )

    def _remedy(self, wrong: Float[np.ndarray, " values"]) -> str:
        """Advice for values that the response cannot have."""
        if self.is_probability and ((wrong > 0.0) & (wrong < 1.0)).all():
            return (
                "did you mean cbind(k, n - k) ~ ... with family='binomial'? A share of successes "
                "is described by their number k and the number of trials n"
            )
        if self.kind == "binary" and ((wrong >= 0.0) & (wrong == np.round(wrong))).all():
            return (
                "write 1 where the event occurred and 0 elsewhere; counts: family='poisson', or "
                "family='binomial' with k | trials(n) ~ ... for k successes in n trials"
            )
        return REMEDIES[self.kind]

    def _check_alone(self, names: tuple[str, ...], *, has_offset: bool) -> None:
        """Refuse what would need other values than those given."""
        if len(names) > 1:
            raise DataError(
                f"the formula has {len(names)} responses, but a {self.kind} response must be the "
                "only one",
                hint=f"fit one model for each: {names[0]} ~ ...",
            )
        if has_offset:
            raise DataError(
                f"offset(...) is subtracted from the response, which is not possible for the "
                f"{self.kind} response `{names[0]}`",
                hint="omit the offset, or write its column as a term",
            )


CONTINUOUS = Response(kind="continuous")
"""Response of a density on the real line."""

NO_RESPONSE = Response(kind="none")
"""Description of a model whose variables are described together."""
