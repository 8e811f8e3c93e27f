"""Weights that do not depend on covariates, with a Dirichlet prior."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float
from scipy.linalg import helmert
from scipy.special import polygamma, softmax

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.linear.quadratic_forms import Forms
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawCoordinates,
    DrawExperts,
    DrawTerms,
    DrawVector,
    EntryVector,
    ExpertRows,
)
from bayesvb.numerics.linalg import by_row
from bayesvb.variational.coordinates import AbstractCoordinates
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import AbstractLocalPosterior
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars
from bayesvb.variational.supports import Simplex


@dataclass(frozen=True)
class WeightStats(SufficientStats):
    """Expected number of rows of each component."""

    weight: Float[np.ndarray, "*many experts"]


@dataclass(frozen=True)
class DirichletLocalPosterior(AbstractLocalPosterior):
    """Expected log weights, the same for every row."""

    expected_log_density: Float[np.ndarray, "experts 1"]

    def sufficient_stats(self, responsibilities: ExpertRows) -> WeightStats:
        return WeightStats(responsibilities.sum(axis=1))


@dataclass(frozen=True)
class SimplexCoordinates(AbstractCoordinates):
    """``L^-1 H (log pi - E log pi)``: contrasts ``H`` of log weights with covariance ``L L'``."""

    posterior: Dirichlet

    @property
    def contrasts(self) -> Float[np.ndarray, "coordinates experts"]:
        """``L^-1 H``, rows of ``H`` orthonormal with sum zero."""
        plain = helmert(len(self.posterior.concentration))
        covariance = plain * polygamma(1, self.posterior.concentration) @ plain.T
        return np.asarray(np.linalg.solve(np.linalg.cholesky(covariance), plain))

    def expectations(self) -> EntryVector:
        """Expected log weights."""
        return self.posterior.expected_log

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Contrasts of changes of the expected log weights."""
        return np.asarray(change @ self.contrasts.T)

    def centre_along(
        self, change: Float[np.ndarray, "changes experts 1"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Contrasts of changes of the expected log weights, one of each expert."""
        return self.centre_slopes(change[..., 0])

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """The contrasts: log weights are the multipliers of the concentrations."""
        return self.contrasts

    def linear_perturbations(self) -> Float[np.ndarray, "coordinates experts 1"]:
        """The contrasts, with one entry for each expert."""
        return self.contrasts[:, :, None]

    def standard(self, draws: DrawExperts) -> DrawCoordinates:
        """Contrasts of log weights; a weight that underflowed is taken at the smallest float."""
        log_weights = np.log(np.maximum(draws, np.finfo(float).tiny))
        return np.asarray((log_weights - self.posterior.expected_log) @ self.contrasts.T)

    def parameters(self, standard: DrawCoordinates) -> DrawExperts:
        """Weights with these contrasts."""
        shift = standard @ np.linalg.pinv(self.contrasts).T
        return np.asarray(softmax(self.posterior.expected_log + shift, axis=1))

    def log_volume(self, draws: DrawExperts) -> DrawVector:
        """``sum log pi``."""
        return np.asarray(np.log(np.maximum(draws, np.finfo(float).tiny)).sum(axis=1))


