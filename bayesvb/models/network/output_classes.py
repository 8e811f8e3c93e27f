"""Class labels by logit stick-breaking of the latent vector, with Polya-Gamma augmentation."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.factors.normal import Normal
from bayesvb.models.network.class_probabilities import (
    FEW_POINTS,
    class_probabilities,
    drawn_probabilities,
    label_log_lik,
    label_log_terms,
)
from bayesvb.models.network.experts import LatentPrior
from bayesvb.models.network.latents import (
    COVARIANCES,
    Settle,
    averaged,
    directions,
    entropy,
    expert_terms,
    first_responsibilities,
    posterior_moments,
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
from bayesvb.models.network.stick_labels import LabelEvidence, StickLabels
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawRows,
    DrawVector,
    EntryVector,
    ExpertRows,
    RowVector,
)
from bayesvb.numerics.packed_matrices import row_of
from bayesvb.numerics.special import log_sum_exp
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats
from bayesvb.variational.supports import AbstractSupport, Real

CONDITIONAL_PASSES = 2
"""Inner iterations. Each brings the ELBO about 200 times closer to its value at exact inner optima;
two leave 1e-7 nats per row on the pinwheel data."""

COARSE = 5e-5
"""Nats per row above which a run with this tolerance needs one inner iteration only: its ELBO
lacks 1e-5 nats with many experts, up to 2e-3 with few experts and rows, but at its optimum it
predicts as well."""

EMBEDDED = 2.0
"""Logit at which a guessed latent vector puts its label."""


@dataclass(frozen=True)
class ClassLatentPosterior(AbstractLatentPosterior):
    """Latent vectors of labelled rows and the Polya-Gamma means of the sticks."""

    moments: Float[np.ndarray, "pairs _ rows"]
    norm: RowVector
    responsibilities: ExpertRows
    omega: Float[np.ndarray, "sticks _ rows"]
    kappa: Float[np.ndarray, "sticks rows"]
    n_latents: int

    def sufficient_stats(self, responsibilities: ExpertRows) -> LogitStats:
        """``sum r omega u u'`` and ``sum r kappa u`` with ``u = [x1, 1]``."""
        if self.moments.shape[1] == 1:
            responsibilities = responsibilities.sum(axis=0, keepdims=True)
        n_sticks, n_pairs = len(self.omega), len(self.moments)
        weight = (self.omega * responsibilities).reshape(n_sticks, -1)
        mean = (row_of(self.moments, self.n_latents) * responsibilities).sum(axis=1)
        return LogitStats(weight @ self.moments.reshape(n_pairs, -1).T, self.kappa @ mean.T)


