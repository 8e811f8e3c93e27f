import subprocess
import sys

import pytest

WHILE_LOADING = "lambda: os.kill(os.getpid(), signal.SIGINT)"
AFTERWARDS = "lambda: lambda **names: os.kill(os.getpid(), signal.SIGINT)"
IN_A_CLASS = """lambda: lambda **names: type("Class", (), {"own": type("Descriptor", (), {
    "__set_name__": lambda *_: os.kill(os.getpid(), signal.SIGINT)})()})"""

IN_A_DESTRUCTOR = """lambda: lambda **names: (type("Class", (), {
    "__del__": lambda _: os.kill(os.getpid(), signal.SIGINT)})() and None, time.sleep(60))"""


@pytest.mark.parametrize("moment", [WHILE_LOADING, AFTERWARDS, IN_A_CLASS, IN_A_DESTRUCTOR])
def test_ctrl_c_is_one_line_at_any_moment(moment):
    code = "import os, signal, time; from bayesvb.cli import entry; "
    code += f"entry._commands = {moment}; entry.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "interrupted\n")


def test_the_commands_are_those_of_the_command_line():
    done = subprocess.run([sys.executable, "-m", "bayesvb", "-h"], capture_output=True, text=True)
    assert done.returncode == 0
    assert "predict" in done.stdout


def test_an_error_that_is_none_of_an_interrupt_is_not_hidden():
    failing = "lambda: lambda **names: 1 / 0"
    code = f"from bayesvb.cli import entry; entry._commands = {failing}; entry.run()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 1
    assert "ZeroDivisionError" in done.stderr
