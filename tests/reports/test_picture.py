"""A report as a picture: the first screen, or an error with its remedy."""

import shutil
import stat
import struct
import sys

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports import picture


@pytest.fixture(scope="module")
def fit():
    data = pd.DataFrame({"x": np.arange(30.0)})
    data["y"] = data["x"] + (data["x"] * 7.0) % 11.0
    return bvb.DensityRegression("y ~ x", data, n_components=1).fit(seed=1, draws=50)


def test_without_a_browser_the_error_comes_before_the_work_and_has_the_remedy(
    fit, tmp_path, monkeypatch
):
    monkeypatch.setenv("PATH", str(tmp_path))
    module = sys.modules["bayesvb.reports.report"]  # the package has a function of this name
    monkeypatch.setattr(module, "page_summary", lambda *_: pytest.fail("computed"))
    with pytest.raises(DataError, match=r"neither is on the PATH(?s:.*)as \.html"):
        fit.report(tmp_path / "page.png")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(shutil.which("sh") is None, reason="there is no shell")
def test_a_browser_that_draws_nothing_is_an_error(tmp_path, monkeypatch):
    browser = tmp_path / "chromium"
    for script in ("exit 1", "exit 0"):
        browser.write_text(f"#!/bin/sh\n{script}\n")
        browser.chmod(browser.stat().st_mode | stat.S_IXUSR)
        monkeypatch.setenv("PATH", str(tmp_path))
        with pytest.raises(DataError, match=r"chromium drew no picture"):
            picture.first_screen("<html><head></head></html>")


@pytest.mark.heavy
@pytest.mark.skipif(
    not any(map(shutil.which, picture.BROWSERS)), reason="there is neither Chromium nor Chrome"
)
def test_the_picture_has_the_size_of_a_screen_and_is_not_blank(fit, tmp_path):
    made = fit.report(tmp_path / "page.png").read_bytes()
    assert made[:8] == b"\x89PNG\r\n\x1a\n"
    assert struct.unpack(">II", made[16:24]) == (1280, 900)
    assert len(made) > 5 * len(picture.first_screen("<html><head></head><body></body></html>"))
