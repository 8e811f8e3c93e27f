r"""Linear regressions with given prior precisions, many at once, effects of groups eliminated.

With prior precisions of the coefficients in units of noise, the posterior is normal-gamma. A row
belongs to one group, so the effects of different groups have no products: their part of the
precision falls into small blocks, and only its Schur complement is factorised.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

__all__ = ["ArrowRegressions", "CorrelatedEffects", "RegressionSums"]


@dataclass(frozen=True)
class CorrelatedEffects:
    """Effects of groups that are correlated within each group, for many priors.

    Attributes
    ----------
    columns : ndarray, shape (effects, groups)
        Positions of the columns.
    precision : ndarray, shape (many, effects, effects)
        Prior precision of the effects of one group, in units of the noise.
    """

    columns: Int[np.ndarray, "effects groups"]
    precision: Float[np.ndarray, "many effects effects"]

    @property
    def pairs(self) -> list[tuple[int, int]]:
        """Pairs ``(i, j)`` of effects, ``j < i``."""
        return [(i, j) for i in range(len(self.columns)) for j in range(i)]

    @property
    def log_det_change(self) -> Float[np.ndarray, " many"]:
        """Log-determinant of the prior precision less that of its diagonal."""
        diagonal = np.diagonal(self.precision, axis1=-2, axis2=-1)
        change = np.linalg.slogdet(self.precision)[1] - np.log(diagonal).sum(axis=-1)
        return np.asarray(self.columns.shape[1] * change)


@dataclass(frozen=True)
class RegressionSums:
    """Sums over the rows of one regression, the effects of one grouping apart.

    Attributes
    ----------
    border : ndarray, shape (border,)
        Positions of the columns of all rows.
    own : ndarray, shape (effects, groups)
        Positions of the columns of the groups; there may be none.
    xx : ndarray, shape (border, border)
    xy : ndarray, shape (border,)
    cross : ndarray, shape (effects, groups, border)
        Products of columns of the groups with those of all rows.
    products : ndarray, shape (effects, effects, groups)
        Products of the columns of a group.
    own_xy : ndarray, shape (effects, groups)
    weight, yy : float
        Number of rows, and sum of the squares of the response.
    """

    border: Int[np.ndarray, " border"]
    own: Int[np.ndarray, "effects groups"]
    xx: Float[np.ndarray, "border border"]
    xy: Float[np.ndarray, " border"]
    cross: Float[np.ndarray, "effects groups border"]
    products: Float[np.ndarray, "effects effects groups"]
    own_xy: Float[np.ndarray, "effects groups"]
    weight: float
    yy: float

    @classmethod
    def of(
        cls,
        xx: Float[np.ndarray, "terms terms"],
        xy: Float[np.ndarray, " terms"],
        weight: float,
        yy: float,
        blocks: Sequence[Int[np.ndarray, " _"]],
    ) -> RegressionSums:
        """Sums of all columns; the largest block without products is apart, with its like."""
        own = _apart(xx, blocks)
        border = np.setdiff1d(np.arange(len(xy)), own)
        return cls(
            border=border,
            own=own,
            xx=xx[np.ix_(border, border)],
            xy=xy[border],
            cross=xx[own][..., border],
            products=xx[own[:, None], own[None]],
            own_xy=xy[own],
            weight=float(weight),
            yy=float(yy),
        )

    @property
    def n_terms(self) -> int:
        """Number of all columns."""
        return len(self.border) + self.own.size

    def regressions(
        self,
        precision: Float[np.ndarray, "many terms"],
        correlated: Sequence[CorrelatedEffects] = (),
    ) -> ArrowRegressions:
        """Posteriors whose coefficients have these prior precisions, and prior mean zero.

        ``precision`` is the diagonal, ``correlated`` effects add what is beside it.
        """
        border, own = precision[:, self.border], precision[:, self.own]
        return ArrowRegressions(self, border, own, tuple(correlated))


def _apart(
    xx: Float[np.ndarray, "terms terms"], blocks: Sequence[Int[np.ndarray, " _"]]
) -> Int[np.ndarray, "effects groups"]:
    """Columns of the largest block without products, and of blocks with the same groups."""
    alone = [at for at in blocks if _diagonal(xx[np.ix_(at, at)])]
    if not alone:
        return np.empty((0, 0), dtype=int)
    first = max(alone, key=len)
    others = [at for at in alone if at is not first and len(at) == len(first)]
    own = [first]
    for at in others:
        if all(_diagonal(xx[np.ix_(at, known)]) for known in own):
            own.append(at)
    return np.stack(own)


def _diagonal(matrix: Float[np.ndarray, "terms terms"]) -> bool:
    """Whether all other products are zero."""
    return bool(np.count_nonzero(matrix) == np.count_nonzero(np.diagonal(matrix)))


@dataclass(frozen=True)
class _Effect:
    """One effect of all groups after the effects before it were eliminated.

    Attributes
    ----------
    variance : ndarray, shape (many, groups)
        Of the effect given the border and the effects behind it, in units of the noise's.
    cross, xy
        Products that are left, with the border and the response.
    follows : list of ndarray, shape (many, groups)
        Regression on the products of each effect before it.
    """

    variance: Float[np.ndarray, "many groups"]
    cross: Float[np.ndarray, "_ groups border"]
    xy: Float[np.ndarray, "_ groups"]
    follows: list[Float[np.ndarray, "many groups"]]


@dataclass(frozen=True)
class ArrowRegressions:
    """Posteriors of the coefficients for many prior precisions, in units of the noise.

    Attributes
    ----------
    sums : RegressionSums
    border : ndarray, shape (many, border)
    own : ndarray, shape (many, effects, groups)
        Prior precisions.
    correlated : tuple of CorrelatedEffects
        Effects with prior precisions beside the diagonal.
    """

    sums: RegressionSums
    border: Float[np.ndarray, "many border"]
    own: Float[np.ndarray, "many effects groups"]
    correlated: tuple[CorrelatedEffects, ...] = ()

    def _beside_diagonal(self, a: int, b: int) -> float | Float[np.ndarray, "many 1"]:
        """Prior precision of two effects that are eliminated."""
        for known in self.correlated:
            for i, j in known.pairs:
                if {known.columns[i, 0], known.columns[j, 0]} == {*self.sums.own[[a, b], 0]}:
                    return known.precision[:, i, j, None]
        return 0.0

    @cached_property
    def effects(self) -> list[_Effect]:
        """Effects of the groups, each with those before it eliminated."""
        sums = self.sums
        found: list[_Effect] = []
        for a in range(len(sums.own)):
            square = sums.products[a, a] + self.own[:, a]
            cross, xy = sums.cross[a][None], sums.own_xy[a][None]
            follows: list[Float[np.ndarray, "many groups"]] = []
            for b, before in enumerate(found):
                product = sums.products[a, b] + self._beside_diagonal(a, b)
                product = np.broadcast_to(product, square.shape)
                for c in range(b):
                    known = follows[c] / found[c].variance
                    product = product - known * before.follows[c]
                follow = product * before.variance
                square = square - follow * product
                cross = cross - follow[..., None] * before.cross
                xy = xy - follow * before.xy
                follows.append(follow)
            found.append(_Effect(1.0 / square, cross, xy, follows))
        return found

    @cached_property
    def _root(self) -> Float[np.ndarray, "many more more"]:
        """Cholesky factors of the precisions of the border; in the last row what solves for xy."""
        sums, n = self.sums, len(self.sums.border)
        whole = np.empty((len(self.border), n + 1, n + 1))
        whole[:, :n, :n], whole[:, n, :n] = sums.xx, sums.xy
        whole[:, n, n] = 2.0 * sums.yy + 1.0  # positive definite whatever is explained
        at = np.arange(n)
        whole[:, at, at] += self.border
        for known in self.correlated:
            if not np.isin(known.columns, sums.own).any():
                place = np.searchsorted(sums.border, known.columns)
                for i, j in known.pairs:
                    whole[:, place[i], place[j]] += known.precision[:, i, j, None]
                    whole[:, place[j], place[i]] += known.precision[:, i, j, None]
        for one in self.effects:
            weighted = np.swapaxes(one.cross, -1, -2) * one.variance[:, None, :]
            whole[:, :n, :n] -= weighted @ one.cross
            whole[:, n, :n] -= (weighted @ one.xy[..., None])[..., 0]
        whole[:, :n, n] = whole[:, n, :n]
        return np.asarray(np.linalg.cholesky(whole))

    @property
    def root(self) -> Float[np.ndarray, "many border border"]:
        """Cholesky factors of the precisions of the border, effects eliminated."""
        return self._root[:, :-1, :-1]

    @cached_property
    def _turn(self) -> Float[np.ndarray, "many border border"]:
        """Inverses of the roots: one call for all, which are often small."""
        return np.asarray(np.linalg.inv(self.root))

    @cached_property
    def mean(self) -> Float[np.ndarray, "many border"]:
        """Posterior means of the border."""
        return np.asarray((self._root[:, -1:, :-1] @ self._turn)[:, 0])

    @cached_property
    def residual(self) -> Float[np.ndarray, " many"]:
        """Sums of squares that the coefficients leave, with the pull of their prior."""
        explained = (self._root[:, -1, :-1] ** 2).sum(axis=-1)
        for one in self.effects:
            explained = explained + (one.variance * one.xy**2).sum(axis=-1)
        # Rounding alone can make the residual of a perfect fit negative.
        return np.asarray(np.maximum(self.sums.yy - explained, 0.0))

    @cached_property
    def log_precision(self) -> Float[np.ndarray, " many"]:
        """Log-determinants of the precisions of all coefficients."""
        found = 2.0 * np.log(np.diagonal(self.root, axis1=-2, axis2=-1)).sum(axis=-1)
        for one in self.effects:
            found = found - np.log(one.variance).sum(axis=-1)
        return np.asarray(found)

    @property
    def log_volume(self) -> Float[np.ndarray, " many"]:
        """Logarithms of the volume that the rows leave of the prior's, for noise of one."""
        prior = np.log(self.border).sum(axis=-1) + np.log(self.own).sum(axis=(-2, -1))
        prior = prior + sum(known.log_det_change for known in self.correlated)
        return np.asarray(0.5 * (prior - self.log_precision))

    def draws(
        self,
        index: Int[np.ndarray, " draws"],
        sigma: Float[np.ndarray, " draws"],
        rng: np.random.Generator,
    ) -> tuple[Float[np.ndarray, "draws terms"], Float[np.ndarray, " draws"]]:
        """Draws of all coefficients, and their log density given the noise.

        Parameters
        ----------
        index : ndarray, shape (draws,)
            Which of the posteriors each draw is from.
        sigma : ndarray, shape (draws,)
            Its noise standard deviation.
        rng : numpy.random.Generator
        """
        sums, n = self.sums, len(index)
        noise = rng.standard_normal((n, sums.n_terms))
        border_noise, own_noise = np.split(noise, [len(sums.border)], axis=1)
        border = np.empty((n, len(sums.border)))
        for value in np.unique(index):
            at = np.flatnonzero(index == value)
            border[at] = self.mean[value] + sigma[at, None] * (border_noise[at] @ self._turn[value])
        found = np.empty((n, sums.n_terms))
        found[:, sums.border] = border
        each = own_noise.reshape(n, *sums.own.shape)
        drawn: list[Float[np.ndarray, "draws groups"]] = []
        for a in reversed(range(len(sums.own))):
            own = self._effect(a, index, border)
            own += sigma[:, None] * np.sqrt(self.effects[a].variance[index]) * each[:, a]
            for later, value in zip(range(len(sums.own) - 1, a, -1), drawn, strict=True):
                own -= self.effects[later].follows[a][index] * value
            drawn.append(own)
            found[:, sums.own[a]] = own
        unit = sums.n_terms * np.log(2.0 * np.pi * sigma**2)
        log_q = 0.5 * (self.log_precision[index] - unit - (noise**2).sum(axis=1))
        return found, np.asarray(log_q)

    def _effect(
        self, a: int, index: Int[np.ndarray, " draws"], border: Float[np.ndarray, "draws border"]
    ) -> Float[np.ndarray, "draws groups"]:
        """Mean of an effect given the border, were the effects behind it zero."""
        one = self.effects[a]
        if len(one.cross) == 1:  # the same products for all precisions
            return np.asarray(one.variance[index] * (one.xy - border @ one.cross[0].T))
        explained = np.einsum("dgb,db->dg", one.cross[index], border)
        return np.asarray(one.variance[index] * (one.xy[index] - explained))

    def lines(
        self, design: Float[np.ndarray, "terms rows"]
    ) -> tuple[Float[np.ndarray, "many rows"], Float[np.ndarray, "many rows"]]:
        """Posterior mean of the line at each row, and its variance in units of the noise's."""
        n, n_rows = len(self.border), design.shape[1]
        location, spread = np.zeros((n, n_rows)), np.zeros((n, n_rows))
        for value in range(n):
            border = design[self.sums.border]
            own: list[Float[np.ndarray, "groups rows"]] = []
            for a, one in enumerate(self.effects):
                left = design[self.sums.own[a]]
                for follow, before in zip(one.follows, own, strict=True):
                    left = left - follow[value][:, None] * before
                own.append(left)
                weighted = one.variance[value][:, None] * left
                place = value if len(one.cross) > 1 else 0
                border = border - one.cross[place].T @ weighted
                location[value] += one.xy[place] @ weighted
                spread[value] += (left * weighted).sum(axis=0)
            solved = self._turn[value] @ border
            location[value] += self.mean[value] @ border
            spread[value] += (solved**2).sum(axis=0)
        return location, spread
