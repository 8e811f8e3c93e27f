"""Further columns of a response: numbers of a row besides the response itself.

Such columns are a matrix of their own, by the name of their kind, next to the matrices of the
parts. Blocks hold them among the designs; rows whose response is unknown have none.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.numerics.arrays import ResponseRows

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


def upper_ends(block: Block) -> ResponseRows:
    """Responses, or the upper ends of their intervals."""
    ends = block.designs.get(INTERVAL)
    return block.response if ends is None else block.response + ends[1]


def coarsened(block: Block, response: ResponseRows) -> Block:
    """Columns with other responses, censored or rounded as they would have been observed.

    A row that is censored is censored if its new response is beyond the same limit. Any other
    interval is a cell of a grid, and the new interval is the cell with the new response. Rows that
    are seen have no limit.
    """
    ends = block.designs.get(INTERVAL)
    if ends is None:
        return replace(block, response=np.ascontiguousarray(response))
    (below, above), (limit,), new = ends, block.response, response[0]
    width, first = below + above, limit - below
    cell = np.isfinite(width) & (width > 0.0)
    unit = np.where(cell, width, 1.0)
    with np.errstate(invalid="ignore"):
        middle = first + (np.floor((new - first) / unit) + 0.5) * unit
    beyond = np.where(np.isinf(above), new > limit, new < limit) & np.isinf(width)
    recorded = np.where(cell, middle, np.where(beyond, limit, new))
    sides = np.where(cell, 0.5 * width, np.where(beyond, ends, 0.0))
    designs = {**block.designs, INTERVAL: sides}
    return replace(block, response=recorded[None], designs=designs)


def with_response_columns(block: Block, names: tuple[str, ...]) -> dict[str, np.ndarray]:
    """Designs of these parts, with the further columns of the response."""
    return {name: x for name, x in block.designs.items() if name in (*names, *RESPONSE_COLUMNS)}
