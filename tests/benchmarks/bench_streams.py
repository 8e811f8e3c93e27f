"""Fits that are updated block by block, compared with the fit to all rows of the stream.

    python tests/benchmarks/bench_streams.py [NAME ...]
    python tests/benchmarks/bench_streams.py seeds SEED[:DRAWN] ...
    python tests/benchmarks/bench_streams.py fits NAME SEED ...

``update`` is the mean log density of 10,000 new rows after 100,000 rows in blocks of 2,000,
``first`` that of the fit to the first block, ``all rows`` that of a fit to all of them; nats per
row. ``falls short by`` is the difference of the last two; the aim is 0.01. New starts are made at
blocks that are predicted worse than the one before, and at the first update of a mixture. Rules
were chosen on the sets marked so. Of a process that drifts new rows are the latest 2,000, and
earlier rows count half at each update. Results: docs/benchmarks/streams.csv, and the curves of
``update`` over the stream in streams_curves.csv. ``seeds`` repeats the pinwheel with the
first 20,000 of ``DRAWN`` rows, in blocks of 2,000: streams_seeds.csv. ``fits`` repeats the fit to
all rows of a stream with other seeds: streams_fits.csv.
"""

import sys
import time
import warnings
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from bench_convergence import impact, line, sine, two_experts
from tables import keep

import bayesvb as bvb

ROWS, BLOCK, NEW, CURVE = 100_000, 2_000, 10_000, 10_000
ROWS_SEED = 100
FAR = 4.0
"""Standard errors by which a block is predicted worse than the one before it, for new starts."""


@dataclass(frozen=True)
class Stream:
    """Rows in their order, a model, whether rules were chosen on it, forgetting, number of rows."""

    rows: Callable[[int, np.random.Generator], pd.DataFrame]
    model: Callable[[pd.DataFrame], Any]
    chosen_on: bool = False
    forgetting: float = 1.0
    n: int = ROWS


def regression(formula: str, n_components: int) -> Callable[[pd.DataFrame], Any]:
    """Model of a formula."""
    return lambda data: bvb.DensityRegression(formula, data, n_components=n_components)


