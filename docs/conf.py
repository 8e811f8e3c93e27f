"""Settings of the built documentation: `make docs` writes it to build/docs."""

from __future__ import annotations

import re
from importlib import metadata

project = "bayesvb"
author = "the bayesvb developers"
release = metadata.version("bayesvb")

extensions = ["myst_nb", "sphinx.ext.autodoc", "sphinx.ext.mathjax", "numpydoc"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["images/make.py"]
myst_enable_extensions = ["dollarmath", "attrs_inline"]
myst_heading_anchors = 4
nb_execution_mode = "off"  # examples run as tests, and print what the pages say

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"bayesvb {release}"
html_theme_options = {"navigation_with_keys": False, "show_toc_level": 2}
html_show_sourcelink = False


OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+(?:README|CONTRIBUTING|CHANGELOG|bayesvb|reports|tests)[^)]*\)"
)
"""A link to a file of the checkout that is no page."""

PAGE = re.compile(r"\]\(([a-z-]+|decisions/[0-9a-z-]+)\.md\)")
"""A link of the table of contents."""


def _as_pages(app: object, docname: str, source: list[str]) -> None:
    """Take links out of the pages away, and list the pages of the table of contents."""
    source[0] = OUTSIDE.sub(r"\1", source[0])
    if docname == "index":
        pages = dict.fromkeys(PAGE.findall(source[0]))
        source[0] += "\n```{toctree}\n:hidden:\n\n" + "\n".join(pages) + "\n```\n"


def setup(app: object) -> None:
    """Register what is done to every page."""
    app.connect("source-read", _as_pages)  # type: ignore[attr-defined]
