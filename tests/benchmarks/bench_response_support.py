"""How often something is said of responses that need no word, and of those that need one.

Thresholds were chosen on the laws in CHOSEN_ON; the table that is kept is of the others, and says
of each how often its kind, or anything else, is noticed.
"""

import sys

import numpy as np
import pandas as pd
from tables import keep

from bayesvb.evaluation import response_support as support

REPLICATIONS = 2000

SIZES = (50, 200, 1000)

CHOSEN_ON = {
    "normal": (None, lambda rng, n: rng.normal(size=n)),
    "normal, mean 2 sd": (None, lambda rng, n: 2.0 + rng.normal(size=n)),
    "normal, mean 3 sd": (None, lambda rng, n: 3.0 + rng.normal(size=n)),
    "normal, rounded to a quarter sd": (None, lambda rng, n: np.round(4 * rng.normal(size=n)) / 4),
    "normal, rounded to a tenth sd": (None, lambda rng, n: np.round(10 * rng.normal(size=n)) / 10),
    "exponential": ("positive", lambda rng, n: rng.exponential(size=n)),
    "Poisson 2": ("counts", lambda rng, n: rng.poisson(2.0, n)),
    "normal, cut at its mean": ("bound", lambda rng, n: np.maximum(rng.normal(size=n), 0.0)),
}

JUDGED_BY = {
    "logistic, mean 2 sd": (None, lambda rng, n: 3.63 + rng.logistic(size=n)),
    "Laplace, mean 2 sd": (None, lambda rng, n: 2.83 + rng.laplace(size=n)),
    "Student t3, mean 2": (None, lambda rng, n: 2.0 + rng.standard_t(3, n)),
    "two normals at 1 and 6": (None, lambda rng, n: rng.choice([1.0, 6.0], n) + rng.normal(size=n)),
    "Gumbel, 1 % negative": (None, lambda rng, n: 1.53 + rng.gumbel(size=n)),
    "uniform from 5 to 6": (None, lambda rng, n: rng.uniform(5.0, 6.0, n)),
    "lognormal, sd of log 0.25": (None, lambda rng, n: np.exp(0.25 * rng.normal(size=n))),
    "Laplace, rounded to a fifth sd": (
        None, lambda rng, n: (3.5 * rng.laplace(size=n)).round() / 5,
    ),
    "gamma 9, rounded to a sixth sd": (
        None, lambda rng, n: (2 * rng.gamma(9.0, size=n)).round() / 2,
    ),
    "beta 20, 20": (None, lambda rng, n: rng.beta(20.0, 20.0, n)),
    "Bernoulli 0.1": ("two values", lambda rng, n: rng.random(n) < 0.1),
    "Poisson 5": ("counts", lambda rng, n: rng.poisson(5.0, n)),
    "geometric, mean 3": ("counts", lambda rng, n: rng.geometric(0.25, n) - 1),
    "ratings from 1 to 5": ("counts", lambda rng, n: rng.integers(1, 6, n)),
    "normal, rounded to half an sd": (
        "coarse", lambda rng, n: (2 * rng.normal(size=n)).round() / 2 - 9,
    ),
    "a tenth zeros, else lognormal": (
        "bound", lambda rng, n: np.where(rng.random(n) < 0.1, 0.0, np.exp(rng.normal(size=n))),
    ),
    "normal, a fifth at its top": ("bound", lambda rng, n: np.minimum(rng.normal(size=n), 0.84)),
    "gamma 9, a tenth told as 10": (
        "heap", lambda rng, n: np.where(rng.random(n) < 0.1, 10.0, rng.gamma(9.0, size=n)),
    ),
    "uniform from 0 to 1": ("proportion", lambda rng, n: rng.random(n)),
    "beta 1, 5": ("proportion", lambda rng, n: rng.beta(1.0, 5.0, n)),
    "Weibull 1.2": ("positive", lambda rng, n: rng.weibull(1.2, n)),
    "lognormal, sd of log 1": ("positive", lambda rng, n: np.exp(rng.normal(size=n))),
    "gamma 2": ("positive", lambda rng, n: rng.gamma(2.0, size=n)),
}  # fmt: skip


def rates(laws: dict) -> pd.DataFrame:
    """Parts of the replications in which the right kind, and in which another one, is noticed."""
    rows = []
    for name, (kind, draw) in laws.items():
        for n in SIZES:
            rng = np.random.default_rng([n, len(name)])
            said = []
            for _ in range(REPLICATIONS):
                found = support.response_support(np.asarray(draw(rng, n), dtype=float))
                said.append(None if found is None else found.kind)
            right = np.mean([one == kind for one in said]) if kind else np.nan
            other = np.mean([one not in (None, kind) for one in said])
            row = {"law": name, "kind": kind or "none needed", "n": n}
            rows.append({**row, "noticed": right, "another kind": other})
    return pd.DataFrame(rows)


def choose() -> None:
    """Print what candidates of the thresholds do with the laws that they may be chosen on."""
    for rows in (6, 8, 10):
        for expected in (4.0, 6.0, 8.0):
            vars(support.LIMITS).update(heap_rows=rows, expected=expected)
            print(f"ROWS = {rows}, EXPECTED = {expected:g}")
            print(rates(CHOSEN_ON).to_string(index=False))


if __name__ == "__main__":
    if sys.argv[1:] == ["choose"]:
        choose()
    else:
        keep(rates(JUDGED_BY), "response_support")
