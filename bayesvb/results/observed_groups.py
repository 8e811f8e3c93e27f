"""Predictions of rows of groups of which some responses are known already."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.errors import DataError
from bayesvb.results.capabilities import HasGroups

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.distributions.prediction import PredictionOptions
    from bayesvb.results.base import AbstractFit


def predict_with(
    fit: AbstractFit,
    data: object,
    kind: str,
    options: PredictionOptions,
    observed: object,
    *,
    calibrated: bool | str,
) -> pd.Series | pd.DataFrame:
    """Prediction given rows with responses; see ``Fit.predict``.

    Raises
    ------
    DataError
        If rows do not come in groups, or predictions are to be recalibrated as well.
    """
    model: object = fit.model
    if not isinstance(model, HasGroups) or model.grouping is None:
        raise DataError(
            "observed= tells of the components of groups, and rows of this model come in none",
            hint="give the model their column: group='id'",
        )
    if calibrated is not False:
        raise DataError(
            f"calibrated={calibrated!r} is of rows without others of their group",
            hint="leave observed or calibrated out",
        )
    return model.predict_with(fit, data, kind, options, observed)
