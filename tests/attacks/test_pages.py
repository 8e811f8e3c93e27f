"""Names and levels that would turn the direction of a page, or break the drawings in it."""

import json
import re
import xml.dom.minidom

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import CONTROLS, without_controls

NAME = "pay \u202e100\u2028\x01\x85<d>&"


@pytest.mark.parametrize(
    "sign", ["\x00", "\x1b", "\x9f", "\u200e", "\u2028", "\u2066", "\udc80", "\ufeff"]
)
def test_signs_that_cannot_be_seen_are_numbers(sign):
    assert without_controls(f"a{sign}b") == f"a\\u{ord(sign):04x}b"


def test_tags_are_numbers_that_mean_them_in_json():
    told = without_controls("\U000e0041")
    assert told.isascii() and json.loads(f'"{told}"') == "\U000e0041"


def test_what_can_be_seen_stays():
    text = "größe ≤ 3\n\tשלום 你好 \U0001f600 \U0001f469\u200d\U0001f52c"
    assert without_controls(text) == text


@pytest.mark.heavy
def test_a_page_shows_every_sign_and_its_drawings_are_xml(tmp_path):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"y": rng.normal(size=40), NAME: rng.normal(size=40)})
    data["g"] = ["p\u202e\x02", "q\x7f\u2066"] * 20
    fit = bvb.DensityRegression("y ~ .", data, n_components=1).fit(seed=1, restarts=1, draws=50)
    page = fit.report(tmp_path / "page.html").read_text(encoding="utf-8")
    assert not CONTROLS.search(page)
    assert "pay \\u202e100" in page
    drawings = re.findall(r"<svg.*?</svg>", page, re.S)
    assert len(drawings) > 3
    for drawing in drawings:
        xml.dom.minidom.parseString(drawing)
    (told,) = re.findall(r'id="summary"[^>]*>(.*?)</script>', page, re.S)
    assert "pay \u202e100" in json.dumps(json.loads(told), ensure_ascii=False)
