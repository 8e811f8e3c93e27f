"""Work on several processes: what cannot be sent, scripts without a guard, processes that end."""

import os
import signal
import subprocess
import sys
import threading
import time

import pytest

from bayesvb.errors import DataError
from bayesvb.studies.processes import results


def test_functions_that_cannot_travel_stay_here_or_are_told():
    lock = threading.Lock()

    def squared(number):
        with lock:
            return number**2

    assert list(results(squared, 3, None, lambda *_: -1)) == [0, 1, 4]
    with pytest.raises(DataError, match=r"n_jobs=2.*other processes"):
        list(results(squared, 3, 2, lambda *_: -1))


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="copies of a process")
def test_processes_are_copies_where_that_is_safe_and_else_fresh_ones(monkeypatch):
    here = set(sys.modules)
    for safe in (True, False):
        monkeypatch.setattr("bayesvb.studies.processes.can_fork", lambda safe=safe: safe)
        for loaded in results(_Loaded(), 2, 2, lambda *_: None):
            assert ("pytest" in loaded) is safe and loaded <= here


class _Loaded:
    """Names of the modules that are loaded there; pickled as code that other processes know."""

    def __call__(self, number):
        return {"pytest"}

    def __reduce__(self):
        return eval, ("lambda number: set(__import__('sys').modules) & {'pytest', 'bayesvb'}",)


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_a_process_that_is_killed_is_one_result_and_another_goes_on():
    found = sorted(results(_Deadly(), 4, 2, lambda number, why: (number, why)))
    killed = f"its process ended with code {-signal.SIGKILL}"
    assert found == [(0, ""), (1, killed), (2, ""), (3, "")]


class _Deadly:
    """Kills the process that is given number one; pickled as code that other processes know."""

    def __call__(self, number):
        return (number, "")

    def __reduce__(self):
        code = (
            "lambda number: __import__('os').kill(__import__('os').getpid(), 9) "
            "if number == 1 else (number, '')"
        )
        return eval, (code,)


ORPHANS = """
import sys, time
from unittest import mock
from bayesvb.studies.processes import results

with mock.patch("bayesvb.studies.processes.can_fork", lambda: sys.argv[1] == "copies"):
    list(results(time.sleep, 1 << 20, 2, lambda *_: -1))
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="prctl")
@pytest.mark.parametrize("how", ["copies", "fresh"])
def test_processes_end_after_their_parent_was_killed(how):
    """While they sleep for longer than anybody waits."""
    parent = subprocess.Popen([sys.executable, "-c", ORPHANS, how], start_new_session=True)

    def members():
        numbers = [int(name) for name in os.listdir("/proc") if name.isdigit()]
        return {pid for pid in numbers if session_of(pid) == parent.pid} - {parent.pid}

    deadline = time.monotonic() + 60.0
    while len(members()) < 2 and time.monotonic() < deadline:
        time.sleep(0.05)
    started = members()
    time.sleep(0.5)
    parent.kill()
    parent.wait()
    while members() and time.monotonic() < deadline:
        time.sleep(0.05)
    left = members()
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    assert len(started) >= 2
    assert not left


def session_of(pid):
    try:
        return os.getsid(pid)
    except OSError:
        return None


UNGUARDED = """
from unittest import mock
from bayesvb.studies.processes import results

print("run")
with mock.patch("bayesvb.studies.processes.can_fork", lambda: False):
    print(sorted(results(abs, 3, 2, lambda *_: -1)))
"""


@pytest.mark.heavy
def test_a_fresh_process_does_not_run_the_script_again(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(UNGUARDED)
    done = subprocess.run([sys.executable, script], capture_output=True, text=True, check=True)
    assert done.stdout.split("\n")[:2] == ["run", "[0, 1, 2]"]
