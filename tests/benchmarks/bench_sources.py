"""Sizes of the sources: files, lines, constants, uses of ``Any``, members of contracts.

Run with ``python tests/benchmarks/bench_sources.py [folder of bayesvb ...]``: prints a row for each
folder, of an older checkout too.
"""

import ast
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parents[2] / "bayesvb"

CONTRACTS = {
    "AbstractVariationalModel": "model",
    "AbstractGate": "gate",
    "AbstractExperts": "experts",
}


def count_docstrings(tree: ast.AST) -> int:
    """Lines of strings that are statements."""
    strings = (
        node.value
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    )
    lines = [(s.end_lineno or 0) - s.lineno + 1 for s in strings if isinstance(s.value, str)]
    return sum(lines)


def count_constants(tree: ast.Module) -> int:
    """Numbers, and tuples of numbers, under names in capitals at the top of a module."""
    n = 0
    for node in tree.body:
        if not isinstance(node, ast.Assign):
            continue
        names, values = [node.targets[0]], [node.value]
        if isinstance(names[0], ast.Tuple) and isinstance(values[0], ast.Tuple):
            names, values = names[0].elts, values[0].elts
        for name, value in zip(names, values, strict=True):
            if isinstance(name, ast.Name) and name.id.isupper():
                n += is_numeric(value)
    return n


def is_numeric(value: ast.expr) -> bool:
    """Whether an expression is a number, or a tuple of numbers."""
    if isinstance(value, ast.Tuple):
        return bool(value.elts) and all(map(is_numeric, value.elts))
    leaves = [node for node in ast.walk(value) if isinstance(node, ast.Constant | ast.Name)]
    return bool(leaves) and all(
        isinstance(one, ast.Constant) and type(one.value) in (int, float) for one in leaves
    )


def count_members(trees: list[ast.Module]) -> dict[str, str]:
    """Public methods and attributes of each contract."""
    found = {}
    for node in (node for tree in trees for node in tree.body):
        if isinstance(node, ast.ClassDef) and node.name in CONTRACTS:
            methods = [
                one.name
                for one in node.body
                if isinstance(one, ast.FunctionDef) and not one.name.startswith("_")
            ]
            attributes = [one for one in node.body if isinstance(one, ast.AnnAssign)]
            found[CONTRACTS[node.name]] = f"{len(methods)}+{len(attributes)}"
    return found


def sizes(root: Path) -> dict[str, object]:
    """Row of one folder."""
    texts = [path.read_text(encoding="utf-8") for path in sorted(root.rglob("*.py"))]
    trees = [ast.parse(text) for text in texts]
    names = (node for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name))
    return {
        "files": len(texts),
        "lines": sum(text.count("\n") for text in texts),
        "docstrings": sum(map(count_docstrings, trees)),
        "Any": sum(name.id == "Any" for name in names),
        "constants": sum(map(count_constants, trees)),
        **count_members(trees),
    }


if __name__ == "__main__":
    for folder in map(Path, sys.argv[1:] or [str(HERE)]):
        print(folder, sizes(folder))
