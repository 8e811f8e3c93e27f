"""Lower bounds of Gaussian mixtures by BayesPy from given partitions: writes bayespy.json.

    python3.11 -m venv somewhere
    somewhere/bin/pip install "numpy<1.24" "scipy<1.11" bayespy
    somewhere/bin/python tests/reference/gaussian_mixture/make_bayespy.py

The versions that made the file are in it. Diagonal covariances (and full ones of one variable) have
the same posterior there, a normal-gamma for each mean and precision, and the same bound after every
sweep. For full covariances of several variables BayesPy takes means and precision matrices as
independent: its joint distribution of the two cannot be updated. At given responsibilities this
costs, per component, a number of nats that depends on nothing but the degrees of freedom and the
number of variables; see the test. As its prior ties the mean's precision to the precision matrix
without a factor, the prior of the mean is worth one row.
"""

import json
from pathlib import Path

import bayespy
import numpy as np
import scipy
from bayespy.inference import VB
from bayespy.nodes import (
    Categorical,
    Dirichlet,
    Gaussian,
    GaussianARD,
    GaussianGamma,
    Mixture,
    Wishart,
)

CASES = (  # form, rows, dims, components, iterations
    ("diagonal", 60, 1, 2, 6),
    ("diagonal", 60, 2, 3, 8),
    ("diagonal", 60, 3, 2, 12),
    ("full", 60, 2, 3, 8),
    ("full", 60, 3, 2, 20),
)
CONCENTRATION = 0.7
INNER = 60  # alternations of means and precision matrices: their ratio falls like dof^-n


def bound(nodes):
    return float(sum(node.lower_bound_contribution() for node in nodes))


def diagonal(x, prior, z, weights, n):
    """Bound after every sweep; plates are variables and components."""
    dims, components = x.shape[1], weights.dims[0][0]
    ones = np.ones((dims, components))
    shape = 0.5 * (prior["dof"] + 1.0 - dims)
    rate = 0.5 * np.diag(prior["scatter"])[:, None] * ones
    mean = np.array(prior["mean"])[:, None] * ones
    law = GaussianGamma(mean, prior["mean_precision"] * ones, shape, rate, ndim=0)
    y = Mixture(z, GaussianARD, law, ones)
    y.observe(x)
    everything, found = (y, law, z, weights), []
    for _ in range(n):
        law.update()
        weights.update()
        z.update()
        found.append(bound(everything))
    return found


def full(x, prior, z, weights, n):
    """Bound before the last update of the responsibilities, and these."""
    components = weights.dims[0][0]
    precision = Wishart(prior["dof"], np.array(prior["scatter"]), plates=(components,))
    mean = Gaussian(np.array(prior["mean"]), precision)
    y = Mixture(z, Gaussian, mean, precision)
    y.observe(x)
    everything, found = (y, mean, precision, z, weights), []
    VB(*everything)
    precision.initialize_from_value(np.eye(x.shape[1]) + np.zeros((components, 1, 1)))
    for _ in range(n):
        for _ in range(INNER):
            mean.update()
            precision.update()
        weights.update()
        found.append(bound(everything))  # of the responsibilities before the next line
        last = z.u[0].copy()
        z.update()
    return found, last


def case(number, form, rows, dims, components, n):
    rng = np.random.default_rng(number)
    centres = 3.0 * rng.normal(size=(components, dims))
    x = np.round(centres[rng.integers(0, components, rows)] + rng.normal(size=(rows, dims)), 3)
    r = np.round(0.9 * rng.dirichlet(np.ones(components), rows) + 0.1 / components, 3)
    r[:, -1] = 1.0 - r[:, :-1].sum(axis=1)
    prior = {
        "concentration": CONCENTRATION,
        "mean": np.round(rng.normal(size=dims), 3).tolist(),
        "mean_precision": 1.0 if form == "full" else 0.3,
        "dof": dims + 1.5,
        "scatter": np.round(np.eye(dims) + 0.3, 3).tolist(),
    }
    weights = Dirichlet(CONCENTRATION * np.ones(components))
    z = Categorical(weights, plates=(rows,) if form == "full" else (rows, 1))
    start = r if form == "full" else r[:, None]
    z.initialize_from_parameters(start)
    z.u = [start]
    common = {"form": form, "x": x.tolist(), "start": r.tolist(), "prior": prior}
    if form == "diagonal":
        return common | {"bounds": diagonal(x, prior, z, weights, n)}
    found, last = full(x, prior, z, weights, n)
    return common | {"bounds": found[-1:], "responsibilities": np.asarray(last).tolist()}


if __name__ == "__main__":
    cases = [case(number, *which) for number, which in enumerate(CASES)]
    versions = {m.__name__: m.__version__ for m in (bayespy, np, scipy)}
    path = Path(__file__).with_name("bayespy.json")
    path.write_text(json.dumps(versions | {"cases": cases}) + "\n", encoding="utf-8")
