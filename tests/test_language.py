"""Words of the documentation, of messages and of docstrings: expressions that become rarer only.

Statisticians have another word for each of them. The numbers are ceilings: lower them when you
rewrite a text.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = ("bayesvb", "reports", "datasets")

CEILINGS: Mapping[str, tuple[int, int, int]] = {
    r"(?<!coordinate )(?<!coordinate-)(?<!gradient )\bascents?\b": (0, 1, 2),
    r"\b(sets?|setting) out\b": (0, 0, 0),
    r"\b(those|that) of\b": (2, 0, 0),
    r"\bwhat (is|was|are|were|has|had|the|a|it|they|rows|all|each|one|no|other)\b": (27, 1, 0),
    r"\b(told|tells?|telling)\b": (0, 0, 1),
    r"\b(left out|leav(e|es|ing)( \w+){0,4} out)\b": (0, 5, 2),
    r"\bforese\w+|\bforesaw\b|\bto be had\b|\b(lean|hang)s? on\b|\banew\b|\bsame bits\b": (0, 0, 0),
    r"\b(heed\w*|mend(s|ed)?|gross errors?|by heart|flatter\w*|puts? right)\b": (0, 0, 0),
    r"\bin place of\b|\bso many\b|\bbeside\b": (0, 1, 0),
    r"\b(go|goes|going|went) on\b": (0, 0, 0),
    r"\b(is|are|was|were|be) no (?!longer|need|more|less|guarantee)": (0, 0, 2),
    r"\b(is|are|was|were) (said|told|asked|noted|looked at|gone over)\b": (0, 0, 0),
    r"\d %": (0, 0, 0),
}
"""Expression -> most occurrences in documentation, strings and docstrings."""

WORDS = 32_000
"""Most words of the pages for users, code included, as ``wc -w`` counts them."""

CODE = re.compile(r"^```.*?^```$|`[^`\n]+`", re.M | re.S)
"""Code in Markdown, which is not prose."""

ELLIPTIC = re.compile(r"(What|Those|That|These|They|It|Its|The same|Of|How|Where|As|So|Which)\b")
"""First words of a docstring that leave its noun to the reader."""

MARKUP = re.compile(r"\{[{%].*?[%}]\}|<[^>]+>", re.S)
"""Tags of a template of the report, and its fields."""


@cache
def texts() -> tuple[str, str, str]:
    """Documentation, strings of sources with a space and templates, and docstrings."""
    pages = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
    prose = " ".join(CODE.sub(" ", page.read_text(encoding="utf-8")) for page in pages)
    templates = sorted((ROOT / "reports").rglob("*.html"))
    strings = [MARKUP.sub(" ", page.read_text(encoding="utf-8")) for page in templates]
    parts = [prose], [*strings, *sources()[0]], sources()[1]
    return tuple(re.sub(r"\s+", " ", " ".join(part)) for part in parts)


@cache
def sources() -> tuple[list[str], list[str]]:
    """Strings of sources with a space, and docstrings."""
    strings, docstrings = [], []
    for folder in ("bayesvb", "reports"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            tree = ast.parse(path.read_text(encoding="utf-8"))
            described = list(described_by(tree))
            docstrings += [node.value for node in described]
            strings += constants(tree, {id(node) for node in described})
    return strings, docstrings


def described_by(tree: ast.AST) -> Iterator[ast.Constant]:
    """Strings that are statements of their own: docstrings of all kinds."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            if isinstance(node.value.value, str):
                yield node.value


def constants(tree: ast.AST, without: set[int]) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            if " " in node.value and id(node) not in without:
                yield node.value


@pytest.mark.parametrize("expression", CEILINGS)
def test_an_expression_becomes_rarer_only(expression):
    counts = [len(re.findall(expression, text, re.I)) for text in texts()]
    assert all(n <= most for n, most in zip(counts, CEILINGS[expression], strict=True)), counts


def test_pages_for_users_are_short():
    apart = ("benchmarks", "decisions", "_build")
    pages = [
        page
        for page in (ROOT / "docs").rglob("*.md")
        if not page.relative_to(ROOT / "docs").parts[0].startswith(apart)
    ]
    texts = [page.read_text(encoding="utf-8") for page in [ROOT / "README.md", *pages]]
    assert sum(len(text.split()) for text in texts) <= WORDS


def test_docstrings_begin_with_the_noun_or_a_verb():
    assert [text for text in sources()[1] if ELLIPTIC.match(text.strip())] == []


def test_a_public_method_is_described_in_its_class_or_in_a_contract():
    paths = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*.py"))
    nodes = (node for path in paths for node in ast.walk(ast.parse(path.read_text("utf-8"))))
    classes = {node.name: node for node in nodes if isinstance(node, ast.ClassDef)}

    def described(name: str) -> set[str]:
        """Methods with a docstring, of a class and of those from which it inherits."""
        if name not in classes:
            return set()
        bases = [ast.unparse(base).split("[")[0].split(".")[-1] for base in classes[name].bases]
        texts = {one.name for one in methods(classes[name]) if ast.get_docstring(one)}
        return texts.union(*map(described, bases))

    missing = [
        f"{name}.{method.name}"
        for name, node in classes.items()
        for method in methods(node)
        if not name.startswith("_")
        if not method.name.startswith("_") and method.name not in described(name)
    ]
    assert missing == []


def methods(node: ast.ClassDef) -> list[ast.FunctionDef]:
    return [one for one in node.body if isinstance(one, ast.FunctionDef)]
