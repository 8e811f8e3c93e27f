"""Every kind of page has no violation that axe-core finds, in light and in dark colours."""

import html
import importlib.resources
import importlib.util
import json
import re
import shutil
import subprocess

import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
    pytest.mark.skipif(
        importlib.util.find_spec("axe_core_python") is None, reason="axe-core is not installed"
    ),
]

RUN = """<script>for (const one of document.querySelectorAll("details")) one.open = true;
axe.run(document, OPTIONS).then(found => {
const place = document.createElement("pre"); place.id = "violations";
place.textContent = JSON.stringify(found.violations.map(
  one => [one.id, one.nodes.map(node => node.html.slice(0, 200))]));
document.body.appendChild(place)})</script>"""

# Full results are of violations only: axe need not describe what passes.
EVERY_RULE = {"resultTypes": ["violations"]}
# Only these rules depend on colours.
RULES_OF_COLOUR = {**EVERY_RULE, "runOnly": ["color-contrast", "link-in-text-block"]}


def violations(page, folder, rules=EVERY_RULE, *options):
    """What axe-core finds in a page that Chromium shows."""
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    path = folder / "page.html"
    text = page.read_text(encoding="utf-8").replace(
        "</body>", f"<script>{axe}</script>{RUN.replace('OPTIONS', json.dumps(rules))}</body>"
    )
    path.write_text(text, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *options,
               "--virtual-time-budget=30000", f"--user-data-dir={folder / 'profile'}",
               path.as_uri()]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="violations">(.*?)</pre>', shown, re.DOTALL)
    assert found, "the page was not looked at"
    return json.loads(html.unescape(found[1]))


SCHEMES = [(EVERY_RULE,), (RULES_OF_COLOUR, "--force-dark-mode")]


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_no_violation_is_found(page_kind, scheme, write, tmp_path):
    page = write(page_kind, tmp_path / "fit.html", "full")
    assert violations(page, tmp_path, *scheme) == []


def test_a_violation_would_be_found(tmp_path):
    page = tmp_path / "wrong.html"
    page.write_text("<html><body><img src='x'></body></html>", encoding="utf-8")
    assert any("image-alt" in one for one in violations(page, tmp_path))


@pytest.mark.parametrize("scheme", SCHEMES, ids=["light", "dark"])
def test_a_colour_that_is_faint_in_one_scheme_is_found(scheme, tmp_path):
    """Of each scheme the other's colours would pass."""
    page = tmp_path / "faint.html"
    dark = "@media (prefers-color-scheme: dark)"
    faint = "p {color: #777; background: #888}"
    style = f"{dark} {{{faint}}}" if len(scheme) > 1 else f"{faint} {dark} {{p {{color: #000}}}}"
    page.write_text(f"<html><style>{style}</style><body><p>faint</p></body></html>", "utf-8")
    assert any("color-contrast" in one for one in violations(page, tmp_path, *scheme))
