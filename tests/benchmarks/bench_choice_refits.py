"""Choice of the number of components of wide designs, without refits of single rows and with them.

``DensityRegression(n_components=None)`` makes slow refits only where they may change the choice, a
rule that was set on 2,930 house prices. Here, on other data, the numbers of components are chosen
by that rule, with no refits, and with all refits; each ends after two numbers in a row without a
gain. Columns: terms of the mean (the mixing weights have as many), largest number that was fitted,
whether the rule makes refits, what each way chooses, nats by which refits change the elpd (largest
of all numbers), and the log density of held-out rows, per row, of the choice of the rule less that
of the choice with all refits. CPU seconds are of leave-one-out without refits and of the refits.

``python bench_choice_refits.py cps1985`` renews the rows of one set.
"""

from __future__ import annotations

import os

os.environ.setdefault("OMP_NUM_THREADS", "1")

import sys
import time
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.data.parts import MEAN
from bayesvb.datasets import load
from bayesvb.estimators.component_choice import _close_fits, _gain_of_last, _no_gain
from bayesvb.results.comparison import ranked
from bayesvb.results.criteria import elpd
from bayesvb.results.limits import LIMITS

MOST = 5


def lines(n_components: int, seed: int) -> pd.DataFrame:
    """900 rows of regressions on 30 columns, of which four have effects."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(900, 30))
    slopes = rng.normal(size=(n_components, 4))
    which = rng.integers(0, n_components, 900)
    y = (x[:, :4] * slopes[which]).sum(axis=1) + 0.5 * rng.normal(size=900)
    return pd.DataFrame(x).add_prefix("x").assign(y=y)


def others(data: pd.DataFrame, response: str) -> tuple[str, pd.DataFrame]:
    """All other columns."""
    numbers = data.select_dtypes("number")
    return f"{response} ~ " + " + ".join(numbers.drop(columns=response)), numbers


WAGES = "log(wage) ~ (education + experience) * (gender + union + occupation + sector) + region"
SETS: dict[str, Callable[[], tuple[str, pd.DataFrame]]] = {
    "breast cancer": lambda: others(load("breast_cancer"), "mean_smoothness"),
    "cps1985": lambda: (WAGES, load("cps1985")),
    "lines 1": lambda: others(lines(1, 71), "y"),
    "lines 2": lambda: others(lines(2, 72), "y"),
}


def measure(name: str) -> dict[str, object]:
    """The row of a data set, two thirds of which are fitted."""
    formula, data = SETS[name]()
    data = data.sample(frac=1.0, random_state=1, ignore_index=True)
    train, test = data[: 2 * len(data) // 3], data[2 * len(data) // 3 :]
    fits: dict[int, Any] = {}
    first: dict[int, Any] = {}
    whole: dict[int, Any] = {}
    seconds = np.zeros(2)
    while len(fits) < MOST and not (_ends(first) and _ends(whole)):
        k = len(fits) + 1
        fits[k] = bvb.DensityRegression(formula, train, n_components=k).fit(seed=1, n_jobs=1)
        began = time.process_time()
        first[k] = elpd(fits[k], refits=False)
        between = time.process_time()
        whole[k] = elpd(fits[k])
        seconds += between - began, time.process_time() - between
    tried = _prefix(fits, next((k for k in fits if _no_gain(_prefix(fits, k))), MOST))
    close = _close_fits(tried)
    ways = {"none": _until_end(first, first), "all": _until_end(whole, whole)}
    ways["rule"] = {k: whole[k] for k in close} if close else _prefix(first, max(tried))
    choices = {way: _chosen(results) for way, results in ways.items()}
    scores = {k: fits[k].log_density(test).mean() for k in set(choices.values())}
    return {
        "data": name,
        "rows": len(train),
        "terms": len(fits[1].model.source.whole().designs[MEAN]),
        "tried": len(fits),
        "rule refits": bool(close),
        **{f"chosen, {way}": choice for way, choice in choices.items()},
        "elpd change": max(abs(first[k].elpd - whole[k].elpd) for k in fits),
        "held out, rule less all": scores[choices["rule"]] - scores[choices["all"]],
        "loo, s": seconds[0],
        "refits, s": seconds[1],
    }


def _ends(results: Mapping[int, Any]) -> bool:
    """Whether the two largest numbers do not gain."""
    return _gain_of_last([one.elpd for one in results.values()]) <= LIMITS.equal_elpd


def _until_end(values: Mapping[int, Any], results: Mapping[int, Any]) -> dict[int, Any]:
    """Those of the numbers that are tried by these results."""
    return _prefix(values, next((k for k in results if _ends(_prefix(results, k))), MOST))


def _prefix(values: Mapping[int, Any], last: int) -> dict[int, Any]:
    """Those of the numbers up to one."""
    return {k: value for k, value in values.items() if k <= last}


def _chosen(results: Mapping[int, Any]) -> int:
    """The number chosen by these results."""
    chosen = ranked(results)["chosen"]
    return int(chosen.index[chosen][0])


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    for case in sys.argv[1:] or SETS:
        keep(pd.DataFrame([measure(case)]), "choice_refits", by="data")
