"""Reproduce: the code of the fit, what it ran on, and what to cite."""

from __future__ import annotations

import hashlib
import platform
from dataclasses import fields
from importlib.metadata import version
from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.priors import Priors

from ..plain import Summary
from ..tables import table

if TYPE_CHECKING:
    from bayesvb.fit import Fit

PACKAGES = ("bayesvb", "numpy", "scipy", "pandas", "formulaic", "arviz", "xarray", "statsmodels",
            "matplotlib", "jinja2")  # fmt: skip

CITATIONS = (
    {
        "what": "model and algorithm",
        "text": "Chuu (2018), A Variational Approach for Bayesian Density Regression.",
        "link": None,
    },
    {
        "what": "leave-one-out, Pareto k",
        "text": "Vehtari, Gelman, Gabry (2017), Practical Bayesian model evaluation using "
        "leave-one-out cross-validation and WAIC, Statistics and Computing 27.",
        "link": "https://arxiv.org/abs/1507.04544",
    },
    {
        "what": "k-hat of an approximation",
        "text": "Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work? Evaluating "
        "variational inference.",
        "link": "https://arxiv.org/abs/1802.02538",
    },
    {
        "what": "band of the PIT",
        "text": "Säilynoja, Bürkner, Vehtari (2022), Graphical test for discrete uniformity and "
        "its applications, Statistics and Computing 32.",
        "link": "https://doi.org/10.1007/s11222-022-10090-6",
    },
    {
        "what": "what a report should hold",
        "text": "Kruschke (2021), Bayesian Analysis Reporting Guidelines, Nature Human Behaviour 5.",
        "link": "https://doi.org/10.1038/s41562-021-01177-7",
    },
)


def summary(fit: Fit) -> Summary:
    """Code, data hash, environment, licence and citations."""
    return {
        "code": code(fit),
        "data_hash": data_hash(fit.model.design.frame),
        "hash_code": HASH_CODE,
        "environment": _environment(),
        "licence": "bayesvb is published under the BSD 3-Clause licence.",
        "citations": list(CITATIONS),
    }


HASH_CODE = (
    "hashlib.sha256(pandas.util.hash_pandas_object(fit.model.design.frame, index=False)"
    ".to_numpy().tobytes()).hexdigest()"
)


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of the rows used and the columns that the formula reads; names do not count."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes()).hexdigest()


def code(fit: Fit) -> str:
    """Python that makes the same fit again from the same data frame."""
    model = fit.model
    options = [f"n_components={model.n_components}", f"gate={model.gate!r}"]
    changed = [
        f"{field.name}={getattr(model.priors, field.name)!r}"
        for field in fields(Priors)
        if getattr(model.priors, field.name) != field.default
    ]
    if changed:
        options.append(f"priors=bvb.Priors({', '.join(changed)})")
    if model.weights is not None:
        options.append("weights=weights")
    listed = "".join(f"    {option},\n" for option in options)
    n_rows = len(model.design.complete)
    return (
        "import bayesvb as bvb\n\n"
        f"# data: the data frame, {n_rows} rows"
        f"{'; weights: one number per row' if model.weights is not None else ''}\n"
        f"model = bvb.DensityRegression(\n    {model.formula.canonical()!r},\n    data,\n{listed})\n"
        f"fit = model.fit(restarts={len(fit.restarts)}, draws={fit.n_draws}, "
        f"seed={fit.seed})\n"
    )


def _environment() -> Summary:
    rows = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    frame = pd.DataFrame({"version": rows}).rename_axis("package")
    return table(frame, "Versions at the time of this report.")
