"""Single sections of a report: HTML, a picture of its own, words and numbers."""

import json
import re
import xml.etree.ElementTree as ET

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports.sections import SECTIONS

SVG = "{http://www.w3.org/2000/svg}"


@pytest.fixture(scope="module")
def fit():
    rng = np.random.default_rng(1)
    x, z = rng.normal(size=(2, 60))
    rows = pd.DataFrame({"x <b>": x, "z": z, "y": 3.0 * x + 0.3 * rng.normal(size=60)})
    model = bvb.DensityRegression("y ~ `x <b>` + z", rows, n_components=2)
    return model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")


def test_a_picture_has_its_width_and_text_of_one_size(fit):
    narrow, wide = (bvb.report_section(fit, "conditional", width=w) for w in (390, 900))
    for section, width in ((narrow, 390), (wide, 900)):
        root = ET.fromstring(section.svg)
        assert root.get("width") == f"{width}" and root.get("aria-label") == section.alt
        words = [one.text for one in root.iter(f"{SVG}text")]
        assert {"median", "x <b>", "y"} <= set(words)
        inside = [float(one.get("x")) for one in root.iter(f"{SVG}text")]
        assert min(inside) > 0.0 and max(inside) < width
    assert narrow.html == wide.html and narrow.numbers == wide.numbers
    assert "<figure" in narrow.html and "&lt;b&gt;" in narrow.html and "<b>" not in narrow.html
    assert narrow.caption in bvb.report_section(fit, "conditional").caption
    assert "<figcaption>" in narrow._repr_html_()


def test_several_drawings_have_their_titles_and_their_legend_as_text(fit):
    pictures = [bvb.report_section(fit, name, width=500) for name in ("components", "learning")]
    words = [{one.text for one in ET.fromstring(each.svg).iter()} for each in pictures]
    tails = [{one.tail for one in ET.fromstring(each.svg).iter()} for each in pictures]
    assert "component 1" in tails[0] and {"posterior", "prior"} <= tails[1]
    titles = [one for one in words[1] if one and re.search(r": \d+%$", one)]
    assert len(titles) > 2


def test_it_is_drawn_along_the_covariate_that_is_named(fit):
    default, other = bvb.report_section(fit, "conditional"), "z"
    assert "against x <b>" in default.alt
    section = bvb.report_section(fit, "conditional", along=other)
    assert "against z" in section.alt and section.numbers["responses"][0]["along"] == "z"
    with pytest.raises(DataError, match="along='w' is not known"):
        bvb.report_section(fit, "conditional", along="w")
    with pytest.raises(DataError, match="section 'data' has no covariate"):
        bvb.report_section(fit, "data", along="z")


def test_wrong_names_are_refused(fit):
    with pytest.raises(DataError, match="did you mean 'conditional'"):
        bvb.report_section(fit, "conditonal")
    with pytest.raises(DataError, match="has no such section"):
        bvb.report_section(fit, "classes")
    with pytest.raises(DataError, match="width=0 must be a positive"):
        bvb.report_section(fit, "conditional", width=0)


@pytest.mark.heavy
def test_every_section_that_applies_can_be_had_alone(fit):
    found = {}
    for name, section in SECTIONS.items():
        if section.summary(fit) is not None:
            found[name] = bvb.report_section(fit, name)
            json.dumps(found[name].numbers)
            assert found[name].html.strip()
            assert not found[name].svg or ET.fromstring(found[name].svg).tag == f"{SVG}svg"
    assert len(found) > 8
