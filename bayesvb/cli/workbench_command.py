"""The command that opens the workbench."""

from __future__ import annotations

import click


@click.command()
@click.argument("data", default="mcycle")
@click.option("--session", help="Folder of a session that was saved on the page, for DATA.")
@click.option("--port", type=int, default=0, help="Port of the page.  [default: a free one]")
@click.option("--browser/--no-browser", default=True, help="Open the page, or print its address.")
def workbench(data: str, session: str | None, port: int, *, browser: bool) -> None:
    """Open a page on which a formula is typed and its fit is drawn, for this machine only.

    DATA is a CSV or Parquet file, the name of a shipped data set, or the folder of a session, whose
    data are then read where they were.  [default: mcycle]

    Example: bayesvb workbench data.csv

    Ctrl-C ends it.
    """
    from bayesvb.interactive.server import workbench as open_workbench

    open_workbench(data, session=session, port=port, browser=browser)
