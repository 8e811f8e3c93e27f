"""Networks against the size of the training set: the experiments of their paper.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_sizes.py [pinwheel waveform ...]

Heins et al. (2024), arXiv:2408.16429, section 4 and appendix C: five pinwheels with 10 experts, and
seven UCI data sets with 20; training sets double in size, 16 starts each, one test set (2000 rows
of the pinwheel, otherwise as many as in the paper; it does not say for banknote and iris), five
training sets of each size of the pinwheel and three of the others. The row ``single`` averages over
starts with the paper's prior; ``average`` and ``stack`` combine all starts, with their prior
variances. ECE has 20 bins of equal width. ``sweeps`` is the paper's rule: an exponential is fitted
to the bound, and ends at 95 % of its decay.

Standardisation is that of the training rows. Starts end at 1e-5 per row and pass, those that count
in the stack at 1e-6; that moves log densities in the third digit at most. Seconds are those of one
start on one thread. Results: docs/benchmarks/network_sizes.csv.
"""

import sys
import time
import warnings
from collections.abc import Iterator

import numpy as np
import pandas as pd
from scipy.optimize import curve_fit
from tables import data_folder, keep

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.restarts import search
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.fit_request import FitRequest
from bayesvb.estimators.fitting import fitted
from bayesvb.evaluation import classification as metrics
from bayesvb.numerics.streams import Streams

STARTS = 16
PINWHEEL_SEEDS, OTHER_SEEDS = 5, 3
PINWHEEL_TEST = 2000
PAPER = "variance x 1"
SHIPPED = ("pinwheel", "iris", "breast_cancer", "sonar", "vehicle")

SIZES = {
    "pinwheel": (50, 100, 200, 400, 800, 1600),
    "waveform": (60, 120, 240, 480, 960, 1920, 3840),
    "vehicle": (20, 40, 80, 160, 320, 640),
    "rice": (40, 80, 160, 320, 640, 1280, 2560),
    "breast_cancer": (25, 50, 100, 200, 400),
    "sonar": (8, 16, 32, 64, 128),
    "banknote": (32, 64, 128, 256, 512, 1024),
    "iris": (15, 30, 60, 120),
}
"""Training rows; all but the last two as in the paper."""

TEST_ROWS = {"waveform": 1160, "vehicle": 205, "rice": 1250, "breast_cancer": 169, "sonar": 80,
             "banknote": 340, "iris": 30}  # fmt: skip


def splits(name: str) -> Iterator[tuple[int, int, pd.DataFrame, pd.DataFrame]]:
    """Size, seed, training and test rows."""
    for seed in range(PINWHEEL_SEEDS if name == "pinwheel" else OTHER_SEEDS):
        for size in SIZES[name]:
            if name == "pinwheel":
                law = bvb.datasets.SIMULATIONS["pinwheel"]
                test = law.sample(PINWHEEL_TEST, np.random.default_rng([seed, 1]))
                yield size, seed, law.sample(size, np.random.default_rng([seed, size])), test
            else:
                train, test = stratified(frame_of(name), TEST_ROWS[name], seed)
                yield size, seed, leading(train, size), test


def frame_of(name: str) -> pd.DataFrame:
    """A data set, its classes as text; ``waveform`` is the UCI file, not the smaller sample."""
    shipped = name in bvb.datasets.names() and name not in bvb.datasets.SIMULATIONS
    frame = bvb.datasets.load(name) if shipped else pd.read_csv(data_folder() / f"{name}.csv")
    return frame.assign(label=frame["label"].astype(str))


def stratified(frame: pd.DataFrame, n_test: int, seed: int) -> tuple[pd.DataFrame, pd.DataFrame]:
    """Training and test rows with the same shares of classes, in random order."""
    mixed = frame.sample(frac=1.0, random_state=seed)
    place = mixed.groupby("label").cumcount() / mixed.groupby("label")["label"].transform("size")
    ordered = mixed.iloc[np.argsort(place.to_numpy(), kind="stable")]
    return ordered.iloc[n_test:], ordered.iloc[:n_test]


def leading(train: pd.DataFrame, size: int) -> pd.DataFrame:
    """The first rows of a stratified order: every class is there."""
    return train.iloc[:size]


def sweeps_to_converge(trace: np.ndarray) -> float:
    """Sweeps to 95 % of the decay of an exponential fitted to the bound."""
    time = np.arange(len(trace), dtype=float)
    drop = trace[-1] - trace[0]

    def curve(t, decay, length):
        return np.exp(-t / length) * decay

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            (_, length), _ = curve_fit(
                curve, time, (trace[-1] - trace) / drop, p0=(1.0, 10.0), maxfev=2000
            )
        except RuntimeError:
            return float(np.argmax(trace >= trace[-1] - 0.05 * drop))
    return float(np.log(20.0) * length)


def judged(fit: Fit, test: pd.DataFrame) -> dict[str, float]:
    """Accuracy, log predictive density and calibration error on the test rows."""
    p = fit.predict(test, kind="probability")
    codes = np.array([list(p.columns).index(label) for label in test["label"].astype(str)])
    p = p.to_numpy()
    scores = metrics.scores(p, codes)
    error = metrics.calibration_error(p, codes)
    return {"accuracy": scores.accuracy, "lpd": scores.log_density, "ece": error.error,
            "ece_debiased": error.debiased}  # fmt: skip


def both(model: bvb.ConditionalMixtureNetwork, seed: int) -> tuple[Fit, Fit]:
    """Average and stack of the same ascents, which ``model.fit`` would make twice."""
    budget, streams = Budget(), Streams(seed, STARTS)
    found = search(
        model.core,
        model.source,
        Cavi(),
        restarts=STARTS,
        budget=budget,
        streams=streams,
        rough=True,
    )
    return tuple(
        fitted(
            model,
            found,
            model.source,
            FitRequest(
                combine=combine,
                n_draws=250,
                covariance="mean-field",
                budget=budget,
                seed=seed,
                began=time.perf_counter(),
            ),
            streams,
        )
        for combine in ("average", "stack")
    )


def rows_of(name: str) -> list[dict[str, object]]:
    """Scores of single starts, their average and their stack."""
    records = []
    for size, seed, train, test in splits(name):
        model = bvb.ConditionalMixtureNetwork(
            "label ~ .", train, n_experts=min(10 if name == "pinwheel" else 20, size)
        )
        average, stack = both(model, seed)
        prior = average.restarts["prior"]
        alike = [m for m in average.members if prior[m.number] == PAPER]
        singles = pd.DataFrame([judged(member.fit, test) for member in alike]).mean().to_dict()
        pace = {
            "sweeps": np.mean([sweeps_to_converge(t) for t in average.traces.values()]),
            "seconds": average.restarts["seconds"].mean(),
        }
        for way, scores in (
            ("single", singles | pace),
            ("average", judged(average, test)),
            ("stack", judged(stack, test)),
        ):
            records.append({"data": name, "n": size, "seed": seed, "way": way, **scores})
        print(name, size, seed, *(f"{r['way']} {r['lpd']:.3f}" for r in records[-3:]), flush=True)
    return records


def main() -> None:
    """Means over the data seeds, kept after each data set."""
    names = sys.argv[1:] or [n for n in SIZES if n in SHIPPED or data_folder()]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name in names:
            groups = pd.DataFrame(rows_of(name)).groupby(["data", "n", "way"], sort=False)
            means = groups.mean(numeric_only=True).drop(columns="seed")
            means["lpd_se"] = groups["lpd"].sem()
            keep(means.reset_index(), "network_sizes", by="data")


if __name__ == "__main__":
    main()
