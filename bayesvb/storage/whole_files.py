"""Files written completely or not at all: next to the old one, which is replaced at the end."""

from __future__ import annotations

import os
import re
import secrets
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from bayesvb.errors import DataError

try:
    import fcntl
except ImportError:  # locks of this kind are of POSIX
    fcntl = None  # type: ignore[assignment]

LONGEST_STEM = 60
"""Characters of a name that a partial file repeats: names have 255 bytes at most."""

OPEN_FILES = "/proc/self/fd"
"""Links to the open files of this process, on Linux."""


def as_path(path: object) -> Path:
    """The path, if it is one.

    Raises
    ------
    DataError
        If it is neither text nor path, or contains characters that a file name cannot have.
    """
    if not isinstance(path, str | os.PathLike) or not isinstance(os.fspath(path), str):
        raise DataError(f"path={path!r} is not the name of a file", hint="pass a string or a Path")
    text = os.fspath(path)
    if not text or "\0" in text or not _can_be_encoded(text):
        raise DataError(f"path={text!r} is not the name of a file")
    return Path(text)


def _can_be_encoded(text: str) -> bool:
    try:
        os.fsencode(text)
    except UnicodeEncodeError:
        return False
    return True


def check_writable(path: str | os.PathLike[str]) -> Path:
    """The path as a Path, if a file can be written there; ask before a long computation.

    Raises
    ------
    DataError
        If the folder does not exist or takes no files, or the path is a folder, a device, a pipe
        or read-only.
    """
    target = as_path(path)
    try:
        _check_target(target)
    except (OSError, RuntimeError) as error:  # names that are too long, links in a circle
        raise DataError(f"path={_shown(target)} cannot be used: {_said(error)}") from error
    return target


def _check_target(target: Path) -> None:
    final = target.resolve()
    folder = final.parent
    if final.is_dir():
        raise DataError(f"path={_shown(target)} is a folder", hint="add the name of a file")
    if not folder.is_dir():
        raise DataError(
            f"path={_shown(target)}: the folder {str(folder)!r} does not exist",
            hint=f"create it: mkdir -p {folder}",
        )
    if os.path.lexists(final) and not stat.S_ISREG(final.lstat().st_mode):
        raise DataError(
            f"path={_shown(target)} is not a regular file, but a device, a pipe or the like",
            hint="choose the name of a file",
        )
    try:
        with tempfile.TemporaryFile(dir=folder):
            pass
    except OSError as error:
        raise DataError(
            f"path={_shown(target)}: no file can be written in {str(folder)!r} ({error.strerror})",
            hint="choose another folder",
        ) from error
    if target.exists() and not os.access(target, os.W_OK):
        raise DataError(f"path={_shown(target)} is read-only", hint="choose another name")


def write_whole(content: bytes, path: str | os.PathLike[str]) -> Path:
    """The path of the regular file that now holds the content.

    An existing file keeps its mode and, if the system allows it, its owner. An error leaves it
    unchanged. Where the system has files without a name, a killed process leaves none; elsewhere
    the next process removes the partial files of killed ones.

    Raises
    ------
    DataError
        If nothing can be written there (see `check_writable`) or writing fails.
    """
    target = check_writable(path)
    final = target.resolve()  # a link stays a link
    try:
        _take_away_abandoned(final)
        with _partial(final) as (descriptor, partial):
            _as_the_old_one(descriptor, final)
            with os.fdopen(os.dup(descriptor), "wb") as stream:
                stream.write(content)
                stream.flush()
                os.fsync(descriptor)
            _check_target(target)
            _name(descriptor, partial)
            os.replace(partial, final)
    except OSError as error:
        raise DataError(
            f"path={_shown(target)} could not be written: {_said(error)}",
            hint="is the disk full? The former file is unchanged",
        ) from error
    return target


@contextmanager
def _partial(final: Path) -> Iterator[tuple[int, Path]]:
    """A new file and a name next to the final one, removed at the end unless it was renamed."""
    descriptor, partial = _begun(final)
    try:
        yield descriptor, partial
    finally:
        with suppress(OSError):
            if _same(descriptor, partial):
                partial.unlink()
        os.close(descriptor)


def _begun(final: Path) -> tuple[int, Path]:
    """Open a locked file, without a name where the system has such files."""
    # Partial files begun until one is ours: another process may take each for an abandoned one.
    for _ in range(8):
        name = f".{final.name[:LONGEST_STEM]}.{secrets.token_hex(4)}.part"
        partial = final.with_name(name)
        with suppress(OSError):  # not every file system has them
            if _UNNAMED and os.path.isdir(OPEN_FILES):
                descriptor = os.open(final.parent, os.O_RDWR | _UNNAMED, 0o666)
                _locked(descriptor)
                return descriptor, partial
        descriptor = os.open(partial, os.O_RDWR | os.O_CREAT | os.O_EXCL | _BINARY, 0o666)
        if not _locked(descriptor) or _same(descriptor, partial):
            return descriptor, partial
        os.close(descriptor)
    raise OSError(f"another process removes temporary files next to {final}")


_BINARY = getattr(os, "O_BINARY", 0)
_UNNAMED = getattr(os, "O_TMPFILE", 0)


def _name(descriptor: int, partial: Path) -> None:
    """Give an open file without a name this one, in the last moment before it is renamed."""
    if os.fstat(descriptor).st_nlink == 0:
        # With a folder's descriptor, Python follows the link to the file itself.
        os.link(f"{OPEN_FILES}/{descriptor}", partial, src_dir_fd=descriptor)


def _same(descriptor: int, path: Path) -> bool:
    """Whether the name still belongs to the open file."""
    try:
        return os.path.samestat(os.fstat(descriptor), os.lstat(path))
    except FileNotFoundError:
        return False


def _locked(descriptor: int) -> bool:
    """Whether the open file is now locked for this process, which a killed one no longer is."""
    if fcntl is None:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def _take_away_abandoned(final: Path) -> None:
    """Remove partial files of this name that no process is writing."""
    ours = re.compile(rf"\.{re.escape(final.name[:LONGEST_STEM])}\.[0-9a-f]{{8}}\.part")
    for entry in os.scandir(final.parent):
        if ours.fullmatch(entry.name) and entry.is_file(follow_symlinks=False):
            with suppress(OSError):
                descriptor = os.open(entry.path, os.O_RDWR | _BINARY)
                if _locked(descriptor):
                    os.unlink(entry.path)
                os.close(descriptor)


def _as_the_old_one(descriptor: int, final: Path) -> None:
    """Give the new file the mode and the owner of the one that it replaces."""
    if not final.exists() or not hasattr(os, "fchmod"):
        return
    old = final.stat()
    with suppress(OSError):  # only root gives files away
        os.fchown(descriptor, old.st_uid, old.st_gid)
    os.fchmod(descriptor, stat.S_IMODE(old.st_mode))


def _shown(path: Path) -> str:
    text = str(path)
    return repr(text if len(text) <= 200 else f"{text[:100]}...{text[-60:]}")


def _said(error: Exception) -> str:
    return str(getattr(error, "strerror", None) or error)
