"""Sensitivity of a fit to the values of its prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import EntryVector
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.results.base import AbstractFit, with_fields
from bayesvb.results.named_changes import NamedChanges
from bayesvb.results.robust import jackknife
from bayesvb.sensitivity.deletion import SHARES
from bayesvb.sensitivity.jackknife import Jackknife
from bayesvb.sensitivity.solvers import full_step
from bayesvb.variational.model import AnyModel

SMALL = 0.05
"""Change of the binary logarithm of a number of which derivatives are differences."""

STEPS = (-1.0, 1.0, -SMALL, SMALL)
"""Changes of the binary logarithm of a number: halved, doubled, and a little to either side."""


def prior_sensitivity(fit: AbstractFit) -> pd.DataFrame:
    """Changes of every parameter with every number of the prior; see ``Fit.prior_sensitivity``."""
    named, values, each, _ = changes_with_numbers(fit, STEPS)
    parts = {}
    for (name, value), changes in zip(values.items(), each, strict=True):
        columns = {
            "value": value,
            "halved": changes[0],
            "doubled": changes[1],
            "derivative": (changes[3] - changes[2]) / (2.0 * SMALL),
        }
        parts[name] = pd.DataFrame(columns, index=named.index)
    return pd.concat(parts, names=["number"])


def changes_with_numbers(
    fit: AbstractFit, steps: Sequence[float]
) -> tuple[
    NamedChanges,
    dict[str, float],
    Float[np.ndarray, "numbers steps parameters"],
    list[list[object]],
]:
    """Changes of every parameter, in its standard deviations, with every number that matters.

    Parameters
    ----------
    fit : AbstractFit
    steps : sequence of float
        Changes of the binary logarithm of a number.

    Returns
    -------
    changes : NamedChanges
        Names and standard deviations of the parameters of the heaviest restart.
    values : dict of str to float
        Numbers that the fit depends on.
    moved : ndarray, shape (numbers, steps, parameters)
    posteriors : list of list
        Posterior of each number and step.

    Raises
    ------
    DataError
        If the fit does not depend on the prior, or has no linear response.
    """
    if not fit.engine.prior_counts:
        raise DataError(
            f"method={fit.method!r} with prior=False does not depend on the prior",
            hint="fit with prior=True, or with method='cavi'",
        )
    one = fit.parts[0].fit
    sensitivity = jackknife(one, "sensitivity to its prior")
    named, values = NamedChanges(one, sensitivity), numbers(one.model.priors)
    with single_threaded_blas(), np.errstate(all="ignore"):
        start = _pass(one, sensitivity.deletion.model)
    posteriors = [
        [_moved(one, sensitivity, start, (name, step)) for step in steps] for name in values
    ]
    points = [sensitivity.centre(posterior) for several in posteriors for posterior in several]
    # all points at once: what a batch costs hardly depends on how many there are
    moved = named.in_sds(named.parameters(np.stack(points)), named.sd)
    each = moved.reshape(len(values), len(steps), -1)
    # Largest change, in standard deviations, of a quantity that does not depend on the prior.
    matter = np.flatnonzero(np.abs(each).max(axis=(1, 2)) >= 1e-9)
    names = [list(values)[number] for number in matter]
    kept = {name: values[name] for name in names}
    return named, kept, each[matter], [posteriors[number] for number in matter]


def numbers(priors: Any) -> dict[str, float]:
    """Numeric parameters of a prior by name: neither switches nor learned values."""
    values = {field.name: getattr(priors, field.name) for field in fields(priors)}
    return {
        name: float(value)
        for name, value in values.items()
        if isinstance(value, int | float) and not isinstance(value, bool)
    }


def _moved(fit: AbstractFit, own: Jackknife, start: EntryVector, change: tuple[str, float]) -> Any:
    """Posterior where a number is multiplied by a power of two, the rows answering to first order.

    The iteration under the unchanged prior, ``start``, is shared by all parameters.
    """
    name, doublings = change
    other, deletion = _with_number(fit, name, 2.0**doublings), own.deletion
    at = deletion.stats.to_vector()
    with single_threaded_blas(), np.errstate(all="ignore"):
        direct = _pass(fit, other) - start
        answer = deletion.solve(direct[None])[0]
        for share in SHARES:
            moved = deletion.stats.with_vector(at + share * answer)
            try:
                return other.update(moved)
            except np.linalg.LinAlgError:
                continue
    return deletion.posterior


def _with_number(fit: AbstractFit, name: str, factor: float) -> AnyModel:
    """The model on the standardised scale, its components as in the fit, with another prior."""
    priors = fit.model.priors
    model = with_fields(fit.model, priors=replace(priors, **{name: factor * getattr(priors, name)}))
    return model.relabelled(fit.engine.model_for(model.core), fit.order).with_complete_draws()


def _pass(fit: AbstractFit, core: AnyModel) -> EntryVector:
    """Statistics after one undamped iteration from the statistics of the fit."""
    posterior = core.update(fit.stats)
    sums = fit.model.source.map_reduce(partial(core.e_step, posterior)).stats
    return full_step(core, posterior, sums)
