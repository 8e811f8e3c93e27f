"""Contracts of distributions of one response, per row, or per draw and row."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, ClassVar, TypeVar

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import (
    DrawRows,
    ExpertRows,
    ExpertValues,
    Floats,
    PointRows,
    PointVector,
    ProbVector,
    ResponseRows,
    RowVector,
)
from bayesvb.numerics.records import changed, values_of
from bayesvb.numerics.special import log_total

# Not `Self`: beartype refuses it in methods that are checked one by one, as jaxtyping does.
Mixture = TypeVar("Mixture", bound="AbstractComponentMixture")


class AbstractRowDistribution(abc.ABC):
    """A distribution of one response for each of some rows.

    Attributes
    ----------
    weights : ndarray, shape (experts, rows)
        Probability of each component.
    """

    weights: ExpertRows

    is_discrete: ClassVar[bool] = False
    """Whether single values have probabilities, and ``density_at`` returns these."""

    def has_mass(self, y: Floats) -> Bool[np.ndarray, "..."]:
        """Values that have a probability, and not a density."""
        return np.full(np.shape(y), self.is_discrete)

    @abc.abstractmethod
    def mean(self) -> RowVector:
        """Mean of each row."""

    @abc.abstractmethod
    def sd(self) -> RowVector:
        """Standard deviation of each row, infinite where there is none."""

    @abc.abstractmethod
    def log_density(self, y: RowVector) -> RowVector:
        """Log density of one value per row."""

    @abc.abstractmethod
    def density_at(self, points: PointVector) -> PointRows:
        """Density of every row at every point."""

    @abc.abstractmethod
    def cdf(self, y: RowVector) -> RowVector:
        """Distribution function at one value per row."""

    @abc.abstractmethod
    def cdf_at(self, points: PointVector) -> PointRows:
        """Distribution function of every row at every point."""

    @abc.abstractmethod
    def quantile(self, q: ProbVector) -> Float[np.ndarray, "probs rows"]:
        """Quantiles of every row."""

    @abc.abstractmethod
    def draws(self, n: int, rng: np.random.Generator) -> DrawRows:
        """Independent draws."""


class AbstractComponentMixture(AbstractRowDistribution):
    """A predictive distribution that is a mixture over the components of a model."""

    @abc.abstractmethod
    def component_log_density(self, y: RowVector) -> ExpertRows:
        """Log density of one value per row under each component."""

    def component_log_mass(self, lower: RowVector, upper: RowVector) -> ExpertRows:
        """Log probability of an interval per row under each component; -inf of an empty one.

        Raises
        ------
        NotImplementedError
            Of mixtures whose components have no distribution function at hand.
        """
        raise NotImplementedError(f"{type(self).__name__} has no probabilities of intervals")

    @abc.abstractmethod
    def affine(self: Mixture, shift: float | RowVector, factor: float) -> Mixture:
        """Distribution of ``shift + factor * y``: a change of units."""

    @abc.abstractmethod
    def joined(self: Mixture, others: Sequence[Mixture]) -> Mixture:
        """Mixture of the same components at these rows, then at the rows of the others."""

    @abc.abstractmethod
    def stacked(
        self: Mixture, others: Sequence[Mixture], weights: Float[np.ndarray, " members"]
    ) -> Mixture:
        """Mixture of these distributions: components of this one, then of the others."""

    @abc.abstractmethod
    def by_label(self: Mixture, n_components: int) -> Mixture:
        """Weights of stacked components that share a label, added; the rest is of the first."""


class AbstractUnscaledMixture(AbstractComponentMixture):
    """A mixture of values that have no other unit; its fields have shape (experts, rows)."""

    values: ClassVar[str]
    """Name of the values that it can take, at the start of an error."""

    def log_density(self, y: RowVector) -> RowVector:
        with np.errstate(divide="ignore"):
            terms = np.log(self.weights) + self.component_log_density(y)
        return np.asarray(log_total(terms, axis=0))

    def density_at(self, points: PointVector) -> PointRows:
        n_rows = self.weights.shape[1]
        densities = [np.exp(self.log_density(np.full(n_rows, point))) for point in points]
        return np.reshape(densities, (len(points), n_rows))

    def cdf_at(self, points: PointVector) -> PointRows:
        n_rows = self.weights.shape[1]
        masses = [self.cdf(np.full(n_rows, point)) for point in points]
        return np.reshape(masses, (len(points), n_rows))

    def affine(self: Mixture, shift: float | RowVector, factor: float) -> Mixture:
        """Return the distribution itself: its values have no other unit.

        Raises
        ------
        DataError
            For a shift, or a factor other than 1.
        """
        if np.any(shift) or factor != 1.0:
            kind: Any = type(self)
            raise DataError(
                f"{kind.values} cannot be shifted by {np.max(np.abs(shift)):g} or multiplied by "
                f"{factor:g}",
                hint="put the offset into the formula: offset(z)",
            )
        return self

    def joined(self: Mixture, others: Sequence[Mixture]) -> Mixture:
        return combined((self, *others), partial(np.concatenate, axis=1))

    def stacked(
        self: Mixture, others: Sequence[Mixture], weights: Float[np.ndarray, " members"]
    ) -> Mixture:
        pairs = zip(weights, (self, *others), strict=True)
        scaled = [changed(one, weights=w * one.weights) for w, one in pairs]
        return combined(scaled, partial(np.concatenate, axis=0))

    def by_label(self: Mixture, n_components: int) -> Mixture:
        """Return the weights of stacked components by label; the parameters of the first ones."""
        first = combined((self,), lambda each: each[0][:n_components])
        weights = self.weights.reshape(-1, n_components, self.weights.shape[1]).sum(axis=0)
        return changed(first, weights=weights)


class AbstractDiscreteMixture(AbstractUnscaledMixture):
    """A mixture of whole numbers."""

    is_discrete = True


def combined(
    mixtures: Sequence[Mixture], of: Callable[[Sequence[np.ndarray]], np.ndarray]
) -> Mixture:
    """Mixture whose arrays combine the arrays of several, also within a mixture that it holds."""
    whole: dict[str, object] = {}
    for name, value in values_of(mixtures[0]).items():
        each = [getattr(mixture, name) for mixture in mixtures]
        if isinstance(value, AbstractComponentMixture):
            whole[name] = combined(each, of)
        elif isinstance(value, np.ndarray):
            whole[name] = of(each)
    return changed(mixtures[0], **whole)


class AbstractDrawnMixture(abc.ABC):
    """Mixtures over components for every draw of the parameters and every row.

    Attributes
    ----------
    weights : ndarray, shape (experts, draws, rows)
        Probability of each component.
    """

    weights: ExpertValues

    @abc.abstractmethod
    def mean(self) -> Floats:
        """Means."""

    @abc.abstractmethod
    def sd(self) -> Floats:
        """Standard deviations, infinite where there are none."""

    @abc.abstractmethod
    def above(self, value: float) -> Floats:
        """Probabilities that the response exceeds a value."""

    @abc.abstractmethod
    def below(self, value: float | RowVector) -> Floats:
        """Probabilities that the response is below a value."""

    @abc.abstractmethod
    def density(self, value: float) -> Floats:
        """Densities at a value, per unit of the response."""

    @abc.abstractmethod
    def quantile(self, q: float) -> Floats:
        """Quantiles; a DataError if ``q`` is not between 0 and 1."""


def joint_log_density(
    marginals: Sequence[AbstractComponentMixture], observed: ResponseRows
) -> RowVector:
    """Log density of responses that are independent given the component.

    The weights of the components are the first one's.
    """
    with np.errstate(divide="ignore"):  # a weight may vanish far out
        terms = np.log(marginals[0].weights)
    for one, values in zip(marginals, observed, strict=True):
        terms = terms + one.component_log_density(values)
    return np.asarray(log_total(terms, axis=0))


def shares_by_label(
    mixture: AbstractComponentMixture, n_components: int
) -> Float[np.ndarray, "nodes experts rows"]:
    """Shares of the nodes of each component: of a mixture that has its components several times.

    Their order is as in ``stacked``. If each component occurs once all shares are one.
    """
    weights = mixture.weights.reshape(-1, n_components, mixture.weights.shape[-1])
    if len(weights) == 1:
        return np.ones_like(weights)
    tiny = np.finfo(float).tiny  # a weight may vanish far out
    return np.asarray((weights + tiny) / (weights + tiny).sum(axis=0))


def average_nodes(
    mixture: AbstractComponentMixture, log_density: Float[np.ndarray, "_ rows"], n_components: int
) -> ExpertRows:
    """Average log densities under the nodes of each component; see ``shares_by_label``."""
    if len(log_density) == n_components:
        return log_density
    by_node = log_density.reshape(-1, n_components, log_density.shape[-1])
    terms = by_node + np.log(shares_by_label(mixture, n_components))
    return np.asarray(log_total(terms, axis=0))


def check_probabilities(q: ProbVector) -> None:
    """Raise for a number at which no quantile is.

    Raises
    ------
    DataError
        If one is NaN or outside 0 to 1.
    """
    bad = ~((q >= 0.0) & (q <= 1.0))
    if bad.any():
        raise DataError(
            f"q = {q[bad][0]:g} is not a probability",
            hint="q must lie between 0 and 1; write 0.05 for 5%",
        )
