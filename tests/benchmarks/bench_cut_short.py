"""Ascents cut short: change of the predictions in a hundred passes, and in all that are left.

Both in posterior standard deviations, root mean square over rows, as the check *Convergence* has
them. Its limits were chosen on the first six sets; the others judge them. The first six have the
standard deviations of the mean-field posterior.
"""

import argparse
import warnings
from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import Any
from unittest.mock import patch

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.results.checks import computation as unfinished
from bayesvb.results.limits import LIMITS

END = 4000
"""Passes that are as good as all."""


def regimes(seed: int) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    x, z = rng.uniform(-2, 2, 400), rng.normal(size=400)
    first = rng.random(400) < 1 / (1 + np.exp(-2 * x))
    y = np.where(first, 1 + x, -1 - 0.5 * x) + 0.4 * rng.normal(size=400)
    return pd.DataFrame({"x": x, "z": z, "y": y})


def density(name: str, formula: str, n_components: int, **options: str) -> Callable[[int], Any]:
    return lambda seed: bvb.DensityRegression(
        formula, bvb.datasets.load(name), n_components=n_components, **options
    )


def network(name: str, **options: int) -> Callable[[int], Any]:
    return lambda seed: bvb.ConditionalMixtureNetwork(
        "label ~ .", bvb.datasets.load(name), **options
    )


def of_regimes(first: int, model: Callable[..., Any], **options: int) -> Callable[[int], Any]:
    return lambda seed: model("y ~ x + z", regimes(first + seed), **options)


CHOSEN = {
    "iris": network("iris"),
    "faithful": density("faithful", "eruptions ~ waiting", 5),
    "mcycle": density("mcycle", "accel ~ s(times) | gating(s(times))", 5),
    "engel": density("engel", "foodexp ~ income", 8),
    "regimes": of_regimes(0, bvb.DensityRegression, n_components=6),
    "iris, joint": lambda seed: bvb.GaussianMixture(
        "~ sepal_length + sepal_width + petal_length", bvb.datasets.load("iris"), n_components=6
    ),
}

JUDGED = {
    "geyser": density("geyser", "waiting ~ duration", 6, gate="stick-breaking"),
    "cps1985": density("cps1985", "np.log(wage) ~ education + experience", 5, family="student"),
    "concrete": density("concrete", "compressive_strength ~ .", 4),
    "sonar": network("sonar", n_experts=5),
    "regimes, network": of_regimes(100, bvb.ConditionalMixtureNetwork, n_experts=6),
    "pinwheel": lambda seed: bvb.ConditionalMixtureNetwork(
        "label ~ .", bvb.datasets.load("pinwheel", n=150, seed=seed)
    ),
}


def cut_short(make: Callable[[int], Any], seed: int, covariance: str) -> Iterator[dict[str, float]]:
    """Fits of one model that ran out of passes."""
    model = make(seed)
    of_network = isinstance(model, bvb.ConditionalMixtureNetwork)
    for max_iter in (300, 1000, 2000) if of_network else (20, 60, 200, 600):
        fit = model.fit(
            seed=seed, max_iter=max_iter, restarts=3 if of_network else 1, draws=200,
            covariance="linear-response" if of_network else covariance,
        )  # fmt: skip
        if not fit.converged:
            soon = unfinished.still_changing(fit)
            end_of_run = replace(unfinished.PROBE, max_iter=END)
            with (
                patch.object(unfinished, "PROBE", end_of_run),
                patch.dict(vars(LIMITS), work=np.inf),
            ):
                end = unfinished.still_changing(fit)
            yield {"max_iter": max_iter, "change_100": soon, "change_to_end": end}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seeds", type=int, default=2)
    seeds = range(parser.parse_args().seeds)
    warnings.simplefilter("ignore")
    records = []
    for use, sets in {"chosen": CHOSEN, "judged": JUDGED}.items():
        fits = partial(cut_short, covariance="mean-field" if use == "chosen" else "linear-response")
        for name, make in sets.items():
            found = [{"seed": seed, **one} for seed in seeds for one in fits(make, seed)]
            records += [{"use": use, "set": name, **one} for one in found]
            print(pd.DataFrame(records).tail(len(found)).to_string(), flush=True)
    keep(pd.DataFrame(records), "cut_short")


if __name__ == "__main__":
    main()
