"""What Chromium shows: an answer on the first screen, nothing cut on a phone, two printed pages."""

import html
import json
import re
import shutil
import subprocess

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb

CHROMIUM = shutil.which("chromium") or shutil.which("google-chrome")

pytestmark = [
    pytest.mark.heavy,
    pytest.mark.skipif(CHROMIUM is None, reason="there is no Chromium"),
]

FEW = {"seed": 1, "restarts": 1, "draws": 80}

LONG = {name: f"A label of the column {name} that is longer than any other" for name in "xzvyg"}

MEASURE = """<script>
const end = name => Math.max(0, ...[...document.querySelectorAll(name)].map(
  one => one.getBoundingClientRect().bottom));
for (const one of document.querySelectorAll("details")) one.open = true;
const labels = [...document.querySelectorAll(".canvas span")];
const place = document.createElement("pre"); place.id = "measured";
place.textContent = JSON.stringify({strip: end("#finding .strip"), data: end("#finding .data-line"),
  width: document.documentElement.scrollWidth, seen: window.innerWidth,
  left: Math.min(0, ...labels.map(one => one.getBoundingClientRect().left)),
  labels: Math.min(16, ...labels.map(one => parseFloat(getComputedStyle(one).fontSize))),
  small: Math.min(...[...document.querySelectorAll("#finding :is(p, span, td, th, li, small)")].map(
    one => parseFloat(getComputedStyle(one).fontSize)))});
document.body.appendChild(place)</script>"""


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """One page for each kind of model."""
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(80, 3)), columns=["x", "z", "v"])
    data["y"] = 2.0 * data["x"] + rng.normal(size=80)
    data["g"] = np.where(data["y"] > 0.5, "a", "b")
    data["school"] = np.repeat(list("stuvwxyz"), 10)
    data["n"] = rng.poisson(np.exp(0.5 * data["x"]))
    data["one"] = (data["y"] > 0.0).astype(int)
    data["square"] = (data.iloc[:, :3] @ [1.0, 2.0, 3.0]) ** 2 + 3.0 * data["y"]
    density = bvb.DensityRegression
    fits = {
        "density": density("y ~ bs(x, df=4) + z", data, n_components=2),
        "levels": density("y ~ g", data, n_components=1),
        "groups": density("y ~ x + (1 | school)", data, n_components=1),
        "several": density("y + v ~ x", data, n_components=1),
        "counts": density("n ~ x", data, n_components=1, family="poisson"),
        "events": density("one ~ x", data, n_components=1, family="bernoulli"),
        "classes": bvb.ConditionalMixtureNetwork("g ~ x + z", data, n_experts=2),
        "mixture": bvb.GaussianMixture("~ x + y", data, n_components=2),
        "components": bvb.BayesianPCA("~ x + y + z", data),
        "sample": bvb.Normal("y ~ 1", data),
        "crowded": density(f"square ~ {' + '.join(data.columns[:5])}", data, n_components=1),
    }
    folder = tmp_path_factory.mktemp("pages")
    made = {name: model.fit(**FEW) for name, model in fits.items()}
    for name, fit in made.items():
        labels = LONG if name == "crowded" else None
        edition = None if name == "mixture" else "short"
        fit.report(folder / f"{name}.html", edition=edition, labels=labels)
        if name in FULL:
            fit.report(folder / f"{name}-full.html", edition="full")
    return folder


KINDS = ("density", "levels", "groups", "several", "counts", "events", "classes", "mixture",
         "components", "sample", "crowded")  # fmt: skip

FULL = ("density", "groups", "classes", "components")
"""Kinds whose full edition is shown too: together they have most figures."""


FRAME = """<!doctype html><meta charset="utf-8"><body style="margin: 0">
<iframe width="{width}" height="900" style="border: 0" srcdoc="{page}"></iframe><script>
document.querySelector("iframe").addEventListener("load", event => {{
  document.body.append(event.target.contentDocument.getElementById("measured"))}})</script>"""
"""A frame of the width of a phone: windows of a headless Chromium have at least 500 pixels."""


def shown(page, folder, width):
    """Sizes of a page that Chromium shows in a window of this width."""
    path = folder / "shown.html"
    text = page.read_text(encoding="utf-8").replace("</body>", f"{MEASURE}</body>")
    path.write_text(FRAME.format(width=width, page=html.escape(text)), encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom",
               "--window-size=1400,900", f"--user-data-dir={folder / 'profile'}",
               path.as_uri()]  # fmt: skip
    text = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    found = re.findall(r'<pre id="measured">(.*?)</pre>', text, re.DOTALL)
    assert found, "the page was not looked at"
    return json.loads(html.unescape(found[-1]))


@pytest.mark.parametrize("kind", KINDS)
def test_the_answer_and_its_verdict_are_on_the_first_screen(kind, pages, tmp_path):
    found = shown(pages / f"{kind}.html", tmp_path, 1280)
    assert 0.0 < found["strip"] < 400.0 and found["data"] < 900.0
    assert found["small"] >= 12.0


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_is_wider_than_a_phone(kind, pages, tmp_path):
    edition = "-full" if kind in FULL else ""
    found = shown(pages / f"{kind}{edition}.html", tmp_path, 390)
    assert found["width"] <= found["seen"] == 390
    assert found["left"] >= 0.0 and found["labels"] >= 12.0


@pytest.mark.parametrize("kind", ["density", "levels", "mixture", "several", "groups"])
def test_the_short_edition_prints_on_two_pages(kind, pages, tmp_path):
    target = tmp_path / "page.pdf"
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu",
               f"--user-data-dir={tmp_path / 'profile'}", "--no-pdf-header-footer",
               f"--print-to-pdf={target}", (pages / f"{kind}.html").as_uri()]  # fmt: skip
    subprocess.run(command, capture_output=True, timeout=120, check=True)
    assert len(re.findall(rb"/Type\s*/Page\b(?!s)", target.read_bytes())) == 2


def test_the_short_edition_is_a_small_file(pages):
    for kind in set(KINDS) - {"mixture"}:  # which has the full edition too
        assert (pages / f"{kind}.html").stat().st_size < 120 * 1024, kind
