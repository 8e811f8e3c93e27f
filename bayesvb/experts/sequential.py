"""Sequential experts: a Bayesian continuation-ratio regression of ordered levels."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.ordered_levels import OrderedLevels
from bayesvb.data.parts import MEAN
from bayesvb.distributions.ordinal_mixture import OrdinalMixture
from bayesvb.experts.bernoulli import BernoulliExperts
from bayesvb.experts.ordered import (
    SMALLEST_PROBABILITY,
    AbstractOrderedExperts,
    count_later_thresholds,
)
from bayesvb.experts.predictor import PredictorCoordinates, PredictorLocalPosterior
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
)
from bayesvb.factors.normal import Normal
from bayesvb.linear.designs import AbstractDesign
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawExpertTerms,
    DrawVector,
    ExpertRows,
    Floats,
    TermVector,
)
from bayesvb.numerics.linalg import effective_dof
from bayesvb.numerics.logistic_normal import softplus_moments
from bayesvb.numerics.special import softplus
from bayesvb.variational.descriptions import ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, design_of
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.supports import AbstractSupport, Real

THRESHOLD_SD = 5.0
"""Prior standard deviation of the distance of a threshold from the first one."""

DISTANCES = "distances"
"""Name of the draws of the distances of the thresholds from the first one."""


@dataclass(frozen=True)
class SequentialRows(AbstractLocalPosterior):
    """Expected log probabilities of rows, and of the steps of each row.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    steps : PredictorLocalPosterior
        Steps of all rows.
    row : ndarray, shape (steps,)
        The row of each step.
    """

    expected_log_density: ExpertRows
    steps: PredictorLocalPosterior
    row: Int[np.ndarray, " steps"]

    def sufficient_stats(self, responsibilities: ExpertRows) -> LogitStats:
        """Sums over the steps."""
        return self.steps.sufficient_stats(responsibilities[:, self.row])

    def row_stats(self, responsibilities: ExpertRows) -> LogitStats:
        """Contribution of each row: the sum of its steps."""
        each = self.steps.row_stats(responsibilities[:, self.row])
        n_rows = responsibilities.shape[1]
        return LogitStats(
            _by_row(each.curvature, self.row, n_rows), _by_row(each.linear, self.row, n_rows)
        )


@dataclass(frozen=True)
class SequentialExperts(AbstractOrderedExperts):
    r"""``P(y > c | y >= c) = sigma(u - tau_c)``: levels that are reached one after the other.

    A row of level ``c`` is ``c`` binary steps, of which the last one fails, or none where the level
    is the highest: logistic regression of the steps with a column for each threshold. The first
    threshold is 0, as the predictor has an intercept, and the others are distances from it, of
    either sign. The posterior of coefficients and distances is one Gaussian.

    References
    ----------
    Tutz (1991), Sequential models in categorical regression, Computational Statistics and Data
    Analysis 11(3), equation 2.3. Fienberg (1980), The Analysis of Cross-Classified Categorical
    Data, section 6.6, for continuation ratios.
    """

    words = "sequential ordinal regression"
    formula = "ordinal"
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of the log odds of passing to a higher level, per unit of the term; "
        "exp(β) is an odds ratio, the intercept is minus the first threshold",
        heading="Components' log odds",
        caption="Coefficients of the log odds of passing to a higher level, per unit of the term",
        forest=True,
        ratio="odds ratio",
    )
    threshold_text = ParameterText(
        symbol="τ",
        meaning="thresholds of the steps to the next level, on the scale of the log odds",
        heading="Thresholds",
        caption="Thresholds of the steps to the next level: log odds of ending at a level that is "
        "reached, where all terms are zero",
    )

    prior: Normal
    levels: OrderedLevels

    @classmethod
    def from_prior(cls, prior: RegressionPrior) -> SequentialExperts:
        """Experts of as many levels as the response has.

        Raises
        ------
        PriorError
            If degrees of freedom are given.
        """
        prior.check_no_dof()
        n_distances = count_later_thresholds(prior.levels)
        sds = [prior.coefficient_sd] * prior.n_terms + [THRESHOLD_SD] * n_distances
        precision = np.diag(np.array(sds) ** -2.0)
        return cls(Normal.from_precision(np.zeros(len(sds)), precision), prior.levels)

    @property
    def n_distances(self) -> int:
        """Number of thresholds behind the first one."""
        return count_later_thresholds(self.levels)

    @property
    def n_terms(self) -> int:
        """Number of coefficients."""
        return int(self.prior.mean.shape[-1]) - self.n_distances

    @property
    def binary(self) -> BernoulliExperts:
        """Logistic regression of the steps."""
        return BernoulliExperts(self.prior)

    def design(self, block: Block) -> AbstractDesign:
        """Return rows without their thresholds."""
        terms = np.arange(self.n_terms)
        prior = self.prior.precision[np.ix_(terms, terms)]
        law = Normal.from_precision(self.prior.mean[terms], prior)
        return design_of(law.operator, block, MEAN)

    def steps(self, block: Block) -> tuple[Block, Int[np.ndarray, " steps"]]:
        """Binary steps of all rows, 1 if a row continues, and the row of each step."""
        place = self.places(block)
        stage, row = np.nonzero(place >= np.arange(self.n_distances + 1)[:, None])
        threshold = stage == np.arange(1, self.n_distances + 1)[:, None]
        columns = np.concatenate([block.designs[MEAN][:, row], -1.0 * threshold])
        offset = None if block.offset is None else block.offset[row]
        goes_on = (place[row] > stage).astype(float)[None]
        return Block({MEAN: columns}, goes_on, offset=offset), row

    def local(self, posterior: Normal, block: Block) -> SequentialRows:
        """Expected log probabilities, summed over the steps of each row."""
        steps, row = self.steps(block)
        local = self.binary.local(posterior, steps)
        each = _by_row(local.expected_log_density.T, row, block.n_rows).T
        return SequentialRows(each, local, row)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> LogitStats:
        """Statistics of one step of iteratively reweighted least squares."""
        steps, row = self.steps(block)
        return self.binary.partition_stats(responsibilities[:, row], steps)

    def update(self, stats: LogitStats) -> Normal:
        """Gaussian of these natural parameters."""
        return stats.posterior(self.prior)

    def kl(self, posterior: Normal) -> float:
        return posterior.kl(self.prior)

    def coordinates(self, posterior: Normal) -> PredictorCoordinates:
        """Standard coordinates of coefficients and distances."""
        return PredictorCoordinates(LogitCoordinates(posterior), DISTANCES, self.n_distances)

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, "*many terms"]
    ) -> SequentialExperts:
        thresholds = np.diagonal(self.prior.precision)[self.n_terms :]
        thresholds = np.broadcast_to(thresholds, (*precision.shape[:-1], len(thresholds)))
        whole = np.concatenate([precision, thresholds], axis=-1)
        return replace(self, prior=self.prior.with_precision(whole))

    def coefficient_squares(self, posterior: object) -> TermVector:
        return np.asarray(self.coefficients(posterior).squares().sum(axis=-2)[..., : self.n_terms])

    def effective_dof(self, posterior: object) -> Float[np.ndarray, "experts terms"]:
        dof = effective_dof(self.coefficients(posterior).covariance, self.prior.precision)
        return np.asarray(dof[..., : self.n_terms])

    def draws(self, posterior: Normal, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, 1, terms), and ``distances`` of the thresholds."""
        return self._named(posterior.draws(n, rng))

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        drawn = self.prior.draws(n * n_components, rng)
        return self._named(drawn.reshape(n, n_components, -1))

    def _named(self, values: DrawExpertTerms) -> Draws:
        """Draws by name."""
        at = self.n_terms
        return {"coefficients": values[:, :, None, :at], DISTANCES: values[:, :, at:]}

    def drawn_thresholds(self, draws: Draws) -> Float[np.ndarray, "draws experts thresholds"]:
        xp = namespace(draws[DISTANCES])
        first = xp.zeros((*draws[DISTANCES].shape[:-1], 1))
        at: Float[np.ndarray, "draws experts thresholds"]
        at = xp.concatenate([first, draws[DISTANCES]], axis=-1)
        return at

    def drawn_predictor(self, draws: Draws, block: Block) -> DrawExpertRows:
        predictor: DrawExpertRows
        predictor = draws["coefficients"][:, :, 0] @ block.designs[MEAN]
        return predictor if block.offset is None else predictor + block.offset

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients``, and ``distances``."""
        return {
            "coefficients": Real((n_components, 1, self.n_terms)),
            DISTANCES: Real((n_components, self.n_distances)),
        }

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        place = self.places(block)[:, None]
        v = self.drawn_excess(draws, block)
        stage = np.arange(v.shape[-1])
        each = softplus(-v) * (stage < place) + softplus(v) * (stage == place)
        log_lik: DrawExpertRows = -each.sum(axis=-1)
        return log_lik

    def drawn_masses(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts rows levels"]:
        v = self.drawn_excess(draws, block)
        none = np.zeros((*v.shape[:-1], 1))
        reached = np.concatenate([none, -np.cumsum(softplus(-v), axis=-1)], axis=-1)
        ends = np.concatenate([-softplus(v), none], axis=-1)
        return np.asarray(np.maximum(np.exp(reached + ends), SMALLEST_PROBABILITY))

    def log_density(self, posterior: Normal | None, draws: Draws) -> DrawVector:
        xp = namespace(draws[DISTANCES])
        whole = xp.concatenate([draws["coefficients"][:, :, 0], draws[DISTANCES]], axis=-1)
        density: DrawVector
        density = (posterior or self.prior).log_density(whole).sum(axis=1)
        return density

    def predictive(
        self, posterior: Normal, weights: ExpertRows, block: Block, response: int
    ) -> OrdinalMixture:
        """Probabilities of the levels, averaged over all parameters."""
        mean, covariance = self._step_moments(posterior, block)
        return OrdinalMixture(weights, sequential_masses(mean, covariance), self.levels)

    def _step_moments(
        self, law: Normal, block: Block
    ) -> tuple[
        Float[np.ndarray, "steps experts rows"], Float[np.ndarray, "steps steps experts rows"]
    ]:
        """Means and covariances of the log odds of the steps of every row."""
        x, n = block.designs[MEAN], self.n_distances
        contrasts = np.concatenate([np.zeros((1, n)), -np.eye(n)])
        columns = np.concatenate(
            [
                np.broadcast_to(x, (n + 1, *x.shape)),
                np.broadcast_to(contrasts[:, :, None], (n + 1, n, block.n_rows)),
            ],
            axis=1,
        )
        by_row = "n" if law.mean.ndim == 3 else ""  # a posterior of each row
        mean = np.einsum(f"{by_row}kp,lpn->lkn", law.mean, columns)
        covariance = np.einsum(
            f"lpn,{by_row}kpq,mqn->lmkn", columns, law.covariance, columns, optimize=True
        )
        return mean if block.offset is None else mean + block.offset, covariance

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients of the log odds, and distances of thresholds from the first one."""
        sds = np.diagonal(self.prior.precision)[: self.n_terms] ** -0.5
        further = PriorRow("threshold", "", "distances from the first Normal", 0.0, THRESHOLD_SD)
        return [*coefficient_rows(units, "Normal", sds), further]


