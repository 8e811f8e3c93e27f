"""Rows of a principal component analysis: read, scaled, and enough for its components."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_count
from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.estimators.model_rows import ModelRows, RowKind, RowOptions, model_rows
from bayesvb.estimators.row_scales import (
    VARIABLES,
    GappedScaling,
    block_with_gaps,
    gapped_scaling,
)
from bayesvb.formula.parser import Formula


def pca_rows(
    formula: Formula, data: object, rows: RowOptions, *, common: bool, active: bool
) -> ModelRows[GappedScaling]:
    """Variables in their scaling, wherever the rows are.

    Parameters
    ----------
    formula : Formula
    data : table
    rows : RowOptions
    common : bool
        One scale for all variables in place of one each.
    active : bool
        Whether they are standardised.

    Raises
    ------
    DataError
        If the data cannot be used.

    Warns
    -----
    DesignWarning
        Of variables that never vary.
    """
    scaling = partial(gapped_scaling, common, active)
    kind = RowKind(scaling, block_with_gaps, response="none", warn=False)
    found = model_rows(formula, data, rows, kind)
    _warn_of_constants(found.scales.ends, found.design.terms[VARIABLES])
    return found


def number_of_components(given: int | None, n_rows: int, n_dims: int) -> int:
    """The number asked for, or the largest there can be."""
    if n_dims < 2:
        raise DataError("there is one variable only", hint="components need two or more")
    if given is None:
        return int(min(n_dims, n_rows)) - 1
    check_count("n_components", given, most=n_dims - 1, what="that these variables can have")
    check_count("n_components", given, most=n_rows - 1, what="that these rows can have")
    return int(given)


def _warn_of_constants(ends: Float[np.ndarray, "2 dims"], names: Sequence[str]) -> None:
    """Warn of variables that never vary, by their smallest and largest values."""
    constant = ends[0] == ends[1]
    if constant.any():
        listed = ", ".join(f"`{names[i]}`" for i in np.flatnonzero(constant).tolist())
        warn(
            f"constant variables tell nothing of the components, and are taken to have the noise "
            f"of the others: {listed}",
            DesignWarning,
        )
