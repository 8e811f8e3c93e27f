"""A whole fit of rows in Parquet files beside the optimum of the same rows in memory.

From files with the tolerance that docs/large-data.md names, a ten-thousandth of a nat per row; in
memory with a millionth. Told are the nats per row below that optimum after so many passes of the
ascent over all rows, refused steps counted, and the peak memory of the process that read files.
Two passes come before: one for scales, one from the posterior of the sample to statistics of all.
``BAYESVB_FAR_ROWS`` are the sizes, ``BAYESVB_FAR_LAWS`` numbers of laws from 0.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from bench_far import CLOSE, COMPONENTS, FORMULA, PIECE, peak
from bench_warm_start import LAWS, chosen
from tables import RESULTS, keep

import bayesvb as bvb

SIZES = [int(n) for n in os.environ.get("BAYESVB_FAR_ROWS", "1000000").split(",")]
SHOWN = (1, 2, 3, 4, 5)
FROM_FILES, TO_THE_END = 1e-4, 1e-6
"""Nats per row that further sweeps would gain where ascents stop."""


def written(folder: Path, law: str, n_rows: int) -> None:
    """The table, a file for each piece."""
    for number in range(-(-n_rows // PIECE)):
        size = min(PIECE, n_rows - number * PIECE)
        path = folder / f"part-{number:04}.parquet"
        LAWS[law](number, size).to_parquet(path, row_group_size=1 << 17)


def fitted(data: object, n_rows: int, tol: float) -> dict[str, object]:
    """Bounds per row of the passes over all rows, which a refused step repeats, and the costs."""
    before, began, busy = peak(), time.perf_counter(), time.process_time()
    model = bvb.DensityRegression(FORMULA, data, n_components=COMPONENTS)
    told: dict[int, float] = {}

    def progress(run: int, n_iter: int, bound: float) -> None:
        if run == 4:
            told[n_iter] = bound / n_rows

    fit = model.fit(seed=1, tol=tol * n_rows, restarts=4, n_jobs=2, progress=progress)
    told[1] = fit.traces["final"][0] / n_rows
    units = fit.traces["final"][-1] / n_rows - told[max(told)]
    bounds = [told[max(n for n in told if n <= passes)] for passes in range(1, fit.n_iter + 1)]
    own = [bounds[0], *(bound + units for bound in bounds[1:])]
    return {
        "bounds": own,
        "passes": fit.n_iter,
        "imported MiB": before,
        "peak MiB": peak(),
        "fit s": time.perf_counter() - began,
        "fit processor s": time.process_time() - busy,
    }


def in_own_process(kind: str, folder: Path, n_rows: int) -> dict[str, object]:
    """What a fit of one kind has found."""
    words = [sys.executable, "-W", "ignore", __file__, kind, str(folder), str(n_rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def compared(law: str, n_rows: int) -> dict[str, object]:
    """Fits of both kinds to the same rows."""
    with tempfile.TemporaryDirectory() as name:
        written(Path(name), law, n_rows)
        files = in_own_process("files", Path(name), n_rows)
        memory = in_own_process("memory", Path(name), n_rows)
    end = max(memory["bounds"])
    below = end - np.array(files.pop("bounds"))
    after = {f"below after {n}": below[min(n, len(below)) - 1] for n in SHOWN}
    there = int(np.argmax(below <= CLOSE)) + 1 if below.min() <= CLOSE else np.nan
    ends = {"below at the end": below[-1], "passes until within .001": there}
    whole = {"passes in memory": memory["passes"], "s in memory": memory["fit s"]}
    return {"rows": n_rows, "law": law, **files, **after, **ends, **whole}


def main() -> None:
    """All sizes and laws."""
    path = RESULTS / "far_fit.csv"
    for n_rows in SIZES:
        for law in chosen("BAYESVB_FAR_LAWS", LAWS):
            table = pd.DataFrame([compared(law, n_rows)])
            if path.exists():
                before = pd.read_csv(path)
                table = pd.concat([before, table]).drop_duplicates(["rows", "law"], keep="last")
            keep(table.sort_values(["rows", "law"]), "far_fit")


if __name__ == "__main__":
    if len(sys.argv) > 1:
        kind, folder, rows = sys.argv[1:]
        data = folder if kind == "files" else pd.read_parquet(folder)
        tol = FROM_FILES if kind == "files" else TO_THE_END
        print(json.dumps(fitted(data, int(rows), tol)))
    else:
        main()
