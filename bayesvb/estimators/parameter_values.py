"""Values of all parameters of a model, given by name: checked, and with an axis of draws."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from bayesvb.errors import DataError
from bayesvb.results.named_draws import count
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel


def checked_draws(core: AnyModel, parameters: Mapping[str, object]) -> tuple[Draws, bool]:
    """The values as draws, and whether they were one point without an axis of draws.

    Raises
    ------
    DataError
        A parameter is missing or unknown, has another shape, or a value that it cannot have.
    """
    if not isinstance(parameters, Mapping):
        raise DataError(
            f"parameters is {type(parameters).__name__}, not a mapping from names to arrays",
            hint="model.prior_draws() returns one",
        )
    usual = core.prior_draws(1, np.random.default_rng(0))
    _check_names(list(usual), list(parameters))
    given = {name: _numbers(name, parameters[name]) for name in usual}
    single = all(values.shape == usual[name].shape[1:] for name, values in given.items())
    draws = {name: values[None] if single else values for name, values in given.items()}
    for name, values in draws.items():
        if values.ndim == 0 or values.shape[1:] != usual[name].shape[1:]:
            one = usual[name].shape[1:]
            raise DataError(
                f"parameters[{name!r}] has shape {given[name].shape}; it must be {one} "
                f"for one point, or (draws, {', '.join(map(str, one))}) for many"
            )
    if len({len(values) for values in draws.values()}) > 1:
        sizes = ", ".join(f"{name} {len(values)}" for name, values in draws.items())
        raise DataError(f"parameters differ in the number of draws: {sizes}")
    _check_values(core, draws)
    return draws, single


def _check_names(usual: list[str], given: list[str]) -> None:
    """Raise unless the names match the model's."""
    for name in (*usual, *given):
        if name not in given or name not in usual:
            why = "is missing" if name in usual else "is not a parameter of this model"
            raise DataError(
                f"parameters[{name!r}] {why}; the parameters are {', '.join(usual)}",
                hint="model.prior_draws() has the names and shapes",
            )


def _numbers(name: str, values: object) -> np.ndarray:
    """The values as an array of floats."""
    try:
        return np.asarray(values, dtype=float)
    except (TypeError, ValueError):
        raise DataError(f"parameters[{name!r}]={values!r} are not numbers") from None


def _check_values(core: AnyModel, draws: Draws) -> None:
    """Raise unless all values are in their supports, if the model defines them."""
    space = core.parameter_space()
    if space is None or not count(draws):
        return
    for name, support in space.supports.items():
        if not support.contains(draws[name]):
            raise DataError(f"parameters[{name!r}] has values that are not {support.words}")
