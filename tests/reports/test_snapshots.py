"""Numbers of the sections against those of snapshots, in tables and in words."""

import json
import os
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.reports.cells.plain import numbers_only, plain
from bayesvb.reports.sections import SECTIONS

SNAPSHOTS = Path(__file__).with_name("snapshots")

VARIES = {"seconds", "environment", "restarts", "trace", "n_iter", "last_gain_per_row"}
"""Keys of what differs between machines: times, and how the ascents ran to the same end."""

WRITES = "BAYESVB_WRITE_SNAPSHOTS"
"""Variable of the environment with which the tests write the snapshots instead of comparing."""

NUMBER = re.compile(r"(?:(?<!\w)[-−])?\d+(?:,\d{3})*(?:\.\d+)?")

PASSES = re.compile(r"\d+ pass(es)?\b")
"""How long an ascent takes differs between machines."""

OTHERS = (
    "reproduce", "pairs", "scores", "exact", "classes", "classification", "audit", "survival",
    "trajectories",
)  # fmt: skip
"""Sections that the fit of two lines does not have, and one that names the machine."""

OF_LINES = [name for name in SECTIONS if name not in OTHERS]

OF_CLASSES = ["classes", "classification", "components"]


@pytest.fixture(scope="module")
def plain_fit() -> bvb.Fit:
    """Two lines; which of them a row follows depends on the covariate."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(2, 80))[0]
    jumps = rng.random(80) < 1.0 / (1.0 + np.exp(-2.0 * x))
    first = rng.choice(list("abc"), 80) == "a"
    y = np.where(jumps, 2.0 * x, -x) + first + 0.3 * rng.normal(size=80)
    model = bvb.DensityRegression("y ~ x", pd.DataFrame({"x": x, "y": y}), n_components=2)
    return model.fit(seed=1, restarts=2, draws=50)


@pytest.mark.parametrize("name", OF_LINES)
def test_the_numbers_of_a_section_are_those_of_the_snapshot(name, plain_fit):
    like_snapshot(name, SECTIONS[name].summary(plain_fit))


@pytest.mark.parametrize("name", OF_CLASSES)
def test_the_numbers_of_classes_are_those_of_the_snapshot(name, class_fit):
    like_snapshot(f"{name}_of_classes", SECTIONS[name].summary(class_fit))


def test_there_is_a_snapshot_for_every_section_and_no_other():
    names = [*OF_LINES, *(f"{name}_of_classes" for name in OF_CLASSES)]
    assert {path.name for path in SNAPSHOTS.iterdir()} == {f"report_{one}.json" for one in names}


def like_snapshot(name, summary):
    """Compare with the file, or write it: ``BAYESVB_WRITE_SNAPSHOTS=1 pytest tests/reports``."""
    found = rounded(numbers_only(plain(summary)))
    path = SNAPSHOTS / f"report_{name}.json"
    if os.environ.get(WRITES):
        path.write_text(json.dumps(found, indent=1, ensure_ascii=False) + "\n", encoding="utf-8")
        pytest.skip(f"{path.name} has been written")
    assert path.exists(), f"{path} is missing; {WRITES}=1 writes it"
    assert_like(found, json.loads(path.read_text(encoding="utf-8")), name)


def rounded(value):
    """Numbers to four digits, without what differs between machines."""
    if isinstance(value, dict):
        return {key: rounded(one) for key, one in value.items() if key not in VARIES}
    if isinstance(value, list):
        return [rounded(one) for one in value]
    return float(f"{value:.4g}") if isinstance(value, float) else value


def assert_like(found, known, where):
    """Equal up to 2 %, which other builds of numpy may differ by where draws are involved."""
    assert type(found) is type(known), where
    if isinstance(found, dict):
        assert list(found) == list(known), where
        for key, one in found.items():
            assert_like(one, known[key], f"{where}.{key}")
    elif isinstance(found, list):
        assert len(found) == len(known), where
        for number, one in enumerate(found):
            assert_like(one, known[number], f"{where}.{number}")
    elif isinstance(found, float):
        assert found == pytest.approx(known, rel=0.02, abs=2e-3), where
    elif isinstance(found, str):
        assert_words_like(found, known, where)
    else:
        assert found == known, where


def assert_words_like(found, known, where):
    """The same words, and numbers in them equal as in ``assert_like`` or but for rounding.

    Whole numbers below 100 count something and are equal, unless they are percentages.
    """
    found, known = PASSES.sub("passes", found), PASSES.sub("passes", known)
    assert NUMBER.sub("#", found) == NUMBER.sub("#", known), where
    for one, other in zip(NUMBER.finditer(found), NUMBER.finditer(known), strict=True):
        a, b = (float(each[0].replace("−", "-").replace(",", "")) for each in (one, other))
        unit = max(10.0 ** -len(each[0].partition(".")[2]) for each in (one, other))
        percent = found[one.end() : one.end() + 2].strip() == "%"
        if unit == 1.0 and abs(b) < 100.0 and not percent:
            assert a == b, f"{where}: {found}"
        assert a == pytest.approx(b, rel=0.02, abs=max(2e-3, 1.001 * unit)), f"{where}: {found}"


@pytest.mark.parametrize(
    ("found", "like"),
    [
        ("k-hat −0.03, 18 of 80 rows high", True),
        ("k-hat −0.04, 18 of 80 rows high", True),
        ("k-hat −0.05, 18 of 80 rows high", False),
        ("k-hat 0.03, 18 of 80 rows high", False),
        ("k-hat −0.03, 17 of 80 rows high", False),
        ("k-hat −0.03, 18 of 80 rows low", False),
        ("k-hat −0.03, 18 of 80,000 rows high", False),
    ],
)
def test_numbers_in_the_words_of_a_snapshot_are_compared(found, like):
    known = "k-hat −0.03, 18 of 80 rows high"
    if like:
        assert_like({"value": found}, {"value": known}, "section")
        return
    with pytest.raises(AssertionError, match=r"section\.value"):
        assert_like({"value": found}, {"value": known}, "section")


@pytest.mark.parametrize(
    ("found", "known", "like"),
    [
        ("12,345 rows", "12,400 rows", True),
        ("12,345 rows", "13,345 rows", False),
        ("from 97% to 3%", "from 98% to 2%", True),
        ("from 97% to 3%", "from 92% to 3%", False),
        ("10⁻⁸", "10⁻⁹", False),
        ("17 passes", "1 pass", True),
    ],
)
def test_counts_shares_and_powers_in_words_are_compared_each_in_its_way(found, known, like):
    if like:
        assert_words_like(found, known, "")
        return
    with pytest.raises(AssertionError):
        assert_words_like(found, known, "")


def test_a_missing_snapshot_is_not_written_unasked(tmp_path, monkeypatch):
    monkeypatch.setitem(globals(), "SNAPSHOTS", tmp_path)
    monkeypatch.delenv(WRITES, raising=False)
    with pytest.raises(AssertionError, match=f"report_new.json is missing; {WRITES}=1 writes it"):
        like_snapshot("new", {"a": 1.0})
    assert not list(tmp_path.iterdir())
    monkeypatch.setenv(WRITES, "1")
    with pytest.raises(pytest.skip.Exception, match="has been written"):
        like_snapshot("new", {"a": 1.0})
    monkeypatch.delenv(WRITES)
    like_snapshot("new", {"a": 1.0})
