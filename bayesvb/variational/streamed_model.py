"""Models whose rows may be gone: their statistics stand for them."""

from __future__ import annotations

import abc
from typing import Any

from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import with_known
from bayesvb.variational.model import AbstractVariationalModel, PosteriorT, StatsT


class AbstractStreamedModel(AbstractVariationalModel[PosteriorT, StatsT]):
    """A model whose statistics are sums over rows, so that earlier rows need not be kept."""

    def global_step(
        self, posterior: PosteriorT, stats: Any, before: StatsT | None = None
    ) -> StatsT:
        """Statistics of the next posterior, from the statistics of an iteration under this one.

        ``before`` are statistics of known rows of which nothing else is stored, as this returns
        them; their rows count in the result too.
        """
        return with_known(stats, before)

    def gradient_stats(
        self, posterior: PosteriorT, stats: Any, before: StatsT | None = None
    ) -> StatsT:
        """Derivative of the rows' part of the bound, known rows among them."""
        return with_known(stats, before)

    @abc.abstractmethod
    def expected_sum(self, before: StatsT, posterior: PosteriorT) -> float:
        """Contribution of rows with these statistics to the ELBO of a posterior, up to a constant.

        Raises
        ------
        NotImplementedError
            If statistics of this model are not sums over rows.
        """

    def is_linear_in_rows(self, source: AbstractSource) -> bool:
        """Whether the rows' part of the bound is linear in expectations of the posterior.

        No statistic of the rows then depends on the posterior, and ``expected_sum`` is exact.
        """
        return False


AnyStreamed = AbstractStreamedModel[Any, Any]
"""A model of any posterior and statistics that are sums over rows."""
