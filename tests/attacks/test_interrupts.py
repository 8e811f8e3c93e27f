"""Ctrl-C at random moments of commands that fit, check and report."""

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
