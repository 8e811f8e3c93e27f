"""Family and number of components: whether they suit each other and the data."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bayesvb.argument_checks import check_choice, check_count
from bayesvb.data.grouping import Grouping
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.response_columns import TRIALS
from bayesvb.distributions.response import Response
from bayesvb.errors import DataError
from bayesvb.experts import EXPERTS
from bayesvb.experts.regression import RegressionPrior
from bayesvb.formula.design import Design
from bayesvb.formula.group_terms import GroupTerm
from bayesvb.formula.parser import Formula
from bayesvb.formula.responses import Ordered, ResponseKind
from bayesvb.gates import GATES


def response_kind(family: str, levels: Sequence[object] | None) -> ResponseKind:
    """Kind of response that a formula requires for a family.

    Raises
    ------
    DataError
        If a family whose response has no levels is given some.
    """
    probe = RegressionPrior(1, 1, 1.0, True, 1.0, 1.0)
    if EXPERTS[family](probe).response.kind == "levels":
        return Ordered(None if levels is None else tuple(levels))
    if levels is not None:
        raise DataError(
            f"levels={list(levels)!r}, and the response of family={family!r} has no levels",
            hint="omit levels, or choose family='ordinal'",
        )
    return "numeric"


def check_family(family: str) -> None:
    """Raise for a family that is unknown or that the algorithm cannot fit, with the remedy.

    The log density of a beta distribution is not concave in the logit of its mean: with precision
    50 and a response of 0.9 its second derivative is positive for three quarters of the logits from
    -8 to 8. Natural-gradient steps would then have no positive definite precision.

    Raises
    ------
    DataError
    """
    if isinstance(family, str) and family == "beta":
        raise DataError(
            "family='beta' is not available: its log density is not concave in the logit of the "
            "mean, and steps could lower the ELBO",
            hint="log(y / (1 - y)) ~ ... with family='gaussian' keeps predictions between 0 and 1; "
            "shares of known numbers of trials: cbind(k, n - k) ~ ... with family='binomial'",
        )
    check_choice("family", family, tuple(EXPERTS))


def check_identified(
    response: Response, design: Design, n_components: int, gate: str, grouping: Grouping | None
) -> None:
    """Raise for several components of a binary or ordered response that are hardly identified.

    With one trial in a row a mixture of Bernoulli distributions is a Bernoulli distribution:
    components then differ only by the curvature that their average has in the covariates. Several
    rows of a group identify them, and so do weights that depend on a column which the mean lacks.
    K binomial distributions are identified by ``2 K - 1`` trials. Of ordered responses slopes that
    differ are identified, levels are not; docs/benchmarks/ordinal_mixtures.csv has the divergences.

    Raises
    ------
    DataError
        With the remedies.

    References
    ----------
    Follmann, Lambert (1991), Identifiability of finite mixtures of logistic regression models,
    Journal of Statistical Planning and Inference 27(3). Teicher (1963), Identifiability of finite
    mixtures, Annals of Mathematical Statistics 34(4), for binomial distributions.
    """
    if response.kind == "levels" and n_components > 1:
        raise DataError(
            f"n_components={n_components} of an ordered response are not supported: components "
            "that differ in level are not identified, because thresholds of one component fit any "
            "shares of the levels. Different slopes are identified, if weakly: slopes of 1 and "
            "-0.5 need about 340 rows",
            hint="n_components=1 is an ordinal regression: s(x) makes it nonlinear, x * z lets "
            "slopes depend on z, and (x | g) on groups",
        )
    if response.kind not in ("binary", "successes") or n_components == 1 or grouping is not None:
        return
    trials = np.max(design.matrices[TRIALS]) if TRIALS in design.matrices else 1.0
    if trials >= 2 * n_components - 1:
        return
    mean, gating = (design.formula.read[part].names for part in (MEAN, GATING))
    if GATES[gate].learns_scales and (set(gating) - set(mean)) & set(design.covariates):
        return
    raise DataError(
        f"n_components={n_components} of a response with {trials:g} "
        f"trial{'s' if trials > 1 else ''} per row are not identified: an average of "
        "probabilities is one probability, and the weights depend on no column that the mean lacks",
        hint="n_components=1 is a logistic regression, s(x) makes it nonlinear; components need "
        f"{2 * n_components - 1} trials per row, group= with several rows for each group, or "
        "gating(z) of another column",
    )


MOST_COMPONENTS = 5
"""Components that are tried at most: fits of more are slower, and harder to describe."""

SEVERAL = ("gaussian", "student")
"""Families of which several components are tried; components of others are rarely identified."""


def chooses_size(n_components: int | None, family: str, formula: Formula) -> tuple[bool, int]:
    """Return whether ``fit`` chooses the number of components, and the largest number.

    Gaussian experts without group-level terms have several if nothing is given, others have one.
    """
    if n_components is not None:
        check_count("n_components", n_components)
        return False, n_components
    terms = [term for part in formula.read.values() for term in part.own]
    if family not in SEVERAL or any(isinstance(term, GroupTerm) for term in terms):
        return False, 1
    return True, MOST_COMPONENTS


def most_tried(design: Design, most: int) -> int:
    """Return the largest number of components that leaves a row to each unpenalised term."""
    blocks = design.term_blocks.get(MEAN, ())
    penalised = sum(len(one.columns) for one in blocks if one.is_penalised)
    terms = len(design.terms.get(MEAN, ())) - penalised
    return max(1, min(most, design.n_rows // max(1, terms)))


def size_within(n_components: int, chooses: bool, *, most: int, what: str) -> int:
    """Return the number of components, at most the number of rows if it is chosen.

    Raises
    ------
    DataError
        If it was given and is larger.
    """
    if chooses:
        return min(n_components, most)
    check_count("n_components", n_components, most=most, what=what)
    return n_components
