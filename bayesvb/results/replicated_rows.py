"""Data sets replicated from a fit, at the rows that it used."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.numerics.streams import Streams
from bayesvb.results.named_draws import chunks
from bayesvb.results.subsampling import source_at
from bayesvb.results.units import places_of_rows

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def replicated(
    fit: AbstractFit, at: Int[np.ndarray, " rows"], n_sets: int
) -> Float[np.ndarray, "sets responses _"]:
    """One data set per draw, of the first draws, at rows of the fit, in the data's units."""
    draws = {name: values[:n_sets] for name, values in fit.draws.items()}
    rng = Streams(fit.seed).replicated_sets(len(at), n_sets)
    units, place = places_of_rows(fit, at)
    pieces = [
        np.stack(list(fit.model.replicates(fit, draws, block, rng).values()), axis=1)
        for block in chunks(fit.core, source_at(fit, units), n_sets)
    ]
    return np.concatenate(pieces, axis=2)[:, :, place]
