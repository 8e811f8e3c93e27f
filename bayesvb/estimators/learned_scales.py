"""Prior scales of terms that are learned: the model that has them, their names and their prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

import numpy as np

from bayesvb.data.parts import GATING, MEAN, PARTS, SIGMA, ZERO
from bayesvb.data.parts.base import BETWEEN_GROUPS
from bayesvb.data.scaling import INTERCEPT
from bayesvb.estimators.group_effects import (
    coefficients_per_term,
    further_terms,
)
from bayesvb.estimators.half_t import half_t_units
from bayesvb.estimators.priors import Priors
from bayesvb.experts.regression import (
    AnyExperts,
    RegressionUnits,
    coefficients_parameter,
)
from bayesvb.experts.spread import SPREAD
from bayesvb.factors.bounded_scale import BoundedScale
from bayesvb.factors.coupled_normal_gamma import CommonColumns
from bayesvb.factors.gamma import Gamma
from bayesvb.factors.half_t import HALF_T_DOF, HalfTScale
from bayesvb.formula.design import Design
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.gates.base import GatePrior
from bayesvb.linear.structure import LIMITS
from bayesvb.models.mixture import Mixture
from bayesvb.models.scaled_coordinates import SCALE_DRAWS
from bayesvb.models.scaled_mixture import ScaledMixture
from bayesvb.models.term_scales import TermScales
from bayesvb.numerics.arrays import TermVector
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

BETWEEN, COMMON_SCALE = "between components", "common scale"
"""Names in tables where coefficients have a common part: of scales of their differences, and of
scales of the common coefficients of penalised terms."""

LOWEST_COMMON_SD = 2.0
"""Lower bound of the standard deviation of common coefficients, in standard errors of a column
that is uncorrelated with the others if the noise is all of the response. With it the coverage of
one effect of three standard errors among null effects equals the average under a wide prior, and
null effects lose a third of their squared error."""

HEADINGS = {
    BETWEEN: "between components (prior sd of the differences between components, in units of each "
    "component's noise per sd of the column)",
    COMMON_SCALE: "common scale (prior sd of the common coefficients of a penalised term, in sd "
    "of the response per sd of the column)",
}
"""Titles of the tables of scales of coefficients with a common part."""

VARYING = {"group": BETWEEN_GROUPS, "smooth": "over basis functions"}
"""Dimension over which the coefficients of one component vary, by the kind of their term."""

OF_DIFFERENCES = ParameterText(
    symbol="s_d",
    meaning="standard deviation of the components' coefficients of a term around the common ones, "
    "in units of each component's noise per standard deviation of its columns",
    heading="Scales of differences between components",
    caption="Standard deviation of the components' coefficients around the common ones, in units "
    "of each component's noise per standard deviation of the term's columns",
)

OF_COMMON_SCALES = ParameterText(
    symbol="s_b",
    meaning="standard deviation of the common coefficients of a penalised term, in standard "
    "deviations of the response per standard deviation of its columns",
    heading="Scales of common penalised terms",
    caption="Standard deviation of the common coefficients of each penalised term",
)

OF_GATE = ParameterText(
    symbol="s_γ",
    meaning="standard deviation of the log odds of a term of the weights, over components, per "
    "standard deviation of its columns",
    heading="Scales of the gate's terms",
    caption="Scale of each term of the weights: standard deviation of its log odds over components",
)


OF_FURTHER = {
    SIGMA: ParameterText(
        symbol="s_δ",
        meaning="standard deviation of the coefficients of a smooth of the log standard deviation, "
        "per standard deviation of its columns",
        heading="Scales of the smooths of sigma",
        caption="Scale of each smooth of sigma: standard deviation of its coefficients",
    ),
    ZERO: ParameterText(
        symbol="s_ζ",
        meaning="standard deviation of the coefficients of a smooth of the log odds of a "
        "zero, per standard deviation of its columns",
        heading="Scales of the smooths of zero",
        caption="Scale of each smooth of zero: standard deviation of its coefficients",
    ),
}
"""Scales of the parts that experts read besides the mean."""


@dataclass(frozen=True, eq=False)
class LearnedScales:
    """The terms whose scales a density regression learns.

    Attributes
    ----------
    design : Design
        Terms of the parts, and names of the responses.
    priors : Priors
    parts : tuple of str
        Parts that learn scales: the means, a further part of the experts, the gate.
    n_components : int
    n_rows : float
        Rows of the data by case weight: they bound the scale of common coefficients.
    experts : AbstractRegressionExperts
        With their prior before scales are learned.
    """

    design: Design
    priors: Priors
    parts: tuple[str, ...]
    n_components: int
    n_rows: float
    experts: AnyExperts

    @property
    def term_blocks(self) -> dict[str, tuple[TermBlock, ...]]:
        """Columns that share a scale, by part, where there are any."""
        result = {part: self.design.term_blocks[part] for part in self.parts}
        if self.n_components == 1 and self.priors.scales == "between":
            # One coefficient would have to estimate its own scale, and would be shrunk by it.
            result[MEAN] = _penalised(result.get(MEAN, ()))
        if self._further in result:
            # Of one coefficient of a log sd that is small there is little to learn a scale from.
            result[self._further] = _penalised(result[self._further])
        return {part: blocks for part, blocks in result.items() if blocks}

    def varying(self, part: str) -> str:
        """Dimension over which coefficients vary with the scale of a term as standard deviation."""
        blocks = self.term_blocks.get(part, ())
        kinds = dict.fromkeys(VARYING[one.kind] for one in blocks if one.kind in VARYING)
        several = self.n_components > 1 and not PARTS[part].is_common
        names = [*(["over components"] if several else []), *kinds]
        return " and ".join(names) or "around zero"  # of a lone coefficient, if all are learned

    def headings(self) -> dict[str, str]:
        """Titles of the tables of scales."""
        parts, units = [PARTS[name] for name in self.parts], self.experts.scale_units
        each = {one.scale: one.scale_heading(self.varying(one.name), units) for one in parts}
        return {**{scale: each[scale] for scale in each if scale}, **HEADINGS}

    def _rate(self, part: str, kind: str = "") -> float:
        """Prior rate of the precision of a term of a part."""
        of_groups = part == MEAN and kind == "group"
        return self.priors.number("group_scale_rate" if of_groups else PARTS[part].scale_rate)

    def _rates(self, part: str, n_scales: int) -> list[float]:
        """Prior rates of the precisions of a part: of its terms, then of common coefficients."""
        rates = [self._rate(part, block.kind) for block in self.term_blocks.get(part, ())]
        return [*rates, *[self._rate(part)] * (n_scales - len(rates))][:n_scales]

    def typical(self, part: str, kind: str = "") -> float:
        """The scale whose precision is the prior's mean."""
        return float(np.sqrt(self._rate(part, kind) / self.priors.scale_shape))

    def learned_by(self, mixture: Mixture) -> ScaledMixture:
        """The mixture whose coefficients of these terms have scales that are learned."""
        common = self.common_columns
        experts = self._of_all_terms(mixture.n_components, common)
        precisions, n_logits, counts = np.empty(0), 0, np.empty(0)
        if GATING in self.term_blocks:
            precisions, n_logits = mixture.gate.prior.precisions, len(mixture.gate.prior.mean)
            counts = coefficients_per_term(self.design, GATING)
        gate = self._scales(GATING, precisions, n_logits, counts)
        n_further = len(self.term_blocks.get(self._further, ()))
        sizes = (len(experts.start) - n_further, n_further, len(gate.start))
        each = zip((MEAN, self._further or MEAN, GATING), sizes, strict=True)
        rate = np.concatenate([self._rates(part, size) for part, size in each])
        prior = Gamma(np.full(len(rate), float(self.priors.scale_shape)), rate)
        parts = (mixture.experts, mixture.gate, experts, gate, prior)
        half_t = self._half_t if common else ()
        name = ZERO if self._further == ZERO else SPREAD
        return ScaledMixture(*parts, common, half_t, self._n_further, name)

    @property
    def _further(self) -> str:
        """Part that the experts read besides the mean; empty if there is none."""
        return next(iter(further_terms(self.design)), "")

    @property
    def _n_further(self) -> int:
        """Coefficients of this part in one vector."""
        return len(further_terms(self.design).get(self._further, ()))

    @property
    def _fixed_further(self) -> TermVector:
        """Prior precisions of these coefficients where they are fixed."""
        sd = self.priors.number(PARTS[self._further].coefficient_sd)
        return np.full(self._n_further, sd**-2.0)

    def _of_all_terms(self, n_components: int, common: CommonColumns | None) -> TermScales:
        """Scales of the terms of the mean, then of the experts' further part."""
        mean = self._of_mean(n_components, common)
        if not self._n_further:
            return mean
        part, blocks = PARTS[self._further], self.term_blocks.get(self._further, ())
        columns = [self._without_level(b.columns) for b in blocks]
        # A vector that components have in common counts once, and not for each of them.
        sizes = np.full(self._n_further, 1.0 / n_components if part.is_common else 1.0)
        return mean.followed_by(TermScales.of(columns, self._fixed_further, n_components, sizes))

    def _without_level(self, columns: Sequence[int]) -> list[int]:
        """Indices of columns of the further part once a level of its own is removed."""
        if not PARTS[self._further].has_level:
            return list(columns)
        level = self.design.terms[self._further].index(INTERCEPT)
        removed = [level, *self.design.offset_columns(self._further)]
        return [column - sum(column > one for one in removed) for column in columns]

    @property
    def _half_t(self) -> tuple[tuple[int, HalfTScale], ...]:
        """Blocks of common group effects, which come after all differences, with their prior."""
        blocks, n_terms = self.term_blocks[MEAN], len(coefficients_per_term(self.design))
        penalised = [block for block in blocks if block.is_penalised]
        places = [i for i, block in enumerate(penalised) if block.kind == "group"]
        columns = [penalised[i].columns for i in places]
        membership = TermScales.of(columns, np.ones(n_terms), 1).membership
        units = half_t_units(membership, self.priors, self.design)
        return tuple(
            (len(blocks) + i, HalfTScale(float(unit)))
            for i, unit in zip(places, units, strict=True)
        )

    @property
    def has_common_part(self) -> bool:
        """Whether coefficients of the components scatter around common ones.

        Common coefficients are absent with several responses, a prior in units of the response,
        discrete responses, or more than ``LIMITS.columns`` group effects in the formula: their
        terms shrink towards zero as with ``scales="learned"``.
        """
        if self.priors.scales != "between" or self.n_components == 1:
            return False
        if not self.experts.has_common_effects:
            return False
        apart = self.design.groups is not None or self.design.gate_groups is not None
        one_response = len(self.design.response_names) == 1
        in_noise = self.priors.coefficient_units == "noise"
        few = not apart and self._n_group_effects <= LIMITS.columns
        return bool(self.term_blocks.get(MEAN)) and one_response and in_noise and few

    @property
    def _n_group_effects(self) -> int:
        """Number of columns of group-level terms, in the part that has more of them."""
        return max(
            sum(len(block.columns) for block in blocks if block.kind == "group")
            for blocks in self.term_blocks.values()
        )

    @property
    def common_columns(self) -> CommonColumns | None:
        """Columns whose coefficients have a common part; None if none have."""
        if not self.has_common_part:
            return None
        blocks = self.term_blocks[MEAN]
        places = np.array(sorted(column for block in blocks for column in block.columns))
        penalised = [c for block in blocks if block.is_penalised for c in block.columns]
        sd = float(self.priors.common_sd)
        spread = BoundedScale.half_normal(sd, lowest=LOWEST_COMMON_SD * self.n_rows**-0.5)
        return CommonColumns(places, ~np.isin(places, penalised), spread)

    def _of_mean(self, n_components: int, common: CommonColumns | None) -> TermScales:
        """Scales of the experts' terms, then of the common coefficients, where there are any."""
        sizes, n_responses = coefficients_per_term(self.design), len(self.design.response_names)
        fixed = np.full(len(sizes), self.priors.number("coefficient_sd") ** -2.0)
        if common is None:
            return self._scales(MEAN, fixed, n_components * n_responses, sizes)
        blocks = self.term_blocks[MEAN]
        columns = [block.columns for block in blocks]
        place = {int(column): len(sizes) + i for i, column in enumerate(common.places)}
        for block in blocks:
            if block.is_penalised:
                columns.append(tuple(place[c] for c in block.columns))
        if common.wide.any():
            columns.append(tuple(place[int(c)] for c in common.places[common.wide]))
        whole = np.concatenate([fixed, np.full(len(place), self.priors.common_sd**-2.0)])
        once = np.full(len(place), 1.0 / n_components)  # one vector for all components
        return TermScales.of(columns, whole, n_components, np.concatenate([sizes, once]))

    def _scales(
        self, part: str, precision: TermVector, n_vectors: int, sizes: TermVector
    ) -> TermScales:
        """Scales of a part with this number of vectors, which have these precisions if fixed."""
        columns = [block.columns for block in self.term_blocks.get(part, ())]
        return TermScales.of(columns, precision, n_vectors, sizes)

    def at_typical(self, experts: AnyExperts, gate: GatePrior) -> tuple[AnyExperts, GatePrior]:
        """Experts, and the prior of a gate, whose terms have the typical scale."""
        n_terms = len(coefficients_per_term(self.design))
        fixed = {
            MEAN: np.full(n_terms, self.priors.number("coefficient_sd") ** -2.0),
            GATING: np.array([*np.diagonal(gate.coefficients.precision), *gate.effects]),
        }
        if self._n_further:
            fixed[self._further] = self._fixed_further
        for part, blocks in self.term_blocks.items():
            for block in blocks:
                columns = list(block.columns)
                columns = self._without_level(columns) if part == self._further else columns
                fixed[part][columns] = self.typical(part, block.kind) ** -2.0
        if {MEAN, self._further} & self.term_blocks.keys():
            precisions = np.concatenate([fixed[MEAN], fixed.get(self._further, np.empty(0))])
            experts = experts.with_coefficient_precision(precisions)
        border, effects = np.split(fixed[GATING], [len(gate.intercept)])
        coefficients = gate.coefficients.with_precision(border)
        return experts, replace(gate, coefficients=coefficients, effects=tuple(effects.tolist()))

    def prior_rows(self, rows: Sequence[PriorRow]) -> list[PriorRow]:
        """Rows of the prior table, marked where a scale is learned, and rows of the scales."""
        learned = {
            (PARTS[part].label, term) for part in self.term_blocks for term in self._terms(part)
        }
        around = {MEAN: "common + "} if self.has_common_part else {}
        marked = [
            replace(row, prior=f"{around.get(row.part, '')}{row.prior}, learned scale")
            if (row.part, row.term) in learned
            else row
            for row in rows
        ]
        own = [
            PriorRow(self._part_of_scales(part), block.name, *self._gamma(part, block.kind))
            for part, blocks in self.term_blocks.items()
            for block in blocks
        ]
        return [*marked, *own, *self._common_rows()]

    def _gamma(self, part: str, kind: str) -> tuple[str, float, float]:
        """Prior of a learned scale of a term of a part, with its typical value."""
        words = f"1/scale^2 ~ Gamma({self.priors.scale_shape:g}, {self._rate(part, kind):g})"
        return words, self.typical(part, kind), np.nan

    def _part_of_scales(self, part: str) -> str:
        """Name in tables of the scales of a part."""
        return BETWEEN if part == MEAN and self.has_common_part else PARTS[part].scale

    def _common_rows(self) -> list[PriorRow]:
        """Rows of the scales of the common coefficients, where there are any."""
        common = self.common_columns
        if common is None:
            return []
        blocks, half_t = self.term_blocks[MEAN], dict(self._half_t)
        penalised = [block for block in blocks if block.is_penalised]
        rows = []
        for at, block in enumerate(penalised, start=len(blocks)):
            prior: tuple[str, float, float] = self._gamma(MEAN, block.kind)
            if at in half_t:
                unit = half_t[at].unit
                prior = f"scale ~ half-Student t({HALF_T_DOF:g}, {unit:.3g})", unit, np.nan
            rows.append(PriorRow(COMMON_SCALE, block.name, *prior))
        if common.wide.any():
            sd, least = self.priors.common_sd, common.spread.precision.max() ** -0.5
            words = f"scale ~ half-normal({sd:g}), at least {least:.2g}"
            rows.append(PriorRow(COMMON_SCALE, "all other terms", words, float(sd), np.nan))
        return rows

    def parameters(
        self, core: AnyModel, draws: Draws, units: RegressionUnits
    ) -> list[NamedParameter]:
        """Common coefficients and drawn scales by name, where the draws have them.

        Point estimates have fixed scales, and no common coefficients.
        """
        blocks = self.term_blocks
        of_mean = blocks.get(MEAN, ())
        penalised = tuple(block for block in of_mean if block.is_penalised)
        coupled = self.has_common_part
        names = ("between", OF_DIFFERENCES, BETWEEN) if coupled else (
            MEAN, self._of_experts, PARTS[MEAN].scale
        )  # fmt: skip
        further = self._further or SIGMA
        kinds = (
            (*names, of_mean),
            ("common", OF_COMMON_SCALES, COMMON_SCALE, penalised),
            (further, OF_FURTHER[further], PARTS[further].scale, blocks.get(further, ())),
            (GATING, OF_GATE, PARTS[GATING].scale, blocks.get(GATING, ())),
        )
        parameters = self._common(core, draws, units) if coupled and SCALE_DRAWS[0] in draws else []
        for (kind, text, part, of_kind), name in zip(kinds, SCALE_DRAWS, strict=True):
            if name in draws:
                scale = NamedParameter(
                    name=f"scale_{kind}",
                    values=1.0 / np.sqrt(draws[name]),
                    dims=(f"block_{kind}",),
                    text=text,
                    part=part,
                    coords={f"block_{kind}": [block.name for block in of_kind]},
                )
                parameters.append(scale)
        return parameters

    def _common(self, core: AnyModel, draws: Draws, units: RegressionUnits) -> list[NamedParameter]:
        """Common coefficients in the units of the data, for the ArviZ object.

        Tables omit them: weighted by the precision of the noise, they are not average effects.
        """
        common = self.common_columns
        assert common is not None
        n_draws, n_terms = len(draws["coefficients"]), draws["coefficients"].shape[-1]
        whole = np.zeros((n_draws, 1, 1, n_terms))
        whole[:, 0, 0, common.places] = cast(ScaledMixture, core).common_given(draws)
        given = coefficients_parameter({"coefficients": whole}, units)
        values = given.values[:, 0][:, common.places]
        terms = [units.terms[place] for place in common.places]
        return [
            NamedParameter(
                name="beta_common",
                values=values,
                dims=("term_common",),
                coords={"term_common": terms},
            )
        ]

    @property
    def _of_experts(self) -> ParameterText:
        """Meaning of the scales of the experts."""
        units = self.experts.scale_units
        what = "linear predictors" if "predictor" in units else "lines"
        varying = self.varying(MEAN)
        return ParameterText(
            symbol="s_β",
            meaning=f"standard deviation of the coefficients of a term of the {what} "
            f"{varying}, in {units} per standard deviation of its columns",
            heading=f"Scales of the {what}' terms",
            caption=f"Scale of each term of the {what}: standard deviation of its coefficients "
            f"{varying}, in {units} per standard deviation of its columns",
        )

    def _terms(self, part: str) -> set[str]:
        """Terms with a learned scale, as the prior table calls them."""
        names, groups = self.design.terms[part], self.design.groups_of(part)
        if groups is not None:
            names = (*names, *groups.effects)
        columns = [column for block in self.term_blocks[part] for column in block.columns]
        terms = {names[column] for column in columns}
        responses = self.design.response_names
        if PARTS[part].of_weights or len(responses) == 1:
            return terms
        return {f"{response}: {term}" for response in responses for term in terms}


def _penalised(blocks: Sequence[TermBlock]) -> tuple[TermBlock, ...]:
    """Columns that the formula asks to be penalised."""
    return tuple(block for block in blocks if block.is_penalised)
