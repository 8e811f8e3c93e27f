"""Numeric responses, linear in the latent vector, with Gaussian noise."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import joint_log_density
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.precisions import DensePrecision
from bayesvb.models.network.experts import LatentPrior
from bayesvb.models.network.latents import (
    COVARIANCES,
    averaged,
    directions,
    entropy,
    expert_terms,
    first_responsibilities,
    posterior_moments,
    prior_moments,
)
from bayesvb.models.network.output import (
    MEAN_FIELD_PASSES,
    START_PRECISION,
    AbstractLatentPosterior,
    AbstractOutput,
    LatentDraws,
    LatentPredictive,
    OutputDraws,
)
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExperts,
    DrawResponseRows,
    DrawRows,
    DrawVector,
    EntryVector,
    ExpertRows,
    ResponseRows,
    RowVector,
    TermRows,
)
from bayesvb.numerics.linalg import inverse_and_log_det, pack, products, quadratic_weights
from bayesvb.numerics.packed_matrices import row_of
from bayesvb.numerics.special import LOG_2PI, log_sum_exp, log_total
from bayesvb.variational.supports import AbstractSupport, Positive, Real


@dataclass(frozen=True)
class GaussianStats(SufficientStats):
    """Sums over rows of ``1``, ``u u'``, ``y_i u`` and ``y_i^2``, with ``u = [x1, 1]``."""

    weight: Float[np.ndarray, "1"]
    xx: Float[np.ndarray, "1 pairs"]
    xy: Float[np.ndarray, "1 responses terms"]
    yy: Float[np.ndarray, "1 responses"]


@dataclass(frozen=True)
class GaussianLatentPosterior(AbstractLatentPosterior):
    """Latent vectors of rows with numeric responses."""

    moments: Float[np.ndarray, "pairs _ rows"]
    norm: RowVector
    responsibilities: ExpertRows
    response: ResponseRows
    n_latents: int

    def sufficient_stats(self, responsibilities: ExpertRows) -> GaussianStats:
        if self.moments.shape[1] == 1:
            responsibilities = responsibilities.sum(axis=0, keepdims=True)
        weight = responsibilities.sum(axis=0)
        mean = (row_of(self.moments, self.n_latents) * responsibilities).sum(axis=1)
        xx = self.moments.reshape(len(self.moments), -1) @ responsibilities.ravel()
        yy = (self.response * self.response) @ weight
        return GaussianStats(
            np.array([weight.sum()]), xx[None], (self.response @ mean.T)[None], yy[None]
        )


@dataclass(frozen=True)
class ResponseEvidence:
    r"""Evidence of responses on latent vectors, under the posterior of the output layer.

    A Gaussian with precision ``sum_o W_o^xx`` and precision times mean
    ``sum_o E[zeta_o] y_o E[B_o^x] - w_o^x1``, with ``W_o = E[zeta_o B_o B_o']``.

    Attributes
    ----------
    squares : ndarray, shape (pairs,)
        ``squares @ E[u u'] = sum_o E[zeta_o (B_o' u)^2]``.
    curvature : ndarray, shape (pairs - 1,)
        Packed precision, bordered by the part of ``linear`` that no response enters.
    linear : ndarray, shape (latents + 1, rows)
        ``sum_o E[zeta_o] y_o E[B_o]``.
    constant : ndarray, shape (rows,)
    """

    squares: Float[np.ndarray, " pairs"]
    curvature: Float[np.ndarray, " natural_pairs"]
    linear: TermRows
    constant: RowVector

    @classmethod
    def of(cls, posterior: MatrixNormalGamma, response: ResponseRows) -> ResponseEvidence:
        """Evidence of these responses."""
        mean, precision = posterior.mean[0], posterior.expected_precision[0]
        scaled = mean * precision[:, None]
        second = len(mean) * posterior.covariance[0] + scaled.T @ mean
        curvature = pack(second)[:-1].copy()
        curvature[-(mean.shape[1] - 1) :] *= -1.0
        normaliser = (posterior.expected_log_precision[0] - LOG_2PI).sum()
        constant = 0.5 * (normaliser - precision @ (response * response))
        return cls(quadratic_weights(second), curvature, scaled.T @ response, constant)

    def terms(self, moments: Float[np.ndarray, "pairs experts rows"]) -> ExpertRows:
        """Expected log likelihood."""
        flat = moments.reshape(len(moments), -1)
        terms = np.reshape(-0.5 * (self.squares @ flat), moments.shape[1:])
        terms += self.constant
        for linear, mean in zip(self.linear, row_of(moments, len(self.linear) - 1), strict=True):
            terms += linear * mean
        return terms


