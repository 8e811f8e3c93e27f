"""What every benchmark prints and keeps: a table, a CSV, a yardstick of the machine's speed."""

import os
import platform
import time
from pathlib import Path

import numpy as np
import pandas as pd

RESULTS = Path(__file__).resolve().parents[2] / "docs" / "benchmarks"


def data_folder() -> Path | None:
    """Folder with data sets that cannot be shipped: the environment variable BAYESVB_DATA."""
    given = os.environ.get("BAYESVB_DATA")
    return Path(given) if given else None


def yardstick() -> float:
    """Milliseconds of a fixed numpy workload: times of two machines compare as multiples of it."""
    rng = np.random.default_rng(0)
    left, right = rng.random((600, 600)), rng.random((600, 600))
    times = []
    for _ in range(7):
        began = time.perf_counter()
        np.exp(left @ right / 600.0).sum()
        times.append(time.perf_counter() - began)
    return 1e3 * float(np.median(times))


def keep(table: pd.DataFrame, name: str, *, by: str | None = None) -> None:
    """Print a table and write it to docs/benchmarks/NAME.csv.

    With ``by`` the rows that are there and have another value in that column stay.
    """
    path = RESULTS / f"{name}.csv"
    RESULTS.mkdir(exist_ok=True, parents=True)
    print(table.to_string(index=False))
    print(f"numpy yardstick {yardstick():.2f} ms, {platform.machine()}, numpy {np.__version__}\n")
    if by is not None and path.exists():
        before = pd.read_csv(path, keep_default_na=False)  # a value may be "null"
        table = pd.concat([before[~before[by].isin(table[by])], table])
    table.to_csv(path, index=False, float_format="%.5g")
