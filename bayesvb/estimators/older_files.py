"""Fits in files of earlier versions, in the form that they have today."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from bayesvb.data.parts import PARTS, ZERO
from bayesvb.errors import FileWarning, warn
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.parser import parse_formula
from bayesvb.models.half_t_mixture import HalfTMixture
from bayesvb.models.mixture import Mixture

State = Mapping[str, Shaped[np.ndarray, "..."]]

FINDINGS = {
    "components on a few rows": "collapsed_components",
    "fall of the bound": "elbo_decrease",
}
"""Former names of findings of engines, with the present ones."""


FURTHER = {"lines": "experts", "spread": "further", "counts": "experts", ZERO: "further"}
"""Former names of sums of experts with a further linear predictor: of the noise, of zeros."""


def named_findings(findings: Mapping[str, float]) -> dict[str, float]:
    """Return findings of an engine by their names of today.

    Examples
    --------
    >>> named_findings({"fall of the bound": 0.5, "parameters": 7.0})
    {'elbo_decrease': 0.5, 'parameters': 7.0}
    """
    return {FINDINGS.get(name, name): value for name, value in findings.items()}


def warn_of_curves(options: Mapping[str, Any], core: object) -> None:
    """Warn where scales of smooth curves had a half-t prior when the fit was saved.

    Until version 0.3 they had; intervals are integrated again when a file is read.

    Warns
    -----
    FileWarning
    """
    older = "group_scale_rate" not in options.get("priors", {})
    if older and isinstance(core, HalfTMixture) and core.curves:
        shape, rate = core.prior.shape[core.curves[0]], core.prior.rate[core.curves[0]]
        warn(
            "scales of smooth curves had a half-t prior when this fit was saved, and have "
            f"1/scale^2 ~ Gamma({shape:g}, {rate:g}) now, so that intervals differ: fit the model "
            "again",
            FileWarning,
        )


def has_group_columns(state: State) -> bool:
    """Whether sums of a file belong to a design without structure: all groups are columns.

    Until version 0.3 up to 500 effects of groups were, where today some have no columns.
    """
    for products, linear in (("experts.xx", "experts.xy"), ("gate.curvature", "gate.linear")):
        for name, packed in state.items():
            if name.endswith((".sums.experts.zz", ".sums.gate.zz")):
                return False
            linear_sums = state.get(name.removesuffix(products) + linear)
            if name.endswith(f".sums.{products}") and linear_sums is not None:
                n_columns = linear_sums.shape[-1]
                if packed.shape[-1] != n_columns * (n_columns + 1) // 2:
                    return False
    return True


def with_independent_groups(formula: str) -> str:
    """Return a formula with independent group effects, the former meaning of ``(x | g)``.

    Until version 0.3 ``(x | g)`` was ``(x || g)``.

    Examples
    --------
    >>> with_independent_groups("y ~ x + (x | g) | gating((1 | g))")
    'y ~ x + (x || g) | gating((1 | g))'
    """
    parsed = parse_formula(formula, parts=tuple(PARTS), offset=True, calls=True)
    terms = [one for part in parsed.read.values() for one in part.own if isinstance(one, GroupTerm)]
    correlated = [one for one in terms if one.correlated and one.intercept + len(one.numbers) > 1]
    tokens = [token for one in correlated for token in one.place.section.tokens]
    for at in sorted({token.start for token in tokens if token.text == "|"}, reverse=True):
        formula = f"{formula[:at]}|{formula[at:]}"
    return formula


def without_lone_gate(state: State, prefix: str, core: object, blank: Any) -> State:
    """Arrays of a fit with one component, without the coefficients of a gate.

    Until version 0.2 a single component had the gate that the model named. Its coefficients kept
    their prior, independent of all other parameters, whose posterior stays as it was.

    Parameters
    ----------
    state : mapping of str to ndarray
        Arrays of the file.
    prefix : str
        Of the names of the restart's arrays.
    core : AbstractVariationalModel
        The model as it is now.
    blank : SufficientStats
        Statistics of no rows.
    """
    gate = f"{prefix}sums.gate."
    if not isinstance(core, Mixture) or core.n_components > 1 or f"{gate}weight" in state:
        return state
    kept = {name: array for name, array in state.items() if not name.startswith(gate)}
    kept[f"{gate}weight"] = np.asarray(state[f"{prefix}sums.experts.weight"])
    kept[f"{prefix}draws.gate"] = np.ones((len(state[f"{prefix}draws.gate"]), 1))
    posterior = core.update(blank)
    present, experts = core.coordinates(posterior), core.experts.coordinates(posterior.experts)
    for name in (f"{prefix}response", f"{prefix}robust"):
        whole = state.get(name)
        if whole is not None and present and experts and len(whole) > present.size:
            others = np.arange(len(whole) - present.size + experts.size, len(whole))
            at = np.concatenate([np.arange(experts.size), others])
            kept[name] = whole[np.ix_(at, at)]
    return kept


def with_packed_groups(state: State, prefix: str) -> State:
    """Arrays of a fit whose sums by group are packed with the other sums.

    Until version 0.3 sums of group effects without columns were separate arrays: ``z z'`` (packed),
    ``z x'`` and ``y_i z``, all by group, and the arrays of the weights.

    Parameters
    ----------
    state : mapping of str to ndarray
        Arrays of the file.
    prefix : str
        Of the names of the restart's arrays.
    """
    groups = dict(state)
    parts = (("experts", "linear.", "xx", "xy", "zy"), ("gate", "", "curvature", "linear", "zl"))
    for part, shared, products, linear, by_group in parts:
        first = f"{prefix}sums.{part}."
        if f"{first}zz" not in state:
            continue
        group_sums = {name: groups.pop(first + name) for name in ("zz", "zx", by_group)}
        for name in ("weight", "yy", products, linear):
            if first + shared + name in groups:
                groups[first + name] = groups.pop(first + shared + name)
        for name, more in ((products, ("zz", "zx")), (linear, (by_group,))):
            axis = groups[first + name].ndim - 1
            each = [group_sums[one].reshape(*group_sums[one].shape[:axis], -1) for one in more]
            groups[first + name] = np.concatenate([groups[first + name], *each], axis=axis)
    return groups


def with_further_predictors(state: State, prefix: str) -> State:
    """Arrays of a fit with ``sigma(...)`` or ``zero(...)`` by the names of today.

    Parameters
    ----------
    state : mapping of str to ndarray
        Arrays of the file.
    prefix : str
        Of the names of the restart's arrays.

    Examples
    --------
    >>> list(with_further_predictors({"part1.sums.experts.zero.linear": np.ones(1)}, "part1."))
    ['part1.sums.experts.further.linear']
    """
    place = re.compile(rf"^({re.escape(prefix)}sums\.experts\.)({'|'.join(FURTHER)})(?=\.)")
    return {
        place.sub(lambda m: m[1] + FURTHER[m[2]], name): values for name, values in state.items()
    }
