"""Data sets of a model's own design: parameters are drawn, then responses at the model's rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.grouping import regrouped
from bayesvb.data.response_columns import coarsened
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.results.named_draws import count
from bayesvb.variational.local import Draws


@dataclass(frozen=True)
class Truth:
    """One draw of all parameters, and the model that it belongs to."""

    core: Any
    draws: Draws


@dataclass(frozen=True)
class Simulation:
    """Source of simulated data sets.

    Attributes
    ----------
    core : AbstractVariationalModel or Ensemble
        Model on the standardised scale whose responses are drawn.
    source : AbstractSource
        Rows whose responses are replaced.
    posterior : Mapping of str to ndarray, or None
        Draws among which the parameters are chosen; by default draws from the prior. With draws,
        rows are added to the rows of the source, otherwise they replace them.
    """

    core: Any
    source: AbstractSource
    posterior: Draws | None = None

    def truth(
        self, number: int, rng: np.random.Generator, order: Int[np.ndarray, " posterior"]
    ) -> Truth:
        """One draw of the parameters, of the prior or that at the place which is its turn."""
        if self.posterior is None:
            return Truth(self.core, self.core.prior_draws(1, rng))
        at = int(order[number % len(order)])
        draw = {name: values[at : at + 1] for name, values in self.posterior.items()}
        return Truth(self.core, draw)

    def rows(self, truth: Truth, rng: np.random.Generator) -> InMemorySource:
        """Rows with responses that these parameters made, behind those observed if any are kept."""
        blocks = list(self.source.iterate())
        new = [
            explaining(block, truth.core.responses(truth.draws, block, rng)[0]) for block in blocks
        ]
        return InMemorySource(tuple(new if self.posterior is None else blocks + new))

    @property
    def n_posterior(self) -> int:
        """Number of draws of the posterior among which is chosen."""
        return 1 if self.posterior is None else count(self.posterior)


def explaining(block: Block, values: Float[np.ndarray, "_ rows"]) -> Block:
    """The rows with other values of the modelled variables; missing values stay missing."""
    if block.members is not None:
        return regrouped(block, np.ascontiguousarray(values))
    if len(block.response):
        return coarsened(block, np.ascontiguousarray(values))
    seen = block.designs.get("observed", 1.0)
    return replace(block, designs={**block.designs, "variables": values * seen})
