"""The page as a whole: well-formed, self-contained, accessible, the same each time."""

import html as html_module
import importlib
import json
import os
import re
from dataclasses import replace
from html.parser import HTMLParser

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.engines import side_by_side
from bayesvb.errors import DataError
from bayesvb.reports import page as page_module
from bayesvb.reports.cells.plain import numbers_only
from bayesvb.reports.page import SHORT, html, page_summary
from bayesvb.reports.sections import SECTIONS

VOID = {"meta", "link", "br", "hr", "img", "input"}
BUDGET = 500 * 1024
OWN = (
    "pairs", "scores", "exact", "classes", "classification", "audit", "trajectories", "survival",
)  # fmt: skip
REGRESSION = [name for name in SECTIONS if name not in OWN]
"""Sections of a density regression, in their order."""

HOSTILE = "<b>x</b> \"&' $a$"


class Page(HTMLParser):
    """Tags, attributes and text of a page; fails where a tag is not closed."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.open: list[str] = []
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: dict[str, list[str]] = {}
        self.feed(text)
        self.close()
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        for tag in set(self.open):
            self.inside.setdefault(tag, []).append(data)

    def all(self, tag: str) -> list[dict[str, str | None]]:
        return [attrs for name, attrs in self.tags if name == tag]


def rows(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(8)
    x = rng.normal(size=n)
    jumps = rng.random(n) < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(jumps, 2.0 * x, -x) + 0.3 * rng.normal(size=n)
    return pd.DataFrame({"x": x, HOSTILE: rng.choice(["<i>", "&amp;", "</script>"], n), "y": y})


def fitted(formula: str, **options: object) -> bvb.Fit:
    options = {"n_components": 2, **options}
    return bvb.DensityRegression(formula, rows(), **options).fit(seed=1, restarts=2, draws=60)


@pytest.fixture(scope="module")
def fit() -> bvb.Fit:
    return fitted("y ~ x")


@pytest.fixture(scope="module")
def summary(fit):
    return page_summary({"": fit})


@pytest.fixture(scope="module")
def text(summary) -> str:
    return html(summary)


@pytest.fixture(scope="module")
def page(text) -> Page:
    return Page(text)


@pytest.fixture(scope="module")
def line() -> bvb.Fit:
    return fitted("y ~ x", n_components=1)


@pytest.fixture(scope="module")
def pair(fit, line) -> str:
    return html(page_summary({"a < b": fit, "one": line}))


def test_nothing_is_fetched_and_no_script_runs(page, text):
    for tag, attrs in page.tags:
        assert "src" not in attrs and tag not in {"link", "iframe", "object", "img", "base"}
        assert not any(name.startswith("on") for name in attrs)
        for name in ("href", "xlink:href"):
            address = attrs.get(name) or "#"
            assert address.startswith(("#", "data:")) or (tag == "a" and name == "href")
    assert [attrs.get("type") for attrs in page.all("script")] == ["application/json"]
    assert not re.search(r"@import|url\((?!#)", text.replace('url("', "url("))


def test_ids_are_unique_and_every_link_on_the_page_has_its_target(page):
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    targets = {
        value[1:]
        for _, attrs in page.tags
        for name, value in attrs.items()
        if name in ("href", "xlink:href") and value and value.startswith("#")
    }
    named = {v for _, a in page.tags for k, v in a.items() if k == "aria-labelledby"}
    assert targets | named <= set(ids)


def test_tables_have_captions_and_scopes_and_figures_have_words(page):
    tables = page.all("table")
    assert len(page.all("caption")) == len(tables) > 8
    assert all(attrs.get("scope") in ("col", "row") for attrs in page.all("th"))
    pictures = [attrs for tag, attrs in page.tags if attrs.get("role") == "img"]
    assert len(page.all("figure")) == len(page.all("figcaption")) == len(pictures) > 10
    assert all(len(attrs["aria-label"] or "") > 20 for attrs in pictures)
    assert all(attrs.get("tabindex") == "0" for t, attrs in page.tags if "scroll" in attrs.get(
        "class", "") and attrs.get("role") == "region")  # fmt: skip


def test_the_page_has_one_title_a_language_and_sections_in_the_order_of_the_table(page):
    assert len(page.all("h1")) == 1 and page.all("html")[0]["lang"] == "en"
    sections = [attrs["id"] for attrs in page.all("section")]
    later = [name for name in REGRESSION if name not in SHORT]
    assert sections == ["finding", "effects", "trust", "limits", "formula", "code",
                        "verdict", *later]  # fmt: skip


@pytest.mark.heavy
def test_the_same_fit_gives_the_same_bytes(fit, text):
    assert html(page_summary({"": fit})) == text


def test_the_first_picture_is_on_the_page_once(summary, text):
    one = summary["fits"][0]
    figure = one["finding"]["figure"]
    assert one["sections"]["conditional"]["responses"][0]["bands"] is None
    assert text.count(f'id="{figure["id"]}"') == 1
    assert text.index('id="finding"') < text.index(figure["id"]) < text.index('id="verdict"')


def test_the_page_stays_within_its_budget(text):
    assert len(text.encode()) < BUDGET


@pytest.mark.heavy
def test_a_page_of_three_fits_is_as_small_as_of_one():
    """Curves in both parts, two to four components: more pictures than most comparisons have."""
    data = bvb.datasets.load("mcycle")
    formula = "accel ~ bs(times, df=5) | gating(bs(times, df=5))"
    fits = {
        f"{k} components": bvb.DensityRegression(formula, data, n_components=k).fit(seed=1)
        for k in (2, 3, 4)
    }
    assert len(html(page_summary(fits)).encode()) < BUDGET


def test_the_json_twin_is_the_summary_without_drawings(page, summary):
    twin = json.loads("".join(page.inside["script"]))
    assert twin == numbers_only(summary)
    assert "<path" not in str(twin) and list(twin["fits"][0]["sections"]) == REGRESSION


def test_the_twin_holds_no_number_that_json_does_not_know(page):
    def refuse(name):
        raise AssertionError(name)

    json.loads("".join(page.inside["script"]), parse_constant=refuse)


@pytest.mark.heavy
def test_names_and_levels_from_the_data_are_escaped_wherever_they_occur():
    text = html(page_summary({"": fitted(f"y ~ `{HOSTILE}`")}))
    page = Page(text)
    assert page.all("b") == page.all("i") == [] and text.count("</script") == 1
    shown = "".join(page.inside["main"])
    assert HOSTILE in shown and "<i>" in shown and "&amp;" in shown
    assert html_module.escape("<i>") in text
    assert any(HOSTILE in attrs.get("aria-label", "") for attrs in page.all("svg"))


@pytest.mark.heavy
def test_two_fits_are_compared_first_and_told_apart(pair):
    page = Page(pair)
    sections = [attrs["id"] for attrs in page.all("section")]
    assert sections[:4] == ["comparison", "coverage", "models", "findings"]
    each = ("finding", "trust", "verdict", *(name for name in REGRESSION if name != "data"))
    expected = [f"fit{i}-{name}" for i in (1, 2) for name in each]
    expected.remove("fit2-components")  # of one component
    expected.remove("fit1-trust")  # of the best fit: above the full edition
    assert sections[4:] == ["fit1-trust", "data", *expected]
    assert [one["class"] for one in page.all("details") if "class" in one] == ["fit", "fit"]
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(ids) == len(set(ids))
    twin = json.loads("".join(page.inside["script"]))
    assert [one["name"] for one in twin["fits"]] == ["a < b", "one"]
    assert twin["comparison"]["best"] == "a < b"


@pytest.mark.filterwarnings("ignore:Pareto k")
def test_the_comparison_has_the_numbers_of_compare(fit, line, pair):
    fits = {"a < b": fit, "one": line}
    expected = bvb.compare(fits)
    table = json.loads("".join(Page(pair).inside["script"]))["comparison"]["table"]
    assert table["titles"][0] == "elpd"
    for row in table["rows"]:
        assert row["cells"][0] == pytest.approx(expected.loc[row["heads"][0], "elpd"], rel=1e-9)


@pytest.mark.heavy
def test_fits_to_other_rows_are_reported_with_the_reason_why_they_are_not_compared(fit):
    fewer = bvb.DensityRegression("y ~ x", rows().iloc[5:], n_components=1)
    found = page_summary({"all": fit, "fewer": fewer.fit(seed=1, restarts=1, draws=30)})
    assert "not the same rows" in found["comparison"]["why_not"]
    assert Page(html(found))


def test_the_report_is_written_whole_or_not_at_all(fit, tmp_path, monkeypatch):
    path = tmp_path / "fit.html"
    path.write_text("old")

    def fail(*_):
        raise OSError("disk full")

    monkeypatch.setattr("os.replace", fail)
    with pytest.raises(DataError, match="disk full"):
        fit.report(path)
    assert path.read_text() == "old" and list(tmp_path.iterdir()) == [path]


def test_the_path_is_checked_before_the_work(fit, tmp_path, monkeypatch):
    module = importlib.import_module("bayesvb.reports.report")  # the package has the function
    monkeypatch.setattr(module, "page_summary", None)
    with pytest.raises(DataError, match="does not exist"):
        fit.report(tmp_path / "none" / "fit.html")
    with pytest.raises(DataError, match="no fit"):
        bvb.report({}, tmp_path / "fit.html")


def test_report_returns_its_path_and_prints_the_date_it_is_given(
    fit, summary, text, tmp_path, monkeypatch
):
    asked = []

    def known(fits, choices, selection):
        asked.extend(fits.values())
        return summary | {"date": choices.date}

    module = importlib.import_module("bayesvb.reports.report")  # the package has the function
    monkeypatch.setattr(module, "page_summary", known)
    path = fit.report(tmp_path / "fit.html")
    assert path == tmp_path / "fit.html" and path.read_text(encoding="utf-8") == text
    bvb.report(fit, path, date="3 May 2026")
    assert "3 May 2026" in path.read_text(encoding="utf-8")
    assert all(one is fit for one in asked) and len(asked) == 2


def test_each_part_of_a_page_is_made_once():
    for short in (True, False):
        parts = page_module._makers(short=short)
        made = [name for names in page_module._tasks(parts) for name in names]
        assert sorted(made) == sorted(parts)
    assert set(page_module.LONGEST) <= set(made)
    assert sorted(made) == sorted([*SECTIONS, page_module.FIT, page_module.COMPUTATION])


@pytest.mark.heavy
def test_sections_made_side_by_side_are_those_made_in_turn(monkeypatch):
    fit = bvb.DensityRegression("y ~ x", rows(), n_components=2).fit(seed=1, restarts=1, draws=50)
    here, pages = os.getpid(), []
    for forks in (True, False):
        monkeypatch.setattr(side_by_side, "can_fork", lambda f=forks: f and os.getpid() == here)
        monkeypatch.setattr("bayesvb.reports.page.processors", lambda: 2)
        pages.append(html(page_summary({"": replace(fit)})))  # which has left out no rows yet
    assert pages[0] == pages[1]


def test_a_second_page_is_written_from_the_parts_of_the_first(fit, summary, monkeypatch):
    monkeypatch.setattr(page_module, "_made", None)
    assert page_summary({"": fit}) == summary
    with pytest.raises(TypeError):
        page_summary({"": replace(fit)})  # another fit has parts of its own


@pytest.mark.heavy
def test_a_page_leaves_the_rows_that_it_left_out_with_the_fit():
    fit = bvb.DensityRegression("y ~ x", rows(), n_components=2).fit(seed=1, restarts=1, draws=50)
    page_summary({"": fit})
    assert "leave-one-out predictions" in fit.cache
