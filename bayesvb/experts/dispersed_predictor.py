"""Likelihoods of one linear predictor and a positive parameter, such as a shape."""

from __future__ import annotations

import abc
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, TypeVar

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.linalg import block_diag

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.linked import AbstractLinkedExperts, with_offset
from bayesvb.experts.predictor import (
    Expected,
    PredictorCoordinates,
    PredictorLocalPosterior,
    in_moments,
    local_posterior,
)
from bayesvb.experts.regression import (
    RegressionUnits,
)
from bayesvb.factors.log_grid import GridLaw, LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.numerics.arrays import (
    DrawCoordinates,
    DrawExpertRows,
    DrawExpertTerms,
    DrawResponseRows,
    DrawVector,
    EntryVector,
    ExpertRows,
    RowVector,
)
from bayesvb.numerics.linalg import unpack
from bayesvb.numerics.records import changed
from bayesvb.variational.coordinates import AbstractCoordinates, entries
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars, consecutive
from bayesvb.variational.supports import AbstractSupport, Positive

Nodes = Float[np.ndarray, "nodes 1 1"]
"""Values of a positive parameter, before the axes of experts and rows."""

FIRST_PRECISION = 0.25
"""Precision per row of the log of the positive parameter where runs start: a standard deviation of
0.2 of 100 rows."""

DispersedT = TypeVar("DispersedT", bound="AbstractDispersedExperts")

DrawnRows = Float[np.ndarray, "experts draws rows"]

RowSlopes = tuple[
    DrawExpertRows,
    DrawExpertRows,
    DrawExpertRows,
]
"""Log density of each row, and its derivatives in predictor and log of the positive parameter."""


@dataclass(frozen=True)
class DispersedStats(SufficientStats):
    """Sums over rows, per expert.

    Attributes
    ----------
    coefficients : LogitStats
    nodes : ndarray, shape (experts, nodes)
        Expected log density at each node of the positive parameter.
    """

    coefficients: LogitStats
    nodes: Float[np.ndarray, "*many experts nodes"]


@dataclass(frozen=True)
class DispersedPosterior:
    """Posterior of coefficients and positive parameters, independent of each other.

    Attributes
    ----------
    coefficients : Normal
    dispersion : GridLaw
        Of the positive parameter of each expert.
    """

    coefficients: Normal
    dispersion: GridLaw


@dataclass(frozen=True)
class DispersedLocalPosterior(AbstractLocalPosterior):
    """Expected log density of these rows, also at nodes of the positive parameter.

    Attributes
    ----------
    expected_log_density : ndarray, shape (experts, rows)
    predictor : PredictorLocalPosterior
    values : ndarray, shape (some nodes, experts, rows)
        Expected log density at the nodes that have a part in the posterior, and their neighbours.
    nearest : ndarray, shape (experts, nodes)
        For each node of an expert, the nearest one that has a part in its posterior.
    """

    expected_log_density: ExpertRows
    predictor: PredictorLocalPosterior
    values: Float[np.ndarray, "some experts rows"]
    nearest: Int[np.ndarray, "experts nodes"]

    def sufficient_stats(self, responsibilities: ExpertRows) -> DispersedStats:
        """Sums of the predictor, and of the log density at each node."""
        some = np.vecdot(self.values, responsibilities).T
        sums = np.take_along_axis(some, self.nearest, axis=-1)
        return DispersedStats(self.predictor.sufficient_stats(responsibilities), sums)

    def joined(self, others: Sequence[DispersedLocalPosterior]) -> DispersedLocalPosterior:
        predictor = self.predictor.joined([one.predictor for one in others])
        values = np.concatenate([self.values, *(one.values for one in others)], axis=-1)
        arrays = predictor.expected_log_density
        return DispersedLocalPosterior(arrays, predictor, values, self.nearest)

    def row_stats(self, responsibilities: ExpertRows) -> DispersedStats:
        some = np.moveaxis(self.values * responsibilities, (0, 2), (2, 0))
        sums = np.take_along_axis(some, self.nearest[None], axis=-1)
        return DispersedStats(self.predictor.row_stats(responsibilities), sums)


