"""Honest covariances: how expectations answer when the posterior is tilted."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.numerics.arrays import DirectionEntries, DrawVector, EntryVector
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.sensitivity.curvature import Curving
from bayesvb.sensitivity.lanczos import ConvexBound, projected_covariance
from bayesvb.sensitivity.operator import expectations_along
from bayesvb.sensitivity.solvers import row_sensitivity
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel
from bayesvb.variational.shared_response import BendsUpwards

STEP = 1e-3
"""Step of differences, in standard deviations of the posterior; the error is its square over the
number of rows, as central differences leave the fourth derivative of the bound."""

NOT_ASKED = "linear response was not asked for"
"""Why there is none where the variational posterior itself is wanted."""

INTERRUPTED = "the fit was interrupted"
"""Why there is none where the fit was ended before."""

NO_MAXIMUM = "the fit is not at a maximum of its bound"
"""Why there is none at a saddle point."""

UNTOLD = "the rows may not identify all coefficients"
"""Consequence of statistics near the fit's that do not belong to any data."""

MOST_ENTRIES = 1 << 18
"""Most numbers in the statistics, which grow with the groups, for which differences in all
directions fit into memory."""

TOO_MANY = (
    "there are too many groups, which are not eliminated where the bound of the weights has no "
    "second derivatives, or there are more than some forty other columns"
)
"""Why there is none beyond."""

MOST_NUMBERS = 1 << 26
"""Statistics times coordinates up to which directions fit into memory: there are some nine such
arrays."""

UNRESOLVED = (
    "variances in different directions of the parameters differ by more than double precision holds"
)
"""Why a covariance in closed form cannot be used: its smaller eigenvalues are rounding errors."""

TOO_WIDE = (
    "there are too many columns: directions in all products of two do not fit into memory "
    "(for one factor with many levels, write `(1 | factor)`)"
)
"""Why there is none beyond."""

LONGER = 2.0
"""Scalars of all rows, relative to statistics, up to which their space takes less time.

With 50 columns, five components and 1,000 rows they are level and it takes half the time; beyond,
its time grows with the square of the rows.
"""


@dataclass(frozen=True)
class LinearResponse:
    """Covariance of the standard coordinates of a posterior.

    Attributes
    ----------
    covariance : ndarray, shape (coordinates, coordinates)
        The identity is the covariance of the posterior itself. Empty if there is none.
    n_iter : int
        Passes over the rows.
    failure : str or None
        Reason why the covariance is missing; None if it is available.
    """

    covariance: Float[np.ndarray, "coordinates coordinates"]
    n_iter: int
    failure: str | None = None

    @property
    def label(self) -> str:
        """Name of the covariance that intervals are made of."""
        return "linear-response" if self.failure is None else "mean-field"

    def move(self, model: AnyModel, posterior: object, draws: Draws) -> tuple[Draws, DrawVector]:
        """Draws of the posterior given this covariance, with their log density.

        Standard coordinates are multiplied by the symmetric root of the covariance, which changes
        the draws as little as possible.
        """
        log_density = model.log_posterior(posterior, draws)
        if self.failure is not None:
            return draws, log_density
        if np.array_equal(self.covariance, np.eye(len(self.covariance))):
            return draws, log_density
        values, axes = np.linalg.eigh(self.covariance)
        response_coordinates = model.response_coordinates(posterior)
        if response_coordinates is None:
            raise TypeError(f"{type(model).__name__} has no standard coordinates")
        moved = response_coordinates.moved(draws, axes * np.sqrt(values) @ axes.T)
        change = response_coordinates.log_volume(draws) - response_coordinates.log_volume(moved)
        return moved, log_density + change - 0.5 * np.log(values).sum()


def coordinates_of(model: AnyModel, posterior: object) -> AbstractCoordinates:
    """Standard coordinates of a model that has them."""
    coordinates = model.coordinates(posterior)
    if coordinates is None:
        raise TypeError(f"{type(model).__name__} has no standard coordinates")
    return coordinates


