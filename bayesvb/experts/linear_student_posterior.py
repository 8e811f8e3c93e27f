"""Sums, posterior and coordinates of linear experts with Student-t noise."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float
from scipy.special import digamma

from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.degrees_of_freedom import DOF_RANGE, log_partition
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.coupled_normal_gamma import Regressions
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.arrays import (
    DrawCoordinates,
    DrawVector,
    EntryVector,
    ExpertRows,
    Floats,
    ResponseRows,
)
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.local import AbstractLocalPosterior, Draws


@dataclass(frozen=True)
class StudentStats(SufficientStats):
    """Sums over rows, per expert and response, weighted by the expected precision of each row.

    Attributes
    ----------
    weight : ndarray, shape (experts,)
        Sum of the responsibilities.
    xx : ndarray, shape (experts, responses, packed)
        Sum of ``u_i x x'``, packed as the design packs it.
    xy : ndarray, shape (experts, responses, terms)
    yy : ndarray, shape (experts, responses)
    tail : ndarray, shape (experts, responses)
        Sum of ``E[log u_i] - E[u_i]``: sufficient for the degrees of freedom.
    """

    weight: Float[np.ndarray, "*many experts"]
    xx: Float[np.ndarray, "*many experts responses packed"]
    xy: Float[np.ndarray, "*many experts responses terms"]
    yy: Float[np.ndarray, "*many experts responses"]
    tail: Float[np.ndarray, "*many experts responses"]

    @classmethod
    def of_rows(
        cls,
        responsibilities: ExpertRows,
        design: AbstractDesign,
        response: ResponseRows,
        scale: Float[np.ndarray, "*_ responses rows"],
        tail: Float[np.ndarray, "experts responses rows"] | float,
    ) -> StudentStats:
        """Sums for expected precisions ``scale`` of the rows, by expert or the same for all."""
        each = np.broadcast_to(responsibilities[:, None], (len(responsibilities), *response.shape))
        weighted = each * scale
        return cls(
            weight=responsibilities.sum(axis=1),
            xx=design.gram(weighted),
            xy=design.cross(weighted * response),
            yy=(weighted * response * response).sum(axis=2),
            tail=(each * tail).sum(axis=2),
        )

    @classmethod
    def by_row(
        cls,
        responsibilities: ExpertRows,
        design: AbstractDesign,
        response: ResponseRows,
        scale: Float[np.ndarray, "experts responses rows"],
        tail: Float[np.ndarray, "experts responses rows"],
    ) -> StudentStats:
        """Return the contribution of each row, rows on the first axis."""
        weighted = responsibilities[:, None] * scale
        return cls(
            weight=responsibilities.T,
            xx=design.gram_by_row(weighted),
            xy=design.cross_by_row(weighted * response),
            yy=np.moveaxis(weighted * response * response, -1, 0),
            tail=np.moveaxis(responsibilities[:, None] * tail, -1, 0),
        )

    def by_regression(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Sums of every expert and response as sums of separate experts with one response."""
        many, n_terms = self.yy.shape[:-2], self.xy.shape[-1]
        return (
            np.repeat(self.weight, self.yy.shape[-1], axis=-1),
            self.xx.reshape(*many, -1, self.xx.shape[-1]),
            self.xy.reshape(*many, -1, 1, n_terms),
            self.yy.reshape(*many, -1, 1),
        )


@dataclass(frozen=True)
class StudentPosterior:
    """Regressions of every expert and response, and the degrees of freedom of every response.

    Attributes
    ----------
    linear : MatrixNormalGamma or CoupledNormalGamma
        Batch of experts times responses, each with one response.
    dof : ndarray, shape (responses,)
        Fixed, or where the bound plus their log prior is largest.
    log_dof_sd : ndarray, shape (responses,) or (0,)
        Standard deviations of the logarithms of learned ones, which are then normal; empty if they
        are fixed. The ELBO is evaluated at the point.
    """

    linear: Regressions
    dof: Float[np.ndarray, "*many responses"]
    log_dof_sd: Float[np.ndarray, "*many learned"]

    def regression(self, response: int) -> Any:
        """Return the regressions of one response, of all experts or of a prior."""
        n_responses = self.dof.shape[-1]
        if n_responses == 1 or not self.linear.shape.ndim:
            return self.linear
        linear_law: Any = self.linear
        return linear_law.take(np.arange(response, len(linear_law.shape), n_responses))

    def dof_along(
        self, total: Float[np.ndarray, " many"], tail: Float[np.ndarray, "many responses"]
    ) -> tuple[Float[np.ndarray, " responses"], Float[np.ndarray, "many responses"]]:
        """``A'(nu)``, and changes of learned degrees of freedom with these of their sums."""
        half = 0.5 * self.dof
        slope = 0.5 * (np.log(half) + 1.0 - digamma(half))
        if not self.log_dof_sd.size:
            return slope, np.zeros_like(tail)
        free = (self.dof > DOF_RANGE[0]) & (self.dof < DOF_RANGE[1])
        variance = np.where(free, (self.dof * self.log_dof_sd) ** 2, 0.0)
        return slope, variance * (slope * total[:, None] + 0.5 * tail)

    def dof_draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws responses"]:
        """Draws of the degrees of freedom."""
        if not self.log_dof_sd.size:
            return np.broadcast_to(self.dof, (n, len(self.dof)))
        return self.dof * np.exp(self.log_dof_sd * rng.standard_normal((n, len(self.dof))))

    def log_density_of_dof(self, dof: Float[np.ndarray, "draws responses"]) -> DrawVector:
        """Log density of draws of learned degrees of freedom; zero of fixed ones."""
        if not self.log_dof_sd.size:
            return np.zeros(len(dof))
        standard = np.log(dof / self.dof) / self.log_dof_sd
        each = -0.5 * standard**2 - np.log(self.log_dof_sd * dof) - 0.5 * LOG_2PI
        return np.asarray(each.sum(axis=1))


