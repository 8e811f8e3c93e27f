"""Variances of group-level effects and of the noise: standard deviations, correlations, shares."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.group_rows import GROUP_ROWS
from bayesvb.data.parts import MEAN, SIGMA
from bayesvb.data.scaling import INTERCEPT
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.errors import DataError
from bayesvb.factors.uniform_correlation import UniformCorrelation
from bayesvb.formula.design import Design
from bayesvb.formula.group_columns import GroupColumns
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.numerics.arrays import DrawVector, RowVector
from bayesvb.results.capabilities import scales_of
from bayesvb.results.group_covariance import (
    GroupCovariance,
    block_scales,
    integrated_covariances,
    values_text,
)

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LATENT = {"logit": np.pi**2 / 3.0, "probit": 1.0}
"""Variance of the noise of a latent response by link: of the logistic, and of the standard normal
distribution."""

FIXED, RESIDUAL = "fixed effects", "residual"


def variance_components(fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Table of the components; see ``Fit.variance_components``."""
    from bayesvb.data.line_width import PrintedTable

    parts = VarianceParts.from_fit(fit)
    rows = {**parts.sds(), **parts.correlations(), **parts.intraclass(), **parts.shares()}
    values = np.stack(list(rows.values()))
    lower, upper = np.quantile(values, tails(prob), axis=1)
    index = pd.MultiIndex.from_tuples(list(rows), names=["quantity", "term", "at"])
    columns = {"estimate": values.mean(axis=1), "lower": lower, "upper": upper}
    return PrintedTable(columns, index=index)


@dataclass(frozen=True)
class VarianceParts:
    """Components of the variance of a response, in each draw.

    Attributes
    ----------
    groups : tuple of (GroupCovariance, ndarray of shape (rows, effects))
        Covariance of each term, and what its effects are multiplied by in each row.
    fixed : ndarray, shape (draws,)
        Variance over rows of the contribution of the coefficients that all groups share.
    noise : ndarray, shape (draws,), or None
        Variance of the noise; None for counts, whose noise follows the mean.
    weights : ndarray, shape (rows,), or None
        Case weights.
    """

    groups: tuple[tuple[GroupCovariance, Float[np.ndarray, "rows effects"]], ...]
    fixed: DrawVector
    noise: DrawVector | None
    weights: RowVector | None

    @classmethod
    def from_fit(cls, fit: AbstractFit) -> VarianceParts:
        """Return the parts of a fit with one component and one response."""
        terms, design = _terms(fit), fit.model.design
        multipliers = [
            np.stack([_multiplier(design, block) for block in _blocks(design, one.term)], axis=1)
            for one in terms
        ]
        each = tuple(zip(terms, multipliers, strict=True))
        return cls(each, _fixed_variance(fit), _residual_variance(fit), fit.model.weights)

    @cached_property
    def places(self) -> list[list[Float[np.ndarray, " covariates"]]]:
        """Values of the covariates of each term at which it is described: zero, then the means.

        Factors have their first level. Only zero where no term has slopes, or all means are within
        1% of a standard deviation of it: covariates that were centred.
        """
        zero, mean, apart = [], [], []
        for one, multipliers in self.groups:
            first = int(one.term.intercept)
            multiplier = (
                np.average(multipliers, axis=0, weights=self.weights)[first:] + one.term.centres
            )
            zero.append(_with_levels(one.term, np.zeros(one.n_covariates), {}))
            mean.append(_with_levels(one.term, multiplier, {}))
            apart += list(np.abs(mean[-1] - zero[-1]) > 0.01 * multipliers.std(axis=0)[first:])
        return [zero, mean] if any(apart) else [zero]

    @cached_property
    def further_places(self) -> list[list[Float[np.ndarray, " covariates"]]]:
        """Values at each further level of a factor; other covariates as in the last place."""
        terms = [one.term for one, _ in self.groups]
        levels = {(i.factor, i.level): i.first for term in terms for i in term.indicators if i}
        return [
            [
                _with_levels(term, place, {factor: level})
                for term, place in zip(terms, self.places[-1], strict=True)
            ]
            for (factor, level), first in levels.items()
            if level != first
        ]

    def at(self, place: list[Float[np.ndarray, " covariates"]]) -> str:
        """Return words for a place, each covariate once."""
        words = [
            values_text(one.term, position)
            for (one, _), position in zip(self.groups, place, strict=True)
        ]
        return ", ".join(dict.fromkeys(word for word in words if word))

    def sds(self) -> dict[tuple[str, str, str], DrawVector]:
        """Return standard deviations of the effects, levels at each place, and of the noise."""
        sds = {}
        for i, (one, _) in enumerate(self.groups):
            for j, block in enumerate(one.term.term_blocks):
                for place in (*self.places, *self.further_places):
                    moves = one.term.intercept and j == 0
                    where = values_text(one.term, place[i]) if moves else ""
                    sds["sd", block.name, where] = np.sqrt(one.at(place[i])[:, j, j])
        if self.noise is not None:
            sds["sd", RESIDUAL, ""] = np.sqrt(self.noise)
        return sds

    def correlations(self) -> dict[tuple[str, str, str], DrawVector]:
        """Return correlations of effects with a full covariance at each place."""
        correlations = {}
        for i, (one, _) in enumerate(self.groups):
            for place in self.places if one.correlated else []:
                covariance, term = one.at(place[i]), one.term
                sd = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
                for a, b in UniformCorrelation(len(term.effects)).pairs:
                    name = f"({term.effects[b]}, {term.effects[a]} | {term.grouping})"
                    moves = term.intercept and b == 0
                    where = values_text(term, place[i]) if moves else ""
                    correlations["correlation", name, where] = covariance[:, a, b] / (
                        sd[:, a] * sd[:, b]
                    )
        return correlations

    def intraclass(self) -> dict[tuple[str, str, str], DrawVector]:
        """Return intraclass correlations: shares of the variance given the covariates."""
        coefficients = {}
        for place in (*self.places, *self.further_places) if self.noise is not None else ():
            each = [
                one.variance(position)
                for (one, _), position in zip(self.groups, place, strict=True)
            ]
            total = np.sum(each, axis=0) + self.noise
            for (one, _), variance in zip(self.groups, each, strict=True):
                coefficients["icc", one.term.term, self.at(place)] = variance / total
        return coefficients

    def shares(self) -> dict[tuple[str, str, str], DrawVector]:
        """Return shares of the variance of the response over rows."""
        if self.noise is None:
            return {}
        variances = {FIXED: self.fixed}
        for one, multipliers in self.groups:
            variances[one.term.term] = one.mean_variance(multipliers, self.weights)
        variances[RESIDUAL] = self.noise
        total = np.sum(list(variances.values()), axis=0)
        with np.errstate(invalid="ignore"):
            each = {name: value / total for name, value in variances.items()}
        # Noise of infinite variance, of a Student t with few degrees of freedom, is all of it.
        return {("share", name, ""): np.nan_to_num(share, nan=1.0) for name, share in each.items()}


