"""Text that ``print(model)`` and ``print(fit)`` show, also in notebooks."""

from __future__ import annotations

import math
import re
import textwrap
from functools import partial
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.line_width import number_text, ratio_text, table_text, wrapped_text
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.parts import GATING, LABELS, LOG_SIGMA, MEAN, PARTS
from bayesvb.data.scaling import INTERCEPT
from bayesvb.distributions.intervals import PROB
from bayesvb.errors import ignoring_user_warnings
from bayesvb.evaluation.elpd import Elpd
from bayesvb.formula.missing import MissingValues
from bayesvb.results.all_rows import rows_text
from bayesvb.results.criteria import answers, folds_known, leaves_folds_out
from bayesvb.results.criteria import loo as loo_of
from bayesvb.results.exact_draws import log_evidence
from bayesvb.results.group_covariance import GROUP_SD
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count
from bayesvb.results.response_notes import interval_note, response_notes
from bayesvb.results.subsampling import (
    khat_within,
    left_out_quickly,
    loo_of_some,
    slow_refits,
    unit_sample,
)
from bayesvb.results.summary import coefficient_table, empty_components, empty_words, smooth_dof
from bayesvb.results.variance_components import variance_lines

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.base import AbstractFit, AbstractPublicModel

SHARES_DISAGREE = (
    "\nA share outside its interval is the mean over restarts that disagree, of which some have "
    "little weight."
)

LEVELS_LEARNED = (
    "whose coefficients share one learned scale, as effects of groups do; "
    "Priors(scales='fixed') makes them fixed effects"
)
"""Note on columns with many levels where scales are learned."""

LEVELS_FIXED = (
    "each with a coefficient of its own, a fixed effect; (1 | NAME) takes them for draws from one "
    "distribution"
)
"""Note on columns with many levels where scales are fixed."""

NARROW = "Intervals are mean-field, usually narrower than exact ones"


def model_text(model: AbstractPublicModel) -> str:
    """Formula, data and priors of a model."""
    lines = [
        model.description(),
        *formula_lines(model),
        "",
        "Priors in the units of the data",
        _prior_lines(model),
    ]
    return wrapped_text("\n".join(lines))


def formula_text(model: AbstractPublicModel) -> str:
    """Canonical formula, without the part of the weights if there is one component."""
    return model.formula.canonical(gate=model.size > 1)


def gate_note(model: AbstractPublicModel) -> str:
    """Note that the gating formula is a default, or is not used."""
    given = model.formula.gating_given
    gating = model.formula.parts.get(GATING, "")
    if given and gating.replace(" ", "").startswith("scale("):
        name = gating[gating.index("(") + 1 : gating.index(")")]
        return f"scale(...) is a gate on standardised values; for the spread write sigma({name})"
    if not gating or given == (model.size > 1):
        return ""
    if given:
        return "one component: the gate is not used"
    further = [name for name in model.formula.parts if PARTS[name].coefficient_sd]
    if further:
        return f"no gating part with {further[0]}: constant weights"
    return "no gating part: same terms as the mean"


def formula_lines(model: AbstractPublicModel) -> list[str]:
    """Canonical formula, with its defaults, and the rows used."""
    note = gate_note(model)
    filled = f"   ({note})" if note else ""
    grouping = model.grouping
    rows = rows_text(model)
    if not holds_all_rows(model.source):
        rows = f"{model.source.n_rows:,} rows ({model.design.n_rows:,} of them kept)"
    rows += "" if grouping is None else f" in {grouping.text}"
    if model.design.n_missing:
        rows += f" ({_omitted(model.design.left_out)})"
    if model.design.imputed:
        rows += f" (values {model.design.filled_in})"
    if model.weights is not None:
        sampling = model.weight_type == "sampling"
        total = model.weights.sum() if model.all_rows is None else model.all_rows.total_weight
        rows += ", sampling weights" if sampling else f", total weight {total:g}"
    dated = [f"{name} in {unit}" for name, unit in model.design.dates.items()]
    dates = [f"Dates:     {', '.join(dated)}"] if dated else []
    notes = response_notes(model.design, model.response)
    known = interval_note(model.design) if model.formula.response else None
    noticed = [f"Response:  {note}" for note in (known, *notes) if note]
    described = [f"Formula:   {formula_text(model)}{filled}", f"Data:      {rows}"]
    return [*described, *noticed, *dates, *_level_lines(model)]


