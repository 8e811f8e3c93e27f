"""What is installed is what lies in the folders, from a wheel as from an editable install."""

import importlib.resources
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
from collections.abc import Iterator
from importlib.resources.abc import Traversable
from pathlib import Path
from zipfile import ZipFile

import pytest

ROOT = Path(__file__).resolve().parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
SETUPTOOLS = PROJECT["tool"]["setuptools"]
FOLDERS = SETUPTOOLS["package-dir"]
BUILD_INPUTS = ("pyproject.toml", "LICENSE", "README.md", *FOLDERS.values())
NOT_SHIPPED = shutil.ignore_patterns("__pycache__", ".*", "*.so", "*.pyd")


def walk(folder: Traversable, name: str = "") -> Iterator[tuple[str, bytes]]:
    """Each file below a folder, with its path in it."""
    entries = list(folder.iterdir())
    ignored = NOT_SHIPPED("", [entry.name for entry in entries])
    for entry in entries:
        if entry.name in ignored:
            continue
        if entry.is_dir():
            yield from walk(entry, f"{name}{entry.name}/")
        else:
            yield name + entry.name, entry.read_bytes()


@pytest.fixture(scope="module")
def checkout() -> dict[str, bytes]:
    """Every file of the mapped folders, under the name that the wheel should give it."""
    return {
        f"{package.replace('.', '/')}/{name}": content
        for package, folder in FOLDERS.items()
        for name, content in walk(ROOT / folder)
    }


def built(source: Path, kind: str) -> Path:
    """A wheel or sdist, built from a copy: a `build/` left in the checkout would leak into it."""
    for name in BUILD_INPUTS:
        path = ROOT / name
        if path.is_dir():
            shutil.copytree(path, source / name, ignore=NOT_SHIPPED)
        elif path.exists():
            shutil.copy(path, source / name)
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", str(source)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=source)
    assert done.returncode == 0, done.stdout + done.stderr
    (file,) = (source / "dist").iterdir()
    return file


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> dict[str, bytes]:
    """Files of a wheel."""
    with ZipFile(built(tmp_path_factory.mktemp("source"), "wheel")) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def without_metadata(files: dict[str, bytes]) -> dict[str, bytes]:
    """Without the compiled core either, which is there where a compiler is."""
    ignored = (".so", ".pyd")
    return {n: c for n, c in files.items() if ".dist-info/" not in n and not n.endswith(ignored)}


def test_the_list_of_packages_is_the_list_of_folders(checkout):
    folders = {Path(name).parent.as_posix() for name in checkout if name.endswith("/__init__.py")}
    assert sorted(SETUPTOOLS["packages"]) == sorted(name.replace("/", ".") for name in folders)


def test_every_folder_with_code_is_a_package(checkout):
    with_code = {Path(name).parent.as_posix() for name in checkout if name.endswith(".py")}
    assert sorted(f for f in with_code if f"{f}/__init__.py" not in checkout) == []


@pytest.mark.heavy
def test_the_wheel_holds_every_file_of_the_folders_and_no_other(wheel, checkout):
    assert sorted(without_metadata(wheel)) == sorted(checkout)


@pytest.mark.heavy
@pytest.mark.skipif(shutil.which("gcc") is None, reason="there is no compiler")
def test_the_wheel_holds_the_compiled_core(wheel):
    assert [name for name in wheel if name.startswith("bayesvb/numerics/compiled_sweep.")] != []


@pytest.mark.heavy
def test_without_a_compiler_the_wheel_lacks_the_core_only(tmp_path, monkeypatch, checkout):
    monkeypatch.setenv("CC", "/bin/false")
    with ZipFile(built(tmp_path, "wheel")) as archive:
        held = [name for name in archive.namelist() if ".dist-info/" not in name]
    assert sorted(held) == sorted(checkout)


@pytest.mark.heavy
def test_the_source_distribution_holds_what_a_wheel_is_made_of(tmp_path):
    with tarfile.open(built(tmp_path, "sdist")) as archive:
        held = {name.partition("/")[2] for name in archive.getnames()}
    needed = {f"{folder}/{name}" for folder in FOLDERS.values() for name, _ in walk(ROOT / folder)}
    assert sorted({*needed, "pyproject.toml", "README.md", "LICENSE"} - held) == []


@pytest.mark.heavy
def test_the_wheel_holds_the_licence_and_the_command(wheel):
    metadata = {n.split(".dist-info/")[1]: c for n, c in wheel.items() if ".dist-info/" in n}
    assert metadata["licenses/LICENSE"] == (ROOT / "LICENSE").read_bytes()
    assert b"bayesvb = bayesvb.cli.entry:run" in metadata["entry_points.txt"]


@pytest.mark.heavy
@pytest.mark.parametrize("package", FOLDERS)
def test_the_installed_package_has_the_files_of_the_wheel(package, wheel):
    folder = package.replace(".", "/") + "/"
    inner = {name.replace(".", "/") + "/" for name in FOLDERS if name.startswith(package + ".")}
    expected = {
        name.removeprefix(folder): content
        for name, content in without_metadata(wheel).items()
        if name.startswith(folder) and not name.startswith(tuple(inner))
    }
    installed = {
        name: content
        for name, content in walk(importlib.resources.files(package))
        if not (folder + name).startswith(tuple(inner))
    }
    assert sorted(installed) == sorted(expected)
    assert [name for name in expected if installed[name] != expected[name]] == []


@pytest.mark.parametrize("folder", ["reports", "datasets"])
def test_the_mapped_folders_are_not_top_level_packages(folder, tmp_path):
    question = f"import importlib.util as u; print(u.find_spec({folder!r}))"
    command = [sys.executable, "-c", question]
    answer = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    # Another distribution may own the name (`datasets` of Hugging Face does); ours may not.
    assert answer.stdout.strip() == "None" or str(ROOT) not in answer.stdout
    assert f"bayesvb.{folder}" in SETUPTOOLS["packages"]


def test_the_oldest_versions_that_are_tested_are_the_floors_of_the_project():
    dependencies = PROJECT["project"]["dependencies"]
    written = [re.match(r"([\w-]+)>=([\d.]+)", dependency) for dependency in dependencies]
    assert all(written), "a dependency without a floor"
    floors = dict(match.groups() for match in written)
    lines = (ROOT / ".ci/oldest.txt").read_text(encoding="utf-8").splitlines()
    tested = dict(line.split("==") for line in lines if not line.startswith("#"))
    assert {name: tested.get(name) for name in floors} == floors


def test_the_version_is_that_of_the_project():
    import bayesvb

    assert bayesvb.__version__ == PROJECT["project"]["version"]


def test_the_version_has_an_entry_in_the_changelog():
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    assert f"## [{PROJECT['project']['version']}]" in changelog or "## [Unreleased]" in changelog


def test_the_citation_is_of_the_version():
    citation = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert f"\nversion: {PROJECT['project']['version']}\n" in citation
