"""Remedies of checks as changes of the request: buttons of the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.interactive.model_controls import fit_controls, model_controls, prior_controls
from bayesvb.interactive.reading import ROWS, read, sample_of
from bayesvb.interactive.request import Request
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.edits import Edit
from bayesvb.results.fit_call import changed_fields

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractPublicModel


@dataclass(frozen=True, kw_only=True)
class Remedy:
    """A change that a check proposes.

    Attributes
    ----------
    label : str
        Text of the button: the code of the change.
    request : Request
        Request after the remedy.
    """

    label: str
    request: Request


def remedies(
    checks: Sequence[Check], request: Request, model: AbstractPublicModel, frame: pd.DataFrame
) -> dict[str, list[Remedy]]:
    """Return the changes that checks propose, by the name of the check.

    A change is offered if the page has controls for it, and the request that it leads to can be
    read and is another one.

    Parameters
    ----------
    checks : sequence of Check
    request : Request
        Fitted request.
    model : public model
        Its model.
    frame : pandas.DataFrame
        The rows that were fitted.
    """
    sample = sample_of(frame, ROWS)
    readable: dict[Request, bool] = {request: False}
    offered: dict[str, list[Remedy]] = {}
    for check in checks:
        for edit in check.edits:
            changed = _changed(request, edit, model)
            if changed not in readable:
                readable[changed] = read(changed, sample).readable
            if readable[changed]:
                remedy = Remedy(label=f"Use {', '.join(edit.pieces)}", request=changed)
                offered.setdefault(check.name, []).append(remedy)
    return offered


def _changed(request: Request, edit: Edit, model: AbstractPublicModel) -> Request:
    """Return the request after a change; the same one if the page has no control for it."""
    options: dict[str, object] = dict(edit.options)
    priors = changed_fields(options.pop("priors", model.priors), model.priors)
    changes = (
        (options, model_controls(request.model)),
        (priors, prior_controls(request.model)),
        (edit.arguments, fit_controls(request.model)),
    )
    if not all(set(values) <= set(controls) for values, controls in changes):
        return request
    return replace(
        request,
        formula=edit.formula(model) if edit.part else request.formula,
        options={**request.options, **options},
        priors={**request.priors, **priors},
        arguments={**request.arguments, **edit.arguments},
    )
