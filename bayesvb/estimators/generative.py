"""What public models have in common that say something before they see data: prior draws."""

from __future__ import annotations

import abc
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.prior_predictive import prior_predictive
from bayesvb.results.named_draws import HasDraws, NamedDraws
from bayesvb.variational.local import Draws


class AbstractGenerative(AbstractEstimator):
    """A public model whose draws may be those of the prior as well as those of a fit.

    Its core has ``prior_draws``.
    """

    @property
    @abc.abstractmethod
    def core(self) -> Any:
        """The model on the standardised scale."""

    @abc.abstractmethod
    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Draws in the data's units."""

    @abc.abstractmethod
    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated data set per draw, by name."""

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
