# bayesvb/gates/boehning.py
"""Logit stick-breaking weights with a bound of constant curvature."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from scipy.special import expit

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING
from bayesvb.data.scaling import Scaling
from bayesvb.factors.normal import Normal
from bayesvb.gates.base import AbstractGate, GatePrior
from bayesvb.gates.stick_breaking import StickBreakingGate
from bayesvb.linear.designs import DenseDesign
from bayesvb.numerics.linalg import products, quadratic_weights
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats
from bayesvb.variational.local import AbstractLocalPosterior


@dataclass(frozen=True)
class BoehningLocalPosterior(AbstractLocalPosterior):
    """Bounded log weights of the components, and the mean logits of the sticks."""

    expected_log_density: Float[np.ndarray, "experts rows"]
    logit: Float[np.ndarray, "sticks rows"]
    design: Float[np.ndarray, "terms rows"]
    order: tuple[int, ...]

    def sufficient_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> LogitStats:
        """``sum R x x' / 4`` and ``sum (r - R (sigma(t) - t / 4)) x``, R: reaching the stick."""
        stops = responsibilities[list(self.order)]
        reach = np.cumsum(stops[::-1], axis=0)[::-1][:-1]
        slope = expit(self.logit) - 0.25 * self.logit
        design = DenseDesign(self.design)
        return LogitStats.of_rows(design, 0.25 * reach, stops[:-1] - reach * slope)


@dataclass(frozen=True)
class BoehningGate(AbstractGate[Normal, LogitStats]):
    """Stick-breaking weights with ``E log(1 + exp u) <= log(1 + exp t) + s / 8``.

    References
    ----------
    Boehning (1992), doi:10.1007/BF00048682.
    """

    formula = StickBreakingGate.formula

    sticks: StickBreakingGate

    @classmethod
    def from_prior(cls, n_components: int, prior: GatePrior) -> BoehningGate:
        """Gate whose prior weights are equal where all covariates are zero."""
        return cls(StickBreakingGate.from_prior(n_components, prior))

    @classmethod
    def prior_rows(
        cls, n_components: int, prior: GatePrior, scaling: Scaling, terms: Sequence[str]
    ) -> list[PriorRow]:
        """Normal priors of the coefficients of each stick."""
        return StickBreakingGate.prior_rows(n_components, prior, scaling, terms)

    @property
    def n_components(self) -> int:
        """Number of components."""
        return self.sticks.n_components

    @property
    def prior(self) -> Normal:
        """Prior of the coefficients, one row per stick."""
        return self.sticks.prior

    def start(self) -> Normal:
        """The prior."""
        return self.sticks.start()

    def local(self, posterior: Normal, block: Block) -> BoehningLocalPosterior:
        """``t_k - sum_{l<=k} F_l``, with ``F`` the bound on ``E log(1 + exp u)``."""
        design = block.designs[GATING]
        logit = posterior.mean @ design
        variance = quadratic_weights(posterior.covariance) @ products(design)
        passed = np.cumsum(np.logaddexp(0.0, logit) + 0.125 * variance, axis=0)
        terms = np.concatenate([logit - passed, -passed[-1:]]) if len(logit) else 0.0 * design[:1]
        order = self.sticks.order or tuple(range(self.n_components))
        return BoehningLocalPosterior(terms[np.argsort(order)], logit, design, order)

    def update(self, stats: LogitStats) -> Normal:
        """Exact coordinate update of every stick."""
        return self.sticks.update(stats)

    def kl(self, posterior: Normal) -> float:
        """``KL(posterior || prior)``."""
        return self.sticks.kl(posterior)

    def coordinates(self, posterior: Normal) -> LogitCoordinates:
        """Standard coordinates of the coefficients."""
        return self.sticks.coordinates(posterior)

    def mean_weights(self, posterior: Normal, block: Block) -> Float[np.ndarray, "experts rows"]:
        """Posterior mean of the weights."""
        return self.sticks.mean_weights(posterior, block)

    def draws(
        self, posterior: Normal, n: int, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws sticks terms"]:
        """Draws of the coefficients of every stick."""
        return self.sticks.draws(posterior, n, rng)

    def log_weights(
        self, draws: Float[np.ndarray, "draws sticks terms"], block: Block
    ) -> Float[np.ndarray, "draws experts rows"]:
        """Exact log weights for each draw."""
        return self.sticks.log_weights(draws, block)

    def log_density(
        self, posterior: Normal | None, draws: Float[np.ndarray, "draws sticks terms"]
    ) -> Float[np.ndarray, " draws"]:
        """Log density of each draw."""
        return self.sticks.log_density(posterior, draws)

    def permuted(self, order: Sequence[int], stats: LogitStats) -> tuple[BoehningGate, LogitStats]:
        """New labels for the components."""
        sticks, kept = self.sticks.permuted(order, stats)
        return BoehningGate(sticks), kept

    def coefficients(
        self, draws: Float[np.ndarray, "draws sticks terms"]
    ) -> Mapping[int, Float[np.ndarray, "draws terms"]]:
        """Coefficients of each stick, under the component at which it stops."""
        return self.sticks.coefficients(draws)

    def coefficient_meaning(self) -> str:
        """Meaning of a coefficient, with the order of the sticks."""
        return self.sticks.coefficient_meaning()
