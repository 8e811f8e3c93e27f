"""Loadings of the first principal component, and the variance that components carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.results.capabilities import HasScores

from ..cells.names import called
from ..cells.numerals import counted, enumerated, numeral, percent

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LARGE = 0.5
"""Loadings of at least this proportion of the largest describe a component."""

MOST_NAMED = 3
"""Variables that a sentence names at each end of a component."""

DOMINANT = 0.5
"""Share of the variance from which one variable that is not standardised is named."""


def standard_deviations(fit: AbstractFit) -> Float[np.ndarray, " variables"]:
    """Standard deviation of the observed values of each variable; one of a constant."""
    each = [float(np.nanstd(values)) or 1.0 for values in fit.model.observed().values()]
    return np.array(each)


def is_standardised(model: HasScores) -> bool:
    """Whether each variable is divided by its own scale before components are sought."""
    return len(np.unique(model.scaling.scale)) > 1


def loadings(fit: AbstractFit, component: int = 0) -> Float[np.ndarray, "draws variables"]:
    """Draws of loadings, in standard deviations of each variable per unit of the score."""
    return np.asarray(fit.named_draws.values["loadings"][:, component] / standard_deviations(fit))


def scale_words(fit: AbstractFit, model: HasScores) -> str:
    """Whether variables are standardised; if not, the one that has most of the variance."""
    if is_standardised(model):
        return "Variables are standardised in the model."
    variance = standard_deviations(fit) ** 2
    share, most = variance / variance.sum(), int(variance.argmax())
    if share[most] < DOMINANT:
        return "Variables are not standardised in the model."
    name = called(fit.model.design, list(fit.model.observed())[most])
    return (
        f"Variables are not standardised: {name} has {_share(float(share[most]))} of the variance "
        "in the units of the data."
    )


def component_sentence(fit: AbstractFit, model: HasScores) -> str:
    """Share of the variance of effective components, and the variables of the first of them."""
    frame = fit.components()
    effective = frame[frame["effective"]]
    if effective.empty:
        return "No component has a variance above the noise"
    shares = effective["variance"].to_numpy(dtype=float)
    standardised = "standardised " if is_standardised(model) else ""
    more = f", the first alone {_share(shares[0])}" if len(shares) > 1 else ""
    carries = "carries" if len(effective) == 1 else "carry"
    return (
        f"{_of_all(len(effective), len(frame))} {carries} {_share(shares.sum())} of the "
        f"{standardised}variance{more}; it {_poles(fit)}"
    )


def _of_all(number: int, total: int) -> str:
    """Number of components out of all."""
    if number == total == 2:
        return "Both components"
    if number == total > 1:
        return f"All {counted(total, 'component')}"
    return f"{numeral(number)} of {counted(total, 'component')}"


def _poles(fit: AbstractFit) -> str:
    """Variables with large loadings on the first component, by sign."""
    mean = loadings(fit).mean(axis=0)
    names = [called(fit.model.design, name) for name in fit.model.observed()]
    large = [j for j in np.argsort(-np.abs(mean)) if abs(mean[j]) >= LARGE * np.abs(mean).max()]
    ends = [[names[j] for j in large if sign * mean[j] > 0.0][:MOST_NAMED] for sign in (1.0, -1.0)]
    if all(ends):
        return f"sets {enumerated(ends[0])} against {enumerated(ends[1])}"
    (only,) = filter(None, ends)
    return f"is mostly {only[0]}" if len(only) == 1 else f"combines {enumerated(only)}"


def _share(share: float) -> str:
    """A share of the variance in a sentence."""
    return percent(share).replace("> ", "more than ")
