"""The pages of public names have each of them once."""

import inspect
import re

import pytest

import bayesvb as bvb


@pytest.fixture
def entries(root):
    """Names that the pages of the reference document, without those of their module."""
    pages = [page.read_text(encoding="utf-8") for page in (root / "docs/reference").glob("*.md")]
    pattern = r"auto(?:class|function|module|method|property):: (?:bayesvb\.)?([\w.]+)"
    return [name for page in pages for name in re.findall(pattern, page)]


def test_every_public_name_is_on_one_page(entries):
    assert set(entries) >= set(bvb.__all__) - {"__version__"}
    assert len(entries) == len(set(entries))


def test_every_public_member_of_a_fit_is_on_a_page(entries):
    members = {name for name in dir(bvb.Fit) if not name.startswith("_")}
    documented = {
        name
        for name in members
        if callable(value := inspect.getattr_static(bvb.Fit, name))
        or isinstance(value, property | classmethod)
    }
    assert sorted(documented - {entry.removeprefix("Fit.") for entry in entries}) == []
