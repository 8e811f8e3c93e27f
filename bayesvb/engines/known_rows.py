"""Runs over new rows, with known rows of which only the sufficient statistics are stored."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines.base import Iterate
from bayesvb.sensitivity.covariance import LinearResponse, linear_response, withheld
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.model import AbstractVariationalModel, PosteriorT, StatsT
from bayesvb.variational.passed_on import passed_on
from bayesvb.variational.streamed_model import AbstractStreamedModel, AnyStreamed

STEP = 1e-4
"""Step of differences between the standard coordinates of two posteriors."""


@dataclass(frozen=True)
class BesideKnownRows(AbstractVariationalModel[PosteriorT, StatsT]):
    r"""A model whose posterior has seen rows that nobody goes over any more.

    Their part of the ELBO is linear in the expected statistics, ``s' E[t]`` with the statistics
    ``s`` at their posterior: exact if these do not depend on the posterior, as with one component.
    In mixtures, responsibilities of these rows stay fixed, which gives a lower bound of the ELBO. A
    run over new rows is then streaming variational Bayes.

    Attributes
    ----------
    model : AbstractStreamedModel
    before : SufficientStats
        Of the rows that were seen, as ``model.update`` takes them.
    known : float
        Their contribution to the ELBO if all statistics are these, less the linear part.

    References
    ----------
    Broderick, Boyd, Wibisono, Wilson, Jordan (2013), Streaming variational Bayes, NeurIPS 26.
    """

    model: AbstractStreamedModel[PosteriorT, StatsT]
    before: StatsT
    known: float = 0.0

    @classmethod
    def of(
        cls, model: AbstractStreamedModel[PosteriorT, StatsT], before: StatsT, bound: float
    ) -> BesideKnownRows[PosteriorT, StatsT]:
        """The model with known rows of these statistics, at which its ELBO was this."""
        return cls.from_pass(model, Iterate(before, bound, before))

    @classmethod
    def from_pass(
        cls, model: AbstractStreamedModel[PosteriorT, StatsT], here: Iterate[StatsT]
    ) -> BesideKnownRows[PosteriorT, StatsT]:
        """The model with the rows of an iteration as known rows, and its final statistics."""
        posterior = model.update(here.stats)
        rows = here.bound + model.kl(posterior)
        return cls(model, here.following, rows - model.expected_sum(here.following, posterior))

    n_components = passed_on("model")
    has_slow_directions = passed_on("model")
    is_conjugate = passed_on("model")
    e_step = passed_on("model")
    update = passed_on("model")
    draws_complete = passed_on("model")
    coordinates = passed_on("model")
    partition_stats = passed_on("model")
    draws = passed_on("model")
    prior_draws = passed_on("model")
    log_lik = passed_on("model")
    log_prior = passed_on("model")
    log_posterior = passed_on("model")

    def forgetting(self, share: float) -> BesideKnownRows[PosteriorT, StatsT]:
        """The model with known rows whose weight is multiplied by this share."""
        return BesideKnownRows(self.model, share * self.before, share * self.known)

    def global_step(self, posterior: PosteriorT, stats: object) -> StatsT:
        """Statistics of all rows after a step, from an iteration over the new ones."""
        return self.model.global_step(posterior, stats, self.before)

    def gradient_stats(self, posterior: PosteriorT, stats: object) -> StatsT:
        """Derivative in the expected statistics, with a constant contribution of known rows."""
        return self.model.gradient_stats(posterior, stats, self.before)

    def kl(self, posterior: PosteriorT) -> float:
        """Divergence from the prior, less the known rows' part of the bound."""
        rows = self.known + self.model.expected_sum(self.before, posterior)
        return self.model.kl(posterior) - rows


@dataclass(frozen=True)
class KnownInformation:
    """Information about the parameters in rows that are no longer there.

    Attributes
    ----------
    coordinates : AbstractCoordinates
        Standard coordinates of the posterior given these rows.
    complete : ndarray, shape (coordinates, coordinates)
        Precision if nothing about the rows were hidden, such as their components.
    observed : ndarray, shape (coordinates, coordinates)
        Precision by linear response; the difference is the missing information (Louis 1982).
    """

    coordinates: AbstractCoordinates
    complete: Float[np.ndarray, "coordinates coordinates"]
    observed: Float[np.ndarray, "coordinates coordinates"]

    @classmethod
    def of(
        cls, model: AnyStreamed, stats: SufficientStats, response: LinearResponse, nobody: Block
    ) -> KnownInformation:
        """From the linear response of the fit to these rows.

        A fit whose statistics are constant has the coupling by the prior only, and no missing
        information.
        """
        posterior = model.update(stats)
        still = BesideKnownRows(model, stats)
        still_response = linear_response(still, InMemorySource((nobody,)), stats)
        coordinates = model.coordinates(posterior)
        if coordinates is None or still_response.failure is not None:
            raise np.linalg.LinAlgError(still_response.failure or model.without_response)
        return cls(
            coordinates,
            np.linalg.inv(still_response.covariance),
            np.linalg.inv(response.covariance),
        )

    def seen_from(self, other: AbstractCoordinates) -> KnownInformation:
        """Information in the standard coordinates of another posterior."""
        steps = STEP * np.eye(len(self.observed))
        ahead, behind = (
            other.standard(self.coordinates.parameters(sign * steps)) for sign in (1.0, -1.0)
        )
        back = np.linalg.inv((ahead - behind) / (2.0 * STEP))
        complete, observed = (back @ one @ back.T for one in (self.complete, self.observed))
        return KnownInformation(other, complete, observed)


def response_beside(
    with_known: BesideKnownRows[PosteriorT, StatsT],
    source: AbstractSource,
    stats: StatsT,
    known: KnownInformation,
    *,
    share: float = 1.0,
    least: float = 0.0,
) -> LinearResponse:
    """Linear response to new and earlier rows; earlier rows count for this ``share``.

    Precisions of independent rows add up. The result is the observed precision of the earlier rows,
    plus the precision of the new rows with the earlier statistics, minus the complete precision of
    the earlier rows. ``least`` is the smallest relative change of the earlier rows' precision in
    any direction, because new rows do not lessen it.
    """
    response = linear_response(with_known, source, stats)
    if response.failure is not None:
        return response
    coordinates = with_known.coordinates(with_known.update(stats))
    assert coordinates is not None
    here = known.seen_from(coordinates)
    root = np.linalg.cholesky(share * here.observed)
    added = np.linalg.inv(response.covariance) - share * here.complete
    added = np.linalg.solve(root, np.linalg.solve(root, 0.5 * (added + added.T)).T)
    values, axes = np.linalg.eigh(added)
    # Complete information changes with the parameters, by more than overlapping components keep of
    # it: without a least change three components of a sine lost their response in five updates.
    values = np.maximum(values, least)
    if not values[0] > -1.0:
        why = "the parameters differ too much from the fit to the earlier rows"
        return withheld(why, response.n_iter)
    back = np.linalg.solve(root.T, axes)
    return replace(response, covariance=back / (1.0 + values) @ back.T)
