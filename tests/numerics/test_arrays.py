"""Named types of arrays: one name per shape, which several modules use and which checks read."""

import re
from pathlib import Path

import beartype
import jaxtyping
import numpy as np
import pytest

from bayesvb.numerics import arrays
from bayesvb.numerics.arrays import RowVector

SOURCES = Path(arrays.__file__).parents[1]
NAMES = [name for name, value in vars(arrays).items() if hasattr(value, "dim_str")]


def test_each_shape_has_one_name():
    assert len({getattr(arrays, name).__name__ for name in NAMES}) == len(NAMES)


def test_names_are_of_several_modules():
    texts = [path.read_text(encoding="utf-8") for path in SOURCES.rglob("*.py")]
    users = {
        name: sum(
            "numerics.arrays" in text and bool(re.search(rf"\b{name}\b", text)) for text in texts
        )
        for name in NAMES
    }
    assert {name: n for name, n in users.items() if n < 3} == {}


def test_rows_of_two_arguments_are_equally_many():
    @jaxtyping.jaxtyped(typechecker=beartype.beartype)
    def total(y: RowVector, weights: RowVector) -> float:
        return float(y @ weights)

    assert total(np.ones(3), np.ones(3)) == 3.0
    with pytest.raises(jaxtyping.TypeCheckError):
        total(np.ones(3), np.ones(2))
