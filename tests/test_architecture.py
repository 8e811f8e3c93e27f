"""docs/architecture.md against the code: floors, first lines of the folders, files of the walk."""

import ast
import re
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"reports": ROOT / "reports", "datasets": ROOT / "datasets"}
MOST_STEPS = 12


@pytest.fixture(scope="module")
def page():
    return (ROOT / "docs/architecture.md").read_text(encoding="utf-8")


def modules():
    """Every file with the name of the floor on which it stands."""
    for path in (ROOT / "bayesvb").rglob("*.py"):
        parts = path.relative_to(ROOT / "bayesvb").with_suffix("").parts
        yield path, "bayesvb" if parts == ("__init__",) else parts[0]
    for name, folder in FOLDERS.items():
        for path in folder.rglob("*.py"):
            yield path, name


def statements(node):
    """All statements of a tree, without its expressions, which are most of it."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.stmt | ast.excepthandler | ast.match_case):
            yield child
            yield from statements(child)


def imported(path, floor):
    """Floors from which a file imports; relative imports stay on their own."""
    for node in statements(ast.parse(path.read_text(encoding="utf-8"))):
        names = []
        if isinstance(node, ast.ImportFrom) and not node.level:
            names = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        for name in names:
            parts = name.split(".")
            if parts[0] == "bayesvb" and len(parts) > 1 and parts[1] != floor:
                yield parts[1]


BELOW: dict[str, set[str]] = {}
for _path, _floor in modules():
    BELOW.setdefault(_floor, set()).update(imported(_path, _floor))


@cache
def height(floor):
    return 1 + max((height(other) for other in BELOW[floor]), default=0)


def first_line(folder):
    path = FOLDERS.get(folder, ROOT / "bayesvb" / folder) / "__init__.py"
    return (ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or "").split("\n")[0]


def test_the_table_has_every_folder_on_its_floor_with_its_first_line(page):
    rows = re.findall(r"^\| (\d+) \| `(\w+)` \| (.*) \|$", page, re.M)
    folders = {name for name in BELOW if (ROOT / "bayesvb" / name).is_dir()} | set(FOLDERS)
    assert {name: (int(floor), line) for floor, name, line in rows} == {
        name: (height(name), first_line(name)) for name in folders
    }


def test_the_drawing_has_everything_on_its_floor(page):
    (drawing,) = re.findall(r"```\n(.*?)```", page, re.S)
    drawn = {
        name: int(line.split()[0])
        for line in drawing.splitlines()
        for name in re.findall(r"[a-z_]+", re.sub(r"\(.*?\)", "", line))
    }
    assert drawn == {name: height(name) for name in BELOW}


def test_the_walk_is_short_and_names_files_that_are_there(page):
    steps = re.findall(r"^(\d+)\. .*?\]\(\.\./(\S+?)\)", page, re.M)
    assert [int(number) for number, _ in steps] == list(range(1, len(steps) + 1))
    assert len(steps) <= MOST_STEPS
    assert [path for _, path in steps if not (ROOT / path).exists()] == []


def test_the_doors_name_tables_that_are_there(page):
    doors = re.findall(r"`([A-Z]+)` in \[`\S+`\]\(\.\./(\S+)\)", page)
    tables = {"GATES", "EXPERTS", "PARTS", "ENGINES", "MODELS", "SECTIONS"}
    assert {name for name, _ in doors} == tables
    missing = [
        name
        for name, path in doors
        if not re.search(rf"^{name}\b.*= ?\{{", (ROOT / path).read_text(encoding="utf-8"), re.M)
    ]
    assert missing == []
