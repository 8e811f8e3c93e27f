"""The stages of a formula, parse -> bind -> encode: data flow one way, and so do the imports."""

import ast
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesvb.formula
from bayesvb.formula.binding import bind
from bayesvb.formula.design import build_design
from bayesvb.formula.encoder import fit_encoder
from bayesvb.formula.parser import parse_formula

FOLDER = Path(bayesvb.formula.__file__).parent
STAGES = {"parse": 1, "bind": 2, "encode": 3}
JOINS = "design"  # calls the stages one after the other


def tree(module):
    return ast.parse((FOLDER / f"{module}.py").read_text(encoding="utf-8"))


def stage_of(module):
    """Number of the stage that the first line of a file names."""
    first = (ast.get_docstring(tree(module)) or "").splitlines()[0]
    found = re.match(r"Stage (\d), (\w+): ", first)
    assert found, f"the first line of {module}.py does not say of which stage it is"
    assert STAGES[found[2]] == int(found[1])
    return int(found[1])


MODULES = sorted(p.stem for p in FOLDER.glob("*.py") if p.stem not in ("__init__", JOINS))


def imported_by(module):
    named = [node.module for node in ast.walk(tree(module)) if isinstance(node, ast.ImportFrom)]
    return [name.rpartition(".")[2] for name in named if name.startswith("bayesvb.formula.")]


@pytest.mark.parametrize("module", MODULES)
def test_a_file_imports_nothing_of_a_later_stage(module):
    later = [other for other in imported_by(module) if stage_of(other) > stage_of(module)]
    assert later == []


def test_parsing_knows_no_table():
    names = {
        alias.name
        for module in MODULES
        if stage_of(module) == STAGES["parse"]
        for node in ast.walk(tree(module))
        if isinstance(node, ast.Import)
        for alias in node.names
    }
    assert "re" in names and "pandas" not in names


DATA = pd.DataFrame(
    {
        "y": [1.0, 3.0, 2.0, None, 5.0, 4.0],
        "x": [0.0, 1.0, 3.0, 1.0, 2.0, 5.0],
        "g": ["a", "b", "a", "b", "a", "b"],
        "log": [1.0, 2.0, 4.0, 8.0, 16.0, 30.0],
    }
)
CLASSES = "C(g) ~ x"


def stages(text, data, *, response="any"):
    return bind(parse_formula(text), data, response=response, context={}, missing="drop")


def test_a_parsed_part_is_code_with_the_roles_of_its_names():
    part = parse_formula("y ~ x + C(`my g`) + log(log) + . | gating( z)").read["mean"]
    assert part.code.text == "x + {C(`my g`)} + {log(log)} + ."
    found = [(use.name, use.role, part.code.text[use.start : use.stop]) for use in part.code.uses]
    assert found == [
        ("x", "lookup", "x"), ("C", "call", "C"), ("my g", "levels", "`my g`"),
        ("log", "call", "log"), ("log", "value", "log"),
    ]  # fmt: skip
    renamed = part.code.renamed([use.role for use in part.code.uses])
    assert renamed == "lookup + {call(levels)} + {call(value)} + ."


def test_a_bound_formula_says_which_column_plays_what():
    bound, rows = stages("log(y) ~ x + C(g) + log(log) | x", DATA)
    roles = [(role.column, role.role) for role in bound.roles(bound.encoded(response=True))]
    assert roles == [
        ("x", "lookup"), ("g", "levels"), ("log", "value"), ("y", "value"),
    ]  # fmt: skip
    assert list(rows.columns) == ["y", "x", "g", "log"]
    assert rows.usable.tolist() == [True, True, True, False, True, True]
    assert len(rows) == len(rows.frame) == 5


def test_a_part_of_the_same_text_is_bound_once():
    bound, _ = stages("y ~ x | gating(x)", DATA)
    assert bound.same_as == {"mean": "mean", "gating": "mean"}
    assert bound.encoded(response=False) == ["mean"]


def test_classes_belong_to_the_binding_and_need_no_matrix():
    bound, _ = stages(CLASSES, DATA)
    assert bound.classes.labels == ("a", "b")
    assert bound.encoded(response=True) == ["mean"]


def test_the_stages_one_after_the_other_are_the_design():
    text = "log(y) ~ scale(x) + C(g) | log"
    bound, rows = stages(text, DATA)
    encoder, first = fit_encoder(bound, rows)
    design = build_design(parse_formula(text), DATA)
    for part, matrix in design.matrices.items():
        np.testing.assert_array_equal(first[part], matrix)
        assert encoder.names[part] == design.terms[part]
    again = encoder.encode(bound.rows(DATA, response=True), response=True)
    assert list(again) == ["mean", "gating", "response"]
    for part, matrix in again.items():
        np.testing.assert_array_equal(matrix, first[part])


def test_what_was_learnt_stays_what_it_was_with_other_rows():
    bound, rows = stages("y ~ scale(x) | 1", DATA)
    encoder, first = fit_encoder(bound, rows)
    few = encoder.encode(bound.rows(DATA.head(2), response=False), response=False)
    np.testing.assert_allclose(few["mean"], first["mean"][:2], rtol=1e-15)
