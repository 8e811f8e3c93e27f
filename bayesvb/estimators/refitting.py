"""A model fitted again with another formula, other data or other arguments."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from bayesvb.data.parts import PARTS
from bayesvb.errors import BayesVBError, DataError
from bayesvb.formula.formula_changes import change_formula
from bayesvb.results.all_rows import check_all_rows
from bayesvb.results.fit_call import START, FitCall, changed_priors

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def refit(
    fit: AbstractFit, formula: str | None, data: object, changes: Mapping[str, object]
) -> Any:
    """The fit of the changed model; see ``Fit.refit``."""
    kind: type[Any] = type(fit.model)
    of_model, of_fit = split_arguments(kind, changes)
    options = _options(fit, data, changes) | of_model
    arguments = {**FitCall.from_fit(fit).arguments, **of_fit}
    other = of_fit.get("method", fit.method) != fit.method
    outdated = {START, *(fit.method_options if other else ())} - set(of_fit)
    arguments = {name: value for name, value in arguments.items() if name not in outdated}
    text = fit.model.formula.text
    if formula is not None:
        text = change_formula(fit.model.formula, formula, tuple(PARTS))
    try:
        model = kind(text, fit.model.design.given if data is None else data, **options)
    except BayesVBError as error:
        if data is None and formula is not None:
            error.add_note("A fit keeps the columns that its formula reads; for others give data=.")
        raise
    return model.fit(**arguments)


def split_arguments(
    kind: type[object], arguments: Mapping[str, object]
) -> tuple[dict[str, object], dict[str, object]]:
    """Return the arguments of a model of this class, and all others, which belong to its fit.

    Examples
    --------
    >>> from bayesvb.estimators import Normal
    >>> split_arguments(Normal, {"weights": "w", "seed": 1})
    ({'weights': 'w'}, {'seed': 1})
    """
    names = inspect.signature(kind.__init__).parameters
    of_model = {name: value for name, value in arguments.items() if name in names}
    return of_model, {name: value for name, value in arguments.items() if name not in names}


def _options(fit: AbstractFit, data: object, changes: Mapping[str, object]) -> dict[str, object]:
    """Arguments of the model as it is, on these data; default priors are left to the new model.

    Raises
    ------
    DataError
        If data are needed, or case weights of the new data.
    """
    model = fit.model
    options: dict[str, object] = {**model.options(), "context": model.design.context}
    options["priors"] = type(model.priors)(**changed_priors(model))
    if data is None:
        if "missing" in changes and model.design.n_missing:
            raise DataError(
                f"missing={changes['missing']!r} needs the {model.design.n_missing:,} rows with "
                "missing values, which the fit did not keep",
                hint="give the data: fit.refit(..., data=data)",
            )
        check_all_rows(model, "another model", "give the data: fit.refit(..., data=data)")
        return options | {"weights": model.weights}
    if model.weights is not None and "weights" not in changes:
        raise DataError(
            "the fit has case weights, so the new data need them too",
            hint="give weights=, the name of a column or one number per row",
        )
    return options
