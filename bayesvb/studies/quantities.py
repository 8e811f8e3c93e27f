"""Quantities by which truth and posterior draws are compared: independent of component labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import PRODUCTS, Block
from bayesvb.data.response_columns import RESPONSE_COLUMNS
from bayesvb.data.sources import AbstractSource
from bayesvb.numerics.arrays import DrawValues, Indices
from bayesvb.results.base import AbstractPublicModel
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import HasDraws, count, log_lik_blocks

LOG_LIKELIHOOD = ("log likelihood", "all rows")
"""Kind and place of the one quantity that depends on the simulated data too."""


def representative_rows(source: AbstractSource) -> Indices:
    """Positions of the row nearest the mean, then of rows as far as can be from those before.

    At most ``LIMITS.example_rows``, fewer if there are not as many different ones. Distances are
    between the standardised columns of all parts.

    References
    ----------
    Gonzalez (1985), Clustering to minimize the maximum intercluster distance, Theoretical Computer
    Science 38, for the rows after the first.
    """
    n_rows = source.n_rows
    candidates = np.unique(
        np.linspace(0, n_rows - 1, min(n_rows, LIMITS.quick_subsample)).round().astype(int)
    )
    designs = source.take(candidates).designs
    parts = {
        id(x): x
        for name, x in designs.items()
        if not name.endswith(PRODUCTS) and name not in RESPONSE_COLUMNS
    }
    places = np.concatenate([np.empty((0, len(candidates))), *parts.values()]).T
    chosen = [int(((places - places.mean(axis=0)) ** 2).sum(axis=1).argmin())]
    distance = np.full(len(places), np.inf)
    while len(chosen) < LIMITS.example_rows:
        distance = np.minimum(distance, ((places - places[chosen[-1]]) ** 2).sum(axis=1))
        if distance.max() == 0.0:
            break
        chosen.append(int(distance.argmax()))
    return candidates[chosen]


@dataclass(frozen=True)
class Quantities:
    """Numbers of the conditional distribution at some rows, and the log likelihood of all.

    Of a numeric response its mean, its standard deviation, and the probability of less than the
    median that was observed; of classes their probabilities; of a model that is of whole rows the
    log density of the rows.

    Attributes
    ----------
    model : AbstractPublicModel
    block : Block
        Rows at which they are evaluated, standardised, as they were observed.
    names : tuple of (str, str)
        Kind and place of each.
    medians : tuple of float
        Of every numeric response.
    """

    model: Any
    block: Block
    names: tuple[tuple[str, str], ...]
    medians: tuple[float, ...] = ()

    @classmethod
    def of(cls, model: AbstractPublicModel) -> Quantities:
        """Quantities of a public model at representative rows of its data."""
        observed = model.observed()
        at = representative_rows(model.source)
        units = units_of(model)
        one = units.plural.removesuffix("s")
        rows = [f"{one} {label}" for label in units.index[at]]
        levels, responses = model.design.levels, model.design.response_names
        names: list[tuple[str, str]] = []
        medians: tuple[float, ...] = ()
        if levels:
            names = [("probability", f"{level}, {row}") for level in shown(levels) for row in rows]
        elif isinstance(model, HasDrawnDistributions):
            of = [f"{name}, " if len(responses) > 1 else "" for name in responses]
            kinds = ("mean", "sd", "probability")
            names = [(kind, f"{name}{row}") for name in of for kind in kinds for row in rows]
            medians = tuple(float(np.median(values)) for values in observed.values())
        else:
            names = [("log density", row) for row in rows]
        block = model.source.take(at)
        if block.members is not None:  # at the first row of each group
            block = block.ungrouped().take(block.members.starts)
        return cls(model, block, (*names, LOG_LIKELIHOOD), medians)

    def __call__(
        self, drawn: HasDraws, source: AbstractSource
    ) -> Float[np.ndarray, "draws quantities"]:
        """Their values for every draw; the log likelihood is the one of these rows."""
        blocks = log_lik_blocks(drawn.core, source, drawn.draws, 0.0)
        whole = sum(values.sum(axis=1) for values in blocks)
        result = self._at_rows(drawn).reshape(count(drawn.draws), -1)
        return np.column_stack([result, np.asarray(whole)])

    def _at_rows(self, drawn: HasDraws) -> DrawValues:
        if self.model.design.levels:
            probabilities = drawn.core.drawn_probabilities(drawn.draws, self.block, few_points=True)
            return np.asarray(probabilities[:, -len(shown(self.model.design.levels)) :])
        if not self.medians:
            return np.asarray(drawn.core.log_lik(drawn.draws, self.block))
        mixtures = [
            self.model.drawn_mixture(drawn, self.block, i) for i in range(len(self.medians))
        ]
        each = [
            (one.mean(), one.sd(), one.below(median))
            for one, median in zip(mixtures, self.medians, strict=True)
        ]
        return np.stack([values for three in each for values in three], axis=1)


def shown(levels: tuple[str, ...]) -> tuple[str, ...]:
    """Classes whose probabilities are compared: of two the second."""
    return levels[1:] if len(levels) == 2 else levels
