"""Class probabilities of held-out rows, from five-fold cross-validation, and their evaluation."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.engines.folds import FOLDS, assigned
from bayesvb.errors import DataError
from bayesvb.evaluation.reliability import Reliability, reliability
from bayesvb.numerics.arrays import RowIntegers
from bayesvb.numerics.streams import Streams
from bayesvb.results.baselines import multinomial_baseline
from bayesvb.results.leave_one_out import fold_probabilities, leave_folds_out
from bayesvb.results.limits import LIMITS
from bayesvb.results.subsampling import folds_affordable, left_out_at

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True)
class HeldOutClasses:
    """Predicted and observed classes of all rows.

    Attributes
    ----------
    codes : ndarray, shape (rows,)
        Observed classes.
    probabilities : ndarray, shape (rows, classes)
        Predicted without the row, or by the fit if ``folds`` is None.
    fitted : ndarray, shape (rows, classes)
        Predicted by the fit, which has seen the row.
    folds : ndarray, shape (rows,), or None
        Fold of each row; None if there were too many rows for it.
    """

    codes: RowIntegers
    probabilities: Float[np.ndarray, "rows classes"]
    fitted: Float[np.ndarray, "rows classes"]
    folds: RowIntegers | None


def held_out_events(fit: AbstractFit, at: RowIntegers) -> HeldOutClasses:
    """Probabilities of 0 and 1 of rows of a binary response, each without its row.

    Rows of groups that share their component are not held out one by one: they are fitted.
    """
    fitted = fit.predictive(fit.model.design.data_at(at)).mean()
    codes = np.asarray(fit.model.design.response, dtype=int).reshape(-1)[at]
    both = np.column_stack([1.0 - fitted, fitted])
    if fit.model.grouping is not None:
        return HeldOutClasses(codes, both, both, None)
    observed = np.exp(left_out_at(fit, at).pointwise).clip(0.0, 1.0)
    one = np.where(codes == 1, observed, 1.0 - observed)
    return HeldOutClasses(codes, np.column_stack([1.0 - one, one]), both, at)


def held_out_classes(fit: AbstractFit) -> HeldOutClasses:
    """Probabilities of every row from a fit to the other four fifths of the rows.

    The run of each weighted restart is continued without the fold. Reweighting draws by
    importance would not help: a mean-field posterior is so narrow that no draw has
    forgotten the row. Restarts that are combined count by their weight.

    Parameters
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes.

    Raises
    ------
    DataError
        If the response of the fit has no classes.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("iris")
    >>> model = bvb.ConditionalMixtureNetwork("label ~ petal_width", data, n_experts=1)
    >>> found = held_out_classes(model.fit(seed=1, restarts=1, draws=50))
    >>> bool((found.probabilities.argmax(axis=1) == found.codes).mean() > 0.9)
    True
    """
    model = fit.model
    if not model.design.levels:
        raise DataError(
            f"the response of this fit of {type(model).__name__} has no classes",
            hint="fit.loo() works for any fit",
        )
    codes = np.asarray(model.design.response, dtype=int)
    fitted = fit.predict(kind="probability").to_numpy(dtype=float)
    if not folds_affordable(fit) or len(codes) < 2 * FOLDS:
        return HeldOutClasses(codes, fitted, fitted, None)
    leave_folds_out(fit)
    held_out = np.zeros_like(fitted)
    for part in fit.parts:
        held_out += part.weight * fold_probabilities(part.fit).T
    held_out = held_out / held_out.sum(axis=1, keepdims=True)
    return HeldOutClasses(codes, held_out, fitted, assigned(model.source))


Probabilities = Float[np.ndarray, "rows classes"]


@dataclass(frozen=True, eq=False)
class JudgedClasses:
    """Evaluation of classes that the checks and the section on classification share.

    Attributes
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes.
    held_out : HeldOutClasses
    """

    fit: AbstractFit
    held_out: HeldOutClasses

    @cached_property
    def baseline(self) -> tuple[Probabilities, str] | None:
        """Multinomial regression on the same folds and its prior; None without folds."""
        folds = self.held_out.folds
        return None if folds is None else multinomial_baseline(self.fit, folds)

    @cached_property
    def reliability(self) -> Reliability:
        """Reliability curves of all classes, from a choice of many rows."""
        bins, n_rows = self.held_out, len(self.held_out.codes)
        rng, at = Streams(self.fit.seed).reliability(n_rows), np.arange(n_rows)
        if n_rows > LIMITS.subsample:
            at = np.sort(rng.choice(at, LIMITS.subsample, replace=False))
        return reliability(bins.probabilities[at], bins.codes[at], rng)


def judged_classes(fit: AbstractFit) -> JudgedClasses:
    """Probabilities of held-out rows with their evaluation; the fit keeps them.

    Raises
    ------
    DataError
        If the response of the fit has no classes.
    """
    return fit.cache.once("class evaluation", lambda: JudgedClasses(fit, held_out_classes(fit)))
