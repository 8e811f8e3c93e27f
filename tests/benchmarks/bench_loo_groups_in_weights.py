"""Leave-one-out of fits whose weights have the groups too, by sums by group and with columns.

Two components, ten rows for each group, both gates: seconds of the processor. Run by hand.
"""

import time
import warnings
from contextlib import nullcontext
from unittest.mock import patch

import numpy as np
import pandas as pd
from bench_groups_in_weights import GATES, simulated
from tables import keep

import bayesvb as bvb

GROUPS = (60, 100, 200)
MOST_WITH_COLUMNS = 100
"""Groups up to which columns are tried too."""


def measured(n_groups: int, gate: str, *, by_group: bool) -> tuple[float, float]:
    """Seconds, and the estimate."""
    model = bvb.DensityRegression("y ~ x + (1 | g)", simulated(n_groups), n_components=2, gate=gate)
    fit = model.fit(seed=1, restarts=1, draws=30)
    kept = patch.object(type(fit.core), "groups_apart", lambda *_: None)
    began = time.process_time()
    with nullcontext() if by_group else kept:
        value = fit.rows_left_out.log_density.sum()
    return time.process_time() - began, float(value)


def main() -> None:
    """One row for each gate and number of groups."""
    warnings.simplefilter("ignore")
    records = []
    for gate in GATES:
        for n_groups in GROUPS:
            own, value = measured(n_groups, gate, by_group=True)
            columns, other = np.nan, np.nan
            if n_groups <= MOST_WITH_COLUMNS:
                columns, other = measured(n_groups, gate, by_group=False)
            one = {"gate": gate, "groups": n_groups, "by_group": own, "columns": columns}
            records.append({**one, "ratio": columns / own, "elpd": value, "elpd_columns": other})
    keep(pd.DataFrame(records), "loo_groups_in_weights")


if __name__ == "__main__":
    main()
