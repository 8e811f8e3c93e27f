"""CPU seconds that a user waits: from the import to the saved file, beside another version.

    python tests/benchmarks/bench_waits.py --rows 100 1000 10000 --before ../before/.venv/bin/python

Two experts, one number and three levels, two components, eight restarts. Each number of rows runs
in new processes, in turn with each interpreter, so that an import counts; steps come in the order
of the table, and keep what those before have computed. ``quantiles``: three of every row.
``effects``: comparisons of all levels, averaged. ``select``: one to three components, up to 1,000
rows.
``scikit-learn mixture`` and ``mixture``: eight starts of a Gaussian mixture of both numbers.
``MixedLM`` and ``one component``: a regression with 20 groups. Median of ``--repeats`` processes;
``ratio`` is the median of the ratios of pairs. Results: docs/benchmarks/waits.csv.
"""

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import warnings
from collections.abc import Callable

import numpy as np
import pandas as pd

SEED, MOST_SELECTED, MOST_GROUPED = 1, 1_000, 10_000


def cpu() -> float:
    """CPU seconds of this process and of those that it has waited for."""
    each = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return sum(one.ru_utime + one.ru_stime for one in each)


def rows(n: int) -> pd.DataFrame:
    """Two lines with different noise, the switch depending on x, and 20 groups."""
    rng = np.random.default_rng(SEED)
    x, noise = rng.normal(size=(2, n))
    upper = rng.random(n) < 1.0 / (1.0 + np.exp(-1.5 * x))
    y = np.where(upper, 1.0 + x + 0.3 * noise, -1.0 - 0.5 * x + 0.6 * noise)
    levels, groups = np.array(list("abc"))[rng.integers(3, size=n)], rng.integers(20, size=n)
    z = x + 0.5 * rng.normal(size=20)[groups] + 0.4 * rng.normal(size=n)
    return pd.DataFrame({"x": x, "level": levels, "g": groups.astype(str), "y": y, "z": z})


def steps(data: pd.DataFrame, folder: str) -> dict[str, Callable[[], object]]:
    """What a user waits for, in order."""
    import bayesvb as bvb

    made: dict[str, bvb.Fit] = {}

    def fit() -> None:
        model = bvb.DensityRegression("y ~ x + level", data, n_components=2)
        made["fit"] = model.fit(seed=SEED)

    each: dict[str, Callable[[], object]] = {
        "import and fit": fit,
        "print": lambda: str(made["fit"]),
        "check": lambda: made["fit"].check(),
        "loo": lambda: made["fit"].loo(),
        "quantiles": lambda: made["fit"].predict(data, kind="quantile", q=[0.1, 0.5, 0.9]),
        "effects": lambda: bvb.effects.comparisons(made["fit"], "level", average_by=True),
        "report": lambda: made["fit"].report(f"{folder}/fit.html"),
        "save": lambda: made["fit"].save(f"{folder}/fit.nc"),
    }
    if len(data) <= MOST_SELECTED:
        several = bvb.DensityRegression("y ~ x + level", data, n_components=1)
        each["select"] = lambda: bvb.select(several, n_components=[1, 2, 3], seed=SEED)
    return each


def peers(data: pd.DataFrame, _: str) -> dict[str, Callable[[], object]]:
    """The same question to other packages and to this one, one after the other."""
    import sklearn.mixture
    import statsmodels.formula.api as smf

    import bayesvb as bvb

    numbers = data[["x", "y"]]

    def one_component() -> object:
        return bvb.DensityRegression("z ~ x + (1 | g)", data, n_components=1).fit(seed=SEED)

    other = sklearn.mixture.GaussianMixture(2, n_init=8, random_state=SEED)
    each: dict[str, Callable[[], object]] = {
        "scikit-learn mixture": lambda: other.fit(numbers.to_numpy()),
        "mixture": lambda: bvb.GaussianMixture("~ x + y", data, n_components=2).fit(seed=SEED),
    }
    if len(data) <= MOST_GROUPED:
        each["MixedLM"] = lambda: smf.mixedlm("z ~ x", data, groups=data["g"]).fit()
        each["one component"] = one_component
    return each


def worker(n: int) -> dict[str, float]:
    """Seconds of each step in this process."""
    warnings.simplefilter("ignore")
    data, waits = rows(n), {}
    with tempfile.TemporaryDirectory() as folder:
        for made in (steps, peers):
            began = cpu()
            named = made(data, folder)
            began = began if made is steps else cpu()  # the other packages are imported by then
            for name, step in named.items():
                step()
                waits[name], began = cpu() - began, cpu()
    return waits


def measured(python: str, n: int) -> dict[str, float]:
    """Seconds of each step in a new process of an interpreter."""
    command = [python, __file__, "--worker", str(n)]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    found: dict[str, float] = json.loads(done.stdout)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rows", type=int, nargs="+", default=[100, 1_000, 10_000, 100_000])
    parser.add_argument("--before", default=sys.executable)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--worker", type=int)
    given = parser.parse_args()
    if given.worker is not None:
        print(json.dumps(worker(given.worker)))
        return
    from tables import keep

    for n in given.rows:
        pairs = [
            [measured(python, n) for python in (given.before, sys.executable)]
            for _ in range(given.repeats)
        ]
        before, after = (pd.DataFrame(each) for each in zip(*pairs, strict=True))
        table = pd.DataFrame({
            "before": before.median(), "after": after.median(), "ratio": (after / before).median()
        })  # fmt: skip
        table = table.round(3).rename_axis("step").reset_index()
        table.insert(0, "rows", n)
        keep(table, "waits", by="rows")


if __name__ == "__main__":
    main()
