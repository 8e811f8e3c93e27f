"""What public models with components have in common: their tables, and draws from the prior."""

from __future__ import annotations

import abc
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block
from bayesvb.fit import Fit
from bayesvb.models.ensemble import matching
from bayesvb.models.mixture import Mixture
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.parts import Draws
from bayesvb.workbench.base import AbstractWorkbench
from bayesvb.workbench.mixture_tables import component_table, responsibility_table
from bayesvb.workbench.prior_draws import prior_predictive

if TYPE_CHECKING:
    import pandas as pd


class AbstractMixture(AbstractWorkbench):
    """A public model whose rows come from one of several components.

    Its draws may be those of the prior as well as those of a fit.
    """

    n_components: int

    @property
    @abc.abstractmethod
    def core(self) -> Mixture:
        """The mixture on the standardised scale."""

    @abc.abstractmethod
    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Draws in the data's units."""

    @abc.abstractmethod
    def replicates(
        self, fit: Drawn, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated data set per draw, by name."""

    def aligned(self, fit: Fit, core: Any, sums: Any) -> tuple[Mixture, Any, tuple[int, ...]]:
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

    def prior_predictive(self, draws: int = 500, seed: int | None = None) -> Any:
        """Draws of the parameters and of the data from the prior, before anything is fitted.

        Parameters
        ----------
        draws : int
        seed : int, optional
            A fresh one is drawn, and kept in the attributes, if left out.

        Returns
        -------
        InferenceData (ArviZ 0.x) or DataTree (ArviZ 1.x)
            Group ``prior`` with the names, axes and units of the posterior of a fit, and group
            ``prior_predictive`` with data at the rows used, at most 500 of them.
        """
        return prior_predictive(self, draws, seed)
