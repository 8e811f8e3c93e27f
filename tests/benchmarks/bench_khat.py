"""k-hat beside the coverage of 90 % intervals: 120 right fits, by quartile of their k-hat.

And how far the k-hat of one fit moves with the seed of its draws, beside the error that is shown.
"""

import numpy as np
import pandas as pd
from bench_coverage import PROB, TRUTH, parameters, sample
from tables import keep

import bayesvb as bvb
from bayesvb.results.checks.computation import khat_error

DATA_SETS, SEEDS, DRAWS, QUARTILES = 120, 20, 1000, 4


def covered(seed: int) -> dict[str, float]:
    """k-hat of one fit, and the share of its parameters that intervals cover."""
    truth, tails = np.array(list(TRUTH.values())), (0.5 - PROB / 2.0, 0.5 + PROB / 2.0)
    model = bvb.DensityRegression("y ~ x", sample(np.random.default_rng(seed)), n_components=2)
    fit = model.fit(seed=seed, restarts=4, draws=DRAWS)
    low, high = np.quantile(parameters(fit.posterior), tails, axis=0)
    return {"khat": fit.khat, "coverage": float(((low < truth) & (truth < high)).mean())}


def by_draws() -> dict[str, float]:
    """Spread of k-hat over seeds of one data set, whose optimum is the same."""
    model = bvb.DensityRegression("y ~ x", sample(np.random.default_rng(0)), n_components=2)
    k = np.array([model.fit(seed=s, restarts=4, draws=DRAWS).khat for s in range(SEEDS)])
    return {"smallest": k.min(), "largest": k.max(), "sd": k.std(ddof=1),
            "error shown": khat_error(float(k.mean()), DRAWS)}  # fmt: skip


def main() -> None:
    fits = pd.DataFrame([covered(seed) for seed in range(DATA_SETS)])
    fits["quartile"] = pd.qcut(fits["khat"], QUARTILES, labels=range(1, QUARTILES + 1))
    table = fits.groupby("quartile", observed=True).agg(
        fits=("khat", "size"), smallest=("khat", "min"), largest=("khat", "max"),
        coverage=("coverage", "mean"),
    )  # fmt: skip
    table["se"] = np.sqrt(PROB * (1.0 - PROB) / (table["fits"] * len(TRUTH)))
    keep(table.reset_index().assign(nominal=PROB), "khat")
    print("above 0.7:", int((fits["khat"] > 0.7).sum()), "of", len(fits))
    print("rank correlation:", round(float(fits["khat"].corr(fits["coverage"], "spearman")), 3))
    keep(pd.DataFrame([by_draws()]), "khat_draws")


if __name__ == "__main__":
    main()
