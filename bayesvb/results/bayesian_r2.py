"""Bayesian R2: share of the variance of a response that the fitted means explain.

References
----------
Gelman, Goodrich, Gabry and Vehtari (2019), R-squared for Bayesian regression models, The American
Statistician 73(3), equation 3.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.intervals import tails
from bayesvb.errors import DataError
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.capabilities import HasDrawnDistributions
from bayesvb.results.named_draws import chunks, count

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.results.base import AbstractFit

WITHOUT_VARIANCE = ("classes", "levels", "none")
"""Kinds of responses that have no variance."""


def r2_table(fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Table of R2, one row per response; see ``Fit.r2``."""
    import pandas as pd

    model, kind = fit.model, fit.model.response.kind
    if kind in WITHOUT_VARIANCE or not isinstance(model, HasDrawnDistributions):
        raise DataError(
            "R2 needs a response with a variance, and this fit has "
            + ("no response" if kind == "none" else f"a response of {kind}"),
            hint="fit.loo() measures predictive accuracy",
        )
    check_all_rows(model, "R2", "it averages over them")
    block, names = model.block(model.rows()), model.design.response_names
    values = np.stack([_drawn_r2(fit, model, block, number) for number in range(len(names))])
    lower, upper = np.quantile(values, tails(prob), axis=1)
    sd = np.full(len(values), np.nan) if fit.is_point_estimate else values.std(axis=1, ddof=1)
    columns = {"estimate": values.mean(axis=1), "sd": sd, "lower": lower, "upper": upper}
    return pd.DataFrame(columns, index=pd.Index(names, name="response"))


def _drawn_r2(
    fit: AbstractFit, model: HasDrawnDistributions, block: Block, response: int
) -> Float[np.ndarray, " draws"]:
    """R2 of one response in every draw.

    Raises
    ------
    DataError
        If the variance of the response is infinite.
    """
    pieces = chunks(fit.core, InMemorySource((block,)), count(fit.draws))
    parts = [model.drawn_mixture(fit, piece, response) for piece in pieces]
    means = np.concatenate([part.mean() for part in parts], axis=-1)
    variances = np.concatenate([part.sd() ** 2 for part in parts], axis=-1)
    if np.isinf(variances).any():
        raise DataError(
            "R2 is not defined: the variance of the response is infinite, its tails too heavy",
            hint="fit.loo() measures predictive accuracy",
        )
    weights = fit.model.weights
    deviations = means - np.average(means, axis=-1, weights=weights)[..., None]
    explained = np.average(deviations**2, axis=-1, weights=weights)
    return np.asarray(explained / (explained + np.average(variances, axis=-1, weights=weights)))
