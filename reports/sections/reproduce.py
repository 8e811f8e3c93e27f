"""Reproduce: the code of the fit, what it ran on, and what to cite."""

from __future__ import annotations

import hashlib
import platform
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

import pandas as pd

from bayesvb.engines import DEFAULT_METHOD
from bayesvb.engines.traces import number_before
from bayesvb.results.exact_draws import has_automatic_draws
from bayesvb.results.named_draws import count
from bayesvb.sensitivity.covariance import NOT_ASKED

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
        "what": "what a report should hold",
        "text": "Kruschke (2021), Bayesian Analysis Reporting Guidelines, Nature Human "
        "Behaviour 5.",
        "link": "https://doi.org/10.1038/s41562-021-01177-7",
    },
)


def summary(fit: AbstractFit) -> Summary:
    """Code, data hash, environment, licence and citations."""
    return {
        "code": code(fit),
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


def code(fit: AbstractFit) -> str:
    """Python that makes the same fit again from the same data frame."""
    model, weighted, before = fit.model, fit.model.weights is not None, number_before(fit.restarts)
    given = {**model.options(), **({"n_components": before} if before else {})}
    options = [f"{name}={value!r}" for name, value in given.items() if name != "priors"]
    changed = changed_priors(model.priors)
    if changed:
        options.append(f"priors=bvb.{type(model.priors).__name__}({', '.join(changed)})")
    if weighted:
        options.append("weights=weights")
    told = model.size > 1 or model.formula.gating_given
    lines = [repr(model.formula.canonical(gate=told)), "data", *options]
    restarts = len(fit.restarts) - bool(before)
    return (
        "import bayesvb as bvb\n\n"
        f"# data: the data frame, {len(model.design.complete)} rows"
        f"{'; weights: one number per row' if weighted else ''}\n"
        f"model = bvb.{type(model).__name__}(\n"
        + "".join(f"    {line},\n" for line in lines)
        + f")\nfit = model.fit(restarts={restarts}, draws={count(fit.draws)}, "
        f"{_method(fit)}{_combine(fit)}{_covariance(fit)}seed={fit.seed})\n"
        + ("fit = bvb.prune(fit)\n" if before else "")
        + _robust(fit)
        + _sampled(fit)
    )


def _sampled(fit: AbstractFit) -> str:
    """Call that samples the exact posterior, where the draws are from there."""
    if fit.automatic or fit.sampler is None:
        return ""
    return f'fit = fit.with_covariance("{fit.covariance}")\n'


def _robust(fit: AbstractFit) -> str:
    """Call that makes the covariance robust, unless the fit was made with it."""
    if fit.robust is None:
        return ""
    if fit.model.weight_type == "sampling" and not fit.robust.clustered:
        return ""
    clusters = ", cluster=cluster" if fit.robust.clustered else ""
    return f'fit = fit.with_covariance("robust"{clusters})\n'


def _method(fit: AbstractFit) -> str:
    """Argument for the engine, unless it is the usual one."""
    return "" if fit.method == DEFAULT_METHOD else f"method={fit.method!r}, "


def _covariance(fit: AbstractFit) -> str:
    """Argument for what intervals are made of, unless it is the default."""
    if fit.response.failure == NOT_ASKED:
        return 'covariance="mean-field", '
    plain = not (fit.automatic or fit.members) and fit.covariance == "linear-response"
    return 'covariance="linear-response", ' if plain and has_automatic_draws(fit) else ""


def _combine(fit: AbstractFit) -> str:
    """Argument for what was made of the restarts, unless it is the model's usual one."""
    weights = fit.restarts["weight"].to_numpy() if "weight" in fit.restarts else None
    if weights is None:
        made = "best"
    else:
        even = len(weights) > 1 and bool((weights == weights[0]).all())
        made = "average" if even else "stack"
    return "" if made == fit.model.default_combination else f"combine={made!r}, "


def changed_priors(priors: Any) -> list[str]:
    """Arguments for the priors that are not the defaults."""
    usual = type(priors)()
    return [
        f"{name}={value!r}" for name, value in vars(priors).items() if value != getattr(usual, name)
    ]


def _environment() -> Summary:
    rows = {"Python": platform.python_version(), **{name: version(name) for name in PACKAGES}}
    frame = pd.DataFrame({"version": rows}).rename_axis("package")
    return table(frame, "Versions at the time of this report.")
