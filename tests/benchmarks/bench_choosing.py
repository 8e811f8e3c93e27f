"""How often ``bvb.select`` finds the number of components: four designs, two numbers of rows.

The data have one, two or three components, and up to two more are tried. Beside the rule (the
fewest within two standard errors of the best, or within 4 nats) stand the same with one standard
error, within 4 nats alone, and the largest elpd. ``in doubt`` counts data sets of which a number is
marked by ``warning``. Seeds below 2000 served to choose the rule, the table is of those from 2000.
"""

import argparse
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd
from tables import RESULTS, keep

import bayesvb as bvb
from bayesvb.datasets import SIMULATIONS
from bayesvb.results.limits import LIMITS

FIRST_SEED, DATA_SETS = 2000, 20
BEYOND = 2
SIZES = (300, 1000)
RULES = ("chosen", "one se or 4 nats", "4 nats", "largest elpd")
EACH = RESULTS.parents[1] / "build" / "choosing.csv"

Rng = np.random.Generator


def one_line(n: int, rng: Rng) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": 1.0 + x + rng.normal(size=n)})


def three_experts(n: int, rng: Rng) -> pd.DataFrame:
    x = rng.uniform(-2.0, 2.0, n)
    odds = np.exp(np.stack([0.0 * x, 1.0 + 1.5 * x, -1.0 - 1.5 * x]))
    part = (rng.random(n) > (odds / odds.sum(axis=0)).cumsum(axis=0)[:-1]).sum(axis=0)
    mean = np.stack([0.0 * x, 3.0 + x, -3.0 + x])[part, np.arange(n)]
    return pd.DataFrame({"x": x, "y": mean + 0.6 * rng.normal(size=n)})


@dataclass(frozen=True)
class Design:
    """Data from a known number of components."""

    draw: Callable[[int, Rng], pd.DataFrame]
    components: int


DESIGNS = {
    "one line": Design(one_line, 1),
    "bimodal": Design(SIMULATIONS["bimodal"].sample, 2),
    "dpmix2": Design(SIMULATIONS["dpmix2"].sample, 2),
    "three experts": Design(three_experts, 3),
}


def replication(name: str, n_rows: int, seed: int) -> dict[str, object]:
    """Numbers that the rules choose on one data set."""
    design, began = DESIGNS[name], time.perf_counter()
    data = design.draw(n_rows, np.random.default_rng([seed, n_rows]))
    model = bvb.DensityRegression("y ~ x", data)
    numbers = range(1, design.components + BEYOND + 1)
    selection = bvb.select(model, numbers, seed=seed, n_jobs=1, draws=100)
    table, behind = selection.table, -selection.table["elpd_diff"]
    return {
        "design": name,
        "rows": n_rows,
        "seed": seed,
        "true": design.components,
        "chosen": selection.chosen,
        "one se or 4 nats": int(
            table.index[behind <= table["dse"].clip(lower=LIMITS.equal_elpd)].min()
        ),
        "4 nats": int(table.index[behind <= LIMITS.equal_elpd].min()),
        "largest elpd": int(table["elpd"].idxmax()),
        "differences": " ".join(f"{one:.2f}" for one in table["elpd_diff"]),
        "their errors": " ".join(f"{one:.2f}" for one in table["dse"]),
        "in doubt": ",".join(map(str, table.index[table["warning"]])),
        "doubt of the chosen": bool(table["warning"][selection.chosen]),
        "seconds": time.perf_counter() - began,
    }


def summary(each: pd.DataFrame) -> pd.DataFrame:
    """How often each rule is right, by design and number of rows."""
    rows = []
    for (name, n_rows), group in each.groupby(["design", "rows"], sort=False):
        right = {rule: int((group[rule] == group["true"]).sum()) for rule in RULES}
        rows.append(
            {"design": name, "rows": n_rows, "true": group["true"].iloc[0], "data sets": len(group)}
            | right
            | {
                "most chosen": int(group["chosen"].max()),
                "in doubt": int((group["in doubt"] != "").sum()),
                "chosen in doubt": int(group["doubt of the chosen"].sum()),
                "seconds each": group["seconds"].mean(),
            }
        )
    return pd.DataFrame(rows)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--sets", type=int, default=DATA_SETS, help="data sets of each")
    parser.add_argument("--rows", type=int, nargs="+", default=list(SIZES))
    parser.add_argument("--designs", nargs="+", default=list(DESIGNS), choices=list(DESIGNS))
    asked = parser.parse_args()
    EACH.parent.mkdir(exist_ok=True)
    warnings.simplefilter("ignore", UserWarning)  # the table counts what is in doubt
    each = []
    for n_rows in asked.rows:
        for name in asked.designs:
            for seed in range(asked.first, asked.first + asked.sets):
                each.append(replication(name, n_rows, seed))
            pd.DataFrame(each).to_csv(EACH, index=False)
            print(summary(pd.DataFrame(each)).tail(1).to_string(index=False), flush=True)
    table = summary(pd.DataFrame(each))
    if asked.first >= FIRST_SEED and asked.designs == list(DESIGNS):
        keep(table, "choosing", by="rows")
    else:
        print(table.to_string(index=False))


if __name__ == "__main__":
    main()
