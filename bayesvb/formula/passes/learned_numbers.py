"""Stage 3, encode: the numbers that a formula has learned of all rows, to be kept and put back."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields, is_dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.formula.encoder import Encoder


def learned_numbers(encoder: Encoder) -> Float[np.ndarray, " numbers"]:
    """Knots, centres, scales and coefficients of all transforms and terms, one after the other.

    Levels are not included: they are kept with rows that contain them.

    Parameters
    ----------
    encoder : Encoder
    """
    values = [np.empty(0)]
    for state in _states(encoder):
        _changed(state, None, values)
    return np.concatenate(values)


def with_learned_numbers(encoder: Encoder, numbers: Float[np.ndarray, " numbers"]) -> Encoder:
    """An encoder of other rows of the same formula with these numbers instead of its own.

    Parameters
    ----------
    encoder : Encoder
    numbers : ndarray, shape (numbers,)
        As ``learned_numbers`` has them.

    Raises
    ------
    DataError
        If they are not as many.
    """
    values = learned_numbers(encoder)
    if values.shape != numbers.shape:
        raise DataError(f"the formula learns {len(values)} numbers, and there are {len(numbers)}")
    rest = iter(numbers.tolist())
    specs = {
        part: spec.update(transform_state=_changed(dict(spec.transform_state), rest, []))
        for part, spec in encoder.specs.items()
    }
    own_terms = {
        part: replace(one, each=tuple(_changed(term, rest, []) for term in one.each))
        for part, one in encoder.own.items()
    }
    return replace(encoder, specs=specs, own=own_terms)


def _states(encoder: Encoder) -> Iterator[object]:
    """States of the parts, in the order in which they are restored."""
    for spec in encoder.specs.values():
        yield dict(spec.transform_state)
    for one in encoder.own.values():
        yield from one.each


def _changed(state: object, new: Iterator[float] | None, arrays: list[np.ndarray]) -> Any:
    """The state with its numbers replaced in turn; those that it has are appended to ``found``."""
    if isinstance(state, float | np.floating):
        arrays.append(np.array([float(state)]))
        return state if new is None else next(new)
    if isinstance(state, np.ndarray) and state.dtype.kind == "f":
        arrays.append(state.ravel().astype(float))
        if new is None:
            return state
        return np.array([next(new) for _ in range(state.size)]).reshape(state.shape)
    if isinstance(state, dict):
        made = {key: _changed(state[key], new, arrays) for key in sorted(state, key=repr)}
        return {key: made[key] for key in state}
    if isinstance(state, list | tuple):
        return type(state)(_changed(value, new, arrays) for value in state)
    if is_dataclass(state) and not isinstance(state, type):
        values = {one.name: getattr(state, one.name) for one in fields(state) if one.init}
        return replace(state, **{key: _changed(one, new, arrays) for key, one in values.items()})
    return state
