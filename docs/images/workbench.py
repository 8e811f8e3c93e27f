"""Take the pictures of the workbench: python docs/images/workbench.py, with chromium."""

import io
import re
import shutil
import subprocess
import sys
from pathlib import Path

from PIL import Image
from playwright.sync_api import expect, sync_playwright

FOLDER = Path(__file__).parent
PROGRAM = "from bayesvb.interactive.server import workbench; workbench('mcycle', browser=False)"
FORMULA = "accel ~ s(times) | sigma(times)"


def save(page, name, *, full_page):
    """A picture of 64 colours, a third as large as one of all."""
    page.mouse.move(0, 0)
    page.locator("#doing[data-tone=idle]").wait_for()
    picture = Image.open(io.BytesIO(page.screenshot(full_page=full_page)))
    picture.convert("RGB").quantize(64).save(FOLDER / name, optimize=True)


def take(page):
    """First fit with its checks, then the fit after a button and its comparison."""
    expect(page.locator("#judged")).to_be_visible()
    save(page, "workbench.png", full_page=False)
    page.locator("button.main").click()
    expect(page.locator("#judged")).to_have_attribute("data-full", "true")
    page.locator(".checks .act", has_text="sigma(times)").click()
    expect(page.locator("#shown")).to_have_attribute("data-formula", FORMULA)
    page.locator("button.main").click()
    expect(page.locator("#compared")).to_have_attribute("data-rows", "2")
    save(page, "workbench-compared.png", full_page=True)


def main():
    command = [sys.executable, "-c", PROGRAM]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        address = re.search(r"http\S+", server.stdout.readline())[0]
        with sync_playwright() as driver:
            path = shutil.which("chromium")
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            page = browser.new_page(viewport={"width": 1180, "height": 860})
            expect.set_options(timeout=60_000)
            page.goto(address)
            take(page)
            browser.close()
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
