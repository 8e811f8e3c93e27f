"""Rows left out of networks by folds: their density after so many passes, by rows: ``[ROWS ...]``.

How far it is below that of rows seen, in thousandths of a nat per row, one restart. What passes
are still missing, and what rows seen flatter where folds take too long.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from bench_report import table
from tables import keep

import bayesvb as bvb
from bayesvb.data.sources import AbstractSource
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.folds import TOLERANCE, continued, folds
from bayesvb.numerics.streams import Streams

ROWS = (500, 1_000, 2_000, 5_000, 10_000)
PASSES = (5, 10, 20, 50, 150)


def eight_columns(n_rows: int) -> pd.DataFrame:
    """Two regimes that are not straight, noise with heavy tails, and three classes."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(n_rows, 8))
    upper = x[:, 0] + x[:, 1] > 0.0
    y = np.where(upper, np.sin(2.0 * x[:, 2]) + x[:, 3], x[:, 4] * x[:, 5] - 2.0)
    y = y + 0.3 * rng.standard_t(4, size=n_rows)
    label = np.array(list("abc"))[(y > 0.0).astype(int) + (rng.uniform(size=n_rows) < 0.3)]
    names = [f"x{i}" for i in range(8)]
    return pd.DataFrame(x, columns=names).assign(y=y, label=label)


def networks(n_rows: int) -> dict[str, bvb.ConditionalMixtureNetwork]:
    """One of two columns, two of eight."""
    rows = eight_columns(n_rows)
    numbers, classes = rows.drop(columns="label"), rows.drop(columns="y")
    return {
        "two columns, 10 experts": bvb.ConditionalMixtureNetwork(
            "y ~ x + z", table(n_rows), n_experts=10
        ),
        "eight columns, 10 experts": bvb.ConditionalMixtureNetwork("y ~ .", numbers, n_experts=10),
        "classes, eight columns, 5 experts": bvb.ConditionalMixtureNetwork(
            "label ~ .", classes, n_experts=5
        ),
    }


def below_seen(model: bvb.ConditionalMixtureNetwork) -> dict[str, float]:
    """Density of rows seen, and how far that of rows left out is below it after some passes."""
    fit = model.fit(seed=1, restarts=1, draws=25)
    core, source = fit.core, model.source

    def density(stats: object, rows: AbstractSource | object) -> float:
        return float(np.sum(core.log_predictive(core.update(stats), rows)))

    totals = dict.fromkeys(PASSES, 0.0)
    for number, (rows, rest) in enumerate(folds(source)):
        place, left_out = Streams(1).branch("fold", number), source.take(rows)
        stats, done = continued(core, rest, fit.stats, Cavi(), place, PASSES[0]), PASSES[0]
        for passes in PASSES:
            budget = Budget(TOLERANCE * rest.total_weight, passes - done)
            if passes > done:
                stats, done = Cavi().run(core, rest, stats, budget, place).stats, passes
            totals[passes] += density(stats, left_out)
    seen = density(fit.stats, source.whole())
    each = {f"{n} passes": 1e3 * (seen - total) / source.n_rows for n, total in totals.items()}
    return {"seen": seen / source.n_rows, **each}


def main() -> None:
    """Of these numbers of rows, or of all."""
    warnings.simplefilter("ignore")
    sizes = [int(word) for word in sys.argv[1:]] or ROWS
    found = [
        {"network": name, "rows": n_rows, **below_seen(model)}
        for n_rows in sizes
        for name, model in networks(n_rows).items()
    ]
    keep(pd.DataFrame(found), "fold_passes", by="rows")


if __name__ == "__main__":
    main()
