"""The server starts only where it can, and says what is missing."""

import importlib.util
import socket
import subprocess
import sys

import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.interactive import server


@pytest.fixture
def without(monkeypatch):
    """Make packages look as if they were not installed, and processes impossible."""
    find = importlib.util.find_spec

    def hide(*names):
        monkeypatch.setattr(
            importlib.util, "find_spec", lambda name: None if name in names else find(name)
        )

    monkeypatch.setattr(server, "Zygote", lambda: pytest.fail("started"))
    return hide


def test_without_the_extra_one_line_says_what_to_install(without, command):
    without("shiny")
    with pytest.raises(DataError, match="needs the package shiny") as caught:
        bvb.workbench("mcycle")
    assert caught.value.hint == "pip install 'bayesvb[workbench]'"
    result = command("workbench", "mcycle")
    assert result.exit_code == 2
    assert "pip install 'bayesvb[workbench]'" in result.stderr


def test_modules_of_the_server_import_neither_fits_nor_reports():
    program = (
        "import sys, bayesvb.interactive.server, bayesvb.interactive.reading\n"
        "from bayesvb.interactive import state, tasks\n"
        "late = ('scipy.stats', 'scipy.optimize', 'xarray', 'jinja2', 'bayesvb.reports',"
        " 'bayesvb.interactive.fitting')\n"
        "print([name for name in late if name in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr


def test_a_port_that_is_taken_is_a_sentence():
    with socket.create_server(("127.0.0.1", 0)) as taken:
        with pytest.raises(DataError, match=r"port=\d+ cannot be used"):
            server._listening(taken.getsockname()[1])
    with pytest.raises(DataError, match="port=70000 is not a port"):
        server._listening(70000)


def test_the_page_is_not_reached_from_other_machines():
    with server._listening(0) as listener:
        assert listener.getsockname()[0] == "127.0.0.1"


def test_data_that_are_no_table_end_the_zygote(monkeypatch):
    ended = []

    class Zygote:
        def close(self):
            ended.append(True)

    monkeypatch.setattr(server, "Zygote", Zygote)
    monkeypatch.setattr(server, "check_installed", lambda: None)
    with pytest.raises(DataError, match="nothing"):
        bvb.workbench("nothing.csv", browser=False)
    assert ended == [True]
