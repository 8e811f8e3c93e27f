"""Sums, posterior and coordinates of linear experts with Student-t noise."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.degrees_of_freedom import log_partition
from bayesvb.experts.linear import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.linalg import products
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import AbstractLocalPosterior, Draws


@dataclass(frozen=True)
class StudentStats(SufficientStats):
    """Sums over rows, per expert and response, weighted by the expected precision of each row.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    xx : ndarray, shape (experts, responses, pairs)
        Sum of ``u_i x x'``, packed.
    xy : ndarray, shape (experts, responses, terms)
    yy : ndarray, shape (experts, responses)
    tail : ndarray, shape (experts, responses)
        Sum of ``E[log u_i] - E[u_i]``: what the degrees of freedom are learned from.
    """

    weight: Float[np.ndarray, " experts"]
    xx: Float[np.ndarray, "experts responses pairs"]
    xy: Float[np.ndarray, "experts responses terms"]
    yy: Float[np.ndarray, "experts responses"]
    tail: Float[np.ndarray, "experts responses"]

    @classmethod
    def of_rows(
        cls,
        responsibilities: Float[np.ndarray, "experts rows"],
        block: Block,
        scale: Float[np.ndarray, "*_ responses rows"],
        tail: Float[np.ndarray, "experts responses rows"] | float,
    ) -> StudentStats:
        """Sums for expected precisions ``scale`` of the rows, by expert or the same for all."""
        design, response = block.designs["mean"], block.response
        each = np.broadcast_to(responsibilities[:, None], (len(responsibilities), *response.shape))
        weighted = each * scale
        return cls(
            weight=responsibilities.sum(axis=1),
            xx=weighted @ products(design).T,
            xy=(weighted * response) @ design.T,
            yy=(weighted * response * response).sum(axis=2),
            tail=(each * tail).sum(axis=2),
        )


@dataclass(frozen=True)
class StudentPosterior:
    """Regressions of every expert and response, and the degrees of freedom of every response.

    Attributes
    ----------
    linear : MatrixNormalGamma
        Batch of experts times responses, each with one response.
    dof : ndarray, shape (responses,)
        One value: fixed, or where the bound plus its log prior is largest.
    """

    linear: MatrixNormalGamma
    dof: Float[np.ndarray, " responses"]


@dataclass(frozen=True)
class StudentLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows, and the expected precision of each.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    scale, tail : ndarray, shape (experts, responses, rows)
        ``E[u]`` and ``E[log u] - E[u]`` given the expert.
    block : Block
    """

    expected_log_density: Float[np.ndarray, "experts rows"]
    scale: Float[np.ndarray, "experts responses rows"]
    tail: Float[np.ndarray, "experts responses rows"]
    block: Block

    def sufficient_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> StudentStats:
        """Sums weighted by the responsibilities and the expected precisions."""
        return StudentStats.of_rows(responsibilities, self.block, self.scale, self.tail)


@dataclass(frozen=True)
class StudentCoordinates(AbstractCoordinates):
    """Coordinates of coefficients and precisions; the degrees of freedom answer, and have none.

    They enter the sums' expectations, so that intervals of coefficients and noise hold what is
    not known of them.
    """

    posterior: StudentPosterior

    @property
    def linear(self) -> LinearCoordinates:
        """Those of every expert and response by itself."""
        return LinearCoordinates(self.posterior.linear)

    @property
    def n_experts(self) -> int:
        """Number of experts."""
        return len(self.posterior.linear.mean) // len(self.posterior.dof)

    def expectations(self) -> Float[np.ndarray, " entries"]:
        """Those of ``LinearCoordinates``; ``A(nu)`` joins the weights, ``nu / 2`` is of tails."""
        dof, each = self.posterior.dof, self.linear.expectations()
        n_each = len(self.posterior.linear.mean)
        weight = each[:n_each].reshape(self.n_experts, len(dof)) + log_partition(dof)
        tail = np.tile(0.5 * dof, self.n_experts)
        return np.concatenate([weight.sum(axis=1), each[n_each:], tail])

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Those of ``LinearCoordinates``; they leave weights and tails as they are."""
        n_each = len(self.posterior.linear.mean)
        each = self.linear.perturbations()[:, n_each:]
        return np.pad(each, [(0, 0), (self.n_experts, n_each)])

    def standard(self, draws: Draws) -> Float[np.ndarray, "draws coordinates"]:
        """Coordinates of coefficients and precisions."""
        return self.linear.standard(by_regression(draws))

    def parameters(self, standard: Float[np.ndarray, "draws coordinates"]) -> Draws:
        """Coefficients and precisions at these coordinates."""
        return by_expert(self.linear.parameters(standard), self.posterior.dof)

    def log_volume(self, draws: Draws) -> Float[np.ndarray, " draws"]:
        """That of ``LinearCoordinates``."""
        return self.linear.log_volume(by_regression(draws))


def by_regression(draws: Draws) -> Draws:
    """Draws of every expert and response as those of so many experts with one response."""
    n_draws = len(draws["precision"])
    n_terms = draws["coefficients"].shape[-1]
    return {
        "coefficients": draws["coefficients"].reshape(n_draws, -1, 1, n_terms),
        "precision": draws["precision"].reshape(n_draws, -1, 1),
    }


def by_expert(each: Draws, dof: Float[np.ndarray, " responses"]) -> Draws:
    """Draws by expert and response, with their degrees of freedom."""
    n_draws, n_terms = len(each["precision"]), each["coefficients"].shape[-1]
    precision = each["precision"].reshape(n_draws, -1, len(dof))
    return {
        "coefficients": each["coefficients"].reshape(*precision.shape, n_terms),
        "precision": precision,
        "dof": np.broadcast_to(dof, precision.shape).copy(),
    }