def has_variance_components(fit: AbstractFit) -> bool:
    """Return whether a fit has a posterior of variance components."""
    return not fit.is_point_estimate and _reason_against(fit) is None


def variance_lines(fit: AbstractFit) -> list[str]:
    """Return sentences with the shares of the variance; empty without components."""
    if not has_variance_components(fit):
        return []
    table = variance_components(fit, PROB)
    shares, each = [], dict[str, list[str]]()
    for (quantity, term, at), row in zip(table.index, table.to_numpy(), strict=True):
        if quantity == "share":
            mean, low, high = (percent_text(share) for share in row)
            shares.append(f"{term} {mean} ({low} to {high})")
        elif quantity == "icc":
            where = f" at {at}" if at else ""
            each.setdefault(term, []).append("{:.2f} ({:.2f} to {:.2f})".format(*row) + where)
    known = [f"Intraclass correlation of {term}: {', '.join(w)}." for term, w in each.items()]
    return [*([f"Shares of variance: {', '.join(shares)}."] if shares else []), *known]


def percent_text(share: float) -> str:
    """Return a share in percent, below 1% with two digits.

    Examples
    --------
    >>> percent_text(0.344), percent_text(0.00472)
    ('34%', '0.47%')
    """
    return f"{share:.0%}" if share >= 0.01 else f"{100.0 * share:.2g}%"


def _reason_against(fit: AbstractFit) -> DataError | None:
    """Why a fit has no variance components; None if it has them."""
    model = fit.model
    if MEAN not in model.design.terms or not model.design.group_terms(MEAN):
        return DataError("the mean has no groups", hint="effects of groups are written (1 | g)")
    if model.size > 1 or len(model.design.response_names) > 1:
        return DataError(
            f"{fit.model.title} has several components or responses, each with its own variance",
            hint="fit.summary() has the scales of group-level effects; n_components=1 has one "
            "variance",
        )
    if "scale_mean" not in fit.named_draws.values:
        return DataError(
            "the standard deviations of groups are fixed: Priors(scales='fixed')",
            hint="omit scales, or choose 'learned'",
        )
    return None


