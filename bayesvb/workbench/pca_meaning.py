"""What a fitted principal component analysis says in the data's units: draws, predictions, priors.

``row`` below stands for whatever values of a row were observed.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.blocks import Block, Source
from bayesvb.errors import DataError, DesignWarning
from bayesvb.models.pca_rows import LatentRows
from bayesvb.named_draws import Drawn, NamedDraws, chunks, count
from bayesvb.options import check_choice
from bayesvb.predict import KINDS, predict
from bayesvb.student_mixture import StudentMixture
from bayesvb.workbench.gaussian_meaning import filled

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit
    from bayesvb.workbench.pca import BayesianPCA

ROW_KINDS = ("scores", "scores-sd", "reconstruction", "impute", "density")
"""Predictions of a whole row; with ``response=`` every kind of one variable given the others."""


def named_draws(model: BayesianPCA, fit: Drawn) -> NamedDraws:
    """Loadings, centre, noise standard deviation and relevances in the data's units.

    ``loadings[i, j]`` is the change of variable ``j`` when score ``i`` goes up by one, its prior
    standard deviation. With a scale of its own, each variable has a noise of its own.
    """
    draws, scaling = fit.draws, model.scaling
    sd = 1.0 / np.sqrt(draws["precision"])
    values = {
        "loadings": np.swapaxes(draws["loadings"], 1, 2) * scaling.scale,
        "centre": draws["centre"] * scaling.scale + scaling.centre,
        "sigma": sd[:, None] * scaling.scale if model.scale else sd * scaling.scale[0],
        "relevance": draws["relevance"],
    }
    dims = {
        "loadings": ["component", "variable"],
        "centre": ["variable"],
        "sigma": ["variable"] if model.scale else [],
        "relevance": ["component"],
    }
    coords: dict[str, list[object]] = {
        "component": list(range(1, model.n_components + 1)),
        "variable": list(model.variables),
    }
    parts = {"loadings": "loadings", "centre": "centre", "sigma": "sigma"}
    return NamedDraws(values, dims, coords, parts, signed=frozenset({"loadings"}))


def component_table(model: BayesianPCA, fit: Fit) -> pd.DataFrame:
    """One row per component.

    Returns
    -------
    pandas.DataFrame
        ``norm`` of the mean loadings and ``variance``, the share of the predictive variance that
        the component explains, both on the scale of the model; ``relevance``, the mean of alpha,
        large where the component is not needed; ``signal``, the squared norm of the mean loadings
        over the posterior variance of the loadings; ``effective``, whether the signal is above
        one.
    """
    import pandas as pd

    q = fit.q
    squares = (q.loadings.mean[:, :-1] ** 2).sum(axis=0)
    columns = {
        "norm": np.sqrt(squares),
        "variance": squares / np.trace(q.covariance),
        "relevance": q.expected_relevance,
        "signal": q.effective,
        "effective": q.effective > 1.0,
    }
    return pd.DataFrame(columns, pd.RangeIndex(1, len(squares) + 1, name="component"))


def moments(model: BayesianPCA, fit: Fit) -> tuple[pd.Series, pd.DataFrame]:
    """Mean and covariance of a new row."""
    import pandas as pd

    q, scale, names = fit.q, model.scaling.scale, list(model.variables)
    mean = pd.Series(q.mean * scale + model.scaling.centre, names, name="mean")
    return mean, pd.DataFrame(q.covariance * np.outer(scale, scale), names, names)


def predictive(model: BayesianPCA, fit: Fit, rows: Rows, response: str | None) -> StudentMixture:
    """One variable given the others of each row, whether it was observed or not.

    Under q the mean and the variance are exact; the form of a Student t with the degrees of
    freedom of the noise is an approximation, as products of loadings and scores are nearly normal
    only.
    """
    if response is None:
        raise DataError("response=None", hint=f"name a variable: response={model.variables[0]!r}")
    check_choice("response", response, model.variables)
    number = model.variables.index(response)
    loadings, block = fit.q.loadings, without(model.block(rows), number)
    latent = LatentRows.of(loadings, block)
    dof = 2.0 * loadings.shape
    scale = np.sqrt(latent.variance(loadings)[number] * (dof - 2.0) / dof)[None]
    location = latent.fitted(loadings)[number][None]
    one = StudentMixture(np.ones_like(location), location, scale, np.array([dof]))
    return one.affine(float(model.scaling.centre[number]), float(model.scaling.scale[number]))


def without(block: Block, variable: int) -> Block:
    """The rows as if this variable had not been observed."""
    t = block.designs["variables"].copy()
    seen = block.designs.get("observed", np.ones_like(t)).copy()
    t[variable], seen[variable] = 0.0, 0.0
    return replace(block, designs={"variables": t, "observed": seen})


def prediction(
    model: BayesianPCA, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    """Prediction for every row; NaN where no value was observed."""
    response = options["response"]
    others = {name: value for name, value in options.items() if name != "response"}
    if response is not None:
        one = predictive(model, fit, rows, response)
        return predict(one, rows.index, rows.complete, kind=kind, **others)
    if kind in KINDS and kind not in ROW_KINDS:
        raise DataError(
            f"kind={kind!r} is of one variable given the others",
            hint=f"name it: response={model.variables[0]!r}",
        )
    check_choice("kind", kind, ROW_KINDS)
    for name, value in others.items():
        if value is not None:
            why = f"kind={kind!r} of a whole row does not read {name}"
            raise DataError(why, hint="leave it out")
    if kind == "density":
        return filled(np.exp(_log_density(model, fit, rows)), rows, "density")
    return _of_rows(model, fit, rows, kind)


def _of_rows(model: BayesianPCA, fit: Fit, rows: Rows, kind: str) -> pd.DataFrame:
    """Scores, their standard deviations, reconstruction or imputation."""
    import pandas as pd

    loadings = fit.q.loadings
    latent = LatentRows.of(loadings, model.block(rows))
    columns: pd.Index[Any] = pd.Index(model.variables)
    if kind in ("scores", "scores-sd"):
        columns = pd.RangeIndex(1, len(latent.mean) + 1, name="component")
        sd = np.sqrt(np.diagonal(latent.covariance, axis1=1, axis2=2))[latent.patterns.number]
        values = latent.mean.T if kind == "scores" else sd
    else:
        values = latent.fitted(loadings).T * model.scaling.scale + model.scaling.centre
        if kind == "impute":
            given = rows.matrices["variables"]
            values = np.where(np.isnan(given), values, given)
    table = np.full((len(rows.index), len(columns)), np.nan)
    table[rows.complete] = values
    return pd.DataFrame(table, index=rows.index, columns=columns)


def log_density(model: BayesianPCA, fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive density of the observed values of each row."""
    return filled(_log_density(model, fit, rows), rows, "log_density")


