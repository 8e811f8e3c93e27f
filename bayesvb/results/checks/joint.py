"""Checks of a joint density: each variable given the others, the worst of them counted."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from bayesvb.results.capabilities import HasJointDensity
from bayesvb.results.checks.base import Check, Misfit
from bayesvb.results.checks.covariates import shape_checks
from bayesvb.results.checks.dependence import order_tests
from bayesvb.results.checks.edits import Edit, Remedy
from bayesvb.results.checks.far_rows import far_row_checks
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.responses import response_checks

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

NOT_NORMAL = (
    "Given the other variables, {name} is not normal: transform it, or fit a GaussianMixture."
)

ALIKE = (
    "Neighbouring rows are correlated, so intervals are too narrow. Keep rows that are further "
    "apart, or remove their trend beforehand."
)

IN_RUNS = (
    "Large deviations come in runs: blocks of rows differ in spread. Fit them separately, or "
    "scale them beforehand."
)

ORDER = {"Serial correlation": ALIKE, "Spread by row order": IN_RUNS}
"""Remedies where no formula has a place for time."""

NARROW = 0.1
"""Scale of the covariances in the prior that is advised where predictions are too wide."""


def joint_checks(
    fit: AbstractFit, variables: Sequence[Observed], *, ordered: bool
) -> tuple[list[Check], list[Misfit]]:
    """Outliers, shape, width, row order and discreteness over all variables."""
    mixture = isinstance(fit.model, HasJointDensity)
    section = "pairs" if mixture else "scores"
    by_variable: dict[str, list[Misfit]] = {}
    steps, far = [], list[Check]()
    for seen in variables:
        shapes = [
            replace(one, remedy=_remedy(fit, one, seen.name, mixture=mixture))
            for one in shape_checks(fit, seen, "")
        ]
        along = order_tests(seen, "", ordered=ordered)
        if ordered:
            along = [replace(one, remedy=ORDER[one.name]) for one in along]
        by_variable[seen.name] = [*shapes, *along]
        far += far_row_checks(fit, seen, "")
        steps.append((seen.name, response_checks(fit, seen, "")[0][0]))
    coarse_name, coarse = max(steps, key=lambda one: one[1].number)
    coarse = replace(coarse, measure=f"{coarse.measure}, {coarse_name}", section=section)
    far = [replace(max(far, key=lambda one: one.number), section=section)]
    return [*far, coarse], [replace(one, section=section) for one in _worst(by_variable)]


def _remedy(fit: AbstractFit, one: Misfit, name: str, *, mixture: bool) -> str:
    """Remedy; for too much width in a mixture, a prior of smaller covariances."""
    model = fit.model
    if not mixture:
        return NOT_NORMAL.format(name=name)
    if one.name != "Predictive spread" or one.number >= 1.0:
        more = Edit(options={model.size_name: model.size + 1})
        return Remedy.of(f"{name} given the other variables has another shape: fit ", more, ".")
    narrow = Edit(options={"priors": replace(model.priors, covariance_scale=NARROW)})
    return Remedy.of(
        f"Predictions of {name} given the others are too wide, as the prior of the covariances "
        "makes them where variables are nearly sums of others: fit ", narrow, ".",
    )  # fmt: skip


def _worst(by_variable: dict[str, list[Misfit]]) -> list[Misfit]:
    """The worst variable's test of each kind, its p-value multiplied by the number of variables."""
    kinds = dict.fromkeys(one.name for tests in by_variable.values() for one in tests)
    pairs = []
    for kind in kinds:
        each = {
            name: one for name, tests in by_variable.items() for one in tests if one.name == kind
        }
        name = min(each, key=lambda key: each[key].p_value)
        worst = each[name]
        p = min(1.0, len(each) * worst.p_value)
        pairs.append(replace(worst, p_value=p, measure=f"{worst.measure}, {name}"))
    return pairs
