r"""Linear regressions with given prior precisions, many at once, effects of groups eliminated.

With prior precisions of the coefficients in units of noise, the posterior is normal-gamma, and its
precision has the shape of an arrow: a row belongs to one group, so that the effects of different
groups have no products.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import product

import numpy as np
from jaxtyping import Float, Int

from bayesvb.linear.arrow_precisions import ArrowPrecision
from bayesvb.linear.designs import AbstractDesign, DenseDesign, DrawnEffects
from bayesvb.linear.precisions import Vectors
from bayesvb.numerics.arrays import DrawVector, TermVector
from bayesvb.numerics.numbered_normals import numbered_normals
from bayesvb.numerics.pieces import IN_CACHE, pieces
from bayesvb.numerics.small_blocks import inverse_of_blocks, roots_of_blocks


@dataclass(frozen=True)
class CorrelatedEffects:
    """Effects of groups that are correlated within each group, for many priors.

    Attributes
    ----------
    terms : ndarray, shape (effects, groups)
        Positions of the columns; of effects without columns one term for all groups.
    precision : ndarray, shape (many, effects, effects)
        Prior precision of the effects of one group, in units of the noise.
    """

    terms: Int[np.ndarray, "effects groups"]
    precision: Float[np.ndarray, "many effects effects"]

    @property
    def beside_diagonal(self) -> Float[np.ndarray, "many effects effects"]:
        """Prior precisions of pairs of effects."""
        return np.asarray(self.precision * (1.0 - np.eye(len(self.terms))))

    @property
    def log_det_change(self) -> Float[np.ndarray, " many"]:
        """Log-determinant of the precision of one group less the one of its diagonal."""
        diagonal = np.diagonal(self.precision, axis1=-2, axis2=-1)
        change = np.linalg.slogdet(self.precision)[1] - np.log(diagonal).sum(axis=-1)
        return np.asarray(change)


@dataclass(frozen=True)
class RegressionSums:
    """Sums over the rows of one regression.

    Attributes
    ----------
    gram : ArrowPrecision
        Sums of ``x x'``, which may be singular. Groups are optional.
    xy : ndarray, shape (coefficients,)
        Sums of ``y x`` in the order of the gram matrix: shared coefficients, then effects.
    weight, yy : float
        Number of rows, and sum of the squares of the response.
    columns : ndarray, shape (coefficients,), or None
        Column of each coefficient in a design without structure; None if the design has groups.
    """

    gram: ArrowPrecision
    xy: Float[np.ndarray, " coefficients"]
    weight: float
    yy: float
    columns: Int[np.ndarray, " coefficients"] | None = None

    @classmethod
    def from_columns(
        cls,
        xx: Float[np.ndarray, "terms terms"],
        xy: TermVector,
        weight: float,
        yy: float,
        blocks: Sequence[Int[np.ndarray, " _"]],
    ) -> RegressionSums:
        """Return sums of all columns: the largest block without products, and similar ones, last.

        Parameters
        ----------
        blocks : sequence of ndarray
            Columns with one prior precision each.
        """
        own = _without_products(xx, blocks)
        border = np.setdiff1d(np.arange(len(xy)), own)
        columns = np.concatenate([border, own.ravel()])
        gram = ArrowPrecision(
            xx[np.ix_(border, border)],
            np.moveaxis(xx[own][..., border], 1, -1),
            xx[own[:, None], own[None]],
            is_complete=True,
        )
        return cls(gram, xy[columns], float(weight), float(yy), columns)

    @cached_property
    def _terms(self) -> Int[np.ndarray, " terms"]:
        """Place of the prior precision of each shared coefficient, then of each effect."""
        first, n_effects, n_groups = self.gram.n_shared, self.gram.n_effects, self.gram.n_groups
        if self.columns is None:
            return np.arange(first + n_effects)
        starts = first + n_groups * np.arange(n_effects)
        return np.asarray(self.columns[np.concatenate([np.arange(first), starts])])

    def regressions(
        self,
        precision: Float[np.ndarray, "many terms"],
        correlated: Sequence[CorrelatedEffects] = (),
    ) -> ArrowRegressions:
        """Return posteriors whose coefficients have these prior precisions, and prior mean zero.

        Parameters
        ----------
        precision : ndarray, shape (many, terms)
            Diagonal: of each column, equal within a block; or of shared coefficients, then of
            effects.
        correlated : sequence of CorrelatedEffects
            Effects with prior precisions off the diagonal.
        """
        entries, first = precision[:, self._terms], self.gram.n_shared
        border, cross, blocks = self.gram.plus_terms(entries).parts
        shared, effects = np.split(np.log(entries), [first], axis=1)
        log_prior = shared.sum(axis=1) + self.gram.n_groups * effects.sum(axis=1)
        own = {int(term): effect for effect, term in enumerate(self._terms[first:])}
        for one in correlated:
            at = [own.get(int(term), -1) for term in one.terms[:, 0]]
            if min(at) >= 0:
                blocks[:, np.array(at)[:, None], at] += one.beside_diagonal[..., None]
                log_prior += self.gram.n_groups * one.log_det_change
                continue
            place = np.searchsorted(self._terms[:first], one.terms)
            for (i, left), (j, right) in product(enumerate(place), enumerate(place)):
                border[:, left, right] += one.beside_diagonal[:, i, j, None]
            log_prior += place.shape[1] * one.log_det_change
        operator = replace(self.gram, border=border, cross=cross, group_blocks=blocks)
        return ArrowRegressions(self, operator, log_prior)

    def design(self, design: AbstractDesign) -> AbstractDesign:
        """Return rows with the coefficients in the order of the gram matrix."""
        if self.columns is None:
            return design
        return DenseDesign(design.columns[self.columns])


def _without_products(
    xx: Float[np.ndarray, "terms terms"], blocks: Sequence[Int[np.ndarray, " _"]]
) -> Int[np.ndarray, "effects groups"]:
    """Return columns of the largest block without products, and of blocks with the same groups."""
    alone = [at for at in blocks if _diagonal(xx[np.ix_(at, at)])]
    if not alone:
        return np.empty((0, 0), dtype=int)
    own = [max(alone, key=len)]
    for at in alone:
        if at is not own[0] and len(at) == len(own[0]):
            if all(_diagonal(xx[np.ix_(at, before)]) for before in own):
                own.append(at)
    return np.stack(own)


def _diagonal(matrix: Float[np.ndarray, "terms terms"]) -> bool:
    """Whether all other products are zero."""
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diagonal(matrix)))


@dataclass(frozen=True)
class ArrowRegressions:
    """Posteriors of the coefficients for many prior precisions, in units of the noise.

    Attributes
    ----------
    sums : RegressionSums
    operator : ArrowPrecision
        Precisions of the coefficients.
    log_prior : ndarray, shape (many,)
        Log-determinants of the prior precisions.
    """

    sums: RegressionSums
    operator: ArrowPrecision
    log_prior: Float[np.ndarray, " many"]

    @cached_property
    def mean(self) -> Float[np.ndarray, "many coefficients"]:
        """Posterior means."""
        return np.asarray(self.operator.solve(self.sums.xy[None])[:, 0])

    @cached_property
    def residual(self) -> Float[np.ndarray, " many"]:
        """Sums of squares that the coefficients leave, with the pull of their prior."""
        operator, (shared, effects) = self.operator, self.sums.gram.split(self.sums.xy)
        at_zero = np.einsum("...abg,bg->...ag", operator.within, effects)
        left = shared - np.einsum("apg,...ag->...p", operator.cross, at_zero)
        solved = operator.marginal.solve(left[:, None])[:, 0]
        explained = np.einsum("...ag,ag->...", at_zero, effects) + np.vecdot(solved, left)
        # Rounding alone can make the residual of a perfect fit negative.
        return np.asarray(np.maximum(self.sums.yy - explained, 0.0))

    @cached_property
    def log_volume(self) -> Float[np.ndarray, " many"]:
        """Logarithms of the volume that the rows leave of the prior's, for noise of one."""
        return np.asarray(0.5 * (self.log_prior - self.operator.log_det))

    def draws(
        self, index: Int[np.ndarray, " draws"], sigma: DrawVector, rng: np.random.Generator
    ) -> tuple[Float[np.ndarray, "draws _"], DrawVector]:
        """Return drawn coefficients, and their log density given the noise.

        All coefficients in the order of the design, or those that all rows share.

        Parameters
        ----------
        index : ndarray, shape (draws,)
            Posterior that each draw is from.
        sigma : ndarray, shape (draws,)
            Its noise standard deviation.
        rng : numpy.random.Generator
        """
        operator, n_shared = self.operator, self.operator.n_shared
        size = operator.n_coefficients if operator.is_complete else n_shared
        noise = rng.standard_normal((len(index), size))
        root = np.linalg.inv(np.linalg.cholesky(operator.marginal.matrix))
        drawn = np.empty((len(index), size))
        for at in pieces(len(index), n_shared**2, IN_CACHE):
            shared = np.einsum("ds,dst->dt", noise[at, :n_shared], root[index[at]])
            drawn[at, :n_shared] = self.mean[index[at], :n_shared] + sigma[at, None] * shared
        log_det = operator.marginal.log_det
        if operator.is_complete:
            each = (sigma[:, None] * noise[:, n_shared:]).reshape(operator.split(drawn)[1].shape)
            drawn[:, n_shared:] = self._effects(index, drawn[:, :n_shared], each)
            log_det = operator.log_det
        unit = size * np.log(2.0 * np.pi * sigma**2)
        log_q = 0.5 * (log_det[index] - unit - (noise**2).sum(axis=1))
        if self.sums.columns is not None:
            drawn[:, self.sums.columns] = drawn.copy()
        return drawn, np.asarray(log_q)

    def _effects(
        self,
        index: Int[np.ndarray, " draws"],
        shared: Float[np.ndarray, "draws shared"],
        noise: Float[np.ndarray, "draws effects groups"],
    ) -> Float[np.ndarray, "draws _"]:
        """Effects of all groups given the shared coefficients, from noise of one draw each."""
        gram, within = self.sums.gram, self.operator.within
        left = gram.split(self.sums.xy)[1] - np.einsum("apg,dp->dag", gram.cross, shared)
        drawn = np.einsum("dabg,dbg->dag", within[index], left)
        drawn += np.einsum("dabg,dbg->dag", _upper_roots(within)[index], noise)
        return np.asarray(drawn.reshape(len(drawn), -1))

    def lines(
        self, design: AbstractDesign
    ) -> tuple[Float[np.ndarray, "many rows"], Float[np.ndarray, "many rows"]]:
        """Return the posterior mean of the line at each row, and its variance in units of noise."""
        rows = self.sums.design(design)
        return rows.predict(self.mean), rows.quadratic(self.operator)


