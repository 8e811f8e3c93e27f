"""Fits that are killed go on where they were, and end at the same bits."""

import io
import os
import signal
import subprocess
import sys
import time
import zipfile

import numpy as np
import pytest
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.engines import cavi as cavi_module
from bayesvb.engines.svi import Svi
from bayesvb.errors import DataError
from bayesvb.storage.sealing import seal, unseal

FIT = {"seed": 1, "restarts": 2, "draws": 25, "checkpoint_every": 0.0}


class KilledError(BaseException):
    """What nothing catches."""


def model(**options):
    data = bvb.datasets.load("mcycle")
    return bvb.DensityRegression("accel ~ times", data, **{"n_components": 3, **options})


@pytest.fixture
def passes(monkeypatch):
    """Passes of all ascents so far."""
    made = []
    plain = cavi_module.one_pass
    monkeypatch.setattr(cavi_module, "one_pass", lambda *a: (made.append(1), plain(*a))[1])
    return made


def killed_at(number):
    """A watch that kills the fit at its call of this number."""
    calls = []

    def watch(*_):
        calls.append(1)
        if len(calls) == number:
            raise KilledError

    return watch


def assert_same(found, expected):
    assert_array_equal(found.stats.to_vector(), expected.stats.to_vector())
    assert_array_equal(found.elbo_trace, expected.elbo_trace)
    for name, values in expected.draws.items():
        assert_array_equal(found.draws[name], values)
    assert found.n_iter == expected.n_iter
    assert found.restarts["n_iter"].tolist() == expected.restarts["n_iter"].tolist()


@pytest.fixture(scope="module")
def expected():
    """The fit that nobody killed."""
    return model().fit(**{name: FIT[name] for name in ("seed", "restarts", "draws")})


@pytest.mark.parametrize(
    "number", [20, *(pytest.param(n, marks=pytest.mark.heavy) for n in (1, 2, 3, 4, 9, 33))]
)
@pytest.mark.heavy
def test_a_killed_fit_goes_on_and_loses_one_sweep_at_most(number, expected, passes, tmp_path):
    path = tmp_path / "state"
    whole = model().fit(**FIT, checkpoint=tmp_path / "other")
    assert_same(whole, expected)
    undisturbed = len(passes)
    passes.clear()
    with pytest.raises(KilledError):
        model().fit(**FIT, checkpoint=path, progress=killed_at(number))
    assert_same(model().fit(**FIT, checkpoint=path), expected)
    assert len(passes) <= undisturbed + 1


@pytest.mark.heavy
@pytest.mark.parametrize("number", [2, 33])
def test_a_killed_fit_of_points_goes_on(number, tmp_path):
    options = {**FIT, "method": "em"}
    whole = model().fit(**options, checkpoint=tmp_path / "other")
    with pytest.raises(KilledError):
        model().fit(**options, checkpoint=tmp_path / "state", progress=killed_at(number))
    assert_same(model().fit(**options, checkpoint=tmp_path / "state"), whole)


def simulated(n_rows=1500):
    rng = np.random.default_rng(0)
    x = rng.normal(size=n_rows)
    y = np.where(rng.random(n_rows) < 0.4, 1.0 + x, -1.0) + 0.8 * rng.normal(size=n_rows)
    return bvb.DensityRegression("y ~ x", {"y": y, "x": x}, n_components=2)


STOCHASTIC = {
    "method": "svi", "batch": 250, "passes": 3, "restarts": 2, "draws": 25, "seed": 1,
    "covariance": "mean-field", "checkpoint_every": 0.0,
}  # fmt: skip


@pytest.mark.parametrize(
    "number", [9, *(pytest.param(n, marks=pytest.mark.heavy) for n in (1, 6, 7, 18, 19, 31))]
)
def test_killed_stochastic_steps_go_on_with_the_same_minibatches(number, monkeypatch, tmp_path):
    made, plain = [], Svi.step_length

    def counted(self, step):
        made.append(step)
        if len(made) == number:
            raise KilledError
        return plain(self, step)

    whole = simulated().fit(**STOCHASTIC, checkpoint=tmp_path / "other")
    monkeypatch.setattr(Svi, "step_length", counted)
    with pytest.raises(KilledError):
        simulated().fit(**STOCHASTIC, checkpoint=tmp_path / "state")
    assert_same(simulated().fit(**STOCHASTIC, checkpoint=tmp_path / "state"), whole)
    assert len(made) == 2 * 18 + 1  # the step that was killed is the only one made twice


@pytest.mark.heavy
def test_a_fit_that_has_ended_is_read(expected, passes, tmp_path):
    path = tmp_path / "state"
    model().fit(**FIT, checkpoint=path)
    passes.clear()
    assert_same(model().fit(**FIT, checkpoint=path), expected)
    assert passes == []


def test_a_seed_that_was_drawn_is_kept(tmp_path):
    path, options = tmp_path / "state", {**FIT, "seed": None, "restarts": 1, "tol": 1.0}
    first = model().fit(**options, checkpoint=path)
    assert model().fit(**options, checkpoint=path).seed == first.seed