def sequential_masses(
    mean: Float[np.ndarray, "steps experts rows"],
    covariance: Float[np.ndarray, "steps steps experts rows"],
) -> Float[np.ndarray, "experts rows levels"]:
    """Expected probabilities of the levels where the log odds of the steps are jointly normal.

    Given that a step is taken, the log odds of later ones have a law with moments in closed form by
    Stein's lemma; it is taken for normal.

    References
    ----------
    Minka (2001), Expectation propagation for approximate Bayesian inference, UAI, section 2
    (assumed-density filtering).
    """
    n_steps = len(mean)
    log_reached, masses = np.zeros(mean.shape[1:]), []
    for step in range(n_steps):
        slopes = softplus_moments(mean[step], covariance[step, step], 3)
        share, first, second = slopes[1:]
        masses.append(np.exp(log_reached) * (1.0 - share))
        log_reached = log_reached + np.log(share)
        move = first / share
        bend = second / share - move**2
        step_covariance = covariance[step]
        mean = mean + step_covariance * move
        covariance = covariance + step_covariance[:, None] * step_covariance[None] * bend
    masses.append(np.exp(log_reached))
    return np.maximum(np.moveaxis(np.stack(masses), 0, -1), SMALLEST_PROBABILITY)


def _by_row(values: Floats, row: Int[np.ndarray, " steps"], n_rows: int) -> Floats:
    """Sums over the steps of each row."""
    table = np.zeros((n_rows, *values.shape[1:]))
    np.add.at(table, row, values)
    return table
