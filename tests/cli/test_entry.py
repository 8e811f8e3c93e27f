import subprocess
import sys

import pytest

WHILE_LOADING = "lambda: os.kill(os.getpid(), signal.SIGINT)"
AFTERWARDS = "lambda: lambda **names: os.kill(os.getpid(), signal.SIGINT)"


@pytest.mark.parametrize("moment", [WHILE_LOADING, AFTERWARDS])
def test_ctrl_c_is_one_line_at_any_moment(moment):
    code = (
        f"import os, signal; from bayesvb.cli import entry; entry._commands = {moment}; entry.run()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_commands_are_those_of_the_command_line():
    done = subprocess.run([sys.executable, "-m", "bayesvb", "-h"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "predict" in done.stdout
