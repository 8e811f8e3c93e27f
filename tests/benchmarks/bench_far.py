"""Rows in Parquet files: seconds and memory of passes and fits, beside rows in memory.

Every line is measured in a process of its own, so that its peak memory is its own. Files are
written to a temporary folder, and taken away. ``BAYESVB_FAR_ROWS`` are the sizes, and
``BAYESVB_FAR_WAYS`` the ways; lines of other sizes and ways stay. Fits go on to a millionth of a
nat per row, those to more than ``MOST`` rows for at most ``PASSES`` passes; with more than
``FARTHEST`` rows one sweep is measured, from the fit of the sample. A pass in memory takes turns
with an iteration of scikit-learn, so that both see the same load; ``"in turns with dask-ml"`` and
``"in turns with Spark"`` are measured if they are asked for, and need dask-ml, and pyspark.
"""

import json
import os
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from tables import RESULTS, keep, yardstick

SIZES = [int(n) for n in os.environ.get("BAYESVB_FAR_ROWS", "1000000,10000000").split(",")]
FORMULA = "y ~ x1 + x2 | gating(x1)"
COMPONENTS = 5
PIECE = 1_000_000
TIMED, TURNS = 2, 7
MOST, PASSES, FARTHEST = 2_000_000, 12, 20_000_000
CLOSE = 1e-3
"""Nats per row below the optimum that count as there."""


def rows(number: int, size: int) -> pd.DataFrame:
    """A piece of the table: three lines whose weights depend on a covariate."""
    rng = np.random.default_rng(number)
    x1, x2, noise = rng.normal(size=(3, size))
    logits = np.stack([np.zeros(size), 1.5 * x1, -1.0 - x1]) + rng.gumbel(size=(3, size))
    which = logits.argmax(axis=0)
    line = np.choose(which, [1.0 + x1, -2.0 - x2, 4.0 + 0.5 * x1])
    return pd.DataFrame({"y": line + noise * np.choose(which, [0.3, 0.7, 1.2]), "x1": x1, "x2": x2})