@dataclass(frozen=True)
class StudentLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows, and the expected precision of each.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    scale, tail : ndarray, shape (experts, responses, rows)
        ``E[u]`` and ``E[log u] - E[u]`` given the expert; the first is multiplied by the expected
        precision of each row's noise relative to the expert's, if these differ.
    design : AbstractDesign
    response : ndarray, shape (responses, rows)
    """

    expected_log_density: ExpertRows
    scale: Float[np.ndarray, "experts responses rows"]
    tail: Float[np.ndarray, "experts responses rows"]
    design: AbstractDesign
    response: ResponseRows

    @property
    def square_weight(self) -> ExpertRows:
        """Weight of the squared residual of each row, of the only response."""
        return self.scale[:, 0]

    def sufficient_stats(self, responsibilities: ExpertRows) -> StudentStats:
        """Sums weighted by the responsibilities and the expected precisions."""
        rows = self.design, self.response, self.scale, self.tail
        return StudentStats.of_rows(responsibilities, *rows)

    def row_stats(self, responsibilities: ExpertRows) -> StudentStats:
        rows = self.design, self.response, self.scale, self.tail
        return StudentStats.by_row(responsibilities, *rows)


@dataclass(frozen=True)
class StudentCoordinates(AbstractCoordinates):
    """Coordinates of coefficients and precisions, then of learned degrees of freedom.

    The last are standardised logarithms, and their stand-ins ``(nu - E nu) / sd``. Fixed ones enter
    the sums' expectations all the same.
    """

    posterior: StudentPosterior
    coupled: bool = True

    def uncoupled(self) -> StudentCoordinates:
        """Coefficients that scatter with the expected noise."""
        return StudentCoordinates(self.posterior, coupled=False)

    @property
    def linear(self) -> LinearCoordinates:
        """Coordinates of every expert and response separately."""
        return LinearCoordinates(self.posterior.linear, self.coupled)

    @property
    def size(self) -> int:
        """Number of coefficients and precisions, and of learned degrees of freedom."""
        return self.linear.size + self.n_learned

    @property
    def n_experts(self) -> int:
        """Number of experts."""
        return len(self.posterior.linear.mean) // len(self.posterior.dof)

    @property
    def n_learned(self) -> int:
        """Number of degrees of freedom that are learned: of all responses, or none."""
        return len(self.posterior.log_dof_sd)

    def expectations(self) -> EntryVector:
        """Expectations of ``LinearCoordinates``; ``A(nu)`` in the weights, ``nu / 2`` of tails."""
        dof, each = self.posterior.dof, self.linear.expectations()
        n_each = len(self.posterior.linear.mean)
        weight = each[:n_each].reshape(self.n_experts, len(dof)) + log_partition(dof)
        tail = np.tile(0.5 * dof, self.n_experts)
        return np.concatenate([weight.sum(axis=1), each[n_each:], tail])

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Perturbations of ``LinearCoordinates``, and of the tails, equal for all experts."""
        n_each = len(self.posterior.linear.mean)
        each = self.linear.perturbations()[:, n_each:]
        of_linear = np.pad(each, [(0, 0), (self.n_experts, n_each)])
        if not self.n_learned:
            return of_linear
        size = 2.0 / (self.n_experts * self.posterior.log_dof_sd * self.posterior.dof)
        of_dof = np.zeros((self.n_learned, of_linear.shape[1]))
        of_dof[:, -n_each:] = np.tile(np.diag(size), self.n_experts)
        return np.concatenate([of_linear, of_dof])

    def standard(self, draws: Draws) -> DrawCoordinates:
        """Coordinates of coefficients and precisions, and of learned degrees of freedom."""
        standard = self.linear.standard(by_regression(draws))
        if not self.n_learned:
            return standard
        change = np.log(draws["dof"][:, 0] / self.posterior.dof) / self.posterior.log_dof_sd
        return np.concatenate([standard, change], axis=1)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        """Coefficients, precisions and degrees of freedom at these coordinates."""
        n_linear = standard.shape[1] - self.n_learned
        dof = self.posterior.dof
        if self.n_learned:
            dof = dof * np.exp(self.posterior.log_dof_sd * standard[:, n_linear:])
        return by_expert(self.linear.parameters(standard[:, :n_linear]), dof)

    def log_volume(self, draws: Draws) -> DrawVector:
        """Log volume as in ``LinearCoordinates``, and ``sum log nu`` over learned ones."""
        volume = self.linear.log_volume(by_regression(draws))
        return np.asarray(volume + np.log(draws["dof"][:, 0, : self.n_learned]).sum(axis=1))


def by_regression(draws: Draws) -> Draws:
    """Draws of every expert and response as draws of separate experts with one response."""
    n_draws = len(draws["precision"])
    n_terms = draws["coefficients"].shape[-1]
    return {
        "coefficients": draws["coefficients"].reshape(n_draws, -1, 1, n_terms),
        "precision": draws["precision"].reshape(n_draws, -1, 1),
    }


def by_expert(each: Draws, dof: Float[np.ndarray, "*draws responses"]) -> Draws:
    """Draws by expert and response, with their degrees of freedom."""
    n_draws, n_terms = len(each["precision"]), each["coefficients"].shape[-1]
    precision = each["precision"].reshape(n_draws, -1, dof.shape[-1])
    return {
        "coefficients": each["coefficients"].reshape(*precision.shape, n_terms),
        "precision": precision,
        "dof": np.broadcast_to(dof[..., None, :], precision.shape).copy(),
    }
