"""Log densities whose rows are arguments: compiled once for all data of the same model and shape.

Compiling takes seconds, and data that are part of the compiled function would require it for every
data set of a simulation, every restart of a study.
"""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import lru_cache, wraps

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.engines.differentiated import Target
from bayesvb.numerics.array_library import AnyArray, ArrayFunction


@dataclass(frozen=True)
class Place:
    """Stands in rows for an array: which of the arguments it is, and its shape."""

    number: int
    shape: tuple[int, ...]


@dataclass(frozen=True)
class RowlessPotential:
    """Minus the log density of ``Target``, a function of a vector and of the arrays of its rows.

    Equal where model, shapes and groups of rows are: a key of compiled functions.

    Attributes
    ----------
    target : Target
        Its rows have a ``Place`` for each array.
    content : bytes
        All of the target, pickled: equality compares it.
    """

    target: Target = field(compare=False)
    content: bytes

    @classmethod
    def of(cls, target: Target) -> tuple[RowlessPotential, tuple[np.ndarray, ...]]:
        """The function, and the arrays of the rows, each once.

        Raises
        ------
        Exception
            If the model cannot be pickled: the class of the exception depends on pickle.
        """
        arrays: dict[int, np.ndarray] = {}
        numbers: dict[int, int] = {}

        def placed(array: np.ndarray) -> AnyArray:
            number = numbers.setdefault(id(array), len(numbers))
            arrays[number] = array
            return Place(number, array.shape)

        rowless = replace(target, rows=mapped(target.rows, placed))
        return cls(rowless, pickle.dumps(rowless)), tuple(arrays.values())

    def __call__(self, vector: AnyArray, arrays: Sequence[AnyArray]) -> AnyArray:
        """Potential at one vector, with these arrays as the arrays of the rows."""
        rows = mapped(self.target.rows, lambda place: arrays[place.number])
        return replace(self.target, rows=rows).potential(vector)


def mapped(rows: Block, function: Callable[[AnyArray], AnyArray]) -> Block:
    """The rows with something in the place of each array of numbers; groups stay as they are."""
    members = rows.members
    if members is not None:
        members = replace(members, rows=mapped(members.rows, function))
    return Block(
        {name: function(design) for name, design in rows.designs.items()},
        function(rows.response),
        None if rows.weight is None else function(rows.weight),
        None if rows.offset is None else function(rows.offset),
        members,
    )


def potential_of(target: Target) -> tuple[ArrayFunction, tuple[np.ndarray, ...]]:
    """Minus the log density as a function of a vector and of arrays, and these arrays.

    Arrays of the rows; empty if rows must be known when the function is compiled: for patterns of
    missing values, say, or by a model that converts them to arrays of NumPy.
    """
    import jax

    vector = np.zeros(target.space.size)
    try:
        potential, arrays = RowlessPotential.of(target)
        jax.eval_shape(potential, vector, arrays)
    except Exception:  # of pickle, or of whatever the model does with its rows
        return lambda vector, _: target.potential(vector), ()
    return potential, arrays


def kept_for_equal(make: ArrayFunction) -> ArrayFunction:
    """Cache the latest functions of potentials without rows and of settings, for equal ones.

    Others are not kept: they hold the rows.
    """
    # Compiled functions of each kind that are kept for data of the same shape to come.
    keeping = lru_cache(maxsize=8)(make)

    @wraps(make)
    def found(potential: ArrayFunction, *settings: AnyArray) -> AnyArray:
        lasting = isinstance(potential, RowlessPotential)
        return (keeping if lasting else make)(potential, *settings)

    return found