def _upper_roots(
    within: Float[np.ndarray, "*batch effects effects groups"],
) -> Float[np.ndarray, "*batch effects effects groups"]:
    """Return upper triangular roots of covariances: the last effect is drawn first."""
    turned = roots_of_blocks(within[..., ::-1, ::-1, :])
    return np.asarray(turned[..., ::-1, ::-1, :])


def effect_precision(
    factors: Float[np.ndarray, "draws effects *more"],
) -> Float[np.ndarray, "draws effects effects"]:
    """Return precisions of effects with these standard deviations, or roots of covariances."""
    if factors.ndim == 2:
        return np.asarray(factors[:, :, None] ** -2.0 * np.eye(factors.shape[1]))
    inverse = np.linalg.inv(factors)
    return np.asarray(np.swapaxes(inverse, 1, 2) @ inverse)


@dataclass(frozen=True, eq=False)
class EffectsGivenScales(ArrowPrecision):
    """Sums of ``x x'`` of rows, to which each draw adds the prior precisions of its effects.

    Attributes
    ----------
    xy : ndarray, shape (coefficients,)
        Sums of ``y x``.
    """

    xy: Float[np.ndarray, " coefficients"] = field(kw_only=True)

    def draw_effects(
        self,
        mean: Vectors,
        shared: Float[np.ndarray, "draws *batch vectors shared"],
        keys: Float[np.ndarray, "draws *batch vectors keys"],
        scale: Float[np.ndarray, "draws *batch vectors"],
        factors: Float[np.ndarray, "draws effects *more"] | None = None,
    ) -> DrawnEffects:
        """Return drawn effects as a function of the numbers of groups.

        ``factors`` are the prior standard deviations of the effects in units of the noise, or
        roots of their covariance matrices.
        """
        assert factors is not None, "draws have prior scales of effects"
        prior = effect_precision(factors)

        def draw(
            there: Int[np.ndarray, " there"],
        ) -> Float[np.ndarray, "draws experts effects there"]:
            within, _ = inverse_of_blocks(self.group_blocks[..., there] + prior[..., None])
            at = shared[:, 0, 0]
            left = self.split(self.xy)[1][:, there]
            left = left - np.einsum("apg,dp->dag", self.cross[..., there], at)
            numbers = there[None] * self.n_effects + np.arange(self.n_effects)[:, None]
            noise = numbered_normals(keys[:, 0, 0], numbers.ravel()).reshape(left.shape)
            noise = scale[:, 0, 0, None, None] * noise
            drawn = np.einsum("dabg,dbg->dag", within, left)
            drawn += np.einsum("dabg,dbg->dag", roots_of_blocks(within), noise)
            return np.asarray(drawn[:, None])

        return draw
