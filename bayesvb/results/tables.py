"""Tables that models make of what their parts say."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple
from typing import TYPE_CHECKING

from bayesvb.variational.descriptions import PriorRow

if TYPE_CHECKING:
    import pandas as pd


def prior_frame(rows: Sequence[PriorRow]) -> pd.DataFrame:
    """Table of the priors: index (part, term); prior in words, its centre and its scale."""
    import pandas as pd

    table = pd.DataFrame(
        [astuple(row) for row in rows], columns=["part", "term", "prior", "centre", "scale"]
    )
    return table.set_index(["part", "term"])
