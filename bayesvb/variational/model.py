"""The contract between mathematics and algorithms."""

from __future__ import annotations

import abc
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, ClassVar, Generic, TypeVar, cast

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import BoundGap, LocalStep, SufficientStats
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.arrays import (
    BlockVector,
    DrawExpertRows,
    DrawRows,
    DrawVector,
    EntryVector,
    ExpertRows,
    RowVector,
)
from bayesvb.variational.coordinates import AbstractCoordinates, AbstractStandardCoordinates
from bayesvb.variational.local import Draws
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.reduced_space import AbstractReducedSpace
from bayesvb.variational.row_derivatives import RowDerivatives
from bayesvb.variational.shared_response import AbstractSharedResponse

PosteriorT = TypeVar("PosteriorT")

StatsT = TypeVar("StatsT", bound=SufficientStats)


CompiledSweep = Callable[[EntryVector], "tuple[float, Float[np.ndarray, ' entries']] | None"]
"""Statistics, as one vector, to the bound of their posterior and the statistics that follow.

None where this pass has to be made in NumPy. Outside the domain it raises LinAlgError.
"""


@dataclass(frozen=True)
class Starts:
    """Initialisations that a model prescribes.

    Attributes
    ----------
    models : mapping of str to AbstractVariationalModel
        Copies that start from different points, by name; none where runs differ in the partition
        of the rows.
    priors : mapping of str to AbstractVariationalModel
        Copies with other priors, by name, among which restarts take turns.
    few : tuple of str
        Partitions in which few components have rows, for the last of every eight restarts.
    """

    models: Mapping[str, AnyModel] = field(default_factory=dict)
    priors: Mapping[str, AnyModel] = field(default_factory=dict)
    few: tuple[str, ...] = ()


