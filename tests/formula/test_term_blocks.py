"""Columns that share one prior scale: one block per term, the intercept in none."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

N = 60
RNG = np.random.default_rng(0)
DATA = pd.DataFrame(
    {
        "y": RNG.normal(size=N),
        "v": RNG.uniform(size=N),
        "x": RNG.normal(size=N),
        "my z": RNG.normal(size=N),
        "g": RNG.choice(list("abc"), N),
        "k": RNG.integers(0, 3, N),
    }
)


def blocks_of(text, part="mean"):
    design = build_design(parse_formula(text), DATA)
    return design, design.term_blocks[part]


def test_a_block_is_a_term_as_the_formula_writes_it():
    _, blocks = blocks_of("y ~ x + `my z` + g + C(k) + x:g + x:`my z` + bs(v, df=4)")
    kinds = {block.name: (block.kind, len(block.columns)) for block in blocks}
    assert kinds == {
        "x": ("covariate", 1),
        "my z": ("covariate", 1),
        "g": ("factor", 2),
        "C(k)": ("factor", 2),
        "x:g": ("factor", 2),
        "x:my z": ("covariate", 1),
        "bs(v, df=4)": ("covariate", 4),
    }


@pytest.mark.parametrize("text", ["y ~ x*g + C(k)", "y ~ 0 + x + g", "y ~ 1", "y ~ x | gating(g)"])
@pytest.mark.parametrize("part", ["mean", "gating"])
def test_every_column_but_the_intercept_is_in_one_block(text, part):
    design, blocks = blocks_of(text, part)
    columns = [column for block in blocks for column in block.columns]
    slopes = [j for j, term in enumerate(design.terms[part]) if term != "Intercept"]
    assert columns == slopes


def test_levels_in_a_comparison_are_a_number():
    _, blocks = blocks_of("y ~ I(g == 'a')")
    assert [(block.name, block.kind) for block in blocks] == [("I(g == 'a')", "covariate")]
