"""Derivatives of each row's part of the lower bound, where it is a function of few scalars."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import accumulate, pairwise

import numpy as np
from jaxtyping import Bool, Float, Int

from bayesvb.numerics.arrays import DirectionEntries, ExpertRows, RowVector, TermRows
from bayesvb.numerics.special import softmax_spread


@dataclass(frozen=True)
class RowScalars:
    """Scalars of a row that are linear in the expectations, all with the same features.

    Scalar ``c`` of a row is ``sum_f features[f] * expectations[entries[c, f]]``: the expected log
    density of the row under expert ``c``, say, or its expected logit.

    Attributes
    ----------
    features : ndarray, shape (features, rows)
    entries : ndarray, shape (scalars, features)
        Positions in the vectors of expectations and of statistics.
    others : ndarray, shape (scalars, others)
        Positions of features that are zero in these rows, as of groups that they are not in.
    """

    features: Float[np.ndarray, "features rows"]
    entries: Int[np.ndarray, "scalars features"]
    others: Int[np.ndarray, "scalars others"]

    @classmethod
    def of(
        cls, features: Float[np.ndarray, "features rows"], entries: Int[np.ndarray, "scalars _"]
    ) -> RowScalars:
        """Scalars all of whose features are given."""
        return cls(features, entries, np.empty((len(entries), 0), dtype=int))

    @classmethod
    def of_moments(
        cls,
        columns: TermRows,
        present: Bool[np.ndarray, " pairs"],
        pairs: Float[np.ndarray, "present rows"],
        n_predictors: int,
    ) -> tuple[RowScalars, RowScalars]:
        """Scalars of ``x x'`` and of ``x`` of each linear predictor, as ``LogitStats`` has them.

        Of products of two terms those that some of the rows have.
        """
        squares, linear = consecutive(n_predictors, [len(present), len(columns)])
        first = cls(pairs, squares[:, present], squares[:, ~present])
        return first, cls.of(columns, linear)

    @property
    def every(self) -> Int[np.ndarray, "scalars _"]:
        """Positions of all features, in order."""
        return np.sort(np.concatenate([self.entries, self.others], axis=1), axis=1)

    @property
    def n_entries(self) -> int:
        """Number of positions, of all scalars together."""
        return int(self.entries.size + self.others.size)

    def changed(self, change: DirectionEntries) -> Float[np.ndarray, "scalars directions rows"]:
        """Changes of the scalars of each row with the expectations.

        A product for each scalar, of the directions that change it: one product of three axes goes
        over all features once for each direction, which takes three times as long.
        """
        changes = np.zeros((len(self.entries), len(change), self.features.shape[1]))
        for entries, result in zip(self.entries, changes, strict=True):
            part = change[:, entries]
            touched = part.any(axis=1)
            if touched.all():
                np.matmul(part, self.features, out=result)
            elif touched.any():
                result[touched] = part[touched] @ self.features
        return changes

    def moved(self, offset: int) -> RowScalars:
        """Scalars in longer vectors, in which others come first."""
        return RowScalars(self.features, self.entries + offset, self.others + offset)


@dataclass(frozen=True)
class PartDerivatives:
    """Derivatives of a part's contribution to the log of each component, in its scalars.

    Expected log weights of a gate, or expected log densities of experts.

    Attributes
    ----------
    scalars : tuple of RowScalars
    factors : ndarray, shape (factors, entries)
        Positions of the statistics of each independent factor of the part's posterior.
    slopes : ndarray, shape (experts, scalars, rows)
        First derivatives for each expert; those that are the same for all experts count.
    bends : ndarray, shape (scalars, scalars, rows)
        Second derivatives, averaged over experts by responsibility.
    """

    scalars: tuple[RowScalars, ...]
    factors: Int[np.ndarray, "factors entries"]
    slopes: Float[np.ndarray, "experts scalars rows"]
    bends: Float[np.ndarray, "scalars scalars rows"]

    @property
    def n_entries(self) -> int:
        """Length of the part's vectors of expectations and of statistics."""
        return sum(one.n_entries for one in self.scalars)


