"""The page of public names has all of them."""

import re

import bayesvb as bvb


def test_every_public_name_is_on_the_page(root):
    page = (root / "docs/reference.md").read_text(encoding="utf-8")
    named = set(re.findall(r"auto(?:class|function|module):: (?:bayesvb\.)?(\w+)", page))
    assert named >= set(bvb.__all__) - {"__version__"}
