"""How often a component is said to hold the rows of one value: where none does, and where one does.

Thresholds were set before any of these laws were drawn; seeds are those of the table.
"""

import sys
import warnings

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.responses import tied_checks

REPLICATIONS = 40

SIZES = (100, 500)


def lines(rng, x):
    """Two lines."""
    return np.where(rng.random(len(x)) < 0.5, 2.0 + x, -2.0 - x) + rng.normal(size=len(x))


def rounded(step):
    """Two lines whose responses are rounded to so much of the noise."""
    return lambda rng, x: (lines(rng, x) / step).round() * step


def narrow(rng, x):
    """Half of the rows with a tenth of the noise, which is the step of rounding."""
    noise = np.where(rng.random(len(x)) < 0.5, 0.1, 1.0) * rng.normal(size=len(x))
    return (10.0 * (x + noise)).round() / 10.0


def heaped(share, value):
    """Two lines, so many rows of which are told as one value."""
    return lambda rng, x: np.where(rng.random(len(x)) < share, value, lines(rng, x))


NONE_THERE = {
    "two lines, rounded to a twentieth": rounded(0.05),
    "two lines, rounded to a fifth": rounded(0.2),
    "two lines, rounded to a half": rounded(0.5),
    "half of the rows narrow, rounded to their sd": narrow,
    "each row twice": lambda rng, x: np.repeat(lines(rng, x)[: len(x) // 2], 2),
    "lognormal, in cents": lambda rng, x: np.exp(0.5 * x + rng.normal(size=len(x))).round(2),
}

ONE_THERE = {
    "a tenth exactly 0": heaped(0.1, 0.0),
    "a third exactly 0": heaped(0.33, 0.0),
    "a fifth exactly 6": heaped(0.2, 6.0),
    "cut off at 0": lambda rng, x: np.maximum(1.0 + x + 2.0 * rng.normal(size=len(x)), 0.0),
}


def grade(y: np.ndarray, x: np.ndarray) -> str:
    """What is said of three components."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = bvb.DensityRegression("y ~ x", pd.DataFrame({"y": y, "x": x}), n_components=3)
        fit = model.fit(seed=1, restarts=4, draws=50, covariance="mean-field")
        seen = Observed("y", y, np.full(len(y), 0.5), fit.predictive(), np.arange(len(y)))
        found = tied_checks(fit, seen, "")
    return found[0].grade if found else "not asked"


def main() -> None:
    """Table of the parts in which there is a problem, or a note."""
    rows = []
    for there, laws in (("no", NONE_THERE), ("yes", ONE_THERE)):
        for name, draw in laws.items():
            for n in SIZES:
                rng = np.random.default_rng([n, len(name)])
                said = []
                for _ in range(REPLICATIONS):
                    x = rng.normal(size=n)
                    said.append(grade(draw(rng, x), x))
                parts = {one: np.mean([s == one for s in said]) for one in ("problem", "note")}
                rows.append({"law": name, "one value": there, "n": n, **parts})
                print(rows[-1], file=sys.stderr)
    keep(pd.DataFrame(rows), "tied_values")


if __name__ == "__main__":
    main()
