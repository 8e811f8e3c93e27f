"""Error rates of ``fit.check()``: 15 right designs and 17 wrong ones.

A false alarm is a fit of a right design with any ``"problem"``, in whichever group. Of a wrong
design a fit counts as caught if one of the checks of the fit is a ``"problem"``. Thresholds were
chosen on data sets with seeds below 2000; the table is of the seeds from 2000 on.
"""

import argparse
import warnings
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial

import numpy as np
import pandas as pd
from tables import RESULTS, keep

import bayesvb as bvb

FIRST_SEED, DATA_SETS = 2000, 50
GROUPS = ("fit", "computation", "accuracy")
SO_FAR = RESULTS.parents[1] / "build" / "checks.csv"

Rng = np.random.Generator


@dataclass(frozen=True)
class Design:
    """Data, and a fit to them that is right or wrong."""

    draw: Callable[[Rng, int], pd.DataFrame]
    formula: str
    options: dict[str, object] = field(default_factory=dict)
    n_rows: int = 300
    model: type = bvb.DensityRegression
    in_order: bool = False
    """Whether the rows are told to have an order."""


def line(rng: Rng, n: int) -> pd.DataFrame:
    x, z, g = rng.normal(size=n), rng.normal(size=n), rng.choice(list("abc"), n)
    y = 1.0 + x - 0.5 * z + (g == "a") + rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": z, "g": g, "y": y})


def sine(rng: Rng, n: int) -> pd.DataFrame:
    x = np.sort(rng.uniform(size=n))
    return pd.DataFrame({"x": x, "y": np.sin(6.0 * x) + 0.3 * rng.normal(size=n)})


