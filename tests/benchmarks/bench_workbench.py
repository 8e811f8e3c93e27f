"""Time from the last key to the message and to the picture of the workbench, in Chromium.

Typed at 35 ms a key: each formula passes through readable beginnings, whose fits are ended. Beside
them the time from the command to the visible page in a browser that runs, medians of the CPU
time of the process of a fit until its picture is sent, until its checks are too, and of the server,
and the memory of all processes (PSS) with an open page, while its last fit waits for questions.
PSS counts a page of a library that other programs use too in parts: nothing else may run.
Writes docs/benchmarks/workbench.csv. Usage: bench_workbench.py [EDITS], on Linux, with the extra
workbench, playwright and chromium.
"""

import os
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pandas as pd
from playwright.sync_api import sync_playwright

import bayesvb as bvb

OUTPUT = Path(__file__).parents[2] / "docs/benchmarks/workbench.csv"
FORMULAS = ("y ~ x", "y ~ s(x)", "y ~ poly(x, 3)", "y ~ s(x) | sigma(x)", "y ~ s(x, k=6)")
PROGRAM = (
    "import sys; from bayesvb.interactive.server import workbench; "
    "workbench(sys.argv[1], browser=False)"
)

COMPILED = {k: v for k, v in os.environ.items() if k != "PYTHONDONTWRITEBYTECODE"}
"""Environment of a user, whose Python keeps compiled files."""


def simulated(rows):
    rng = np.random.default_rng(1)
    x = rng.uniform(0.0, 10.0, rows)
    return pd.DataFrame({"y": np.sin(x) + rng.normal(size=rows) * (0.2 + 0.05 * x), "x": x})


def motorcycle():
    return bvb.datasets.load("mcycle").rename(columns={"accel": "y", "times": "x"})[["y", "x"]]


def children(pid):
    """Numbers of the processes that descend from one, each after its parent."""
    made = Path(f"/proc/{pid}/task/{pid}/children").read_text().split()
    return [number for child in map(int, made) for number in (child, *children(child))]


def cpu(pid):
    """CPU time of a process, s."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return sum(map(int, fields[11:13])) / os.sysconf("SC_CLK_TCK")


def memory(pid):
    """Proportional set size of a process and all that descend from it, MB."""
    texts = [Path(f"/proc/{n}/smaps_rollup").read_text() for n in (pid, *children(pid))]
    return sum(int(re.search(r"^Pss: +(\d+)", text, re.M)[1]) for text in texts) / 1024.0


def timed(page, server, formula):
    """Milliseconds from the last key to the message and to the picture; CPU times, s."""
    page.locator("#formula").focus()
    page.keyboard.press("Control+a")
    page.keyboard.type(formula, delay=35)
    began, of_server = time.perf_counter(), cpu(server)
    times = []
    for name in ("message", "shown"):
        page.locator(f'#{name}[data-formula="{formula}"]').wait_for(timeout=60_000)
        times.append(1000.0 * (time.perf_counter() - began))
    of_fit, of_server = (
        float(page.locator("#shown").get_attribute("data-cpu")),
        cpu(server) - of_server,
    )
    page.locator(f'#judged[data-formula="{formula}"]').wait_for(timeout=60_000)
    return *times, of_fit, cpu(max(children(server))), of_server


def measure(frame, edits, page):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "rows.csv"
        frame.to_csv(path, index=False)
        environment = {**COMPILED, "XDG_STATE_HOME": folder}
        command, began = [sys.executable, "-c", PROGRAM, str(path)], time.perf_counter()
        server = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment)
        try:
            page.goto(re.search(r"http\S+", server.stdout.readline())[0])
            page.locator("#formula").wait_for(timeout=120_000)
            start = time.perf_counter() - began
            page.locator("#judged").wait_for(timeout=120_000)
            typed = [FORMULAS[i % len(FORMULAS)] for i in range(edits)]
            times = [timed(page, server.pid, formula) for formula in typed]
            page.locator(f'#judged[data-formula="{typed[-1]}"]').wait_for(timeout=120_000)
            time.sleep(2.0)
            idle = memory(server.pid)
        finally:
            server.terminate()
            server.wait()
    return start, idle, zip(*times, strict=True)


@contextmanager
def opened():
    """A page of a browser that runs."""
    with sync_playwright() as driver:
        chromium = shutil.which("chromium")
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        page = browser.new_page()
        page.goto("about:blank")
        yield page
        browser.close()


def main(edits):
    subprocess.run([sys.executable, "-c", "import bayesvb.interactive.page"], env=COMPILED)
    rows = []
    for frame in (motorcycle(), *map(simulated, (1_000, 10_000, 100_000))):
        with opened() as page:
            start, idle, times = measure(frame, edits, page)
        message, picture, of_fit, of_checks, of_server = times
        row = {"rows": len(frame), "edits": edits, "page, s": round(start, 1)}
        for name, values in (("message", message), ("picture", picture)):
            row[f"{name} p50, ms"] = round(statistics.median(values))
            row[f"{name} p95, ms"] = round(float(np.quantile(values, 0.95)))
        row["CPU of fit and picture, s"] = round(statistics.median(of_fit), 2)
        row["CPU with checks, s"] = round(statistics.median(of_checks), 2)
        row["CPU of server, s"] = round(statistics.median(of_server), 2)
        row["idle, MB"] = round(idle)
        rows.append(row)
        print(row, flush=True)
    pd.DataFrame(rows).to_csv(OUTPUT, index=False)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 20)
