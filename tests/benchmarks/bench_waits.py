"""CPU seconds that a user waits: from the import to the saved file, beside another version.

    python tests/benchmarks/bench_waits.py --before ../before/.venv/bin/python

Each case runs in new processes, in turn with the other version (``before``), the present code
without its compiled core (``numpy``), and with it (``compiled``), so that an import counts; steps
come in the order of the table, and keep what those before have computed. Medians of ``--repeats``
processes; ``ratio`` and ``ratio compiled`` are medians of the ratios of pairs to ``before``.

With ``--most 1.03`` (``make bench BEFORE=COMMIT``) the two versions with their compiled cores are
compared, no table is written, and the script fails if the mean ratio of a step that takes
``LEAST_SECONDS`` is above 1.03 by more than two standard errors.

A case is ``DESIGN ROWS``. ``base``: one number and three levels, two components. ``five``: five
components. ``columns``: twenty numbers, three components. ``poisson``, ``student``, ``bernoulli``:
families, two components (``bernoulli``: one). ``groups``: a random intercept of 50 groups, one
component. ``mixture``: a Gaussian mixture of two numbers. ``network``: three classes. All have
eight initialisations.
``quantiles``: three of every row. ``effects``: comparisons of all levels, averaged. ``select``: one
to six components. ``memory``: largest memory of the process, MB, less that after the import.
Results: docs/benchmarks/waits.csv.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

SEED, COLUMNS = 1, 20
CASES = (
    "base 100", "base 1000", "base 10000", "base 100000", "five 1000", "five 10000", "five 100000",
    "five 1000000", "columns 1000", "poisson 1000", "student 1000", "bernoulli 1000", "groups 2000",
    "mixture 5000", "network 200", "network 1600",
)  # fmt: skip
FORMULAS = {
    "base": "y ~ x + level",
    "five": "y ~ x + level",
    "columns": "y ~ " + " + ".join(f"c{i}" for i in range(COLUMNS)),
    "poisson": "count ~ x + level",
    "student": "y ~ x + level",
    "bernoulli": "upper ~ x + level",
    "groups": "z ~ x + (1 | g)",
    "mixture": "~ x + y",
    "network": "level ~ x + y",
}
COMPONENTS = {"five": 5, "columns": 3, "groups": 1, "bernoulli": 1}
FAMILIES = ("poisson", "student", "bernoulli")
LEAST_SECONDS = 0.05
"""Shorter steps are not compared with another version: single processes differ by half of it."""

MOST_STEPS = {"select": 1_000, "loo": 10_000, "report": 10_000, "effects": 100_000}
"""Largest number of rows at which a step is measured; others are at all but a million."""


def cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    usages = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


def peak() -> float:
    """Largest memory of this process so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024.0


def rows(n: int) -> pd.DataFrame:
    """Two lines with different noise, the switch depending on x, and 50 groups."""
    rng = np.random.default_rng(SEED)
    x, noise = rng.normal(size=(2, n))
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 1.0 + x + 0.3 * noise, -1.0 - 0.5 * x + 0.6 * noise)
    levels, groups = np.array(list("abc"))[rng.integers(3, size=n)], rng.integers(50, size=n)
    z = x + 0.5 * rng.normal(size=50)[groups] + 0.4 * rng.normal(size=n)
    counts = rng.poisson(np.exp(0.5 + np.where(upper, 0.6, -0.4) * x))
    more = {f"c{i}": values for i, values in enumerate(rng.normal(size=(COLUMNS, n)))}
    return pd.DataFrame({"x": x, "level": levels, "g": groups.astype(str), "y": y, "z": z,
                         "upper": upper.astype(int), "count": counts, **more})  # fmt: skip


def model_of(design: str, data: pd.DataFrame, n_components: int | None = None) -> object:
    """Public model of a design."""
    import bayesvb as bvb

    number = n_components or COMPONENTS.get(design, 2)
    if design == "mixture":
        return bvb.GaussianMixture(FORMULAS[design], data, n_components=number)
    if design == "network":
        return bvb.ConditionalMixtureNetwork(FORMULAS[design], data)
    family = {"family": design} if design in FAMILIES else {}
    return bvb.DensityRegression(FORMULAS[design], data, n_components=number, **family)


