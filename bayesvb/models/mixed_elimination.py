"""Elimination of group effects, given the other parameters and the rows of each group.

A posterior of coefficients ``b``, noise ``tau``, and effects ``u_g`` is a distribution of ``(b,
tau)`` and conditional distributions of each ``u_g``. Given ``(b, tau)``, the expected statistics of
a group are linear in the statistics of a row that has ``x - F_g' z`` instead of ``x``. The
remaining variation is independent between groups.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import cast

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN
from bayesvb.experts.linear_coordinates import LinearCoordinates
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import GroupRows
from bayesvb.numerics.arrays import ExpertValues, ResponseRows, TermRows
from bayesvb.numerics.linalg import lower_pairs, products, unpack
from bayesvb.numerics.product_covariance import product_covariance
from bayesvb.variational.row_derivatives import consecutive

JITTER = 1e-12
"""Share of the variances added to them, where statistics of a group nearly depend on each other."""


@dataclass(frozen=True)
class MixedElimination:
    """Sufficient statistics of a mixed model as shared ones, and the remainder of each group.

    Attributes
    ----------
    posterior : MatrixNormalGamma
        One law for each expert, its precision with the shape of an arrow.
    """

    posterior: MatrixNormalGamma

    @property
    def operator(self) -> ArrowPrecision:
        """Precision of coefficients and effects."""
        return cast(ArrowPrecision, self.posterior.operator)

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """Numbers of experts, responses, terms and effects."""
        n_experts, n_responses, n_terms = self.posterior.shared.mean.shape
        return n_experts, n_responses, n_terms, self.operator.n_effects

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return self.operator.n_groups

    @property
    def places(self) -> Int[np.ndarray, "experts own"]:
        """Places of a group's statistics of each expert: ``z z'``, ``z x'`` and ``y_i z``."""
        n_experts, n_responses, n_terms, n_effects = self.shape
        widths = [n_effects * (n_effects + 1) // 2, n_effects * n_terms, n_responses * n_effects]
        return np.concatenate(consecutive(n_experts, widths), axis=1)

    @property
    def n_statistics(self) -> int:
        """Number of statistics of each group."""
        return self.places.size

    @property
    def border(self) -> LinearCoordinates:
        """Coordinates of coefficients and noise."""
        return LinearCoordinates(self.posterior.shared)

    def border_covariance(self) -> Float[np.ndarray, "experts entries entries"]:
        """Covariance of ``log tau / 2, -tau b b' / 2, tau b, -tau / 2``, for each expert."""
        _, n_responses, n_terms, _ = self.shape
        size = 1 + n_terms * (n_terms + 1) // 2 + n_responses * (n_terms + 1)
        return self.posterior.shared.statistics_covariance(np.arange(size))

    def _of_response(self, i: int, n_pairs: int) -> Int[np.ndarray, " places"]:
        """Places of ``b b'``, of the response's ``b``, and of its ``tau``."""
        _, n_responses, n_terms, _ = self.shape
        at = 1 + n_pairs + i * n_terms + np.arange(n_terms)
        last = 1 + n_pairs + n_responses * n_terms + i
        return np.concatenate([1 + np.arange(n_pairs), at, [last]])

    def features(
        self, block: Block
    ) -> tuple[Float[np.ndarray, "experts entries rows"], Float[np.ndarray, "own rows"]]:
        """Contributions of rows to shared statistics, effects following, and to their group's.

        The latter are ``z z'``, ``z x'`` and ``y_i z``, the same of all experts.
        """
        groups = GroupRows.from_matrix(block.designs[GROUP_ROWS])
        features, terms = self.features_of(groups, block.designs[MEAN], block.response)
        features[:, 0] = 1.0
        return features, terms

    def features_of(
        self, groups: GroupRows, design: TermRows, response: ResponseRows
    ) -> tuple[Float[np.ndarray, "experts entries rows"], Float[np.ndarray, "own rows"]]:
        """Features of these rows without the count of rows."""
        values, n_rows = groups.values, design.shape[1]
        left = design - groups.linear(np.swapaxes(self.operator.regression, -3, -2))
        features = self._features(left, response - groups.linear(self._at_zero))
        across = (values[:, None] * design).reshape(-1, n_rows)
        cross = (response[:, None] * values).reshape(-1, n_rows)
        return features, np.concatenate([products(values), across, cross])

    def taken_over(
        self, change: Float[np.ndarray, "experts own groups"], groups: slice
    ) -> Float[np.ndarray, "experts entries"]:
        """Changes of these groups' statistics in terms of coefficients and noise.

        The sums of ``x - F_g' z`` and of the residual response, less the sums of all rows.
        """
        n_experts, n_responses, n_terms, n_effects = self.shape
        n_pairs, n_groups = n_effects * (n_effects + 1) // 2, change.shape[-1]
        zz = np.moveaxis(unpack(np.moveaxis(change[:, :n_pairs], 1, -1)), 1, -1)
        zx, zy = np.split(change[:, n_pairs:], [n_effects * n_terms], axis=1)
        zx = zx.reshape(n_experts, n_effects, n_terms, n_groups)
        zy = zy.reshape(n_experts, n_responses, n_effects, n_groups)
        through, zero = self.operator.regression[..., groups], self._at_zero[..., groups]
        half = 0.5 * np.einsum("kacg,kcpg->kapg", zz, through) - zx
        xx = np.einsum("kapg,karg->kpr", through, half)
        xx = xx + np.swapaxes(xx, 1, 2)
        xy = np.einsum("kiag,kapg->kip", zero, 2.0 * half + zx)
        xy = xy - np.einsum("kapg,kiag->kip", through, zy)
        yy = np.einsum("kiag,kacg,kicg->ki", zero, zz, zero)
        yy = yy - 2.0 * np.einsum("kiag,kiag->ki", zero, zy)
        first, second = lower_pairs(n_terms)
        parts = (np.zeros((n_experts, 1)), xx[:, first, second], xy.reshape(n_experts, -1), yy)
        return np.concatenate(parts, axis=1)

    def statistics(
        self,
        shared: Float[np.ndarray, "experts entries"],
        change: Float[np.ndarray, "experts own groups"],
    ) -> tuple[ExpertValues, ...]:
        """Return statistics of rows and groups: ``1``, ``x x'``, ``y_i x`` and ``y_i^2``."""
        n_experts, n_responses, n_terms, n_effects = self.shape
        ends = np.cumsum([1, n_terms * (n_terms + 1) // 2, n_responses * n_terms])
        weight, xx, xy, yy = np.split(shared, ends, axis=1)
        n_pairs = n_effects * (n_effects + 1) // 2 + n_effects * n_terms
        products, linear = np.split(change, [n_pairs], axis=1)
        own = linear.reshape(n_experts, n_responses, -1)
        whole = np.concatenate([xy.reshape(n_experts, n_responses, n_terms), own], axis=2)
        return weight, np.concatenate([xx, products.reshape(n_experts, -1)], axis=1), whole, yy

    def effect_features(self, effect: int) -> Float[np.ndarray, "experts entries groups"]:
        """``-E[tau u^2 | b, tau] / 2`` of an effect of each group, but for a constant."""
        return self._features(self.operator.regression[:, effect], self._at_zero[:, :, effect])

    @property
    def _at_zero(self) -> Float[np.ndarray, "experts responses effects groups"]:
        """Expected effects where all coefficients are zero."""
        law, regression = self.posterior, self.operator.regression
        shift = np.einsum("kapg,kip->kiag", regression, law.shared.mean)
        return np.asarray(self.effects + shift)

    @property
    def effects(self) -> Float[np.ndarray, "experts responses effects groups"]:
        """Means of the effects."""
        return np.asarray(self.operator.split(self.posterior.mean)[1])

    def _features(
        self,
        design: Float[np.ndarray, "experts terms cases"],
        response: Float[np.ndarray, "experts responses cases"],
    ) -> Float[np.ndarray, "experts entries cases"]:
        """Zero, ``x x'``, ``y_i x`` and ``y_i^2``, of each expert its own."""
        features = []
        for x, y in zip(design, response, strict=True):
            cross = (y[:, None] * x).reshape(-1, x.shape[1])
            features.append(np.concatenate([np.zeros((1, x.shape[1])), products(x), cross, y * y]))
        return np.stack(features)

    def squares_of(self, effect: int) -> int:
        """Index of the square of an effect among the statistics of a group."""
        return effect * (effect + 3) // 2

    def place_of_effect(self, response: int, effect: int) -> int:
        """Index of ``tau u`` of an effect among the statistics of a group."""
        _, _, n_terms, n_effects = self.shape
        first = n_effects * (n_effects + 1) // 2 + n_effects * n_terms
        return first + response * n_effects + effect

    def effect_leans(
        self, expert: int, response: int, effect: int
    ) -> Float[np.ndarray, "groups entries"]:
        """``E[tau (u - E u) | b, tau]`` of an effect in the statistics that all rows share."""
        _, n_responses, n_terms, _ = self.shape
        law, n_pairs = self.posterior, n_terms * (n_terms + 1) // 2
        slopes = np.zeros((self.n_groups, 1 + n_pairs + n_responses * (n_terms + 1)))
        at = self._of_response(response, n_pairs)[n_pairs:]
        follows = -self.operator.regression[expert, effect]
        slopes[:, at[:-1]] = follows.T
        slopes[:, at[-1]] = 2.0 * (law.shared.mean[expert, response] @ follows)
        return slopes

    @property
    def noise_precision(self) -> Float[np.ndarray, "experts responses"]:
        """Expected precisions of the noise."""
        return self.posterior.shared.expected_precision

    def group_roots(self, groups: slice) -> Float[np.ndarray, "experts groups entries entries"]:
        """Cholesky factors of the covariance of these groups' statistics given ``(b, tau)``."""
        covariance = self._group_covariance(groups)
        sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        unit = covariance / (sd[..., :, None] * sd[..., None, :])
        unit += JITTER * np.eye(unit.shape[-1])
        return np.asarray(sd[..., :, None] * np.linalg.cholesky(unit))

    def _group_covariance(
        self, groups: slice
    ) -> Float[np.ndarray, "experts groups entries entries"]:
        """Covariance of the statistics of a group given ``(b, tau)``, averaged over these."""
        n_experts, n_responses, n_terms, n_effects = self.shape
        law, border = self.operator, self.posterior.shared
        within = np.moveaxis(law.within[..., groups], -1, 1)
        follows = -np.moveaxis(law.regression[..., groups], -1, 1)
        n_own, size = within.shape[1], n_effects + n_terms + 1
        spread = np.zeros((n_experts, n_own, size, size))
        spread[..., :n_effects, :n_effects] = within
        root = np.zeros((n_experts, n_own, size, n_terms))
        root[..., :n_effects, :], root[..., n_effects:-1, :] = follows, np.eye(n_terms)
        shared = root @ border.covariance[:, None] @ np.swapaxes(root, -1, -2)
        first, second = lower_pairs(n_effects)
        effect, term = (one.ravel() for one in np.indices((n_effects, n_terms)))
        every = np.arange(n_effects)
        n_common = len(first) + len(term)
        pairs = (
            np.concatenate([first, effect, every]),
            np.concatenate([second, n_effects + term, np.full(n_effects, size - 1)]),
        )
        sign = np.concatenate(
            [-0.5 * (2.0 - (first == second)), -np.ones(len(term)), np.ones(n_effects)]
        )
        covariance = np.zeros((n_experts, n_own) + 2 * (n_common + n_responses * n_effects,))
        mean = np.ones((n_experts, n_own, size))
        for i in range(n_responses):
            mean[..., :n_effects] = np.moveaxis(self.effects[:, i][..., groups], -1, 1)
            mean[..., n_effects:-1] = border.mean[:, None, i]
            tau = border.expected_precision[:, i, None, None, None]
            scaled = tau * mean[..., :, None] * mean[..., None, :] + shared
            block_covariance = sign[:, None] * product_covariance(scaled, spread, pairs) * sign
            at = np.concatenate([np.arange(n_common), n_common + i * n_effects + every])
            covariance[..., at[:, None], at] += block_covariance
        return covariance
