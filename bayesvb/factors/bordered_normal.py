"""Normal factor of coefficients of all rows, and of effects of very many groups.

The precision is block-diagonal in the groups, with the coefficients of all rows as a border. It is
kept as the law of the latter and the laws of each group's effects given these.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.factors.normal import Normal
from bayesvb.linear.precisions import DensePrecision
from bayesvb.numerics.linalg import times, trace_of_product
from bayesvb.numerics.small_blocks import inverse_of_blocks


@dataclass(frozen=True)
class BorderedNormal:
    r"""``b ~ N(m, S)`` and ``u_g | b ~ N(M_g - F_g (b - m), W_g)``, independent given ``b``.

    Attributes
    ----------
    border : Normal
        Law of the coefficients that all rows share, effects integrated out.
    effects : ndarray, shape (..., effects, groups)
        Means of the effects.
    regression : ndarray, shape (..., effects, terms, groups)
        ``F_g``: how effects follow the other coefficients, with the sign turned.
    within : ndarray, shape (..., effects, effects, groups)
        ``W_g``: covariance of the effects of a group given the other coefficients.
    log_det : ndarray, shape (...)
        Sum of the log-determinants of the inverses of ``W_g``.

    References
    ----------
    Golub, Van Loan (2013), Matrix Computations, section 3.2.11, for elimination of the blocks.
    """

    border: Normal
    effects: Float[np.ndarray, "*batch effects groups"]
    regression: Float[np.ndarray, "*batch effects terms groups"]
    within: Float[np.ndarray, "*batch effects effects groups"]
    log_det: Float[np.ndarray, "*batch"]

    @classmethod
    def prior(
        cls, border: Normal, precision: Float[np.ndarray, " effects"], n_groups: int
    ) -> BorderedNormal:
        """Prior of effects with mean zero that are independent of each other and of the rest."""
        batch, n_effects = border.mean.shape[:-1], len(precision)
        within = np.diag(1.0 / precision)[..., None]
        return cls(
            border,
            np.broadcast_to(0.0, (*batch, n_effects, n_groups)),
            np.broadcast_to(0.0, (*batch, n_effects, border.mean.shape[-1], n_groups)),
            np.broadcast_to(within, (*batch, n_effects, n_effects, n_groups)),
            np.full(batch, n_groups * np.log(precision).sum()),
        )

    @property
    def mean(self) -> Float[np.ndarray, "*batch terms"]:
        """Means of the coefficients that all rows share."""
        return self.border.mean

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.effects.shape[-1])

    @property
    def effect_precision(self) -> Float[np.ndarray, "*batch effects"]:
        """Of a prior, the precisions of the effects."""
        return np.asarray(1.0 / np.diagonal(self.within[..., 0], axis1=-2, axis2=-1))

    @property
    def precisions(self) -> Float[np.ndarray, " coefficients"]:
        """Of a prior that all vectors share, those of the terms, then of the effects."""
        effects = self.effect_precision.reshape(-1, self.effects.shape[-2])[0]
        return np.concatenate([self.border.precisions, effects])

    def posterior(
        self,
        border: tuple[Float[np.ndarray, "*batch terms terms"], Float[np.ndarray, "*batch terms"]],
        groups: tuple[
            Float[np.ndarray, "*batch effects effects groups"],
            Float[np.ndarray, "*batch effects terms groups"],
            Float[np.ndarray, "*batch effects groups"],
        ],
    ) -> BorderedNormal:
        """Posterior given what rows add to the precision and to precision times mean.

        Parameters
        ----------
        border : tuple of ndarray
            Sums of ``w x x'`` and of ``l x``.
        groups : tuple of ndarray
            Sums over the rows of each group of ``w z z'``, ``w z x'`` and ``l z``.

        Raises
        ------
        numpy.linalg.LinAlgError
            A precision is not positive definite.
        """
        (xx, linear), (zz, zx, own) = border, groups
        first, n_effects = self.border, zz.shape[-2]
        diagonal = np.eye(n_effects) * self.effect_precision[..., None, :]
        within, log_det = inverse_of_blocks(zz + diagonal[..., None])
        regression = np.einsum("...abg,...bpg->...apg", within, zx)
        precision = first.precision + xx - np.einsum("...apg,...aqg->...pq", zx, regression)
        operator = DensePrecision(precision)
        left = times(first.precision, first.mean) + linear
        left = left - np.einsum("...apg,...ag->...p", regression, own)
        mean = operator.solve(left[..., None, :])[..., 0, :]
        effects = np.einsum("...abg,...bg->...ag", within, own)
        effects -= np.einsum("...apg,...p->...ag", regression, mean)
        law = Normal(mean, operator)
        return BorderedNormal(law, effects, regression, within, log_det)

    def with_mean(self, mean: Float[np.ndarray, "*batch terms"]) -> BorderedNormal:
        """The prior with other means of the coefficients that all rows share."""
        return replace(self, border=self.border.with_mean(mean))

    def start(self, more: float) -> BorderedNormal:
        """Of a prior, where ascents set out: with so much more precision than this."""
        precision = self.precisions[self.border.mean.shape[-1] :] + more
        return BorderedNormal.prior(self.border.start(more), precision, self.n_groups)

    def draws(self, n: int, rng: np.random.Generator) -> Float[np.ndarray, "draws *batch terms"]:
        """Independent draws of the coefficients that all rows share, effects integrated out."""
        return self.border.draws(n, rng)

    def log_density(
        self, value: Float[np.ndarray, "draws *batch terms"]
    ) -> Float[np.ndarray, " draws *batch"]:
        """Log density of these coefficients, effects integrated out."""
        return self.border.log_density(value)

    def with_precision(self, precision: Float[np.ndarray, " coefficients"]) -> BorderedNormal:
        """The prior with these precisions: of the terms, then of the effects."""
        n_terms = self.border.mean.shape[-1]
        border = self.border.with_precision(precision[:n_terms])
        return BorderedNormal.prior(border, precision[n_terms:], self.n_groups)

    def spread_of(
        self, weights: Float[np.ndarray, " effects"]
    ) -> Float[np.ndarray, "*batch groups"]:
        """Return the variances of a combination of the effects of each group."""
        own = np.einsum("a,...abg,b->...g", weights, self.within, weights)
        regression = np.einsum("a,...aqg->...qg", weights, self.regression)
        through = np.einsum("...pq,...qg->...pg", self.border.covariance, regression)
        return np.asarray(own + (through * regression).sum(axis=-2))

    def effect_spread(self) -> Float[np.ndarray, "*batch effects groups"]:
        """Variances of the effects."""
        through = np.einsum("...pq,...aqg->...apg", self.border.covariance, self.regression)
        own = np.moveaxis(np.diagonal(self.within, axis1=-3, axis2=-2), -1, -2)
        return np.asarray(own + (through * self.regression).sum(axis=-2))

    def squares(self) -> Float[np.ndarray, "*batch coefficients"]:
        """``E[c^2]`` of each term, and of each effect summed over the groups."""
        own = (self.effects**2 + self.effect_spread()).sum(axis=-1)
        return np.concatenate([self.border.squares(), own], axis=-1)

    def kl(self, prior: BorderedNormal) -> float:
        """Sum over the batch of ``KL(self || prior)``, effects of the prior with mean zero."""
        scale = prior.effect_precision[..., None]
        spread = trace_of_product(prior.border.precision, self.border.covariance)
        shift = self.border.mean - prior.border.mean
        pull = np.vecdot(times(prior.border.precision, shift), shift) - shift.shape[-1]
        own = scale * (self.effects**2 + self.effect_spread()) - 1.0
        change = self.border.log_det + self.log_det - prior.border.log_det - prior.log_det
        return float(0.5 * np.sum(spread + pull + own.sum(axis=(-2, -1)) + change))
