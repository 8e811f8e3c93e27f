"""The first screen: above 900 pixels, uncut on a phone, two printed pages, all numbers in JSON."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

LONG = {name: f"A label of the column {name} that is longer than any other" for name in "xzvyg"}

MEASURE = """<script>
const end = name => Math.max(0, ...[...document.querySelectorAll(name)].map(
  one => one.getBoundingClientRect().bottom));
for (const one of document.querySelectorAll("details")) one.open = true;
const labels = [...document.querySelectorAll(".canvas span")];
const place = document.createElement("pre"); place.id = "measured";
place.textContent = JSON.stringify({strip: end(".finding .strip"), data: end(".finding .data-line"),
  width: document.documentElement.scrollWidth, seen: window.innerWidth,
  left: Math.min(0, ...labels.map(one => one.getBoundingClientRect().left)),
  labels: Math.min(16, ...labels.map(one => parseFloat(getComputedStyle(one).fontSize))),
  small: Math.min(...[...document.querySelectorAll(".finding :is(p, span, td, th, li, small)")].map(
    one => parseFloat(getComputedStyle(one).fontSize)))});
document.body.appendChild(place)</script>"""


FULL = ("density", "groups", "classes", "components")
"""Kinds whose full edition is shown too: together they have most figures."""


@pytest.fixture(scope="module")
def pages(kinds, write, tmp_path_factory):
    """One page for each kind of model."""
    folder = tmp_path_factory.mktemp("pages")
    for name in kinds:
        labels = LONG if name == "crowded" else None
        edition = None if name == "mixture" else "short"
        write(name, folder / f"{name}.html", edition, labels=labels)
        if name in FULL:
            write(name, folder / f"{name}-full.html", "full")
    return folder


FRAME = """<iframe id="{name}" width="{width}" height="900" srcdoc="{page}"></iframe>"""
"""A frame of the width of a phone: windows of a headless Chromium have at least 500 pixels."""

COLLECT = """<script>addEventListener("load", event => {
for (const frame of document.querySelectorAll("iframe")) {
  const place = document.createElement("pre"); place.className = frame.id;
  place.textContent = frame.contentDocument.getElementById("measured").textContent;
  document.body.append(place)}})</script>"""

SCREEN, PHONE = 1280, 390


@pytest.fixture(scope="module")
def sizes(kinds, pages, tmp_path_factory):
    """Sizes of every page, in frames of the width of a screen and of a phone.

    All frames are of one window, because to start Chromium takes longer than to lay out a page.
    """
    frames = []
    for name in kinds:
        for width, edition in ((SCREEN, ""), (PHONE, "-full" if name in FULL else "")):
            text = (pages / f"{name}{edition}.html").read_text(encoding="utf-8")
            page = html.escape(text.replace("</body>", f"{MEASURE}</body>"))
            frames.append(FRAME.format(name=f"{name}-{width}", width=width, page=page))
    folder = tmp_path_factory.mktemp("shown")
    path = folder / "shown.html"
    document = f'<!doctype html><meta charset="utf-8"><body>{"".join(frames)}{COLLECT}'
    path.write_text(document, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
               "--window-size=1400,900", f"--user-data-dir={folder / 'profile'}",
               path.as_uri()]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, timeout=240).stdout
    measured = re.findall(r'<pre class="([^"]+)">(.*?)</pre>', text, re.DOTALL)
    return {name: json.loads(html.unescape(values)) for name, values in measured}


def test_the_answer_and_its_verdict_are_on_the_first_screen(page_kind, sizes):
    measured = sizes[f"{page_kind}-{SCREEN}"]
    assert 0.0 < measured["strip"] < 400.0 and measured["data"] < 900.0
    assert measured["small"] >= 12.0


def test_nothing_is_wider_than_a_phone(page_kind, sizes):
    measured = sizes[f"{page_kind}-{PHONE}"]
    assert measured["width"] <= measured["seen"] == PHONE
    assert measured["left"] >= 0.0 and measured["labels"] >= 12.0


def test_the_short_edition_prints_on_two_pages(page_kind, pages, tmp_path):
    target = tmp_path / "page.pdf"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
               f"--user-data-dir={tmp_path / 'profile'}", "--no-pdf-header-footer",
               f"--print-to-pdf={target}", (pages / f"{page_kind}.html").as_uri()]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b(?!s)", target.read_bytes())) <= 2


def test_the_short_edition_is_a_small_file(page_kind, pages):
    if page_kind == "mixture":
        return  # it has the full edition too
    assert (pages / f"{page_kind}.html").stat().st_size < 120 * 1024


def shown_numbers(page):
    """Numbers that a reader sees on the first screen, as they are written there."""
    text = page[page.index("<h1>") : page.index('<div class="two">')]
    text = re.sub(r'<(\w+)[^>]* aria-hidden="true".*?</\1>|<svg.*?</svg>', " ", text, flags=re.S)
    text = re.sub(r"<[^>]*>", " ", text).replace("−", "-")
    text = re.sub(r"(?<=\d),(?=\d{3}\b)", "", text)
    return set(re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", text))


def numbers_of(value):
    """Numbers of a JSON document, and those that its texts have."""
    if isinstance(value, dict | list):
        for one in value.values() if isinstance(value, dict) else value:
            yield from numbers_of(one)
    elif isinstance(value, str):
        words = re.sub(r"(?<=\d),(?=\d{3}\b)", "", value.replace("−", "-"))
        yield from re.findall(r"(?<![\w.])-?\d+(?:\.\d+)?", words)
    elif isinstance(value, int | float) and not isinstance(value, bool):
        yield float(value)


def test_every_number_of_the_first_screen_is_in_the_json(page_kind, pages):
    page = (pages / f"{page_kind}.html").read_text(encoding="utf-8")
    twin = json.loads(re.search(r'id="summary">(.*?)</script>', page, re.DOTALL)[1])
    found = list(numbers_of(twin))
    values = np.array([one for one in found if isinstance(one, float)])
    shown = shown_numbers(page)
    assert len(shown) > 6
    for number in shown - {one for one in found if isinstance(one, str)}:
        decimals = len(number.partition(".")[2])
        assert (np.round(values, decimals) == float(number)).any(), number