def withheld(why: str, n_iter: int = 0) -> LinearResponse:
    """No covariance beyond the posterior's, and the reason."""
    return LinearResponse(np.empty((0, 0)), n_iter, why)


def linear_response(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> LinearResponse:
    r"""Covariance of all parameters from the response of a variational posterior to tilts.

    Where ``exp(t h)`` multiplies the exact posterior, the derivative of ``E[g]`` in ``t`` is the
    covariance of ``g`` and ``h``. The same derivative of the variational optimum repairs what
    factorisation takes away. With ``V`` the covariance of the sufficient statistics under q and
    ``F'`` the derivative of one undamped sweep in the statistics it is

    .. math:: \Sigma = V (I - F')^{-1} = (V^{-1} - \nabla^2 f)^{-1},

    ``f`` the rows' part of the ELBO. ``F'`` is self-adjoint for the inner product ``u' V v``; it is
    projected on the perturbations, their images, and so on, until variances converge (block
    Lanczos). Derivatives of expectations have closed forms, or are central differences; derivatives
    of the iteration follow from the rows' second derivatives, or, if these are not available, from
    differences of complete iterations.

    Parameters
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        State of a converged fit.

    References
    ----------
    Giordano, Broderick, Jordan (2018), Covariances, robustness, and variational Bayes, JMLR
    19(51), the linear-response covariance of section 3. Giordano, Broderick (2015),
    arXiv:1502.07685, for the form ``(I - V H)^-1 V`` with conjugate factors.
    """
    return response_or_direction(model, source, stats)[0]


def response_or_direction(
    model: AnyModel, source: AbstractSource, stats: SufficientStats
) -> tuple[LinearResponse, EntryVector | None]:
    """Linear response; and where there is none, as the bound is not concave, the way it bends up.

    The way is a change of the statistics, one standard deviation of the posterior long.
    """
    posterior = model.update(stats)
    known = model.known_response(posterior, source)
    if known is not None:
        return resolved(known), None
    shared = model.response_of_shared(stats, posterior, source)
    if not model.draws_complete and not shared and stats.to_vector().size > MOST_ENTRIES:
        return withheld(TOO_MANY), None
    tilted = shared or model.coordinates(posterior)
    if tilted is None:
        return withheld(model.without_response), None
    differences = shared or _Differences(model, source, stats)
    try:
        with single_threaded_blas(), np.errstate(all="ignore"):
            if isinstance(tilted, AbstractCoordinates):
                by_row = _in_row_space(model, source, stats, tilted)
                if by_row is None and tilted.size * stats.to_vector().size > MOST_NUMBERS:
                    return withheld(TOO_WIDE), None
                by_row = by_row or _by_row(model, source, stats, tilted)
                if by_row is not None:
                    return by_row, None
            covariance = projected_covariance(differences, tilted.perturbations())
    except ConvexBound as error:
        way = shared.lifted(error.direction) if shared else error.direction
        return withheld(f"{NO_MAXIMUM} ({error})", max(differences.passes, 1)), way
    except BendsUpwards as error:
        return withheld(f"{NO_MAXIMUM} in the effects of a group", 1), error.direction
    except np.linalg.LinAlgError as error:
        return withheld(f"{UNTOLD}: {error}", differences.passes), None
    return LinearResponse(covariance, differences.passes), None


def resolved(covariance: Float[np.ndarray, "tilts tilts"]) -> LinearResponse:
    """Covariance in closed form, withheld where its smaller eigenvalues are rounding errors."""
    variances = np.linalg.eigvalsh(covariance)
    if not variances[0] > np.finfo(float).eps * variances[-1]:
        return withheld(UNRESOLVED, 1)
    return LinearResponse(covariance, 1)


def _in_row_space(
    model: AnyModel, source: AbstractSource, stats: SufficientStats, tilted: AbstractCoordinates
) -> LinearResponse | None:
    """Linear response in the space of rows.

    None where another takes less time, and where it fails or finds no maximum in second moments.

    Raises
    ------
    ConvexBound
    """
    rows = row_sensitivity(model, source, stats, LONGER)
    if rows is None:
        return None
    stand_ins = tilted.stand_ins(rows.space.parts, rows.space.scale)
    try:
        return LinearResponse(stand_ins @ rows.covariance() @ stand_ins.T, 1)
    except ConvexBound:
        raise
    except np.linalg.LinAlgError:
        return None


def _by_row(
    model: AnyModel, source: AbstractSource, stats: SufficientStats, tilted: AbstractCoordinates
) -> LinearResponse | None:
    """Linear response by second derivatives of the rows, of which statistics by group have none.

    None also if it finds no maximum: only iterations show the reason. They fail if statistics near
    the fit's do not belong to any data, which second derivatives do not detect.
    """
    if not (source.rows_at_hand and model.draws_complete):
        return None
    if model.row_derivatives(model.update(stats), source.take(np.arange(1))) is None:
        return None
    second = _SecondDerivatives(model, source, stats)
    with suppress(np.linalg.LinAlgError):
        covariance = projected_covariance(second, tilted.perturbations())
        return LinearResponse(covariance, second.passes)
    return None


class _Differences:
    """Derivatives of expectations and of sweeps at the state of a fit, along given directions."""

    def __init__(self, model: AnyModel, source: AbstractSource, stats: SufficientStats) -> None:
        self.model = model
        self.source = source
        self.stats = stats
        self.passes = 0

    def metric(self, directions: DirectionEntries) -> DirectionEntries:
        """``V u`` for every direction ``u``: changes of the expectations."""
        posterior = self.model.update(self.stats)
        known = expectations_along(self.model, self.stats, posterior, directions)
        return (
            known
            if known is not None
            else self._along(
                directions,
                lambda several: [coordinates_of(self.model, q).expectations() for q in several],
            )
        )

    def answers(self, directions: DirectionEntries, metric: DirectionEntries) -> DirectionEntries:
        """``F' u`` for every direction ``u``: changes of the statistics one sweep on."""
        return self._along(directions, self._sweeps)

    def _sweeps(self, posteriors: Sequence[object]) -> list[EntryVector]:
        self.passes += len(posteriors)
        steps = self.source.map_reduce_all([partial(self.model.e_step, q) for q in posteriors])
        return [
            self.model.gradient_stats(q, step.stats).to_vector()
            for q, step in zip(posteriors, steps, strict=True)
        ]

    def _along(
        self,
        directions: DirectionEntries,
        function: Callable[[Sequence[object]], list[EntryVector]],
    ) -> DirectionEntries:
        """Central differences, as many directions at a time as memory allows."""
        centre = self.stats.to_vector()
        changes = np.empty_like(directions)
        for some in pieces(len(directions), centre.size, AT_ONCE):
            moved = [centre + step * one for one in directions[some] for step in (STEP, -STEP)]
            values = function([self.model.update(self.stats.with_vector(v)) for v in moved])
            ends = np.stack(values)
            changes[some] = (ends[::2] - ends[1::2]) / (2.0 * STEP)
        return changes


class _SecondDerivatives(_Differences):
    """Derivatives by iterations that use second derivatives of the rows: ``F' = f'' V``."""

    def __init__(self, model: AnyModel, source: AbstractSource, stats: SufficientStats) -> None:
        super().__init__(model, source, stats)
        self.curving = Curving(model, source, model.update(stats))

    def answers(self, directions: DirectionEntries, metric: DirectionEntries) -> DirectionEntries:
        """``F' u`` for every direction ``u``: ``f''`` times its metric."""
        self.passes += 1
        return self.curving.times(metric)
