"""Engines side by side on two experts, 600 rows: estimates, held-out density, seconds.

    python tests/benchmarks/bench_engines.py --methods cavi em svi

The rows, priors and reference values are those of tests/reference/two_experts: nothing is
standardised. ``sampled`` is what numpyro's sampler said of the same posterior in another program.
``lpd`` is the mean log predictive density of 20 000 new rows of the same design, ``seconds`` the
wall time of the whole fit by one thread, compiling included, ``times`` the same as a multiple of
``cavi``. Gate coefficients are those of expert 1, with the larger slope. Methods that are not
there are left out with a message. Results: docs/benchmarks/engines.csv.
"""

import argparse
import json
import runpy
import time
import warnings
from typing import Any

import numpy as np
import pandas as pd
from bench_intervals import PRIORS, REFERENCE
from tables import keep

import bayesvb as bvb
from bayesvb.errors import DataError

GATES = ("softmax", "stick-breaking")
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "cavi": ("cavi", {}),
    "cavi, mean-field": ("cavi", {"covariance": "mean-field"}),
    "em": ("em", {}),
    "maximum likelihood": ("em", {"prior": False}),
    "svi": ("svi", {}),
    "bbvi": ("bbvi", {}),
    "bbvi, mean-field": ("bbvi", {"guide": "mean-field"}),
    "bbvi, paper": ("bbvi", {"preset": "network-paper"}),
    "nuts": ("nuts", {"draws": 4000}),
}
NAMES = ("beta 1, 1", "beta 1, x", "beta 2, 1", "beta 2, x", "gate 1", "gate x", "sigma 1",
         "sigma 2")  # fmt: skip
N_NEW = 20_000


def new_rows() -> pd.DataFrame:
    """Rows of the same design that no fit has seen."""
    rng = np.random.default_rng(2026)
    x = rng.uniform(-2.0, 2.0, N_NEW)
    first = rng.random(N_NEW) < 1.0 / (1.0 + np.exp(-(0.3 + x)))
    noise = rng.normal(size=N_NEW)
    y = np.where(first, 1.0 + 1.5 * x + 0.5 * noise, -1.0 - x + 0.8 * noise)
    return pd.DataFrame({"x": x, "y": y})


def parameters(fit: bvb.Fit) -> np.ndarray:
    """Draws of the eight parameters, the expert with the larger slope first."""
    posterior = fit.posterior.stack(sample=("chain", "draw")).transpose("sample", ...)
    beta, sigma = posterior["beta"].to_numpy(), posterior["sigma"].to_numpy()
    order = np.argsort(-beta[:, :, 1].mean(axis=0))
    sign = 1.0 if int(posterior["component_gating"][0]) == order[0] + 1 else -1.0
    gamma = sign * posterior["gamma"].to_numpy()[:, 0]
    return np.concatenate([beta[:, order].reshape(len(beta), -1), gamma, sigma[:, order]], axis=1)


def row_of(label: str, gate: str, data: pd.DataFrame, new: pd.DataFrame) -> dict[str, object]:
    """What one engine says."""
    method, options = METHODS[label]
    model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=PRIORS)
    began = time.perf_counter()
    fit = model.fit(method, seed=1, n_jobs=1, **options)
    seconds = time.perf_counter() - began
    draws = parameters(fit)
    found: dict[str, object] = {"gate": gate, "method": label}
    for name, values in zip(NAMES, draws.T, strict=True):
        found |= {name: values.mean(), f"sd of {name}": values.std(ddof=1)}
    return found | {"lpd": float(fit.log_density(new).mean()), "seconds": seconds}


def sampled(gate: str) -> dict[str, object]:
    """What another program's sampler said."""
    told = json.loads((REFERENCE / "posterior.json").read_text(encoding="utf-8"))[gate]["nuts"]
    parts = ("coefficients", "gate", "sigma")
    mean = np.concatenate([np.ravel(told[part]) for part in parts])
    sd = np.concatenate([np.ravel(told[f"{part}_sd"]) for part in parts])
    found: dict[str, object] = {"gate": gate, "method": "sampled"}
    for name, centre, spread in zip(NAMES, mean, sd, strict=True):
        found |= {name: centre, f"sd of {name}": spread}
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--methods", nargs="+", default=list(METHODS), choices=list(METHODS))
    given = parser.parse_args()
    x, y = runpy.run_path(str(REFERENCE / "make.py"))["rows"]()
    data, new, lines = pd.DataFrame({"x": x, "y": y}), new_rows(), []
    for gate in GATES:
        lines.append(sampled(gate))
        for label in given.methods:
            try:
                with warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    lines.append(row_of(label, gate, data, new))
            except DataError as error:
                print(f"{label}: {error}")
    table = pd.DataFrame(lines)
    first = table[table["method"] == "cavi"].set_index("gate")["seconds"]
    if len(first):
        table["times"] = table["seconds"] / table["gate"].map(first)
    keep(table, "engines", by="gate")


if __name__ == "__main__":
    main()
