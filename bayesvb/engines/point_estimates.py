"""A model of which every row is there very often: its posterior is a point, as EM has it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import BoundGap
from bayesvb.numerics.arrays import DrawCoordinates, DrawVector
from bayesvb.numerics.linalg import whitened
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.likelihood import AbstractLikelihood
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AbstractVariationalModel, PosteriorT, Starts, StatsT
from bayesvb.variational.passed_on import passed_on
from bayesvb.variational.point_model import AbstractPointModel

COPIES = 1e10
"""Multiplicity of every row. The remaining spread of the posterior costs less than 1e-9 nats per
parameter of the ELBO, and differences of sums keep their digits."""


@dataclass(frozen=True)
class PointCoordinates(AbstractCoordinates):
    """Coordinates of parameters whose posterior is many times as wide as with many copies.

    Attributes
    ----------
    narrow : AbstractCoordinates
        Coordinates of the posterior of all copies, for small deviations.
    spread : float
        How many times wider: the root of the number of copies.
    """

    narrow: AbstractCoordinates
    spread: float

    expectations = passed_on("narrow")
    log_volume = passed_on("narrow")

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of statistics in which every row counts once."""
        return self.narrow.perturbations() / self.spread

    def standard(self, draws: object) -> DrawCoordinates:
        """Deviations from the point."""
        return self.narrow.standard(draws) / self.spread

    def parameters(self, standard: DrawCoordinates) -> Any:
        """Parameters at these deviations."""
        return self.narrow.parameters(self.spread * standard)


