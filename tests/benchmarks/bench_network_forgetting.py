"""What short ascents say of rows left out under narrow and wide priors, and weights that heed it.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_forgetting.py [boston:250:0 ...]

A job is a data set, a number of training rows and a seed; eight restarts of 20 experts (pinwheel:
ten). ``short`` is the mean log density of rows left out by which restarts are weighed, ten passes
that go on without each fold; ``anew`` that of ten passes without the fold that set out from how the
fit divides the other rows among the experts; ``new`` that of new rows; each averaged over restarts
with a tenth of the prior variance, the variance, and ten times it.

``lpd`` is that of new rows under stacks of these runs. ``usual`` has weights by ``short``. The
others lower all densities under ten times the variance, if these restarts have a weight of
``LARGE`` or more: ``alone`` by what ``anew`` is less, on average over these restarts and the first
two folds, ``beside`` by how much more that is than with the variance itself. Members of large
weight have gone on to the tolerance, for at most 500 passes. None of the sets is one of
``bench_network_folds.py`` but waveform. Results: docs/benchmarks/network_forgetting.csv.
"""

import sys
import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd
from bench_network_certainty import Split, labelled
from bench_network_sizes import stratified
from bench_network_starts import rows_of
from sklearn.datasets import load_digits
from tables import data_folder, keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.folds import DENSITY, FEW_PASSES, TOLERANCE, assigned, extrapolated_density
from bayesvb.engines.restarts import search
from bayesvb.estimators.weighing import PRIOR_ROWS, UNCERTAIN
from bayesvb.evaluation.stacking_weights import stacking_weights
from bayesvb.numerics.streams import Streams
from bayesvb.results.stacking import distinct, kept

JOBS = (
    "abalone:300:0", "boston:250:0", "boston:200:2", "cells:200:2", "cells:250:4", "cells:300:0",
    "bent:200:3", "concrete:250:0", "concrete:400:1", "ones:100:0", "kin8nm:300:0", "logit:250:0",
    "pinwheel:200:0", "pinwheel:400:1", "redwine:300:0", "separable:250:0", "separable:250:1",
    "three:120:0", "three:120:2", "waveform:200:0", "waveform:300:5", "white:300:0", "wide:150:0",
    "wine:100:3", "wine:120:0", "wine:120:1", "wine:120:2",
)  # fmt: skip
HALVED = {
    "boston": ("boston", "medv", 0.5),
    "concrete": ("concrete", "compressive_strength", 0.5),
    "white": ("wine_quality_white", "quality", 0.33),
    "abalone": ("abalone", "rings", 0.5),
    "kin8nm": ("uci-splits/kin8nm", "y", 0.5),
}
"""Files of numeric responses, and the quantile up to which their class is ``low``."""

NEW_ROWS, RESTARTS, LARGE, FOLDS_ANEW = 2000, 8, 0.2, 2

Array = Any


@dataclass(frozen=True)
class Looked:
    """Runs of one job: log densities of shape (runs, rows), and what is known of each run."""

    short: Array
    anew: Array
    coarse: Array
    fine: Array
    fold: Array
    score: Array
    variance: Array

    @property
    def uncertainty(self) -> float:
        """What a row left out costs over ``UNCERTAIN``, at most one."""
        return float(np.clip(-self.short.mean(axis=1).max() / UNCERTAIN, 0.0, 1.0))

    def weights(self, density: Array) -> Array:
        """Weights of the stack by these densities."""
        optima = distinct(list(self.score), density)
        found = np.zeros(len(density))
        prior = PRIOR_ROWS * float(np.clip(-density.mean(axis=1).max() / UNCERTAIN, 0.0, 1.0))
        found[optima] = kept(stacking_weights(density[optima], prior_rows=prior))
        return found

    def lowered(self, beside: bool) -> Array:
        """Densities without what those under the wide variance have not forgotten."""
        wide, own = self.variance > 1.0, self.variance == 1.0
        if self.weights(self.short)[wide].sum() < LARGE:
            return self.short
        rows = self.fold < FOLDS_ANEW
        lost = (self.short - self.anew)[:, rows].mean(axis=1)
        flattery = lost[wide].mean() - (lost[own].mean() if beside else 0.0)
        return self.short - max(flattery, 0.0) * wide[:, None]

    def lpd(self, density: Array) -> float:
        """Mean log density of new rows under the stack with these weights."""
        weight = self.weights(density)
        large = weight >= min(LARGE * self.uncertainty, weight.max())
        new = np.where(large[:, None], self.fine, self.coarse)
        return float(np.log(weight @ np.exp(new)).mean())

    def record(self, job: str) -> dict[str, object]:
        """A row of the table."""
        found: dict[str, object] = {"job": job}
        for name, density in (("short", self.short), ("anew", self.anew), ("new", self.coarse)):
            each = density.mean(axis=1)
            for scale in (0.1, 1.0, 10.0):
                found[f"{name} x {scale:g}"] = each[self.variance == scale].mean()
        ways = {"usual": self.short, "alone": self.lowered(False), "beside": self.lowered(True)}
        return found | {f"lpd {way}": self.lpd(density) for way, density in ways.items()}


