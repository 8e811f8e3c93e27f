"""Prior scales of terms that are learned: the model that has them, their names and their prior."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.estimators.group_effects import coefficients_per_term
from bayesvb.estimators.priors import Priors
from bayesvb.experts.regression import AbstractRegressionExperts
from bayesvb.factors.gamma import Gamma
from bayesvb.formula.design import Design
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.gates.base import GatePrior
from bayesvb.models.mixture import Mixture
from bayesvb.models.scaled_mixture import SCALE_DRAWS, ScaledMixture
from bayesvb.models.term_scales import TermScales
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws

PARTS = {"mean": "scale", "gating": "gating scale"}
"""Names in tables of the scales of the experts' terms, and of those of the gate's."""

UNITS = {"noise": "units of each component's noise", "response": "sd of the response"}
"""What scales of experts' coefficients are in, by ``Priors.coefficients_in``."""

PENALISED = ("smooth", "group")
"""Blocks of columns that the formula asks to be penalised: their scale is always learned."""

HEADINGS = {
    PARTS["mean"]: "scale (sd of a term's coefficients over components, per sd of its columns)",
    PARTS[
        "gating"
    ]: "gating scale (sd of a term's log odds over components, per sd of its columns)",
}
"""Titles of the tables of scales."""

OF_GATE = ParameterText(
    symbol="s_γ",
    meaning="standard deviation of the log odds of a term of the weights, over components, per "
    "standard deviation of its columns",
    heading="Scales of the gate's terms",
    caption="Scale of each term of the weights: standard deviation of its log odds over components",
)


