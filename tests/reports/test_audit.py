"""The section on simulation-based calibration, and the fit that carries it."""

import json

import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports.cells.plain import plain
from bayesvb.reports.sections import SECTIONS, audit


@pytest.fixture(scope="module")
def model():
    data = bvb.datasets.load("faithful").iloc[:30]
    return bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)


@pytest.fixture(scope="module")
def calibration(model):
    return bvb.sbc(model, 12, seed=1, restarts=1, n_jobs=1, draws=99)


@pytest.fixture(scope="module")
def fit(model):
    return model.fit(seed=1, restarts=1, draws=50)


def test_a_fit_without_audit_has_no_section(fit):
    assert audit.summary(fit) is None


def test_the_section_says_what_the_calibration_says(fit, calibration):
    found = plain(SECTIONS["audit"].summary(fit.with_sbc(calibration)))
    assert (found["replications"], found["failed"]) == (12, 0)
    rows = {row["heads"][0]: row["cells"] for row in found["coverage"]["rows"]}
    expected = calibration.coverage.loc[("mean", 0.9)]
    assert rows["mean"][4:] == pytest.approx([100 * expected["coverage"], 100 * expected["se"]])
    assert len(found["table"]["rows"]) == calibration.ranks.shape[1]
    json.dumps(found, allow_nan=False)


def test_the_page_has_the_section(fit, calibration, tmp_path):
    text = fit.report(tmp_path / "page.html", calibration=calibration).read_text(encoding="utf-8")
    assert "Audited by simulation" in text and "12 times" in text


def test_a_calibration_does_not_say_of_which_fit_it_is(fit, calibration, tmp_path):
    with pytest.raises(DataError, match="to which of 2 fits"):
        bvb.report({"a": fit, "b": fit}, tmp_path / "two.html", calibration=calibration)


def test_a_calibration_of_another_model_is_refused(calibration):
    data = bvb.datasets.load("faithful").iloc[:30]
    other = bvb.DensityRegression("waiting ~ 1", data, n_components=1).fit(seed=1, restarts=1)
    with pytest.raises(DataError, match="calibration belongs to another model"):
        other.with_sbc(calibration)


def test_a_saved_fit_keeps_its_audit(fit, calibration, tmp_path):
    back = bvb.load(fit.with_sbc(calibration).save(tmp_path / "fit.nc")).sbc
    pd.testing.assert_frame_equal(back.ranks, calibration.ranks)
    pd.testing.assert_frame_equal(back.replications, calibration.replications)
    assert str(back) == str(calibration)
    assert (back.seed, back.planned) == (calibration.seed, calibration.planned)
