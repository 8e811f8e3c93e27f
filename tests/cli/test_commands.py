"""The command line: what it prints and writes, and how it ends."""

import gzip
import os
import pty
import signal
import subprocess
import sys
import threading
from dataclasses import dataclass
from io import StringIO
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.cli.main import main
from bayesvb.distributions.prediction import KINDS
from bayesvb.engines import ENGINES
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.progress import ERASE
from bayesvb.estimators import COMMAND_NAMES, MODELS
from bayesvb.gates import GATES

FORMULA = "accel ~ times"
QUICK = ["--components", "2", "--restarts", "1", "--seed", "1"]


@pytest.fixture
def run(tmp_path, monkeypatch, command):
    """Result of a command in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return command


def succeeded(result):
    assert result.exception is None, (result.output, result.exception)
    assert result.exit_code == 0
    return result


def refused(result, *words):
    """Exit code 2, one message with these words, nothing else."""
    assert result.exit_code == 2, (result.output, result.exception)
    assert isinstance(result.exception, SystemExit)
    assert "Traceback" not in result.output
    assert result.stdout == ""
    assert result.stderr.count("Error: ") == 1
    for word in words:
        assert word in result.stderr
    return result


@pytest.fixture(scope="module")
def mcycle():
    return bvb.datasets.load("mcycle")


@pytest.fixture(scope="module")
def fitted(mcycle):
    return bvb.DensityRegression(FORMULA, mcycle, n_components=2).fit(restarts=1, seed=1)


@pytest.fixture(scope="module")
def saved(fitted, tmp_path_factory):
    return fitted.save(tmp_path_factory.mktemp("fits") / "lines.nc")


# fit


@pytest.mark.heavy
def test_options_of_an_engine_are_set_by_name(run, monkeypatch):
    seen = {}

    @dataclass(frozen=True)
    class Curious(Cavi):
        chains: int = 4
        start: str = "optimum"

        def run(self, *given):
            seen.update(vars(self))
            return super().run(*given)

    monkeypatch.setitem(ENGINES, "cavi", Curious())
    succeeded(run("fit", FORMULA, "mcycle", *QUICK, "--set", "chains=2", "--set", "start=random"))
    assert seen == {"chains": 2, "start": "random"}
    refused(run("fit", FORMULA, "mcycle", *QUICK, "--set", "chain=2"), "did you mean chains")
    refused(run("fit", FORMULA, "mcycle", *QUICK, "--set", "chains"), "name=value")


def test_fit_prints_what_python_prints_and_saves_the_same_fit(run, fitted):
    result = succeeded(run("fit", FORMULA, "mcycle", *QUICK, "--save", "a.nc"))
    without_time = [line for line in str(fitted).splitlines() if "k-hat" not in line]
    assert [line for line in result.stdout.splitlines() if "k-hat" not in line] == without_time
    assert bvb.load("a.nc").elbo == fitted.elbo


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".parquet"])
@pytest.mark.quick(ending=(".parquet",))
def test_every_kind_of_file_gives_the_same_fit(run, mcycle, fitted, ending):
    path = f"data{ending}"
    if ending == ".parquet":
        pytest.importorskip("pyarrow")
        mcycle.to_parquet(path)
    else:
        mcycle.to_csv(path, index=False)
    succeeded(run("fit", FORMULA, path, *QUICK, "--save", "a.nc"))
    assert bvb.load("a.nc").elbo == fitted.elbo


def test_levels_of_text_are_named_in_their_order(run):
    grades = pd.DataFrame({"y": ["low", "mid", "high", "mid"] * 8, "x": np.arange(32.0)})
    grades.to_csv("grades.csv", index=False)
    options = [
        "--family",
        "ordinal",
        "--levels",
        "low,mid,high",
        "--components",
        "1",
        "--seed",
        "1",
    ]
    succeeded(run("fit", "y ~ x", "grades.csv", *options, "--save", "a.nc"))
    for kind in (["probability"], ["cdf", "--at", "low,mid,high"]):
        result = succeeded(run("predict", "a.nc", "grades.csv", "--kind", *kind))
        assert result.stdout.splitlines()[0] == "low,mid,high"


def test_a_file_comes_before_a_data_set_of_that_name(run, mcycle):
    Path("mcycle").mkdir()
    refused(run("fit", FORMULA, "mcycle"), "is a folder")


def test_the_choices_are_those_of_the_tables(run):
    for wrong, table in (("--gate", GATES), ("--model", COMMAND_NAMES)):
        result = refused(run("fit", FORMULA, "mcycle", wrong, "none"))
        assert all(repr(name) in result.stderr for name in table)
    result = refused(run("predict", "a.nc", "mcycle", "--kind", "none"))
    assert all(repr(name) in result.stderr for name in KINDS)


def test_every_public_model_has_a_name_on_the_command_line():
    assert sorted(COMMAND_NAMES.values()) == sorted(MODELS)


@pytest.mark.parametrize("gate", GATES)
@pytest.mark.quick(gate=("dirichlet",))
@pytest.mark.heavy
def test_every_gate_can_be_chosen(run, gate):
    result = succeeded(run("fit", FORMULA, "mcycle", "--gate", gate, *QUICK, "--save", "a.nc"))
    assert bvb.load("a.nc").model.gate == gate
    assert result.stderr == ""


FORMULAS = {
    "density": "waiting ~ eruptions",
    "gmm": "~ waiting + eruptions",
    "network": "waiting ~ eruptions",
    "normal": "waiting ~ 1",
    "pca": "~ waiting + eruptions",
}
COMPONENTS = {"density": 2, "gmm": 2, "network": 2, "pca": 1}


@pytest.mark.parametrize("model", COMMAND_NAMES)
@pytest.mark.quick(model=("density", "pca"))
def test_every_model_can_be_fitted_and_predicts(run, model):
    words = ["--model", model, "--restarts", "1", "--seed", "1", "--save", "a.nc"]
    if model in COMPONENTS:
        words += ["--components", COMPONENTS[model]]
    succeeded(run("fit", FORMULAS[model], "faithful", *words))
    assert type(bvb.load("a.nc").model).__name__ == COMMAND_NAMES[model]
    said = succeeded(run("predict", "a.nc", "faithful", "--response", "waiting")).stdout
    assert len(said.splitlines()) == 1 + len(bvb.datasets.load("faithful"))


def test_an_option_of_another_model_is_refused(run):
    refused(run("fit", FORMULA, "mcycle", "--covariance", "full"), "--model density")
    words = ["--model", "gmm", "--gate", "softmax"]
    refused(run("fit", FORMULAS["gmm"], "faithful", *words), "--gate", "--model gmm")
    words = ["--model", "normal", "--components", "2"]
    refused(run("fit", FORMULAS["normal"], "faithful", *words), "--components", "--model normal")
    words = ["--model", "gmm", "--scale"]
    refused(run("fit", FORMULAS["gmm"], "faithful", *words), "--scale", "--model gmm")


@pytest.mark.heavy
def test_scores_and_classes_are_kinds_of_prediction(run):
    words = ["--model", "pca", "--scale", "--seed", "1", "--save", "a.nc"]
    succeeded(run("fit", "~ .", "iris", *words))
    assert bvb.load("a.nc").model.scale
    said = succeeded(run("predict", "a.nc", "iris", "--kind", "scores")).stdout
    assert said.splitlines()[0] == "1,2,3"
    words = ["--model", "gmm", "--components", "2", "--seed", "1", "--save", "b.nc"]
    succeeded(run("fit", "~ .", "iris", *words))
    said = succeeded(run("predict", "b.nc", "iris", "--kind", "class")).stdout
    assert set(said.splitlines()[1:]) == {"1", "2"}


@pytest.mark.heavy
def test_weights_name_a_column(run, mcycle, fitted):
    mcycle.assign(w=1.0).to_csv("data.csv", index=False)
    succeeded(run("fit", FORMULA, "data.csv", *QUICK, "--weights", "w", "--save", "a.nc"))
    assert bvb.load("a.nc").elbo == pytest.approx(fitted.elbo, rel=1e-12)


@pytest.mark.heavy
def test_a_warning_is_one_line_and_the_fit_is_kept(run):
    result = succeeded(run("fit", FORMULA, "mcycle", *QUICK, "--max-iter", "3", "--save", "a.nc"))
    (line,) = result.stderr.splitlines()
    assert line.startswith("warning: the ELBO was still increasing")
    assert "NOT CONVERGED after 3 iterations" in result.stdout
    assert not bvb.load("a.nc").converged


# What is refused, and before which work


@pytest.mark.parametrize("option", ["--save", "--report"])
def test_a_path_that_cannot_be_written_is_refused_before_the_data_are_read(run, option):
    refused(run("fit", FORMULA, "nowhere.csv", option, "no/such/folder/a"), "does not exist")


def test_one_path_for_two_outputs_is_refused(run):
    refused(run("fit", FORMULA, "mcycle", "--save", "a", "--report", "./a"), "overwrite './a'")


@pytest.mark.parametrize("kind", ["text with zeros", "truth values", "dates as text"])
@pytest.mark.quick(kind=("text with zeros",))
def test_groups_of_a_file_are_those_of_a_fit_in_python(run, kind):
    """The file has numbers, truth values and dates where Python had text."""
    number = np.arange(60) % 2 if kind == "truth values" else np.arange(60) % 12
    texts = {
        "text with zeros": [f"{one:03d}" for one in number],
        "truth values": [str(bool(one)) for one in number],
        "dates as text": [f"2020-01-{one + 1:02d}" for one in number],
    }
    data = pd.DataFrame({"x": np.linspace(0.0, 1.0, 60), "g": texts[kind]})
    data["y"] = 3.0 * np.cos(number) + 0.1 * np.random.default_rng(1).normal(size=60)
    model = bvb.DensityRegression("y ~ x + (1 | g) | 1", data, n_components=1)
    fit = model.fit(seed=1, restarts=1, draws=50)
    fit.save("a.nc")
    new = data.iloc[:4].drop(columns="y")
    if kind == "text with zeros":
        new["g"] = new["g"].astype(int)
    new.to_csv("new.csv", index=False)
    result = succeeded(run("predict", "a.nc", "new.csv"))
    found = pd.read_csv(StringIO(result.stdout))["mean"]
    np.testing.assert_allclose(found, fit.predict(data.iloc[:4]), rtol=1e-9)


def test_new_groups_and_levels_are_what_one_says(run):
    rng = np.random.default_rng(1)
    data = pd.DataFrame({"h": ["a", "b"] * 30, "g": np.repeat(np.arange(12), 5)})
    data["y"] = rng.normal(size=12)[data.g] + 0.3 * rng.normal(size=60)
    model = bvb.DensityRegression("y ~ h + (1 | g) | 1", data, n_components=1)
    model.fit(seed=1, restarts=1, draws=50).save("a.nc")
    pd.DataFrame({"h": ["a", "c"], "g": [1, 99]}).to_csv("new.csv", index=False)
    refused(run("predict", "a.nc", "new.csv"), "in the data of the fit: 'c'")
    missing = succeeded(run("predict", "a.nc", "new.csv", "--new-levels", "missing"))
    assert "1 of 2 rows have levels or numbers that the fit cannot use" in missing.stderr
    asked = ("predict", "a.nc", "new.csv", "--kind", "sd", "--new-levels", "population")
    sds = [
        pd.read_csv(StringIO(succeeded(run(*asked, "--new-groups", policy)).stdout))
        for policy in ("population", "sample")
    ]
    assert sds[1].iloc[1, -1] > 1.5 * sds[0].iloc[1, -1]


def test_predictions_are_recalibrated_on_request(run, saved):
    words = ["predict", saved, "mcycle", "--kind", "quantile", "--q", "0.1,0.9"]
    plain, own = (succeeded(run(*words, *more)).stdout for more in ([], ["--recalibrate"]))
    assert plain.splitlines()[0] == own.splitlines()[0] == "0.1,0.9" and plain != own
    refused(run("predict", saved, "mcycle", "--recalibrate"), "not available for --kind mean")


def test_data_are_not_overwritten_by_their_predictions(run, saved, mcycle):
    mcycle.to_csv("new.csv", index=False)
    before = Path("new.csv").read_bytes()
    refused(run("predict", saved, "new.csv", "-o", "new.csv"), "overwrite 'new.csv'")
    assert Path("new.csv").read_bytes() == before


BAD_CALLS = {
    "formula": (["fit", "accel ~ tims", "mcycle"], "did you mean `times`?"),
    "no tilde": (["fit", "accel", "mcycle"], "`~` is missing"),
    "too many components": (["fit", FORMULA, "mcycle", "--components", "200"], "200"),
    "no components": (["fit", FORMULA, "mcycle", "--components", "0"], "at least 1"),
    "no restarts": (["fit", FORMULA, "mcycle", "--restarts", "0"], "--restarts 0"),
    "negative seed": (["fit", FORMULA, "mcycle", "--seed", "-1"], "--seed -1"),
    "text for a number": (["fit", FORMULA, "mcycle", "--components", "many"], "many"),
    "no such file": (["fit", FORMULA, "mcycl"], "did you mean mcycle?"),
    "no such weights": (["fit", FORMULA, "mcycle", "--weights", "w"], "w"),
    "unit of no column": (["fit", FORMULA, "mcycle", "--unit", "time=ms"], "did you mean `times`"),
    "not a unit": (["fit", FORMULA, "mcycle", "--unit", "times"], "column=unit"),
    "no such fit": (["predict", "a.nc", "mcycle"], "does not exist"),
    "no such fit to report": (["report", "a.nc", "-o", "a.html"], "does not exist"),
    "no such data set": (["datasets", "mcycl"], "did you mean 'mcycle'"),
    "no list of numbers": (["predict", "a.nc", "mcycle", "--q", "0.1;0.9"], "0.1;0.9"),
    "no such command": (["fti"], "fti"),
}


@pytest.mark.parametrize(("words", "message"), BAD_CALLS.values(), ids=BAD_CALLS)
def test_bad_input_ends_with_one_message(run, words, message):
    refused(run(*words), message)


BAD_FILES = {
    "empty": (b"", "cannot be read as CSV"),
    "not text": (b"\xff\xfe\x00\x01,\x80\n", "cannot be read as CSV"),
    "ragged": (b"times,accel\n1,2\n1,2,3\n", "cannot be read as CSV"),
    "no name for row numbers": (b"times,accel\n1,7,2\n2,8,9\n", "a row with more values than"),
    "one name twice": (b"times,accel,times\n1,2,3\n", "two columns named 'times'"),
    "no rows": (b"times,accel\n", "row"),
    "words for numbers": (b"times,accel\n1,low\n2,high\n", "accel"),
}


@pytest.mark.parametrize(("content", "message"), BAD_FILES.values(), ids=BAD_FILES)
def test_a_bad_file_ends_with_one_message(run, content, message):
    Path("data.csv").write_bytes(content)
    refused(run("fit", FORMULA, "data.csv"), message)


def test_a_comma_at_the_end_of_the_rows_does_not_shift_the_columns(run, mcycle, fitted):
    lines = mcycle.to_csv(index=False).splitlines()
    Path("data.csv").write_text("\n".join([lines[0], *(f"{line}," for line in lines[1:])]))
    succeeded(run("fit", FORMULA, "data.csv", *QUICK, "--save", "a.nc"))
    assert bvb.load("a.nc").elbo == fitted.elbo


def test_a_damaged_or_unknown_file_ends_with_one_message(run):
    Path("data.csv.gz").write_bytes(gzip.compress(b"times,accel\n1,2\n" * 99)[:40])
    refused(run("fit", FORMULA, "data.csv.gz"), "cannot be read as CSV")
    Path("data.xlsx").write_bytes(b"PK")
    refused(run("fit", FORMULA, "data.xlsx"), "the kinds are .csv, .csv.gz, .parquet")
    Path("a.nc").write_bytes(b"\x89HDF\r\n\x1a\n" + bytes(200))
    refused(run("predict", "a.nc", "mcycle"), "damaged")


# predict


def test_predictions_on_stdout_are_those_of_python(run, saved, fitted, mcycle):
    result = succeeded(run("predict", saved, "mcycle", "--kind", "quantile", "--q", "0.05,0.5"))
    found = pd.read_csv(StringIO(result.stdout), dtype=str).astype(float)
    expected = fitted.predict(mcycle, kind="quantile", q=[0.05, 0.5])
    assert found.columns.tolist() == ["0.05", "0.5"]
    np.testing.assert_array_equal(found.to_numpy(), expected.to_numpy())


OPTIONS = {
    "mean": [],
    "sd": [],
    "interval": ["--prob", "0.5"],
    "quantile": ["--q", "0.5"],
    "cdf": ["--at", "-20,0"],
    "density": ["--at", "0"],
    "component": [],
    "draws": ["--n", "3", "--seed", "1"],
}


def test_all_kinds_of_a_continuous_response_are_tried():
    assert OPTIONS.keys() == KINDS.keys() - {"probability"}


@pytest.mark.parametrize("kind", OPTIONS)
def test_every_kind_writes_one_line_per_row(run, saved, mcycle, kind):
    words = ["--kind", kind, *OPTIONS[kind], "-o", "out.csv"]
    result = succeeded(run("predict", saved, "mcycle", *words))
    assert result.output == ""
    found = pd.read_csv("out.csv")
    assert len(found) == len(mcycle)
    assert np.isfinite(found.to_numpy()).all()
    assert [path.name for path in Path().iterdir()] == ["out.csv"]


def test_a_row_without_its_covariates_is_empty_and_counted(run, saved):
    Path("new.csv").write_text("times\n10\n\n20\nNA\n", encoding="utf-8")
    result = succeeded(run("predict", saved, "new.csv"))
    assert [bool(line) for line in result.stdout.splitlines()] == [True, True, True, True]
    assert result.stdout.splitlines()[3] == '""'
    assert result.stderr == "warning: 1 of 3 rows lack a value: `times` in 1\n"


def test_an_option_that_the_kind_does_not_read_is_refused(run, saved):
    refused(run("predict", saved, "mcycle", "--kind", "mean", "--prob", "0.5"), "prob")


# compare, datasets, version


@pytest.mark.heavy
def test_compare_names_the_files_and_puts_the_better_fit_first(run, saved, mcycle):
    better = bvb.DensityRegression("accel ~ bs(times, df=6) | times", mcycle, n_components=3)
    better.fit(restarts=2, seed=1).save("splines.nc")
    lines = succeeded(run("compare", saved, "splines.nc")).stdout.splitlines()
    names = [line.split()[0] for line in lines if line.startswith(("lines", "splines"))]
    assert names == ["splines", "lines"]


def test_compare_needs_two_fits(run, saved):
    refused(run("compare", saved), "two fits")


def test_datasets_lists_all_and_describes_one(run):
    listed = succeeded(run("datasets")).stdout.splitlines()
    assert [line.split()[0] for line in listed] == list(bvb.datasets.names())
    assert succeeded(run("datasets", "engel")).stdout == f"{bvb.datasets.describe('engel')}\n"


def test_version(run):
    assert succeeded(run("--version")).stdout == f"bayesvb, version {bvb.__version__}\n"


@pytest.mark.parametrize("words", [[], *([name] for name in main.commands)])
def test_every_command_explains_itself(run, words):
    assert succeeded(run(*words, "--help")).stdout.startswith("Usage: ")


# As programs


@pytest.mark.heavy
def test_as_a_module_it_is_silent_but_for_the_predictions(tmp_path, saved):
    words = ["predict", str(saved), "mcycle", "--kind", "sd"]
    command = [sys.executable, "-m", "bayesvb", *words]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("sd\n")


@pytest.mark.heavy
def test_on_a_terminal_it_shows_progress_and_interrupted_it_saves_the_best_state(tmp_path):
    bvb.datasets.load("dpmix2", n=2000, seed=1).to_csv(tmp_path / "data.csv", index=False)
    ours, theirs = pty.openpty()
    words = ["fit", "y ~ bs(x, df=8)", "data.csv", "--components", "8", "--save", "a.nc"]
    child = subprocess.Popen(
        [sys.executable, "-m", "bayesvb", *words],
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        # A shell starts background jobs with SIGINT ignored, and children inherit that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    os.close(theirs)
    shown = b""
    stop = threading.Timer(60.0, child.kill)
    stop.start()
    while b", ELBO +" not in shown:
        shown += os.read(ours, 1000)
    child.send_signal(signal.SIGINT)
    shown += _rest(ours)
    status = child.wait()
    stop.cancel()
    os.close(ours)
    assert (status, shown.count(b"Traceback")) == (130, 0), shown
    assert b"] restart 1 of 8, iteration " in shown
    assert ERASE.encode() + b"warning: the fit was interrupted" in shown
    assert not bvb.load(tmp_path / "a.nc").converged


def _rest(terminal):
    """What is still to be read until the other end is closed."""
    shown = b""
    try:
        while more := os.read(terminal, 1000):
            shown += more
    except OSError:  # Linux says so at the end of a terminal
        pass
    return shown


@pytest.mark.heavy
def test_select_prints_what_python_prints_and_saves_the_chosen_fit(run):
    words = ["--components", "1-3", "--restarts", 2, "--seed", 1, "--save", "chosen.nc"]
    said = succeeded(run("select", "waiting ~ 1", "faithful", *words)).stdout
    model = bvb.DensityRegression("waiting ~ 1", bvb.datasets.load("faithful"))
    found = bvb.select(model, [1, 2, 3], seed=1, restarts=2)
    assert said.splitlines()[0] == str(found).splitlines()[0]
    assert bvb.load("chosen.nc").elbo == found.best.elbo


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["--components", "1-x"], "neither a range 1-8 nor numbers"),
        (["--components", "4-2"], "neither a range 1-8 nor numbers"),
        (["--components", "0,1"], "--components 0 must be at least 1"),
        (["--model", "normal"], "Normal has no number of components"),
        (["--gate", "dirichlet", "--model", "gmm"], "--gate is not an option of --model gmm"),
        (["--report", "no/such/folder.html"], "folder"),
    ],
)
def test_a_selection_that_cannot_be_made_ends_with_one_message(run, words, message):
    refused(run("select", "waiting ~ 1", "faithful", *words), message)
