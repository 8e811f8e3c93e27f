"""Normal-gamma factor of a mixed model: coefficients of all rows, and effects of very many groups.

With ``b`` the coefficients that all rows share and ``u_g`` the effects of group ``g``, the scaled
precision of all of them is block-diagonal in the groups, with ``b`` as a border. It is kept as the
law of ``b`` and the laws of each ``u_g`` given ``b``: numbers grow with the groups, not with their
square.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.factors.gamma import gamma_kl
from bayesvb.factors.matrix_normal_gamma import MatrixNormalGamma
from bayesvb.linear.precisions import DensePrecision
from bayesvb.numerics.linalg import trace_of_product
from bayesvb.numerics.small_blocks import inverse_of_blocks


@dataclass(frozen=True)
class BorderedNormalGamma:
    r"""``B_i | tau_i`` normal, ``U_gi | B_i, tau_i ~ N(M_g - F_g (B_i - M), W_g / tau_i)``.

    Attributes
    ----------
    border : MatrixNormalGamma
        Law of the coefficients that all rows share, and of the noise; effects integrated out.
    effects : ndarray, shape (..., responses, effects, groups)
        Means of the effects.
    regression : ndarray, shape (..., effects, terms, groups)
        ``F_g``: how effects follow the other coefficients, with the sign turned.
    within : ndarray, shape (..., effects, effects, groups)
        ``W_g``: scaled covariance of the effects of a group given the other coefficients.
    log_det : ndarray, shape (...)
        Sum of the log-determinants of the inverses of ``W_g``.

    References
    ----------
    Henderson (1975), Best linear unbiased estimation and prediction under a selection model,
    Biometrics 31(2), for the equations of mixed models. Golub, Van Loan (2013), Matrix
    Computations, section 3.2.11, for elimination of the blocks.
    """

    border: MatrixNormalGamma
    effects: Float[np.ndarray, "*batch responses effects groups"]
    regression: Float[np.ndarray, "*batch effects terms groups"]
    within: Float[np.ndarray, "*batch effects effects groups"]
    log_det: Float[np.ndarray, "*batch"]

    @classmethod
    def prior(
        cls,
        border: MatrixNormalGamma,
        precision: Float[np.ndarray, " effects"],
        n_groups: int,
    ) -> BorderedNormalGamma:
        """Prior shared by all experts, with mean zero: effects are independent of each other."""
        n_responses, n_terms = border.mean.shape
        n_effects = len(precision)
        within = np.diag(1.0 / precision)[..., None]
        return cls(
            border,
            np.broadcast_to(0.0, (n_responses, n_effects, n_groups)),
            np.broadcast_to(0.0, (n_effects, n_terms, n_groups)),
            np.broadcast_to(within, (n_effects, n_effects, n_groups)),
            np.asarray(n_groups * np.log(precision).sum()),
        )

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.effects.shape[-1])

    @property
    def effect_precision(self) -> Float[np.ndarray, " effects"]:
        """Of a prior, the scaled precisions of the effects."""
        return np.asarray(1.0 / np.diagonal(self.within[..., 0]))

    def posterior(
        self,
        weight: Float[np.ndarray, "*batch"],
        border: tuple[
            Float[np.ndarray, "*batch terms terms"],
            Float[np.ndarray, "*batch responses terms"],
            Float[np.ndarray, "*batch responses"],
        ],
        groups: tuple[
            Float[np.ndarray, "*batch effects effects groups"],
            Float[np.ndarray, "*batch effects terms groups"],
            Float[np.ndarray, "*batch responses effects groups"],
        ],
    ) -> BorderedNormalGamma:
        """Posterior given weighted sums of rows, of this prior, whose means are zero.

        Parameters
        ----------
        weight : ndarray
            Sum of the weights.
        border : tuple of ndarray
            Sums of ``x x'``, ``y_i x`` and ``y_i^2``.
        groups : tuple of ndarray
            Sums over the rows of each group of ``z z'``, ``z x'`` and ``y_i z``.

        Raises
        ------
        numpy.linalg.LinAlgError
            The statistics are of no data: a precision not positive definite, a rate not positive.
        """
        xx, xy, yy = border
        zz, zx, zy = groups
        scale = self.effect_precision
        precise = zz + np.diag(scale)[..., None]
        within, log_det = inverse_of_blocks(precise)
        regression = np.einsum("...abg,...bpg->...apg", within, zx)
        precision = self.border.precision + xx - np.einsum("...apg,...aqg->...pq", zx, regression)
        operator = DensePrecision(precision)
        mean = operator.solve(xy - np.einsum("...apg,...rag->...rp", regression, zy))
        effects = np.einsum("...abg,...rbg->...rag", within, zy)
        effects -= np.einsum("...apg,...rp->...rag", regression, mean)
        across = np.einsum("...apg,...rag->...rp", zx, effects)
        residual = yy - 2.0 * (np.vecdot(mean, xy) + (effects * zy).sum(axis=(-2, -1)))
        residual += np.vecdot(mean @ xx + 2.0 * across, mean)
        residual += np.einsum("...rag,...abg,...rbg->...r", effects, precise, effects)
        pull = np.vecdot(mean @ self.border.precision, mean)
        shape = self.border.shape + 0.5 * weight
        rate = self.border.rate + 0.5 * (residual + pull)
        if not ((shape > 0.0).all() and (rate > 0.0).all()):
            raise np.linalg.LinAlgError("shape and rate of a gamma distribution must be positive")
        law = MatrixNormalGamma(mean, operator, shape, rate)
        return BorderedNormalGamma(law, effects, regression, within, log_det)

    def with_coefficient_precision(
        self, precision: Float[np.ndarray, " coefficients"]
    ) -> BorderedNormalGamma:
        """The prior with these scaled precisions: of the terms, then of the effects."""
        n_terms = self.border.mean.shape[-1]
        border = self.border.with_coefficient_precision(precision[:n_terms])
        return BorderedNormalGamma.prior(border, precision[n_terms:], self.n_groups)

    def spread_of(
        self, weights: Float[np.ndarray, " effects"]
    ) -> Float[np.ndarray, "*batch groups"]:
        """Return variances of a combination of each group's effects, in units of the noise's."""
        own = np.einsum("a,...abg,b->...g", weights, self.within, weights)
        regression = np.einsum("a,...aqg->...qg", weights, self.regression)
        through = np.einsum("...pq,...qg->...pg", self.border.covariance, regression)
        return np.asarray(own + (through * regression).sum(axis=-2))

    def effect_spread(self) -> Float[np.ndarray, "*batch effects groups"]:
        """Variances of the effects, in units of the noise's."""
        through = np.einsum("...pq,...aqg->...apg", self.border.covariance, self.regression)
        own = np.moveaxis(np.diagonal(self.within, axis1=-3, axis2=-2), -1, -2)
        return np.asarray(own + (through * self.regression).sum(axis=-2))

    def scaled_squares(self) -> Float[np.ndarray, "*batch coefficients"]:
        """``sum_i E[tau_i c^2]`` of each term, and of each effect summed over the groups."""
        tau = self.border.expected_precision
        own = np.einsum("...r,...rag->...a", tau, self.effects**2)
        own = own + self.effects.shape[-3] * self.effect_spread().sum(axis=-1)
        return np.concatenate([self.border.scaled_squares(), own], axis=-1)

    def kl(self, prior: BorderedNormalGamma) -> float:
        """Sum over the batch of ``KL(self || prior)``; the prior has mean zero."""
        own, first, scale = self.border, prior.border, prior.effect_precision
        n_responses, n_terms = own.mean.shape[-2:]
        spread = trace_of_product(first.precision, own.covariance) - n_terms
        spread = spread + (scale[:, None] * self.effect_spread() - 1.0).sum(axis=(-2, -1))
        change = own.log_det + self.log_det - first.log_det - prior.log_det
        pull = np.vecdot(own.mean @ first.precision, own.mean)
        pull = pull + np.einsum("a,...rag->...r", scale, self.effects**2)
        gamma = gamma_kl(own.shape[..., None], own.rate, first.shape[..., None], first.rate)
        each = 0.5 * own.expected_precision * pull + gamma
        return float(0.5 * n_responses * np.sum(spread + change) + np.sum(each))
