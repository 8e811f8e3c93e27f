"""Effects of very many groups in a density regression: whether they can be, and their experts."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from bayesvb.data.blocks import Block
from bayesvb.data.group_rows import GATE_GROUPS, GROUP_ROWS
from bayesvb.data.parts import GATING, MEAN, PARTS, SIGMA, ZERO
from bayesvb.data.response_columns import INTERVAL, RESPONSE_COLUMNS, TRIALS
from bayesvb.data.scaling import INTERCEPT
from bayesvb.data.standardised_blocks import Scales
from bayesvb.errors import DataError, FormulaError, PriorError
from bayesvb.estimators.priors import Priors
from bayesvb.experts import EXPERTS
from bayesvb.experts.regression import AnyExperts, RegressionPrior
from bayesvb.formula.design import Design
from bayesvb.formula.parser import RESPONSE, Formula
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.linear.structure import LIMITS
from bayesvb.numerics.arrays import TermVector
from bayesvb.variational.descriptions import NamedParameter, PriorRow
from bayesvb.variational.local import Draws


def eliminates_groups(
    formula: Formula, family: str, priors: Priors, n_components: int, group: object
) -> bool:
    """Whether the experts of the family take effects of groups without columns."""
    alone, in_noise = n_components == 1, priors.coefficient_units == "noise"
    probe = RegressionPrior(1, 1, 1.0, in_noise, 1.0, 1.0, is_alone=alone, n_effects=1, n_groups=2)
    if group is not None or formula.read[RESPONSE].call is not None:
        return False
    return bool(EXPERTS[family](probe).line_laws(None))


def with_possible_groups(design: Design, n_components: int, gate: str) -> Design:
    """The design, without the groups of weights that depend on nothing."""
    if design.gate_groups is None:
        return design
    constant = n_components == 1 or not GATES[gate].learns_scales
    return design.without_gate_groups() if constant else design


def coefficients_per_term(design: Design, part: str = MEAN) -> TermVector:
    """One for each column of a part, then for each effect apart from them one for each group."""
    counts = np.ones(len(design.terms[part]))
    groups = design.groups_of(part)
    if groups is None:
        return counts
    return np.concatenate([counts, np.full(len(groups.effects), float(len(groups.labels)))])


def with_effects(prior: GatePrior, design: Design, priors: Priors) -> GatePrior:
    """The prior of a gate with the prior of group effects that have no columns."""
    groups = design.gate_groups
    if groups is None:
        return prior
    effects = (float(priors.gating_sd) ** -2.0,) * len(groups.effects)
    return replace(prior, effects=effects, n_groups=len(groups.labels))


def effect_rows(design: Design, prior: GatePrior, scales: Scales) -> list[PriorRow]:
    """Rows of the prior table for these effects on the weights."""
    groups = design.gate_groups
    if groups is None:
        return []
    sds = np.array(prior.effects) ** -0.5 / scales.parts[GATE_GROUPS].scale[1:]
    each = zip(groups.effects, sds, strict=True)
    return [PriorRow(GATING, effect, "Normal", 0.0, float(sd)) for effect, sd in each]


def drawn_effects(core: Any, draws: Draws, design: Design, scales: Scales) -> list[NamedParameter]:
    """Drawn effects of groups that have no columns, in the data's units, for the ArviZ object.

    For at most ``LIMITS.groups`` groups, levels where the covariates of the slopes are zero: the
    regression lines of rows of each group without further effects. Tables omit them.
    """
    known = design.groups
    if known is None or not known.effects or len(known.labels) > LIMITS.groups + 1:
        return []
    place, each = np.arange(len(known.labels)), []
    names = {MEAN: design.terms[MEAN], **further_terms(design)}
    nothing = {name: np.zeros((len(terms), len(place))) for name, terms in names.items()}
    n_responses = len(design.response_names)
    scaling = replace(scales.response, centre=np.zeros(n_responses))
    weights = np.ones((*draws["precision"].shape[:2], 1))
    for effect in range(len(known.effects)):
        zero = known.groups.at_zero(effect) / scales.parts[GROUP_ROWS].scale[1:]
        groups = np.vstack([place, np.repeat(zero[:, None], len(place), axis=1)])
        block = Block({**nothing, GROUP_ROWS: groups}, np.zeros((n_responses, len(place))))
        lines = [core.drawn(draws, weights, block, i, scaling) for i in range(n_responses)]
        each.append(np.stack([np.moveaxis(one.location, 0, 1) for one in lines], axis=2))
    values = np.concatenate(each, axis=3)
    coords: dict[str, Any] = {"term_groups": known.groups.names}
    if n_responses > 1:
        coords = {"response": design.response_names, **coords}
    effects = values if n_responses > 1 else values[:, :, 0]
    dims = ("component", *coords)
    return [NamedParameter("beta_groups", effects, dims, part=MEAN, signed=True, coords=coords)]


def further_terms(design: Design) -> dict[str, tuple[str, ...]]:
    """Terms of the parts that experts read besides the mean, without a level of its own."""
    return {
        name: tuple(
            term
            for place, term in enumerate(design.terms[name])
            if not (part.has_level and term == INTERCEPT)
            and place not in design.offset_columns(name)
        )
        for name, part in PARTS.items()
        if name in design.formula.parts and name != MEAN and not part.of_weights
    }


def check_parts(formula: Formula, family: str, read: tuple[str, ...]) -> None:
    """Raise for a part of the formula that the experts of a family do not read.

    Raises
    ------
    FormulaError
    """
    for name in formula.parts:
        if name not in read and not PARTS[name].of_weights:
            raise FormulaError(
                formula.text,
                f"family={family!r} has no part {name}{WITHOUT.get(name, '')}",
                formula.place(name),
                INSTEAD.get(name, f"omit {name}(...), or choose a family that has it"),
            )


def check_response_columns(formula: Formula, family: str, read: tuple[str, ...]) -> None:
    """Raise for a response of several numbers per row that a family does not have.

    Raises
    ------
    FormulaError
    """
    call = formula.read[RESPONSE].call
    if call is not None and call.form.further not in read:
        name = call.form.name
        raise FormulaError(
            formula.text,
            f"family={family!r} does not support {name}(...)",
            formula.place(name),
            INSTEAD[call.form.further],
        )


WITHOUT = {
    SIGMA: ": the spread of its response follows from the mean, dispersion and shape are constant",
    ZERO: ": it is for counts and for positive amounts",
}
"""Reasons why a family does not have a part."""

INSTEAD = {
    SIGMA: "spread that changes with covariates: family='gaussian' or 'student', of positive "
    "responses with log(y) ~ ... | sigma(z); of other families several components with gating(z)",
    ZERO: "of counts choose family='negbinomial', of amounts some of which are 0 family='gamma'",
    TRIALS: "choose family='binomial'",
    INTERVAL: "choose family='gaussian' or 'student', with a transformation inside, as in "
    "Surv(log(time), event); right-censored times may have family='weibull'",
}
"""Remedies for parts, and for columns of a response, that few families have."""


def check_levels(design: Design) -> None:
    """Raise for a part that has a level of its own, and is written without an intercept.

    Raises
    ------
    FormulaError
    """
    for name in further_terms(design):
        if PARTS[name].has_level and INTERCEPT not in design.terms[name]:
            raise FormulaError(
                design.formula.text,
                f"{name}(...) cannot be written without its intercept",
                design.formula.place(name),
                "omit `0 +` or `- 1`",
            )


def check_groups_have_prior(design: Design) -> None:
    """Raise if a likelihood without priors is to be maximised over the effects of groups.

    The levels of ``(1 | g)`` and the intercept are identified by the prior of the effects only.
    """
    for part in (MEAN, GATING):
        for term in design.group_terms(part):
            raise DataError(
                f"prior=False: the effects of `{term.term}` are not identified without their prior",
                hint=f"omit prior=False, or write C({term.grouping}) for levels without a prior",
            )


def _learned_terms(design: Design, priors: Priors) -> tuple[int, ...]:
    """Columns of the mean whose scale one component learns."""
    if priors.scales == "fixed":
        return ()
    blocks, every = design.term_blocks[MEAN], priors.scales == "learned"
    return tuple(column for b in blocks if every or b.is_penalised for column in b.columns)


def experts_of(family: str, priors: Priors, n_components: int, design: Design) -> AnyExperts:
    """Experts of a family with these priors."""
    prior = RegressionPrior(
        n_responses=len(design.response_names),
        n_terms=len(design.terms[MEAN]),
        coefficient_sd=priors.number("coefficient_sd"),
        sigma_sd=float(priors.sigma_sd),
        zero_sd=float(priors.zero_sd),
        in_noise=priors.coefficient_units == "noise",
        is_alone=n_components == 1,
        learned_terms=_learned_terms(design, priors),
        noise_shape=float(priors.noise_shape),
        noise_rate=float(priors.noise_rate),
        dof=priors.dof,
        dispersion=priors.dispersion,
        standardised=priors.standardize,
        further_terms={name: len(terms) for name, terms in further_terms(design).items()},
        has_known_spread=SIGMA in design.formula.parts and bool(design.offset_columns(SIGMA)),
        response_columns=tuple(RESPONSE_COLUMNS.keys() & design.matrices.keys()),
        levels=design.order,
    )
    groups = design.groups
    if groups is not None:
        n_effects, n_groups = len(groups.effects), len(groups.labels)
        prior = replace(prior, n_effects=n_effects, n_groups=n_groups)
    experts = EXPERTS[family](prior)
    if priors.dispersion is not None and not experts.reads_dispersion:
        raise PriorError(
            f"dispersion={priors.dispersion:g}, and family={family!r} has no dispersion",
            hint="omit dispersion, or choose family='negbinomial'",
        )
    check_parts(design.formula, family, experts.parts)
    check_response_columns(design.formula, family, experts.response_columns)
    check_levels(design)
    return experts