def test_an_interrupted_fit_goes_on(expected, tmp_path):
    path = tmp_path / "state"

    def interrupt(number, n_iter, bound):
        if n_iter > 10:
            raise KeyboardInterrupt

    with pytest.warns(bvb.errors.ConvergenceWarning):
        model().fit(**{**FIT, "checkpoint_every": 1e6}, checkpoint=path, progress=interrupt)
    assert_same(model().fit(**FIT, checkpoint=path), expected)


SCRIPT = """
import sys
import numpy as np, pandas as pd
import bayesvb as bvb
rng = np.random.default_rng(0)
n = 60_000
x = rng.normal(size=n)
y = np.where(rng.random(n) < 0.4, 1.0 + x, -1.0) + 0.8 * rng.normal(size=n)
model = bvb.DensityRegression("y ~ x", pd.DataFrame({"y": y, "x": x}), n_components=3)
options = {} if sys.argv[1] == "none" else {"checkpoint": sys.argv[1], "checkpoint_every": 0.0}
options |= {"svi": {"passes": 2, "batch": 500}}.get(sys.argv[3], {})
options |= {"seed": 1, "restarts": 2, "draws": 25, "covariance": "mean-field"}
options["tol"] = 1e-2 if sys.argv[3] == "em" else 1e-6
fit = model.fit(sys.argv[3], **options)
np.save(sys.argv[2], np.concatenate([fit.stats.to_vector(), fit.elbo_trace]))
"""


@pytest.mark.heavy
@pytest.mark.parametrize("method", ["cavi", "em", "svi"])
def test_a_process_that_is_killed_again_and_again_ends_at_the_same_bits(method, tmp_path):
    n_kills = int(os.environ.get("BAYESVB_KILLS", "2" if method == "cavi" else "1"))
    script = tmp_path / "fit.py"
    script.write_text(SCRIPT, encoding="utf-8")
    command = [sys.executable, "-W", "ignore", str(script)]
    began = time.monotonic()
    subprocess.run([*command, "none", str(tmp_path / "whole.npy"), method], check=True)
    whole = time.monotonic() - began
    expected, rng, killed = np.load(tmp_path / "whole.npy"), np.random.default_rng(n_kills), 0
    written, found = tmp_path / "state", tmp_path / "found.npy"
    while killed < n_kills:
        running = subprocess.Popen([*command, str(written), str(found), method])
        try:
            assert running.wait(rng.uniform(0.2, 1.1) * whole) == 0
            assert_array_equal(np.load(found), expected)
            written.unlink()
        except subprocess.TimeoutExpired:
            running.send_signal(signal.SIGKILL)
            running.wait()
            killed += 1
    subprocess.run([*command, str(written), str(found), method], check=True)
    assert_array_equal(np.load(found), expected)
    assert not list(tmp_path.glob(".state*"))


OTHERS = {
    "seed": lambda path: model().fit(**{**FIT, "seed": 2}, checkpoint=path),
    "tol": lambda path: model().fit(**FIT, tol=0.5, checkpoint=path),
    "restarts": lambda path: model().fit(**{**FIT, "restarts": 3}, checkpoint=path),
    "arguments": lambda path: model(n_components=2).fit(**FIT, checkpoint=path),
    "formula": lambda path: bvb.DensityRegression(
        "accel ~ 1", bvb.datasets.load("mcycle"), n_components=3
    ).fit(**FIT, checkpoint=path),
    "data are others": lambda path: bvb.DensityRegression(
        "accel ~ times", bvb.datasets.load("mcycle").iloc[::-1], n_components=3
    ).fit(**FIT, checkpoint=path),
}


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The checkpoint of a fit."""
    path = tmp_path_factory.mktemp("written") / "state"
    model().fit(**FIT, checkpoint=path)
    return path


@pytest.mark.parametrize("what", OTHERS)
def test_a_checkpoint_of_another_fit_is_refused(what, written):
    with pytest.raises(DataError, match=f"belongs to another fit: its {what}"):
        OTHERS[what](written)


def test_a_checkpoint_of_other_functions_is_refused(tmp_path):
    """Functions of ``context`` are in the matrices, not in the text of the formula."""
    data = bvb.datasets.load("mcycle")

    def fitted(function):
        model = bvb.DensityRegression(
            "accel ~ h(times) | 1", data, n_components=1, context={"h": function}
        )
        return model.fit(**FIT, checkpoint=tmp_path / "state")

    fitted(np.sqrt)
    with pytest.raises(DataError, match="belongs to another fit: its data are others"):
        fitted(np.log1p)


def archive(content, **members):
    """The archive with some members replaced by these bytes, behind a checksum that fits."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(unseal(content)[0])) as given:
        known = {member: given.read(member) for member in given.namelist()}
    with zipfile.ZipFile(stream, "w") as made:
        for name, raw in (known | members).items():
            made.writestr(name, raw)
    return seal(stream.getvalue())


