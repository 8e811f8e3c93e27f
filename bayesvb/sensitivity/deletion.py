"""Fit without some of its rows, by the derivative of an iteration."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial
from itertools import pairwise

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import DataError
from bayesvb.linear.quadratic_forms import ENTRIES_AT_ONCE
from bayesvb.numerics.arrays import EntryVector, Indices
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.sensitivity.curvature import derivatives_of_rows
from bayesvb.sensitivity.operator import AbstractAppliedSensitivity, AbstractSensitivity
from bayesvb.sensitivity.row_sensitivity import RowsAdded, RowSensitivity
from bayesvb.sensitivity.row_space import RowSpace
from bayesvb.sensitivity.solvers import choose_solver, full_step
from bayesvb.variational.model import AnyModel

MANY_ROWS = 20_000
"""Number of rows above which the derivative uses a sample of half as many."""

ROWS_AT_ONCE = 512
"""Rows whose posteriors are in memory together, at most."""

APPLIED_AT_ONCE = 1 << 21
"""Statistics of rows where solving for several costs little more than for one: arrays of 16 MiB."""

SHARES = (1.0, 0.5, 0.25, 0.0)
"""Parts of the first-order answer of the other rows that are tried until statistics are of data."""


Evaluate = Callable[[object, Block], Float[np.ndarray, "*axes rows"]]
"""Values of rows, on the last axis, under a posterior: one for all or one for each."""


@dataclass(frozen=True)
class Deletion:
    r"""Statistics of the optimum without some rows, with first-order indirect effects.

    At the optimum ``s = F(s)``, ``F`` the sum of the rows' contributions in one undamped iteration.
    Without the rows ``G``

    .. math:: s_{-G} \approx s + \delta_G, \qquad
              \delta_G = -(I - F'(s))^{-1} \sum_{n \in G} w_n f_n.

    The direct contribution of the rows is removed exactly; only the indirect effect of the other
    rows, whose responsibilities change, is of first order. With one component and a fixed prior
    there is no indirect effect, and the result is exact.

    Attributes
    ----------
    model : AbstractVariationalModel
    source : AbstractSource
    stats : SufficientStats
        State of a converged fit.
    derivative : AbstractSensitivity
        ``F'``.

    References
    ----------
    Giordano, Stephenson, Liu, Jordan, Broderick (2019), A Swiss army infinitesimal jackknife,
    AISTATS, section 2. Giordano, Broderick, Jordan (2018), JMLR 19(51), section 3, for ``F'``.
    """

    model: AnyModel
    source: AbstractSource
    stats: SufficientStats
    derivative: AbstractSensitivity

    @classmethod
    def of(
        cls,
        model: AnyModel,
        source: AbstractSource,
        stats: SufficientStats,
        rng: np.random.Generator,
    ) -> Deletion:
        """Deletion from a fit; the derivative uses a sample if there are very many rows.

        Raises
        ------
        DataError
            If statistics are too many for a derivative in all of them.
        """
        seen = source
        if source.n_rows > MANY_ROWS:
            seen = source.standing_for_all(MANY_ROWS // 2, rng)
        with single_threaded_blas(), np.errstate(all="ignore"):
            return cls(model, source, stats, choose_solver(model, seen, stats))

    @cached_property
    def posterior(self) -> object:
        """Posterior with all rows."""
        return self.model.update(self.stats)

    @cached_property
    def _sums(self) -> SufficientStats:
        """Sums of a pass over all rows."""
        return self.source.map_reduce(partial(self.model.e_step, self.posterior)).stats

    @property
    def by_rows(self) -> RowSensitivity | None:
        """The solver, if it is in the space of all rows."""
        if isinstance(self.derivative, RowSensitivity) and self.source.n_rows <= MANY_ROWS:
            return self.derivative
        return None

    def parts(self, at: Indices) -> Iterator[Int[np.ndarray, " some"]]:
        """Positions of rows, as many at a time as may have posteriors in memory together."""
        applied = isinstance(self.derivative, AbstractAppliedSensitivity)
        entries = APPLIED_AT_ONCE if applied else ENTRIES_AT_ONCE
        together = min(ROWS_AT_ONCE, max(entries // self.derivative.n_entries, 1))
        for start in range(0, len(at), together):
            yield at[start : start + together]

    def solve(
        self, added: Float[np.ndarray, "groups entries"]
    ) -> Float[np.ndarray, "groups entries"]:
        """``(I - F')^-1`` times an external change of the statistics."""
        return self.derivative.solve(added)

    def solve_difference(
        self,
        rows: Int[np.ndarray, " some"],
        ends: Sequence[tuple[Block, Float[np.ndarray, " some"]]],
    ) -> Float[np.ndarray, "some entries"]:
        """``(I - F')^-1`` times a weighted sum of contributions of rows with other responses.

        Parameters
        ----------
        rows : ndarray, shape (some,)
            Positions of the rows.
        ends : sequence of (Block, ndarray)
            The rows with other responses, and weights.
        """
        direct = np.sum([self.of_rows(block) * weight[:, None] for block, weight in ends], axis=0)
        if self.by_rows is None:
            return self.solve(direct)
        added = []
        for block, weight in ends:
            known = derivatives_of_rows(self.model, self.posterior, block)
            space = RowSpace.from_rows(self.model, self.posterior, block, known)
            added.append(RowsAdded(space, known, weight))
        return np.asarray(direct + self.by_rows.indirect_of_difference(rows, added))

    def near(self, change: EntryVector) -> object:
        """Posterior of changed statistics, or the fit's if they do not belong to any data."""
        try:
            return self.model.update(self.stats.with_vector(self.stats.to_vector() + change))
        except np.linalg.LinAlgError:
            return self.posterior

    def of_rows(self, block: Block) -> Float[np.ndarray, "rows entries"]:
        """Contribution of each row to the statistics, counted once.

        For statistics that are not sums, their loss without the row.
        """
        known = self.model.row_derivatives(self.posterior, block)
        if known is not None:
            return np.asarray(known.statistics())
        each = self.model.row_stats(self.posterior, block)
        if each is not None:
            return self._steps_without(each, block.n_rows)
        whole = full_step(self.model, self.posterior, self._sums)
        single = (block.part(n, n + 1) for n in range(block.n_rows))
        steps = [self._step_without(replace(one, weight=None)) for one in single]
        return np.asarray(whole - np.array(steps).reshape(block.n_rows, whole.size))

    def _steps_without(
        self, each: SufficientStats, n_rows: int
    ) -> Float[np.ndarray, "rows entries"]:
        """Loss of the next posterior's statistics without each row, from row contributions."""
        whole: SufficientStats = self.model.gradient_stats(self.posterior, self._sums)
        less: SufficientStats = self.model.gradient_stats(
            self.posterior, self._sums + (-1.0) * each
        )
        pairs = zip(whole.leaves(), less.leaves(), strict=True)
        lost = [
            np.broadcast_to(all_ - rest, (n_rows, *all_.shape)) for (_, all_), (_, rest) in pairs
        ]
        return np.concatenate([one.reshape(n_rows, -1) for one in lost], axis=1)

    def _step_without(self, row: Block) -> EntryVector:
        """Statistics of the next posterior from the sums without a row."""
        row_stats = self.model.e_step(self.posterior, row).stats
        return full_step(self.model, self.posterior, self._sums + (-1.0) * row_stats)

    def without(
        self, rows: Int[np.ndarray, " some"], block: Block, share: Float[np.ndarray, " some"]
    ) -> tuple[Float[np.ndarray, "some entries"], Float[np.ndarray, "some entries"]]:
        """Minus what shares of rows add to the statistics, and the change without each share.

        Parameters
        ----------
        rows : ndarray, shape (some,)
            Positions of the rows.
        block : Block
            The rows.
        share : ndarray, shape (some,)
        """
        direct = -self.of_rows(block) * share[:, None]
        if self.by_rows is not None:
            return direct, direct + self.by_rows.indirect(rows, -share)
        return direct, self.solve(direct)

    def under(
        self,
        direct: Float[np.ndarray, "rows entries"],
        change: Float[np.ndarray, "rows entries"],
        block: Block,
        evaluate: Evaluate,
    ) -> Float[np.ndarray, "*axes rows"]:
        """Values of rows under the posteriors of changed statistics, one change for each row.

        Where the first-order change leads to statistics of no data, the part of it that is the
        answer of the other rows, ``change - direct``, is shortened.
        """
        n_rows = block.n_rows
        values: Callable[..., Float[np.ndarray, "*axes rows"]] = self._one
        ends: Iterable[int] = range(n_rows + 1)
        if n_rows > 1 and self.model.posterior_by_row:
            try:
                moved = self.stats.with_vector(self.stats.to_vector() + change)
                return evaluate(self.model.update(moved), block)
            except np.linalg.LinAlgError:  # of one row or more: which they are, halves show
                values, ends = self.under, (0, n_rows // 2, n_rows)
        pieces = [
            values(direct[start:end], change[start:end], block.part(start, end), evaluate)
            for start, end in pairwise(ends)
        ]
        return np.concatenate(pieces, axis=-1)

    def _one(
        self,
        direct: Float[np.ndarray, "1 entries"],
        change: Float[np.ndarray, "1 entries"],
        row: Block,
        evaluate: Evaluate,
    ) -> Float[np.ndarray, "*axes 1"]:
        """Values of one row; NaN where not even the row itself can be taken away."""
        centre = self.stats.to_vector()
        for share in SHARES:
            vector = centre + direct[0] + share * (change - direct)[0]
            try:
                return evaluate(self.model.update(self.stats.with_vector(vector)), row)
            except np.linalg.LinAlgError:
                continue
        return np.full_like(evaluate(self.posterior, row), np.nan)


def check_answers(model: AnyModel, what: str) -> None:
    """Refuse what needs the answer of all statistics where they are by group, and too many.

    Raises
    ------
    DataError
        With the name of the request.
    """
    if not model.draws_complete:
        raise DataError(
            f"{what} is not available with this many groups: it would need derivatives with "
            "respect to the statistics of every group",
            hint="use fit.loo(), or bayesvb.cross_validate(..., groups=), which refits the model",
        )