class AbstractDispersedExperts(AbstractLinkedExperts):
    r"""Experts ``p(y | u, phi)`` of one linear predictor and a positive parameter of each expert.

    The posterior is ``q(b) q(phi)``: Gaussian coefficients by natural-gradient steps, as of
    ``AbstractPredictorExperts``, with the log density averaged over ``phi``, and a free-form
    ``q(phi)`` by exact coordinate updates, see ``LogGrid``. The expected interpolation weights of
    the nodes belong to the sums ``sum_n r_nk e_nk(phi_j)``, so linear response has the covariance
    of coefficients and ``phi`` that ``q`` lacks.

    A family is a subclass with ``expected_at`` and its distributions.
    """

    dispersion: LogGrid
    """Prior of the positive parameter, and its nodes."""

    dispersion_name: ClassVar[str]
    """Name of its draws, and of its part in tables."""

    dispersion_text: ClassVar[ParameterText]
    """Name and meaning of the positive parameter."""

    @staticmethod
    def coefficients(posterior: DispersedPosterior) -> Normal:
        return posterior.coefficients

    @abc.abstractmethod
    def expected_at(
        self,
        block: Block,
        mean: ExpertRows,
        variance: ExpertRows,
        value: Nodes,
        *,
        all_orders: bool = False,
    ) -> Expected:
        """Expected log density given values of the positive parameter, which lead the axes."""

    @abc.abstractmethod
    def first_predictor(self, block: Block) -> RowVector:
        """Predictor at which the response of each row is about its mean: where runs start."""

    @abc.abstractmethod
    def log_density_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> DrawExpertRows:
        """Log density of rows given predictors and positive parameters, in NumPy or JAX."""

    @abc.abstractmethod
    def slopes_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> RowSlopes:
        """Log density of rows, and its derivatives in predictor and log positive parameter."""

    @abc.abstractmethod
    def simulate(
        self,
        block: Block,
        predictor: Float[np.ndarray, "draws 1 rows"],
        values: Float[np.ndarray, "draws 1 rows"],
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws 1 rows"]:
        """Responses given their predictors and positive parameters."""

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:
        """``coefficients``, and the positive parameter by its name."""
        positive = Positive((n_components,))
        return {**super().supports(n_components), self.dispersion_name: positive}

    def with_prior_power(self: DispersedT, power: float) -> DispersedT:
        if power == 0.0:
            return self
        dispersion = self.dispersion.to_the_power(power)
        return changed(super().with_prior_power(power), dispersion=dispersion)

    def local(self, posterior: DispersedPosterior, block: Block) -> DispersedLocalPosterior:
        """Expected log density, averaged and at the nodes, with the weights of the step."""
        law, design = posterior.dispersion, self.design(block)
        mean, variance = with_offset(*logit_moments(posterior.coefficients, design), block)
        # A posterior of many rows has a part at a fourth of the nodes only. Sums at the others are
        # those of the nearest one: where the posterior reaches so far, the next pass has theirs. Of
        # each expert: far nodes of one without rows hold log densities of any size under another,
        # and a row left out would move its posterior there.
        near = law.near
        some = np.flatnonzero(near.any(axis=0))
        each = self.expected_at(block, mean, variance, on_axis(self.dispersion.values[some]))
        local = local_posterior(average(each, law.weights[:, some]), mean, block, design)
        nearest = nearest_places(near, some)
        return DispersedLocalPosterior(local.expected_log_density, local, each.value, nearest)

    def partition_stats(self, responsibilities: ExpertRows, block: Block) -> DispersedStats:
        """Sums of one step of iteratively reweighted least squares at the prior's median.

        Residuals are not known yet: the positive parameter starts near that median, as under the
        whole prior expected log densities are dominated by extreme values.
        """
        start = self.first_predictor(block)[None]
        value = on_axis(np.exp([self.dispersion.centre]))
        expected = self.expected_at(block, start, np.zeros_like(start), value)
        local = local_posterior(
            average(expected, np.ones((1, 1))), start, block, self.design(block)
        )
        distance = self.dispersion.logs - self.dispersion.centre
        nodes = -0.5 * FIRST_PRECISION * responsibilities.sum(axis=1)[:, None] * distance**2
        return DispersedStats(local.sufficient_stats(responsibilities), nodes)

    def global_step(
        self, posterior: DispersedPosterior | None, stats: DispersedStats
    ) -> DispersedStats:
        """Sums at the nodes, cut off where they have no influence."""
        return replace(stats, nodes=self.dispersion.trimmed(stats.nodes))

    def update(self, stats: DispersedStats) -> DispersedPosterior:
        """Gaussian of these natural parameters, and the exact update of the positive one."""
        dispersion = self.dispersion.posterior(stats.nodes)
        return DispersedPosterior(stats.coefficients.posterior(self.prior), dispersion)

    def kl(self, posterior: DispersedPosterior) -> float:
        return posterior.coefficients.kl(self.prior) + posterior.dispersion.kl()

    def coordinates(self, posterior: DispersedPosterior) -> DispersedCoordinates:
        """Standard coordinates of the coefficients, then of the positive parameters."""
        coefficients = PredictorCoordinates(LogitCoordinates(posterior.coefficients))
        return DispersedCoordinates(coefficients, posterior.dispersion, self.dispersion_name)

    def row_derivatives(
        self, posterior: DispersedPosterior, block: Block, responsibilities: ExpertRows
    ) -> PartDerivatives:
        """Derivatives in ``-E v^2 / 2``, ``E v`` and the expected weights of the nodes.

        Of nodes that are not active neither expectation nor derivative changes.
        """
        law, design = posterior.dispersion, self.design(block)
        known, variance = logit_moments(posterior.coefficients, design)
        mean, _ = with_offset(known, variance, block)
        active = np.flatnonzero(law.active.any(axis=0))
        features = design.products(), design.columns
        values = on_axis(self.dispersion.values[active])
        each = self.expected_at(block, mean, variance, values, all_orders=True)
        averages = average(each, law.weights[:, active])
        slopes, bends = in_moments(averages, known, responsibilities)
        each = without_nodes(each, ~law.active[:, active].T)
        slopes, bends = with_nodes(slopes, bends, each, known, responsibilities)
        n_experts = len(mean)
        widths = [*(len(one) for one in features), self.dispersion.n_nodes]
        places = consecutive(n_experts, widths)
        scalars = [RowScalars.of(*one) for one in zip(features, places[:2], strict=True)]
        ones = np.ones((1, block.n_rows))
        scalars.append(RowScalars.of(ones, places[2][:, active].reshape(-1, 1)))
        others = np.delete(places[2], active, axis=1).reshape(1, -1)
        nothing = RowScalars(ones[:0], np.empty((1, 0), dtype=int), others)
        factors = np.concatenate(places, axis=1)
        return PartDerivatives((*scalars, nothing), factors, slopes, bends)

    def expectations_along(
        self,
        posterior: DispersedPosterior,
        change: DispersedStats,
        precision: Float[np.ndarray, "many terms"] | None = None,
    ) -> tuple[DispersedStats, Float[np.ndarray, "many entries"]]:
        """Changes of the expectations, and of ``coefficient_squares``, in closed form."""
        coefficients, law = change.coefficients, posterior.coefficients
        moved = coefficients if precision is None else coefficients.with_squares(precision)
        result = LogitStats(*law.expectations_along(moved.linear, unpack(moved.curvature)))
        spread = posterior.dispersion.covariance
        nodes = (spread @ change.nodes[..., None])[..., 0]
        return DispersedStats(result, nodes), -2.0 * result.squares

    def draws(self, posterior: DispersedPosterior, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` (draws, experts, 1, terms), and the positive parameter by its name."""
        coefficients = super().draws(posterior, n, rng)
        return {**coefficients, self.dispersion_name: posterior.dispersion.draws(n, rng)}

    def prior_draws(self, n: int, n_components: int, rng: np.random.Generator) -> Draws:
        coefficients = super().prior_draws(n, n_components, rng)
        further = self.dispersion.prior_draws((n, n_components), rng)
        return {**coefficients, self.dispersion_name: further}

    def log_lik(self, draws: Draws, block: Block) -> DrawExpertRows:
        values = draws[self.dispersion_name][..., None]
        return self.log_density_of_rows(block, self.drawn_predictor(draws, block), values)

    def drawn_arrays(
        self, draws: Draws, weights: DrawExpertTerms, block: Block
    ) -> tuple[DrawnRows, DrawnRows, DrawnRows]:
        """Weights, predictors and positive parameters of each draw and row, experts first."""
        predictor = np.moveaxis(self.drawn_predictor(draws, block), 1, 0)
        further = np.moveaxis(draws[self.dispersion_name], 1, 0)[..., None]
        each = np.broadcast_to(np.moveaxis(weights, 1, 0), predictor.shape)
        return each, predictor, np.broadcast_to(further, predictor.shape)

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> DrawResponseRows:
        each = self.drawn_predictor(draws, block)
        values = np.take_along_axis(draws[self.dispersion_name], chosen, axis=1)[:, None]
        drawn_values = np.take_along_axis(each, chosen[:, None], axis=1)
        return self.simulate(block, drawn_values, values, rng)

    def log_density(self, posterior: DispersedPosterior | None, draws: Draws) -> DrawVector:
        values, density = draws[self.dispersion_name], super().log_density(posterior, draws)
        grid = self.dispersion if posterior is None else posterior.dispersion
        of_values = grid.log_prior if isinstance(grid, LogGrid) else grid.log_density
        log_density: DrawVector = density + of_values(values).sum(axis=1)
        return log_density

    def further_moments(
        self, posterior: DispersedPosterior, like: ExpertRows
    ) -> tuple[ExpertRows, ExpertRows]:
        """Mean and variance of the log of the positive parameter, for each row."""
        law = posterior.dispersion
        both = (law.mean_log, law.sd_log**2)
        each = [one.T if one.ndim == 2 else one[:, None] for one in both]  # by row, or for all
        return np.broadcast_to(each[0], like.shape), np.broadcast_to(each[1], like.shape)

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients on the scale of the predictor, and the positive parameter."""
        law = self.dispersion
        words = f"log-normal, sd of the log {law.sd:g}"
        median = float(np.exp(law.centre))
        further = PriorRow(self.dispersion_name, "", words, median, np.nan)
        return [*super().prior_rows(units), further]

    def parameters(self, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """``beta``, and the positive parameter."""
        name = self.dispersion_name
        further = NamedParameter(
            name=name, values=draws[name], dims=("component",), text=self.dispersion_text, part=name
        )
        return [*super().parameters(draws, units), further]


@dataclass(frozen=True)
class DispersedCoordinates(AbstractCoordinates):
    """Coordinates of the coefficients, then standardised logs of the positive parameters.

    A log is linear in the interpolation weights of the nodes, so that it is its own stand-in.
    """

    vectors: PredictorCoordinates
    law: GridLaw
    name: str

    @property
    def size(self) -> int:
        """Number of coefficients and of positive parameters."""
        return int(self.vectors.size) + len(self.law.log_norm)

    def expectations(self) -> EntryVector:
        """Expectations of the coefficients, then of the weights of the nodes."""
        return entries(self.vectors.expectations(), self.law.weights)

    @property
    def _slopes(self) -> Float[np.ndarray, "laws nodes"]:
        """Standardised log of the parameter at the nodes."""
        shift = self.law.grid.logs - self.law.mean_log[:, None]
        return np.asarray(shift / self.law.sd_log[:, None])

    def perturbations(self) -> Float[np.ndarray, "coordinates entries"]:
        """Tilts of the coefficients, and of the sums at the nodes."""
        nodes = block_diag(*self._slopes[:, None])
        return np.asarray(block_diag(self.vectors.perturbations(), nodes))

    def centre_slopes(
        self, change: Float[np.ndarray, "changes entries"]
    ) -> Float[np.ndarray, "changes coordinates"]:
        """Changes of the posterior means."""
        n_nodes = self.law.weights.size
        vectors = self.vectors.centre_slopes(change[:, :-n_nodes])
        nodes = change[:, -n_nodes:].reshape(len(change), *self.law.weights.shape)
        return np.concatenate([vectors, np.vecdot(nodes, self._slopes)], axis=1)

    def standard(self, draws: Draws) -> DrawCoordinates:
        logs = (np.log(draws[self.name]) - self.law.mean_log) / self.law.sd_log
        return np.concatenate([self.vectors.standard(draws), logs], axis=1)

    def parameters(self, standard: DrawCoordinates) -> Draws:
        first = self.vectors.size
        logs = self.law.mean_log + self.law.sd_log * standard[:, first:]
        return {**self.vectors.parameters(standard[:, :first]), self.name: np.exp(logs)}

    def log_volume(self, draws: Draws) -> DrawVector:
        """Sum of the logs of the positive parameters."""
        return np.asarray(np.log(draws[self.name]).sum(axis=1))


def on_axis(values: Float[np.ndarray, " nodes"]) -> Nodes:
    """Values of the positive parameter on an axis before experts and rows."""
    return values[:, None, None]


def nearest_places(
    near: Bool[np.ndarray, "experts nodes"], some: Int[np.ndarray, " some"]
) -> Int[np.ndarray, "experts nodes"]:
    """Index, for each node, of the nearest among the nodes that are near for the expert."""
    distance = np.abs(np.arange(near.shape[1])[:, None] - some)
    each = np.where(near[:, None, some], distance, near.shape[1])
    return np.asarray(each.argmin(axis=-1))


def average(each: Expected, weights: Float[np.ndarray, "experts nodes"]) -> Expected:
    """Expected log density averaged over values of the positive parameter."""
    orders = [order for order in vars(each).values() if order is not None]
    return Expected(*(np.einsum("kj,jkn->kn", weights, order) for order in orders))


def without_nodes(each: Expected, idle: Bool[np.ndarray, "nodes experts"]) -> Expected:
    """Nothing at nodes that have no part in the posterior of their expert."""
    return Expected(
        *(np.where(idle[..., None], 0.0, one) for one in (each.value, each.slope, each.curvature))
    )


def with_nodes(
    slopes: Float[np.ndarray, "experts scalars rows"],
    bends: Float[np.ndarray, "scalars scalars rows"],
    each: Expected,
    known: ExpertRows,
    responsibilities: ExpertRows,
) -> tuple[Float[np.ndarray, "experts more rows"], Float[np.ndarray, "more more rows"]]:
    """Derivatives with those in the weights of nodes, experts first, and one that has none.

    The log density is linear in the weights, with the derivatives at each node.
    """
    n_experts, n_rows = known.shape
    first, n_nodes = 2 * n_experts, len(each.value)
    total = first + n_experts * n_nodes + 1
    further = np.zeros((n_experts, total, n_rows))
    further[:, :first] = slopes
    second = np.zeros((total, total, n_rows))
    second[:first, :first] = bends
    for k in range(n_experts):
        nodes = slice(first + k * n_nodes, first + (k + 1) * n_nodes)
        further[k, nodes] = each.value[:, k]
        curved = responsibilities[k] * each.curvature[:, k]
        straight = responsibilities[k] * each.slope[:, k] + known[k] * curved
        second[k, nodes] = second[nodes, k] = curved
        second[n_experts + k, nodes] = second[nodes, n_experts + k] = straight
    return further, second
