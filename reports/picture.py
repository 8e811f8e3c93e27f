"""The first screen of a report as a picture, drawn by an installed browser."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
from pathlib import Path

from bayesvb.errors import DataError

__all__ = ["find_browser", "first_screen"]

BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
"""Names under which Chromium or Chrome is on the path."""

WIDTH, HEIGHT = 1280, 900
"""Size of the picture in pixels."""

PATIENCE = 120.0
"""Seconds after which a browser is taken to have failed."""

FIRST_ONLY = "<style>nav, main > :not(.finding) { display: none }</style></head>"
"""Style that hides everything below the first screen."""


def find_browser() -> str:
    """Path of Chromium or Chrome.

    Raises
    ------
    DataError
        If neither is installed.
    """
    known = (shutil.which(name) for name in BROWSERS)
    browser = next(filter(None, known), None)
    if browser is None:
        raise DataError(
            "a report as .png is drawn by Chromium or Chrome, and neither is on the PATH",
            hint="install one of them, or write the report as .html",
        )
    return browser


def first_screen(page: str) -> bytes:
    """PNG file with the first screen of a page, 1280 x 900 pixels, in the light scheme.

    Raises
    ------
    DataError
        If no browser is installed, or it draws nothing.
    """
    browser = find_browser()
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        folder = Path(name)
        source, target = folder / "page.html", folder / "page.png"
        source.write_text(page.replace("</head>", FIRST_ONLY, 1), encoding="utf-8")
        command = [
            browser, "--headless", "--disable-gpu", "--hide-scrollbars", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder / 'profile'}",
            f"--window-size={WIDTH},{HEIGHT}", f"--screenshot={target}", source.as_uri(),
        ]  # fmt: skip
        if getattr(os, "geteuid", lambda: 1)() == 0:
            command.insert(1, "--no-sandbox")  # the sandbox does not start for root
        try:
            subprocess.run(command, capture_output=True, timeout=PATIENCE, check=True)
            return target.read_bytes()
        except (OSError, subprocess.SubprocessError) as error:
            raise DataError(
                f"{browser} drew no picture: {type(error).__name__}",
                hint="write the report as .html, and take the picture in the browser",
            ) from error
