"""Whether ``n_components=``, where ``fit.check()`` advises it, predicts new rows better.

Advice counts as wrong if the refit has a lower log density of 2,000 new rows. Nothing of the check
was chosen on the seeds of the table.
"""

import argparse
import warnings

import numpy as np
import pandas as pd
from bench_checks import RIGHT, WRONG, Design
from tables import keep

DESIGNS = (
    "a line, K 1, N 100", "a sine, s(x), sorted, K 1", "two humps, constant weights, K 2",
    "two experts, sticks, K 2", "curve, K 1", "missing interaction, K 1", "skewed noise, K 1",
    "growing spread, K 1", "heavy tails, K 1", "log scale, K 1", "three experts, K 2",
    "two experts with a curve, K 2",
)  # fmt: skip


def advised(name: str, design: Design, seed: int) -> dict[str, object]:
    """Whether more components are advised, and nats per new row that they gain."""
    rng = np.random.default_rng([seed, design.n_rows])
    data, new = design.draw(rng, design.n_rows), design.draw(rng, 2_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = design.model(design.formula, data, **design.options).fit(
            seed=seed, restarts=4, draws=200
        )
        table = fit.check()
        edits = [edit for each in table["edits"] for edit in each if "n_components" in edit.options]
        found = {"design": name, "kind": "right" if name in RIGHT else "wrong", "seed": seed}
        if not edits:
            return {**found, "advised": False, "gain": np.nan}
        edit = edits[0]
        options = {**design.options, **edit.options}
        other = design.model(edit.formula(fit.model), data, **options).fit(
            seed=seed, restarts=4, draws=200
        )
        gain = (other.log_density(new) - fit.log_density(new)).mean()
    return {**found, "advised": True, "gain": gain}


def rates(records: pd.DataFrame) -> pd.DataFrame:
    """One row per design: how often more components are advised, and predict better."""
    each = records.groupby(["kind", "design"], sort=False)
    return each.agg(
        sets=("seed", "size"),
        advised=("advised", "sum"),
        better=("gain", lambda gain: int((gain > 0.0).sum())),
        median_gain=("gain", "median"),
        lowest_gain=("gain", "min"),
    ).reset_index()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=5_000, help="first seed")
    parser.add_argument("--sets", type=int, default=20, help="data sets of each design")
    asked = parser.parse_args()
    records = []
    for seed in range(asked.first, asked.first + asked.sets):
        records += [advised(name, {**RIGHT, **WRONG}[name], seed) for name in DESIGNS]
        print(rates(pd.DataFrame(records)).to_string(), flush=True)
    keep(rates(pd.DataFrame(records)), "advice")


if __name__ == "__main__":
    main()
