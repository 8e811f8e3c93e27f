"""What a fitted mixture of Gaussians says in the data's units: draws, predictions, priors."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.joint_student import AbstractJointStudent
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.options import check_choice
from bayesvb.predict import KINDS, predict
from bayesvb.student_mixture import StudentMixture

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit
    from bayesvb.workbench.gaussian_mixture import GaussianMixture

JOINT_KINDS = ("density", "component", "class")
"""Predictions of a whole row; with ``response=`` every kind of one variable given the others."""


def named_draws(model: GaussianMixture, fit: Drawn) -> NamedDraws:
    """Means, covariances, standard deviations, correlations and shares in the data's units."""
    draws, scaling, names = fit.draws, model.scaling, list(model.variables)
    scale = scaling.scale
    covariance = fit.core.experts.covariances(draws) * np.outer(scale, scale)
    sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
    first, second = np.tril_indices(len(names), -1)
    values = {
        "mean": draws["mean"] * scale + scaling.centre,
        "covariance": covariance,
        "sd": sd,
        "share": draws["gate"],
    }
    dims = {
        "mean": ["component", "variable"],
        "covariance": ["component", "variable", "variable_other"],
        "sd": ["component", "variable"],
        "share": ["component"],
    }
    coords: dict[str, list[object]] = {
        "component": list(range(1, model.n_components + 1)),
        "variable": list(names),
        "variable_other": list(names),
    }
    parts = {"mean": "mean", "sd": "sd", "share": "share"}
    if len(first) and model.covariance == "full":
        spread = sd[..., first] * sd[..., second]
        values["correlation"] = covariance[..., first, second] / spread
        dims["correlation"] = ["component", "pair"]
        coords["pair"] = [f"{names[i]}, {names[j]}" for i, j in zip(second, first, strict=True)]
        parts = {"mean": "mean", "sd": "sd", "correlation": "correlation", "share": "share"}
    return NamedDraws(values, dims, coords, parts, signed=frozenset({"correlation"}))


def predictive(
    model: GaussianMixture, fit: Fit, rows: Rows, response: str | None
) -> AbstractJointStudent | StudentMixture:
    """Joint distribution of a row, or the one of a variable given the others of each row."""
    joint = model.joint(fit)
    if response is None:
        return joint
    check_choice("response", response, model.variables)
    x = np.ascontiguousarray(rows.matrices["variables"].T)
    return joint.conditional(model.variables.index(response), x)


def prediction(
    model: GaussianMixture, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    """Prediction for every row, NaN where a value is missing."""
    import pandas as pd

    response = options["response"]
    others = {name: value for name, value in options.items() if name != "response"}
    if response is not None:
        one = predictive(model, fit, rows, response)
        assert isinstance(one, StudentMixture)
        return predict(one, rows.index, rows.complete, kind=kind, **others)
    if kind in KINDS and kind not in JOINT_KINDS:
        raise DataError(
            f"kind={kind!r} is of one variable given the others",
            hint=f"name it: response={model.variables[0]!r}",
        )
    check_choice("kind", kind, JOINT_KINDS)
    unread = [name for name, value in others.items() if value is not None]
    if unread:
        raise DataError(f"kind={kind!r} does not read {unread[0]}={others[unread[0]]!r}")
    joint = model.joint(fit)
    x = np.ascontiguousarray(rows.matrices["variables"].T)
    if kind == "density":
        return filled(np.exp(joint.log_density(x)), rows, "density")
    labels = pd.RangeIndex(1, model.n_components + 1, name="component")
    table = np.full((len(rows.index), model.n_components), np.nan)
    table[rows.complete] = joint.responsibilities(x).T
    if kind == "component":
        return pd.DataFrame(table, rows.index, labels)
    likely = filled(table[rows.complete].argmax(axis=1) + 1.0, rows, "class")
    return likely.astype("Int64")


def log_density(model: GaussianMixture, fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive density of each row."""
    x = np.ascontiguousarray(rows.matrices["variables"].T)
    return filled(model.joint(fit).log_density(x), rows, "log_density")


def filled(values: Float[np.ndarray, " complete"], rows: Rows, name: str) -> pd.Series:
    """Values of the complete rows in their places."""
    import pandas as pd

    whole = np.full(len(rows.index), np.nan)
    whole[rows.complete] = values
    return pd.Series(whole, rows.index, name=name)


def prior_table(model: GaussianMixture) -> pd.DataFrame:
    """Priors of the means, standard deviations and weights, in the units of the data.

    Returns
    -------
    pandas.DataFrame
        Index (part, term); ``prior`` in words, its ``centre`` and ``scale``. The covariance is
        integrated out of the prior of a mean, which leaves a Student t.
    """
    import pandas as pd

    priors, scaling = model.priors, model.scaling
    dof = priors.covariance_rows + 2.0
    typical = priors.covariance_scale * (priors.covariance_rows / dof) ** 0.5
    rows = []
    for name, centre, unit in zip(model.variables, scaling.centre, scaling.scale, strict=True):
        scale = typical / priors.mean_precision**0.5 * unit
        rows.append(("mean", name, f"Student t({dof:g})", float(centre), float(scale)))
    for name, unit in zip(model.variables, scaling.scale, strict=True):
        words = f"inverse Wishart, worth {priors.covariance_rows:g} rows"
        rows.append(("sd", name, words, float(priors.covariance_scale * unit), np.nan))
    concentration = priors.concentration or 1.0 / model.n_components
    share = 1.0 / model.n_components
    rows.append(("share", "", f"Dirichlet({concentration:.3g})", share, np.nan))
    table = pd.DataFrame(rows, columns=["part", "term", "prior", "centre", "scale"])
    return table.set_index(["part", "term"])
