"""Bayesian principal component analysis with automatic relevance of the components."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Bool, Float
from scipy.special import digamma

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import LocalStep, SufficientStats
from bayesvb.factors.gamma import gamma_kl, gamma_log_density
from bayesvb.factors.loadings import Loadings
from bayesvb.models.ensemble import best_order
from bayesvb.models.pca.covariance import MOST_LOADINGS, LoadingsAndNoise
from bayesvb.models.pca.prior import PcaPrior
from bayesvb.models.pca.scores import LatentPosterior, marginal_log_lik
from bayesvb.models.pca.starts import PrincipalAxes
from bayesvb.numerics.arrays import DrawRows, DrawVector, ExpertRows, RowVector
from bayesvb.numerics.linalg import pack, unpack
from bayesvb.variational.local import Draws
from bayesvb.variational.model import Starts
from bayesvb.variational.parameter_space import ParameterSpace
from bayesvb.variational.streamed_model import AbstractStreamedModel
from bayesvb.variational.supports import Positive, Real


@dataclass(frozen=True)
class ScoreStats(SufficientStats):
    """Sums over rows; ``x`` are the scores with a one appended.

    Attributes
    ----------
    xx : ndarray, shape (dims or 1, pairs)
        ``sum E[x x']`` over the rows where the variable was observed, packed; one for all
        variables if nothing is missing.
    tx : ndarray, shape (dims, columns)
        ``sum t_i E[x]``.
    tt : ndarray, shape (1,)
        ``sum t_i^2`` over variables and rows.
    count : ndarray, shape (dims,)
        Rows where the variable was observed.
    """

    xx: Float[np.ndarray, "matrices pairs"]
    tx: Float[np.ndarray, "dims columns"]
    tt: Float[np.ndarray, " 1"]
    count: Float[np.ndarray, " dims"]


@dataclass(frozen=True)
class PcaStats(SufficientStats):
    """Statistics of the rows, and the rates of the relevances that belong to them."""

    rows: ScoreStats
    relevance: Float[np.ndarray, " components"]


@dataclass(frozen=True)
class PcaPosterior:
    """Posterior of loadings, centre and noise, and of the relevances ``alpha_i ~ Ga(c, d_i)``.

    Attributes
    ----------
    loadings : Loadings
    relevance_shape : float
    relevance_rate : ndarray, shape (components,)
    informed : ndarray, shape (dims,), or None
        Whether any row has observed the variable; None if all have.
    """

    loadings: Loadings
    relevance_shape: float
    relevance_rate: Float[np.ndarray, " components"]
    informed: Bool[np.ndarray, " dims"] | None = None

    @property
    def expected_relevance(self) -> Float[np.ndarray, " components"]:
        """``E[alpha_i]``: large where a component is not needed."""
        return self.relevance_shape / self.relevance_rate

    @property
    def effective(self) -> Float[np.ndarray, " components"]:
        """Signal of each component: squared norm of its loadings over the spread of that norm.

        A component counts as effective above one: its loadings are then larger than their
        posterior standard deviation in the root mean square.
        """
        q = self.loadings
        informed = np.ones(len(q.mean), dtype=bool) if self.informed is None else self.informed
        variances = np.diagonal(q.covariance, axis1=1, axis2=2)[:, :-1]
        spread = (variances[informed] if len(variances) > 1 else variances).mean(axis=0)
        norm = (q.mean[:, :-1] ** 2).sum(axis=0)
        return np.asarray(norm / (spread * informed.sum() / q.expected_precision))

    @property
    def mean(self) -> Float[np.ndarray, " dims"]:
        """Mean of a new row, exact under q: the centre, as scores have mean zero."""
        return self.loadings.mean[:, -1]

    @property
    def covariance(self) -> Float[np.ndarray, "dims dims"]:
        """Covariance of a new row, exact under q."""
        q = self.loadings
        loadings = q.mean[:, :-1]
        spread = 1.0 + np.trace(q.covariance, axis1=1, axis2=2)
        of_noise = q.rate / (q.shape - 1.0) * spread
        return np.asarray(loadings @ loadings.T + np.diag(np.broadcast_to(of_noise, len(loadings))))


@dataclass(frozen=True)
class PrincipalComponents(AbstractStreamedModel[PcaPosterior, PcaStats]):
    r"""``t | x ~ N(W x + mu, I / tau)``, ``x ~ N(0, I)``, columns of ``W`` scaled by ``tau``.

    The family is ``q(mu, W, tau) q(alpha) prod q(x_n)``. The conditional form
    ``q(mu | W, tau) q(W | tau)`` of the paper is the same distribution as the joint Gaussian of
    ``[W, mu]`` used here. Missing entries do not enter: a row is informed by the variables that
    were observed, a variable by the rows where it was.

    The predictive mean is ``W (x + s) + m`` in the paper's parameters; its eqs 58, 59 and 107-118
    print ``-s`` and ``-m``. The bound has ``E log(alpha_i tau)`` where eq. 39 prints the log of the
    expectations.

    Attributes
    ----------
    prior : PcaPrior
    n_scores : int
        Number of principal components.
    log_jacobian : ndarray, shape (dims,)
        Log of the unit of each variable. Densities and ELBOs are in the units of the data, as only
        the units of a row's observed variables are subtracted.
    axes : PrincipalAxes
        Start of the runs.
    rank : int
        Number of axes in use there.

    References
    ----------
    Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA, eqs 17-34, 36-57.
    """

    prior: PcaPrior
    n_scores: int
    log_jacobian: Float[np.ndarray, " dims"]
    axes: PrincipalAxes
    rank: int

    @property
    def without_response(self) -> str:  # type: ignore[override]
        """Reason for the only prior without a corrected covariance."""
        return "with s0 the prior relates centre and loadings, which the correction takes apart"

    @property
    def n_components(self) -> int:
        """One: rows are not divided."""
        return 1

    @property
    def initial(self) -> Loadings:
        """Initial loadings."""
        return self.axes.loadings(self.n_scores, self.rank)

    def starts(self, n: int) -> Starts:
        """Starts with different numbers of axes in use: all of them, or ``n`` at even ratios."""
        ranks = np.unique(np.geomspace(self.n_scores, 1.0, min(n, self.n_scores)).round())
        if n >= self.n_scores:
            ranks = np.arange(1.0, self.n_scores + 1.0)
        return Starts({f"rank {rank:.0f}": replace(self, rank=int(rank)) for rank in ranks})

    def e_step(self, posterior: PcaPosterior, block: Block) -> LocalStep:
        """Scores of the rows, and the sums in which they enter."""
        rows = LatentPosterior.of(posterior.loadings, block)
        stats = ScoreStats(*rows.sums(block))
        bound = rows.bound - self.units(block)
        bound = bound if block.weight is None else bound * block.weight
        return LocalStep(float(bound.sum()), stats)

    def units(self, block: Block) -> RowVector:
        """Log of the unit, subtracted from the log density of each row."""
        seen = block.designs.get("observed")
        if seen is None:
            return np.full(block.n_rows, self.log_jacobian.sum())
        return np.asarray(self.log_jacobian @ seen)

    def update(self, stats: PcaStats) -> PcaPosterior:
        """Exact update of ``q(mu, W, tau)`` given the relevances that the statistics carry."""
        if not (stats.relevance > 0.0).all():
            raise np.linalg.LinAlgError("rates of a gamma distribution must be positive")
        prior, rows = self.prior, stats.rows
        shape = prior.relevance_shape + 0.5 * len(rows.tx)
        weight = prior.precision(shape / stats.relevance)
        prior_mean = prior.mean(len(rows.tx), self.n_scores)
        xx = unpack(rows.xx)
        precision = xx + weight
        pull = rows.tx + prior_mean @ weight
        mean = np.linalg.solve(precision, pull[..., None])[..., 0]
        fitted = (mean[:, None, :] @ xx @ mean[:, :, None]).sum()
        residual = rows.tt[0] - 2.0 * (mean * rows.tx).sum() + fitted
        shift = mean - prior_mean
        loadings = Loadings.from_precision(
            mean,
            precision,
            prior.noise_shape + 0.5 * float(rows.count.sum()),
            prior.noise_rate + 0.5 * float(residual + ((shift @ weight) * shift).sum()),
        )
        informed = None if (rows.count > 0.0).all() else rows.count > 0.0
        return PcaPosterior(loadings, shape, stats.relevance, informed)

    def global_step(
        self, posterior: PcaPosterior, stats: ScoreStats, before: PcaStats | None = None
    ) -> PcaStats:
        """Sums of scores, unchanged for known rows, and relevances given the loadings."""
        rows = stats if before is None else before.rows + stats
        moments = np.diagonal(posterior.loadings.second_moments, axis1=1, axis2=2)
        return PcaStats(rows, self.prior.relevance_rate + 0.5 * moments.sum(axis=0)[:-1])

    def expected_sum(self, before: PcaStats, posterior: PcaPosterior) -> float:
        """Expected log likelihood of rows whose scores stay, without its constant."""
        q, rows = posterior.loadings, before.rows
        second = np.broadcast_to(q.second_moments, (len(q.mean), *q.covariance.shape[1:]))
        xx = np.broadcast_to(unpack(rows.xx), second.shape)
        fitted = q.expected_precision * float((q.mean * rows.tx).sum())
        squares = q.expected_precision * float(rows.tt[0]) + float((second * xx).sum())
        return 0.5 * (float(rows.count.sum()) * q.expected_log_precision - squares) + fitted

    def gradient_stats(
        self, posterior: PcaPosterior, stats: ScoreStats, before: PcaStats | None = None
    ) -> PcaStats:
        """The next statistics: every update is exact."""
        return self.global_step(posterior, stats, before)

    def response_coordinates(self, posterior: PcaPosterior) -> LoadingsAndNoise:
        """Centre, noise and loadings of the first components, as far as they are effective.

        They know of the scores only if these are integrated out.
        """
        idle = np.flatnonzero(posterior.effective <= 1.0)
        n_effective = int(idle[0]) if len(idle) else self.n_scores
        n_moved = min(n_effective, MOST_LOADINGS // len(self.log_jacobian))
        return LoadingsAndNoise(posterior.loadings, n_moved)

    def known_response(
        self, posterior: PcaPosterior, source: AbstractSource
    ) -> Float[np.ndarray, "coordinates coordinates"] | None:
        """Covariance of these with the scores integrated out.

        Not with scores of the prior centre, under which the prior relates centre and loadings.
        """
        if self.prior.centre_scores:
            return None
        coordinates = self.response_coordinates(posterior)
        return coordinates.covariance(
            source, self.prior.centre_precision, posterior.expected_relevance
        )

    def permuted(
        self, order: Sequence[int], sign: Float[np.ndarray, " components"], stats: PcaStats
    ) -> PcaStats:
        """Statistics with components in another order, and turned round where ``sign`` is -1."""
        columns, turn = np.append(order, self.n_scores), np.append(sign, 1.0)
        xx = unpack(stats.rows.xx)[:, columns][:, :, columns] * np.outer(turn, turn)
        rows = replace(stats.rows, xx=pack(xx), tx=stats.rows.tx[:, columns] * turn)
        return PcaStats(rows, stats.relevance[np.asarray(order)])

    def responses(
        self, draws: Draws, block: Block, rng: np.random.Generator
    ) -> Float[np.ndarray, "draws dims rows"]:
        """One new row per draw and row, from scores that are new as well."""
        n_draws, n_dims = draws["centre"].shape
        scores = rng.standard_normal((n_draws, self.n_scores, block.n_rows))
        noise = rng.standard_normal((n_draws, n_dims, block.n_rows))
        sd = 1.0 / np.sqrt(draws["precision"][:, None, None])
        return np.asarray(draws["loadings"] @ scores + draws["centre"][..., None] + sd * noise)

    def noise_from_prior(self, posterior: PcaPosterior) -> float:
        """Prior rate of the noise precision over that rate plus half the squared residuals.

        The posterior rate has the pull of the prior on the loadings besides.
        """
        q = posterior.loadings
        shift = q.mean - self.prior.mean(len(q.mean), self.n_scores)
        pull = (shift @ self.prior.precision(posterior.expected_relevance)) * shift
        return self.prior.noise_rate / (q.rate - 0.5 * float(pull.sum()))

    def kl(self, posterior: PcaPosterior) -> float:
        """Divergence of loadings and noise given the relevances, and of the relevances."""
        prior, shape, rate = self.prior, posterior.relevance_shape, posterior.relevance_rate
        log_relevance = float((digamma(shape) - np.log(rate)).sum())
        loadings = posterior.loadings.kl(
            prior.mean(len(posterior.loadings.mean), self.n_scores),
            prior.precision(shape / rate),
            log_relevance + float(np.log(prior.centre_precision)),
            prior.noise_shape,
            prior.noise_rate,
        )
        of_relevance = gamma_kl(shape, rate, prior.relevance_shape, prior.relevance_rate)
        return loadings + float(of_relevance.sum())

    def partition_stats(self, block: Block, responsibilities: ExpertRows) -> Any:
        """Sums of these rows under the initial loadings; there is nothing to divide."""
        return ScoreStats(*LatentPosterior.of(self.initial, block).sums(block))

    def first_stats(self, stats: ScoreStats) -> PcaStats:
        shape = self.prior.relevance_shape + 0.5 * len(self.log_jacobian)
        blank = PcaPosterior(self.initial, shape, np.full(self.n_scores, shape))
        return self.global_step(blank, stats)

    def draws(self, posterior: PcaPosterior, n: int, rng: np.random.Generator) -> Draws:
        """``loadings``, ``centre``, ``precision`` of the noise, and ``relevance``."""
        both, precision = posterior.loadings.draws(n, rng)
        relevance = rng.gamma(posterior.relevance_shape, size=(n, self.n_scores))
        return {
            "loadings": both[:, :, :-1],
            "centre": both[:, :, -1],
            "precision": precision,
            "relevance": relevance / posterior.relevance_rate,
        }

    def parameter_space(self) -> ParameterSpace:
        """``loadings``, ``centre``, ``precision`` and ``relevance``."""
        n_dims = len(self.log_jacobian)
        return ParameterSpace(
            {
                "loadings": Real((n_dims, self.n_scores)),
                "centre": Real((n_dims,)),
                "precision": Positive(()),
                "relevance": Positive((self.n_scores,)),
            }
        )

    def relabelled_draws(
        self, draws: Draws, posterior: PcaPosterior, block: Block
    ) -> tuple[Draws, int]:
        """Components of each draw in the order, and with the signs, of the posterior's loadings.

        Scores of the prior centre, ``s_0``, identify both.
        """
        if self.prior.centre_scores:
            return draws, 0
        reference = posterior.loadings.mean[:, :-1]
        alike = np.swapaxes(draws["loadings"], 1, 2) @ reference
        order = np.stack([best_order(np.abs(one)) for one in np.swapaxes(alike, 1, 2)])
        chosen = np.take_along_axis(alike, order[..., None], axis=1)
        sign = np.where(np.diagonal(chosen, axis1=1, axis2=2) < 0.0, -1.0, 1.0)
        loadings = np.take_along_axis(draws["loadings"], order[:, None], axis=2) * sign[:, None]
        relevance = np.take_along_axis(draws["relevance"], order, axis=1)
        changed = (order != np.arange(self.n_scores)) | (sign < 0.0)
        moved = {**draws, "loadings": loadings, "relevance": relevance}
        return moved, int(changed.any(axis=1).sum())

    def log_lik(self, draws: Draws, block: Block) -> DrawRows:
        """Log density of the observed entries of each row, scores integrated out."""
        log_lik: DrawRows
        log_lik = marginal_log_lik(draws, block) - self.units(block)
        return log_lik

    def prior_draws(self, n: int, rng: np.random.Generator) -> Draws:
        """Parameters by name before any data are seen."""
        return self.prior.draws(n, len(self.log_jacobian), self.n_scores, rng)

    def log_prior(self, draws: Draws) -> DrawVector:
        return self.prior.log_density(draws)

    def log_posterior(self, posterior: PcaPosterior, draws: Draws) -> DrawVector:
        both = np.concatenate([draws["loadings"], draws["centre"][:, :, None]], axis=2)
        shape, rate = posterior.relevance_shape, posterior.relevance_rate
        relevance = gamma_log_density(draws["relevance"], shape, rate).sum(axis=1)
        return np.asarray(posterior.loadings.log_density(both, draws["precision"]) + relevance)