class AbstractVariationalModel(abc.ABC, Generic[PosteriorT, StatsT]):
    """A model as engines see it.

    The state of a fit is the expected sufficient statistics: ``update`` makes the posterior of
    them, and one pass of ``e_step`` over the rows makes the next statistics. The lower bound of a
    posterior is the sum of the rows' bounds less ``kl``.
    """

    follows_rows: ClassVar[bool] = False
    """Whether one row decides where others belong, as with labels that are learned of latents.

    Rows are then held out by refits, in runs that continue without them: the first-order change is
    too small.
    """

    predicts_classes: ClassVar[bool] = False
    """Whether the predictive density of a row is the probability of a class, and so a measure of
    certainty; densities of numbers have a unit."""

    without_response: ClassVar[str] = "this model has no correction"
    """Reason why intervals are mean-field, for a model without coordinates."""

    @property
    @abc.abstractmethod
    def n_components(self) -> int:
        """Number of components into which an initial partition divides the rows."""

    @abc.abstractmethod
    def e_step(self, posterior: PosteriorT, block: Block) -> LocalStep:
        """Statistics of these rows, with their part of the bound."""

    @abc.abstractmethod
    def update(self, stats: StatsT) -> PosteriorT:
        """Posterior given statistics.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are outside the domain (an extrapolation went too far).
        """

    def within(self, nats: float) -> AbstractVariationalModel[PosteriorT, StatsT]:
        """The model for runs that may end this many nats per row below the maximum.

        Its posteriors are of the same kind; a pass may find less of the best for each row, if that
        takes less time, and its bound then is lower by less than this.
        """
        return self

    def compiled(self, source: AbstractSource) -> CompiledSweep | None:
        """A faster pass over these rows, if there is one: the same numbers up to rounding."""
        return None

    def global_step(self, posterior: PosteriorT, stats: Any) -> StatsT:
        """Statistics of the next posterior, from the statistics of an iteration under this one.

        Those themselves where every update is an exact coordinate maximisation; a part without
        closed form makes its step here.
        """
        return cast(StatsT, stats)

    def gradient_stats(self, posterior: PosteriorT, stats: Any) -> StatsT:
        """Derivative of the rows' part of the bound in the expected sufficient statistics.

        Equal to the statistics of the posterior if its ELBO is stationary. The statistics of an
        iteration under this posterior themselves if the update is an exact coordinate maximisation.
        """
        return cast(StatsT, stats)

    def coordinates(self, posterior: PosteriorT) -> AbstractCoordinates | None:
        """Standard coordinates of the parameters; None if intervals are to stay mean-field."""
        return None

    def response_coordinates(self, posterior: PosteriorT) -> AbstractStandardCoordinates | None:
        """Coordinates that linear response moves: all parameters that have coordinates."""
        return self.coordinates(posterior)

    def known_response(
        self, posterior: PosteriorT, source: AbstractSource
    ) -> Float[np.ndarray, "coordinates coordinates"] | None:
        """Covariance of the coordinates in closed form; None: iterations are differentiated."""
        return None

    def response_of_shared(
        self, stats: StatsT, posterior: PosteriorT, source: AbstractSource
    ) -> AbstractSharedResponse | None:
        """Derivatives of a pass in the statistics that all rows share, the others eliminated.

        None where a pass is differentiated in all statistics.
        """
        return None

    def bound_gap(self, posterior: PosteriorT) -> Callable[[Block], BoundGap] | None:
        """Contribution of rows to the ranking of runs, besides the ELBO; None if they have none."""
        return None

    @abc.abstractmethod
    def kl(self, posterior: PosteriorT) -> float:
        """``KL(posterior || prior)`` of everything global."""

    def starts(self, n: int) -> Starts:
        """Initialisations of ``n`` runs, as far as the model prescribes them: not, by default."""
        return Starts()

    @abc.abstractmethod
    def partition_stats(self, block: Block, responsibilities: ExpertRows) -> StatsT:
        """Statistics of these rows for a given (soft) partition: initialisation of a fit."""

    def first_stats(self, stats: Any) -> StatsT:
        """Statistics of the first posterior, from ``partition_stats`` summed over all rows."""
        return cast(StatsT, stats)

    @abc.abstractmethod
    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> Draws:
        """Draws of every global parameter."""

    def with_complete_draws(self) -> AbstractVariationalModel[PosteriorT, StatsT]:
        """The model whose draws hold every parameter: itself as a rule."""
        return self

    def completed(self, draws: Draws) -> tuple[Draws, DrawVector]:
        """Draws with every parameter, and the conditional log density of the added ones."""
        return draws, np.zeros(len(next(iter(draws.values()))))

    def knowing(
        self,
        posterior: PosteriorT,
        stats: StatsT | None = None,
        source: AbstractSource | None = None,
    ) -> AbstractVariationalModel[PosteriorT, StatsT]:
        """The model for draws of this posterior: by default itself.

        Where draws do not hold every parameter, it knows how the others depend on those they hold:
        by linear response, if the statistics of the posterior and all rows are given.
        """
        return self

    @abc.abstractmethod
    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Draws of every global parameter before any data are seen."""

    def parameter_space(self) -> ParameterSpace | None:
        """Supports of the parameters in ``draws``, by name; None if a part of the model has none.

        If they are defined, ``log_lik`` and ``log_prior`` accept arrays of JAX as well.
        """
        return None

    def reduced_space(self, block: Block) -> AbstractReducedSpace | None:
        """Parameters that the likelihood of these rows depends on, the others integrated out.

        None if no closed form is known.
        """
        return None

    def relabelled_draws(
        self, draws: Draws, posterior: PosteriorT, block: Block
    ) -> tuple[Draws, int]:
        """Draws of the exact posterior with the labels of this posterior, and how many changed.

        Where labels are exchangeable a priori, each draw is labelled as it best agrees with the
        posterior on the rows of the block; where they are not, draws stay as they are.
        """
        return draws, 0

    @abc.abstractmethod
    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """Log likelihood of each row for each draw, latent classes summed out.

        Draws are arrays of NumPy or of JAX, which differentiates this and ``log_prior``; see
        ``bayesvb.numerics.array_library``.
        """

    def component_log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log of each component's weight times its density: ``log_lik`` is their log sum."""
        return self.log_lik(draws, block)[:, None]

    def log_predictive(self, posterior: PosteriorT, block: Block) -> RowVector | None:
        """Log predictive density of each row, all that is observed of it together.

        The posterior is the same for all rows, or has one for each on a leading axis if
        ``posterior_by_row``. None where it has no closed form.
        """
        return None

    def row_predictions(
        self, posterior: PosteriorT, block: Block
    ) -> Float[np.ndarray, "values rows"]:
        """Log predictive density of each row, then the distribution function of each response.

        Distribution functions are evaluated at the observed values of numeric responses. Posterior
        as for ``log_predictive``, which must have a closed form.
        """
        density = self.log_predictive(posterior, block)
        if density is None:
            raise NotImplementedError(f"{type(self).__name__} has no closed predictive density")
        return density[None]

    def row_predictions_without(
        self, posterior: PosteriorT, block: Block, copies: RowVector
    ) -> Float[np.ndarray, "values rows"] | None:
        """Predictions of ``row_predictions``, with ``copies`` of each row removed.

        The other rows stay unchanged. None unless this is the method of leave-one-out: if there are
        too many statistics for derivatives of an iteration in all of them, or if no row has a share
        in several components, so that nothing else would change.
        """
        return None

    @property
    def draws_complete(self) -> bool:
        """Whether draws hold every parameter; otherwise their densities are not available."""
        return True

    def effective_dof(self, posterior: PosteriorT) -> Float[np.ndarray, "experts terms"] | None:
        """Effective degrees of freedom of the coefficients; None where they are not defined."""
        return None

    def linear_dof(self, posterior: PosteriorT) -> float | None:
        """Degrees of freedom of the Student t distribution of linear functions of coefficients.

        None if they have another distribution.
        """
        return None

    def factor_covariance(
        self, posterior: PosteriorT, kind: int, some: Int[np.ndarray, " some"]
    ) -> Float[np.ndarray, "factors some entries"] | None:
        """Covariance of the expectations with some statistics of each factor of a kind.

        Kinds are the ``factors`` of ``row_derivatives``. None if differences of updates are used
        instead.
        """
        return None

    def expectations_along(self, posterior: PosteriorT, change: StatsT) -> StatsT | None:
        """Changes of ``expectations`` with many changes of the statistics, as records of many.

        None where differences of updates take its place.
        """
        return None

    @property
    def has_slow_directions(self) -> bool:
        """Whether memberships of rows or learned scales may change slowly behind others."""
        return self.n_components > 1

    @property
    def is_conjugate(self) -> bool:
        """Whether the statistics of a row depend on the posterior by its memberships only."""
        return True

    @property
    def posterior_by_row(self) -> bool:
        """Whether ``update`` takes statistics of many rows at once, and predictions these."""
        return False

    def row_stats(self, posterior: PosteriorT, block: Block) -> StatsT | None:
        """Contribution of each row, counted once, to the sums, rows on the first axis.

        None where it is not at hand: a pass over each row by itself then takes its place.
        """
        return None

    def row_derivatives(self, posterior: PosteriorT, block: Block) -> RowDerivatives | None:
        """Derivatives of each row's part of the bound in the expected sufficient statistics.

        None where they are not at hand; differences of whole passes then take their place.
        """
        return None

    def row_forms(
        self, posterior: PosteriorT, block: Block
    ) -> tuple[tuple[Forms, ...], BlockVector] | None:
        """Covariances of the scalars of ``row_derivatives``, in closed form; None if there is none.

        Returns the forms of each part, experts first, and standard deviations of minus half the
        prior precisions of their sums of squares.
        """
        return None

    def prior_curvature(
        self, posterior: PosteriorT, kept: Bool[np.ndarray, " entries"]
    ) -> Float[np.ndarray, "kept kept"] | None:
        """Second derivative, in these of the expectations, of the prior's part of the ELBO.

        None where that is linear in them: parameters whose prior depends on others bend it.
        """
        return None

    def expectations(self, posterior: PosteriorT) -> EntryVector:
        """Expected sufficient statistics, for a model with ``row_derivatives``."""
        raise NotImplementedError(f"{type(self).__name__} has no expectations")

    @abc.abstractmethod
    def log_prior(self, draws: Draws) -> DrawVector:
        """Log prior density of each draw."""

    @abc.abstractmethod
    def log_posterior(self, posterior: PosteriorT, draws: Draws) -> DrawVector:
        """Log density of each draw under the variational posterior."""


ModelOf = AbstractVariationalModel[Any, StatsT]
"""A model with these statistics, where an algorithm does not ask what its posterior is."""

AnyModel = ModelOf[Any]
"""A model of any posterior and statistics, where an algorithm does not ask which."""
