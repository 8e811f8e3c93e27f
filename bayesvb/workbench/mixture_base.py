"""What public models with components have in common: their tables."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.fit import Fit
from bayesvb.models.ensemble import matching
from bayesvb.models.mixture import Mixture
from bayesvb.models.network import Network
from bayesvb.workbench.generative import AbstractGenerative
from bayesvb.workbench.mixture_tables import component_table, responsibility_table

if TYPE_CHECKING:
    import pandas as pd


class AbstractMixture(AbstractGenerative):
    """A public model whose rows come from one of several components."""

    n_components: int

    @property
    @abc.abstractmethod
    def core(self) -> Mixture | Network:
        """The mixture on the standardised scale."""

    def aligned(self, fit: Fit, core: Any, sums: Any) -> tuple[Any, Any, tuple[int, ...]]:
        """Components in the order in which they share most rows with those of the fit."""
        reference, q = self.responsibilities(fit).to_numpy(), core.update(sums)
        own = [core.responsibilities(q, block).T for block in self.source.blocks]
        order = matching(reference, np.concatenate(own))
        return *core.permuted(order, sums), order

    def components(self, fit: Fit, prob: float) -> pd.DataFrame:
        """Share, size and separation of every component, and its noise where it has one."""
        return component_table(self, fit, prob)

    def responsibilities(self, fit: Fit) -> pd.DataFrame:
        """Probability of each component given the row that was observed."""
        return responsibility_table(self, fit)
