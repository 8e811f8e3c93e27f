"""From a formula, data and case weights to a design."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.case_weights import weights_and_frame
from bayesvb.design import Design, build_design
from bayesvb.formula import Formula


def read(
    formula: Formula, data: object, weights: object, *, missing: str, **options: Any
) -> tuple[Design, Float[np.ndarray, " rows"] | None]:
    """Design of the complete rows, and their case weights.

    Parameters
    ----------
    formula : Formula
    data : table
    weights : str or sequence of float, optional
        A column's name, or one number per row of the data.
    missing : str
        What to do with rows that lack a value; of ``build_design``, as the ``options`` are.

    Raises
    ------
    FormulaError, DataError
        The message shows what is wrong and what to write.
    """
    weight, frame = weights_and_frame(weights, data, missing=missing)
    design = build_design(formula, frame, missing=missing, **options)
    return design, None if weight is None else weight[design.complete]
