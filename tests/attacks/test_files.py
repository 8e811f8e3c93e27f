"""Saved fits with flipped bits, with other content, cut off by a kill or a full disk."""

import io
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import warnings

import h5py
import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import bayesvb as bvb
from bayesvb.errors import BayesVBError
from bayesvb.storage.sealing import seal, unseal

ATTACKS = int(os.environ.get("BAYESVB_ATTACKS", "1"))

OTHERS = [
    None, True, -1, 0, 2, 1.5, -1e300, float("nan"), 10**9, 10**30, "", "x", "../../etc/passwd",
    "Europe/Paris", [], [0], {}, {"a": 1}, [[]],
]  # fmt: skip

NUMBERS = [0.0, -1.0, 7.0, 1e300, float("nan"), float("inf")]

OFTEN = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    """A saved fit, its bytes, and a place for changed ones."""
    rng = np.random.default_rng(1)
    data = {"y": rng.normal(size=25), "x": rng.normal(size=25), "g": list("abcde") * 5}
    model = bvb.DensityRegression("y ~ x + g | x", data, n_components=2)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(seed=1, restarts=2, draws=30, max_iter=50)
    folder = tmp_path_factory.mktemp("files")
    return fit, fit.save(folder / "fit.nc").read_bytes(), folder / "changed.nc"


def loaded(path):
    """The fit, or None if the package refuses the file; any other error is a failure."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            fit = bvb.load(path)
            fit.summary()
            fit.predict()
    except BayesVBError:
        return None
    finally:
        assert time.perf_counter() - begin < 20.0
    return fit


@pytest.mark.heavy
@settings(max_examples=500 * ATTACKS, **OFTEN)
@given(at=st.integers(0, 10**9))
def test_no_flipped_bit_changes_a_number(saved, at):
    _, content, path = saved
    flipped = bytearray(content)
    flipped[at // 8 % len(content)] ^= 1 << at % 8
    path.write_bytes(bytes(flipped))
    assert loaded(path) is None


def places(value, above=()):
    items = value.items() if isinstance(value, dict) else enumerate(value[:3])
    for key, inner in items:
        yield (*above, key)
        if isinstance(inner, dict | list):
            yield from places(inner, (*above, key))


def with_other(told, number, other):
    """A description with something else in one place."""
    every = list(places(told))
    place = every[number % len(every)]
    at = told
    for key in place[:-1]:
        at = at[key]
    at[place[-1]] = other
    return told


def tampered(content, what, number, choice):
    """The file with another description, other columns or another array, and a seal that fits."""
    memory = io.BytesIO(unseal(content)[0])
    with h5py.File(memory, "r+") as file:
        other = OTHERS[choice % len(OTHERS)]
        if what == "description":
            told = with_other(json.loads(file.attrs["fit"]), number, other)
            file.attrs["fit"] = json.dumps(told)
        elif what == "columns":
            told = json.loads(file["data_frame/schema"].asstr()[()])
            file["data_frame/schema"][()] = json.dumps(with_other(told, number, other))
        else:
            group = file[["fit_state", "data_frame"][number % 2]]
            names = sorted(name for name in group if group[name].dtype.kind in "iuf")
            name = names[number // 2 % len(names)]
            values = group[name][()]
            del group[name]
            if what == "numbers" and values.size:
                values = values.copy()
                with np.errstate(all="ignore"):
                    number_there = np.array(NUMBERS[choice % len(NUMBERS)]).astype(values.dtype)
                values.flat[choice % values.size] = number_there
                group.create_dataset(name, data=values)
            elif what == "shape":
                group.create_dataset(name, data=np.zeros((2,) * (choice % 5)))
    return seal(memory.getvalue())


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore")
@settings(max_examples=150 * ATTACKS, **OFTEN)
@given(
    what=st.sampled_from(["description", "columns", "numbers", "shape", "absent"]),
    number=st.integers(0, 10**6),
    choice=st.integers(0, 10**6),
)
def test_a_file_that_was_tampered_with_is_a_fit_or_refused(saved, what, number, choice):
    _, content, path = saved
    path.write_bytes(tampered(content, what, number, choice))
    loaded(path)


ONCE_RAW = [
    (("method",), []), (("method",), {"a": 1}), (("method",), None),
    (("parts", 0, "order"), [0]), (("parts", 0, "order"), []), (("parts", 0, "order"), [0, 0]),
    (("parts", 0, "sampler", "n_chains"), 10**9), (("parts", 0, "n_chains"), 10**9),
]  # fmt: skip


@pytest.mark.parametrize(("place", "other"), ONCE_RAW, ids=str)
def test_a_description_that_once_gave_a_raw_error_is_refused(saved, place, other):
    _, content, path = saved
    memory = io.BytesIO(unseal(content)[0])
    with h5py.File(memory, "r+") as file:
        told = json.loads(file.attrs["fit"])
        at = told
        for key in place[:-1]:
            at = at[key]
        assert place[-1] in (at if isinstance(at, dict) else range(len(at)))
        at[place[-1]] = other
        file.attrs["fit"] = json.dumps(told)
    path.write_bytes(seal(memory.getvalue()))
    with pytest.raises(BayesVBError):
        bvb.load(path)


WRITING = """
import sys
from bayesvb.storage.whole_files import write_whole
content = open(sys.argv[1], "rb").read()
print("begun", flush=True)
while True:
    write_whole(content, sys.argv[2])