def two_experts(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    noise = np.where(first, 0.5, 0.8) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": np.where(first, 1.0 + 2.0 * x, -1.0 - 0.5 * x) + noise})


def three_experts(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.uniform(-2.0, 2.0, n)
    odds = np.exp(np.stack([0.0 * x, 1.0 + 1.5 * x, -1.0 - 1.5 * x]))
    part = (rng.random(n) > (odds / odds.sum(axis=0)).cumsum(axis=0)[:-1]).sum(axis=0)
    mean = np.stack([0.0 * x, 3.0 + x, -3.0 + x])[part, np.arange(n)]
    return pd.DataFrame({"x": x, "y": mean + 0.6 * rng.normal(size=n)})


def two_humps(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    hump = np.where(rng.random(n) < 0.4, -2.0, 2.0)
    return pd.DataFrame({"x": x, "y": hump + 0.5 * x + 0.6 * rng.normal(size=n)})


def student(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": 1.0 + x + rng.standard_t(4, size=n)})


def spread_by_level(rng: Rng, n: int) -> pd.DataFrame:
    g = rng.choice(list("abcd"), n)
    sd = np.where(np.isin(g, ["a", "b"]), 0.5, 1.5)
    return pd.DataFrame({"g": g, "y": 1.0 * (g == "a") + sd * rng.normal(size=n)})


def two_responses(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    means = np.where(first, [1.0 + 2.0 * x, x], [-1.0 - 0.5 * x, 2.0 - x])
    y, y2 = means + 0.6 * rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "y": y, "y2": y2})


def classes(rng: Rng, n: int) -> pd.DataFrame:
    x, z = rng.normal(size=(2, n))
    yes = rng.random(n) < 1.0 / (1.0 + np.exp(-x + 0.5 * z))
    return pd.DataFrame({"x": x, "z": z, "label": np.where(yes, "yes", "no")})


def curve(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + 0.3 * x**2 + rng.normal(size=n)})


def product(rng: Rng, n: int) -> pd.DataFrame:
    x, z = rng.normal(size=(2, n))
    return pd.DataFrame({"x": x, "z": z, "y": x + z + 0.4 * x * z + rng.normal(size=n)})


def counts(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": rng.poisson(np.exp(1.0 + 0.3 * x)).astype(float)})


def autocorrelated(rng: Rng, n: int) -> pd.DataFrame:
    x, noise = rng.normal(size=(2, n))
    for i in range(1, n):
        noise[i] = 0.4 * noise[i - 1] + np.sqrt(1.0 - 0.4**2) * noise[i]
    return pd.DataFrame({"x": x, "y": x + noise})


def clusters(rng: Rng, n: int) -> pd.DataFrame:
    x, of = rng.normal(size=n), np.arange(n) // 10
    shared = 0.6 * rng.normal(size=of[-1] + 1)[of]
    return pd.DataFrame({"x": x, "y": x + shared + rng.normal(size=n)})


def skewed(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": x + rng.gamma(4.0, 0.5, n)})


def growing(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.uniform(size=n)
    return pd.DataFrame({"x": x, "y": x + (0.5 + 0.6 * x) * rng.normal(size=n)})


def on_log_scale(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": np.exp(0.3 * x + 0.3 * rng.normal(size=n))})


def cut_off(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.normal(size=n)
    return pd.DataFrame({"x": x, "y": np.maximum(x + rng.normal(size=n), -1.5)})


def curve_of_two(rng: Rng, n: int) -> pd.DataFrame:
    frame = two_experts(rng, n)
    return frame.assign(y=frame["y"] + 0.5 * frame["x"] ** 2)


def subjects(rng: Rng, n: int, n_subjects: int) -> pd.DataFrame:
    """Two experts whose means and weights differ between subjects, of eight rows each."""
    frame, s = two_experts(rng, n), rng.permutation(np.arange(n) % n_subjects)
    lean = 1.5 * rng.normal(size=n_subjects)[s] + 1.5 * frame["x"]
    first = rng.random(n) < 1.0 / (1.0 + np.exp(-lean))
    mean = np.where(first, 1.0 + 2.0 * frame["x"], -1.0 - 0.5 * frame["x"])
    y = mean + 0.4 * rng.normal(size=n_subjects)[s] + 0.5 * rng.normal(size=n)
    return pd.DataFrame({"x": frame["x"], "s": s.astype(str), "y": y})


def outlier(rng: Rng, n: int) -> pd.DataFrame:
    frame = line(rng, n)
    frame.loc[rng.integers(n), "y"] = rng.choice([-1.0, 1.0]) * 10.0 ** rng.uniform(1.2, 3.0)
    return frame


def short_waves(rng: Rng, n: int) -> pd.DataFrame:
    x = rng.uniform(size=n)
    return pd.DataFrame({"x": x, "y": np.sin(45.0 * x) + 0.5 * rng.normal(size=n)})


def slopes(rng: Rng, n: int) -> pd.DataFrame:
    """Slopes that differ between twelve groups."""
    x, g = rng.normal(size=n), rng.permutation(np.arange(n) % 12)
    y = rng.normal(size=12)[g] + (1.0 + 0.6 * rng.normal(size=12)[g]) * x + rng.normal(size=n)
    return pd.DataFrame({"x": x, "g": g.astype(str), "y": y})


ONE, TWO = {"n_components": 1}, {"n_components": 2}
STICKS = {"gate": "stick-breaking"}

RIGHT = {
    "a line, K 1, N 100": Design(line, "y ~ x + z + g", ONE, 100),
    "a line, K 3": Design(line, "y ~ x + z + g", {"n_components": 3}),
    "a sine, bs(5), sorted, K 1": Design(sine, "y ~ bs(x, df=5)", ONE),
    "a sine, s(x), sorted, K 1": Design(sine, "y ~ s(x)", ONE),
    "two experts, K 2, N 1000": Design(two_experts, "y ~ x", TWO, 1000),
    "two experts, sticks, K 2": Design(two_experts, "y ~ x", TWO | STICKS),
    "two experts, K 5": Design(two_experts, "y ~ x", {"n_components": 5}),
    "two humps, constant weights, K 2": Design(two_humps, "y ~ x | gating(1)", TWO),
    "three experts, sticks, K 3": Design(three_experts, "y ~ x", {"n_components": 3} | STICKS),
    "Student noise, family student, K 1": Design(student, "y ~ x", ONE | {"family": "student"}),
    "spread by level, K 2": Design(spread_by_level, "y ~ g", TWO),
    "two responses, K 2": Design(two_responses, "y + y2 ~ x", TWO),
    "40 subjects, K 2": Design(partial(subjects, n_subjects=40), "y ~ x + (1 | s)", TWO, 320),
    "600 subjects, K 2": Design(partial(subjects, n_subjects=600), "y ~ x + (1 | s)", TWO, 4800),
    "two classes, network, N 200": Design(
        classes, "label ~ x + z", {"n_experts": 2}, 200, bvb.ConditionalMixtureNetwork
    ),
}

WRONG = {
    "curve, K 1": Design(curve, "y ~ x", ONE),
    "missing interaction, K 1": Design(product, "y ~ x + z", ONE),
    "counts, K 1": Design(counts, "y ~ x", ONE),
    "autocorrelation, K 1": Design(autocorrelated, "y ~ x", ONE, in_order=True),
    "clusters of ten, K 1": Design(clusters, "y ~ x", ONE, in_order=True),
    "skewed noise, K 1": Design(skewed, "y ~ x", ONE),
    "growing spread, K 1": Design(growing, "y ~ x", ONE),
    "log scale, K 1": Design(on_log_scale, "y ~ x", ONE),
    "heavy tails, K 1": Design(student, "y ~ x", ONE),
    "cut off below, K 1": Design(cut_off, "y ~ x", ONE),
    "weights that change, gating(1), K 2": Design(two_experts, "y ~ x | gating(1)", TWO),
    "two experts with a curve, K 2": Design(curve_of_two, "y ~ x", TWO),
    "three experts, K 2": Design(three_experts, "y ~ x", TWO),
    "one outlier, K 1": Design(outlier, "y ~ x + z + g", ONE),
    "one outlier, K 2": Design(outlier, "y ~ x + z + g", TWO),
    "seven waves, s(x), K 1": Design(short_waves, "y ~ s(x)", ONE),
    "slopes of groups, (1 | g), K 1": Design(slopes, "y ~ x + (1 | g)", ONE),
}


def checked(name: str, design: Design, seed: int, *, right: bool) -> dict[str, object]:
    """What is said of one data set: its problems by name and by group, and the verdict."""
    rng = np.random.default_rng([seed, design.n_rows])
    data = design.draw(rng, design.n_rows)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        fit = design.model(design.formula, data, **design.options).fit(
            seed=seed, restarts=4, draws=200
        )
        table = fit.check(order=np.arange(design.n_rows) if design.in_order else None)
    bad = table[table["grade"] == "problem"]
    return {
        "design": name,
        "kind": "right" if right else "wrong",
        "seed": seed,
        **{group: bool((bad["group"] == group).any()) for group in GROUPS},
        "names": "; ".join(bad.index),
        "first": next(iter(bad.index[bad["group"] == "fit"]), ""),
        "verdict": table.attrs["verdict"],
    }


def rates(records: pd.DataFrame) -> pd.DataFrame:
    """One row per design: shares of its data sets."""
    rows = []
    for name, each in records.groupby("design", sort=False):
        right = each["kind"].iloc[0] == "right"
        said = Counter("; ".join(each["names"].fillna("")).split("; "))
        said.pop("", None)
        flagged = each[list(GROUPS)].any(axis=1) if right else each["fit"]
        rows.append(
            {
                "kind": "right" if right else "wrong",
                "design": name,
                "data sets": len(each),
                "problem": flagged.mean(),
                **{group: each[group].mean() for group in GROUPS},
                "note or problem": (each["verdict"] != "ok").mean(),
                "first": _shares(each["first"]),
                "most often": "; ".join(f"{check} {n}" for check, n in said.most_common(3)),
            }
        )
    return pd.DataFrame(rows).sort_values("kind", kind="stable")


def _shares(names: pd.Series) -> str:
    """Checks whose remedy comes first, and how often."""
    counts = Counter(name for name in names.fillna("") if name)
    return "; ".join(f"{check} {n}" for check, n in counts.most_common(2))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--first", type=int, default=FIRST_SEED, help="first seed")
    parser.add_argument("--sets", type=int, default=DATA_SETS, help="data sets of each design")
    parser.add_argument("--designs", nargs="+", default=[], help="these only, printed")
    parser.add_argument("--resume", action="store_true", help="go on where the last run stopped")
    asked = parser.parse_args()
    SO_FAR.parent.mkdir(exist_ok=True)
    resumed = asked.resume and SO_FAR.exists()
    records = pd.read_csv(SO_FAR).to_dict("records") if resumed else []
    done = {(one["design"], one["seed"]) for one in records}
    for seed in range(asked.first, asked.first + asked.sets):
        for name, design in {**RIGHT, **WRONG}.items():
            if (name, seed) not in done and name in (asked.designs or {**RIGHT, **WRONG}):
                records.append(checked(name, design, seed, right=name in RIGHT))
        pd.DataFrame(records).to_csv(SO_FAR, index=False)
        print(seed, flush=True)
    table = rates(pd.DataFrame(records))
    if asked.first >= FIRST_SEED and not asked.designs:
        keep(table, "checks")
    else:
        print(table.to_string(index=False))
    print(table.groupby("kind")["problem"].mean())


if __name__ == "__main__":
    main()
