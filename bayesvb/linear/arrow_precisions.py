r"""Precisions with the shape of an arrow: very many group effects, with shared coefficients.

Rows of one group have no effects of another, so that ``V`` is block-diagonal in the groups, with
the coefficients that all rows share as a border. Elimination of the blocks costs time and memory
linear in the number of groups (Golub, Van Loan 2013, Matrix Computations, section 3.2.11).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from jaxtyping import Float, Int

from bayesvb.linear.designs import DrawnEffects, GroupedDesign, GroupRows
from bayesvb.linear.precisions import AbstractPrecision, DensePrecision, Vectors
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import BatchArray, Floats, Indices, PackedBatch
from bayesvb.numerics.linalg import (
    lower_pairs,
    pack,
    packed_diagonal,
    quadratic_weights,
    trace_of_product,
    unpack,
)
from bayesvb.numerics.numbered_normals import numbered_normals
from bayesvb.numerics.small_blocks import inverse_of_blocks, roots_of_blocks

Effects = Float[np.ndarray, "... effects groups"]


@dataclass(frozen=True, eq=False)
class ArrowPrecision(AbstractPrecision):
    r"""Matrices ``[[B, C_1', C_2', ..], [C_1, D_1, 0, ..], [C_2, 0, D_2, ..], ..]``.

    Coefficients are those that all rows share, then the effects: of one kind for all groups, then
    of the next. With ``F_g = D_g^-1 C_g`` and ``S = B - sum_g C_g' F_g``, effects of group ``g``
    given the shared coefficients ``b`` have mean ``m_g - F_g (b - m)`` and covariance ``D_g^-1``,
    independent of each other, and ``b`` has the precision ``S``.

    Attributes
    ----------
    border : ndarray, shape (..., shared, shared)
        ``B``.
    cross : ndarray, shape (..., effects, shared, groups)
        ``C_g``.
    group_blocks : ndarray, shape (..., effects, effects, groups)
        ``D_g``.
    is_complete : bool
        Whether draws of a law hold the effects of all groups, or the shared coefficients only.

    References
    ----------
    Henderson (1975), Best linear unbiased estimation and prediction under a selection model,
    Biometrics 31(2), for the equations of mixed models.
    """

    border: Float[np.ndarray, "*#batch shared shared"]
    cross: Float[np.ndarray, "*#batch effects shared groups"]
    group_blocks: Float[np.ndarray, "*#batch effects effects groups"]
    is_complete: bool = False

    @classmethod
    def from_entries(
        cls, shared: Float[np.ndarray, " shared"], effects: Float[np.ndarray, " _"], n_groups: int
    ) -> ArrowPrecision:
        """Diagonal matrix with these entries, an effect's entry the same for all groups."""
        n_shared, n_effects = len(shared), len(effects)
        empty = cls(
            np.eye(n_shared),
            np.broadcast_to(0.0, (n_effects, n_shared, n_groups)),
            np.broadcast_to(0.0, (n_effects, n_effects, n_groups)),
        )
        return empty.diagonal(np.concatenate([shared, effects]))

    @classmethod
    def from_conditional(
        cls,
        shared: Float[np.ndarray, "*batch shared shared"],
        regression: Float[np.ndarray, "*batch effects shared groups"],
        within: Float[np.ndarray, "*batch effects effects groups"],
    ) -> ArrowPrecision:
        """Matrix with this precision of shared coefficients, ``F_g`` and ``D_g^-1``."""
        blocks, _ = inverse_of_blocks(within)
        cross = np.einsum("...abg,...bpg->...apg", blocks, regression)
        border = shared + np.einsum("...apg,...aqg->...pq", cross, regression)
        return cls(border, cross, blocks)

    @property
    def n_shared(self) -> int:
        """Number of coefficients that all rows share."""
        return int(self.border.shape[-1])

    @property
    def n_effects(self) -> int:
        """Number of effects of each group."""
        return int(self.group_blocks.shape[-2])

    @property
    def n_groups(self) -> int:
        return int(self.group_blocks.shape[-1])

    @property
    def n_coefficients(self) -> int:
        return self.n_shared + self.n_effects * self.n_groups

    @cached_property
    def _eliminated(self) -> tuple[Float[np.ndarray, "*batch effects effects groups"], BatchArray]:
        """Inverses of the blocks, and the sum of the blocks' log-determinants."""
        return inverse_of_blocks(self.group_blocks)

    @property
    def within(self) -> Float[np.ndarray, "*batch effects effects groups"]:
        """``D_g^-1``: covariance of the effects of a group given the shared coefficients."""
        return self._eliminated[0]

    @cached_property
    def regression(self) -> Float[np.ndarray, "*batch effects shared groups"]:
        """``F_g``: how effects follow the shared coefficients, with the sign turned."""
        return np.asarray(np.einsum("...abg,...bpg->...apg", self.within, self.cross))

    @cached_property
    def marginal(self) -> DensePrecision:
        """``S``: marginal precision of the coefficients that all rows share."""
        eliminated = np.einsum("...apg,...aqg->...pq", self.cross, self.regression)
        return DensePrecision(self.border - eliminated)

    @cached_property
    def shared(self) -> DensePrecision:
        """Marginal precision of the coefficients that draws hold: ``S``, or the whole matrix."""
        return DensePrecision(self._matrix()) if self.is_complete else self.marginal

    def _matrix(self) -> Float[np.ndarray, "*batch coefficients coefficients"]:
        """Return the matrix with all its zeros."""
        first, size = self.n_shared, self.n_coefficients
        batch = np.broadcast_shapes(
            *(part.shape[:-n] for part, n in zip(self.parts, (2, 3, 3), strict=True))
        )
        matrix = np.zeros((*batch, size, size))
        matrix[..., :first, :first] = self.border
        at = first + np.arange(size - first).reshape(self.n_effects, self.n_groups)
        for a, place in enumerate(at):
            matrix[..., place, :first] = np.swapaxes(self.cross[..., a, :, :], -1, -2)
            matrix[..., :first, place] = self.cross[..., a, :, :]
            for b, other in enumerate(at):
                matrix[..., place, other] = self.group_blocks[..., a, b, :]
        return matrix

    def completed(self) -> ArrowPrecision:
        """Return the same matrices of laws whose draws hold effects, unless groups are too many."""
        return replace(self, is_complete=self.n_groups <= LIMITS.groups + 1)

    @cached_property
    def through(self) -> Float[np.ndarray, "*batch effects shared groups"]:
        """``F_g S^-1``: minus the covariance of effects and shared coefficients."""
        return np.asarray(np.einsum("...pq,...aqg->...apg", self.marginal.inverse, self.regression))

    @cached_property
    def effect_covariances(self) -> Float[np.ndarray, "*batch effects effects groups"]:
        """Covariances of the effects of each group: the diagonal blocks of the inverse."""
        followed = np.einsum("...apg,...bpg->...abg", self.through, self.regression)
        return np.asarray(self.within + followed)

    def design(
        self,
        x: Float[np.ndarray, "shared rows"],
        groups: Float[np.ndarray, "_ rows"] | None = None,
        pairs: Float[np.ndarray, "pairs rows"] | None = None,
    ) -> GroupedDesign:
        assert groups is not None, "rows of a precision with groups have a group each"
        return GroupedDesign(x, GroupRows.from_matrix(groups), self.n_groups)

    def split(self, vectors: Vectors) -> tuple[Vectors, Effects]:
        """Return shared coefficients and effects of vectors."""
        effects = vectors[..., self.n_shared :]
        shape = (*vectors.shape[:-1], self.n_effects, self.n_groups)
        return vectors[..., : self.n_shared], effects.reshape(shape)

    def _joined(self, shared: Vectors, effects: Effects) -> Vectors:
        """Return vectors of shared coefficients and effects."""
        return np.concatenate([shared, effects.reshape(*effects.shape[:-2], -1)], axis=-1)

    def times(self, vectors: Vectors) -> Vectors:
        shared, effects = self.split(vectors)
        top = shared @ self.border + np.einsum("...apg,...nag->...np", self.cross, effects)
        low = np.einsum("...apg,...np->...nag", self.cross, shared)
        low = low + np.einsum("...abg,...nbg->...nag", self.group_blocks, effects)
        return self._joined(top, low)

    def times_drawn(self, vectors: Vectors) -> Vectors:
        """Return ``V v`` of coefficients in draws, by the structure where these hold effects."""
        if namespace(vectors) is np and self.is_complete:
            return self.times(vectors)
        return super().times_drawn(vectors)

    def solve(self, vectors: Vectors) -> Vectors:
        """Return ``V^-1 v``."""
        shared, effects = self.split(vectors)
        left = shared - np.einsum("...apg,...nag->...np", self.regression, effects)
        solved = self.marginal.solve(left)
        within = np.einsum("...abg,...nbg->...nag", self.within, effects)
        within = within - np.einsum("...apg,...np->...nag", self.regression, solved)
        return self._joined(solved, within)

    def effects_quadratic(self, vectors: Vectors) -> Floats:
        """Return ``sum_g (u_g + F_g b)' D_g (u_g + F_g b)``, which is ``v' V v - b' S b``."""
        shared, effects = self.split(vectors)
        left = effects + np.einsum("...apg,...np->...nag", self.regression, shared)
        pulled = np.einsum("...abg,...nbg->...nag", self.group_blocks, left)
        return np.asarray((pulled * left).sum(axis=(-2, -1)))

    @property
    def effects_log_det(self) -> BatchArray:
        """Log-determinant of the precision of all effects given the shared coefficients."""
        return self._eliminated[1]

    def draw_effects(
        self,
        mean: Vectors,
        shared: Float[np.ndarray, "draws *batch vectors shared"],
        keys: Float[np.ndarray, "draws *batch vectors keys"],
        scale: Float[np.ndarray, "draws *batch vectors"],
        factors: Float[np.ndarray, "draws effects *more"] | None = None,
    ) -> DrawnEffects:
        """Return drawn effects as a function of the numbers of groups."""
        centre, effects = self.split(mean)

        def draw(
            there: Int[np.ndarray, " there"],
        ) -> Float[np.ndarray, "draws experts effects there"]:
            n_each = self.n_effects // keys.shape[-1] if self.n_effects else 0
            numbers = there[None] * n_each + np.arange(n_each)[:, None]
            noise = numbered_normals(keys, numbers.ravel())
            noise = noise.reshape(*keys.shape[:-1], self.n_effects, len(there))
            root = roots_of_blocks(self.within[..., there])
            drawn = np.einsum("...abg,...nbg->...nag", root, noise)
            drawn = effects[..., there] + scale[..., None, None] * drawn
            follows = self.regression[..., there]
            drawn -= np.einsum("...apg,...np->...nag", follows, shared - centre)
            drawn = drawn.reshape(len(keys), keys[0].size, n_each, len(there))
            if factors is not None and factors.ndim == 2:
                drawn *= factors[:, None, :, None]
            elif factors is not None:
                drawn = np.einsum("dab,dkbg->dkag", factors, drawn)
            return np.asarray(drawn)

        return draw

    @property
    def log_det(self) -> BatchArray:
        return np.asarray(self.marginal.log_det + self.effects_log_det)

    @property
    def variances(self) -> Float[np.ndarray, "*batch coefficients"]:
        diagonal = np.diagonal(self.effect_covariances, axis1=-3, axis2=-2)  # groups, then effects
        flat = np.swapaxes(diagonal, -1, -2).reshape(*diagonal.shape[:-2], -1)
        return np.concatenate([self.marginal.variances, flat], axis=-1)

    def plus(self, gram: PackedBatch) -> ArrowPrecision:
        more = self.like(gram)
        parts = zip(self.parts, more.parts, strict=True)
        return self._of_parts(these + other for these, other in parts)

    @property
    def parts(self) -> tuple[Floats, Floats, Floats]:
        """``B``, ``C_g`` and ``D_g``."""
        return self.border, self.cross, self.group_blocks

    def _of_parts(self, parts: Iterable[Floats]) -> ArrowPrecision:
        """Return another matrix of this structure, of laws with the same draws."""
        border, cross, group_blocks = parts
        return ArrowPrecision(border, cross, group_blocks, self.is_complete)

    def like(self, gram: PackedBatch) -> ArrowPrecision:
        """Return packed sums of ``x x'``, ``z z'`` by group and ``z x'`` by group as a matrix."""
        n_shared, n_effects, n_groups = self.n_shared, self.n_effects, self.n_groups
        border, blocks, cross = self._split_packed(gram)
        square = np.moveaxis(unpack(np.moveaxis(blocks, -2, -1)), -3, -1)
        return self._of_parts(
            (
                unpack(border),
                cross.reshape(*gram.shape[:-1], n_effects, n_shared, n_groups),
                square.reshape(*gram.shape[:-1], n_effects, n_effects, n_groups),
            )
        )

    def _split_packed(
        self, packed: PackedBatch
    ) -> tuple[
        Float[np.ndarray, "*batch pairs"],
        Float[np.ndarray, "*batch effect_pairs groups"],
        Float[np.ndarray, "*batch crosses"],
    ]:
        """Return packed sums of the border, of the blocks, and of the products between them."""
        n_pairs = self.n_effects * (self.n_effects + 1) // 2
        ends = np.cumsum([self.n_shared * (self.n_shared + 1) // 2, n_pairs * self.n_groups])
        border, blocks, cross = np.split(packed, ends, axis=-1)
        return border, blocks.reshape(*packed.shape[:-1], n_pairs, self.n_groups), cross

    def packed(self) -> PackedBatch:
        """Return the border's lower triangle, the blocks' ones, and the products between them."""
        first, second = lower_pairs(self.n_effects)
        return self._flat(pack(self.border), self.group_blocks[..., first, second, :], self.cross)

    def _flat(
        self,
        border: Float[np.ndarray, "*batch pairs"],
        blocks: Float[np.ndarray, "*batch effect_pairs groups"],
        cross: Float[np.ndarray, "*batch effects shared groups"],
    ) -> PackedBatch:
        """Return the parts of packed sums in one row."""
        batch = border.shape[:-1]
        parts = (border, blocks.reshape(*batch, -1), cross.reshape(*batch, -1))
        return np.concatenate(parts, axis=-1)

    def take(self, chosen: Indices) -> ArrowPrecision:
        return self._of_parts(part[chosen] for part in self.parts)

    def scaled(self, factor: float) -> ArrowPrecision:
        return self._of_parts(factor * part for part in self.parts)

    def diagonal(self, entries: Float[np.ndarray, "*many terms"]) -> ArrowPrecision:
        """Return a diagonal matrix: entries of shared coefficients, then one for each effect."""
        each = entries if entries.ndim == 1 else entries[..., None, :]
        shared, effects = np.split(each, [self.n_shared], axis=-1)
        n_shared, n_effects, n_groups = self.n_shared, self.n_effects, self.n_groups
        batch, blocks = each.shape[:-1], effects[..., None] * np.eye(n_effects)
        return self._of_parts(
            (
                shared[..., None] * np.eye(n_shared),
                np.broadcast_to(0.0, (*batch, n_effects, n_shared, n_groups)),
                np.broadcast_to(blocks[..., None], (*batch, n_effects, n_effects, n_groups)),
            )
        )

    @property
    def entries(self) -> Float[np.ndarray, "*batch terms"]:
        """Diagonal entries of a prior: of shared coefficients, then of each effect."""
        diagonal = np.diagonal(self.group_blocks[..., 0], axis1=-2, axis2=-1)
        return np.concatenate([np.diagonal(self.border, axis1=-2, axis2=-1), diagonal], axis=-1)

    def by_term(
        self, values: Float[np.ndarray, "*batch coefficients"]
    ) -> Float[np.ndarray, "*batch terms"]:
        """Sum values of effects over groups."""
        shared, effects = self.split(values)
        summed: Float[np.ndarray, "*batch terms"]
        summed = namespace(values).concatenate([shared, effects.sum(axis=-1)], axis=-1)
        return summed

    def trace_with(self, other: ArrowPrecision) -> BatchArray:
        of_groups = np.einsum("...abg,...abg->...", self.group_blocks, other.effect_covariances)
        across = np.einsum("...apg,...apg->...", self.cross, other.through)
        return np.asarray(
            trace_of_product(self.border, other.marginal.inverse) + of_groups - 2.0 * across
        )

    def plus_diagonal(self, entries: Float[np.ndarray, "many terms"]) -> ArrowPrecision:
        more = self.diagonal(entries)
        return self._of_parts(a + b for a, b in zip(self.parts, more.parts, strict=True))

    def plus_terms(self, entries: Float[np.ndarray, "many terms"]) -> ArrowPrecision:
        """Return a batch of sums of this one matrix and entries for each term on its diagonal.

        All have the same products of effects and shared coefficients, which are not copied.
        """
        shared, effects = np.split(entries[..., None], [self.n_shared], axis=1)
        border = self.border + shared * np.eye(self.n_shared)
        blocks = self.group_blocks + (effects * np.eye(self.n_effects))[..., None]
        return self._of_parts((border, self.cross, blocks))

    def quadratic(
        self, columns: Float[np.ndarray, "coefficients rows"]
    ) -> Float[np.ndarray, "*batch rows"]:
        """Return ``x_n' V^-1 x_n`` of rows with a column for each coefficient."""
        shared, flat = np.split(columns, [self.n_shared])
        each = flat.reshape(self.n_effects, self.n_groups, columns.shape[1])
        follows = np.swapaxes(self.regression, -3, -2)
        left = shared - follows.reshape(*follows.shape[:-2], len(flat)) @ flat
        spread = ((self.marginal.inverse @ left) * left).sum(axis=-2)
        for a, b in np.ndindex(self.n_effects, self.n_effects):
            spread = spread + self.within[..., a, b, :] @ (each[a] * each[b])
        return np.asarray(spread)

    def packed_squares(self, packed: PackedBatch) -> Float[np.ndarray, "*batch terms"]:
        """Return diagonal entries of packed matrices, effects' entries summed over groups."""
        border, blocks, _ = self._split_packed(packed)
        of_effects = blocks[..., packed_diagonal(self.n_effects), :].sum(axis=-1)
        return np.concatenate([border[..., packed_diagonal(self.n_shared)], of_effects], axis=-1)

    def moments_along(self, left: Vectors, right: Vectors, change: ArrowPrecision) -> PackedBatch:
        """Return changes of weights of packed products.

        With ``dF = W (dC - dD F)`` and ``dS = dB - dC' F - F' dC + F' dD F``, ``W = D^-1``, all
        others are derivatives of products.
        """
        n, through, regression = 0.5 * left.shape[-2], self.through, self.regression
        d_cross, d_blocks = change.cross, change.group_blocks
        across = np.einsum("...abg,...bpg->...apg", d_blocks, regression)
        d_regression = np.einsum("...abg,...bpg->...apg", self.within, d_cross - across)
        half = np.einsum("...apg,...aqg->...pq", regression, 0.5 * across - d_cross)
        d_marginal = change.border + half + np.swapaxes(half, -1, -2)
        shared = -self.marginal.inverse @ d_marginal @ self.marginal.inverse
        d_through = np.einsum("...pq,...aqg->...apg", self.marginal.inverse, d_regression)
        d_through = d_through + np.einsum("...pq,...aqg->...apg", shared, regression)
        inner = np.einsum("...abg,...bcg->...acg", self.within, d_blocks)
        effects = np.einsum("...apg,...bpg->...abg", d_through, regression)
        effects = effects + np.einsum("...apg,...bpg->...abg", through, d_regression)
        effects = effects - np.einsum("...acg,...cbg->...abg", inner, self.within)
        (b, u), (c, v) = self.split(left), self.split(right)
        border = np.swapaxes(b, -1, -2) @ c + n * shared
        first, second = lower_pairs(self.n_effects)
        blocks = (u[..., first, :] * v[..., second, :]).sum(axis=-3)
        blocks = (blocks + n * effects[..., first, second, :]) * (2.0 - (first == second))[:, None]
        cross = np.einsum("...nag,...np->...apg", u, c) - n * d_through
        return self._flat(quadratic_weights(border), blocks, 2.0 * cross)

    def second_moments(self, left: Vectors, right: Vectors) -> PackedBatch:
        n, ((b, u), (c, v)) = left.shape[-2], (self.split(left), self.split(right))
        border = np.swapaxes(b, -1, -2) @ c + n * self.marginal.inverse
        first, second = lower_pairs(self.n_effects)
        blocks = (u[..., first, :] * v[..., second, :]).sum(axis=-3)
        blocks = blocks + n * self.effect_covariances[..., first, second, :]
        blocks = blocks * (2.0 - (first == second))[:, None]
        cross = np.einsum("...nag,...np->...apg", u, c) - n * self.through
        return self._flat(quadratic_weights(border), blocks, 2.0 * cross)


def diagonal_precision(
    shared: Float[np.ndarray, " shared"], effects: Float[np.ndarray, " _"], n_groups: int
) -> AbstractPrecision:
    """Return the precision of independent coefficients, in the structure of their design.

    Parameters
    ----------
    shared : ndarray, shape (shared,)
        Precisions of the coefficients that all rows share.
    effects : ndarray, shape (effects,)
        Of each effect, the same for all groups.
    n_groups : int
        Groups whose effects have no columns; 0 if there are none.
    """
    if not n_groups:
        return DensePrecision(np.diag(shared))
    return ArrowPrecision.from_entries(shared, effects, n_groups)
