"""Coefficients of a fit with their covariance, in the units of the data."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from bayesvb.data.parts import MEAN
from bayesvb.results.summary import coefficient_table, in_reading_order, labels

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit


def coef(fit: AbstractFit) -> pd.Series:
    """Posterior mean (or point estimate) of every coefficient; see ``Fit.coef``."""
    whole = coefficient_table(fit)[MEAN]
    draws = _draws(fit)
    return whole[whole.index.isin(draws.columns)].rename("coef")


def vcov(fit: AbstractFit) -> pd.DataFrame:
    """Posterior covariance of the coefficients; see ``Fit.vcov``."""
    import pandas as pd

    draws = _draws(fit)
    values = np.full((draws.shape[1],) * 2, np.nan) if fit.only_points else np.cov(draws.T, ddof=1)
    return pd.DataFrame(np.atleast_2d(values), draws.columns, draws.columns)


def _draws(fit: AbstractFit) -> pd.DataFrame:
    """Draws of what is not fixed and has a sign; where no response is explained, of all parameters.

    A column for each, with the labels and in the order of ``Fit.summary``.
    """
    import pandas as pd

    named = fit.named
    explains = fit.model.design.response is not None
    shown = [name for name in named.parts if not explains or name in named.signed]
    tables = []
    for name in shown:
        flat = named.values[name].reshape(len(named.values[name]), -1)
        own = pd.DataFrame(flat, columns=labels(named, name, named.parts[name]))
        varies = np.ptp(flat, axis=0) > 0.0
        tables.append(own if fit.only_points else own.loc[:, varies])
    whole: pd.DataFrame = pd.concat(tables, axis=1)
    whole.columns = in_reading_order(whole.columns)
    return whole