@dataclass(frozen=True)
class RowDerivatives:
    """First and second derivatives of each row's part of the bound, in its scalars.

    Attributes
    ----------
    scalars : tuple of RowScalars
    gradient : ndarray, shape (scalars, rows)
        Of all scalars, in order.
    hessian : ndarray, shape (scalars, scalars, rows)
    factors : tuple of ndarray, shape (factors, entries)
        Positions of the statistics of each independent factor of the posterior, by kind.
    shared : ndarray, shape (shared,)
        Positions of statistics that several factors have in common.
    n_more : int
        Entries at the end to which no row adds.
    """

    scalars: tuple[RowScalars, ...]
    gradient: Float[np.ndarray, "scalars rows"]
    hessian: Float[np.ndarray, "scalars scalars rows"]
    factors: tuple[Int[np.ndarray, "_ _"], ...]
    shared: Int[np.ndarray, " shared"] = field(default_factory=lambda: np.empty(0, dtype=int))
    n_more: int = 0

    @classmethod
    def of_mixture(
        cls, experts: RowScalars, gate: PartDerivatives, responsibilities: ExpertRows
    ) -> RowDerivatives:
        """Derivatives of ``log sum_k exp(E_k + l_k)``, ``l`` being functions of scalars."""
        gradient = np.einsum("kn,ksn->sn", responsibilities, gate.slopes)
        first = experts.n_entries
        scalars = (experts, *(one.moved(first) for one in gate.scalars))
        return cls(
            scalars,
            np.concatenate([responsibilities, gradient]),
            mixture_hessian(responsibilities, gate.slopes, gate.bends),
            (experts.every, gate.factors + first),
        )

    @classmethod
    def of_parts(
        cls, experts: PartDerivatives, gate: PartDerivatives, responsibilities: ExpertRows
    ) -> RowDerivatives:
        """Derivatives where ``E`` too are functions of scalars linear in the expectations."""
        first, n_own = experts.n_entries, experts.slopes.shape[1]
        slopes = np.concatenate([experts.slopes, gate.slopes], axis=1)
        gradient = np.einsum("kn,ksn->sn", responsibilities, slopes)
        mixed = np.einsum("ijn,jsn->isn", softmax_spread(responsibilities), slopes)
        hessian = np.einsum("isn,itn->stn", slopes, mixed)
        hessian[:n_own, :n_own] += experts.bends
        hessian[n_own:, n_own:] += gate.bends
        scalars = (*experts.scalars, *(one.moved(first) for one in gate.scalars))
        return cls(scalars, gradient, hessian, (experts.factors, gate.factors + first))

    @property
    def n_entries(self) -> int:
        """Length of the vectors of expectations and of statistics."""
        return sum(one.n_entries for one in self.scalars) + self.n_more

    def present(self) -> Bool[np.ndarray, " entries"]:
        """Entries to which some row adds, and those at the end to which none can.

        Products of indicators of two groups, say, are zero in every row.
        """
        mask = np.ones(self.n_entries, dtype=bool)
        for one in self.scalars:
            mask[one.entries], mask[one.others] = one.features.any(axis=1), False
        return mask

    def restricted(self, kept: Bool[np.ndarray, " entries"]) -> RowDerivatives:
        """Derivatives in vectors of these entries only; no row contributes to the others."""
        place = np.cumsum(kept) - 1
        scalars = []
        for one in self.scalars:
            first, other = kept[one.entries[0]], kept[one.others[0]]
            places = place[one.entries[:, first]], place[one.others[:, other]]
            scalars.append(RowScalars(one.features[first], *places))
        return replace(self, scalars=tuple(scalars))

    @property
    def _places(self) -> list[slice]:
        """Positions of the scalars of each group among all."""
        ends = list(accumulate((len(one.entries) for one in self.scalars), initial=0))
        return [slice(start, stop) for start, stop in pairwise(ends)]

    def statistics(self) -> Float[np.ndarray, "rows entries"]:
        """Contribution of each row to the statistics: derivative of its part in expectations."""
        n_rows = self.gradient.shape[1]
        statistics = np.zeros((n_rows, self.n_entries))
        for one, place in zip(self.scalars, self._places, strict=True):
            products = self.gradient[place].T[:, :, None] * one.features.T[:, None, :]
            statistics[:, one.entries.ravel()] = products.reshape(n_rows, -1)
        return statistics

    def curvature(self, weight: RowVector | None) -> Float[np.ndarray, "entries entries"]:
        """Second derivative, in the expectations, of the sum over the rows by case weight."""
        hessian = self.hessian if weight is None else self.hessian * weight
        curvature = np.zeros((self.n_entries, self.n_entries))
        groups = list(zip(self.scalars, self._places, strict=True))
        for number, (one, rows) in enumerate(groups):
            for other, columns in groups[number:]:
                part = _product(one, other, hessian[rows, columns], same=one is other)
                at = np.ix_(one.entries.ravel(), other.entries.ravel())
                curvature[at] = part
                curvature[at[1].T, at[0].T] = part.T
        return curvature

    def curved(self, change: DirectionEntries, weight: RowVector | None) -> DirectionEntries:
        """Changes of the summed ``statistics`` with the expectations, rows by case weight.

        What ``curvature`` times each change is, without the matrix.
        """
        hessian = self.hessian if weight is None else self.hessian * weight
        by_row = np.concatenate([one.changed(change) for one in self.scalars])
        slopes = hessian.transpose(2, 0, 1) @ by_row.transpose(2, 0, 1)
        slopes = np.ascontiguousarray(slopes.transpose(1, 2, 0))
        product = np.zeros_like(change)
        for one, place in zip(self.scalars, self._places, strict=True):
            for entries, slope in zip(one.entries, slopes[place], strict=True):
                product[:, entries] = slope @ one.features.T
        return product


