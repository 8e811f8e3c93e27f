"""Parts go by the names of one table: no literal of a name stands outside the files of parts."""

import ast
from collections.abc import Iterator
from pathlib import Path

from bayesvb.data.parts import MEAN, PARTS, SIGMA

ROOT = Path(__file__).resolve().parents[1]
FILES_OF_PARTS = ROOT / "bayesvb" / "data" / "parts"
NO_PART = {"bayesvb/argument_checks.py", "bayesvb/estimators/gaussian_mixture.py"}
"""Files in which the word is no part: near words of the argument ``gate``, and the means of a model
without a formula of parts."""

BY_PART = {"designs", "matrices", "term_blocks", "terms"}
"""Mappings with an entry for each part."""

NOT_ONLY_PARTS = {MEAN, SIGMA}
"""Words with other meanings: a statistic or a kind of prediction; a parameter, in tables too."""

TAKES_PART = {"PriorRow", "at_zero", "curves", "groups_of", "products"}
"""Functions whose first argument is a part."""


def last_name(node: ast.AST) -> str:
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")


def constants(nodes: list[ast.expr | None]) -> Iterator[ast.Constant]:
    yield from (node for node in nodes if isinstance(node, ast.Constant))


def where_parts_stand(tree: ast.AST) -> Iterator[ast.Constant]:
    """Constants at places where only the name of a part can stand."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Subscript) and last_name(node.value) in BY_PART:
            yield from constants([node.slice])
        elif isinstance(node, ast.Call):
            if last_name(node.func) in TAKES_PART:
                yield from constants(node.args[:1])
            if isinstance(node.func, ast.Attribute) and last_name(node.func.value) in BY_PART:
                yield from constants(node.args[:1])
        elif isinstance(node, ast.Compare):
            sides = [node.left, *node.comparators]
            if {"part", *BY_PART} & {last_name(side) for side in sides}:
                yield from constants(sides)
        elif isinstance(node, ast.arguments):
            names = [*node.posonlyargs, *node.args, *node.kwonlyargs]
            values = [*node.defaults, *node.kw_defaults]
            pairs = zip(names[::-1], values[::-1], strict=False)
            yield from constants([value for name, value in pairs if name.arg == "part"])


def literals(source: str) -> list[int]:
    """Lines with a literal of a part's name; most files hold no such word, and are not parsed."""
    if not any(f'"{name}"' in source for name in PARTS):
        return []
    tree = ast.parse(source)
    only_parts = set(PARTS) - NOT_ONLY_PARTS
    found = {
        node.lineno
        for node in ast.walk(tree)
        if isinstance(node, ast.Constant) and node.value in only_parts
    }
    found |= {node.lineno for node in where_parts_stand(tree) if node.value == MEAN}
    return sorted(found)


def test_literals_of_parts_are_recognised():
    seen = ['x["gating"]', 'block.designs["mean"]', 'a.terms.get("mean")', 'PriorRow("mean", 1)',
            'part == "mean"', '"mean" in design.terms', 'def f(part="mean"): ...',
            'def f(*, part: str = "mean"): ...']  # fmt: skip
    assert [literals(source) for source in seen] == [[1]] * len(seen)
    unseen = ['frame["mean"]', 'predict(kind="mean")', 'draws["mean"]', 'def f(kind="mean"): ...']
    assert [literals(source) for source in unseen] == [[]] * len(unseen)


def test_names_of_parts_stand_in_the_files_of_parts_only():
    found = [
        f"{path.relative_to(ROOT)}:{line}"
        for folder in ("bayesvb", "reports")
        for path in sorted((ROOT / folder).rglob("*.py"))
        if FILES_OF_PARTS not in path.parents and str(path.relative_to(ROOT)) not in NO_PART
        for line in literals(path.read_text(encoding="utf-8"))
    ]
    assert found == []


def test_the_table_has_each_part_under_its_name():
    assert [part.name for part in PARTS.values()] == list(PARTS)
    assert all(part.default in (None, *PARTS) for part in PARTS.values())