def imputation_words(fit: AbstractFit) -> str:
    """Sentence on how missing values of covariates were drawn."""
    return (
        f"Missing values of covariates were drawn {len(fit.parts)} times given the response and "
        "the other covariates, and the posteriors of the completed tables were pooled."
    )


def _omitted(missing: MissingValues) -> str:
    """Number of rows that lack a value, with the columns."""
    columns = f" of {missing.columns}" if missing.columns else ""
    return f"{missing.lacking:,} dropped: missing values" + columns


def _level_lines(model: AbstractPublicModel) -> list[str]:
    """Notes on columns with many levels, with alternatives."""
    priors: Any = model.options().get("priors", {})
    how = LEVELS_LEARNED if priors.get("scales") == "learned" else LEVELS_FIXED
    return [
        f"Levels:    {size} of `{name}`, {how.replace('NAME', name)}"
        for name, size in model.design.many_levels.items()
    ]


def _prior_lines(model: AbstractPublicModel) -> str:
    table = folded(model.prior_table())
    shown = table.iloc[: LIMITS.printed_rows].reset_index()
    text = table_text(shown, keys=2, indent=2, na_rep="", float_format=number_text)
    rest = len(table) - len(shown)
    note = f"\n  ... {rest} more: model.prior_table()" if rest else ""
    return "\n".join("  " + line for line in text.splitlines()) + note


def fit_text(fit: AbstractFit) -> str:
    """Summary of a fit: header, components, coefficients, predictive accuracy."""
    table, empty = coefficient_table(fit, robust=None), empty_components(fit)
    lines = [
        fit.model.headline(fit.engine),
        *formula_lines(fit.model),
        f"Draws:     {count(fit.draws)} ({fit.covariance}), seed {fit.seed}",
        *_chain_lines(fit, table),
        *_fit_lines(fit),
    ]
    shares = "share" in table.index.get_level_values("part")
    if fit.model.order_rule and not (shares and fit.model.size == 1):
        lines += ["", _components(fit)]
    for part, title in fit.model.headings(fit).items():
        if part in table.index.get_level_values("part"):
            if part != "scale" or not _in_units_of_response(table):
                lines += ["", _part(fit, _without(table, part, empty), part, title)]
    if empty:
        lines += ["", f"{empty_words(fit)} They are in fit.summary()."]
    lines += ["", accuracy_line(fit), interval_line(fit), *_robust_line(fit, table, empty)]
    lines += [*variance_lines(fit), *fit.model.notes(fit)]
    if fit.model.order_rule and not fit.is_sampled and len(fit.components()) > 1:
        lines.append(fit.model.order_rule)
    return wrapped_text("\n".join(lines))


def _robust_line(fit: AbstractFit, table: pd.DataFrame, empty: frozenset[object]) -> list[str]:
    """Note on the estimates where draws have no useful mean and standard deviation."""
    shown = fit.model.headings(fit)
    rows = [(part, k, term) for part, k, term in table.attrs["robust"]
            if part in shown and k not in empty]  # fmt: skip
    if not rows:
        return []
    names = [" ".join(str(label) for label in row if label != "") for row in rows[: LIMITS.named]]
    more = f" and {len(rows) - len(names)} more" if len(rows) > len(names) else ""
    return [
        f"Estimate and Est.Error are median and 1.48 MAD of {', '.join(names)}{more}, whose draws "
        "have heavy tails: their mean is outside the interval, or their sd wider than it."
    ]