@dataclass(frozen=True, eq=False)
class LearnedScales:
    """The terms whose scales a density regression learns.

    Attributes
    ----------
    design : Design
        Terms of the parts, and names of the responses.
    priors : Priors
    parts : tuple of str
        Parts that learn scales, of ``"mean"`` and ``"gating"``.
    n_components : int
    """

    design: Design
    priors: Priors
    parts: tuple[str, ...]
    n_components: int

    @property
    def term_blocks(self) -> dict[str, tuple[TermBlock, ...]]:
        """Columns that share a scale, by part, where there are any."""
        found = {part: self.design.term_blocks[part] for part in self.parts}
        if self.n_components == 1 and self.priors.scales == "between":
            # One coefficient would have to estimate its own scale, and would be shrunk by it.
            found["mean"] = tuple(b for b in found.get("mean", ()) if b.kind in PENALISED)
        return {part: blocks for part, blocks in found.items() if blocks}

    def _rate(self, part: str) -> float:
        """Prior rate of the precisions of a part."""
        of_gate = part == "gating"
        return float(self.priors.gating_scale_rate if of_gate else self.priors.scale_rate)

    def typical(self, part: str) -> float:
        """The scale whose precision is the prior's mean."""
        return float(np.sqrt(self._rate(part) / self.priors.scale_shape))

    def learned_by(self, mixture: Mixture) -> ScaledMixture:
        """The mixture whose coefficients of these terms have scales that are learned."""
        sizes, n_responses = coefficients_per_term(self.design), len(self.design.response_names)
        fixed = np.full(len(sizes), self.priors.coefficient_sd**-2.0)
        experts = self._scales("mean", fixed, mixture.n_components * n_responses, sizes)
        own, n_logits, counts = np.empty(0), 0, np.empty(0)
        if "gating" in self.term_blocks:
            own, n_logits = mixture.gate.prior.precisions, len(mixture.gate.prior.mean)
            counts = coefficients_per_term(self.design, "gating")
        gate = self._scales("gating", own, n_logits, counts)
        counts = {part: len(blocks) for part, blocks in self.term_blocks.items()}
        rate = np.repeat([self._rate(part) for part in PARTS], [counts.get(p, 0) for p in PARTS])
        prior = Gamma(np.full(len(rate), float(self.priors.scale_shape)), rate)
        return ScaledMixture(mixture.experts, mixture.gate, experts, gate, prior)

    def _scales(
        self,
        part: str,
        precision: Float[np.ndarray, " terms"],
        n_vectors: int,
        sizes: Float[np.ndarray, " terms"],
    ) -> TermScales:
        """Scales of a part in which so many vectors have these precisions if they are fixed."""
        columns = [block.columns for block in self.term_blocks.get(part, ())]
        return TermScales.of(columns, precision, n_vectors, sizes)

    def at_typical(
        self, experts: AbstractRegressionExperts[Any, Any], gate: GatePrior
    ) -> tuple[AbstractRegressionExperts[Any, Any], GatePrior]:
        """Experts, and the prior of a gate, whose terms have the typical scale."""
        n_terms = len(coefficients_per_term(self.design))
        fixed = {
            "mean": np.full(n_terms, self.priors.coefficient_sd**-2.0),
            "gating": np.array([*np.diagonal(gate.coefficients.precision), *gate.effects]),
        }
        for part, blocks in self.term_blocks.items():
            columns = [column for block in blocks for column in block.columns]
            fixed[part][columns] = self.typical(part) ** -2.0
        if "mean" in self.term_blocks:
            experts = experts.with_coefficient_precision(fixed["mean"])
        border, effects = np.split(fixed["gating"], [len(gate.intercept)])
        coefficients = gate.coefficients.with_precision(border)
        return experts, replace(gate, coefficients=coefficients, effects=tuple(effects.tolist()))

    def prior_rows(self, rows: Sequence[PriorRow]) -> list[PriorRow]:
        """Rows of the prior table, marked where a scale is learned, and rows of the scales."""
        learned = {(part, term) for part in self.term_blocks for term in self._terms(part)}
        marked = [
            replace(row, prior=f"{row.prior}, learned scale")
            if (row.part, row.term) in learned
            else row
            for row in rows
        ]
        shape = self.priors.scale_shape
        words = {part: f"1/scale^2 ~ Gamma({shape:g}, {self._rate(part):g})" for part in PARTS}
        own = [
            PriorRow(PARTS[part], block.name, words[part], self.typical(part), np.nan)
            for part, blocks in self.term_blocks.items()
            for block in blocks
        ]
        return [*marked, *own]

    def parameters(self, draws: Draws) -> list[NamedParameter]:
        """Drawn scales by name, where the draws have them: point estimates have fixed ones."""
        texts = {"mean": self._of_experts, "gating": OF_GATE}
        found = []
        for (part, text), name in zip(texts.items(), SCALE_DRAWS, strict=True):
            if name in draws:
                names = [block.name for block in self.term_blocks[part]]
                scale = NamedParameter(
                    name=f"scale_{part}",
                    values=1.0 / np.sqrt(draws[name]),
                    dims=(f"block_{part}",),
                    text=text,
                    part=PARTS[part],
                    coords={f"block_{part}": names},
                )
                found.append(scale)
        return found

    @property
    def _of_experts(self) -> ParameterText:
        """What the scales of the experts are."""
        units = UNITS[self.priors.coefficients_in]
        return ParameterText(
            symbol="s_β",
            meaning="standard deviation of the coefficients of a term of the lines, over "
            f"components, in {units} per standard deviation of its columns",
            heading="Scales of the lines' terms",
            caption="Scale of each term of the lines: standard deviation of its coefficients over "
            f"components, in {units} per standard deviation of its columns",
        )

    def _terms(self, part: str) -> set[str]:
        """Terms with a learned scale, as the prior table calls them."""
        names, groups = self.design.terms[part], self.design.groups_of(part)
        if groups is not None:
            names = (*names, *groups.effects)
        columns = [column for block in self.term_blocks[part] for column in block.columns]
        terms = {names[column] for column in columns}
        responses = self.design.response_names
        if part == "gating" or len(responses) == 1:
            return terms
        return {f"{response}: {term}" for response in responses for term in terms}
