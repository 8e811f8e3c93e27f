"""Reports as Markdown and JSON, and with the candidates of a selection, beside the HTML page."""

import json

import pytest

import bayesvb as bvb
from bayesvb.cli.options import REPORT_FORMATS
from bayesvb.errors import DataError
from bayesvb.reports.report import FORMATS

pytestmark = pytest.mark.heavy


@pytest.fixture(scope="module")
def selection():
    model = bvb.DensityRegression("sepal_length ~ 1", bvb.datasets.load("iris"))
    return bvb.select(model, [1, 2], seed=1, restarts=1, draws=50)


@pytest.fixture(scope="module")
def written(selection, tmp_path_factory):
    folder = tmp_path_factory.mktemp("pages")
    fit = selection.fits[2]
    return {
        end: fit.report(folder / f"a.{end}").read_text("utf-8") for end in ("html", "md", "json")
    }


def test_markdown_has_the_sections_and_numbers_of_the_page(written):
    summary = json.loads(written["json"])
    text = written["md"]
    assert text.startswith("bayesvb report · Density regression\n\n# How is sepal")
    heads = [line[3:] for line in text.splitlines() if line.startswith("## ")]
    own = ["Can it be trusted?", "Model", "Reproduce", "Every check"]
    assert set(own) <= set(heads) and len(heads) == len(summary["fits"][0]["sections"]) + len(own)
    assert f"| this fit, LOO | {written['html'].split('this fit, LOO</th><td>')[1][:6]}" in text
    assert "<" not in text.replace("<https", "") and "$$" in text


def test_json_is_the_twin_of_the_page(written):
    twin = written["html"].split('id="summary">')[1].split("</script>")[0]
    assert json.loads(written["json"]) == json.loads(twin)


def test_the_format_may_be_named(selection, tmp_path):
    path = selection.fits[1].report(tmp_path / "page.txt", format="markdown")
    assert path.read_text("utf-8").startswith("bayesvb report")
    with pytest.raises(DataError, match="'html', 'markdown', 'json', 'png'"):
        selection.fits[1].report(tmp_path / "a.html", format="pdf")
    for ending, remedy in ((".pdf", "browser"), (".docx", "a.html")):
        with pytest.raises(DataError, match=remedy):
            selection.fits[1].report(tmp_path / f"a{ending}")


def test_the_page_of_a_selection_has_the_table_of_candidates(selection, tmp_path):
    summary = json.loads(selection.report(tmp_path / "a.json").read_text("utf-8"))
    found = summary["candidates"]
    assert found["chosen"] == selection.chosen == 1 and len(summary["fits"]) == 1
    lead = summary["fits"][0]["finding"]["sentences"][0]
    assert lead.startswith("1 component; more do not predict clearly better: 2 predict better by ")
    panel = summary["fits"][0]["answer"]["panels"][0]
    assert [row["estimate"] for row in panel["rows"]] == pytest.approx(
        selection.table["elpd_diff"].to_list()
    )
    assert summary["question"].startswith("How many components? How is sepal_length distributed")
    assert [row["heads"] for row in found["table"]["rows"]] == [[1], [2]]
    elpd = [row["cells"][1] for row in found["table"]["rows"]]
    assert elpd == pytest.approx(selection.table["elpd"].to_list())
    assert [row["cells"][-1] for row in found["table"]["rows"]] == ["chosen", "largest elpd"]
    assert found["reading"].startswith("Of 1 to 2 components 1 is chosen: the fewest within two")
    assert '<section id="candidates"' in selection.report(tmp_path / "a.html").read_text("utf-8")
    with pytest.raises(DataError, match=r"bvb\.select"):
        bvb.report(selection.best, tmp_path / "a.html", selection="no")


def test_the_command_line_knows_every_format():
    assert tuple(FORMATS) == REPORT_FORMATS
