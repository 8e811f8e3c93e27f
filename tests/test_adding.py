"""The walk through docs/adding.md, in a copy of the repository: two files for a gate, three for a
section of the report."""

import os
import re
import shutil
import subprocess
import sys
import tomllib

import pytest

IGNORED = shutil.ignore_patterns("__pycache__", ".*")
FILE = re.compile(r"```(?:python|html)\n(?:#|<!--) (\S+)(?: -->)?\n(.*?)```", re.S)
CHANGE = re.compile(r"```diff\n--- (\S+)\n(.*?)```", re.S)
GATE = "stick-breaking-boehning"
USE = """
import bayesvb as bvb
data = bvb.datasets.load("mcycle")
model = bvb.DensityRegression("accel ~ times", data, n_components=3, gate="stick-breaking-boehning")
fit = model.fit(seed=1, restarts=2)
print(bvb.__file__)
print(fit.converged, bvb.load(fit.save("a.nc")).elbo == fit.elbo)
page = fit.report("a.html").read_text(encoding="utf-8")
print("The shares are those of" in page)
"""


@pytest.fixture(scope="module")
def page(root):
    return (root / "docs/adding.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def copy(root, page, tmp_path_factory):
    """Folder of packages as they are installed, and what the page adds; the tests beside it."""
    folder = tmp_path_factory.mktemp("copy") / "packages"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["setuptools"]["package-dir"]
    for package, source in folders.items():
        shutil.copytree(root / source, folder / package.replace(".", "/"), ignore=IGNORED)
    shutil.copytree(root / "tests", folder.parent / "tests", ignore=IGNORED)
    shutil.copy(root / "pyproject.toml", folder.parent)
    places = {source: package.replace(".", "/") for package, source in folders.items()}

    def place(name):
        top, _, rest = name.partition("/")
        return folder / places[top] / rest

    for name, content in FILE.findall(page):
        assert not place(name).exists()
        place(name).write_text(content, encoding="utf-8")
    for name, lines in CHANGE.findall(page):
        place(name).write_text(changed(place(name).read_text(encoding="utf-8"), lines), "utf-8")
    return folder


def changed(text, lines):
    """The file with one line more in its imports and one in its table."""
    added = [line.removeprefix("+") for line in lines.splitlines()]
    imported, entry = added
    anchor = "from bayesvb.gates.dirichlet" if imported.startswith("from") else "    calibration,"
    text = text.replace(anchor, f"{imported}\n{anchor}", 1)
    end = text.index("\n}\n")
    return text[: end + 1] + entry + text[end:]


def run(copy, *command):
    """Output of Python with the packages of the copy."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy.parent,
        env={**os.environ, "PYTHONPATH": str(copy), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_the_files_are_those_that_the_page_promises(page):
    names = [name for name, _ in FILE.findall(page)] + [name for name, _ in CHANGE.findall(page)]
    assert sorted(names) == [
        "bayesvb/gates/__init__.py",
        "bayesvb/gates/boehning.py",
        "reports/sections/__init__.py",
        "reports/sections/balance.html",
        "reports/sections/balance.py",
    ]


def test_the_new_gate_passes_the_tests_of_all_gates(copy):
    name = "tests/conformance/test_gates.py"
    said = run(copy, "-m", "pytest", "-q", "-p", "no:cacheprovider", name, "-k", GATE)
    assert re.search(r"[1-9]\d passed", said), said


def test_the_new_gate_and_section_work_from_formula_to_report(copy):
    place, fitted, section = run(copy, "-c", USE).splitlines()
    assert place == str(copy / "bayesvb/__init__.py")
    assert (fitted, section) == ("True True", "True")


def test_the_command_line_offers_the_new_gate(copy):
    assert GATE in run(copy, "-m", "bayesvb", "fit", "--help").replace("\n", "").replace(" ", "")
