"""Conditional mixture network: a gate, linear experts of a latent vector, an output layer."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import add
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import LocalStep
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.gates.base import drawn_components, expectations_of
from bayesvb.gates.stick_breaking import StickBreakingGate, StickLocalPosterior
from bayesvb.linear.designs import DenseDesign
from bayesvb.models.network.compiled_network import compile_network
from bayesvb.models.network.experts import LatentExperts, LatentPrior, latent_sums
from bayesvb.models.network.likelihood import NetworkLikelihood, without_noise
from bayesvb.models.network.output import AnyOutput, LatentDraws, LatentPredictive
from bayesvb.models.network.output_gaussian import matched
from bayesvb.models.network.shared_products import PairedProducts
from bayesvb.models.network.state import NetworkPosterior, NetworkStats
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawResponseRows,
    DrawRows,
    DrawTerms,
    DrawVector,
    ExpertRows,
    RowVector,
)
from bayesvb.numerics.linalg import quadratic_weights
from bayesvb.numerics.packed_matrices import add_outer, diagonal_numbers, row_of
from bayesvb.numerics.special import log_total
from bayesvb.variational.linear_predictors import LogitStats
from bayesvb.variational.local import Draws
from bayesvb.variational.model import CompiledSweep, Starts
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.point_model import AbstractPointModel
from bayesvb.variational.streamed_model import AbstractStreamedModel
from bayesvb.variational.supports import Positive, Real

CELLS = 16_000
"""Rows times experts gone over at once: few enough that the entries of the small matrices stay in
the cache, enough that calls are cheap relative to arithmetic."""

VARIANCES = (1.0, 0.1, 10.0)
"""Multiples of the prior variance of the experts' coefficients among which restarts take turns."""

SEPARATED = 0.99
"""Probability of every training label from which on nothing keeps coefficients from growing."""


