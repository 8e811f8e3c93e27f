"""The walk through docs/adding.md, in a copy of the repository: gates with and without parameters,
likelihoods, a part, an engine, a source, a section of the report, in as many files as it says."""

import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections import Counter

import pytest

pytestmark = pytest.mark.heavy

IGNORED = shutil.ignore_patterns("__pycache__", ".*")
FILE = re.compile(r"```(?:python|html)\n(?:#|<!--) (\S+)(?: -->)?\n(.*?)```", re.S)
CHANGE = re.compile(r"```diff\n--- (\S+)\n\+(.*?)\n@@ (\w+)\n\+(.*?)\n```")
SCRIPT = re.compile(r"```python\n(\"\"\"Fit to a file.*?)```", re.S)
LANGUAGES = {".py": "python", ".html": "html"}

OFFERED = {"gate": "equal", "family": "gaussian-known-noise", "method": "first-sweep"}
"""What the page adds to the tables, by the option that chooses it."""

PROMISES = {
    "test_gates": "(boehning or equal)",
    "test_linear_response": "(equal or boehning and moved)",
    "test_experts": "(known or quadratic) and dirichlet",
    "test_experts_distributions": "known and (densities or draws_from or units or weighted)",
    "test_engines": "first-sweep and (equal or normal)",
}
"""Tests of all members, and those of them that are run for what is new."""

SAME_BITS = """
import numpy as np
from bayesvb.data.sources import InMemorySource
stored = InMemorySource(tuple(blocks()))
same = search(model.core, stored, engine, restarts=3, budget=Budget(), streams=Streams(1, 3))
print(source.n_rows, [block.n_rows for block in source.iterate()])
print(np.array_equal(same.final.stats.to_vector(), search_result.final.stats.to_vector()))
"""

FITTED = """
import html, json, re, sys
import numpy as np
import bayesvb as bvb

def text(page):
    page = re.sub("<(style|svg|script).*?</(style|svg|script)>", "", page, flags=re.S)
    return " ".join(html.unescape(re.sub("<[^>]+>", " ", page)).split())

data = bvb.datasets.load("mcycle")
new = data.iloc[[10, 60, 100]]
options, method, shown = json.loads(sys.argv[1])
priors = bvb.Priors(noise_shape=1.0, noise_rate=0.01)
model = bvb.DensityRegression("accel ~ times", data, n_components=3, priors=priors, **options)
fit = model.fit(method, seed=1, restarts=2, draws=400)
again = bvb.load(fit.save("fit.nc"))
drawn = fit.predict(new, "draws", n=20_000, seed=1).to_numpy()
effects = bvb.effects.predictions(fit, data=new)
shares = bvb.effects.predictions(fit, data=new, target="weights").draws.values
print(json.dumps({
    "place": bvb.__file__,
    "model": str(model), "fit": str(fit),
    "page": text(fit.report("fit.html").read_text("utf-8")) if shown else "",
    "priors": model.prior_table().reset_index().astype(str).to_numpy().tolist(),
    "parts": sorted(set(fit.summary().index.get_level_values("part"))),
    "posterior": sorted(map(str, fit.posterior.data_vars)),
    "same": [again.elbo == fit.elbo, str(again.summary()) == str(fit.summary()),
             np.array_equal(again.predict(new), fit.predict(new))],
    "unit": float(data["accel"].std(ddof=0)),
    "sd": fit.predict(new, "sd").tolist(), "sd of draws": drawn.std(axis=-1).tolist(),
    "mean": fit.predict(new, "mean").tolist(), "effects": effects.summary["estimate"].tolist(),
    "shares": [float(shares.min()), float(shares.max())],
    "gate draws": fit.draws["gate"].size, "covariance": fit.covariance,
    "one": bvb.DensityRegression("accel ~ times", data, n_components=1, **options)
        .fit(method, seed=1, restarts=1, draws=25).elbo,
}))
"""