def write(folder: Path, n_rows: int) -> None:
    """The table, a file for each piece."""
    for number in range(-(-n_rows // PIECE)):
        size = min(PIECE, n_rows - number * PIECE)
        path = folder / f"part-{number:04}.parquet"
        rows(number, size).to_parquet(path, row_group_size=1 << 17)


def peak() -> float:
    """Largest resident memory of this process so far, MiB; that of its parent does not count."""
    lines = Path("/proc/self/status").read_text(encoding="ascii").splitlines()
    return float(next(line for line in lines if line.startswith("VmHWM")).split()[1]) / 1024.0


def timed(call) -> float:
    """Seconds of one call, the median of few."""
    seconds = []
    for _ in range(TIMED):
        began = time.perf_counter()
        call()
        seconds.append(time.perf_counter() - began)
    return float(np.median(seconds))


def fitted(data: object, n_rows: int) -> dict[str, float]:
    """Learning, a pass, and a whole fit."""
    import bayesvb as bvb
    from bayesvb.engines.restarts import enlarged

    before, began = peak(), time.perf_counter()
    model = bvb.DensityRegression(FORMULA, data, n_components=COMPONENTS)
    learned, began = time.perf_counter() - began, time.perf_counter()
    passes = 2000 if n_rows <= MOST else PASSES
    fit = model.fit(seed=1, tol=1e-6 * n_rows, restarts=4, max_iter=passes, n_jobs=2)
    whole = time.perf_counter() - began
    trace = fit.traces["final"] / n_rows
    source = model.all_rows or model.source
    there = int(np.argmax(trace >= trace[-1] - CLOSE))
    one = timed(partial(enlarged, fit.core, source, fit.stats))
    return {
        "imported MiB": before,
        "peak MiB": peak(),
        "learning s": learned,
        "pass s": one,
        "fit s": whole,
        "passes of the fit": fit.n_iter,
        "nats per row gained": trace[-1] - trace[0],
        "passes until close": there + 2,
        "elbo per row": trace[-1],
    }


def swept(data: object, n_rows: int) -> dict[str, float]:
    """Learning, the fit of the sample, and one sweep over all rows."""
    import bayesvb as bvb
    from bayesvb.engines.restarts import enlarged

    before, began = peak(), time.perf_counter()
    model = bvb.DensityRegression(FORMULA, data, n_components=COMPONENTS)
    learned = time.perf_counter() - began
    few = {"seed": 1, "restarts": 4, "draws": 25, "covariance": "mean-field"}
    fit = model.over(model.source).fit(tol=1e-6 * n_rows, n_jobs=2, **few)
    source, began = model.all_rows.with_workers(2), time.perf_counter()
    enlarged(fit.core, source, fit.stats)
    one = time.perf_counter() - began
    return {"imported MiB": before, "peak MiB": peak(), "learning s": learned, "pass s": one}


def streamed(folder: str, n_rows: int) -> dict[str, float]:
    """From files."""
    return swept(folder, n_rows) if n_rows > FARTHEST else fitted(folder, n_rows)


def in_turns(folder: str, n_rows: int) -> dict[str, float]:
    """Passes of rows in memory and iterations of scikit-learn in turns, each in one thread."""
    from sklearn.mixture import GaussianMixture

    import bayesvb as bvb
    from bayesvb.engines.restarts import enlarged
    from bayesvb.numerics.runtime import single_threaded_blas

    frame = pd.read_parquet(folder)
    model = bvb.DensityRegression(FORMULA, frame, n_components=COMPONENTS)
    some = model.over(model.source.standing_for_all(10_000, np.random.default_rng(1)))
    fit = some.fit(seed=1, restarts=1, draws=25, covariance="mean-field", tol=1e-6 * n_rows)
    x, source = frame.to_numpy(), model.source.with_workers(1)
    other = GaussianMixture(COMPONENTS, max_iter=1, random_state=0).fit(x[:10_000])
    own, theirs = [], []
    for _ in range(TURNS):
        began = time.perf_counter()
        with single_threaded_blas():
            enlarged(fit.core, source, fit.stats)
        between = time.perf_counter()
        with single_threaded_blas():
            _, log_share = other._e_step(x)
            other._m_step(x, log_share)
        own.append(between - began)
        theirs.append(time.perf_counter() - between)
    ratio = float(np.median(np.array(own) / np.array(theirs)))
    return {"pass s": float(np.median(own)), "times scikit-learn": ratio, "peak MiB": peak()}


def in_turns_with_dask_ml(folder: str, n_rows: int) -> dict[str, float]:
    """Passes and iterations of k-means of dask-ml in turns, in this process and one thread each.

    K-means compares a row with as many centres, and computes no density.
    """
    import dask
    import dask.array
    from dask_ml.cluster import KMeans

    import bayesvb as bvb
    from bayesvb.engines.restarts import enlarged
    from bayesvb.numerics.runtime import single_threaded_blas

    frame = pd.read_parquet(folder)
    model = bvb.DensityRegression(FORMULA, frame, n_components=COMPONENTS)
    some = model.over(model.source.standing_for_all(10_000, np.random.default_rng(1)))
    fit = some.fit(seed=1, restarts=1, draws=25, covariance="mean-field", tol=1e-6 * n_rows)
    x, source = frame.to_numpy(), model.source.with_workers(1)
    lazy = dask.array.from_array(x, chunks=(1 << 17, x.shape[1]))

    def seconds(n_iter: int) -> float:
        began = time.perf_counter()
        KMeans(COMPONENTS, init=x[:COMPONENTS], max_iter=n_iter, tol=0.0).fit(lazy)
        return time.perf_counter() - began

    own, theirs = [], []
    with dask.config.set(scheduler="synchronous"), single_threaded_blas():
        for _ in range(TURNS):
            began = time.perf_counter()
            enlarged(fit.core, source, fit.stats)
            own.append(time.perf_counter() - began)
            theirs.append(0.25 * (seconds(6) - seconds(2)))
    ratio = float(np.median(own) / np.median(theirs))
    return {"pass s": float(np.median(own)), "times dask-ml k-means": ratio, "peak MiB": peak()}


def in_turns_with_spark(folder: str, n_rows: int) -> dict[str, float]:
    """Passes of rows in memory and iterations of Spark's GaussianMixture in turns, one thread each.

    Spark has the rows in its memory, and as many full Gaussians of the three columns as there are
    components; an iteration is a difference of fits of six and of two. Needs pyspark and Java.
    """
    from pyspark.ml.clustering import GaussianMixture
    from pyspark.ml.feature import VectorAssembler
    from pyspark.sql import SparkSession

    import bayesvb as bvb
    from bayesvb.engines.restarts import enlarged
    from bayesvb.numerics.runtime import single_threaded_blas

    model = bvb.DensityRegression(FORMULA, pd.read_parquet(folder), n_components=COMPONENTS)
    some = model.over(model.source.standing_for_all(10_000, np.random.default_rng(1)))
    fit = some.fit(seed=1, restarts=1, draws=25, covariance="mean-field", tol=1e-6 * n_rows)
    source = model.source.with_workers(1)
    session = SparkSession.builder.master("local[1]").config("spark.driver.memory", "4g")
    spark = session.config("spark.ui.enabled", "false").getOrCreate()
    columns = VectorAssembler(inputCols=["y", "x1", "x2"], outputCol="features")
    lazy = columns.transform(spark.read.parquet(folder)).select("features").cache()
    lazy.count()

    def seconds(n_iter: int) -> float:
        mixture = GaussianMixture(k=COMPONENTS, maxIter=n_iter, tol=0.0, seed=0)
        began = time.perf_counter()
        mixture.fit(lazy)
        return time.perf_counter() - began

    seconds(2)  # the first one compiles
    own, theirs = [], []
    for _ in range(TURNS):
        began = time.perf_counter()
        with single_threaded_blas():
            enlarged(fit.core, source, fit.stats)
        own.append(time.perf_counter() - began)
        theirs.append(0.25 * (seconds(6) - seconds(2)))
    spark.stop()
    ratio = float(np.median(own) / np.median(theirs))
    return {"pass s": float(np.median(own)), "times Spark": ratio, "peak MiB": peak()}


def in_memory(folder: str, n_rows: int) -> dict[str, float]:
    """The same rows in memory."""
    return fitted(pd.read_parquet(folder), n_rows)


def scikit_learn(folder: str, n_rows: int) -> dict[str, float]:
    """Iterations of a Gaussian mixture of as many components, of the three columns in memory."""
    from sklearn.mixture import GaussianMixture

    x = pd.read_parquet(folder).to_numpy()

    def seconds(n_iter: int) -> float:
        mixture = GaussianMixture(
            COMPONENTS, init_params="random_from_data", max_iter=n_iter, tol=0.0, random_state=0
        )
        began = time.perf_counter()
        mixture.fit(x)
        return time.perf_counter() - began

    return {"pass s": 0.5 * (seconds(3) - seconds(1)), "peak MiB": peak()}


WAYS = {
    "Parquet": streamed,
    "in memory": in_memory,
    "scikit-learn": scikit_learn,
    "in turns with scikit-learn": in_turns,
    "in turns with dask-ml": in_turns_with_dask_ml,
    "in turns with Spark": in_turns_with_spark,
}
USUAL = ",".join(way for way in WAYS if "dask" not in way and "Spark" not in way)
ASKED = os.environ.get("BAYESVB_FAR_WAYS", USUAL).split(",")
OF_FILES = {"Parquet"}


def in_own_process(way: str, folder: Path, n_rows: int) -> dict[str, float]:
    """What one way takes."""
    words = [sys.executable, "-W", "ignore", __file__, way, str(folder), str(n_rows)]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def kept(found: list[dict[str, float]]) -> None:
    """Write these lines in place of those of the same sizes and ways."""
    table, path = pd.DataFrame(found), RESULTS / "far.csv"
    if path.exists():
        before = pd.read_csv(path)
        new = set(zip(table["rows"], table["way"], strict=True))
        same = [one in new for one in zip(before["rows"], before["way"], strict=True)]
        table = pd.concat([before[~np.array(same)], table]).sort_values("rows", kind="stable")
    keep(table, "far")


def main() -> None:
    """All sizes and ways."""
    found = []
    for n_rows in SIZES:
        with tempfile.TemporaryDirectory() as name:
            write(Path(name), n_rows)
            for way in [one for one in ASKED if n_rows <= MOST or one in OF_FILES]:
                unit = yardstick()
                one = in_own_process(way, Path(name), n_rows)
                per_row = 1e9 * one["pass s"] / n_rows
                units = 1e3 * one["pass s"] / unit
                shown = {"rows": n_rows, "way": way, "ns per row": per_row, "yardsticks": units}
                found.append({**shown, **one})
                kept(found)


if __name__ == "__main__":
    if len(sys.argv) > 1:
        way, folder, n_rows = sys.argv[1:]
        print(json.dumps(WAYS[way](folder, int(n_rows))))
    else:
        main()
