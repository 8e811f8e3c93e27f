"""Settings of the built documentation: `make docs` writes it to build/docs.

Nothing is fetched from the net, neither while it is built nor while it is read: formulas become
MathML, which browsers draw themselves.
"""

from __future__ import annotations

import os
import re
from importlib import metadata
from pathlib import Path
from typing import Any

from docutils.nodes import SkipNode
from docutils.utils.math import latex2mathml

os.environ.setdefault("OMP_NUM_THREADS", "1")  # of the kernels; a processor each is enough
os.environ.setdefault("MATPLOTLIBRC", str(Path(__file__).with_name("matplotlibrc")))
os.environ.pop("MPLBACKEND", None)  # with another backend than theirs pages have no pictures
os.environ["PYDEVD_DISABLE_FILE_VALIDATION"] = "1"  # a warning of theirs about debuggers

KERNEL = Path(__file__).resolve().parents[1] / "build" / "kernel"  # no settings of who builds it
(KERNEL / "profile_default").mkdir(parents=True, exist_ok=True)
(KERNEL / "profile_default" / "ipython_kernel_config.py").write_text(
    "c = get_config()\nc.IPKernelApp.log_level = 40  # not each kernel's port\n"
    "c.HistoryManager.enabled = False\n"
)
os.environ["IPYTHONDIR"] = str(KERNEL)

project = "bayesvb"
author = "the bayesvb developers"
release = metadata.version("bayesvb")

extensions = ["myst_nb", "sphinx.ext.autodoc", "numpydoc"]
source_suffix = {".md": "myst-nb"}
exclude_patterns = ["images/make.py"]
myst_enable_extensions = ["dollarmath", "attrs_inline", "colon_fence"]
myst_heading_anchors = 4
myst_update_mathjax = False
html_math_renderer = "mathml"

nb_execution_mode = "force"  # tutorials and pictures; code of other pages runs as tests
nb_execution_timeout = 300  # a cell, on a machine with other work
nb_execution_raise_on_error = True
nb_execution_show_tb = True
nb_merge_streams = True
nb_ipywidgets_js = {}  # from the net, and there are no widgets

autodoc_member_order = "bysource"
autodoc_typehints = "none"
numpydoc_show_class_members = False
numpydoc_class_members_toctree = False

html_theme = "pydata_sphinx_theme"
html_title = f"bayesvb {release}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_toc_level": 2,
    "navbar_center": [],  # pages are in the sidebar, by section
    "secondary_sidebar_items": ["page-toc"],
}
html_sidebars = {"**": ["all-pages"]}
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["pages.css"]
html_show_sourcelink = False


OUTSIDE = re.compile(
    r"\[([^\]]+)\]\((?:\.\./)+"
    r"(?:README|CONTRIBUTING|CHANGELOG|CITATION|bayesvb|reports|tests|datasets)[^)]*\)"
)
"""A link to a file of the checkout that is no page."""

SECTION = re.compile(r"^## (.*)$", re.M)
PAGE = re.compile(r"\]\(((?:[a-z]+/)?[0-9a-z-]+)\.md\)")
"""A link of the table of contents."""

SHORT_FRACTION = re.compile(r"frac\s*[^{\s]|frac\{[^}]*\}\s*[^{\s]")
"""A fraction without braces, of which docutils makes another number."""


def contents(index: str) -> str:
    """A list of pages for each section of the index that links to some, under its heading."""
    parts = SECTION.split(index)
    listed: set[str] = set()
    trees = ""
    for heading, text in zip(parts[1::2], parts[2::2], strict=True):
        pages = [page for page in dict.fromkeys(PAGE.findall(text)) if page not in listed]
        listed.update(pages)
        if pages:
            trees += f"\n```{{toctree}}\n:hidden:\n:caption: {heading}\n\n"
            trees += "\n".join(pages) + "\n```\n"
    return trees


def _as_pages(app: object, docname: str, source: list[str]) -> None:
    """Take links out of the pages away, and list the pages of the table of contents.

    Decisions are below the page on the architecture, which alone links all of them.
    """
    source[0] = OUTSIDE.sub(r"\1", source[0])
    if docname == "index":
        source[0] += contents(source[0])
    elif docname == "architecture":
        source[0] += contents("".join(source[0].partition("\n## Decisions\n")[1:]))


def formula(text: str, *, alone: bool = False) -> str:
    """MathML of a formula; raises where its LaTeX is not understood, or would be misread."""
    if SHORT_FRACTION.search(text):
        raise ValueError(f"braces are missing in {text!r}: write \\frac{{1}}{{2}}, not \\frac12")
    return str(latex2mathml.tex2mathml(text, as_block=alone))


def _inline(writer: Any, node: Any) -> None:
    """Write a formula of a line of text."""
    writer.body.append(formula(node.astext()))


def _block(writer: Any, node: Any) -> None:
    """Write a formula on a line of its own."""
    writer.body.append(f'<div class="math">{formula(node.astext(), alone=True)}</div>')


def _nothing(writer: Any, node: Any) -> None:
    """Nothing remains to be written when a formula ends."""


def _whole(visit: Any) -> Any:
    """A visitor whose node has no children to visit."""

    def write(writer: Any, node: Any) -> None:
        visit(writer, node)
        raise SkipNode

    return write


def setup(app: Any) -> None:
    """Register what is done to every page."""
    app.connect("source-read", _as_pages)
    app.add_html_math_renderer(
        "mathml",
        inline_renderers=(_whole(_inline), _nothing),
        block_renderers=(_whole(_block), _nothing),
    )
