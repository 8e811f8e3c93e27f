"""Gaussian linear mixed models as experts: effects of very many groups, sums by group."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GroupRows
from bayesvb.data.parts import MEAN
from bayesvb.data.scaling import Scaling
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError
from bayesvb.experts.drawn_effects import effects_at
from bayesvb.experts.linear import (
    AbstractLinearExperts,
    LinearStats,
    responses_around,
    without_noise,
)
from bayesvb.experts.mixed_coordinates import MixedCoordinates
from bayesvb.experts.regression import (
    RegressionPrior,
    RegressionUnits,
    coefficient_rows,
    in_units,
    noise_rows,
)
from bayesvb.factors.bordered_normal_gamma import BorderedNormalGamma
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.numerics.linalg import effective_dof, lower_pairs, products, unpack
from bayesvb.numerics.numbered_normals import LARGEST_KEY
from bayesvb.numerics.special import LOG_2PI
from bayesvb.variational.descriptions import PriorRow
from bayesvb.variational.local import AbstractLocalPosterior, Draws
from bayesvb.variational.row_derivatives import RowScalars, consecutive


@dataclass(frozen=True)
class MixedStats(SufficientStats):
    """Weighted sums over rows, per expert, of which those with effects are by group.

    Attributes
    ----------
    linear : LinearStats
        Sums of all rows.
    zz : ndarray, shape (experts, pairs, groups)
        Sum of ``z z'``, packed.
    zx : ndarray, shape (experts, effects, terms, groups)
        Sum of ``z x'``.
    zy : ndarray, shape (experts, responses, effects, groups)
        Sum of ``y_i z``.
    """

    linear: LinearStats
    zz: Float[np.ndarray, "*many experts pairs groups"]
    zx: Float[np.ndarray, "*many experts effects terms groups"]
    zy: Float[np.ndarray, "*many experts responses effects groups"]

    @classmethod
    def of_rows(
        cls, responsibilities: Float[np.ndarray, "experts rows"], block: Block, n_groups: int
    ) -> MixedStats:
        """Sums weighted by the responsibilities."""
        groups, design = GroupRows.of(block), block.designs[MEAN]
        first, second = lower_pairs(len(groups.values))
        weighted = responsibilities[:, None] * groups.values
        pairs = weighted[:, first] * groups.values[second]
        return cls(
            LinearStats.of_rows(responsibilities, block),
            zz=groups.sums(pairs, n_groups),
            zx=groups.sums(weighted[:, :, None] * design, n_groups),
            zy=groups.sums(weighted[:, None] * block.response[:, None], n_groups),
        )

    def permuted(self, order: list[int]) -> MixedStats:
        """Statistics after a new labelling: expert ``order[0]`` comes first."""
        return MixedStats(
            self.linear.permuted(order), self.zz[order], self.zx[order], self.zy[order]
        )


@dataclass(frozen=True)
class MixedLocalPosterior(AbstractLocalPosterior):
    """Expected log likelihood of these rows under every expert."""

    expected_log_density: Float[np.ndarray, "experts rows"]
    block: Block
    n_groups: int

    def sufficient_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> MixedStats:
        """Sums weighted by the responsibilities."""
        return MixedStats.of_rows(responsibilities, self.block, self.n_groups)


@dataclass(frozen=True)
class MixedExperts(AbstractLinearExperts[BorderedNormalGamma, MixedStats]):
    r"""``y_i ~ N(x' B_ki + z' U_kgi, 1 / tau_ki)``: each expert a mixed model, ``g`` the group.

    The posterior is that of ``LinearExperts`` with a column for each effect of each group. It is
    never written out: time and memory of a sweep grow with rows and groups only. Draws have the
    coefficients of all rows; effects are drawn for those groups that are asked for, always the same
    ones (``drawn_effects``).

    Attributes
    ----------
    prior : BorderedNormalGamma
    known : BorderedNormalGamma or None
        Posterior that draws of effects are from; their prior if there is none.

    References
    ----------
    As of ``LinearExperts``; Pinheiro, Bates (2000), Mixed-Effects Models in S and S-PLUS,
    section 2.2, for the decomposition.
    """

    learns_scales = True
    response_by_group = True

    prior: BorderedNormalGamma
    known: BorderedNormalGamma | None = None

    @classmethod
    def of_groups(cls, prior: RegressionPrior, n_effects: int, n_groups: int) -> MixedExperts:
        """Experts whose coefficients and effects have a prior in units of their noise."""
        shape = (prior.n_responses, prior.n_terms)
        precision = prior.coefficient_sd**-2.0
        rate = np.full(prior.n_responses, float(prior.noise_rate))
        border = MatrixNormalGamma.prior(
            np.zeros(shape), precision * np.eye(prior.n_terms), prior.noise_shape, rate
        )
        return cls(BorderedNormalGamma.prior(border, np.full(n_effects, precision), n_groups))

    def local(self, posterior: BorderedNormalGamma, block: Block) -> MixedLocalPosterior:
        r"""``E log N(y | x' B_k + z' U_kg, 1 / tau_k)``, summed over responses."""
        law, groups = posterior.border, GroupRows.of(block)
        terms = spread_at(posterior, block, groups)
        terms *= -0.5 * len(block.response)
        terms += 0.5 * (law.expected_log_precision - LOG_2PI).sum(axis=1)[:, None]
        residual = location_at(posterior, block, groups)
        residual -= block.response
        residual *= residual
        residual *= 0.5 * law.expected_precision[..., None]
        terms -= residual.sum(axis=1)
        return MixedLocalPosterior(terms, block, posterior.n_groups)

    def partition_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"], block: Block
    ) -> MixedStats:
        """Sums for given responsibilities."""
        return MixedStats.of_rows(responsibilities, block, self.prior.n_groups)

    def row_scalars(self, block: Block, n_experts: int) -> RowScalars:
        """``1``, ``x x'``, ``y_i x``, ``y_i^2``, and ``z z'``, ``z x'``, ``y_i z`` of each group.

        All groups of all rows: for few of both. Those of many are eliminated.
        """
        design, response, groups = block.designs[MEAN], block.response, GroupRows.of(block)
        shared = [np.ones((1, block.n_rows)), products(design), outer(response, design)]
        own = (products(groups.values), outer(groups.values, design))
        parts = [*shared, response * response]
        for values in (*own, outer(response, groups.values)):
            each = np.zeros((len(values), self.prior.n_groups, block.n_rows))
            each[:, groups.place, np.arange(block.n_rows)] = values
            parts.append(each.reshape(-1, block.n_rows))
        places = consecutive(n_experts, [len(part) for part in parts])
        return RowScalars.of(np.concatenate(parts), np.concatenate(places, axis=1))

    def with_prior_power(self, power: float) -> MixedExperts:
        """Not to be had.

        Raises
        ------
        NotImplementedError
            Always.
        """
        raise NotImplementedError("effects of very many groups have no point estimates")

    def update(self, stats: MixedStats) -> BorderedNormalGamma:
        """Exact posterior given statistics."""
        own = stats.linear
        zz = np.moveaxis(unpack(np.moveaxis(stats.zz, -2, -1)), -3, -1)
        border, groups = (unpack(own.xx), own.xy, own.yy), (zz, stats.zx, stats.zy)
        return self.prior.posterior(own.weight, border, groups)

    def kl(self, posterior: BorderedNormalGamma) -> float:
        """``KL(posterior || prior)``, summed over experts."""
        return posterior.kl(self.prior)

    def with_coefficient_precision(self, precision: Float[np.ndarray, " terms"]) -> MixedExperts:
        """The same experts with these precisions: of the terms, then of the effects."""
        return replace(self, prior=self.prior.with_coefficient_precision(precision))

    def coefficient_squares(self, posterior: BorderedNormalGamma) -> Float[np.ndarray, " terms"]:
        """``sum E[tau_ki c^2]`` of the terms, then of the effects, summed over groups too."""
        return np.asarray(posterior.scaled_squares().sum(axis=0))

    def effective_dof(self, posterior: BorderedNormalGamma) -> Float[np.ndarray, "experts terms"]:
        """Of each term; the same for all responses."""
        return effective_dof(posterior.border.covariance, self.prior.border.precision)

    def coordinates(self, posterior: BorderedNormalGamma) -> MixedCoordinates:
        """Those of coefficients and noise."""
        return MixedCoordinates.of(posterior)

    def collapsed(
        self, posterior: BorderedNormalGamma, block: Block
    ) -> Bool[np.ndarray, " experts"]:
        """Whether the noise of some response is next to none."""
        return without_noise(1.0 / posterior.border.expected_precision, block)

    def predictive(
        self,
        posterior: BorderedNormalGamma,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        response: int,
    ) -> StudentMixture:
        """Mixture of Student t distributions, exact given the weights."""
        law, groups = posterior.border, GroupRows.of(block)
        rate = (law.rate[:, response] / law.shape)[:, None]
        scale = np.sqrt(rate * (1.0 + spread_at(posterior, block, groups)))
        location = location_at(posterior, block, groups)[:, response]
        return StudentMixture(weights, location, scale, 2.0 * law.shape)

    def predictive_without(
        self,
        posterior: BorderedNormalGamma,
        weights: Float[np.ndarray, "experts rows"],
        block: Block,
        left_out: Float[np.ndarray, "experts rows"],
    ) -> list[StudentMixture]:
        """Student t distributions after a downdate by each row: exact given the memberships.

        References
        ----------
        Cook, Weisberg (1982), Residuals and Influence in Regression, section 2.2 and appendix A.2.
        """
        law, groups = posterior.border, GroupRows.of(block)
        location = location_at(posterior, block, groups)
        spread = spread_at(posterior, block, groups)
        kept, found = 1.0 - left_out * spread, []
        shape = law.shape[:, None] - 0.5 * left_out
        for i, observed in enumerate(block.response):
            residual = observed - location[:, i]
            rate = law.rate[:, i, None] - 0.5 * left_out * residual**2 / kept
            centre = location[:, i] - left_out * spread * residual / kept
            scale = np.sqrt(rate / shape * (1.0 + spread / kept))
            found.append(StudentMixture(weights, centre, scale, 2.0 * shape))
        return found

    @property
    def draws_complete(self) -> bool:
        """No: those of effects are made where they are asked for."""
        return False

    def knowing(self, posterior: BorderedNormalGamma) -> MixedExperts:
        """The same experts, whose draws have effects from this posterior."""
        return replace(self, known=posterior)

    def draws(self, posterior: BorderedNormalGamma, n: int, rng: np.random.Generator) -> Draws:
        """``coefficients`` of all rows, ``precision``, and ``effect_key``, of which effects are."""
        coefficients, precision = posterior.border.draws(n, rng)
        keys = rng.integers(0, LARGEST_KEY, precision.shape).astype(float)
        return {"coefficients": coefficients, "precision": precision, "effect_key": keys}

    def log_density(
        self, posterior: BorderedNormalGamma | None, draws: Draws
    ) -> Float[np.ndarray, " draws"]:
        """Log density of what is drawn, effects integrated out, or that of the prior (None)."""
        law = (posterior or self.prior).border
        density = law.log_density(draws["coefficients"], draws["precision"])
        return np.asarray(density.sum(axis=(1, 2)))

    def _location(
        self, draws: Draws, block: Block
    ) -> Float[np.ndarray, "draws experts responses rows"]:
        """Linear predictors of rows for each draw."""
        found = draws["coefficients"] @ block.designs[MEAN]
        found += effects_at(self.known, self.prior, draws, GroupRows.of(block))
        return np.asarray(found)

    def log_lik(self, draws: Draws, block: Block) -> Float[np.ndarray, "draws experts rows"]:
        """Log likelihood of each row under each drawn expert."""
        precision = draws["precision"]
        residual = self._location(draws, block) - block.response
        pull = (precision[..., None] * residual * residual).sum(axis=2)
        constant = (np.log(precision) - LOG_2PI).sum(axis=2)[..., None]
        return np.asarray(0.5 * (constant - pull))

    def responses(
        self,
        draws: Draws,
        chosen: Int[np.ndarray, "draws rows"],
        block: Block,
        rng: np.random.Generator,
    ) -> Float[np.ndarray, "draws responses rows"]:
        """One response per draw and row, from the chosen expert."""
        return responses_around(self._location(draws, block), draws["precision"], chosen, rng)

    def drawn(
        self,
        draws: Draws,
        weights: Float[np.ndarray, "draws experts _"],
        block: Block,
        response: int,
        scaling: Scaling,
    ) -> NormalMixture:
        """Mixture of Gaussians given each draw."""
        location = self._location(draws, block)[:, :, response]
        scale = 1.0 / np.sqrt(draws["precision"][:, :, response, None])
        if block.offset is not None:
            location += block.offset / float(scaling.scale[response])
        return NormalMixture(*in_units(scaling, response, weights, location, scale))

    def drawn_squares(self, draws: Draws) -> Float[np.ndarray, "draws terms"]:
        """Not to be had: effects of the groups are not among the draws.

        Raises
        ------
        DataError
        """
        raise DataError(
            f"draws do not hold the effects of {self.prior.n_groups - 1} groups, so that their "
            "prior density is not to be had",
            hint="group by something coarser: effects of few groups are columns, and are drawn",
        )

    def permuted(self, order: list[int], stats: MixedStats) -> MixedStats:
        """Statistics after a new labelling."""
        return stats.permuted(order)

    def prior_rows(self, units: RegressionUnits) -> list[PriorRow]:
        """Coefficients as Student t, their noise integrated out, effects, and the noise."""
        law = self.prior.border
        shape, rate = float(law.shape), float(law.rate[0])
        words = f"Student t({2.0 * shape:g})"
        sd = np.sqrt(rate / shape / np.diagonal(law.precision))
        coefficients = coefficient_rows(units, words, sd)
        effects = np.sqrt(rate / shape / self.prior.effect_precision)
        return [*coefficients, *units.effect_rows(words, effects), *noise_rows(units, shape, rate)]


def outer(
    first: Float[np.ndarray, "_ rows"], second: Float[np.ndarray, "_ rows"]
) -> Float[np.ndarray, "products rows"]:
    """All products of one of each.

    Examples
    --------
    >>> outer(np.array([[2.0]]), np.array([[3.0], [4.0]]))
    array([[6.],
           [8.]])
    """
    return np.asarray((first[:, None] * second).reshape(-1, first.shape[1]))


def location_at(
    posterior: BorderedNormalGamma, block: Block, groups: GroupRows
) -> Float[np.ndarray, "experts responses rows"]:
    """Expected linear predictors of rows."""
    found: Float[np.ndarray, "experts responses rows"]
    found = posterior.border.mean @ block.designs[MEAN]
    found += groups.linear(posterior.effects)
    return found


def spread_at(
    posterior: BorderedNormalGamma, block: Block, groups: GroupRows
) -> Float[np.ndarray, "experts rows"]:
    """Variances of linear predictors of rows, in units of the noise's.

    ``z' W_g z + (x - F_g' z)' S (x - F_g' z)``, ``S`` the covariance of the coefficients of all.
    """
    own = block.designs[MEAN] - groups.linear(np.swapaxes(posterior.regression, -3, -2))
    found: Float[np.ndarray, "experts rows"]
    found = ((posterior.border.covariance @ own) * own).sum(axis=-2)
    for j, value in enumerate(groups.values):
        found += groups.linear(posterior.within[:, j]) * value
    return found