def _in_units_of_response(table: pd.DataFrame) -> bool:
    """Whether every prior scale belongs to a group effect with its sd in units of the response."""
    part, term = (table.index.get_level_values(name) for name in ("part", "term"))
    return bool(term[part == "scale"].isin(term[part == GROUP_SD]).all())


def _without(table: pd.DataFrame, part: str, empty: frozenset[object]) -> pd.DataFrame:
    """Rows of a part without negligible components; all of them if nothing else remains."""
    rows = table.loc[[part]]
    kept = rows[~rows.index.get_level_values("component").isin(empty)]
    return rows if kept.empty else kept


def _chain_lines(fit: AbstractFit, table: pd.DataFrame) -> list[str]:
    """Agreement of several chains, and findings of the engine."""
    findings = {name: value for name, value in fit.findings.items() if name != "parameters"}
    lines = [f"{name.replace('_', ' ')} {value:.3g}" for name, value in findings.items()]
    if fit.chains > 1:
        each = count(fit.draws) // fit.chains
        mixed = (
            f"R-hat at most {table['r_hat'].max():.2f}, ESS at least {table['ess_bulk'].min():.0f}"
        )
        lines = [f"{fit.chains} of {each} draws, {mixed}", *lines]
    label = "Chains:" if fit.chains > 1 else "Engine:"
    return [f"{label:11}{', '.join(lines)}"] if lines else []


def _fit_lines(fit: AbstractFit) -> list[str]:
    ended = "converged after" if fit.converged else "NOT CONVERGED after"
    bounds = fit.restarts.get("score", fit.restarts["elbo"])
    close = int((bounds > bounds.max() - 0.1).sum())
    restarts = (
        f", best of {len(bounds)} restarts ({close} within 0.1 nats)" if len(bounds) > 1 else ""
    )
    if "weight" in fit.restarts:
        restarts = f", restart {fit.best_restart} of {len(bounds)}, the best on held-out rows"
    if fit.members and fit.model.design.imputed:
        restarts = f", {len(fit.members)} imputations pooled"
    elif fit.members:
        weights = ", ".join(f"{member.weight:.2f}" for member in fit.members)
        restarts = f", {len(fit.members)} of {len(bounds)} restarts with weights {weights}"
    height = f"{fit.engine.symbol} {fit.elbo:,.1f}{_size(fit)}"
    evidence = log_evidence(fit)
    if evidence is not None:
        height = f"log evidence {evidence:,.1f} ({height} with gamma priors of scales)"
    first = f"Fit:       {height}, {ended} {fit.n_iter} iterations{restarts}"
    return [first, f"           {_khat(fit)}{fit.seconds:.2f} s"]


def _size(fit: AbstractFit) -> str:
    """Number of parameters, with the criteria that are made of it and of a likelihood."""
    n_parameters = fit.findings.get("parameters")
    if n_parameters is None:
        return ""
    if fit.engine.prior_counts:
        return f" ({n_parameters:.0f} parameters)"
    aic = 2.0 * (n_parameters - fit.elbo)
    bic = n_parameters * math.log(fit.model.source.total_weight) - 2.0 * fit.elbo
    return f" ({n_parameters:.0f} parameters, AIC {aic:,.1f}, BIC {bic:,.1f})"


def _khat(fit: AbstractFit) -> str:
    """K-hat, where enough draws for it take no time and the draws are of the approximation."""
    if fit.covariance == "exact":
        return ""  # the sampler's diagnostics stand with the intervals
    k, n_draws = khat_within(fit, LIMITS.little_work)
    if k is None:
        return ""
    some = "" if n_draws == count(fit.draws) or math.isnan(k) else f" from {n_draws} draws"
    return f"{'draws' if math.isnan(k) else 'k-hat'} {khat_text(k)}{some}, "


def interval_line(fit: AbstractFit) -> str:
    """Sentence on how intervals were made."""
    unheeded = fit.model.weight_type == "sampling" and fit.robust is None
    rest = " They do not account for sampling weights." if unheeded else ""
    return _made_with(fit) + rest


