"""No import closes a circle or points upwards: every import of the package, wherever it stands.

The docstring of each folder says what the folder may import ("May import: errors, numerics.").
That is the table of the floors; files count one by one where circles are looked for.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"bayesvb": "bayesvb", "bayesvb.reports": "reports", "bayesvb.datasets": "datasets"}

# Files that stand beside the folders; the face of the package may import everything.
BESIDE = {"errors": (), "argument_checks": ("errors",)}
FACES = ("bayesvb", "__main__")

# Imported inside the function that needs them: they are slow to import, or not installed.
# Reports may import theirs at the top, because the package is itself imported only for a report.
LATE = "arviz arviz_plots arviz_stats dask formulaic jax jinja2 matplotlib numpyro polars pyarrow"

MOST_ENTRIES = 28
"""What a newcomer who opens the package sees at most."""


@dataclass(frozen=True)
class Import:
    """One import: the importing and the imported module, and whether it waits for a call."""

    importer: str
    imported: str
    line: int
    deferred: bool = False

    def __str__(self) -> str:
        return f"{self.importer}:{self.line} imports {self.imported}"


def modules() -> dict[str, Path]:
    """Installed name of each module -> its file in the checkout."""
    found = {}
    for package, folder in FOLDERS.items():
        for path in (ROOT / folder).rglob("*.py"):
            parts = path.relative_to(ROOT / folder).with_suffix("").parts
            found[".".join((package, *parts)).removesuffix(".__init__")] = path
    return found


MODULES = modules()


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


HOLDS_STATEMENTS = ast.stmt | ast.excepthandler | ast.match_case
"""Expressions hold none, and most of a tree is expressions."""


def statements(node: ast.AST, deferred: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All import statements, with whether they wait for a call or are for type checkers only."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, deferred
        elif isinstance(child, HOLDS_STATEMENTS):
            waits = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef)
            yield from statements(child, deferred or waits or is_type_checking(child))


def imported_names(statement: ast.stmt, importer: str, path: Path) -> list[str]:
    """Full names of the modules that a statement asks for."""
    if isinstance(statement, ast.Import):
        return [alias.name for alias in statement.names]
    assert isinstance(statement, ast.ImportFrom)
    base = statement.module or ""
    if statement.level:
        package = importer.split(".") if path.name == "__init__.py" else importer.split(".")[:-1]
        package = package[: len(package) - statement.level + 1]
        base = ".".join([*package, base] if base else package)
    submodules = [f"{base}.{alias.name}" for alias in statement.names]
    return [name if name in MODULES else base for name in submodules]


def imports_of(source: str, importer: str, path: Path) -> list[Import]:
    return [
        Import(importer, name, statement.lineno, deferred)
        for statement, deferred in statements(ast.parse(source))
        for name in imported_names(statement, importer, path)
    ]


def unit(module: str) -> str:
    """The floor: 'bayesvb.gates.softmax' -> 'gates', 'bayesvb' itself -> 'bayesvb'."""
    return module.split(".")[:2][-1]


def allowed(package: str) -> tuple[str, ...]:
    """What the docstring of a folder says that it may import."""
    doc = ast.get_docstring(ast.parse(MODULES[package].read_text(encoding="utf-8"))) or ""
    found = re.search(r"May import: (.*?)\.", doc, re.S)
    assert found, f"the docstring of {package} does not say 'May import: ...'"
    if found[1] == "nothing of this package":
        return ()
    return tuple(re.split(r",\s+", found[1]))


IMPORTS = [
    found
    for module, path in MODULES.items()
    for found in imports_of(path.read_text(encoding="utf-8"), module, path)
]
OURS = [found for found in IMPORTS if found.imported.split(".")[0] == "bayesvb"]
PACKAGES = {
    unit(m): m for m, path in MODULES.items() if path.name == "__init__.py" and m.count(".") == 1
}
MAY_IMPORT = {name: allowed(package) for name, package in PACKAGES.items()} | BESIDE


def circles(arrows: Mapping[str, set[str]]) -> list[list[str]]:
    """Groups of names that reach one another (Tarjan 1972)."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found = []

    def visit(name: str) -> None:
        index[name] = low[name] = len(index)
        stack.append(name)
        for other in sorted(arrows.get(name, ())):
            if other not in index:
                visit(other)
            if other in stack:
                low[name] = min(low[name], low[other])
        if low[name] == index[name]:
            group = stack[stack.index(name) :]
            del stack[stack.index(name) :]
            if len(group) > 1:
                found.append(sorted(group))

    for name in sorted(arrows):
        if name not in index:
            visit(name)
    return found


