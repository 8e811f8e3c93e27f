"""Posterior means and spreads against sampling, and what linear response costs beside the fit."""

import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
from tables import keep

import bayesvb as bvb
from bayesvb.sensitivity.covariance import linear_response

REFERENCE = Path(__file__).resolve().parents[1] / "reference" / "two_experts"
PRIORS = bvb.Priors(
    standardize=False,
    coefficient_sd=10.0,
    noise_shape=1.0,
    noise_rate=1.0,
    gating_sd=1.0,
    gating_intercept_sd=1.0,
    scales="fixed",
)
GATES = ("softmax", "softmax-jensen", "stick-breaking")
COVARIANCES = ("mean-field", "linear-response", "importance")
PARTS = ("coefficients", "gate", "sigma")
SIZES = ((600, 2, 1), (600, 5, 1), (2000, 3, 4), (2000, 5, 5), (10_000, 5, 5), (2000, 10, 10))
"""Rows, components, covariates."""


def parameters(fit: bvb.Fit, covariance: str) -> np.ndarray:
    """Draws of the eight parameters, the expert with the larger slope first."""
    draws = fit.with_covariance(covariance).posterior
    beta, sigma = draws["beta"].to_numpy()[0], draws["sigma"].to_numpy()[0]
    order = np.argsort(-beta[:, :, 1].mean(axis=0))
    sign = 1.0 if int(draws["component_gating"][0]) == order[0] + 1 else -1.0
    gamma = sign * draws["gamma"].to_numpy()[0, :, 0]
    return np.concatenate([beta[:, order].reshape(len(beta), -1), gamma, sigma[:, order]], axis=1)


def against_sampling() -> pd.DataFrame:
    """Spreads as multiples of those of sampling; means less those of sampling, in its sd."""
    data = pd.read_csv(REFERENCE / "rows.csv")
    reference = json.loads((REFERENCE / "posterior.json").read_text(encoding="utf-8"))
    rows = []
    for gate in GATES:
        model = bvb.DensityRegression("y ~ x", data, n_components=2, gate=gate, priors=PRIORS)
        fit = model.fit(seed=1, draws=40_000)
        # The bounds of the softmax gate differ; the model that was sampled from is the same.
        nuts = reference["softmax" if gate.startswith("softmax") else gate]["nuts"]
        found = {name: parameters(fit, name) for name in COVARIANCES}
        names = [(part, i) for part in PARTS for i in range(np.size(nuts[part]))]
        for number, (part, i) in enumerate(names):
            mean, sd = np.ravel(nuts[part])[i], np.ravel(nuts[f"{part}_sd"])[i]
            row = {"gate": gate, "parameter": f"{part} {i + 1}", "nuts sd": sd}
            for name, draws in found.items():
                row[f"sd, {name}"] = draws[:, number].std() / sd
                row[f"mean, {name}"] = (draws[:, number].mean() - mean) / sd
            rows.append(row)
    return pd.DataFrame(rows)


def cost(n_rows: int, n_components: int, n_covariates: int, gate: str) -> dict[str, object]:
    """Seconds of a fit with eight restarts, and of the linear response alone."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(n_rows, n_covariates))
    part = rng.integers(0, n_components, n_rows)
    slopes = rng.normal(size=(n_components, n_covariates))
    y = 3.0 * part + (slopes[part] * x).sum(axis=1) + 0.5 * rng.normal(size=n_rows)
    data = pd.DataFrame(x, columns=[f"x{i}" for i in range(n_covariates)]).assign(y=y)
    model = bvb.DensityRegression("y ~ .", data, n_components=n_components, gate=gate)
    fit = model.fit(seed=1, covariance="mean-field")
    began = time.perf_counter()
    found = linear_response(fit.core, model.source.with_workers(2), fit.stats)
    seconds = time.perf_counter() - began
    return {
        "rows": n_rows,
        "components": n_components,
        "gate": gate,
        "coefficients": 2 * n_components * (n_covariates + 1),
        "passes": found.n_iter,
        "seconds": seconds,
        "fit seconds": fit.seconds,
        "ratio": seconds / fit.seconds,
        "label": found.label,
    }


def main() -> None:
    keep(against_sampling(), "intervals_sampling")
    gates = ("softmax", "stick-breaking")
    keep(pd.DataFrame([cost(*size, gate) for gate in gates for size in SIZES]), "intervals_cost")


if __name__ == "__main__":
    main()