def _made_with(fit: AbstractFit) -> str:
    """The covariance, in a sentence."""
    words = fit.engine.interval_words(fit.covariance)
    if fit.is_point_estimate:
        return f"Standard errors are not available: {fit.response.failure}."
    if words is not None:
        failure = "" if words.endswith(".") else f": {fit.response.failure}."
        return words + failure
    if fit.covariance == "mean-field":
        return f"{NARROW}{'' if fit.response.failure is None else f': {fit.response.failure}'}."
    if fit.covariance == "engine":
        return f"Intervals: {fit.engine.posterior} ({fit.engine.title})."
    if fit.covariance == "exact" and fit.sampler is not None:
        return f"Intervals: exact ({fit.sampler.words})."
    if fit.sampler is not None and fit.covariance == "linear-response":
        return (
            f"Intervals: linear response; exact intervals were not reached ({fit.sampler.words}): "
            f"the posterior has several modes with these {fit.model.source.n_rows} rows, so "
            "intervals of single components may be too narrow. fit.with_covariance('exact') "
            "samples all modes."
        )
    if fit.covariance == "exact":
        return (
            "Intervals: exact (standard deviations of groups and of smooth curves are integrated "
            "numerically)."
        )
    if fit.covariance == "importance":
        return "Intervals come from importance-weighted draws."
    if fit.robust is not None:
        return (
            f"Intervals have the robust covariance (infinitesimal jackknife) of {fit.robust.words},"
            f" Student t with {fit.robust.dof:g} degrees of freedom."
        )
    return str(fit.model.corrected)


def khat_text(khat: float) -> str:
    """Pareto k of the approximation in words."""
    if math.isnan(khat):
        return "exact to 0.05 sd"
    unreliable = "unreliable: importance weighting not possible"
    verdict = "good" if khat < 0.5 else "usable" if khat <= 0.7 else unreliable
    return f"{khat:.2f} ({verdict})"


def accuracy_line(fit: AbstractFit) -> str:
    """LOO in one line; of some rows if all would take longer than a few seconds."""
    if not holds_all_rows(fit.model.source):
        return "LOO: not available, because not all rows are in memory."
    if leaves_folds_out(fit):
        if not folds_known(fit):
            return "LOO: not computed; fit.loo() uses five folds."
        return f"{_total(loo_of(fit))}, by five folds."
    if not left_out_quickly(fit):
        return "LOO: not computed (too many terms for the printed summary). Call fit.loo()."
    chosen = unit_sample(fit, LIMITS.quick_subsample)
    if chosen.whole and (rows := slow_refits(fit)):
        return f"LOO: not computed; fit.loo() refits {rows} {chosen.plural}."
    with ignoring_user_warnings():  # said here in words
        loo = loo_of(fit) if chosen.whole else loo_of_some(fit, chosen.at)
    worst, one = _doubt(fit, loo), chosen.plural.removesuffix("s")
    if chosen.whole:
        return f"{_total(loo)}{worst}."
    n = float(len(loo.pointwise) if loo.weights is None else loo.weights.sum())
    return (
        f"LOO elpd per {one} {loo.elpd / n:.3f} (se {loo.se / n:.3f}){worst}: from "
        f"{len(chosen.at)} {chosen.plural} chosen at random; fit.loo() takes {_taken(fit)}."
    )


def _taken(fit: AbstractFit) -> str:
    """Number of rows that the criterion itself holds out."""
    some = answers(fit.parts[0].fit) and fit.model.source.n_rows > LIMITS.all_rows
    return f"{LIMITS.subsample}" if some else "all"


def _doubt(fit: AbstractFit, loo: Elpd) -> str:
    """Rows whose leave-one-out density is not to be relied on."""
    if loo.p > len(loo.pointwise):
        return ", more than rows: the prior predicts the held-out rows"
    if loo.method == "psis":
        high, good = int((np.asarray(loo.pareto_k) > loo.good_k).sum()), f"{loo.good_k:.2g}"
        if not high:
            return f", all Pareto k <= {good}"
        return f", {high} Pareto k > {good}: see fit.loo()"
    rows = units_of(fit.model).plural
    rows = rows.removesuffix("s") if loo.n_refitted == 1 else rows
    again = f", {loo.n_refitted} {rows} refitted" if loo.n_refitted else ""
    return again + (", some unreliable: see fit.loo(method='exact')" if loo.warning else "")