def _log_density(model: BayesianPCA, fit: Fit, rows: Rows) -> Float[np.ndarray, " complete"]:
    """Log of the mean over draws of the density, the scores integrated out."""
    n_draws, core = count(fit.draws), fit.core
    pieces = [
        logsumexp(core.log_lik(fit.draws, block), axis=0) - np.log(n_draws)
        for block in chunks(core, Source((model.block(rows),)), n_draws)
    ]
    return np.concatenate(pieces)


def prior_table(model: BayesianPCA) -> pd.DataFrame:
    """Priors of loadings, centre, noise and relevances, in the units of the data.

    Returns
    -------
    pandas.DataFrame
        Index (part, term); ``prior`` in words, its ``centre`` and ``scale``.
    """
    import pandas as pd

    priors, scaling = model.priors, model.scaling
    words = f"Normal(0, sigma^2 / alpha), alpha ~ Gamma({priors.relevance_shape:g}, "
    words += f"{priors.relevance_rate:g})"
    typical = np.sqrt(priors.noise_rate / priors.noise_shape)
    rows: list[tuple[str, str, str, float, float]] = [("loadings", "", words, 0.0, np.nan)]
    for name, centre, unit in zip(model.variables, scaling.centre, scaling.scale, strict=True):
        spread = float(unit * typical / np.sqrt(priors.centre_precision))
        student = f"Student t({2.0 * priors.noise_shape:g})"
        rows.append(("centre", name, student, float(centre), spread))
    units = dict(zip(model.variables, scaling.scale, strict=True))
    for name, unit in (units if model.scale else {"": scaling.scale[0]}).items():
        rate = priors.noise_rate * unit * unit
        gamma = f"1/sigma^2 ~ Gamma({priors.noise_shape:g}, {rate:.3g})"
        rows.append(("sigma", name, gamma, float(unit * typical), np.nan))
    table = pd.DataFrame(rows, columns=["part", "term", "prior", "centre", "scale"])
    return table.set_index(["part", "term"])


def notes(model: BayesianPCA, fit: Fit) -> list[str]:
    """Sentences about the number of components and missing values."""
    n_effective = model.effective(fit)
    said = [
        f"{n_effective} of {model.n_components} components are effective: their loadings are "
        "larger than their posterior sd.",
    ]
    if model.n_gaps:
        n_values = model.design.matrices["variables"].size
        said.append(f"{model.n_gaps} of {n_values} values are missing; rows count with the others.")
    return said


def warn_of_constants(matrix: Float[np.ndarray, "rows dims"], names: Sequence[str]) -> None:
    """Warn of variables that never vary."""
    constant = np.nanmax(matrix, axis=0) == np.nanmin(matrix, axis=0)
    if constant.any():
        listed = ", ".join(f"`{names[i]}`" for i in np.flatnonzero(constant).tolist())
        warnings.warn(
            f"constant variables tell nothing of the components, and are taken to have the noise "
            f"of the others: {listed}",
            DesignWarning,
            stacklevel=4,
        )
