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

from bayesvb.errors import DataError
from bayesvb.interactive.guard import Guard
from bayesvb.interactive.jobs import Zygote
from bayesvb.interactive.tables import Table, open_table

__all__ = ["serve", "workbench"]


def workbench(data: object = "mcycle", *, browser: bool = True, port: int = 0) -> None:
    """Open a page on which a formula is typed, and the picture of its fit follows.

    It returns when it is ended by Ctrl-C; in a notebook at once, and ends with the kernel. The page
    is for this machine only: its address has a token. See the tutorial of the workbench.

    Parameters
    ----------
    data : table, path or str
        pandas, polars or pyarrow, a mapping of columns, a CSV or Parquet file, or the name of a
        shipped data set.
    browser : bool
        Open the page in the browser; its address is printed in any case.
    port : int
        Port of the server; a free one by default.

    Raises
    ------
    DataError
        If the extra ``bayesvb[workbench]`` is not installed, or the data are no table.
    """
    check_installed()
    zygote = Zygote()  # imports beside us
    try:
        table = open_table(data)
        running = True
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            running = False
        if not running:
            serve(table, zygote, browser=browser, port=port)
            return
    except BaseException:
        zygote.close()
        raise
    options = {"browser": browser, "port": port}
    threading.Thread(target=serve, args=(table, zygote), kwargs=options, daemon=True).start()


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


def serve(table: Table, zygote: Zygote, *, browser: bool, port: int) -> None:
    """Serve the page of a table until the process is interrupted; closes the zygote."""
    import uvicorn

    from bayesvb.interactive.page import make_app

    with tempfile.TemporaryDirectory(prefix="bayesvb-") as folder, _listening(port) as listener:
        number, token = listener.getsockname()[1], secrets.token_urlsafe(24)
        address = f"http://127.0.0.1:{number}/?token={token}"
        app = make_app(table, zygote.start, Path(folder))
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
        raise DataError(f"port={port} cannot be used: {error}", hint="leave it out") from error