def npy(values):
    stream = io.BytesIO()
    np.save(stream, values)
    return stream.getvalue()


def first_sum(content):
    with zipfile.ZipFile(io.BytesIO(unseal(content)[0])) as given:
        return next(name for name in given.namelist() if ".yy" in name)


HUGE = npy(np.zeros(1)).replace(b"(1,)", b"(9999999999999,)")

FORGED = {
    "nothing": lambda content: seal(b""),
    "one array": lambda content: seal(npy(np.arange(9.0))),
    "a size of 72 TiB": lambda content: archive(content, **{first_sum(content): HUGE}),
    "deep JSON": lambda content: archive(
        content, **{"description.npy": npy(np.frombuffer(b"[" * 100_000, np.uint8))}
    ),
    "no JSON": lambda content: archive(
        content, **{"description.npy": npy(np.frombuffer(b"\xff{", np.uint8))}
    ),
    "complex sums": lambda content: forged(
        content, first_sum(content).removesuffix(".npy"), lambda values: values.astype(complex)
    ),
    "negative sums": lambda content: forged(
        content, first_sum(content).removesuffix(".npy"), lambda values: -np.abs(values) - 1.0
    ),
}


@pytest.mark.parametrize("kind", FORGED)
def test_forged_archives_are_one_error(kind, written, tmp_path):
    path = tmp_path / "state"
    path.write_bytes(FORGED[kind](written.read_bytes()))
    with pytest.raises(DataError, match=r"checkpoint=.*not a checkpoint, or damaged"):
        model().fit(**FIT, checkpoint=path)


def changed(content):
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


@pytest.mark.parametrize(
    "damage",
    [changed, lambda content: content[:100], lambda _: b"", lambda _: b"no checkpoint"],
    ids=["one bit", "cut", "empty", "another file"],
)
def test_a_file_that_is_no_checkpoint_is_refused(damage, written, tmp_path):
    path = tmp_path / "state"
    path.write_bytes(damage(written.read_bytes()))
    with pytest.raises(DataError, match="is not a checkpoint, or damaged"):
        model().fit(**FIT, checkpoint=path)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"checkpoint_every": -1.0}, "checkpoint_every=-1.0 must be a number of seconds"),
        ({"method": "nuts"}, "method='nuts' has no checkpoints"),
        ({"method": "bbvi"}, "choose one of the methods 'cavi', 'em', 'svi'"),
        ({"checkpoint": "no/such/folder/state"}, "does not exist"),
    ],
)
def test_wrong_arguments_are_refused(options, message, tmp_path):
    with pytest.raises(DataError, match=message):
        model().fit(**{**FIT, "checkpoint": tmp_path / "state", **options})


def half_done(method, tmp_path, monkeypatch):
    """The checkpoint of a fit that was killed, and the fit."""
    path = tmp_path / "state"
    if method == "cavi":
        with pytest.raises(KilledError):
            model().fit(**FIT, checkpoint=path, progress=killed_at(20))
        again = model()
        return path, lambda: again.fit(**FIT, checkpoint=path)
    steps, plain = [], Svi.step_length

    def counted(self, step):
        steps.append(step)
        if len(steps) == 9:
            raise KilledError
        return plain(self, step)

    with monkeypatch.context() as patched:
        patched.setattr(Svi, "step_length", counted)
        with pytest.raises(KilledError):
            simulated().fit(**STOCHASTIC, checkpoint=path)
    again = simulated()
    return path, lambda: again.fit(**STOCHASTIC, checkpoint=path)


def forged(content, name, change):
    """The file with one array changed, or without it, behind a checksum that fits."""
    with np.load(io.BytesIO(unseal(content)[0])) as arrays:
        known = {one: arrays[one] for one in arrays.files}
    values = known.pop(name)
    if change is not None:
        known[name] = change(values)
    stream = io.BytesIO()
    np.savez(stream, **known)
    return seal(stream.getvalue())


CHANGES = {
    "absent": None,
    "longer": lambda values: np.concatenate([np.atleast_1d(values)] * 2),
    "not a number": lambda values: np.full(np.shape(values), np.nan),
}


ANY_LENGTH = {"trace", "sweeps", "cycles", "to_go", "ended"}


@pytest.mark.parametrize("method", ["cavi", "svi"])
@pytest.mark.quick(method=("svi",))
def test_a_forged_checkpoint_is_one_error(method, tmp_path, monkeypatch):
    path, again = half_done(method, tmp_path, monkeypatch)
    content = path.read_bytes()
    with np.load(io.BytesIO(unseal(content)[0])) as arrays:
        sizes = {name: arrays[name].size for name in arrays.files}
    for name, size in sizes.items():
        for what, change in CHANGES.items():
            entry = name.rpartition("|")[2]
            free = {"longer": ANY_LENGTH, "not a number": {"ended"} if size else {entry}}
            if entry in free.get(what, ()):
                continue
            path.write_bytes(forged(content, name, change))
            with pytest.raises(DataError, match=r"checkpoint=.*not a checkpoint, or damaged"):
                again()
