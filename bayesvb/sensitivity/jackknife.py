"""Infinitesimal jackknife: how the centre of a posterior moves without some of the rows."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Bool, Float

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import EntryVector, Indices
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.sensitivity.covariance import LinearResponse, coordinates_of, linear_response
from bayesvb.sensitivity.deletion import MANY_ROWS, SHARES, Deletion
from bayesvb.sensitivity.operator import (
    STEP,
    AbstractAppliedSensitivity,
    changes_along,
)
from bayesvb.sensitivity.solvers import expectation_changes
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import Draws

CURVED = 500
"""Changes that are made in full, the largest; of more than these the others are linear."""

PRIOR_STEP = 0.05
"""Step of second differences of log densities, in standard deviations of the posterior."""


@dataclass(frozen=True)
class Jackknife:
    """Changes of the centre of a posterior with its statistics, in standard coordinates.

    The centre is where all standard coordinates of a posterior are zero: means of coefficients,
    exponentials of mean log precisions.

    Attributes
    ----------
    deletion : Deletion
        Of a model with standard coordinates.
    response : LinearResponse, optional
        Linear response of the fit, where it has been computed.

    References
    ----------
    Jaeckel (1972), The infinitesimal jackknife, Bell Laboratories. Giordano, Broderick (2024),
    The Bayesian infinitesimal jackknife for variance, arXiv:2305.06466.
    """

    deletion: Deletion
    response: LinearResponse | None = None

    @cached_property
    def coordinates(self) -> AbstractCoordinates:
        """Standard coordinates of the posterior with all rows."""
        return coordinates_of(self.deletion.model, self.deletion.posterior)

    @cached_property
    def _perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Change of the statistics by a unit perturbation of each coordinate."""
        return np.asarray(self.coordinates.perturbations())

    @property
    def size(self) -> int:
        """Number of coordinates."""
        return len(self._perturbations)

    def draws(self, standard: Float[np.ndarray, "points coordinates"]) -> Draws:
        """Parameters at these coordinates."""
        draws: Draws = self.coordinates.parameters(standard)
        return draws

    def centre(self, posterior: object) -> Float[np.ndarray, " coordinates"]:
        """Centre of another posterior."""
        other = coordinates_of(self.deletion.model, posterior)
        place = self.coordinates.standard(other.parameters(np.zeros((1, self.size))))
        return np.asarray(place[0])

    @cached_property
    def derivative(self) -> Float[np.ndarray, "coordinates entries"]:
        """Derivative of the centre in the statistics, in closed form or by central differences.

        Raises
        ------
        DataError
            If the fit is at the edge of the parameter space, as if the likelihood does not identify
            coefficients.
        """
        return self._differences(np.arange(self.deletion.derivative.n_entries))

    def linear(
        self, parts: Iterable[Float[np.ndarray, "_ entries"]]
    ) -> Float[np.ndarray, "groups coordinates"]:
        """Linear changes of the centre where each of these is added to the statistics, answered.

        One part at a time is in memory whole. Differences are in the entries that change at all:
        with effects of many groups most do not, products of the indicators of two groups. It is
        the slopes that are answered, of which there are fewer.
        """
        if isinstance(self.deletion.derivative, AbstractAppliedSensitivity):
            with single_threaded_blas(), np.errstate(all="ignore"):
                solved = (self.deletion.solve(part) for part in parts)
                return np.concatenate([self._linear(change) for change in solved])
        kept, used = [], self.deletion.derivative.answering.copy()
        for part in parts:
            entries = np.flatnonzero(part.any(axis=0))
            kept.append((entries, part[:, entries]))
            used[entries] = True
        with single_threaded_blas(), np.errstate(all="ignore"):
            slopes = self.deletion.derivative.solve_transposed(self._slopes(used))
            return np.concatenate([own @ slopes[:, entries].T for entries, own in kept])

    def linear_without_rows(self) -> Float[np.ndarray, "rows coordinates"] | None:
        """Linear changes of the centre without each row, by case weight.

        None unless the solver is in the space of all rows, where nothing is solved for.
        """
        solver, source = self.deletion.by_rows, self.deletion.source
        if solver is None:
            return None
        weight = source.weights()
        weight = np.ones(source.n_rows) if weight is None else weight
        slopes = self.coordinates.centre_by_variables(solver.space.parts, solver.space.scale)
        with single_threaded_blas(), np.errstate(all="ignore"):
            changes = solver.change_of_variables(np.arange(len(weight)), -weight)
            return np.asarray(changes @ slopes.T)

    def _slopes(
        self, used: Bool[np.ndarray, " entries"]
    ) -> Float[np.ndarray, "coordinates entries"]:
        """Derivatives of the centre in these statistics, zeros in the others."""
        if used.all():
            return self.derivative
        slopes = np.zeros((self.size, len(used)))
        slopes[:, used] = self._differences(np.flatnonzero(used))
        return slopes

    def _linear(
        self, change: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups coordinates"]:
        """Linear changes of the centre with changes of the statistics."""
        if isinstance(self.deletion.derivative, AbstractAppliedSensitivity):
            # The matrix of all slopes is as large as the one that the solver does not make.
            moved = self.coordinates.centre_slopes(self.deletion.derivative.metric_of(change))
            if moved is not None:
                return moved
        return np.asarray(change @ self._slopes(np.asarray(change.any(axis=0))).T)

    def _differences(self, entries: Indices) -> Float[np.ndarray, "coordinates chosen"]:
        """Derivatives in some of the statistics, where the fit has neighbours."""
        known = self._of_expectations(entries)
        if known is not None:
            return known
        with _smooth():
            return self._central(entries)

    def _of_expectations(self, entries: Indices) -> Float[np.ndarray, "coordinates chosen"] | None:
        """Slopes from changes of the expectations, where the centre is a known function of them."""
        model, stats, source = self.deletion.model, self.deletion.stats, self.deletion.source
        known = model.row_derivatives(self.deletion.posterior, source.take(np.arange(1)))
        nothing = np.zeros((1, self.deletion.derivative.n_entries))
        if known is None or self.coordinates.centre_slopes(nothing) is None:
            return None
        self._check_neighbours()
        used = np.zeros(nothing.shape[1], dtype=bool)
        used[entries] = True
        change = expectation_changes(model, stats, known.factors, known.shared, used)
        return np.asarray(self.coordinates.centre_slopes(change)).T

    def _central(self, entries: Indices) -> Float[np.ndarray, "coordinates chosen"]:
        """Slopes by central differences, or an error of linear algebra."""
        stats = self.deletion.stats
        at = stats.to_vector()
        size = STEP * np.maximum(np.abs(at), 1.0)
        differences = np.empty((self.size, len(entries)))
        for place, entry in enumerate(entries):
            step = size[entry]
            ahead, behind = at.copy(), at.copy()
            ahead[entry] += step
            behind[entry] -= step
            ends = [
                self.centre(self.deletion.model.update(stats.with_vector(vector)))
                for vector in (ahead, behind)
            ]
            differences[:, place] = (ends[0] - ends[1]) / (2.0 * step)
        return differences

    @cached_property
    def covariance(self) -> Float[np.ndarray, "coordinates coordinates"]:
        """Linear-response covariance: the fit's, if it has one, or computed here.

        If the fit is not at a maximum, the solution for unit perturbations.
        """
        deletion = self.deletion
        model, source, stats = deletion.model, deletion.source, deletion.stats
        response = self.response
        if response is None and source.n_rows <= MANY_ROWS:
            response = linear_response(model, source, stats)
        if response is not None and response.covariance.shape == (self.size, self.size):
            return response.covariance
        tilts = self._perturbations
        with single_threaded_blas(), np.errstate(all="ignore"):
            covariance = changes_along(model, stats, tilts) @ deletion.solve(tilts).T
        return np.asarray(0.5 * (covariance + covariance.T))

    @cached_property
    def prior_information(self) -> Float[np.ndarray, "coordinates coordinates"]:
        """Information of the prior on the coordinates, as a proportion of the posterior's.

        Curvature of the log prior at the centre, in coordinates in which the posterior's is the
        identity: it is the identity without information from data, whatever the shape of the prior.
        """
        curvatures, prior = self._curvatures()
        values, axes = np.linalg.eigh(curvatures)
        # Smallest curvature of a posterior in its own coordinates; it is one where it is normal.
        root = axes / np.sqrt(np.maximum(values, 1e-6)) @ axes.T
        values, axes = np.linalg.eigh(root @ prior @ root)
        return np.asarray(axes * np.clip(values, 0.0, 1.0) @ axes.T)

    def _curvatures(self) -> Float[np.ndarray, "laws coordinates coordinates"]:
        """Minus the second derivatives of the log posterior and of the log prior, at the centre.

        Differences of the values at two points for each pair of coordinates, to both sides of the
        centre, and at two for each coordinate.
        """
        single = PRIOR_STEP * np.eye(self.size)
        middle = self._log_densities(np.zeros((1, self.size)))
        sides = self._log_densities(single) + self._log_densities(-single) - 2.0 * middle
        curvatures = np.empty((len(sides), self.size, self.size))
        curvatures[:, np.arange(self.size), np.arange(self.size)] = 2.0 * sides
        first, second = np.triu_indices(self.size, 1)
        for some in pieces(len(first), self.size, AT_ONCE):
            i, j = first[some], second[some]
            pair = single[i] + single[j]
            both = self._log_densities(pair) + self._log_densities(-pair) - 2.0 * middle
            curvatures[:, i, j] = curvatures[:, j, i] = both - sides[:, i] - sides[:, j]
        return curvatures / (-2.0 * PRIOR_STEP**2)

    def _log_densities(
        self, standard: Float[np.ndarray, "points coordinates"]
    ) -> Float[np.ndarray, "laws points"]:
        """Log densities of the coordinates under the posterior and under the prior."""
        draws, model = self.draws(standard), self.deletion.model
        laws = model.log_posterior(self.deletion.posterior, draws), model.log_prior(draws)
        return np.asarray(np.array(laws) + self.coordinates.log_volume(draws))

    def changes(
        self, direct: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups coordinates"]:
        """Changes of the centre where each of these is added to the statistics, and answered.

        The ``CURVED`` largest are differences of centres; others, each small, are linear, as all
        are of a model that is not conjugate.
        """
        with single_threaded_blas(), np.errstate(all="ignore"):
            change = self.deletion.solve(direct)
            if not self.deletion.model.is_conjugate:
                return self._linear(change)
            if len(change) <= CURVED:
                self._check_neighbours()
                each = [
                    self._curved(*both, self.centre) for both in zip(direct, change, strict=True)
                ]
                changes = np.empty((len(change), self.size))
                flat = [one is None for one in each]
                if any(flat):
                    changes[flat] = self._linear(change[flat])
                for place, one in enumerate(each):
                    changes[place] = changes[place] if one is None else one
                return changes
            changes = self._linear(change)
            for place in np.argsort(-(changes**2).sum(axis=1), kind="stable")[:CURVED]:
                curved = self._curved(direct[place], change[place], self.centre)
                changes[place] = changes[place] if curved is None else curved
        return np.asarray(changes)

    def _check_neighbours(self) -> None:
        """Raise where the fit has no neighbours to all sides, as ``derivative`` does.

        A matrix that a likelihood leaves singular has a negative root on one of two sides.
        """
        stats = self.deletion.stats
        at = stats.to_vector()
        signs = np.random.default_rng(0).choice([-1.0, 1.0], at.size)
        step = STEP * np.maximum(np.abs(at), 1.0) * signs / np.sqrt(at.size)
        with _smooth():
            for side in (at + step, at - step):
                self.centre(self.deletion.model.update(stats.with_vector(side)))

    def _curved(
        self,
        direct: EntryVector,
        change: EntryVector,
        evaluate: Callable[[object], Float[np.ndarray, " coordinates"]],
    ) -> Float[np.ndarray, " coordinates"] | None:
        """Difference of centres, the answer of the other rows shortened until it is of data."""
        model, stats = self.deletion.model, self.deletion.stats
        at = stats.to_vector()
        for share in SHARES:
            moved = at + direct + share * (change - direct)
            try:
                values = evaluate(model.update(stats.with_vector(moved)))
            except np.linalg.LinAlgError:
                continue
            if np.isfinite(values).all():
                return values
        return None


@contextmanager
def _smooth() -> Iterator[None]:
    """A DataError instead of the error for a matrix that has no root."""
    try:
        yield
    except np.linalg.LinAlgError as error:
        raise DataError(
            f"the posterior is not a differentiable function of the data at this fit: {error}",
            hint="remove terms that are confounded within a component, or fit with a prior",
        ) from error