def _total(loo: Elpd) -> str:
    return f"LOO elpd {loo.elpd:,.1f} (se {loo.se:,.1f}), p {loo.p:.1f}"


def _components(fit: AbstractFit) -> str:
    table = fit.components()
    shown = table.reset_index()
    text = table_text(shown, indent=2, float_format=partial(number_text, digits=3), na_rep="-")
    lines = f"Components ({PROB:.0%} intervals)\n" + _indented(text)
    if not fit.members or "share" not in table:
        return lines
    inside = table["share"].between(table["share_lower"], table["share_upper"])
    return lines if inside.all() else lines + SHARES_DISAGREE


TABULATED_APART = ("smooth", "group")
"""Kinds of terms whose many coefficients have tables of their own."""


def without_many(design: Design, rows: pd.DataFrame, part: str) -> pd.DataFrame:
    """Return the rows of a part without the coefficients of smooth curves and groups."""
    name = LABELS.get(part, "")
    terms, blocks = design.terms.get(name, ()), design.term_blocks.get(name, ())
    apart = [one for one in blocks if one.kind in TABULATED_APART]
    names = tuple(terms[at] for one in apart for at in one.columns if at < len(terms))
    if not names:
        return rows
    return rows[~rows.index.get_level_values("term").astype(str).str.endswith(names)]


def _part(fit: AbstractFit, table: pd.DataFrame, part: str, title: str) -> str:
    """Coefficients of a part; for curves and groups their number, and where they are tabulated."""
    model, dof = fit.model, (smooth_dof(fit) or {}) if part == MEAN else {}
    name = LABELS.get(part, "")  # a parameter may have the name of a part
    apart = [one for one in model.design.term_blocks.get(name, ()) if one.kind in TABULATED_APART]
    rows = without_many(model.design, table.loc[[part]], part)
    parts = [title] if rows.empty else [_coefficients(rows, part, title, lone=model.size == 1)]
    parts += spread_lines(rows) if part == LOG_SIGMA else []
    of_part = "" if name == MEAN else f", {name!r}"
    known = model.design.curves(name) if apart else ()
    lines = {curve.name: curve.spline.n_lines for curve in known}
    for one in apart:
        where = f", effects.{'curves' if one.kind == 'smooth' else 'groups'}(fit{of_part})"
        shown = where if one.kind == "group" or one.name in lines else ""
        n, of_groups = len(one.columns) * one.size, one.kind == "group"  # one is any new group's
        counted = f"{n - 1:,} groups" if of_groups else f"{n} coefficients"
        parts.append(f"  {one.name}: {counted}{shown}")
        if one.name in dof:
            parts[-1] += _dof_words(dof[one.name], len(one.columns), lines.get(one.name, 0))
    return "\n".join(parts)


def _dof_words(dof: Float[np.ndarray, " components"], n_wiggles: int, n_lines: int) -> str:
    """Effective degrees of freedom of a smooth, with their maximum; whether k may be small."""
    values = ", ".join(f"{round(float(value), 1) + 0.0:.1f}" for value in dof)
    most, line = n_wiggles + n_lines, " with its line" * n_lines
    small = ": k may be small" * bool(dof.max() > LIMITS.full_smooth * most)
    return f"; effective degrees of freedom{line} {values} of {most}{small}"


