"""README and docs: every example runs and prints what the page says, every link leads somewhere."""

import contextlib
import io
import re
import tomllib
from dataclasses import dataclass, fields
from itertools import zip_longest
from pathlib import Path

import pandas as pd
import pytest

import bayesvb as bvb

ROOT = Path(__file__).resolve().parents[1]
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").rglob("*.md"))]
BLOCK = re.compile(r"^```(\w*)\n(.*?)^```$", re.M | re.S)
LINK = re.compile(r"\]\(([^)\s]+)\)")
ELSEWHERE = ("http://", "https://", "mailto:")
RUN_ELSEWHERE = {"docs/adding.md"}  # by tests/test_adding.py, in a copy of the repository
LONG = set(
    "README calibration checks choosing-components cross-validation effects engines formulas gates"
    " influence intervals large-data networks ordered positive priors reports scikit-learn"
    " streams-and-sites terms".split()
)
"""Pages whose examples take seconds; those of models and responses are quick."""


NOTEBOOKS = sorted([*(ROOT / "docs/tutorials").glob("*.md"), *(ROOT / "docs/gallery").glob("*.md")])
CELL = re.compile(r"^```\{code-cell\} python\n(.*?)^```$", re.M | re.S)


@dataclass(frozen=True)
class Example:
    """Code of a page, and what stands below it as its output."""

    code: str
    output: str | None


def name(page):
    return page.relative_to(ROOT).as_posix()


def examples(page):
    """Python blocks; a text block that follows at once is the output."""
    text = page.read_text(encoding="utf-8")
    blocks = list(BLOCK.finditer(text))
    for block, following in zip_longest(blocks, blocks[1:]):
        if block[1] != "python":
            continue
        touches = following and following[1] == "text" and following.start() == block.end() + 1
        yield Example(block[2], following[2] if touches else None)


WITH_EXAMPLES = [page for page in PAGES if any(examples(page)) and name(page) not in RUN_ELSEWHERE]


@pytest.mark.parametrize(
    "page",
    [pytest.param(p, marks=[pytest.mark.heavy] * (p.stem in LONG)) for p in WITH_EXAMPLES],
    ids=name,
)
@pytest.mark.filterwarnings("ignore:Pareto k of:UserWarning")
def test_examples_run_and_print_what_the_page_says(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    session: dict[str, object] = {}
    for example in examples(page):
        said = io.StringIO()
        with contextlib.redirect_stdout(said):
            exec(compile(example.code, name(page), "exec"), session)
        if example.output is not None:
            assert said.getvalue().rstrip() == example.output.rstrip()


def test_the_readme_shows_python_and_the_command_line():
    (example,) = examples(ROOT / "README.md")
    assert len(example.code.strip().replace("\n\n", "\n").splitlines()) <= 6
    assert "bayesvb fit " in (ROOT / "README.md").read_text(encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=name)
def test_links_lead_somewhere(page):
    for target in LINK.findall(page.read_text(encoding="utf-8")):
        if not target.startswith((*ELSEWHERE, "#")):
            assert (page.parent / target.partition("#")[0]).exists(), target


def test_every_page_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        page = waiting.pop()
        reached.add(page)
        links = LINK.findall(page.read_text(encoding="utf-8"))
        linked = {(page.parent / to.partition("#")[0]).resolve() for to in links}
        waiting += [to for to in linked if to in PAGES and to not in reached]
    lost = {name(page) for page in PAGES if page not in reached}
    assert lost - {"docs/benchmarks.md"} == set()


def test_every_table_of_the_benchmarks_is_linked():
    text = "\n".join(page.read_text(encoding="utf-8") for page in PAGES)
    tables = sorted((ROOT / "docs/benchmarks").glob("*.csv"))
    assert [path.name for path in tables if f"{path.name})" not in text] == []


def test_the_priors_are_those_of_the_code():
    rows = re.findall(
        r"^\| `(\w+)` \| (\S+) \|", (ROOT / "docs/priors.md").read_text("utf-8"), re.M
    )
    default = bvb.Priors()
    assert dict(rows) == {f.name: str(getattr(default, f.name)) for f in fields(default)}


def test_every_dependency_that_needs_a_reason_has_one():
    text = (ROOT / "docs/decisions/0009-dependencies.md").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    names = [re.match(r"[\w-]+", entry)[0] for entry in project["dependencies"]]
    assert [one for one in names if one.lower() not in text.lower()] == []


def test_the_notation_names_what_is_in_the_code():
    code = "\n".join(path.read_text("utf-8") for path in (ROOT / "bayesvb").rglob("*.py"))
    text = (ROOT / "docs/notation.md").read_text(encoding="utf-8")
    page = (ROOT / "docs/adding.md").read_text(encoding="utf-8")
    text += page[page.index("## Symbols and their names in the code") :]
    words = {word for span in re.findall(r"`([^`]+)`", text) for word in re.findall(r"\w+", span)}
    assert sorted(word for word in words if not re.search(rf"\b{word}\b", code)) == []


@pytest.mark.parametrize("page", sorted((ROOT / "docs/decisions").glob("*.md")), ids=name)
def test_a_decision_is_one_page_of_three_parts(page):
    text = page.read_text(encoding="utf-8")
    assert re.findall(r"^## (.*)$", text, re.M) == ["Context", "Decision", "Consequences"]
    assert len(text.splitlines()) <= 60


def test_the_pictures_are_small():
    sizes = {path.name: path.stat().st_size for path in (ROOT / "docs/images").glob("*.png")}
    assert sizes.pop("geyser.png") < 80_000
    assert max(sizes.values()) < 150_000


@pytest.mark.parametrize("page", NOTEBOOKS, ids=name)
def test_a_tutorial_is_a_notebook_whose_cells_are_python_and_fit_on_the_page(page):
    text = page.read_text(encoding="utf-8")
    assert text.startswith("---\nfile_format: mystnb\n")
    cells = CELL.findall(text)
    for cell in cells:
        compile(cell, name(page), "exec")
    assert cells
    assert list(examples(page)) == []  # those are run on their own, without the cells before them
    assert [line for cell in cells for line in cell.splitlines() if len(line) > 100] == []


@pytest.mark.parametrize("name", ["folds", "methods"])
def test_tables_of_networks_are_those_of_the_benchmarks(name, monkeypatch):
    monkeypatch.syspath_prepend(str(ROOT / "tests" / "benchmarks"))
    import plot_networks

    page = (ROOT / "docs/benchmarks/networks.md").read_text(encoding="utf-8")
    file = {"folds": "network_folds", "methods": "network_table"}[name]
    table = pd.read_csv(ROOT / f"docs/benchmarks/{file}.csv")
    lines = getattr(plot_networks, f"{name}_table")(table)
    assert plot_networks.with_table(page, name, lines) == page, "run plot_networks.py"