def steps(design: str, data: pd.DataFrame, folder: str) -> dict[str, Callable[[], object]]:
    """Steps of a session, in order."""
    import bayesvb as bvb

    kept: dict[str, bvb.Fit] = {}

    def fit() -> None:
        kept["fit"] = model_of(design, data).fit(seed=SEED)  # type: ignore[attr-defined]

    every: dict[str, Callable[[], object]] = {
        "import and fit": fit,
        "print": lambda: str(kept["fit"]),
        "check": lambda: kept["fit"].check(),
        "loo": lambda: kept["fit"].loo(),
        "report": lambda: kept["fit"].report(f"{folder}/fit.html"),
        "save": lambda: kept["fit"].save(f"{folder}/fit.nc"),
    }
    if design in ("base", "five"):
        every["quantiles"] = lambda: kept["fit"].predict(data, kind="quantile", q=[0.1, 0.5, 0.9])
        every["effects"] = lambda: bvb.effects.comparisons(kept["fit"], "level", average_by=True)
    if design in ("base", "student"):
        one = model_of(design, data, 1)
        every["select"] = lambda: bvb.select(one, n_components=range(1, 7), seed=SEED)
    few = {name: step for name, step in every.items() if len(data) <= MOST_STEPS.get(name, 500_000)}
    return few or {"import and fit": fit}


def worker(case: str) -> dict[str, float]:
    """Seconds of each step in this process, and memory."""
    warnings.simplefilter("ignore")
    design, n = case.split()
    data, waits = rows(int(n)), {}
    with tempfile.TemporaryDirectory() as folder:
        began = cpu()
        named = steps(design, data, folder)
        imported = peak()
        for name, step in named.items():
            step()
            waits[name], began = cpu() - began, cpu()
            if name == "import and fit":
                waits["memory"] = peak() - imported
    return waits


def measured(python: str, case: str, compiled: str) -> dict[str, float]:
    """Seconds of each step in a new process of an interpreter."""
    command = [python, __file__, "--worker", case]
    environment = {**os.environ, "BAYESVB_COMPILED": compiled}
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has these files
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
    waits: dict[str, float] = json.loads(done.stdout)
    return waits


def in_turns(case: str, repeats: int, ways: dict[str, tuple[str, str]]) -> dict[str, pd.DataFrame]:
    """Seconds by step of each repetition, for each interpreter with or without its core."""
    runs = [{way: measured(python, case, on) for way, (python, on) in ways.items()}
            for _ in range(repeats)]  # fmt: skip
    return {way: pd.DataFrame([run[way] for run in runs]) for way in ways}


def slower_steps(case: str, before: str, repeats: int, most: float) -> list[str]:
    """Print the ratios of the steps of a case to another version; those that are slower."""
    ways = {"before": (before, "1"), "now": (sys.executable, "1")}
    tables = {
        way: each.drop(columns="memory") for way, each in in_turns(case, repeats, ways).items()
    }
    steps = tables["before"].median() >= LEAST_SECONDS
    ratios = (tables["now"] / tables["before"]).loc[:, steps]
    mean, error = ratios.mean(), ratios.std() / np.sqrt(repeats)
    print(f"{case}, {repeats} pairs")
    print(pd.DataFrame({"ratio": mean, "standard error": error}).round(3).to_string())
    return [f"{case}, {step}" for step in mean.index[mean - 2.0 * error > most]]


def compared(case: str, before: str, repeats: int) -> pd.DataFrame:
    """One row for each step of a case."""
    tables = in_turns(case, repeats, {"before": (before, "1"), "numpy": (sys.executable, "0"),
                                      "compiled": (sys.executable, "1")})  # fmt: skip
    table = pd.DataFrame({way: each.median() for way, each in tables.items()})
    table["ratio"] = (tables["numpy"] / tables["before"]).median()
    table["ratio compiled"] = (tables["compiled"] / tables["before"]).median()
    table = table.loc[list(tables["compiled"])].round(3).rename_axis("step").reset_index()
    table.insert(0, "case", case)
    return table


def main() -> None:
    """Measure the cases, and keep them."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", nargs="+", default=CASES)
    parser.add_argument("--before", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--most", type=float)
    parser.add_argument("--worker")
    given = parser.parse_args()
    if given.worker is not None:
        print(json.dumps(worker(given.worker)))
        return
    if given.most is not None:
        each = (slower_steps(case, given.before, given.repeats, given.most) for case in given.cases)
        slower = [step for steps in each for step in steps]
        sys.exit(f"slower: {'; '.join(slower)}" if slower else None)
    sys.path.insert(0, str(Path(__file__).parent))
    from tables import keep

    for case in given.cases:
        keep(compared(case, given.before, given.repeats), "waits", by="case")


if __name__ == "__main__":
    main()
