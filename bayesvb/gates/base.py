"""Methods of a gate: expected log weights of the components, and the statistics of an iteration."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats, with_known
from bayesvb.factors.normal import Normal
from bayesvb.linear.arrow_precisions import diagonal_precision
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import (
    DrawExpertTerms,
    DrawTerms,
    DrawValues,
    DrawVector,
    EntryVector,
    ExpertRows,
    RowVector,
    TermVector,
)
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.descriptions import ParameterText, PriorRow
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives
from bayesvb.variational.supports import AbstractSupport

PosteriorT = TypeVar("PosteriorT")

StatsT = TypeVar("StatsT", bound=SufficientStats)


GAMMA = ParameterText(
    symbol="γ",
    meaning="coefficients of the weights",
    heading="Gate",
    caption="Coefficients of the gate, per unit of the term",
    forest=True,
)


@dataclass(frozen=True)
class GatePrior:
    """Prior of any gate; each gate uses its part.

    Attributes
    ----------
    coefficients : Normal
        Prior of the logit coefficients of one component, shape (terms,).
    intercept : ndarray, shape (terms,)
        One at the intercept column, zero elsewhere.
    concentration : float
        Dirichlet concentration of each component.
    even : bool
        Whether a gate that breaks a stick shifts its intercepts until all components weigh the same
        where all covariates are zero.
    effects : tuple of float
        Precisions of the effects of groups that have no columns.
    n_groups : int
        Number of these groups.
    """

    coefficients: Normal
    intercept: TermVector
    concentration: float
    even: bool = True
    effects: tuple[float, ...] = ()
    n_groups: int = 0

    def law(self, mean: Float[np.ndarray, "logits terms"]) -> Normal:
        """Prior of logits whose coefficients have these means; effects of groups have none."""
        if not self.effects:
            return self.coefficients.with_mean(mean)
        entries = self.coefficients.precisions, np.array(self.effects)
        operator = diagonal_precision(*entries, self.n_groups)
        n_effects = operator.n_coefficients - mean.shape[1]
        return Normal(np.pad(mean, [(0, 0), (0, n_effects)]), operator)


class AbstractGate(abc.ABC, Generic[PosteriorT, StatsT]):
    """Distribution of the component of a row given its covariates.

    A gate is frozen and holds its prior. Adding one touches two files: its own and the table
    ``GATES``.
    """

    formula: ClassVar[str] = "other"
    """Template of the page with the weights as a formula: ``gate-<this>.html``; words if there is
    none."""

    prior: PosteriorT
    """Law of the gate's parameters before any data are seen."""

    posterior_by_row: ClassVar[bool] = False
    """Whether ``update`` takes statistics of many rows, on a leading axis, and weights do."""

    learns_scales: ClassVar[bool] = False
    """Whether precisions of the prior of coefficients can be learned: for linear logits."""

    @classmethod
    @abc.abstractmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> AbstractGate[PosteriorT, StatsT]:
        """Gate of ``n_components`` components, equally weighted a priori by default."""

    @classmethod
    @abc.abstractmethod
    def prior_rows(
        cls, n_components: int, prior: GatePrior, scaling: Scaling, terms: Sequence[str]
    ) -> list[PriorRow]:
        """Rows of the prior table, in the units of the terms; none without parameters."""

    @property
    @abc.abstractmethod
    def n_components(self) -> int:
        """Number of components."""

    @abc.abstractmethod
    def start(self) -> PosteriorT:
        """Initial posterior: no preference among components."""

    @abc.abstractmethod
    def local(self, posterior: PosteriorT, block: Block) -> AbstractLocalPosterior:
        """Expected (bounded) log weights of these rows."""

    @abc.abstractmethod
    def update(self, stats: StatsT) -> PosteriorT:
        """Posterior given statistics; a function of them alone."""

    def global_step(
        self, posterior: PosteriorT, stats: object, before: StatsT | None = None
    ) -> StatsT:
        """Statistics of the next posterior, from the statistics of an iteration under this one.

        Those themselves where the update is an exact coordinate maximisation. ``before`` are
        statistics of known rows of which nothing else is stored, as this returns them.
        """
        return with_known(stats, before)

    def gradient_stats(
        self, posterior: PosteriorT, stats: object, before: StatsT | None = None
    ) -> StatsT:
        """Derivative of the rows' part of the bound in the expected sufficient statistics.

        Equal to the statistics of the posterior if its ELBO is stationary. The statistics of an
        iteration under this posterior themselves if the update is an exact coordinate maximisation.
        """
        return with_known(stats, before)

    def coordinates(self, posterior: PosteriorT) -> AbstractCoordinates | None:
        """Standard coordinates of the parameters; None if intervals are to stay mean-field."""
        return None

    def expectations_along(
        self,
        posterior: PosteriorT,
        change: StatsT,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> StatsT | None:
        """Changes of ``expectations`` with many changes of the statistics, as records of many.

        With ``precision`` precisions of the prior's coefficients change too. None where differences
        take its place.
        """
        return None

    def row_derivatives(
        self, posterior: PosteriorT, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives | None:
        """Derivatives of the expected log weights of these rows, in scalars of ``expectations``.

        None if they are not available: leave-one-out then uses differences of complete iterations.
        """
        return None

    def forms(
        self, posterior: PosteriorT, block: Block, blocks: Float[np.ndarray, "blocks terms"]
    ) -> Forms | None:
        """Forms of the scalars of rows, and of sums of squares of blocks of coefficients.

        None where their covariances have no closed form.
        """
        return None

    @property
    def draws_complete(self) -> bool:
        """Whether draws hold every parameter: not effects of groups without columns."""
        return True

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)``."""

    def with_prior_power(self, power: float) -> AbstractGate[PosteriorT, StatsT]:
        """Gate whose prior is this one's to a power; see ``AbstractVariationalModel``.

        Raises
        ------
        NotImplementedError
            If point estimates are not available; the message gives the reason.
        """
        raise NotImplementedError(f"{type(self).__name__} has no point estimates")

    def bound_gap(self, posterior: PosteriorT, block: Block) -> RowVector:
        """Nats per row by which a tighter bound on the same posterior exceeds the rows' bound.

        It is added to rank runs from different starts: a loose bound may prefer a solution that
        empties components. Zero here, as the bound is the tightest one available.
        """
        return np.zeros(block.n_rows)

    @abc.abstractmethod
    def mean_weights(self, posterior: PosteriorT, block: Block) -> ExpertRows:
        """Posterior mean of the weights: predictive probabilities of the components."""

    @abc.abstractmethod
    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> DrawValues:
        """Draws of the gate's parameters."""

    def weights_without(
        self,
        posterior: PosteriorT,
        block: Block,
        responsibilities: ExpertRows,
        copies: RowVector,
        law: Normal | None = None,
    ) -> ExpertRows:
        """``mean_weights`` without ``copies`` of each row, as far as they matter.

        Where all rows share the coefficients one of them hardly does, and the weights stay.
        ``law``: distribution of the coefficients of all logits by linear response, if it is known.
        """
        return self.mean_weights(posterior, block)

    def support(self) -> AbstractSupport | None:
        """Support of the gate's parameters, for one draw.

        None if it is not defined. A gate that defines it can be fitted by engines that need
        derivatives: its ``log_weights`` and ``log_density`` then accept arrays of JAX as well.
        """
        return None

    @property
    def exchangeable(self) -> bool:
        """Whether the prior is the same after any new labelling of the components."""
        return False

    @abc.abstractmethod
    def log_weights(self, draws: DrawValues, block: Block) -> DrawExpertTerms:
        """Exact log weights for each draw; the last axis is 1 where rows do not differ."""

    def drawn_log_weights(self, draws: Draws, block: Block) -> DrawExpertTerms:
        """Log weights for draws by name, to which group effects of these rows may contribute."""
        return self.log_weights(draws["gate"], block)

    @abc.abstractmethod
    def log_density(self, posterior: PosteriorT | None, draws: DrawValues) -> DrawVector:
        """Log density of each draw under the posterior, or under the prior (None)."""

    @abc.abstractmethod
    def permuted(
        self, order: Sequence[int], stats: StatsT
    ) -> tuple[AbstractGate[PosteriorT, StatsT], StatsT]:
        """Gate and statistics after a new labelling: component ``order[0]`` comes first."""

    def merged(
        self,
        stats: StatsT,
        kept: Sequence[int],
        pair: tuple[int, int],
        rows: tuple[float, float],
        intercept: int | None,
    ) -> tuple[StatsT, float]:
        """Statistics without a component whose rows another takes over, and a constant.

        Parameters
        ----------
        stats
            Of all components.
        kept : sequence of int
            Components that are left, in their new order.
        pair : tuple of int
            The component that takes over, which is kept, and the other.
        rows : tuple of float
            Weight of the rows of each; the ratio of their mixing weights is taken as constant.
        intercept : int, optional
            Place of the intercept among the terms.

        Returns
        -------
        tuple
            Statistics, and a constant: the merged rows add it to ``expected_sum`` in the ELBO.

        Raises
        ------
        NotImplementedError
            With the reason, if statistics of this gate do not add up.
        """
        raise NotImplementedError(f"statistics of {type(self).__name__} cannot be added")

    @abc.abstractmethod
    def coefficients(self, draws: DrawValues) -> Mapping[int, DrawTerms]:
        """Identified logit coefficients for each component (from 0) that has its own."""

    @abc.abstractmethod
    def coefficient_meaning(self) -> str:
        """Event of a coefficient's log odds; without coefficients, the meaning of the weights."""


def expectations_of(gate: AnyGate, posterior: object) -> EntryVector:
    """Expected sufficient statistics of a gate, in the order of the statistics of a pass."""
    coordinates = gate.coordinates(posterior)
    if coordinates is None:
        raise NotImplementedError(f"{type(gate).__name__} has no expectations")
    return coordinates.expectations()


def drawn_components(
    log_weights: DrawExpertTerms, n_rows: int, rng: np.random.Generator
) -> Int[np.ndarray, "draws rows"]:
    """One component per draw and row."""
    weights = np.exp(log_weights)
    place = rng.random((len(weights), n_rows))
    chosen = np.zeros(place.shape, dtype=int)
    below = np.zeros((len(weights), weights.shape[2]))
    for k in range(weights.shape[1] - 1):
        below += weights[:, k]
        chosen += place > below
    return chosen


AnyGate = AbstractGate[Any, Any]
"""A gate of any posterior and statistics."""
