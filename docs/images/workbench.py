"""Take the pictures of the workbench: python docs/images/workbench.py, with chromium."""

import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

FOLDER = Path(__file__).parent
PROGRAM = "from bayesvb.interactive.server import workbench; workbench('mcycle', browser=False)"
FIRST = "accel ~ s(times)"


def save(page, name, of=None, **options):
    """A picture of 96 colours, a third as large as one of all; of the page, or a part of it."""
    page.mouse.move(0, 0)
    page.locator("#doing[data-tone=idle]").wait_for()
    picture = Image.open(io.BytesIO((of or page).screenshot(**options)))
    picture.convert("RGB").quantize(96).save(FOLDER / name, optimize=True)


def take(page):
    """First fit with its checks, then the fits after two buttons, compared, and a prediction."""
    page.locator("#judged").wait_for()
    save(page, "workbench.png")
    for rows, remedy in enumerate((None, "sigma(times)", "n_components=3"), start=1):
        if remedy is not None:
            page.locator(".checks .act", has_text=remedy).first.click()
            page.locator(f"#shown[data-full=false]:not([data-formula='{FIRST}'])").wait_for()
        page.locator("button.main").click()
        page.locator(f"#compared[data-rows='{rows}']").wait_for()
    save(page, "workbench-compared.png", full_page=True)
    page.locator("[data-pane=predict] summary").click()
    page.get_by_role("spinbutton", name="times").fill("30")
    page.locator('#row-predicted[data-values*="30"]').wait_for()
    save(page, "workbench-predict.png", page.locator("section", has=page.locator("#row-predicted")))


def main():
    command, folder = [sys.executable, "-c", PROGRAM], tempfile.TemporaryDirectory()
    environment = {**os.environ, "XDG_STATE_HOME": folder.name}  # no earlier session is offered
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
    try:
        address = re.search(r"http\S+", server.stdout.readline())[0]
        with sync_playwright() as driver:
            path = shutil.which("chromium")
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 860})
            page.set_default_timeout(120_000)
            page.goto(address)
            take(page)
            browser.close()
    finally:
        server.terminate()
        server.wait()
        folder.cleanup()


if __name__ == "__main__":
    main()
