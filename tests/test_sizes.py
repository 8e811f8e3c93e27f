"""Files and functions stay short, and their names say what they are."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
SOURCES = ("bayesvb", "reports", "datasets")
WRITTEN_BY_HAND = {".py", ".html", ".css"}
LINES_OF_A_FILE = 500
LINES_OF_A_TEST_FILE = 500
LINES_OF_A_FUNCTION = 40
SAYS_NOTHING = re.compile(r"(^|_)(utils?|helpers?|misc|common|manager|tools)$")

Function = ast.FunctionDef | ast.AsyncFunctionDef


def files(*folders: str) -> Iterator[Path]:
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*")):
            if path.suffix in WRITTEN_BY_HAND:
                yield path


def lines(path: Path) -> int:
    """Lines of a file; of Python those of its docstrings do not count."""
    text = path.read_text(encoding="utf-8")
    total = len(text.splitlines())
    if path.suffix != ".py" or total <= LINES_OF_A_FILE:  # which need not be read
        return total
    return total - sum(docstrings(text))


def docstrings(source: str) -> Iterator[int]:
    """Lines of every string that is a statement: of modules, classes, functions, attributes."""
    for node in statements(ast.parse(source)):
        value = node.value if isinstance(node, ast.Expr) else None
        if isinstance(value, ast.Constant) and isinstance(value.value, str):
            yield (node.end_lineno or 0) - node.lineno + 1


def statements(node: ast.AST) -> Iterator[ast.AST]:
    """All statements of a tree, without its expressions, which are most of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def functions(source: str) -> Iterator[Function]:
    yield from (node for node in statements(ast.parse(source)) if isinstance(node, Function))


def length(function: Function) -> int:
    """Lines from `def` to the end, the docstring not counted."""
    total = (function.end_lineno or 0) - function.lineno + 1
    if ast.get_docstring(function) is None:
        return total
    docstring = function.body[0]
    return total - ((docstring.end_lineno or 0) - docstring.lineno + 1)


def relative(path: Path) -> str:
    return path.relative_to(ROOT).as_posix()


def test_no_file_is_long():
    long = {relative(p): lines(p) for p in files(*SOURCES) if lines(p) > LINES_OF_A_FILE}
    assert long == {}, f"split: more than {LINES_OF_A_FILE} lines"


def test_no_test_file_is_long():
    long = {relative(p): lines(p) for p in files("tests") if lines(p) > LINES_OF_A_TEST_FILE}
    assert long == {}, f"split: more than {LINES_OF_A_TEST_FILE} lines"


def test_no_function_is_long():
    long = {
        f"{relative(path)}:{function.name}": length(function)
        for path in files(*SOURCES)
        if path.suffix == ".py"
        for function in functions(path.read_text(encoding="utf-8"))
        if length(function) > LINES_OF_A_FUNCTION
    }
    assert long == {}, f"split: more than {LINES_OF_A_FUNCTION} lines without the docstring"


def test_no_module_has_a_name_that_says_nothing():
    named = [p for folder in (*SOURCES, "tests") for p in (ROOT / folder).rglob("*.py")]
    folders = {parent for path in named for parent in path.parents if parent != ROOT}
    assert [str(p) for p in {*named, *folders} if SAYS_NOTHING.search(p.stem)] == []


def test_the_docstring_does_not_count_and_a_decorator_does_not_either():
    (function,) = functions(
        '@decorator\ndef f():\n    """One.\n\n    Two.\n    """\n    return 1\n'
    )
    assert length(function) == 2


def test_an_inner_function_counts_for_itself_and_for_the_outer_one():
    outer, inner = functions("def f():\n    def g():\n        return 1\n    return g\n")
    assert (length(outer), length(inner)) == (4, 2)
