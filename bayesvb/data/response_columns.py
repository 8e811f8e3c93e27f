"""Further columns of a response: numbers of a row besides the response itself.

Such columns are a matrix of their own beside the matrices of the parts, by the name of their kind.
Blocks hold them among the designs; rows whose response is unknown have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling

__all__ = ["INTERVAL", "RESPONSE_COLUMNS", "TRIALS", "FurtherColumns", "with_response_columns"]

INTERVAL = "interval"
"""Distances from the response to the ends of the interval that it is known to lie in."""

TRIALS = "trials"
"""Number of trials of which the response counts the successes."""


@dataclass(frozen=True)
class FurtherColumns:
    """Further columns of a response.

    Attributes
    ----------
    names : tuple of str
    in_units : bool
        Whether they are lengths in units of the response, which are divided by its scale; other
        numbers stay as they are.
    """

    names: tuple[str, ...]
    in_units: bool

    def scaling(self, response: Scaling) -> Scaling:
        """Scaling of these columns from the scaling of the response; nothing is shifted."""
        unit = response.scale[0] if self.in_units else 1.0
        return Scaling(np.zeros(len(self.names)), np.full(len(self.names), unit), None)


RESPONSE_COLUMNS: Mapping[str, FurtherColumns] = {
    INTERVAL: FurtherColumns(("below", "above"), in_units=True),
    TRIALS: FurtherColumns(("trials",), in_units=False),
}
"""Kinds of further columns by the name of their matrix."""


def with_response_columns(block: Block, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Designs of these parts, with the further columns of the response."""
    return {name: x for name, x in block.designs.items() if name in (*names, *RESPONSE_COLUMNS)}
