"""Sessions saved by themselves, so that a killed server or a closed page loses nothing.

Each page has a folder of its own, ``$XDG_STATE_HOME/bayesvb/sessions/HASH-TIME-PAGE``, with the
content of any saved session. The hash is the beginning of the data's: whoever opens the same rows
again is offered the newest one.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from bayesvb.errors import BayesVBError
from bayesvb.interactive.request import Request
from bayesvb.interactive.session import FILE, Session, first_request, is_session, save_session
from bayesvb.interactive.tables import Table

MOST = 20
"""Sessions that are kept, the newest ones."""

TIME = "%Y%m%dT%H%M%S"
"""Time in the name of a folder, which sorts folders of the same data by age."""


@dataclass(frozen=True, kw_only=True)
class Offer:
    """A session of the same data that can be restored.

    Attributes
    ----------
    folder : Path
    formula : str
        Of the controls.
    n_fits : int
        Full fits.
    time : datetime
    """

    folder: Path
    formula: str
    n_fits: int
    time: datetime


def sessions_folder() -> Path:
    """Return the folder of all sessions of this user."""
    state = os.environ.get("XDG_STATE_HOME") or Path.home() / ".local/state"
    return Path(state) / "bayesvb" / "sessions"


def new_folder(table: Table) -> Path:
    """Return the folder for a page with these data; it is not made."""
    page = secrets.token_hex(4)
    return sessions_folder() / f"{_beginning(table)}-{datetime.now():{TIME}}-{page}"


def autosave(session: Session, folder: Path) -> None:
    """Save a session in its folder, which only this user can read, and remove the oldest ones.

    Parameters
    ----------
    session : Session
    folder : Path
        Of ``new_folder``.

    Raises
    ------
    DataError
        If it cannot be written.
    """
    is_new = not folder.exists()
    save_session(session, folder)
    if is_new:
        folder.parent.chmod(0o700)
        for old in _by_age(folder.parent.iterdir())[:-MOST]:
            shutil.rmtree(old, ignore_errors=True)


def newest_session(table: Table) -> Offer | None:
    """Return the newest session of the same data that has more than the first formula."""
    for folder in reversed(_by_age(sessions_folder().glob(f"{_beginning(table)}-*"))):
        try:
            content = json.loads((folder / FILE).read_bytes())
            request, fits = Request.from_values(content["request"]), len(content["fits"])
            time = datetime.strptime(folder.name.split("-")[1], TIME)
        except (OSError, ValueError, KeyError, TypeError, BayesVBError):
            continue
        if fits or request != first_request(table):
            return Offer(folder=folder, formula=request.formula, n_fits=fits, time=time)
    return None


def _beginning(table: Table) -> str:
    return table.sha256[:16]


def _by_age(folders: Iterable[Path]) -> list[Path]:
    """Return the folders with a session, the oldest first."""
    return sorted(filter(is_session, folders), key=lambda folder: folder.name.split("-")[1:])
