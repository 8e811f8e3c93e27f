"""Files that one action of a small density regression passes through.

Run with ``python tests/benchmarks/bench_walks.py``. *Files* are those in which a function is
called, *calls* the different pairs of files of which the first calls the second, *climbs* those
into a folder above the caller's by the imports that docstrings of folders allow, and *returns*
those into a file that was entered before.
"""

import re
import sys
import warnings
from collections.abc import Callable
from functools import cache
from pathlib import Path
from tempfile import TemporaryDirectory
from types import CodeType, FrameType

import numpy as np
import pandas as pd

import bayesvb as bvb

ROOT = Path(bvb.__file__).parent

FORMULA = "y ~ x | gating(x)"


def height(folder: str) -> int:
    """Number of layers below a folder."""
    place = ROOT / folder / "__init__.py"
    text = " ".join(place.read_text().split()) if place.exists() else ""
    allowed = re.search(r"May import: ([a-z_, ]+)\.", text)
    below = allowed[1].split(", ") if allowed else []
    return 1 + max(map(height, below), default=0)


@cache
def place_of(code: CodeType) -> Path | None:
    """File of the package in which a function is, None for others."""
    name = Path(code.co_filename)
    parts = name.parts
    if "reports" in parts and "tests" not in parts:
        return Path(*parts[parts.index("reports") :])
    return name.relative_to(ROOT) if name.is_relative_to(ROOT) else None


def walk(action: Callable[[], object]) -> tuple[int, int, int, int]:
    """Return the numbers of files, calls, climbs and returns of an action."""
    entered: set[Path] = set()
    calls: set[tuple[Path | None, Path]] = set()
    returns = 0

    def follow(frame: FrameType, event: str, argument: object) -> None:
        nonlocal returns
        here = place_of(frame.f_code) if event == "call" else None
        if here is None or frame.f_back is None:
            return
        call = place_of(frame.f_back.f_code), here
        if call[0] == here or call in calls:
            return
        calls.add(call)
        returns += here in entered
        entered.add(here)

    sys.setprofile(follow)
    try:
        action()
    finally:
        sys.setprofile(None)
    climbs = sum(
        height(here.parts[0]) > height(caller.parts[0])
        for caller, here in calls
        if caller is not None and "reports" not in (caller.parts[0], here.parts[0])
    )
    return len(entered), len(calls), climbs, returns


def main() -> None:
    """Print a row for each action."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = np.where(rng.random(60) < 0.5, x, -x) + 0.1 * rng.normal(size=60)
    data = pd.DataFrame({"x": x, "y": y})
    options = {"restarts": 2, "seed": 0, "max_iter": 20}
    model = bvb.DensityRegression(FORMULA, data, n_components=2)
    fit = model.fit(**options)
    print("| walk | files | calls | climbs | returns |\n|---|--:|--:|--:|--:|")
    with TemporaryDirectory() as folder:
        actions = {
            "data to model": lambda: bvb.DensityRegression(FORMULA, data, n_components=2),
            "model to fit": lambda: model.fit(**options),
            "fit to leave-one-out": model.fit(**options).loo,
            "fit to page": lambda: fit.report(Path(folder) / "page.html"),
        }
        for name, action in actions.items():
            print(f"| {name} |", " | ".join(map(str, walk(action))), "|")


if __name__ == "__main__":
    main()