@dataclass(frozen=True)
class GaussianOutput(AbstractOutput[MatrixNormalGamma, GaussianStats]):
    r"""``y_o ~ N(B_o' [x1, 1], 1 / zeta_o)``, ``B_o | zeta_o ~ N(B_0o, (zeta_o V_0)^-1)``.

    The best latent vector of a row has closed form, with one covariance for all rows of an expert.

    Attributes
    ----------
    prior : MatrixNormalGamma
        Prior of coefficients (responses, latents + 1) and noise; the intercept comes last.
    covariance : str
        Key of ``COVARIANCES``.
    conditional : bool
        Whether the latent vector depends on the component, q(x1 | z) q(z), or not, q(x1) q(z).
    passes : int
        Inner steps where it does not.
    """

    prior: MatrixNormalGamma
    covariance: str = "full"
    conditional: bool = True
    passes: int = MEAN_FIELD_PASSES

    @property
    def n_latents(self) -> int:
        return int(self.prior.mean.shape[1]) - 1

    def start(self) -> MatrixNormalGamma:
        """Cosines of different frequencies as coefficients, with little uncertainty."""
        n_responses, n_terms = self.prior.mean.shape
        precision = START_PRECISION * np.eye(n_terms)
        start = MatrixNormalGamma.prior(
            self.prior.mean.copy(), precision, float(self.prior.shape) + 1.0, self.prior.rate + 1.0
        )
        start.mean[:, :-1] += directions(self.n_latents, n_responses).T
        operator = DensePrecision(start.precision[None])
        return MatrixNormalGamma(start.mean[None], operator, start.shape[None], start.rate[None])

    def local(
        self, posterior: MatrixNormalGamma, prior: LatentPrior, block: Block
    ) -> GaussianLatentPosterior:
        """Latent vectors and components of these rows, given their responses."""
        evidence = ResponseEvidence.of(posterior, block.response)
        if self.conditional:
            moments, terms = self._settled(prior, evidence)
            terms += expert_terms(prior, moments)
            norm, responsibilities = log_sum_exp(terms)
        else:
            seen = evidence.terms(prior_moments(prior))
            responsibilities = first_responsibilities(prior, seen)
            for _ in range(self.passes):
                moments, terms = self._settled(averaged(prior, responsibilities), evidence)
                norm, responsibilities = log_sum_exp(expert_terms(prior, moments))
            norm += terms[0]
        return GaussianLatentPosterior(
            moments, norm, responsibilities, block.response, self.n_latents
        )

    def _settled(
        self, prior: LatentPrior, evidence: ResponseEvidence
    ) -> tuple[Float[np.ndarray, "pairs _ rows"], Float[np.ndarray, "_ rows"]]:
        """Best latent vectors, and entropy plus expected log likelihood of the responses."""
        moments = np.empty((len(evidence.squares), *prior.linear.shape[1:]))
        moments[:-1] = evidence.curvature[:, None, None]
        settle = COVARIANCES[self.covariance]
        pivots = posterior_moments(moments, prior.plus(evidence.linear), settle)
        terms = entropy(pivots) + evidence.terms(moments)
        return moments, terms

    def update(self, stats: GaussianStats) -> MatrixNormalGamma:
        return self.prior.posterior(stats.weight, stats.xx, stats.xy, stats.yy)

    def expectations(self, posterior: MatrixNormalGamma) -> EntryVector:
        """Expectations as for linear experts, whose response is the network's."""
        return LinearCoordinates(posterior).expectations()

    def kl(self, posterior: MatrixNormalGamma) -> float:
        return posterior.kl(self.prior)

    def with_prior_power(self, power: float) -> GaussianOutput:
        """The layer whose prior density is to a power."""
        return replace(self, prior=self.prior.to_the_power(power))

    def draws(self, posterior: MatrixNormalGamma, n: int, rng: np.random.Generator) -> OutputDraws:
        """``output`` (draws, responses, latents + 1) and ``output_precision``."""
        coefficients, precision = posterior.draws(n, rng)
        return {"output": coefficients[:, 0], "output_precision": precision[:, 0]}

    def prior_draws(self, n: int, rng: np.random.Generator) -> OutputDraws:
        coefficients, precision = self.prior.draws(n, rng)
        return {"output": coefficients, "output_precision": precision}

    def responses(
        self,
        draws: OutputDraws,
        latents: Float[np.ndarray, "draws latents rows"],
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        slope, intercept = draws["output"][..., :-1], draws["output"][..., -1:]
        location = slope @ latents + intercept
        noise = rng.standard_normal(location.shape)
        return np.asarray(location + noise / np.sqrt(draws["output_precision"])[..., None])

    def log_density(self, posterior: MatrixNormalGamma | None, draws: OutputDraws) -> DrawVector:
        coefficients, precision = draws["output"], draws["output_precision"]
        if posterior is not None:
            coefficients, precision = coefficients[:, None], precision[:, None]
        density = (posterior or self.prior).log_density(coefficients, precision)
        total: DrawVector = density.reshape(len(density), -1).sum(axis=1)
        return total

    def latent_guess(self, block: Block) -> Float[np.ndarray, "latents rows"]:
        """Cosines of different frequencies of the responses."""
        return np.asarray(directions(self.n_latents, len(block.response)) @ block.response)

    def partition_stats(
        self, block: Block, moments: Float[np.ndarray, "pairs 1 rows"], responsibilities: ExpertRows
    ) -> GaussianStats:
        rows = GaussianLatentPosterior(
            moments, np.zeros(block.n_rows), responsibilities, block.response, self.n_latents
        )
        return rows.sufficient_stats(responsibilities)

    def log_predictive(
        self, posterior: MatrixNormalGamma, latents: LatentPredictive, block: Block
    ) -> RowVector:
        """Log density of each row's responses, which an expert makes independently."""
        return log_density_of(posterior, latents, block.response)

    def supports(self) -> dict[str, AbstractSupport]:
        """``output`` and ``output_precision``."""
        shape = self.prior.mean.shape
        return {"output": Real(shape), "output_precision": Positive(shape[:1])}

    def component_log_lik(
        self, draws: OutputDraws, latents: LatentDraws, block: Block
    ) -> DrawExpertRows:
        """Log density of component and responses, which are Gaussian given the parameters."""
        slope, intercept = draws["output"][..., :-1], draws["output"][..., -1]
        xp, constant = namespace(slope), len(block.response) * LOG_2PI
        noise = 1.0 / draws["output_precision"][:, None, :, None]
        scatter = (slope[:, None] * latents.variance[:, :, None]) @ slope[:, None].swapaxes(-1, -2)
        covariance = scatter + noise * xp.eye(len(block.response))
        if xp is np and len(block.response) == 1:
            return _one_response(draws["output"][:, 0], covariance[..., 0, 0], latents, block)
        inverse, log_det = inverse_and_log_det(covariance)
        each = []
        for s, log_weights in enumerate(latents.log_weights):
            residual = block.response - intercept[s][:, None] - slope[s] @ latents.location[s]
            distance = (residual * (inverse[s] @ residual)).sum(axis=1)
            each.append(log_weights - 0.5 * (distance + (log_det[s, :, None] + constant)))
        log_lik: DrawExpertRows = xp.stack(each)
        return log_lik

    def log_lik(self, draws: OutputDraws, latents: LatentDraws, block: Block) -> DrawRows:
        """Log density of each row's responses, latent vector and component summed out."""
        terms = self.component_log_lik(draws, latents, block)
        log_lik: DrawRows = log_total(terms, axis=1)
        return log_lik


def _one_response(
    coefficients: Float[np.ndarray, "draws coefficients"],
    variance: DrawExperts,
    latents: LatentDraws,
    block: Block,
) -> DrawExpertRows:
    """Log densities with one response: numbers instead of matrices, draw by draw."""
    log_densities = np.empty(latents.log_weights.shape)
    observed = block.response[0] - coefficients[:, -1:]
    constant = -0.5 * (np.log(variance) + LOG_2PI)[:, :, None]
    scale = (-0.5 / variance)[:, :, None]
    for s, densities in enumerate(log_densities):
        np.matmul(coefficients[s, :-1], latents.location[s], out=densities)
        densities -= observed[s]
        densities *= densities
        densities *= scale[s]
        densities += constant[s]
        densities += latents.log_weights[s]
    return log_densities


def matched(
    posterior: MatrixNormalGamma, latents: LatentPredictive, response: int = 0
) -> StudentMixture:
    """One Student t per expert with the mean and the variance of the exact distribution.

    Given the expert the response is ``b' x1 + b_0`` plus noise: a sum of independent Student t. Its
    variance is exact under q, uncertainty of the coefficients included; its degrees of freedom are
    the smallest of the sum's. Where experts have many rows all of it is a normal.
    """
    mean, covariance = posterior.mean[0, response], posterior.covariance[0]
    n_latents, n_experts, n_rows = latents.location.shape
    heavier = latents.dof / np.where(latents.dof > 2.0, latents.dof - 2.0, latents.dof)
    variance = latents.scale**2 * heavier[:, None]
    vectors = np.ones((n_latents + 1, n_experts, n_rows))
    vectors[:-1] = latents.location
    flat = vectors.reshape(n_latents + 1, -1)
    spread = (quadratic_weights(covariance) @ products(flat)).reshape(n_experts, n_rows)
    spread += np.tensordot(np.diagonal(covariance)[:-1], variance, axes=1)
    dof = 2.0 * float(posterior.shape[0])
    noise = posterior.rate[0, response] / posterior.shape[0] * (1.0 + spread)
    noise *= dof / (dof - 2.0) if dof > 2.0 else 1.0
    total = noise + np.tensordot(mean[:-1] ** 2, variance, axes=1)
    joint = np.minimum(latents.dof, dof)
    lighter = np.where(joint > 2.0, joint - 2.0, joint) / joint
    return StudentMixture(
        weights=latents.weights,
        location=(mean @ flat).reshape(n_experts, n_rows),
        scale=np.sqrt(total * lighter[:, None]),
        dof=joint,
    )


def log_density_of(
    posterior: MatrixNormalGamma, latents: LatentPredictive, responses: ResponseRows
) -> RowVector:
    """Log density of all responses of each row, independent given the expert."""
    marginals = [matched(posterior, latents, number) for number in range(len(responses))]
    return joint_log_density(marginals, responses)
