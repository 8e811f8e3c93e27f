"""Groups of rows that share one component, as an argument of a model: read, kept and put back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.special import logsumexp, softmax

from bayesvb.argument_checks import shown
from bayesvb.data.blocks import Block
from bayesvb.data.case_weights import CaseWeights, scaled
from bayesvb.data.frames import as_frame, columns_of
from bayesvb.data.grouping import Grouping, group_column, grouped_source
from bayesvb.data.labels import match_labels
from bayesvb.data.parts import GATING
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.formula.design import Design
from bayesvb.formula.parser import Formula
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.base import AbstractFit
from bayesvb.results.groups import observed_units


def without_groups(
    group: object, formula: Formula, data: object
) -> tuple[object, pd.Series | None]:
    """Data in which ``.`` does not see the column of groups, and that column.

    Raises
    ------
    DataError
        If it is not a column of the data.
    """
    if group is None:
        return data, None
    frame = as_frame(data)
    name = group_column(group, frame)
    column = frame[name]
    read = {used for part in formula.read.values() for used in part.names}
    return (frame if name in read else frame.drop(columns=name)), column


def grouped(
    column: pd.Series | None, design: Design, given: CaseWeights
) -> tuple[Design, CaseWeights, Grouping | None]:
    """Groups of the rows used; the design that keeps their labels; weights that count groups.

    Raises
    ------
    DataError
        If a label is missing, or there is one group only.
    """
    if column is None:
        return design, given, None
    name, complete_values = str(column.name), column[design.complete]
    grouping = Grouping.of(complete_values, name)
    if len(grouping.labels) < 2:
        raise DataError(
            f"group={name!r} has a single level, but at least two groups are needed: "
            f"{shown(grouping.labels[0])}",
            hint="omit group",
        )
    if name not in design.frame.columns:
        design = replace(design, frame=design.frame.assign(**{name: complete_values}))
    if given.meaning == "sampling" and given.values is not None:
        first = given.values[grouping.first]
        counted = scaled(first)
        if counted is not None and first.any():
            given = given._replace(values=given.values * (counted.sum() / first.sum()))
    return design, given, grouping


def most_components(design: Design, grouping: Grouping | None) -> dict[str, Any]:
    """Largest number of components that there may be, and of what: one per row, or per group."""
    if grouping is None:
        return {"most": design.n_rows, "what": "rows that are complete"}
    return {"most": len(grouping.labels), "what": "groups"}


def source_of_groups(
    source: InMemorySource, design: Design, grouping: Grouping | None
) -> AbstractSource:
    """Rows of groups, each group as a row; rows without groups as they are.

    Raises
    ------
    DataError
        If what must be constant differs within a group.
    """
    if grouping is None:
        return source
    whole = source.whole()
    gating = design.matrices[GATING] if GATING in whole.designs else None
    check_constant(grouping, gating, design.terms, whole.weight)
    return grouped_source(whole, grouping)


def check_constant(
    grouping: Grouping,
    gating: Float[np.ndarray, "rows columns"] | None,
    terms: Mapping[str, tuple[str, ...]],
    weights: RowVector | None,
) -> None:
    """Raise unless covariates of the weights, and case weights, are constant within groups.

    A model with one component has no ``gating`` columns (None).

    Raises
    ------
    DataError
        Naming a column and a group in which it differs.
    """
    if gating is not None:
        grouping.constant(gating, terms[GATING], "is a covariate of the weights")
    if weights is not None:
        grouping.constant(weights[:, None], ("weights",), "are case weights")


def with_memberships(
    distribution: AbstractComponentMixture,
    fit: AbstractFit,
    frame: pd.DataFrame,
    complete: Bool[np.ndarray, " given"],
    observed: object,
) -> AbstractComponentMixture:
    """Predictive distribution of rows whose components have the probabilities of their groups.

    Rows of groups that are not among those observed keep the weights of their covariates. For
    combined restarts it is the conditional distribution of their mixture: each counts by its weight
    times its density of the group's observed rows.

    Parameters
    ----------
    distribution : AbstractComponentMixture
        Of the complete rows, one component of it for each of each restart.
    fit : AbstractFit
        By an engine that returns a posterior.
    frame : pandas.DataFrame
        All rows that are predicted, with the column of groups.
    complete : ndarray of bool, shape (given,)
    observed : table
        Rows with their responses.

    Raises
    ------
    DataError
        If the fit is of draws, or a column is absent.

    Warns
    -----
    DesignWarning
        If no group that is predicted was observed.
    """
    if fit.is_sampled:
        raise DataError(
            f"observed= is not available for a fit by method={fit.method!r}",
            hint="fit by method='cavi', 'em', or 'svi'",
        )
    grouping = fit.model.grouping
    name = "" if grouping is None else grouping.name
    labels = columns_of(frame, [name], whose="the new data")[name][complete]
    index, known = _conditional_weights(fit, observed)
    place = match_labels(pd.Index(labels.unique()), index, name)
    if (place < 0).all():
        warn(
            f"no row of observed= is of a group of `{name}` that is predicted: it changes no "
            "prediction. Use the same labels in both tables",
            DesignWarning,
        )
    place = place[pd.factorize(labels)[0]]
    given = known[:, np.maximum(place, 0)]
    weights = np.where(place >= 0, given, distribution.weights)
    return replace(distribution, weights=weights)  # type: ignore[type-var]


def _conditional_weights(
    fit: AbstractFit, observed: object
) -> tuple[pd.Index, Float[np.ndarray, "components groups"]]:
    """Groups observed, and the probability of every component of every restart given their rows."""
    index, _, block = observed_units(fit.model, observed)
    of_parts = softmax(
        [np.log(one.weight) + one.fit.core.log_predictive(one.fit.q, block) for one in fit.parts],
        axis=0,
    )
    pairs = zip(of_parts, fit.parts, strict=True)
    each = [
        numerator * one.fit.mixture.responsibilities(one.fit.q, block) for numerator, one in pairs
    ]
    return index, np.concatenate(each)


def log_density_of_groups(fit: AbstractFit, data: object) -> pd.Series:
    """Log predictive density of all responses of each group; see ``Fit.log_density``."""
    index, _, block = observed_units(fit.model, data)
    if not fit.is_sampled:
        values = _closed(fit, block)
    else:
        each = fit.core.log_lik(fit.predictive_draws, block)
        values = logsumexp(each, axis=0) - np.log(len(each))
    scale = fit.model.response.score_name(fit.model.design.response_names)
    return pd.Series(values - fit.model.log_jacobian, index, name=scale)


def _closed(fit: AbstractFit, block: Block) -> Float[np.ndarray, " groups"]:
    """Group density under each restart's posterior, averaged by the weights."""
    each = [part.fit.core.log_predictive(part.fit.q, block) for part in fit.parts]
    weights = np.array([part.weight for part in fit.parts])
    return np.asarray(logsumexp(each, axis=0, b=weights[:, None]))