def mixture_hessian(
    responsibilities: ExpertRows,
    slopes: Float[np.ndarray, "experts scalars rows"],
    bends: Float[np.ndarray, "scalars scalars rows"],
) -> Float[np.ndarray, "all all rows"]:
    r"""Second derivatives of ``log sum_k exp(E_k + l_k)`` in ``E`` and the scalars of ``l``.

    With ``M = diag(r) - r r'`` they are ``M`` in ``E``, ``M l'`` in both and ``l'' M l'`` plus the
    average of the second derivatives of ``l``.
    """
    spread = softmax_spread(responsibilities)
    mixed = np.einsum("ijn,jsn->isn", spread, slopes)
    gates = np.einsum("isn,itn->stn", slopes, mixed) + bends
    top = np.concatenate([spread, mixed], axis=1)
    bottom = np.concatenate([np.swapaxes(mixed, 0, 1), gates], axis=1)
    return np.concatenate([top, bottom])


def _product(
    one: RowScalars, other: RowScalars, hessian: Float[np.ndarray, "left right rows"], *, same: bool
) -> Float[np.ndarray, "left_entries right_entries"]:
    """Sum over the rows of second derivatives times the features of both groups."""
    left, right = one.entries.shape, other.entries.shape
    product = np.zeros((left[0], left[1], right[0], right[1]))
    columns = other.features.T
    for i in range(left[0]):
        for j in range(i if same else 0, right[0]):
            if not hessian[i, j].any():
                continue  # of one component, values at the nodes of a shape do not interact
            product[i, :, j] = (one.features * hessian[i, j]) @ columns
            if same and j > i:
                product[j, :, i] = product[i, :, j].T
    return product.reshape(left[0] * left[1], right[0] * right[1])


def consecutive(n_parts: int, widths: Sequence[int]) -> list[Int[np.ndarray, "parts width"]]:
    """Positions in a vector of leaves of shape (parts, width), one leaf after the other.

    Examples
    --------
    >>> [leaf.tolist() for leaf in consecutive(2, [1, 2])]
    [[[0], [1]], [[2, 3], [4, 5]]]
    """
    starts = accumulate((n_parts * width for width in widths), initial=0)
    return [
        start + np.arange(n_parts * width).reshape(n_parts, width)
        for start, width in zip(starts, widths, strict=False)
    ]