@dataclass(frozen=True)
class Network(
    AbstractPointModel[NetworkPosterior, NetworkStats],
    AbstractStreamedModel[NetworkPosterior, NetworkStats],
):
    r"""``p(y | x) = sum_k pi_k(x) int N(x1 | A_k x, Sigma_k) p(y | x1) dx1``.

    With latent vectors and responsibilities at their optimum the lower bound is

    .. math:: \sum_n \log \sum_k \exp(T_{nk} + \ell_{nk}) - KL_{experts} - KL_{gate} - KL_{output},

    ``T`` the expected log density of latent vector and response with the entropy of the latent
    vector, ``l`` the gate's bounded expected log weight.

    References
    ----------
    Heins et al. (2024), arXiv:2408.16429, eqs 1-21.
    """

    experts: LatentExperts
    gate: StickBreakingGate
    output: AnyOutput
    variances: tuple[float, ...] = VARIANCES
    with_noise: LatentExperts | None = None

    @property
    def n_components(self) -> int:
        """Number of experts."""
        return self.gate.n_components

    def compiled(self, source: AbstractSource) -> CompiledSweep | None:
        """The compiled sweep over these rows, where the core covers the network."""
        return compile_network(self.experts.prior, self.gate, self.output, source)

    def e_step(self, posterior: NetworkPosterior, block: Block) -> LocalStep:
        """One pass: latent vectors and responsibilities, then the statistics that they weight."""
        return reduce(add, (self._piece(posterior, piece) for piece in self.pieces(block)))

    def pieces(self, block: Block) -> Iterator[Block]:
        """Parts of about equal length, of at most ``CELLS`` rows times experts."""
        longest = max(CELLS // self.n_components, 1)
        n_pieces = max(-(-block.n_rows // longest), 1)
        return block.split(max(-(-block.n_rows // n_pieces), 1))

    def _piece(self, posterior: NetworkPosterior, block: Block) -> LocalStep:
        features = PairedProducts.of(block, MEAN, GATING)
        gate, prior = self.gate_and_prior(posterior, block, features)
        latents = self.output.local(posterior.output, prior, block)
        weighted = block.weighted(latents.responsibilities)
        bound = latents.norm.sum() if block.weight is None else latents.norm @ block.weight
        curvature, linear = gate.weights(weighted)
        squares, curvature = features.sums(weighted, curvature)
        stats = NetworkStats(
            latent_sums(block.designs[MEAN], squares, weighted, latents.moments),
            LogitStats(curvature, gate.design.cross(linear)),
            latents.sufficient_stats(weighted),
        )
        return LocalStep(float(bound), stats)

    def gate_and_prior(
        self, posterior: NetworkPosterior, block: Block, features: PairedProducts
    ) -> tuple[StickLocalPosterior, LatentPrior]:
        """Local posteriors of gate and experts, before the response is observed."""
        spread, variance = features.forms(posterior.experts.covariance, posterior.gate.covariance)
        design = DenseDesign(block.designs[GATING], features.second)
        gate = self.gate.rows_of(design.predict(posterior.gate.mean), variance, design)
        log_weights, x = gate.expected_log_density, block.designs[MEAN]
        return gate, self.experts.local(posterior.experts, spread, log_weights, x)

    def update(self, stats: NetworkStats) -> NetworkPosterior:
        """Experts, gate and output layer, each from its own statistics."""
        return NetworkPosterior(
            self.experts.update(stats.experts),
            self.gate.update(stats.gate),
            self.output.update(stats.output),
        )

    def expected_sum(self, before: NetworkStats, posterior: NetworkPosterior) -> float:
        """Statistics times expectations: latent vectors and components of these rows stay."""
        expectations = (
            LinearCoordinates(posterior.experts).expectations(),
            expectations_of(self.gate, posterior.gate),
            self.output.expectations(posterior.output),
        )
        return float(before.to_vector() @ np.concatenate(expectations))

    def kl(self, posterior: NetworkPosterior) -> float:
        """Sum of the three divergences."""
        return (
            self.experts.kl(posterior.experts)
            + self.gate.kl(posterior.gate)
            + self.output.kl(posterior.output)
        )

    @property
    def without_information(self) -> str:  # type: ignore[override]
        """Why a mode, or a maximum of the likelihood, has no standard errors."""
        if self.with_noise is None:
            return (
                "latent vectors have a variational posterior each, so the maximised objective is a "
                "lower bound of the log posterior density"
            )
        return (
            "linear maps of the latent vector leave the likelihood unchanged, so the information "
            "of the parameters is singular"
        )

    def with_prior_power(self, power: float) -> Network:
        """The network with the priors of its three parts to a power.

        To the power zero without latent noise; see ``NetworkLikelihood``.
        """
        if power == 0.0:
            return self._without_prior()
        return replace(
            self,
            experts=LatentExperts(self.experts.prior.to_the_power(power)),
            gate=self.gate.with_prior_power(power),
            output=self.output.with_prior_power(power),
        )

    def _without_prior(self) -> Network:
        """The network for maximum likelihood, if it is of classes."""
        if not self.output.of_classes:
            raise NotImplementedError(
                "without a prior its noise variances are not identified for a "
                "numeric response; DensityRegression(gate='stick-breaking') has the same likelihood"
            )
        output = self.output.with_prior_power(0.0)
        experts = without_noise(self.experts)
        return replace(self, experts=experts, output=output, with_noise=self.experts)

    def likelihood(self) -> NetworkLikelihood | None:
        """Log likelihood of the labels; EM steps would hardly move without latent noise."""
        output: Any = self.output
        known = self.with_noise
        return None if known is None else NetworkLikelihood(known, self.gate, output)

    def separated(self, posterior: NetworkPosterior, block: Block) -> bool:
        """Whether every label is all but certain without a prior: coefficients grow for ever."""
        if self.with_noise is None:
            return False
        return bool(self.log_predictive(posterior, block).min() > np.log(SEPARATED))

    def partition_stats(self, block: Block, responsibilities: ExpertRows) -> NetworkStats:
        """Sums of a given partition, with latent vectors guessed from the responses."""
        weighted = block.weighted(responsibilities)
        gate = self.gate.local(self.gate.start(), block)
        mean = self.output.latent_guess(block)
        n_latents = len(mean)
        moments = np.zeros(((n_latents + 1) * (n_latents + 2) // 2, 1, block.n_rows))
        # Variance of latent vectors that are guessed from the responses.
        moments[diagonal_numbers(n_latents)] = 0.25
        row_of(moments, n_latents)[:-1, 0] = mean
        add_outer(moments, n_latents)
        squares = weighted @ block.products(MEAN).T
        experts = latent_sums(block.designs[MEAN], squares, weighted, moments)
        return NetworkStats(
            experts,
            gate.sufficient_stats(weighted),
            self.output.partition_stats(block, moments, weighted),
        )

    def starts(self, n: int) -> Starts:
        """Experts with these multiples of the prior variance: none suits every problem."""
        experts = self.experts
        priors = {
            f"variance x {scale:g}": replace(self, experts=experts.with_variance(scale))
            for scale in self.variances
        }
        return Starts(priors=priors, few=("one component",))

    def responsibilities(self, posterior: NetworkPosterior, block: Block) -> ExpertRows:
        """Posterior probability of each component, given the row's response."""
        _, prior = self.gate_and_prior(posterior, block, PairedProducts.of(block, MEAN, GATING))
        return self.output.local(posterior.output, prior, block).responsibilities

    def permuted(self, order: Sequence[int], stats: NetworkStats) -> tuple[Network, NetworkStats]:
        """Model and statistics after a new labelling: component ``order[0]`` comes first."""
        gate, gate_sums = self.gate.permuted(order, stats.gate)
        experts = stats.experts.permuted(order)
        output = self.output.permuted(list(order), stats.output)
        return replace(self, gate=gate), NetworkStats(experts, gate_sums, output)

    def latents(self, posterior: NetworkPosterior, block: Block) -> LatentPredictive:
        """Predictive distribution of the latent vector of each row."""
        experts = posterior.experts
        spread = quadratic_weights(experts.covariance) @ block.products(MEAN)
        rate = (experts.rate / experts.shape[:, None]).T
        return LatentPredictive(
            weights=self.gate.mean_weights(posterior.gate, block),
            location=np.swapaxes(experts.mean, 0, 1) @ block.designs[MEAN],
            scale=np.sqrt(rate[:, :, None] * (1.0 + spread)),
            dof=2.0 * experts.shape,
        )

    follows_rows = True

    @property
    def predicts_classes(self) -> bool:  # type: ignore[override]
        """Whether the output layer has classes."""
        return self.output.of_classes

    def within(self, nats: float) -> Network:
        """The network whose output layer may leave as much to gain."""
        output = self.output.within(nats)
        return self if output is self.output else replace(self, output=output)

    def log_predictive(self, posterior: NetworkPosterior, block: Block) -> RowVector:
        """Log predictive density of each row's response."""
        if self.with_noise is not None:  # in logarithms: certain predictions underflow
            draws = {
                "coefficients": posterior.experts.mean[None],
                "precision": posterior.experts.expected_precision[None],
                "gate": posterior.gate.mean[None],
                "output": posterior.output.mean[None],
            }
            density: RowVector
            density = log_total(self.component_log_lik(draws, block), axis=1)[0]
            return density
        return self.output.log_predictive(posterior.output, self.latents(posterior, block), block)

    def mean_weights(self, posterior: NetworkPosterior, block: Block) -> ExpertRows:
        """Expected weights of the components."""
        return self.gate.mean_weights(posterior.gate, block)

    def probabilities(
        self, posterior: NetworkPosterior, block: Block
    ) -> Float[np.ndarray, "classes rows"]:
        """Predictive probabilities of the classes, if the response has classes."""
        probabilities = self.output.probabilities(posterior.output, self.latents(posterior, block))  # type: ignore[attr-defined]
        return np.asarray(probabilities)

    def predictive(
        self, posterior: NetworkPosterior, block: Block, response: int = 0
    ) -> StudentMixture:
        """Predictive distribution of one numeric response (standardised units)."""
        return matched(posterior.output, self.latents(posterior, block), response)

    def log_weights(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log weights of the components for each draw."""
        return self.gate.log_weights(draws["gate"], block)

    def gate_coefficients(self, draws: Draws) -> dict[int, DrawTerms]:
        """Coefficients of the gate by component."""
        return dict(self.gate.coefficients(draws["gate"]))

    def coefficient_meaning(self) -> str:
        """Meaning of the gate's coefficients."""
        return self.gate.coefficient_meaning()

    def drawn_probabilities(
        self, draws: Draws, block: Block, few_points: bool = False
    ) -> Float[np.ndarray, "draws classes rows"]:
        """Probabilities of the classes for each draw, if the response has classes.

        With ``few_points`` with an error of about 0.001, for quantiles or averages over draws.
        """
        latents = self.drawn_latents(draws, block)
        products = self.output.drawn_probabilities(draws, latents, few_points)  # type: ignore[attr-defined]
        return np.asarray(products)

    def draws(self, posterior: NetworkPosterior, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, latents, terms), ``precision``, ``gate``, output."""
        coefficients, precision = posterior.experts.draws(n, rng)
        return {
            "coefficients": coefficients,
            "precision": precision,
            "gate": self.gate.draws(posterior.gate, n, rng),
            **self.output.draws(posterior.output, n, rng),
        }

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Parameters by name before any data are seen; experts are alike and independent."""
        coefficients, precision = self.experts.prior.draws(n * self.n_components, rng)
        each = (n, self.n_components)
        return {
            "coefficients": coefficients.reshape(*each, *coefficients.shape[1:]),
            "precision": precision.reshape(*each, *precision.shape[1:]),
            "gate": self.gate.draws(self.gate.prior, n, rng),
            **self.output.prior_draws(n, rng),
        }

    def drawn_latents(self, draws: Draws, block: Block) -> LatentDraws:
        """Distribution of the latent vector of each row for each draw."""
        return LatentDraws(
            log_weights=self.gate.log_weights(draws["gate"], block),
            location=draws["coefficients"] @ block.designs[MEAN],
            variance=1.0 / draws["precision"],
        )

    def responses(self, draws: Draws, block: Block, rng: np.random.Generator) -> DrawResponseRows:
        """One response per draw and row: component, latent vector, response."""
        weights = self.gate.log_weights(draws["gate"], block)
        chosen = drawn_components(weights, block.n_rows, rng)[:, None]
        sd = np.take_along_axis(1.0 / np.sqrt(draws["precision"]), chosen.swapaxes(1, 2), axis=1)
        latents = rng.standard_normal((len(chosen), self.experts.n_latents, block.n_rows))
        latents *= sd.swapaxes(1, 2)
        for i in range(self.experts.n_latents):
            location = draws["coefficients"][:, :, i] @ block.designs[MEAN]
            latents[:, i] += np.take_along_axis(location, chosen, axis=1)[:, 0]
        return self.output.responses(draws, latents, rng)

    def parameter_space(self) -> ParameterSpace:
        """``coefficients``, ``precision``, ``gate``, and the parameters of the output."""
        shape = (self.n_components, *self.experts.prior.mean.shape)
        return ParameterSpace(
            {
                "coefficients": Real(shape),
                "precision": Positive(shape[:2]),
                "gate": self.gate.support(),
                **self.output.supports(),
            }
        )

    def component_log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        """Log of each component's weight times the density of the response under it."""
        return self.output.component_log_lik(draws, self.drawn_latents(draws, block), block)

    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """Log likelihood of each row for each draw, latent vector and component summed out."""
        return self.output.log_lik(draws, self.drawn_latents(draws, block), block)

    def log_prior(self, draws: Draws) -> DrawVector:
        return self._log_density(self.experts.prior, None, None, draws)

    def log_posterior(self, posterior: NetworkPosterior, draws: Draws) -> DrawVector:
        return self._log_density(posterior.experts, posterior.gate, posterior.output, draws)

    def _log_density(
        self, experts: MatrixNormalGamma, gate: Any, output: object, draws: Draws
    ) -> DrawVector:
        coefficients = experts.log_density(draws["coefficients"], draws["precision"])
        density: DrawVector = coefficients.sum(axis=(1, 2))
        density = density + self.gate.log_density(gate, draws["gate"])
        density = density + self.output.log_density(output, draws)
        return density
