"""Limits: topics that the report did not examine, stated rather than omitted."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.results.groups import units_of
from bayesvb.results.robust import answers_to_rows, has_jackknife

from ..cells.plain import Summary
from ..rows.sampling import regresses
from .influence import left_to_the_fit

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

COMPONENTS = {
    "what": "Sensitivity to the number of components",
    "how": "Fit with one more and one fewer and report them side by side.",
}

PRIORS = {
    "what": "Sensitivity to the priors",
    "how": "Fit again with other Priors(...) and report both fits.",
}

INFLUENCE = {
    "what": "Influence of single rows",
    "how": "The indirect effects of rows do not fit into memory with this number of columns or "
    "groups; "
    "fit again without rows that seem odd.",
}

NOT_DONE = (
    {
        "what": "Prior predictive check",
        "how": "No data were drawn from the priors; the prior table shows their widths.",
    },
    PRIORS,
    COMPONENTS,
    {
        "what": "Sensitivity to the tolerance",
        "how": "Fit again with a tenth of tol: coefficients should move by less than a tenth of "
        "their standard deviation.",
    },
)

NEW_DATA = {
    "what": "New data",
    "how": "CRPS is in-sample and therefore slightly optimistic; PIT values, coverage and elpd are "
    "leave-one-out.",
}

NEW_EVENTS = {
    "what": "New data",
    "how": "Reliability and elpd are leave-one-out, within the same study: to know of others, "
    "predict rows that were not in the fit.",
}

NEW_ROWS = {
    "what": "New data",
    "how": "Rows were held out after the experts had been placed with them, which is slightly "
    "optimistic; predict rows that were not in the fit to know.",
}


def summary(fit: AbstractFit) -> Summary:
    """List of omitted analyses, and their calls."""
    # A model of ordered levels has one component.
    several = hasattr(fit.model, "n_components") and fit.model.response.kind != "levels"
    one, done = fit.parts[0].fit, [] if several else [COMPONENTS]
    if has_jackknife(one):
        done.append(PRIORS)
    found = [one for one in NOT_DONE if one not in done]
    if fit.model.response.is_categorical:
        found.append(NEW_ROWS)
    if answers_to_rows(one) and not one.one_restart.has_deletion:
        found.append(INFLUENCE)
    if left_to_the_fit(fit):
        units = units_of(fit.model).plural
        many = f"{one.model.source.n_rows:,} {units}"
        how = f"Of {many} it takes long: fit.influence() has it, {units[:-1]} by {units[:-1]}."
        found.append({"what": f"Influence of single {units}", "how": how})
    if regresses(fit):
        found.append(NEW_EVENTS if fit.model.response.is_binary else NEW_DATA)
    return {"not_done": found}