@dataclass(frozen=True)
class PointEstimates(AbstractVariationalModel[PosteriorT, StatsT]):
    r"""A model as EM sees it: the posterior of ``COPIES`` copies of every row.

    With ``c`` copies, the prior to the power ``c`` as well, or a negligible prior, the posterior of
    the parameters shrinks to a point, expected log densities are the densities at the point, and
    bounds on them are exact. The ELBO of all copies, divided by ``c``, is the log posterior at the
    point less the largest log prior, or the log likelihood, and coordinate ascent is the EM
    algorithm. Statistics belong to one copy. Coordinates, draws and linear response describe the
    spread of one copy too: linear response is the inverse of the observed information, and draws
    are normal in coefficients, log precisions and log odds. Everything else is delegated to the
    model itself, at the posterior of the copies.

    Attributes
    ----------
    given : AbstractPointModel
        The model as it was made.
    limit : AbstractPointModel
        The model with the prior that belongs to the copies.
    penalised : bool
        Whether the prior counts.

    References
    ----------
    Dempster, Laird, Rubin (1977), Maximum likelihood from incomplete data via the EM algorithm,
    JRSS B 39(1). Neal, Hinton (1998), A view of the EM algorithm that justifies incremental,
    sparse, and other variants, for the bound that both steps climb. Louis (1982), Finding the
    observed information matrix when using the EM algorithm, JRSS B 44(2).
    """

    given: AbstractPointModel[PosteriorT, StatsT]
    limit: AbstractPointModel[PosteriorT, StatsT]
    penalised: bool

    @classmethod
    def of(
        cls, model: AbstractVariationalModel[PosteriorT, StatsT], *, penalised: bool
    ) -> PointEstimates[PosteriorT, StatsT]:
        """Point estimates of a model, by posterior or by likelihood.

        Raises
        ------
        NotImplementedError
            If the model has none; the message says why.
        """
        if not isinstance(model, AbstractPointModel):
            raise NotImplementedError("this model has no point estimates")
        given = cast(
            AbstractPointModel[PosteriorT, StatsT], model.for_points().with_complete_draws()
        )
        return cls(given, given.with_prior_power(COPIES * penalised), penalised)

    def __getattr__(self, name: str) -> object:
        """Attribute that only this kind of model has, at the posterior of the copies."""
        if name.startswith("__") or name in type(self).__dataclass_fields__:
            raise AttributeError(name)
        return getattr(self.limit, name)

    follows_rows = passed_on("given")
    predicts_classes = passed_on("given")
    n_components = passed_on("given")
    posterior_by_row = passed_on("limit")
    e_step = passed_on("limit")
    partition_stats = passed_on("given")
    first_stats = passed_on("given")
    row_derivatives = passed_on("limit")
    expectations = passed_on("limit")
    log_predictive = passed_on("limit")
    row_predictions = passed_on("limit")
    responsibilities = passed_on("limit")
    mean_weights = passed_on("limit")
    log_weights = passed_on("limit")
    gate_coefficients = passed_on("limit")
    coefficient_meaning = passed_on("limit")
    predictive = passed_on("limit")
    probabilities = passed_on("limit")
    drawn_probabilities = passed_on("limit")
    prior_draws = passed_on("given")
    log_lik = passed_on("given")

    @property
    def without_response(self) -> str:  # type: ignore[override]
        """Reason why standard errors are missing."""
        return self.limit.without_information

    def update(self, stats: StatsT) -> PosteriorT:
        """The M step, as the posterior of all copies."""
        return self.limit.update(COPIES * stats)

    def global_step(self, posterior: PosteriorT, stats: Any) -> StatsT:
        # Statistics stay those of one copy, so that starts, tolerances and files do not differ.
        return (1.0 / COPIES) * self.limit.global_step(posterior, COPIES * stats)

    def gradient_stats(self, posterior: PosteriorT, stats: Any) -> StatsT:
        """Derivative of the rows' part of the objective in the expected statistics."""
        return (1.0 / COPIES) * self.limit.gradient_stats(posterior, COPIES * stats)

    def kl(self, posterior: PosteriorT) -> float:
        """Contribution of the log prior to the objective; negligible without a prior."""
        return self.limit.kl(posterior) / COPIES

    def coordinates(self, posterior: PosteriorT) -> PointCoordinates | None:
        """Coordinates of the spread of one copy: log likelihoods of many rows are quadratic."""
        coordinates = self.limit.coordinates(posterior)
        return (
            None if coordinates is None else PointCoordinates(coordinates.uncoupled(), COPIES**0.5)
        )

    def likelihood(self) -> AbstractLikelihood[StatsT] | None:
        """Likelihood of the model; None where a prior counts."""
        return None if self.penalised else self.limit.likelihood()

    def collapsed(self, posterior: PosteriorT, block: Block) -> Bool[np.ndarray, " components"]:
        """Components on a few rows, where a likelihood has no maximum; never with a prior."""
        mask = self.limit.collapsed(posterior, block)
        return mask & (not self.penalised)

    def separated(self, posterior: PosteriorT, block: Block) -> bool:
        """Whether coefficients of the weights grow for ever; never where a prior counts."""
        return not self.penalised and self.limit.separated(posterior, block)

    def bound_gap(self, posterior: PosteriorT) -> Callable[[Block], BoundGap]:
        """Runs with collapsed components are ranked last: their objective has no maximum."""
        return partial(self._bound_gap, posterior)

    def _bound_gap(self, posterior: PosteriorT, block: Block) -> BoundGap:
        """Minus infinity if a component collapsed on these rows; otherwise the gap of the model."""
        if self.collapsed(posterior, block).any():
            return BoundGap(-np.inf)
        gap = self.limit.bound_gap(posterior)
        return BoundGap(0.0) if gap is None else gap(block)

    def starts(self, n: int) -> Starts:
        """Starts of the wrapped model; no other priors without a prior."""
        starts = self.given.starts(n)
        models, priors = (
            {name: PointEstimates.of(one, penalised=self.penalised) for name, one in each.items()}
            for each in (starts.models, starts.priors if self.penalised else {})
        )
        return Starts(models, priors, starts.few)

    def permuted(
        self, order: Sequence[int], stats: StatsT
    ) -> tuple[PointEstimates[PosteriorT, StatsT], StatsT]:
        """Model and statistics after a new labelling: component ``order[0]`` comes first."""
        given: Any = self.given
        limit: Any = self.limit
        moved, sums = limit.permuted(order, stats)
        return replace(self, given=given.permuted(order, stats)[0], limit=moved), sums

    def point(self, posterior: PosteriorT) -> Draws:
        """The estimates, as one draw."""
        coordinates = self.coordinates(posterior)
        if coordinates is None:
            return self.limit.draws(posterior, 1, np.random.default_rng(0))
        return dict(coordinates.parameters(np.zeros((1, len(coordinates.perturbations())))))

    def draws(self, posterior: PosteriorT, n: int, rng: np.random.Generator) -> Draws:
        """Draws of the normal approximation, whose mean and covariance are exactly its own."""
        draws = self.coordinates(posterior)
        if draws is None:
            return self.limit.draws(posterior, n, rng)
        return dict(draws.parameters(standardised(n, len(draws.perturbations()), rng)))

    def log_prior(self, draws: Draws) -> DrawVector:
        """Log prior density of each draw; zero without a prior."""
        density = self.given.log_prior(draws)
        return density if self.penalised else np.zeros_like(density)

    def log_posterior(self, posterior: PosteriorT, draws: Draws) -> DrawVector:
        """Log density of each draw under the normal approximation, up to a constant."""
        coordinates = self.coordinates(posterior)
        if coordinates is None:
            return self.limit.log_posterior(posterior, draws)
        standard = coordinates.standard(draws)
        squares = (standard * standard).sum(axis=1) + standard.shape[1] * LOG_2PI
        return np.asarray(-0.5 * squares - coordinates.log_volume(draws))


def standardised(n: int, n_coordinates: int, rng: np.random.Generator) -> DrawCoordinates:
    """Standard normal draws with mean zero and covariance one, exactly if there are enough.

    Averages over them of linear or quadratic functions then equal averages over the distribution.
    """
    draws = rng.standard_normal((n, n_coordinates))
    if n <= n_coordinates + 1:
        return draws
    return whitened(draws)
