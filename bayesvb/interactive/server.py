"""The server of the page: on this machine only, until Ctrl-C."""

from __future__ import annotations

import asyncio
import importlib.util
import re
import secrets
import signal
import socket
import tempfile
import threading
import webbrowser
from contextlib import suppress
from pathlib import Path

from bayesvb.argument_checks import checked
from bayesvb.errors import DataError
from bayesvb.interactive.guard import Guard
from bayesvb.interactive.jobs import Zygote
from bayesvb.interactive.session import Session, is_session, new_session, open_session
from bayesvb.interactive.tables import open_table


@checked
def workbench(
    data: object = "mcycle",
    *,
    session: str | Path | None = None,
    browser: bool = True,
    port: int = 0,
) -> None:
    """Open a page on which a formula is typed, and the picture of its fit follows.

    It returns when it is ended by Ctrl-C; in a notebook at once, and ends with the kernel. The page
    is for this machine only: its address has a token. See the tutorial of the workbench.

    Parameters
    ----------
    data : table, path or str
        pandas, polars or pyarrow, a mapping of columns, a CSV or Parquet file, the name of a
        shipped data set, or the folder of a session, whose data are then read where they were.
    session : str or Path, optional
        Folder of a session that was saved on the page, for these data.
    browser : bool
        Open the page in the browser; its address is printed in any case.
    port : int
        Port of the server; a free one by default.

    Raises
    ------
    DataError
        If the extra ``bayesvb[workbench]`` is not installed, the data are not a table, or not the
        session's.
    """
    check_installed()
    zygote = Zygote()  # imports beside us
    folder = tempfile.TemporaryDirectory(prefix="bayesvb-")
    try:
        opened = _opened(data, session, Path(folder.name))
        running = True
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            running = False
        if not running:
            serve(opened, zygote, folder, browser=browser, port=port)
            return
    except BaseException:
        zygote.close()
        folder.cleanup()
        raise
    options = {"browser": browser, "port": port}
    arguments = (opened, zygote, folder)
    threading.Thread(target=serve, args=arguments, kwargs=options, daemon=True).start()


def _opened(data: object, session: str | Path | None, folder: Path) -> Session:
    if session is not None:
        return open_session(session, data, folder)
    if isinstance(data, str | Path) and is_session(data):
        return open_session(data, None, folder)
    return new_session(open_table(data))


def check_installed() -> None:
    """Raise unless the packages of the page are there.

    Raises
    ------
    DataError
        With the line that installs them.
    """
    for name in ("shiny", "uvicorn"):
        if importlib.util.find_spec(name) is None:
            raise DataError(
                f"the workbench needs the package {name}, which is not installed",
                hint="pip install 'bayesvb[workbench]'",
            )


def serve(
    session: Session,
    zygote: Zygote,
    folder: tempfile.TemporaryDirectory[str],
    *,
    browser: bool,
    port: int,
) -> None:
    """Serve the page of a session until the process is interrupted; tidies up.

    Parameters
    ----------
    session : Session
    zygote : Zygote
        Closed at the end.
    folder : TemporaryDirectory
        Files of the fits.
    browser : bool
    port : int
    """
    import uvicorn

    from bayesvb.interactive.page import make_app

    with folder, _listening(port) as listener:
        number, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{number}/?token={token}"
        app = make_app(session, zygote.start, Path(folder.name))
        scripts = tuple(re.findall(r"<script>(.*?)</script>", app.ui["html"], re.DOTALL))
        guard = Guard(app, token, number, scripts=scripts)
        config = uvicorn.Config(guard, log_level="error", ws_ping_interval=None, lifespan="on")
        print(f"The workbench is open at {address}\nEnd it by Ctrl-C.", flush=True)
        if browser:
            threading.Thread(target=webbrowser.open, args=(address,), daemon=True).start()
        if threading.current_thread() is threading.main_thread():
            signal.signal(signal.SIGTERM, signal.default_int_handler)  # or nothing is tidied up
        try:
            with suppress(KeyboardInterrupt):
                uvicorn.Server(config).run(sockets=[listener])
        finally:
            zygote.close()


def _listening(port: int) -> socket.socket:
    """Return a socket on the loopback interface."""
    if not 0 <= port < 1 << 16:
        raise DataError(f"port={port} is not a port", hint="give one of 0 to 65535")
    try:
        return socket.create_server(("127.0.0.1", port))
    except OSError as error:
        raise DataError(f"port={port} cannot be used: {error}", hint="omit port=") from error
