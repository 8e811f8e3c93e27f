"""Covariance of the effects of a group, in units of the response, at any values of covariates."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from jaxtyping import Float

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.standardised_blocks import Scales
from bayesvb.formula.design import Design
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.models.half_t_mixture import EFFECT_CORRELATION, HalfTMixture
from bayesvb.numerics.arrays import BlockVector, DrawVector, RowVector
from bayesvb.variational.local import Draws

GROUP_SD = "sd of groups"
"""Label in tables of the standard deviations of group effects."""

FEW_GROUPS = 6
"""Groups below which their standard deviation is mostly the prior's: with four, posterior medians
are 1.1 times the truth and coverage of 90% intervals is 92 to 95%, but a factor is as good."""


@dataclass(frozen=True)
class GroupCovariance:
    """Draws of the covariance of the effects of one group.

    Attributes
    ----------
    term : GroupColumns
        The groups, their effects, and the centres of the covariates of slopes.
    centred : ndarray, shape (draws, effects, effects)
        Covariance where the covariates have their centres, in units of the response.
    correlated : bool
        Whether the effects have a full covariance there, or are independent.
    """

    term: GroupColumns
    centred: Float[np.ndarray, "draws effects effects"]
    correlated: bool

    @classmethod
    def from_sds(
        cls,
        term: GroupColumns,
        sds: Float[np.ndarray, "draws effects"],
        correlation: Float[np.ndarray, "draws effects effects"] | None,
    ) -> GroupCovariance:
        """Return the covariance with these standard deviations; independent without correlation."""
        matrix = np.eye(sds.shape[1]) if correlation is None else correlation
        centred = sds[:, :, None] * matrix * sds[:, None, :]
        return cls(term, centred, correlation is not None)

    @property
    def n_covariates(self) -> int:
        """Number of covariates of slopes."""
        return len(self.term.centres)

    def at(
        self, values: Float[np.ndarray, " covariates"]
    ) -> Float[np.ndarray, "draws effects effects"]:
        """Return the covariance where the covariates have these values.

        A level there is the level at the centres plus the slopes times the distance.
        """
        move = np.eye(len(self.term.effects))
        if self.term.intercept:
            move[0, 1:] = values - self.term.centres
        return np.asarray(move @ self.centred @ move.T)

    def variance(self, values: Float[np.ndarray, " covariates"]) -> DrawVector:
        """Return the variance over groups of their contribution to a row with these values."""
        return self.mean_variance(self.multipliers(values)[None])

    def multipliers(
        self, values: Float[np.ndarray, "*rows covariates"]
    ) -> Float[np.ndarray, "*rows effects"]:
        """Return the multipliers of a row's effects: slopes by distances from centres."""
        slopes = values - self.term.centres
        one = np.ones((*slopes.shape[:-1], int(self.term.intercept)))
        return np.concatenate([one, slopes], axis=-1)

    def mean_variance(
        self, multipliers: Float[np.ndarray, "rows effects"], weights: RowVector | None = None
    ) -> DrawVector:
        """Return the variance over groups, averaged over rows."""
        share = np.ones(len(multipliers)) if weights is None else weights
        products = (multipliers.T * (share / share.sum())) @ multipliers
        return np.asarray((self.centred * products).sum(axis=(1, 2)))


def penalised_blocks(design: Design) -> list[TermBlock]:
    """Return the blocks of the mean whose scale is always learned, in their order."""
    return [block for block in design.term_blocks[MEAN] if block.kind in ("group", "smooth")]


def block_scales(blocks: Sequence[TermBlock], design: Design, scales: Scales) -> BlockVector:
    """Return the scales of columns of blocks, or of the values of effects without columns."""
    # The first column of a design of groups holds their numbers.
    groups = scales.parts[GROUP_ROWS].scale[1:] if GROUP_ROWS in scales.parts else np.empty(0)
    every = np.concatenate([scales.parts[MEAN].scale[: len(design.terms[MEAN])], groups])
    return np.asarray(every[[block.columns[0] for block in blocks]])


def joint_terms(design: Design) -> list[str]:
    """Return the terms of groups with a full covariance, in the order of their blocks."""
    return list(dict.fromkeys(b.joint for b in penalised_blocks(design) if b.joint))


def integrated_covariances(
    core: object, draws: Draws, design: Design, scales: Scales
) -> list[GroupCovariance]:
    """Return the covariances of the terms of groups where scales have half-t priors; else none."""
    if not isinstance(core, HalfTMixture) or "term_precision" not in draws:
        return []
    blocks, joint = penalised_blocks(design), joint_terms(design)
    places = {block.name: place for place, block in enumerate(blocks)}
    in_noise = 1.0 / np.sqrt(draws["term_precision"] * draws["precision"][:, :, 0])
    sds = in_noise * scales.response.scale[0] / block_scales(blocks, design, scales)
    matrices = [matrix for _, matrix in core.correlation_matrices(draws)]
    covariances = []
    for term in design.group_terms(MEAN):
        term_sds = sds[:, [places[block.name] for block in term.term_blocks]]
        correlated = term.correlated and EFFECT_CORRELATION in draws
        matrix = matrices[joint.index(term.term)] if correlated else None
        covariances.append(GroupCovariance.from_sds(term, term_sds, matrix))
    return covariances


def group_notes(design: Design, *, integrated: bool) -> list[str]:
    """Return sentences on groups whose effects are independent of each other, or that are few.

    Parameters
    ----------
    design : Design
    integrated : bool
        Whether the posterior is integrated over standard deviations and correlations.
    """
    notes = []
    of_mean = design.group_terms(MEAN)
    names = {term.term for term in of_mean}
    gating = design.group_terms(GATING) if GATING in design.terms else ()
    of_gate = [term for term in gating if term.term not in names]
    for term in [*of_mean, *of_gate]:
        written, n_groups = f"`{term.term}`", len(term.groups)
        if len(term.effects) > 1 and not (term.correlated and integrated):
            why = ""
            if term.correlated:
                why = "; correlations need one Gaussian component and its exact intervals"
            where = f" at {values_text(term, term.centres)}" if term.intercept else ""
            notes.append(f"Effects of {written} are independent of each other{where}{why}.")
        if n_groups < FEW_GROUPS and term in of_mean:
            notes.append(
                f"{written} has {n_groups} groups, fewer than {FEW_GROUPS}: the prior largely "
                f"determines their standard deviation, and a factor, {term.grouping}, has the "
                "same information."
            )
    return notes


def values_text(term: GroupColumns, values: Float[np.ndarray, " covariates"]) -> str:
    """Return words for values of the covariates of slopes, one for all indicators of a factor."""
    words = dict[str, str]()
    names = term.effects[int(term.intercept) :]
    for name, one, value in zip(names, term.indicators, values.tolist(), strict=True):
        if one is None:
            words[name] = f"{name} = {value:.4g}"
        elif value or one.factor not in words:
            words[one.factor] = one.text(value)
    return ", ".join(words.values())
