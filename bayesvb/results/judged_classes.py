"""Probabilities of the classes of rows left out, and what they are judged by."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.evaluation.reliability import Reliability, reliability
from bayesvb.numerics.streams import Streams
from bayesvb.results.class_folds import HeldOutClasses, held_out_classes
from bayesvb.results.multinomial_baseline import multinomial_baseline

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_ROWS = 5000
"""Rows behind the reliability curves; more make them no clearer."""

Probabilities = Float[np.ndarray, "rows classes"]


@dataclass(frozen=True, eq=False)
class JudgedClasses:
    """What both the checks of classes and the section on classification look at, made once.

    Attributes
    ----------
    fit : Fit
        Of a ``ConditionalMixtureNetwork`` for classes.
    found : HeldOutClasses
    """

    fit: AbstractFit
    found: HeldOutClasses

    @cached_property
    def baseline(self) -> tuple[Probabilities, str] | None:
        """Multinomial regression on the same folds and its prior; None without folds."""
        folds = self.found.folds
        return None if folds is None else multinomial_baseline(self.fit, folds)

    @cached_property
    def reliability(self) -> Reliability:
        """Reliability curves of all classes, from a choice of many rows."""
        found, n_rows = self.found, len(self.found.codes)
        rng, at = Streams(self.fit.seed).reliability(n_rows), np.arange(n_rows)
        if n_rows > MOST_ROWS:
            at = np.sort(rng.choice(at, MOST_ROWS, replace=False))
        return reliability(found.probabilities[at], found.codes[at], rng)


def judged_classes(fit: AbstractFit) -> JudgedClasses:
    """Probabilities of rows left out with what they are judged by; the fit keeps them.

    Raises
    ------
    DataError
        If the response of the fit has no classes.
    """
    return fit.cache.once("class evaluation", lambda: JudgedClasses(fit, held_out_classes(fit)))
