"""The statistics of a fit as a start of another fit of the same model."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import numpy as np

from bayesvb.data.statistics import SufficientStats
from bayesvb.errors import DataError
from bayesvb.models.mixture import Mixture, MixtureStats

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit, AbstractPublicModel


def start_of(
    model: AbstractPublicModel, fit: AbstractFit, blank: SufficientStats
) -> SufficientStats:
    """Statistics of the fit, or of its heaviest restart, in the order of the model's components.

    Parameters
    ----------
    model : AbstractPublicModel
        The model that is fitted.
    fit : Fit
    blank : SufficientStats
        Statistics of no rows of the model.

    Raises
    ------
    DataError
        If the fit is of a model of another class, or whose parameters have other shapes.
    """
    previous = fit.parts[0].fit
    _check_same(model, fit, blank)
    inverse = tuple(np.argsort(previous.order).tolist())
    stats: SufficientStats = previous.stats
    if inverse != tuple(range(len(inverse))):  # the label of a component is its place by share
        stats = cast(Mixture, model.core).permuted(inverse, cast(MixtureStats, stats))[1]
    return stats


def _check_same(model: AbstractPublicModel, fit: AbstractFit, blank: SufficientStats) -> None:
    """Raise unless model and fit have one class, and parameters of the same shapes."""
    kind, other = type(model).__name__, type(fit.model).__name__
    if kind != other:
        raise DataError(
            f"start is a fit of {other}, and this model is a {kind}",
            hint="start from a fit of the same kind of model",
        )
    leaves = (blank.leaves(), fit.parts[0].fit.stats.leaves())
    shapes = [[(name, np.shape(leaf)) for name, leaf in one] for one in leaves]
    families = [one.options().get("family") for one in (model, fit.model)]
    if shapes[0] != shapes[1] or families[0] != families[1]:
        raise DataError(
            f"start is a fit of {fit.model.formula.canonical()} with "
            f"{fit.model.size_name}={fit.model.size}, but this model is "
            f"{model.formula.canonical()} with {model.size_name}={model.size}",
            hint="start from a fit with the same formula, family and number of components",
        )
