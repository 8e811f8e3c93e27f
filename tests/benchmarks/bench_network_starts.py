"""Stacks of networks with and without starts from all rows in one component.

    BAYESVB_DATA=folder python tests/benchmarks/bench_network_starts.py [digits:120:0 ...]

A job is a data set, a number of training rows and a seed, as in ``bench_network_certainty.py``;
``digits`` are the threes and eights of scikit-learn's digits, 64 columns of which some hardly vary.
Both ways fit with defaults, 20 experts (pinwheel: ten), in turns in one process: eight restarts,
of which the last sets out from one component, or from another division of the rows. ``lpd`` is the
mean log density of new rows, ``passes`` those of all restarts over all rows. The start was chosen
on these jobs; none of them is a set of ``bench_network_folds.py``. Results:
docs/benchmarks/network_starts.csv.
"""

import sys
import warnings
from dataclasses import replace

import numpy as np
import pandas as pd
from bench_network_certainty import Split, labelled, split
from bench_network_sizes import stratified
from sklearn.datasets import load_digits
from tables import keep
from threadpoolctl import threadpool_limits

import bayesvb as bvb
from bayesvb.models.network.model import Network

JOBS = (
    "digits:120:0", "digits:200:1", "wine:120:0", "wine:120:1", "wine:120:2", "wine:100:3",
    "separable:300:0", "separable:300:1", "three:120:0", "three:120:1", "three:120:2",
    "logit:300:0", "logit:300:1", "redwine:800:1", "wide:150:0", "pinwheel:200:0",
    "pinwheel:1600:0",
)  # fmt: skip
LEAST_SPREAD = 0.5
STARTS = Network.starts


def rows_of(name: str, size: int, seed: int) -> Split:
    """Training and new rows."""
    if name != "digits":
        return split(name, size, seed)
    given = load_digits()
    two = np.isin(given.target, [3, 8])
    columns = given.data[two][:, given.data[two].std(axis=0) > LEAST_SPREAD]
    frame = labelled(columns, given.target[two])
    return stratified(frame, len(frame) - size, seed)


def record(job: str, one_component: bool) -> dict[str, object]:
    """One fit, its passes and what it foresees of new rows."""
    name, size, seed = job.split(":")
    train, test = rows_of(name, int(size), int(seed))
    few = ("one component",) * one_component
    Network.starts = lambda network, n: replace(STARTS(network, n), few=few)
    n_experts = 10 if name == "pinwheel" else 20
    model = bvb.ConditionalMixtureNetwork("label ~ .", train, n_experts=n_experts)
    fit = model.fit(seed=int(seed), draws=250, n_jobs=1)
    undivided = fit.restarts["initialisation"] == "one component"
    return {
        "job": job,
        "one component": one_component,
        "passes": int(fit.restarts["n_iter"].sum()),
        "weight of one component": float(fit.restarts["weight"][undivided].sum()),
        "lpd": float(fit.log_density(test).mean()),
    }


def main() -> None:
    """Two rows per job, kept as soon as they are there."""
    with warnings.catch_warnings(), threadpool_limits(1):
        warnings.simplefilter("ignore")
        for job in sys.argv[1:] or JOBS:
            found = [record(job, one_component) for one_component in (False, True)]
            keep(pd.DataFrame(found), "network_starts", by="job")


if __name__ == "__main__":
    main()
