"""Rows left out with effects of groups: the derivative of a pass with and without empty products.

Two components, ten rows for each group, random intercepts. Seconds of the derivative of a pass and
of its triangular factors, the ways interleaved; run by hand.

``--response`` takes linear response with groups eliminated one by one and by differences of passes,
in seconds of the processor, of at least 192 rows. ``--weights`` takes it where the weights have the
groups too, for both gates: those eliminated with the effects of the components, and as columns of
the weights, beside which groups are eliminated up to 600 statistics and differences taken beyond.
"""

import sys
import time
import warnings
from unittest.mock import patch

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.models import groups_apart
from bayesvb.models.column_response import column_response
from bayesvb.sensitivity import solvers as module
from bayesvb.sensitivity.covariance import linear_response
from bayesvb.sensitivity.deletion import Deletion

GROUPS = (15, 30, 60)
REPEATS = 3
EVERY = 10**9


def fit_of(
    n_groups: int,
    n_rows: int = 10,
    text: str = "y ~ x + (1 | g) | x",
    gate: str = "stick-breaking",
):
    """A fit with so many groups, and so many rows of each."""
    rng = np.random.default_rng(1)
    group = np.repeat(np.arange(n_groups), n_rows)
    x, second = rng.normal(size=len(group)), rng.random(len(group)) < 0.5
    y = np.where(second, 2.0 + x, -2.0 - 0.5 * x) + rng.normal(size=n_groups)[group]
    data = pd.DataFrame({"x": x, "g": group, "y": y + 0.5 * rng.normal(size=len(group))})
    model = bvb.DensityRegression(text, data, n_components=2, gate=gate)
    return model.fit(seed=1, restarts=1, draws=30, covariance="mean-field")


def seconds(fit, few: int) -> float:
    """Time until rows can be left out, where so few entries are all looked at."""
    module.FEW_ENTRIES = few
    began = time.perf_counter()
    found = module.choose_solver(fit.core, fit.model.source, fit.stats)
    Deletion(fit.core, fit.model.source, fit.stats, found).solve(np.ones((1, found.n_entries)))
    return time.perf_counter() - began


def seconds_of_response(fit) -> float:
    """Seconds of the processor for linear response."""
    began = time.process_time()
    linear_response(fit.core, fit.model.source, fit.stats)
    return time.process_time() - began


def responses() -> None:
    """One row per number of groups."""
    groups_apart.FEWEST_GROUPS, records = 3, []
    for n_groups in (4, 8, 12, 16, 24, 50, 100, 200):
        fit = fit_of(n_groups, max(10, 200 // n_groups))
        times = []
        for _ in range(REPEATS if n_groups < 150 else 1):
            own = seconds_of_response(fit)
            with patch.object(type(fit.core), "response_of_columns", lambda *_: None):
                times.append((own, seconds_of_response(fit)))
        own, differences = np.median(times, axis=0)
        records.append({"groups": n_groups, "eliminated": own, "by_differences": differences,
                        "ratio": differences / own})  # fmt: skip
    keep(pd.DataFrame(records), "group_response")


def columns_in_weights(model, stats, posterior, source):
    """Linear response with the groups of the experts eliminated, those of the weights columns."""
    apart = model.groups_apart(stats, source)
    return None if apart is None else column_response(apart, model.coordinates(posterior))


def responses_with_weights() -> None:
    """One row per gate and number of groups; without the slow way beyond 200 groups."""
    records = []
    for gate in ("softmax", "stick-breaking"):
        for n_groups in (8, 24, 50, 100, 200, 400):
            fit = fit_of(n_groups, max(10, 200 // n_groups), "y ~ x + (1 | g)", gate)
            times = []
            for _ in range(REPEATS if n_groups < 100 else 1):
                own = seconds_of_response(fit)
                with patch.object(type(fit.core), "response_of_columns", columns_in_weights):
                    slow = seconds_of_response(fit) if n_groups <= 200 else np.nan
                times.append((own, slow))
            own, slow = np.median(times, axis=0)
            records.append({"gate": gate, "groups": n_groups, "eliminated": own,
                            "columns_in_weights": slow, "ratio": slow / own})  # fmt: skip
    keep(pd.DataFrame(records), "group_response_weights")


def main() -> None:
    """One row per number of groups."""
    warnings.simplefilter("ignore")
    records = []
    for n_groups in GROUPS:
        fit = fit_of(n_groups)
        times = np.array([[seconds(fit, few) for few in (EVERY, 0)] for _ in range(REPEATS)])
        before, after = np.median(times, axis=0)
        entries = fit.stats.to_vector().size
        records.append(
            {"groups": n_groups, "entries": entries, "every_entry": before,
             "entries_with_rows": after, "ratio": before / after}
        )  # fmt: skip
    keep(pd.DataFrame(records), "group_terms")


if __name__ == "__main__":
    ways = {"--response": responses, "--weights": responses_with_weights}
    ways.get(sys.argv[-1], main)()
