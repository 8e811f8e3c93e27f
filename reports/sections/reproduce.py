"""Reproduce: the code of the fit, versions, and references."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING

import pandas as pd

from ..cells.plain import Summary
from ..cells.tables import table

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

PACKAGES = ("bayesvb", "numpy", "scipy", "pandas", "formulaic", "arviz", "xarray", "statsmodels",
            "matplotlib", "jinja2")  # fmt: skip

CITATIONS = (
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
        "what": "contents of a report",
        "text": "Kruschke (2021), Bayesian Analysis Reporting Guidelines, Nature Human "
        "Behaviour 5.",
        "link": "https://doi.org/10.1038/s41562-021-01177-7",
    },
)


def summary(fit: AbstractFit) -> Summary:
    """Code, data hash, environment, licence and citations."""
    return {
        "code": fit.code(),
        "data_hash": data_hash(fit.model.design.given),
        "hash_code": HASH_CODE,
        "environment": _environment(),
        "licence": "bayesvb is published under the BSD 3-Clause licence.",
        "citations": [*_of_model(fit), *CITATIONS],
    }


def _of_model(fit: AbstractFit) -> list[Summary]:
    text = fit.model.reference
    return [{"what": "model and algorithm", "text": text, "link": None}] if text else []


HASH_CODE = (
    "hashlib.sha256(pandas.util.hash_pandas_object(fit.model.design.given, index=False)"
    ".to_numpy().tobytes()).hexdigest()"
)


def data_hash(frame: pd.DataFrame) -> str:
    """SHA-256 of the rows used and the columns that the formula reads; names do not count."""
    rows = pd.util.hash_pandas_object(frame, index=False).to_numpy()
    return hashlib.sha256(rows.tobytes()).hexdigest()


def _environment() -> Summary:
    rows = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    frame = pd.DataFrame({"version": rows}).rename_axis("package")
    return table(frame, "Versions at the time of this report.")
