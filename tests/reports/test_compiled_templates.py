"""Bytecode of templates, and folders that cannot hold it."""

import sys
from pathlib import Path

import pytest
from jinja2 import Environment
from jinja2.loaders import DictLoader

from bayesvb.reports import page


@pytest.fixture
def environments(tmp_path, monkeypatch):
    """Two environments with the same sources, and the number of templates that were compiled."""
    monkeypatch.setattr(page, "cache_from_source", lambda path: str(tmp_path / "page.pyc"))
    monkeypatch.setattr(sys, "dont_write_bytecode", False)
    compiled = []
    generate = Environment._generate

    def counted(self, *given, **options):
        compiled.append(given[1])
        return generate(self, *given, **options)

    monkeypatch.setattr(Environment, "_generate", counted)

    def make(text="{{ 1 + 1 }}"):
        loader = DictLoader({"a.html": text})
        return Environment(loader=loader, bytecode_cache=page.CompiledTemplates())

    return make, compiled


def test_a_template_is_compiled_once_for_all_processes(environments, tmp_path):
    make, compiled = environments
    assert [make().get_template("a.html").render() for _ in range(3)] == ["2", "2", "2"]
    assert compiled == ["a.html"]
    assert len(list(tmp_path.iterdir())) == 1
    assert make("{{ 1 + 2 }}").get_template("a.html").render() == "3"


@pytest.mark.parametrize("reason", ["Python writes none", "no such folder"])
def test_nothing_is_written_where_bytecode_is_not(environments, tmp_path, monkeypatch, reason):
    make, _ = environments
    if reason == "Python writes none":
        monkeypatch.setattr(sys, "dont_write_bytecode", True)
    else:
        monkeypatch.setattr(page, "cache_from_source", lambda path: str(Path("/nowhere/page.pyc")))
    assert make().get_template("a.html").render() == "2"
    assert not list(tmp_path.iterdir())
