"""Imports point downwards: every import statement of the package against one table."""

import ast
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"bayesvb": "bayesvb", "bayesvb.reports": "reports", "bayesvb.datasets": "datasets"}

# Lowest first. A module imports from lower lines only; inside a subpackage its own modules import
# one another. A new module gets its place here: as low as its imports allow.
LAYERS = (
    "errors row_distribution",
    "linalg memory quiet small_matrices special stats datasets",
    "collinearity columns coordinates frames metrics parts tokens vocabulary",
    "blocks case_weights covariates",
    "paired_products weighted_ranks",
    "design_checks expressions",
    "wilkinson",
    "formula",
    "encoding",
    "gaps",
    "recipe responses variables",
    "design scaling",
    "factors",
    "quantiles",
    "gates normal_mixture scale_mixture student_mixture",
    "crps joint_student",
    "experts",
    "outputs",
    "calibration priors",
    "models",
    "assembly engines",
    "network_assembly",
    "linear_response",
    "arviz named_draws options run_tables",
    "elpd idata psis storage",
    "criteria stacking",
    "trust",
    "affordable predict summary",
    "plots",
    "printing",
    "fit",
    "comparison workbench",
    "effects pruning saving selection",
    "reports",
    "bayesvb",
    "cli_options cli_tables progress",
    "cli_messages",
    "cli",
    "__main__",
)

# Imports inside a function that point upwards, each a convenience of the public interface.
DOORWAYS = {
    ("fit", "reports"): "fit.report(path) opens the report without a second import",
    ("fit", "saving"): "fit.save(path) is the other half of bayesvb.load",
    ("idata", "bayesvb"): "the version of the package is written into the ArviZ object",
}

# Imported inside the function that needs them: they are slow to import, or not installed.
# Reports may import theirs at the top, because the package is itself imported only for a report.
LATE = "arviz arviz_plots arviz_stats dask formulaic jax jinja2 matplotlib numpyro polars pyarrow"


@dataclass(frozen=True)
class Import:
    """One import: the importing and the imported module, and whether a function makes it."""

    importer: str
    imported: str
    line: int
    deferred: bool

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


def statements(node: ast.AST, deferred: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """Import statements that run, with whether they stand in a function."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import | ast.ImportFrom):
            yield child, deferred
        elif is_type_checking(child):
            yield from chain.from_iterable(statements(other, deferred) for other in child.orelse)
        else:
            inside = isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from statements(child, deferred or inside)


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
    """Name in LAYERS: 'bayesvb.gates.softmax' -> 'gates', 'bayesvb' itself -> 'bayesvb'."""
    return module.split(".")[:2][-1]


HEIGHT = {name: height for height, line in enumerate(LAYERS) for name in line.split()}
UNITS = sorted({unit(module) for module in MODULES})
IMPORTS = [
    found
    for module, path in MODULES.items()
    for found in imports_of(path.read_text(encoding="utf-8"), module, path)
]
OURS = [found for found in IMPORTS if found.imported.split(".")[0] == "bayesvb"]


def points_upwards(found: Import) -> bool:
    importer, imported = unit(found.importer), unit(found.imported)
    if importer == imported or (found.deferred and (importer, imported) in DOORWAYS):
        return False
    return HEIGHT[imported] >= HEIGHT[importer]


def test_every_module_has_a_place_in_the_table():
    unplaced = [name for name in UNITS if name not in HEIGHT]
    assert not unplaced, f"give {unplaced} a line in LAYERS of {Path(__file__).name}"


def test_no_import_points_upwards():
    placed = [f for f in OURS if {unit(f.importer), unit(f.imported)} <= set(HEIGHT)]
    assert [str(found) for found in placed if points_upwards(found)] == []


def test_every_import_of_ours_names_a_module_that_is_there():
    assert [str(found) for found in OURS if found.imported not in MODULES] == []


def test_engines_know_the_contract_and_no_concrete_model():
    concrete = [
        str(found)
        for found in OURS
        if unit(found.importer) == "engines"
        and unit(found.imported) == "models"
        and found.imported != "bayesvb.models.base"
    ]
    assert concrete == []


def test_every_doorway_is_used():
    open_doors = {(unit(found.importer), unit(found.imported)) for found in OURS}
    closed = [door for door in DOORWAYS if door not in open_doors and door[0] in UNITS]
    assert closed == []


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
    "from bayesvb.fit import Fit": True,
    "from bayesvb import fit": True,
    "import bayesvb.fit as fit": True,
    "from .fit import Fit": True,
    "if True:\n    import bayesvb.fit": True,
    "def f():\n    from bayesvb.fit import Fit": True,
    "import bayesvb": True,
    "if TYPE_CHECKING:\n    from bayesvb.fit import Fit": False,
    "from bayesvb.errors import DataError": False,
    "from .errors import DataError": False,
}


@pytest.mark.parametrize("source", EXAMPLES)
def test_the_rule_catches_each_way_to_write_an_import(source, monkeypatch):
    monkeypatch.setitem(MODULES, "bayesvb.fit", ROOT / "bayesvb" / "fit.py")
    found = imports_of(source, "bayesvb.linalg", ROOT / "bayesvb" / "linalg.py")
    assert any(points_upwards(one) for one in found) == EXAMPLES[source]


def test_a_doorway_is_open_to_a_function_only():
    door = Import("bayesvb.fit", "bayesvb.reports", 1, deferred=True)
    assert not points_upwards(door)
    assert points_upwards(Import("bayesvb.fit", "bayesvb.reports", 1, deferred=False))
