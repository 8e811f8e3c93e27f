"""How often the first sentence of a report tells a direction of responses that have none.

Covariates are noise: one, or the one of five that seems to move the response most. Asked for are
at most 11 % of the pages for the median and for the width each, the level of the interval.

    python tests/benchmarks/bench_finding.py
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.reports.rows.profiles import most_moving, quantiles_moved
from bayesvb.reports.sections.finding import finding


def told(seed, n_covariates, n_components):
    """Whether the page tells a direction of the median, and of the width."""
    rng = np.random.default_rng(seed)
    names = [f"x{i}" for i in range(n_covariates)]
    data = pd.DataFrame(rng.normal(size=(200, n_covariates)), columns=names)
    data["y"] = rng.normal(size=200)
    model = bvb.DensityRegression(f"y ~ {' + '.join(names)}", data, n_components=n_components)
    fit = model.fit(seed=seed, restarts=4)
    along = most_moving(fit, quantiles_moved, "y")
    section = {"responses": [{"name": "y", "along": along, "bands": None}]}
    (sentence, *_) = finding(fit, {"conditional": section})[0]["sentences"]
    return " rises " in sentence or " falls " in sentence, "becomes" in sentence


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repeats", type=int, default=200)
    repeats = parser.parse_args().repeats
    lines = []
    for n_covariates in (1, 5):
        for n_components in (1, 2):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = np.array(
                    [told(seed, n_covariates, n_components) for seed in range(repeats)]
                )
            lines.append(
                {
                    "covariates": n_covariates,
                    "components": n_components,
                    "data sets": repeats,
                    "median": found[:, 0].mean(),
                    "width": found[:, 1].mean(),
                    "se": np.sqrt(0.11 * 0.89 / repeats),
                }
            )
            print(lines[-1], flush=True)
    keep(pd.DataFrame(lines), "finding")


if __name__ == "__main__":
    main()