def spread_lines(rows: pd.DataFrame) -> list[str]:
    """Change of the standard deviation per unit of each term, in percent, of one component.

    Without the intercept and linear parts of smooths, which are not effects of one unit.
    """
    terms = rows.index.get_level_values("term").astype(str)
    # Terms whose effect on the standard deviation is printed in words.
    shown = rows[(terms != INTERCEPT) & ~terms.str.endswith(".line")].iloc[:5]
    if len(rows.index.unique("component")) > 1 or shown["lower"].isna().any():
        return []
    each = 100.0 * np.expm1(shown[["mean", "lower", "upper"]].to_numpy())
    return [
        f"  {label[-1]}: sd {mean:+.2g}% per unit ({lower:+.2g}% to {upper:+.2g}%)"
        for label, (mean, lower, upper) in zip(shown.index, each, strict=True)
    ]


def _coefficients(table: pd.DataFrame, part: str, title: str, *, lone: bool) -> str:
    rows = table.loc[[part]].reset_index().drop(columns="part")
    # No component or term of what all share, no sign, no interval of what is fixed.
    rows = rows.loc[:, (rows.notna() & (rows != "")).any()]
    if lone:
        rows = rows.drop(columns="component", errors="ignore")
    ratios = {
        name: name.capitalize().replace("_", " ") for name in map(str, rows) if "_ratio" in name
    }
    formats = dict.fromkeys(ratios.values(), lambda value: f" {ratio_text(value)}")
    shown = rows.iloc[: LIMITS.printed_rows].rename(
        columns={
            **ratios,
            "mean": "Estimate",
            "sd": "Est.Error",
            "p_positive": "P(>0)",
            "r_hat": "Rhat",
            "ess_bulk": "Bulk_ESS",
        }
    )
    keys = list(shown).index("Estimate") if "Estimate" in shown else 1
    options = {"float_format": number_text, "formatters": formats, "na_rep": ""}
    text = table_text(shown, keys=keys, indent=2, **options)
    rest = len(rows) - len(shown)
    return title + "\n" + _indented(text) + (f"\n  ... {rest} more: fit.summary()" if rest else "")


def _indented(text: str) -> str:
    return textwrap.indent(text, "  ")


NUMBERED = re.compile(r"(?<=\))(\.\d+|\[.*\])$")
"""Endings of names that number the coefficients of ``s(x)`` or ``(1 | g)``."""


def folded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one row for the coefficients of a smooth, or of groups, with one prior.

    Examples
    --------
    >>> import pandas as pd
    >>> names = ["x", *(f"s(z).{number}" for number in range(1, 9))]
    >>> table = pd.DataFrame({"prior": "Normal"}, index=pd.Index(names, name="term"))
    >>> folded(table).index.tolist()
    ['x', 's(z): 8 coefficients']
    """
    flat, last = table.reset_index(), str(table.index.names[-1])
    terms = flat[last].astype(str)
    stem = terms.str.replace(NUMBERED, "", regex=True)
    rows = flat.assign(**{last: stem}).itertuples(index=False)
    described = pd.Series([repr(row) for row in rows], index=flat.index)
    run = (described.ne(described.shift()) | stem.eq(terms)).cumsum()
    size = run.groupby(run).transform("size")
    # Coefficients from which on they stand in one row.
    whole = stem.ne(terms) & (size >= 4)
    flat[last] = terms.where(~whole, stem + ": " + size.astype(str) + " coefficients")
    return flat[~(whole & run.duplicated())].set_index(list(table.index.names))


def text_html(text: str) -> str:
    r"""HTML of what ``print`` shows.

    Examples
    --------
    >>> text_html("Fit\na < b")
    '<div><strong>Fit</strong><pre style="overflow-x: auto; ...">a &lt; b</pre></div>'
    """
    heading, _, rest = text.partition("\n")
    body = rest.strip("\n")
    block = preformatted(body) if body else ""
    return f"<div><strong>{escape(heading, quote=False)}</strong>{block}</div>"


def preformatted(text: str) -> str:
    """HTML of a table of text.

    JupyterLab sets output in the face of text, in which columns do not stand below one another.
    """
    style = "overflow-x: auto; margin: 0.5em 0; font-family: monospace; white-space: pre"
    return f'<pre style="{style}">{escape(text, quote=False)}</pre>'