def _terms(fit: AbstractFit) -> list[GroupCovariance]:
    """Covariances of the terms of groups of the mean.

    Raises
    ------
    DataError
        If there are none, or several components or responses, or their scales are not learned.
    """
    reason = _reason_against(fit)
    if reason is not None:
        raise reason
    design = fit.model.design
    known = integrated_covariances(fit.core, fit.draws, design, scales_of(fit))
    terms = design.group_terms(MEAN)
    return known or [GroupCovariance.from_sds(term, _sds(fit, term), None) for term in terms]


def _with_levels(
    term: GroupColumns, values: Float[np.ndarray, " covariates"], levels: Mapping[str, str]
) -> Float[np.ndarray, " covariates"]:
    """Values of the covariates, with indicators of these levels of factors, else the first."""
    each = zip(values, term.indicators, strict=True)
    chosen = [x if i is None else i.level == levels.get(i.factor, i.first) for x, i in each]
    return np.array(chosen, dtype=float)


def _blocks(design: Design, term: GroupColumns) -> list[TermBlock]:
    """Blocks of a term's effects."""
    blocks = {block.name: block for block in design.term_blocks[MEAN]}
    return [blocks[block.name] for block in term.term_blocks]


def _sds(fit: AbstractFit, term: GroupColumns) -> Float[np.ndarray, "draws effects"]:
    """Standard deviation of each effect over groups, in units of the response or of its link."""
    design, named, scales, sds = fit.model.design, fit.named_draws, scales_of(fit), []
    noise = named.values["sigma"][:, 0] if "sigma" in named.values else 1.0
    blocks = _blocks(design, term)
    for block in blocks:
        scale = named.values["scale_mean"][:, named.coords["block_mean"].index(block.name)]
        sds.append(scale * noise)
    return np.asarray(np.stack(sds, axis=1) / block_scales(blocks, design, scales))


def _multiplier(design: Design, block: TermBlock) -> RowVector:
    """Multiplier of a row's group effect: one, or a covariate less its centre."""
    apart = _place_apart(design, block)
    if apart is not None:
        return np.asarray(design.matrices[GROUP_ROWS][:, apart])
    return np.asarray(design.matrices[MEAN][:, list(block.columns)].sum(axis=1))


def _place_apart(design: Design, block: TermBlock) -> int | None:
    """Column of the matrix of groups, after their numbers; None of effects that are columns."""
    behind = block.columns[0] - len(design.terms[MEAN])
    return None if behind < 0 else behind + 1


def _fixed_variance(fit: AbstractFit) -> DrawVector:
    """Variance over rows of the contribution of shared coefficients to the mean."""
    design, values = fit.model.design, fit.named_draws.values["beta"]
    blocks = [block for block in design.term_blocks[MEAN] if block.kind == "group"]
    groups = {column for block in blocks for column in block.columns}
    shared = [
        j for j, name in enumerate(design.terms[MEAN]) if j not in groups and name != INTERCEPT
    ]
    coefficients = values.reshape(len(values), -1)[:, shared]
    columns = design.matrices[MEAN][:, shared]
    covariance = np.atleast_2d(np.cov(columns.T, aweights=fit.model.weights, ddof=0))
    if not shared:
        return np.zeros(len(values))
    return np.asarray(((coefficients @ covariance) * coefficients).sum(axis=1))


def _residual_variance(fit: AbstractFit) -> DrawVector | None:
    """Variance of the noise averaged over rows; None for counts, whose noise follows the mean."""
    values, design = fit.named_draws.values, fit.model.design
    if "sigma" not in values:
        latent = LATENT.get(fit.model.response.link)
        return None if latent is None else np.full(len(values["beta"]), latent)
    variance = np.asarray(values["sigma"][:, 0] ** 2)
    if "beta_sigma" in values:
        columns, known = design.matrices[SIGMA], list(design.offset_columns(SIGMA))
        logs = 2.0 * values["beta_sigma"][:, 0] @ np.delete(columns, known, axis=1).T
        logs += 2.0 * columns[:, known].sum(axis=1)
        variance = np.average(np.exp(logs), axis=1, weights=fit.model.weights)
    if "nu" in values:
        dof = values["nu"]
        variance = variance * np.where(dof > 2.0, dof / np.maximum(dof - 2.0, 1e-300), np.inf)
    return np.asarray(variance)