def arrows_of(imports: list[Import]) -> dict[str, set[str]]:
    arrows: dict[str, set[str]] = {}
    for found in imports:
        if found.imported in MODULES and found.imported != found.importer:
            arrows.setdefault(found.importer, set()).add(found.imported)
    return arrows


def points_upwards(found: Import) -> bool:
    importer, imported = unit(found.importer), unit(found.imported)
    if importer == imported or importer in FACES:
        return False
    return imported not in MAY_IMPORT.get(importer, ())


def test_no_files_import_one_another_in_a_circle():
    assert circles(arrows_of(OURS)) == []


def test_no_import_points_to_a_floor_that_the_docstring_of_the_folder_does_not_name():
    assert [str(found) for found in OURS if points_upwards(found)] == []


def test_the_floors_themselves_form_no_circle():
    assert circles({name: set(below) for name, below in MAY_IMPORT.items()}) == []
    named = {name for below in MAY_IMPORT.values() for name in below}
    assert named <= set(MAY_IMPORT)


def test_every_file_stands_on_a_floor():
    beside = {unit(module) for module in MODULES} - set(MAY_IMPORT) - set(FACES)
    assert beside == set(), "a file beside the folders: give it a folder"


def test_a_newcomer_sees_few_entries():
    shown = [p for p in (ROOT / "bayesvb").iterdir() if p.name not in ("__pycache__", "py.typed")]
    assert len(shown) <= MOST_ENTRIES


def test_every_folder_says_what_lives_there():
    faces = [path for path in MODULES.values() if path.name == "__init__.py"]
    assert [p for p in faces if not ast.get_docstring(ast.parse(p.read_text("utf-8")))] == []


def test_every_import_of_ours_names_a_module_that_is_there():
    assert [str(found) for found in OURS if found.imported not in MODULES] == []


def test_engines_know_the_contract_and_no_concrete_model():
    concrete = [
        str(f)
        for f in OURS
        if unit(f.importer) == "engines" and unit(f.imported) in ("models", "gates", "experts")
    ]
    assert concrete == []


def test_slow_or_optional_packages_are_imported_in_the_function_that_needs_them():
    early = [
        str(found)
        for found in IMPORTS
        if not found.deferred
        and unit(found.importer) != "reports"
        and found.imported.split(".")[0] in LATE.split()
    ]
    assert early == []


EXAMPLES = {
    "from bayesvb.results.base import AbstractFit": True,
    "from bayesvb import results": True,
    "import bayesvb.results.base as fit": True,
    "from ..results.base import AbstractFit": True,
    "if True:\n    import bayesvb.results.base": True,
    "def f():\n    from bayesvb.results.base import AbstractFit": True,
    "import bayesvb": True,
    "if TYPE_CHECKING:\n    from bayesvb.results.base import AbstractFit": True,
    "from bayesvb.errors import DataError": False,
    "from ..errors import DataError": False,
}


@pytest.mark.parametrize("source", EXAMPLES)
def test_the_rule_catches_each_way_to_write_an_import(source):
    found = imports_of(source, "bayesvb.numerics.linalg", ROOT / "bayesvb/numerics/linalg.py")
    assert any(points_upwards(one) for one in found) == EXAMPLES[source]


@pytest.mark.parametrize(
    "source",
    [
        "def f():\n    from bayesvb.gates.dirichlet import DirichletGate",
        "if TYPE_CHECKING:\n    from bayesvb.gates import GATES",
    ],
    ids=["in a function", "through the face, for type checkers"],
)
def test_the_rule_catches_a_circle_within_one_floor(source):
    more = imports_of(source, "bayesvb.gates.base", ROOT / "bayesvb/gates/base.py")
    assert any("bayesvb.gates.base" in group for group in circles(arrows_of([*OURS, *more])))
