"""Priors of a fit in words, one clause for each, for a paper."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from bayesvb.data.parts import GATING, MEAN, PARTS, SIGMA, ZERO

from .cells.numerals import powers_written_out
from .sections.model import tried

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SCALE, DIFFERENCES, COMMON = "scale", "between components", "common scale"
"""Parts of the table of priors: learned scales of coefficients, of their differences between
components, and of coefficients that the components have in common."""

NOISE = "sigma"
"""Part of the noise, which families without a scale do not have."""

FURTHER = {
    SIGMA: "the log standard deviation",
    ZERO: "the log odds of a zero",
}
"""Parts that experts read besides the mean, and the quantities linear in their coefficients."""

SHAPES = ("dispersion", "shape", "threshold")
"""Parts of one parameter of a family."""

LEARNED = "learned"
"""Text of the table for coefficients whose scale is learned."""

RESPONSE = "units of the response"
"""Text for scales in these units."""


def prior_sentence(fit: AbstractFit) -> str:
    """The priors of a fit in one sentence."""
    if not fit.engine.prior_counts:
        return "The estimates maximise the likelihood: no prior enters."
    model, name = fit.model, type(fit.model.priors).__name__
    scale = model.scale_words if model.priors.standardize else "the data as they are"
    clauses = CLAUSES[name](fit)
    if restarts := tried(fit):
        clauses.append(f"coefficient variances of the restarts that count: {restarts}")
    return powers_written_out(f"Priors, for {scale}: {'; '.join(clauses)}.")


def _of_regression(fit: AbstractFit) -> list[str]:
    clauses, priors = _of_coefficients(fit), fit.model.priors
    if _rows(fit, NOISE):
        clauses.append(_noise(fit, several=fit.core.n_components > 1))
    clauses += _of_shapes(fit)
    clauses += [clause for part in FURTHER for clause in _of_further(fit, part)]
    if "nu" in fit.named_draws.values:
        clauses.append(f"degrees of freedom ν ~ {', '.join(_rows(fit, 'nu').values())}")
    elif priors.dof is not None and getattr(fit.model, "family", "") == "student":
        clauses.append(f"degrees of freedom ν = {priors.dof:g}")
    if fit.core.n_components == 1:
        return clauses
    dirichlet = [prior for prior in _rows(fit, GATING).values() if prior.startswith("Dirichlet")]
    if dirichlet:
        return [*clauses, f"mixing weights {dirichlet[0]}"]
    slopes = f"N(0, {priors.gating_sd:g}²)"
    if "scale_gating" in fit.named_draws.values:
        learned = _scales(fit, "gating scale")
        slopes = f"N(0, s²) with a standard deviation s learned per term, {learned}"
    if set(fit.model.design.terms[GATING]) - {"Intercept"}:
        clauses.append(f"gate coefficients {slopes}")
    return [*clauses, f"gate intercepts N(0, {priors.gating_intercept_sd:g}²)"]


def _of_shapes(fit: AbstractFit) -> list[str]:
    """Priors of parameters that a family has besides its coefficients."""
    table = fit.model.prior_table().reset_index("part")
    clauses = []
    for _, row in table[table["part"].isin(SHAPES)].iterrows():
        prior = row["prior"].replace("Normal", f"N(0, {row['scale']:g}²)")
        median = f", median {row['location']:.3g}" if "log-normal" in prior else ""
        clauses.append(f"{row['part']} {prior}{median}")
    return clauses


def _of_further(fit: AbstractFit, name: str) -> list[str]:
    """Prior of the coefficients of a part that experts read besides the mean, where there are."""
    part, clauses = PARTS[name], []
    rows = _rows(fit, part.label)
    if any(LEARNED not in prior for prior in rows.values()):
        sd = getattr(fit.model.priors, part.coefficient_sd)
        clauses.append(f"coefficients of {FURTHER[name]} N(0, {sd:g}²)")
    if any(LEARNED in prior for prior in rows.values()):
        clauses.append(
            f"coefficients of smooths of {FURTHER[name]} N(0, s²) with a standard "
            f"deviation s learned per term, {_scales(fit, part.scale)}"
        )
    return clauses


def _of_coefficients(fit: AbstractFit) -> list[str]:
    """Prior of the coefficients of the components: fixed, learned or around common ones."""
    model: Any = fit.model
    priors = model.priors
    noise = "σ" if fit.core.n_components == 1 else "σ_k"
    sd, learned = f"{priors.coefficient_sd:g}", "N(0, s²)"
    in_noise = priors.coefficient_units == "noise" and _rows(fit, NOISE)
    fixed = f"N(0, ({sd}{noise})²)" if in_noise else f"N(0, {sd}²)"
    if "noise" in model.experts.scale_units:
        learned = f"N(0, (s{noise})²)"
    if not {SCALE, DIFFERENCES} & set(fit.named_draws.parts.values()):
        return [f"regression coefficients {fixed}"]
    if _rows(fit, DIFFERENCES):
        return [
            f"intercepts {fixed}",
            "every other coefficient of component k a common coefficient b plus a difference d_k",
            f"common coefficients with learned standard deviations, {_scales(fit, COMMON)}",
            f"differences {learned} with a standard deviation s learned per term, "
            f"{_scales(fit, DIFFERENCES)}",
        ]
    scales = f"with a standard deviation s learned per term, {_scales(fit, SCALE)}"
    unlearned = [term for term, prior in _rows(fit, MEAN).items() if LEARNED not in prior]
    if RESPONSE in scales:
        learned = "N(0, s²)"
    if set(unlearned) <= {"Intercept"}:
        return [f"intercepts {fixed}", f"coefficients of each term {learned} {scales}"]
    terms = ", ".join(_rows(fit, SCALE))
    return [f"coefficients of {terms} {learned} {scales}", f"other coefficients {fixed}"]


def _scales(fit: AbstractFit, part: str) -> str:
    """Priors of the learned scales of a part; by term where they differ."""
    rows = _rows(fit, part)
    if len(set(rows.values())) > 1:
        return ", ".join(f"{term}: {prior}" for term, prior in rows.items())
    return next(iter(rows.values()), "")


def _rows(fit: AbstractFit, part: str) -> dict[str, str]:
    """Term -> prior of its scale, from the table of priors."""
    table = fit.cache.once("prior table", fit.model.prior_table)["prior"]
    if part not in table.index.get_level_values("part"):
        return {}
    rows = table.xs(part, level="part")
    return {str(term): _written(str(prior)) for term, prior in rows.items()}


def _written(prior: str) -> str:
    return prior.replace("^2", "²").replace("scale", "s")


def _noise(fit: AbstractFit, *, several: bool) -> str:
    priors = fit.model.priors
    whose = "the noise of each component" if several else "the noise"
    return f"{whose} 1/σ² ~ Gamma({priors.noise_shape:g}, {priors.noise_rate:g})"


def _of_mixture(fit: AbstractFit) -> list[str]:
    priors = fit.model.priors
    concentration = priors.concentration or 1.0 / fit.core.n_components
    return [
        f"component means N(0, Σ_k / {priors.mean_precision:g})",
        f"covariances Σ_k inverse Wishart with standard deviations {priors.covariance_scale:g}, "
        f"equivalent to {priors.covariance_rows:g} rows",
        f"mixing weights Dirichlet({concentration:.3g})",
    ]


def _of_components(fit: AbstractFit) -> list[str]:
    priors = fit.model.priors
    location = "m0" if priors.m0 is not None else "0"
    location = location if priors.s0 is None else f"W s0 + {location}".removesuffix(" + 0")
    return [
        f"centre N({location}, σ² / {priors.centre_precision:g})",
        f"loadings N(0, σ² / α) with a relevance α ~ Gamma({priors.relevance_shape:g}, "
        f"{priors.relevance_rate:g}) of each component",
        _noise(fit, several=False),
    ]


def _of_sample(fit: AbstractFit) -> list[str]:
    precision = fit.model.priors.mean_precision
    return [f"mean N(0, σ² / {precision:g})", _noise(fit, several=False)]


def _of_network(fit: AbstractFit) -> list[str]:
    numeric, priors = not fit.model.response.is_categorical, fit.model.priors
    clauses = [
        f"expert coefficients N(0, {priors.coefficient_variance:g} / τ_k)",
        f"precisions of the latent vector τ_k ~ Gamma({priors.latent_shape:g}, "
        f"{priors.latent_rate:g})",
        f"gate coefficients N(0, {priors.gating_variance:g})",
        f"output coefficients N(0, {priors.output_variance:g}{'σ²' if numeric else ''})",
    ]
    return [*clauses, _noise(fit, several=False)] if numeric else clauses


CLAUSES: dict[str, Callable[[AbstractFit], list[str]]] = {
    "Priors": _of_regression,
    "GaussianPriors": _of_mixture,
    "PcaPriors": _of_components,
    "NormalPriors": _of_sample,
    "NetworkPriors": _of_network,
}
"""Class of the priors -> their clauses."""