def clusters(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Five overlapping clusters in four dimensions."""
    centres = 2.0 * np.random.default_rng(9).normal(size=(5, 4))
    rows = centres[rng.choice(5, n, p=[0.35, 0.25, 0.2, 0.15, 0.05])]
    return pd.DataFrame(rows + rng.normal(size=(n, 4)), columns=list("abcd"))


def lines(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Three lines, one of them of a twentieth of the rows."""
    x, noise = rng.normal(size=(2, n))
    which = rng.choice(3, n, p=[0.6, 0.35, 0.05])
    y = np.choose(which, [1.0 + x, -1.0 - x, 5.0 + 0.0 * x]) + 0.5 * noise
    return pd.DataFrame({"x": x, "y": y})


def late(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two lines; a third one from row 10,000 on."""
    x, noise = rng.normal(size=(2, n))
    share = np.where(np.arange(n) < 10_000, 0.0, 0.2)
    which = np.where(rng.random(n) < share, 2, rng.choice(2, n))
    y = np.choose(which, [1.0 + x, -1.0 - x, 4.0 + 2.0 * x]) + 0.5 * noise
    return pd.DataFrame({"x": x, "y": y})


def drift(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two lines that move by four standard deviations of x."""
    x, noise = rng.normal(size=(2, n))
    y = np.where(rng.random(n) < 0.5, 1.0 + x, -1.0 - x) + 4.0 * np.arange(n) / n + 0.5 * noise
    return pd.DataFrame({"x": x, "y": y})


def classes(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Three classes whose borders are bent."""
    x, z = rng.normal(size=(2, n))
    scores = np.stack([2.0 * np.sin(2.0 * x), z * x, 1.0 - z**2]) + rng.gumbel(size=(3, n))
    return pd.DataFrame({"x": x, "z": z, "k": np.array(list("abc"))[scores.argmax(axis=0)]})


def rings(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Three classes by the distance from the origin."""
    x, z = rng.normal(size=(2, n))
    distance = np.hypot(x, z) + 0.2 * rng.normal(size=n)
    label = np.array(list("abc"))[np.digitize(distance, [0.8, 1.5])]
    return pd.DataFrame({"x": x, "z": z, "k": label})


def board(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Two classes in turn along both covariates."""
    x, z = rng.uniform(-2.0, 2.0, size=(2, n))
    score = 3.0 * np.sin(2.0 * x) * np.sin(2.0 * z)
    return pd.DataFrame({"x": x, "z": z, "k": np.where(rng.logistic(size=n) < score, "a", "b")})


def waves(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Numbers with a bent mean and two sizes of the noise."""
    x, z = rng.normal(size=(2, n))
    mean, scale = 2.0 * np.sin(2.0 * x) + x * z, 0.3 + 0.3 * (z > 0)
    return pd.DataFrame({"x": x, "z": z, "k": mean + scale * rng.normal(size=n)})


def wheel(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Five classes, the arms of a pinwheel."""
    names = {"x1": "x", "x2": "z", "label": "k"}
    return bvb.datasets.SIMULATIONS["pinwheel"].sample(n, rng).rename(columns=names)


def network(n_experts: int) -> Callable[[pd.DataFrame], Any]:
    """Network of two covariates."""
    return lambda data: bvb.ConditionalMixtureNetwork("k ~ x + z", data, n_experts=n_experts)


def factors(n: int, rng: np.random.Generator) -> pd.DataFrame:
    """Three factors of eight variables, a tenth of the values missing."""
    loadings = np.random.default_rng(9).normal(size=(3, 8))
    rows = rng.normal(size=(n, 3)) @ loadings + 0.5 * rng.normal(size=(n, 8))
    return pd.DataFrame(np.where(rng.random((n, 8)) < 0.1, np.nan, rows), columns=list("abcdefgh"))


STREAMS = {
    "two experts": Stream(lambda n, rng: two_experts(n, rng)[0], regression("y ~ x", 2), True),
    "sine": Stream(lambda n, rng: sine(n, rng)[0], regression("y ~ x", 3), True),
    "late line": Stream(late, regression("y ~ x", 3), True),
    "drift": Stream(drift, regression("y ~ x", 2), forgetting=0.5),
    "superfluous": Stream(lambda n, rng: line(n, rng)[0], regression("y ~ x", 3)),
    "impact": Stream(
        lambda n, rng: impact(n, rng)[0],
        regression("y ~ bs(t, df=4, extrapolation='clip') | gating(t)", 3),
    ),
    "three lines": Stream(lines, regression("y ~ x", 3)),
    "clusters": Stream(clusters, lambda data: bvb.GaussianMixture("~ .", data, n_components=5)),
    "classes": Stream(classes, network(4), True),
    "rings": Stream(rings, network(6), True),
    "board": Stream(board, network(6)),
    "waves": Stream(waves, network(6)),
    "pinwheel": Stream(wheel, network(10)),
    "factors": Stream(factors, lambda data: bvb.BayesianPCA("~ .", data, n_components=4)),
}


def rows_of(stream: Stream, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Rows of a stream, and new rows."""
    data = stream.rows(stream.n, np.random.default_rng(seed))
    order = np.random.default_rng(seed + 1).permutation(stream.n)[:NEW]
    latest = np.arange(stream.n - BLOCK, stream.n)
    new = stream.rows(stream.n, np.random.default_rng(seed + 2))
    return data, new.iloc[order if stream.forgetting == 1.0 else latest]


def fits_by_seed(name: str, seeds: Iterable[int]) -> pd.DataFrame:
    """Log density of new rows by fits to all rows of a stream."""
    data, new = rows_of(STREAMS[name], ROWS_SEED)
    given = {"n_jobs": 1, "combine": "best", "covariance": "mean-field"}
    records = []
    for seed in seeds:
        fit = STREAMS[name].model(data).fit(seed=seed, **given)
        records.append({"stream": name, "seed": seed, "all rows": fit.log_density(new).mean()})
    return pd.DataFrame(records)


def measured(name: str, stream: Stream) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Summary and curve of a stream to its end, and the fit to all of its rows."""
    data, new = rows_of(stream, ROWS_SEED)
    given = {"seed": 1, "n_jobs": 1, "combine": "best"}
    began = time.process_time()
    fit = stream.model(data[:BLOCK]).fit(**given)
    begun, spent = time.process_time(), 0.0
    usual, new_starts = fit.log_density(data[:BLOCK]), []
    curve = {BLOCK: fit.log_density(new).mean()}
    for i in range(BLOCK, stream.n, BLOCK):
        block_began = time.process_time()
        block = data[i : i + BLOCK]
        found = fit.log_density(block)
        error = np.hypot(usual.std(), found.std()) / BLOCK**0.5
        is_worse = usual.mean() - found.mean() > FAR * error
        fit = fit.update(block, new_starts=4 if is_worse else None, forgetting=stream.forgetting)
        new_starts += [i] * int(is_worse)
        usual = fit.log_density(block)
        spent += time.process_time() - block_began
        if (i + BLOCK) % CURVE == 0:
            curve[i + BLOCK] = fit.log_density(new).mean()
    ended = time.process_time()
    batch = stream.model(data).fit(**given, covariance="mean-field")
    whole, (first, *_, last) = batch.log_density(new).mean(), curve.values()
    summary = {
        "stream": name, "chosen on": stream.chosen_on, "first": first, "update": last,
        "all rows": whole, "falls short by": whole - last,
        "rows": fit.model.source.n_rows, "new starts at": " ".join(map(str, new_starts)),
        "covariance": fit.covariance, "cpu_s first": begun - began,
        "cpu_s update": spent / (stream.n // BLOCK - 1),
        "cpu_s all rows": time.process_time() - ended,
    }  # fmt: skip
    points = {"stream": name, "rows": list(curve), "update": list(curve.values())}
    return pd.DataFrame([summary]), pd.DataFrame(points).assign(all_rows=whole)


def wheel_by_seed(seed: int, drawn: int, n: int = 20_000) -> pd.DataFrame:
    """Log density of new rows along the first rows of a pinwheel, and of the fit to these rows."""
    data, new = (
        wheel(drawn, np.random.default_rng(seed)),
        wheel(NEW, np.random.default_rng(seed + 2)),
    )
    given = {"seed": 1, "n_jobs": 1, "combine": "best", "covariance": "mean-field"}
    fit = network(10)(data[:BLOCK]).fit(**given)
    curve = {str(BLOCK): fit.log_density(new).mean()}
    for i in range(BLOCK, n, BLOCK):
        fit = fit.update(data[i : i + BLOCK])
        curve[str(i + BLOCK)] = fit.log_density(new).mean()
    whole = network(10)(data[:n]).fit(**given).log_density(new).mean()
    numbers = {"all rows": whole, "falls short by": whole - curve[str(n)]}
    return pd.DataFrame([{"seed": seed, "drawn": drawn, **curve, **numbers}])


def main() -> None:
    warnings.simplefilter("ignore")
    if sys.argv[1:2] == ["seeds"]:
        for argument in sys.argv[2:]:
            seed, _, drawn = argument.partition(":")
            keep(wheel_by_seed(int(seed), int(drawn or 20_000)), "streams_seeds", by="seed")
        return
    if sys.argv[1:2] == ["fits"]:
        keep(fits_by_seed(sys.argv[2], map(int, sys.argv[3:])), "streams_fits", by="stream")
        return
    for name in sys.argv[1:] or STREAMS:
        print(name, flush=True)
        summary, curve = measured(name, STREAMS[name])
        keep(summary, "streams", by="stream")
        keep(curve, "streams_curves", by="stream")


if __name__ == "__main__":
    main()
