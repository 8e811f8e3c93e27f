"""Rows of a network: of a table, or of one that is read in blocks."""

from __future__ import annotations

from functools import partial

from bayesvb.data.standardised_blocks import Scales
from bayesvb.estimators.base import read
from bayesvb.estimators.network_assembly import network_scales, network_source
from bayesvb.estimators.network_checks import check_response
from bayesvb.estimators.streamed_regression import streamed_network
from bayesvb.estimators.streaming import ModelRows, RowOptions, model_rows
from bayesvb.formula.parser import Formula


def network_rows(
    formula: Formula, data: object, rows: RowOptions, *, covariance: str, active: bool
) -> ModelRows[Scales]:
    """Rows whose response a network can explain, in its scales.

    Parameters
    ----------
    formula : Formula
    data : table
    rows : RowOptions
    covariance : str
        Of the latent vector.
    active : bool
        Whether columns, and responses that are numbers, are standardised.

    Raises
    ------
    DataError
        If the data cannot be used, or the covariance does not go with numbers.
    """
    in_memory = partial(_in_memory, covariance=covariance, active=active)
    found = model_rows(formula, data, rows, streamed_network(active=active), in_memory)
    if found.design.all_rows is not None:  # of a table it was checked before it was scaled
        check_response(found.design, covariance)
    return found


def _in_memory(
    formula: Formula, data: object, rows: RowOptions, *, covariance: str, active: bool
) -> ModelRows[Scales]:
    """Rows of a table."""
    weights = rows.weights, rows.weights_are
    design, given = read(
        formula, data, weights, missing=rows.missing, response="any", context=rows.context
    )
    response, matrices = check_response(design, covariance), design.matrices
    scales = network_scales(
        matrices,
        design.terms,
        response,
        given.values,
        classes=design.levels is not None,
        active=active,
        orthogonal=design.orthogonal,
    )
    source = network_source(scales, matrices, response, given.values)
    return ModelRows(design, given, scales, source)
