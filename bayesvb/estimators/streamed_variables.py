"""Models of variables on rows that are not all in memory: their scales, from moments."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.standardised_blocks import gapped_block, variables_block
from bayesvb.data.streamed_rows import EncodedRows
from bayesvb.errors import DataError
from bayesvb.estimators.streaming import StreamedKind
from bayesvb.formula.parser import RESPONSE
from bayesvb.formula.passes.streamed_design import StreamedDesign

VARIABLES = "variables"


class GappedScaling(NamedTuple):
    """Scaling of variables, their ends in the units of the data, and whether values are missing."""

    scaling: Scaling
    ends: Float[np.ndarray, "2 dims"]
    gapped: bool


def streamed_variables(*, active: bool) -> StreamedKind[Scaling]:
    """Variables that are all there, on rows that are read in blocks.

    Parameters
    ----------
    active : bool
        Whether they are standardised.
    """
    return StreamedKind(partial(_of_variables, active), _of_complete, response="none")


def streamed_gapped(*, common: bool, active: bool) -> StreamedKind[GappedScaling]:
    """Variables of which values may be missing, on rows that are read in blocks.

    Parameters
    ----------
    common : bool
        One scale for all variables in place of one each.
    active : bool
        Whether they are standardised.
    """
    return StreamedKind(partial(_of_gapped, common, active), _of_some, response="none", warn=False)


def streamed_sample(*, active: bool) -> StreamedKind[Scaling]:
    """A response without covariates, on rows that are read in blocks.

    Parameters
    ----------
    active : bool
        Whether it is standardised.
    """
    return StreamedKind(partial(_of_response, active), _of_responses)


def _of_variables(active: bool, streamed: StreamedDesign) -> Scaling:
    """Scaling of variables."""
    found = streamed.moments[VARIABLES]
    if (found.lowest == found.highest).all():
        raise DataError("the variables are the same in every row: there is nothing to mix")
    return Scaling.of_response_moments(found, centred=True, active=active)


def _of_response(active: bool, streamed: StreamedDesign) -> Scaling:
    """Scaling of a response."""
    return Scaling.of_response_moments(streamed.moments[RESPONSE], centred=True, active=active)


def _of_gapped(common: bool, active: bool, streamed: StreamedDesign) -> GappedScaling:
    """Scaling of variables from the values that are there."""
    names, moments = streamed.design.terms[VARIABLES], streamed.moments
    if VARIABLES in moments:
        each = moments[VARIABLES].columns()
    else:
        each = [moments[name] for name in names]
    scaling = Scaling.of_gapped_moments(each, common=common, active=active)
    ends = np.array([[one.lowest[0] for one in each], [one.highest[0] for one in each]])
    complete = VARIABLES in moments or not any(streamed.rows.missing.values())
    return GappedScaling(scaling, ends, not complete)


def _of_complete(scaling: Scaling, rows: EncodedRows) -> Block:
    """A block of variables."""
    return variables_block(scaling, rows.matrices[VARIABLES], rows.weight)


def _of_some(scales: GappedScaling, rows: EncodedRows) -> Block:
    """A block of variables with gaps."""
    matrix = rows.matrices[VARIABLES]
    return gapped_block(scales.scaling, matrix, rows.weight, gapped=scales.gapped)


def _of_responses(scaling: Scaling, rows: EncodedRows) -> Block:
    """A block of a response alone."""
    assert rows.response is not None
    return Block({}, scaling.rows_last(rows.response), rows.weight)