@pytest.fixture(scope="module")
def page(root):
    """Files of the examples, and the page that explains them."""
    files = sorted((root / "tests/extensions").iterdir())
    blocks = [f"```{LANGUAGES[file.suffix]}\n{file.read_text('utf-8')}```\n" for file in files
              if file.suffix in LANGUAGES]  # fmt: skip
    return "".join([*blocks, (root / "docs/adding.md").read_text(encoding="utf-8")])


@pytest.fixture(scope="module")
def copy(root, page, tmp_path_factory):
    """Folder of packages as they are installed, and what the page adds; the tests beside it."""
    folder = tmp_path_factory.mktemp("copy") / "packages"
    project = tomllib.loads((root / "pyproject.toml").read_text(encoding="utf-8"))
    folders = project["tool"]["setuptools"]["package-dir"]
    for package, source in folders.items():
        shutil.copytree(root / source, folder / package.replace(".", "/"), ignore=IGNORED)
    shutil.copytree(root / "tests", folder.parent / "tests", ignore=IGNORED)
    shutil.copy(root / "pyproject.toml", folder.parent)
    places = {source: package.replace(".", "/") for package, source in folders.items()}

    def place(name):
        top, _, rest = name.partition("/")
        return folder / places[top] / rest

    for name, content in FILE.findall(page):
        assert not place(name).exists()
        place(name).write_text(content, encoding="utf-8")
    for name, imported, table, entry in CHANGE.findall(page):
        before = place(name).read_text(encoding="utf-8")
        place(name).write_text(changed(before, imported, table, entry), encoding="utf-8")
    return folder


def changed(text, imported, table, entry):
    """The file with one line more in its imports, in their order, and one in its table."""
    lines = text.splitlines(keepends=True)
    alike = r"from bayesvb\." if imported.startswith("from") else r"    \w+,$"
    places = [number for number, line in enumerate(lines) if re.match(alike, line)]
    after = [number for number in places if lines[number] < imported]
    lines.insert(after[-1] + 1 if after else places[0], f"{imported}\n")
    text = "".join(lines)
    end = text.index("\n}\n", re.search(rf"^{table}\b", text, re.M).start())
    return f"{text[: end + 1]}{entry}{text[end:]}"


