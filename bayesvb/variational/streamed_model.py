"""Models whose rows may be gone: their statistics stand for them."""

from __future__ import annotations

import abc
from typing import Any

from bayesvb.data.sources import AbstractSource
from bayesvb.variational.model import AbstractVariationalModel, PosteriorT, StatsT


class AbstractStreamedModel(AbstractVariationalModel[PosteriorT, StatsT]):
    """A model whose statistics are sums over rows, so that earlier rows need not be kept."""

    def step_beside(self, before: StatsT, posterior: PosteriorT, stats: Any) -> StatsT:
        """Statistics of ``global_step`` with earlier rows of which only statistics are stored.

        ``before`` are statistics of a posterior, as ``global_step`` returns them; these are too.
        """
        return self.global_step(posterior, before + stats)

    def gradient_beside(self, before: StatsT, posterior: PosteriorT, stats: Any) -> StatsT:
        """Derivative of ``gradient_stats`` with earlier rows, of which only sums are stored."""
        return self.gradient_stats(posterior, before + stats)

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
