"""Commands that write reports."""

from pathlib import Path

import pytest

import bayesvb as bvb
from bayesvb.cli.main import DEMO_PAGE

pytestmark = pytest.mark.heavy


@pytest.fixture
def run(tmp_path, monkeypatch, command):
    """Output of a command that succeeds, in an empty folder."""
    monkeypatch.chdir(tmp_path)

    def invoke(*words):
        result = command(*words)
        assert result.exception is None, (result.output, result.exception)
        return result.stdout

    return invoke


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    folder = tmp_path_factory.mktemp("fits")
    return [model.fit(restarts=1, seed=s, draws=100).save(folder / f"{s}.nc") for s in (1, 2)]


def is_page(path, *words):
    text = Path(path).read_text(encoding="utf-8")
    return text.startswith("<!doctype html>") and all(word in text for word in words)


def test_the_demonstration_prints_the_fit_and_where_the_report_is(run):
    said = run("demo")
    assert "duration ~ waiting" in said
    assert said.splitlines()[-1] == str(DEMO_PAGE)
    assert is_page(DEMO_PAGE, "duration", "All checks passed.")


def test_the_report_of_a_saved_fit(run, saved):
    words = ["--label", "eruptions=Length of it", "--along", "eruptions", "--edition", "short"]
    assert run("report", saved[0], "-o", "a.html", *words) == "a.html\n"
    assert is_page("a.html", "waiting", "From Length of it = ")


def test_fit_writes_the_report_and_the_fit_that_are_asked_for(run):
    words = ["--components", "2", "--restarts", "1", "--report", "a.html", "--save", "a.nc"]
    run("fit", "waiting ~ eruptions", "faithful", *words)
    assert is_page("a.html", "waiting")
    assert sorted(path.name for path in Path().iterdir()) == ["a.html", "a.nc"]


def test_compare_writes_one_report_of_all_fits(run, saved):
    said = run("compare", *saved, "--report", "both.html")
    assert {line.split()[0] for line in said.splitlines()} >= {"1", "2"}
    assert is_page("both.html", "waiting")


@pytest.mark.parametrize(
    ("formula", "data", "chosen", "sentence"),
    [
        ("sepal_length ~ 1", "iris", 1, "1 component; more do not predict clearly better"),
        ("waiting ~ 1", "faithful", 2, "2 components"),
    ],
)
def test_the_report_of_a_selection_begins_with_the_choice(run, formula, data, chosen, sentence):
    """Two components predict sepals better than one, but by less than the error."""
    options = ["--components", "1-3", "--restarts", "1", "--seed", "1"]
    said = run("select", formula, data, *options, "--report", "a.html", "--save", "a.nc")
    assert said.startswith(f"Number of components by LOO: {chosen}")
    assert bvb.load("a.nc").model.n_components == chosen
    first = Path("a.html").read_text(encoding="utf-8").split("<h1", 1)[1][:4000]
    assert sentence in first
