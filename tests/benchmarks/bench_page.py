"""CPU seconds of the page of the README's example, by edition, beside another version.

    python tests/benchmarks/bench_page.py --before ../before/.venv/bin/python

``short``, ``complete``: a page of that edition, the first of a process that has fitted and
printed the table of predictions. ``again``: another page of the fit. ``short, classes``: the short
edition of a network for the iris data. Median of ``--repeats`` processes, in turn with each
interpreter; ``ratio`` is the median of the ratios of pairs. Results: docs/benchmarks/page.csv.
"""

import argparse
import json
import subprocess
import sys
import tempfile

import pandas as pd
from bench_waits import cpu

STEPS = ("short", "complete", "short, classes")


def worker(step: str) -> dict[str, float]:
    """Seconds of the first page, and of another one."""
    import bayesvb as bvb

    if step == "short, classes":
        iris = bvb.datasets.load("iris")
        fit = bvb.ConditionalMixtureNetwork("label ~ .", iris, n_experts=2).fit(seed=1)
    else:
        geyser = bvb.datasets.load("geyser").query("duration not in [2, 3, 4]")
        fit = bvb.DensityRegression("duration ~ waiting", geyser, n_components=3).fit(seed=1)
        bvb.effects.predictions(fit, {"waiting": [50, 65]}, target="probability", above=3)
    edition = "short" if step.startswith("short") else None
    waits = {}
    with tempfile.TemporaryDirectory() as folder:
        for name in (step, f"{step}, again"):
            began = cpu()
            fit.report(f"{folder}/page.html", edition=edition)
            waits[name] = cpu() - began
    return waits


def measured(python: str) -> dict[str, float]:
    """Seconds of each page, in new processes of an interpreter."""
    waits: dict[str, float] = {}
    for step in STEPS:
        command = [python, "-W", "ignore", __file__, "--worker", step]
        waits |= json.loads(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)
    return waits


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--before", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worker")
    given = parser.parse_args()
    if given.worker is not None:
        print(json.dumps(worker(given.worker)))
        return
    from tables import keep

    pythons = (given.before, sys.executable)
    pairs = [[measured(python) for python in pythons] for _ in range(given.repeats)]
    before, after = (pd.DataFrame(each) for each in zip(*pairs, strict=True))
    columns = {
        "before": before.median(),
        "after": after.median(),
        "ratio": (after / before).median(),
    }
    keep(pd.DataFrame(columns).round(3).rename_axis("page").reset_index(), "page")


if __name__ == "__main__":
    main()
