"""Effects of very many groups in a density regression: whether they can be, and their experts."""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.estimators.priors import Priors
from bayesvb.experts import EXPERTS
from bayesvb.experts.linear_mixed import MixedExperts
from bayesvb.experts.regression import AbstractRegressionExperts, RegressionPrior
from bayesvb.formula.design import Design


def has_many_groups(family: str, priors: Priors, group: object) -> bool:
    """Whether a density regression can have effects of groups that are no columns."""
    return family == "gaussian" and priors.coefficients_in == "noise" and group is None


def check_weights_without(design: Design, n_components: int) -> None:
    """Refuse weights that would have the effects of very many groups.

    Raises
    ------
    DataError
        If they have the terms of the first part, and these effects are among them.
    """
    groups = design.groups
    if groups is None or n_components == 1 or design.parts_alike.get("gating") != "mean":
        return
    raise DataError(
        f"the weights have the terms of the lines, and {groups.effects[0]} has "
        f"{len(groups.labels) - 1} groups: so many are possible in the lines only",
        hint=f"write what the weights depend on: {design.formula.canonical()} | x, or | 1",
    )


def coefficients_per_term(design: Design) -> Float[np.ndarray, " terms"]:
    """One for each column of the lines, then for each effect apart from them one for each group."""
    own = np.ones(len(design.terms["mean"]))
    groups = design.groups
    if groups is None:
        return own
    return np.concatenate([own, np.full(len(groups.effects), float(len(groups.labels)))])


def experts_of(family: str, priors: Priors, design: Design) -> AbstractRegressionExperts[Any, Any]:
    """Experts of a family with these priors."""
    prior = RegressionPrior(
        n_responses=len(design.response_names),
        n_terms=len(design.terms["mean"]),
        coefficient_sd=float(priors.coefficient_sd),
        in_noise=priors.coefficients_in == "noise",
        noise_shape=float(priors.noise_shape),
        noise_rate=float(priors.noise_rate),
        dof=priors.dof,
        standardised=priors.standardize,
    )
    groups = design.groups
    if groups is None:
        return EXPERTS[family](prior)
    EXPERTS[family](prior)  # refuses what the family does not have
    return MixedExperts.of_groups(prior, len(groups.effects), len(groups.labels))
