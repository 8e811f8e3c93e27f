"""Every kind of page has no violation that axe-core finds, in light and in dark colours."""

import html
import importlib.resources
import importlib.util
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
    pytest.mark.skipif(
        importlib.util.find_spec("axe_core_python") is None, reason="axe-core is not installed"
    ),
]

RUN = """<script>for (const one of document.querySelectorAll("details")) one.open = true;
axe.run(document).then(found => {
const place = document.createElement("pre"); place.id = "violations";
place.textContent = JSON.stringify(found.violations.map(
  one => [one.id, one.nodes.map(node => node.html.slice(0, 200))]));
document.body.appendChild(place)})</script>"""


@pytest.fixture(scope="module")
def fits():
    rng = np.random.default_rng(1)
    data = pd.DataFrame(rng.normal(size=(80, 2)), columns=["x", "z"])
    data["y"] = 2.0 * data["x"] + rng.normal(size=80)
    data["g"] = np.where(data["y"] > 0.5, "a", "b")
    few = {"seed": 1, "restarts": 2, "draws": 100}
    return {
        "density": bvb.DensityRegression("y ~ bs(x, df=4) + z", data, n_components=2).fit(**few),
        "line": bvb.DensityRegression("y ~ x + z", data, n_components=1).fit(**few),
        "network": bvb.ConditionalMixtureNetwork("g ~ x + z", data, n_experts=2).fit(**few),
        "mixture": bvb.GaussianMixture("~ x + y", data, n_components=2).fit(**few),
        "scores": bvb.BayesianPCA("~ x + y + z", data).fit(**few),
        "sample": bvb.Normal("y ~ 1", data).fit(**few),
    }


def violations(page, folder, *options):
    """What axe-core finds in a page that Chromium shows."""
    axe = importlib.resources.files("axe_core_python").joinpath("axe.min.js").read_text("utf-8")
    path = folder / "page.html"
    text = page.read_text(encoding="utf-8").replace(
        "</body>", f"<script>{axe}</script>{RUN}</body>"
    )
    path.write_text(text, encoding="utf-8")
    command = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", *options,
               "--virtual-time-budget=30000", f"--user-data-dir={folder / 'profile'}",
               path.as_uri()]  # fmt: skip
    shown = subprocess.run(command, capture_output=True, text=True, timeout=120).stdout
    found = re.search(r'<pre id="violations">(.*?)</pre>', shown, re.DOTALL)
    assert found, "the page was not looked at"
    return json.loads(html.unescape(found[1]))


KINDS = ["density", "network", "mixture", "scores", "sample", "two"]
DARK = "--force-dark-mode"


@pytest.mark.parametrize(
    ("kind", "scheme"), [*((kind, ()) for kind in KINDS), ("density", (DARK,)), ("two", (DARK,))]
)
def test_no_violation_is_found(kind, scheme, fits, tmp_path):
    told = {"a": fits["density"], "b": fits["line"]} if kind == "two" else fits[kind]
    page = bvb.report(told, tmp_path / "fit.html", edition="full")
    assert violations(page, tmp_path, *scheme) == []


def test_a_violation_would_be_found(tmp_path):
    page = tmp_path / "wrong.html"
    page.write_text("<html><body><img src='x'></body></html>", encoding="utf-8")
    assert any("image-alt" in one for one in violations(page, tmp_path))
