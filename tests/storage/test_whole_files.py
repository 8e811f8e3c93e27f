import os
import resource
import signal
import socket
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from bayesvb.errors import DataError
from bayesvb.storage import whole_files
from bayesvb.storage.whole_files import as_path, check_writable, write_whole

NOT_NAMES = ["", "a\0b", "\ud800", 3, None, b"bytes", ["a"]]


@pytest.mark.parametrize("path", NOT_NAMES, ids=ascii)
def test_what_is_no_name_gets_a_message(path):
    with pytest.raises(DataError, match="is not the name of a file"):
        as_path(path)


def test_names_that_are_too_long_get_a_message(tmp_path):
    with pytest.raises(DataError, match=r"cannot be used|could not be written"):
        write_whole(b"", tmp_path / ("a" * 300))
    with pytest.raises(DataError, match="cannot be used"):
        check_writable("/".join(["a" * 200] * 40))


def test_links_in_a_circle_get_a_message(tmp_path):
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(DataError):
        write_whole(b"", tmp_path / "a")


def test_names_of_the_greatest_length_can_be_written(tmp_path):
    path = write_whole(b"content", tmp_path / ("a" * 250 + ".nc"))
    assert path.read_bytes() == b"content"


def test_devices_pipes_and_sockets_are_left_alone(tmp_path, monkeypatch):
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to(tmp_path / "pipe")
    with socket.socket(socket.AF_UNIX) as listener:
        monkeypatch.chdir(tmp_path)
        listener.bind("socket")
        for name in ("pipe", "link", "socket", "/dev/null", "/dev/full"):
            with pytest.raises(DataError, match="is not a regular file"):
                write_whole(b"content", tmp_path / name)
    assert stat.S_ISFIFO((tmp_path / "pipe").stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


@pytest.mark.parametrize("mode", [0o600, 0o640, 0o664, 0o755])
def test_the_mode_of_the_old_file_is_kept(tmp_path, mode):
    path = tmp_path / "fit.nc"
    path.touch()
    path.chmod(mode)
    write_whole(b"content", path)
    assert stat.S_IMODE(path.stat().st_mode) == mode


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_owner_of_the_old_file_is_kept(tmp_path):
    path = tmp_path / "fit.nc"
    path.touch()
    os.chown(path, 1234, 4321)
    write_whole(b"content", path)
    assert (path.stat().st_uid, path.stat().st_gid) == (1234, 4321)


@pytest.fixture
def named(monkeypatch):
    """A file system without files that have no name."""
    monkeypatch.setattr(whole_files, "_UNNAMED", 0)


KILLED = """
import os, signal, sys
from bayesvb.storage import whole_files
whole_files._UNNAMED *= int(sys.argv[2])
whole_files.os.fsync = lambda descriptor: os.kill(os.getpid(), signal.SIGKILL)
whole_files.write_whole(b"half", sys.argv[1])
"""


@pytest.mark.parametrize("unnamed", [0, whole_files._UNNAMED and 1])
def test_what_a_killed_process_left_is_taken_away_by_the_next(tmp_path, unnamed):
    path = write_whole(b"old", tmp_path / "fit.nc")
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(unnamed)])
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"
    assert len(os.listdir(tmp_path)) == 2 - unnamed
    write_whole(b"new", path)
    assert os.listdir(tmp_path) == ["fit.nc"]
    assert path.read_bytes() == b"new"


def test_what_another_process_is_writing_is_left_alone(tmp_path, named):
    path = tmp_path / "fit.nc"
    with whole_files._partial(path) as (_, partial):
        write_whole(b"new", path)
        assert partial.exists()
    assert os.listdir(tmp_path) == ["fit.nc"]


class Interrupted(Exception):
    pass


@pytest.mark.parametrize("failure", [OSError(28, "No space left on device"), Interrupted()])
@pytest.mark.parametrize("call", ["fsync", "replace", "fchmod"])
def test_a_failed_write_leaves_the_old_file(tmp_path, monkeypatch, failure, call):
    path = write_whole(b"old", tmp_path / "fit.nc")

    def fail(*arguments):
        raise failure

    monkeypatch.setattr(os, call, fail)
    with pytest.raises(DataError if isinstance(failure, OSError) else Interrupted) as error:
        write_whole(b"new", path)
    if isinstance(failure, OSError):
        assert "No space left on device" in str(error.value)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["fit.nc"]


def test_a_limit_of_the_size_of_files_is_one_error(tmp_path):
    path = write_whole(b"old", tmp_path / "fit.nc")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1000, before[1]))
    try:
        with pytest.raises(DataError, match="File too large"):
            write_whole(b"x" * 5000, path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["fit.nc"]