def halves(name: str, size: int, seed: int) -> Split:
    """Training and new rows of classes made of numbers."""
    file, response, share = HALVED[name]
    frame = pd.read_csv(data_folder() / f"{file}.csv")
    y = frame.pop(response)
    if name == "abalone":
        frame = frame.assign(infant=(frame.pop("sex") == "I").astype(float))
    if name == "concrete":  # mixtures that were tested several times
        frame = frame.drop_duplicates()
    y = y[frame.index]
    frame = frame.assign(label=np.where(y > y.quantile(share), "high", "low"))
    frame = frame.reset_index(drop=True)
    train, test = stratified(frame, min(len(frame) - size, NEW_ROWS), seed)
    return (stratified(train, len(train) - size, seed)[0] if len(train) > size else train), test


def drawn(name: str, size: int, seed: int) -> Split:
    """Thirty columns made of seven, half of them skewed; ``bent`` has a curved boundary."""
    rng, n = np.random.default_rng([seed, size, 5]), size + NEW_ROWS
    z, loadings = rng.normal(size=(n, 7)), rng.normal(size=(7, 30))
    x = z @ loadings + 0.6 * rng.normal(size=(n, 30))
    x[:, ::2] = np.exp(0.35 * x[:, ::2])
    score = z[:, 0] + 0.7 * z[:, 1] + 0.4 * z[:, 2]
    score += 0.5 * (z[:, 0] ** 2 - 1.0) * (name == "bent")
    frame = labelled(x, (5.0 * score + rng.logistic(size=n) > 1.0).astype(int))
    return frame.iloc[:size], frame.iloc[size:]


def split(name: str, size: int, seed: int) -> Split:
    """Training and new rows; ``ones`` are ones and eights of scikit-learn's digits."""
    if name in HALVED:
        return halves(name, size, seed)
    if name in ("cells", "bent"):
        return drawn(name, size, seed)
    if name != "ones":
        return rows_of(name, size, seed)
    given = load_digits()
    two = np.isin(given.target, [1, 8])
    columns = given.data[two][:, given.data[two].std(axis=0) > 0.5]
    frame = labelled(columns, given.target[two])
    return stratified(frame, len(frame) - size, seed)


def anew(model: Any, source: Any, stats: Any, fold: Array, streams: Any) -> Array:
    """Density of every row from an ascent that sets out without its fold."""
    quick, posterior, found = model.within(DENSITY), model.update(stats), np.empty(len(fold))
    for number in range(fold.max() + 1):
        left_out = np.flatnonzero(fold == number)
        rest = source.without(left_out)
        first = quick.first_stats(
            rest.map_reduce(
                lambda b: quick.partition_stats(b, quick.responsibilities(posterior, b))
            )
        )
        budget = Budget(TOLERANCE * rest.total_weight, 2 * FEW_PASSES)
        own = Cavi().run(quick, rest, first, budget, streams.branch("fold", number)).stats
        found[left_out] = quick.log_predictive(quick.update(own), source.take(left_out))
    return found


def looked(train: pd.DataFrame, test: pd.DataFrame, seed: int, n_experts: int) -> Looked:
    """All runs of a job."""
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=n_experts)
    source, engine, streams = model.source, Cavi(), Streams(seed, RESTARTS)
    budget, fold = Budget(1e-3, 2000, per_row=1e-4), assigned(model.source)
    found = search(
        model.core, source, engine, restarts=RESTARTS, budget=budget, streams=streams, rough=True
    )
    short, again = [], []
    for number, run in enumerate(found.runs):
        place = streams.branch("restart", number + 1)
        short.append(extrapolated_density(run.model, source, run.ascent.stats, engine, place))
        again.append(anew(run.model, source, run.ascent.stats, fold, place))
    rows = model.block(model.rows(test, response=True))

    def new(runs: Any) -> Array:
        return np.stack(
            [r.model.log_predictive(r.model.update(r.ascent.stats), rows) for r in runs]
        )

    variance = np.array([float(run.prior.removeprefix("variance x ")) for run in found.runs])
    score = np.array([run.score for run in found.runs])
    coarse = new(found.runs)
    first = Looked(np.stack(short), np.stack(again), coarse, coarse, fold, score, variance)
    further = replace(budget, per_row=first.uncertainty * budget.per_row, max_iter=500)
    return replace(first, fine=new(found.settled(range(RESTARTS), further).runs))


def main() -> None:
    """A row per job, kept as soon as it is there."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for job in sys.argv[1:] or JOBS:
            name, size, seed = job.split(":")
            runs = looked(
                *split(name, int(size), int(seed)), int(seed), 10 if name == "pinwheel" else 20
            )
            keep(pd.DataFrame([runs.record(job)]), "network_forgetting", by="job")


if __name__ == "__main__":
    main()
