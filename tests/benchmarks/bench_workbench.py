"""Time from the last key to the message and to the picture of the workbench, in Chromium.

Typed at 35 ms a key: each formula passes through readable beginnings, whose fits are ended. Writes
docs/benchmarks/workbench.csv. Usage: bench_workbench.py [EDITS], with the extra workbench,
playwright and chromium.
"""

import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import expect, sync_playwright

import bayesvb as bvb

OUTPUT = Path(__file__).parents[2] / "docs/benchmarks/workbench.csv"
FORMULAS = ("y ~ x", "y ~ s(x)", "y ~ poly(x, 3)", "y ~ s(x) | sigma(x)", "y ~ s(x, k=6)")
PROGRAM = (
    "import sys; from bayesvb.interactive.server import workbench; "
    "workbench(sys.argv[1], browser=False)"
)


def simulated(rows):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 10.0, rows)
    return pd.DataFrame({"y": np.sin(x) + rng.normal(size=rows) * (0.2 + 0.05 * x), "x": x})


def motorcycle():
    return bvb.datasets.load("mcycle").rename(columns={"accel": "y", "times": "x"})[["y", "x"]]


def timed(page, formula):
    """Milliseconds from the last key to the message, and to the picture."""
    page.locator("#formula").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(formula, delay=35)
    began = time.perf_counter()
    times = []
    for name in ("message", "shown"):
        page.locator(f'#{name}[data-formula="{formula}"]').wait_for(timeout=60_000)
        times.append(1000.0 * (time.perf_counter() - began))
    return times


def measure(frame, edits):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.to_csv(path, index=False)
        command, began = [sys.executable, "-c", PROGRAM, str(path)], time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        address = re.search(r"http\S+", server.stdout.readline())[0]
        start = time.perf_counter() - began
        try:
            with sync_playwright() as driver:
                chromium = shutil.which("chromium")
                browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
                page = browser.new_page()
                page.goto(address)
                expect(page.locator("#shown")).to_be_visible(timeout=120_000)
                times = [timed(page, FORMULAS[i % len(FORMULAS)]) for i in range(edits)]
                browser.close()
        finally:
            server.terminate()
            server.wait()
    message, picture = zip(*times, strict=True)
    return start, message, picture


def main(edits):
    rows = []
    for frame in (motorcycle(), *map(simulated, (1_000, 10_000, 100_000))):
        start, message, picture = measure(frame, edits)
        row = {"rows": len(frame), "edits": edits, "start, s": round(start, 1)}
        for name, values in (("message", message), ("picture", picture)):
            row[f"{name} p50, ms"] = round(statistics.median(values))
            row[f"{name} p95, ms"] = round(float(np.quantile(values, 0.95)))
        rows.append(row)
        print(row, flush=True)
    pd.DataFrame(rows).to_csv(OUTPUT, index=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