"""


@pytest.mark.heavy
def test_a_kill_loses_nothing(saved, tmp_path):
    _, content, _ = saved
    (tmp_path / "new").write_bytes(content)
    target, rng = tmp_path / "fit.nc", np.random.default_rng(1)
    target.write_bytes(content)
    for _ in range(10 * ATTACKS):
        command = [sys.executable, "-c", WRITING, str(tmp_path / "new"), str(target)]
        with subprocess.Popen(command, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            time.sleep(rng.uniform(0, 0.05))
            process.send_signal(signal.SIGKILL)
        assert target.read_bytes() == content
    bvb.load(target).save(target)
    assert sorted(os.listdir(tmp_path)) == ["fit.nc", "new"]


FULL = """
import resource, signal, sys
import bayesvb as bvb
from bayesvb.errors import DataError
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
fit, most = bvb.load(sys.argv[1]), int(sys.argv[2])
for step in range(int(sys.argv[3])):
    resource.setrlimit(resource.RLIMIT_FSIZE, (most * step // int(sys.argv[3]), -1))
    try:
        fit.save(sys.argv[1])
    except DataError:
        continue
    raise SystemExit("a file was written beyond the limit")
"""


@pytest.mark.heavy
def test_a_full_disk_is_one_error_and_the_old_file(saved, tmp_path):
    _, content, _ = saved
    target = tmp_path / "fit.nc"
    target.write_bytes(content)
    words = [str(target), str(len(content) // 2), str(10 * ATTACKS)]
    done = subprocess.run([sys.executable, "-c", FULL, *words], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert target.read_bytes() == content
    assert os.listdir(tmp_path) == ["fit.nc"]


NO_SPACE = """
import os, pathlib, sys
import bayesvb as bvb
from bayesvb.errors import DataError
saved, folder, times = sys.argv[1], pathlib.Path(sys.argv[2]), int(sys.argv[3])
content, fit = pathlib.Path(saved).read_bytes(), bvb.load(saved)
(folder / "fit.nc").write_bytes(content)
for step in range(times):
    filler, left = folder / "filler", len(content) * step // times
    free = os.statvfs(folder)
    filler.write_bytes(bytes(max(free.f_bavail * free.f_frsize - left, 0)))
    try:
        fit.save(folder / "fit.nc")
    except DataError:
        pass
    else:
        raise SystemExit(f"a file of {len(content)} bytes was written where {left} were free")
    assert (folder / "fit.nc").read_bytes() == content
    assert sorted(os.listdir(folder)) == ["filler", "fit.nc"]
    filler.unlink()
fit.save(folder / "fit.nc")
"""


@pytest.mark.heavy
def test_a_disk_without_space_is_one_error_and_the_old_file(saved, tmp_path):
    _, content, _ = saved
    (tmp_path / "fit.nc").write_bytes(content)
    (tmp_path / "small").mkdir()
    mounting = f"mount -t tmpfs -o size={3 * len(content)} none {tmp_path / 'small'}"
    if (
        shutil.which("unshare") is None
        or subprocess.run(["unshare", "-rm", "sh", "-c", mounting], capture_output=True).returncode
    ):
        pytest.skip("no disk of a given size can be made here")
    words = [sys.executable, "-c", NO_SPACE, tmp_path / "fit.nc", tmp_path / "small"]
    command = f'{mounting} && exec "$@"'
    done = subprocess.run(
        ["unshare", "-rm", "sh", "-c", command, "sh", *map(str, words), str(10 * ATTACKS)],
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
