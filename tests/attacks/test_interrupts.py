"""Ctrl-C and SIGKILL at random moments of commands that fit, check and report."""

import os
import signal
import subprocess
import sys
import time

import numpy as np
import pandas as pd
import pytest

ATTACKS = int(os.environ.get("BAYESVB_ATTACKS", "1"))

SECONDS = 5.0
"""Within which a command has to end while other tests have the processors too."""

COMMANDS = {
    "fit": ["fit", "y ~ x + z", "--components", "3"],
    "network": ["fit", "k ~ x + z", "--model", "network"],
    "report": ["fit", "y ~ x + z", "--components", "3", "--report", "page.html"],
}


def interrupted(arguments, folder, seconds):
    """Exit code, time to the end and messages of a command that is interrupted, then once more.

    The first Ctrl-C ends an ascent, and what was reached is printed; the second ends the command.
    """
    command = [sys.executable, "-m", "bayesvb", *arguments]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        time.sleep(seconds)
        begin = time.perf_counter()
        for patience in (1.0, 60.0):
            process.send_signal(signal.SIGINT)
            try:
                _, messages = process.communicate(timeout=patience)
            except subprocess.TimeoutExpired:
                continue
            break
    return process.returncode, time.perf_counter() - begin, messages


@pytest.mark.heavy
@pytest.mark.parametrize("arguments", COMMANDS.values(), ids=list(COMMANDS))
def test_a_command_ends_soon_and_without_a_traceback(arguments, tmp_path):
    rng = np.random.default_rng(len(arguments))
    data = pd.DataFrame(rng.normal(size=(1500, 3)), columns=["x", "z", "y"])
    data["k"] = rng.choice(list("abc"), 1500)
    data.to_csv(tmp_path / "rows.csv", index=False)
    found = []
    for _ in range(2 * ATTACKS):
        words = [*arguments[:2], "rows.csv", *arguments[2:]]
        found.append(interrupted(words, tmp_path, rng.uniform(0.5, 6.0)))
    for code, seconds, messages in found:
        print(f"exit {code} after {seconds:.2f} s")
        assert "Traceback" not in messages, messages
        assert code in (0, 130, -signal.SIGINT), messages
        assert seconds < SECONDS


KILLED = """
import contextlib, os, pathlib, random, signal, sys, time
from bayesvb.cli.main import main

def run(arguments):
    os.setsid()
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, 1)
    os.dup2(null, 2)
    main(arguments)
    os._exit(0)

def members(session):
    for name in filter(str.isdigit, os.listdir("/proc")):
        with contextlib.suppress(OSError, IndexError):
            state = pathlib.Path("/proc", name, "stat").read_text().rpartition(")")[2].split()
            if int(state[3]) == session and state[0] != "Z":
                yield int(name)

random.seed(1)
commands = [command.split("|") for command in sys.argv[3:]]
for moment in range(int(sys.argv[2])):
    child = os.fork()
    if not child:
        run(commands[moment % len(commands)])
    time.sleep(random.uniform(0.02, float(sys.argv[1])))
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    deadline = time.monotonic() + 10.0
    while any(members(child)) and time.monotonic() < deadline:
        time.sleep(0.01)
    left = list(members(child))
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    print(moment, len(left), *sorted(os.listdir(".")), sep="\\t", flush=True)
"""


@pytest.mark.heavy
@pytest.mark.skipif(sys.platform != "linux", reason="sessions are looked up in /proc")
def test_a_kill_leaves_no_process_and_no_file(tmp_path):
    """Whatever is left in the folder has its final name, and was written whole."""
    rng = np.random.default_rng(0)
    data = pd.DataFrame(rng.normal(size=(400, 3)), columns=["x", "z", "y"])
    data["k"] = rng.choice(list("abc"), 400)
    data.to_csv(tmp_path / "rows.csv", index=False)
    shared = set(os.listdir("/dev/shm"))
    more = ["--restarts", "4", "--save", "fit.nc", "--report", "page.html"]
    commands = [
        "|".join([*words[:2], "rows.csv", *words[2:4], *more]) for words in COMMANDS.values()
    ]
    script = [sys.executable, "-c", KILLED, "4.0", str(6 * ATTACKS), *commands]
    done = subprocess.run(
        script, cwd=tmp_path, capture_output=True, text=True, env={**os.environ, "TMPDIR": "."}
    )
    assert done.returncode == 0, done.stderr
    moments = [line.split("\t") for line in done.stdout.splitlines()]
    assert len(moments) == 6 * ATTACKS
    for number, n_left, *names in moments:
        assert n_left == "0", number
        assert set(names) <= {"rows.csv", "fit.nc", "page.html"}, names
    assert set(os.listdir("/dev/shm")) <= shared