@dataclass(frozen=True)
class ClassOutput(AbstractOutput[Normal, LogitStats]):
    r"""``p(y = l | x1) = sigma(psi_l) prod_{j<l} (1 - sigma(psi_j))``, ``psi_l = b_l' [x1, 1]``.

    Responses are class codes 0, 1, ...; ``b_l ~ N(m_l, O_0)``. The augmentation variables of a row
    depend on its component as well as on its label, which makes every step an exact coordinate
    maximisation. Latent vectors and Polya-Gamma means of a row are recomputed from the posterior
    of the parameters in each pass, by a fixed number of inner steps from a fixed start.

    Attributes
    ----------
    prior : Normal
        Prior of the coefficients, shape (classes - 1, latents + 1); the intercept comes last.
    covariance : str
        Key of ``COVARIANCES``.
    conditional : bool
        Whether the latent vector depends on the component, q(x1 | z) q(z), or not, q(x1) q(z).
    passes : int, optional
        Inner steps; by default ``CONDITIONAL_PASSES`` or ``MEAN_FIELD_PASSES``.
    points : int
        Points over which predictive probabilities are averaged.
    least_share : float
        Proportion of even weights below which a component is omitted.

    References
    ----------
    Heins et al. (2024), arXiv:2408.16429, eqs 7-14, with ``q(omega_1 | z, y)`` in eq. 10 and the
    index of eq. 13 as in eqs 2 and 14.
    """

    prior: Normal
    covariance: str = "full"
    conditional: bool = True
    passes: int | None = None
    # Points of the integrals behind predictive probabilities.
    points: int = 256
    least_share: float = 0.0

    of_classes = True

    @property
    def n_latents(self) -> int:
        return int(self.prior.mean.shape[1]) - 1

    @property
    def n_classes(self) -> int:
        """Number of classes: one more than sticks."""
        return len(self.prior.mean) + 1

    def start(self) -> Normal:
        """The prior mean, with little uncertainty."""
        n_sticks, n_terms = self.prior.mean.shape
        precision = START_PRECISION * np.eye(n_terms)
        return Normal.from_precision(self.prior.mean, np.tile(precision, (n_sticks, 1, 1)))

    def local(self, posterior: Normal, prior: LatentPrior, block: Block) -> ClassLatentPosterior:
        """Latent vectors and components of these rows, given their labels."""
        labels = StickLabels.of(block.response[0], self.n_classes)
        if self.conditional:
            return self.given_component(posterior, prior, labels, COVARIANCES[self.covariance])
        return self._mean_field(posterior, prior, labels)

    def given_component(
        self, posterior: Normal, prior: LatentPrior, labels: StickLabels, settle: Settle
    ) -> ClassLatentPosterior:
        """One Gaussian per row and component, its covariance as ``settle`` makes it."""
        evidence = LabelEvidence.of(posterior, labels)
        second, _ = evidence.before(prior)
        messages = prior.plus(evidence.linear)
        moments = self._empty_moments(prior.linear)
        for _ in range(self.passes or CONDITIONAL_PASSES):
            evidence.collect(second, moments)
            pivots = posterior_moments(moments, messages, settle)
            second = evidence.after(moments)
        terms, omega = evidence.close(second)
        terms += entropy(pivots)
        terms += expert_terms(messages, moments)
        norm, responsibilities = log_sum_exp(terms)
        return ClassLatentPosterior(
            moments, norm, responsibilities, omega, labels.kappa, self.n_latents
        )

    def _mean_field(
        self, posterior: Normal, prior: LatentPrior, labels: StickLabels
    ) -> ClassLatentPosterior:
        """One Gaussian per row, in turns with the components."""
        evidence, settle = LabelEvidence.of(posterior, labels), COVARIANCES[self.covariance]
        second, location = evidence.before(prior)
        seen, _ = evidence.close(second)
        for linear, mean in zip(evidence.linear[:-1], location, strict=True):
            seen += linear * mean
        responsibilities = first_responsibilities(prior, seen)
        second, _ = evidence.before(averaged(prior, responsibilities))
        messages = prior.plus(evidence.linear)
        shared = averaged(messages, responsibilities)
        moments = self._empty_moments(shared.linear)
        for _ in range(self.passes or MEAN_FIELD_PASSES):
            evidence.collect(second, moments)
            pivots = posterior_moments(moments, shared, settle)
            second = evidence.after(moments)
            norm, responsibilities = log_sum_exp(expert_terms(messages, moments))
            shared = averaged(messages, responsibilities)
        terms, omega = evidence.close(second)
        norm += (terms + entropy(pivots))[0]
        return ClassLatentPosterior(
            moments, norm, responsibilities, omega, labels.kappa, self.n_latents
        )

    def _empty_moments(
        self, linear: Float[np.ndarray, "latents _ rows"]
    ) -> Float[np.ndarray, "pairs _ rows"]:
        return np.empty(((self.n_latents + 1) * (self.n_latents + 2) // 2, *linear.shape[1:]))

    def update(self, stats: LogitStats) -> Normal:
        """Exact coordinate update of every stick."""
        return stats.posterior(self.prior)

    def expectations(self, posterior: Normal) -> EntryVector:
        """``-E[b b'] / 2`` and ``E[b]`` of every stick."""
        return LogitCoordinates(posterior).expectations()

    def kl(self, posterior: Normal) -> float:
        return posterior.kl(self.prior)

    def within(self, nats: float) -> ClassOutput:
        """The layer with one inner step and fewer points, if the error is below these nats."""
        short = self.conditional and self.passes is None and nats > COARSE
        if not short:
            return self
        # Share of even weights below which a component does not count where few points do.
        return replace(self, passes=1, points=FEW_POINTS, least_share=1e-2)

    def with_prior_power(self, power: float) -> ClassOutput:
        """The layer whose prior density is to a power.

        Without a prior latent vectors are points, one for each component.
        """
        if power == 0.0:
            return replace(self, covariance="full", conditional=True)
        return replace(self, prior=self.prior.to_the_power(power))

    def draws(self, posterior: Normal, n: int, rng: np.random.Generator) -> OutputDraws:
        """``output``: coefficients of every stick."""
        return {"output": posterior.draws(n, rng)}

    def prior_draws(self, n: int, rng: np.random.Generator) -> OutputDraws:
        return self.draws(self.prior, n, rng)

    def responses(
        self,
        draws: OutputDraws,
        latents: Float[np.ndarray, "draws latents rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """One class code per draw and row: the first stick at which it stops."""
        slope, intercept = draws["output"][..., :-1], draws["output"][..., -1:]
        logit = slope @ latents + intercept
        stops = np.ones((len(logit), self.n_classes, logit.shape[2]), dtype=bool)
        stops[:, :-1] = rng.logistic(size=logit.shape) < logit
        return np.asarray(stops.argmax(axis=1)[:, None], dtype=float)

    def log_density(self, posterior: Normal | None, draws: OutputDraws) -> DrawVector:
        density: DrawVector
        density = (posterior or self.prior).log_density(draws["output"]).sum(axis=-1)
        return density

    def latent_guess(self, block: Block) -> Float[np.ndarray, "latents rows"]:
        """Sticks of the labels: ``EMBEDDED`` where a row stops, minus that where it passes."""
        kappa = StickLabels.of(block.response[0], self.n_classes).kappa
        return np.asarray(2.0 * EMBEDDED * (directions(self.n_latents, len(kappa)) @ kappa))

    def partition_stats(
        self, block: Block, moments: Float[np.ndarray, "pairs 1 rows"], responsibilities: ExpertRows
    ) -> LogitStats:
        """Sums for guessed latent vectors, with the Polya-Gamma means of logits near zero."""
        labels = StickLabels.of(block.response[0], self.n_classes)
        omega = 0.25 * labels.reach[:, None]
        rows = ClassLatentPosterior(
            moments, np.zeros(block.n_rows), responsibilities, omega, labels.kappa, self.n_latents
        )
        return rows.sufficient_stats(responsibilities)

    def supports(self) -> dict[str, AbstractSupport]:
        """``output``: coefficients of every stick."""
        return {"output": Real(self.prior.mean.shape)}

    def component_log_lik(
        self, draws: OutputDraws, latents: LatentDraws, block: Block
    ) -> DrawExpertRows:
        """Log probability of each component and row's label; see ``label_log_terms``."""
        labels = StickLabels.of(block.response[0], self.n_classes)
        return label_log_terms(draws["output"], latents, labels)

    def log_lik(self, draws: OutputDraws, latents: LatentDraws, block: Block) -> DrawRows:
        """Log probability of each row's label for each draw; see ``label_log_lik``."""
        labels = StickLabels.of(block.response[0], self.n_classes)
        return label_log_lik(draws["output"], latents, labels)

    def log_predictive(
        self, posterior: Normal, latents: LatentPredictive, block: Block
    ) -> RowVector:
        """Log probability of each row's label."""
        log_predictive = self.probabilities(posterior, latents)
        with np.errstate(divide="ignore"):  # a probability may round to zero
            return np.asarray(
                np.log(log_predictive[block.response[0].astype(int), np.arange(block.n_rows)])
            )

    def probabilities(
        self, posterior: Normal, latents: LatentPredictive, n_points: int | None = None
    ) -> Float[np.ndarray, "classes rows"]:
        """Predictive class probabilities; see ``class_probabilities``."""
        return class_probabilities(posterior, latents, n_points or self.points, self.least_share)

    def drawn_probabilities(
        self, draws: OutputDraws, latents: LatentDraws, few_points: bool = False
    ) -> Float[np.ndarray, "draws classes rows"]:
        """Class probabilities for each draw; see ``drawn_probabilities``."""
        return drawn_probabilities(draws["output"], latents, few_points)
