"""The report of a saved fit."""

import re

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.interactive.fitting import work
from bayesvb.interactive.messages import Preview, Written
from bayesvb.interactive.tasks import ReportTask


@pytest.mark.heavy
def test_the_short_edition_is_previewed_and_the_full_one_written(tmp_path):
    frame = pd.DataFrame({"y": [float(i * 7 % 11) for i in range(30)], "x": range(30)})
    path = tmp_path / "fit-0.nc"
    bvb.DensityRegression("y ~ x", frame, n_components=1).fit(seed=1, draws=25).save(path)
    preview, written = work(ReportTask(path=path, source="rows"), print, iter(()))
    assert isinstance(preview, Preview) and written == Written(path=path)
    assert preview.html.startswith("<!doctype html>")
    assert re.findall("<script[^>]*>", preview.html) == [
        '<script type="application/json" id="summary">'
    ]
    full, markdown = (path.with_suffix(ending).read_text() for ending in (".html", ".md"))
    assert len(full) > len(preview.html) and markdown.startswith("bayesvb report")