@dataclass(frozen=True)
class DirichletGate(AbstractGate[Dirichlet, WeightStats]):
    """Constant weights, ``pi ~ Dir(alpha_0)``; every update is exact.

    The choice when the gating part is ``1``, and the baseline that a covariate-dependent gate has
    to beat.

    References
    ----------
    Bishop (2006), section 10.2, eqs 10.57, 10.58 and 10.66.
    """

    formula = "dirichlet"
    posterior_by_row = True

    prior: Dirichlet

    @classmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> DirichletGate:
        """Gate with the same prior concentration for each component."""
        return cls(Dirichlet(np.full(n_components, float(prior.concentration))))

    @classmethod
    def prior_rows(
        cls, n_components: int, prior: GatePrior, scaling: Scaling, terms: Sequence[str]
    ) -> list[PriorRow]:
        """One row: the weights themselves."""
        words = f"Dirichlet({prior.concentration:g})"
        return [PriorRow(GATING, "", words, 1.0 / n_components, np.nan)]

    @property
    def n_components(self) -> int:
        return len(self.prior.concentration)

    def start(self) -> Dirichlet:
        """Equal expected weights, with one row's worth of evidence each."""
        return Dirichlet(self.prior.concentration + 1.0)

    def local(self, posterior: Dirichlet, block: Block) -> DirichletLocalPosterior:
        """``E[log pi_k]``."""
        return DirichletLocalPosterior(posterior.expected_log[:, None])

    def update(self, stats: WeightStats) -> Dirichlet:
        """``alpha_k = alpha_0k + N_k``."""
        concentration = self.prior.concentration + stats.weight
        if not (concentration > 0.0).all():
            raise np.linalg.LinAlgError("concentrations must be positive")
        return Dirichlet(concentration)

    def expectations_along(
        self,
        posterior: Dirichlet,
        change: WeightStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> WeightStats:
        """Changes of the expectations in closed form, without coefficients."""
        return WeightStats(posterior.expectations_along(change.weight))

    def row_derivatives(
        self, posterior: Dirichlet, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives:
        """The log weights are the expectations themselves."""
        n_experts, n_rows = responsibilities.shape
        scalars = RowScalars.of(np.ones((1, n_rows)), np.arange(n_experts)[:, None])
        slopes = np.broadcast_to(np.eye(n_experts)[:, :, None], (n_experts, n_experts, n_rows))
        factor = np.arange(n_experts)[None]
        return PartDerivatives((scalars,), factor, slopes, np.zeros_like(slopes))

    def forms(
        self, posterior: Dirichlet, block: Block, blocks: Float[np.ndarray, "blocks terms"]
    ) -> Forms:
        """Forms of expected log weights."""
        return posterior.forms(block.n_rows)

    def kl(self, posterior: Dirichlet) -> float:
        return posterior.kl(self.prior)

    def with_prior_power(self, power: float) -> DirichletGate:
        """Gate whose prior density of the log odds is to a power."""
        return self if power == 0.0 else replace(self, prior=self.prior.to_the_power(power))

    def mean_weights(self, posterior: Dirichlet, block: Block) -> ExpertRows:
        """``alpha_k / sum alpha``, exact."""
        return np.array(np.broadcast_to(by_row(posterior.mean), (self.n_components, block.n_rows)))

    def draws(self, posterior: Dirichlet, n: int, rng: np.random.Generator) -> DrawExperts:
        """Draws of the weights."""
        if self.n_components == 1:
            return np.ones(
                (n, 1)
            )  # a quotient of equal numbers may differ from 1 in the last digit
        return posterior.draws(n, rng)

    def support(self) -> Simplex:
        """The weights."""
        return Simplex((self.n_components,))

    @property
    def exchangeable(self) -> bool:
        """Whether all concentrations are the same."""
        return bool(np.ptp(self.prior.concentration) == 0.0)

    def log_weights(self, draws: DrawExperts, block: Block) -> Float[np.ndarray, "draws experts 1"]:
        """Log of the drawn weights; a weight that underflowed is taken at the smallest float."""
        xp = namespace(draws)
        log_weights: Float[np.ndarray, "draws experts 1"]
        log_weights = xp.log(xp.maximum(draws, np.finfo(float).tiny))[:, :, None]
        return log_weights

    def log_density(self, posterior: Dirichlet | None, draws: DrawExperts) -> DrawVector:
        positive = namespace(draws).maximum(draws, np.finfo(float).tiny)
        return (posterior or self.prior).log_density(positive)

    def permuted(
        self, order: Sequence[int], stats: WeightStats
    ) -> tuple[DirichletGate, WeightStats]:
        index = np.asarray(order)
        prior = Dirichlet(self.prior.concentration[index])
        return replace(self, prior=prior), WeightStats(stats.weight[index])

    def merged(
        self,
        stats: WeightStats,
        kept: Sequence[int],
        pair: tuple[int, int],
        rows: tuple[float, float],
        intercept: int | None,
    ) -> tuple[WeightStats, float]:
        """Statistics of the merged components: counts add up."""
        weight, (into, spared) = stats.weight.copy(), pair
        weight[into] += weight[spared]
        return WeightStats(weight[list(kept)]), 0.0

    def coordinates(self, posterior: Dirichlet) -> SimplexCoordinates:
        """Standard coordinates of the weights."""
        return SimplexCoordinates(posterior)

    def coefficients(self, draws: DrawExperts) -> Mapping[int, DrawTerms]:
        """None: the weights themselves are the parameters."""
        return {}

    def coefficient_meaning(self) -> str:
        """No coefficients."""
        return "the same for every row"
