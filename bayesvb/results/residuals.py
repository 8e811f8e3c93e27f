"""Fitted values, and residuals on the scale of the response or on that of the normal."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.argument_checks import check_choice
from bayesvb.errors import DataError
from bayesvb.evaluation.normal_scores import normal_scores
from bayesvb.results.pit import check_numeric, pit

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

KINDS = ("quantile", "response")


def fitted(fit: AbstractFit) -> pd.Series | pd.DataFrame:
    """Predictive means, of classes their probabilities, of the rows used; see ``Fit.fitted``."""
    import pandas as pd

    design = fit.model.design
    if design.response is None:
        raise DataError(
            f"{type(fit.model).__name__} explains no response, so that nothing is fitted to it",
            hint=f"fit.predict(response={next(iter(fit.model.observed()))!r}) predicts a variable "
            "from the others",
        )
    if fit.model.response.is_categorical:
        return fit.predict(kind="probability")
    names = design.response_names
    if len(names) == 1:
        return pd.Series(fit.predict(kind="mean"), name="fitted")
    means = {name: fit.predict(kind="mean", response=name) for name in names}
    return pd.DataFrame(means, index=design.index)


def residuals(fit: AbstractFit, kind: str) -> pd.Series | pd.DataFrame:
    """Residuals of the rows used; see ``Fit.residuals``."""
    import pandas as pd

    check_choice("kind", kind, KINDS)
    if kind == "quantile":
        check_numeric(fit)
        values = pit(fit)
        if isinstance(values, pd.Series):
            return pd.Series(normal_scores(values.to_numpy()), values.index, name="residual")
        scores = {name: normal_scores(values[name].to_numpy()) for name in values}
        return pd.DataFrame(scores, index=values.index)
    found, design = fitted(fit), fit.model.design
    if fit.model.response.is_categorical:
        codes = np.asarray(design.response)
        hits = np.eye(len(design.class_labels))[codes]
        return pd.DataFrame(hits - found.to_numpy(), found.index, list(design.class_labels))
    observed = np.asarray(design.response, dtype=float).reshape(design.n_rows, -1)
    if isinstance(found, pd.Series):
        return pd.Series(observed[:, 0] - found.to_numpy(), found.index, name="residual")
    return pd.DataFrame(observed - found.to_numpy(), found.index, list(design.response_names))