def run(copy, *command):
    """Output of Python with the packages of the copy."""
    done = subprocess.run(
        [sys.executable, *command],
        cwd=copy.parent,
        env={**os.environ, "PYTHONPATH": str(copy), "MPLBACKEND": "Agg"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def fitted(copy, gate="softmax", family="gaussian", method="cavi", shown=False):
    """What is said of a fit, in every way; on the page too where it is shown."""
    options = json.dumps([{"gate": gate, "family": family}, method, shown])
    told = json.loads(run(copy, "-c", FITTED, options))
    assert told["place"] == str(copy / "bayesvb/__init__.py")
    assert told["same"] == [True, True, True]
    assert told["sd"] == pytest.approx(told["sd of draws"], rel=0.05)
    assert told["effects"] == pytest.approx(told["mean"], rel=0.05, abs=2.0)
    return told


def test_the_files_are_as_many_as_the_page_says(page):
    own = [name for name, _ in FILE.findall(page)]
    assert own == [
        "reports/sections/balance.html",
        "reports/sections/balance.py",
        "bayesvb/gates/boehning.py",
        "bayesvb/gates/equal.py",
        "bayesvb/engines/first_sweep.py",
        "bayesvb/data/generated_rows.py",
        "bayesvb/experts/linear_known_noise.py",
        "bayesvb/experts/quadratic_bernoulli.py",
        "bayesvb/data/parts/shift.py",
    ]
    tables = Counter(f"{name} {table}" for name, _, table, _ in CHANGE.findall(page))
    assert tables == {
        "bayesvb/gates/__init__.py GATES": 2,
        "bayesvb/experts/__init__.py EXPERTS": 2,
        "bayesvb/data/parts/__init__.py PARTS": 1,
        "bayesvb/engines/__init__.py ENGINES": 1,
        "reports/sections/__init__.py SECTIONS": 1,
    }
    assert page.count("\n--- ") == 7


def test_the_code_of_the_page_is_written_as_the_rest(copy, page):
    pytest.importorskip("ruff")
    names = [name for name, _ in FILE.findall(page) if name.endswith(".py")]
    names += [name for name, *_ in CHANGE.findall(page)]
    places = [str(copy / re.sub("^reports", "bayesvb/reports", name)) for name in names]
    run(copy, "-m", "ruff", "check", "--no-cache", *places)
    run(copy, "-m", "ruff", "format", "--no-cache", "--check", *places)


def test_what_is_new_keeps_the_promises_of_all(copy):
    chosen = " or ".join(f"({suite} and {words})" for suite, words in PROMISES.items())
    suites = [f"tests/conformance/{suite}.py" for suite in PROMISES]
    words = ["-v", "-p", "no:cacheprovider", "-m", "not slow", "-k", chosen]
    said = run(copy, "-m", "pytest", *words, *suites)
    passed = Counter(re.findall(r"(\w+)\.py::\S*\[.*PASSED", said))
    assert all(passed[suite] >= 5 for suite in PROMISES), said


def test_a_gate_with_coefficients_is_described_by_itself(copy):
    told = fitted(copy, gate="stick-breaking-boehning")
    assert [row[1] for row in told["priors"] if row[0] == "gating"] == ["Intercept", "times"]
    assert {"gamma"} < set(told["posterior"]) and "gating" in told["parts"]
    assert told["fit"].count("gating (log odds of stopping at a stick") == 1
    assert told["covariance"] == "linear-response"


def test_a_gate_without_parameters_says_once_what_the_weights_are(copy):
    words = "the same for every component and row"
    told = fitted(copy, gate="equal", shown=True)
    scales = {"between components", "common scale"}
    assert {row[0] for row in told["priors"]} == {"mean", *scales, "sigma"}
    assert told["parts"] == ["between components", "mean", "share", "sigma"]
    assert "gamma" not in told["posterior"]
    assert "gating (" not in told["fit"].split("Draws:")[1]
    assert told["fit"].count(words) == 1 and f"Weights of the components: {words}." in told["fit"]
    assert (
        told["page"].count(words) == 1 and f"Gate: equal; the weights are {words}." in told["page"]
    )
    assert "equally large components; the model has 3." in told["page"]  # the section
    assert told["shares"] == pytest.approx([1 / 3, 1 / 3])
    assert told["gate draws"] == 0 and told["covariance"] == "linear-response"


def test_a_likelihood_is_described_by_itself(copy):
    told = fitted(copy, family="gaussian-known-noise")
    (noise,) = [row for row in told["priors"] if row[0] == "sigma"]
    assert noise[2] == "fixed" and float(noise[3]) == pytest.approx(0.1 * told["unit"])
    assert {row[2] for row in told["priors"] if row[0] == "mean"} == {"Normal"}
    assert told["fit"].startswith("Mixture of known-noise linear regressions, ")
    assert told["covariance"] == "mean-field" and min(told["sd"]) >= 0.1 * told["unit"]


def test_an_engine_is_chosen_by_its_name(copy):
    told = fitted(copy, method="first-sweep")
    assert "(first sweep)" in told["fit"].splitlines()[0]
    assert told["covariance"] == "mean-field"


def test_the_command_line_offers_what_is_new(copy, root):
    shutil.copy(root / "datasets/data/mcycle.csv", copy.parent / "rows.csv")
    chosen = [word for option, name in OFFERED.items() for word in (f"--{option}", name)]
    said = run(copy, "-m", "bayesvb", "fit", "accel ~ times", "rows.csv", "--components", "2",
               "--restarts", "1", "--save", "line.nc", *chosen)  # fmt: skip
    assert "Weights of the components" in said and (copy.parent / "line.nc").is_file()


def test_the_new_source_is_gone_over_like_rows_in_memory(page, copy, root):
    shutil.copy(root / "datasets/data/mcycle.csv", copy.parent / "rows.csv")
    (script,) = SCRIPT.findall(page)
    assert run(copy, "-c", script + SAME_BITS).splitlines() == ["133 [40, 40, 40, 13]", "True"]
