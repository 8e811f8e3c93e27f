"""What a conditional mixture network refuses, and what it doubts."""

from __future__ import annotations

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_count
from bayesvb.distributions.response import CONTINUOUS
from bayesvb.errors import DataError, DesignWarning, warn
from bayesvb.estimators.network_assembly import COVARIANCES, POSTERIORS
from bayesvb.formula.design import Design
from bayesvb.results.response_notes import warn_of_response

FEW_VALUES = 3
"""Whole numbers of a response, so few that classes were probably meant."""


MANY_CLASSES = 10
"""Classes up to which nothing is said of their numbers of rows."""

FEW_ROWS = 5
"""Rows of a class below which it is rare."""


def check_family(covariance: str, posterior: str) -> None:
    """Refuse what is not a family of latent posteriors.

    Raises
    ------
    DataError
    """
    check_choice("latent_covariance", covariance, COVARIANCES)
    check_choice("latent_posterior", posterior, POSTERIORS)
    if covariance == "shared" and posterior == "mean-field":
        raise DataError(
            "latent_covariance='shared' is one covariance per expert, and with "
            "latent_posterior='mean-field' the latent vector knows no expert",
            hint="choose latent_posterior='conditional', or latent_covariance='full'",
        )


def check_response(design: Design, covariance: str) -> None:
    """Refuse a response that a network cannot explain; warn of one that it hardly can.

    Raises
    ------
    DataError
        If every row has a class of its own, or the covariance does not go with numbers.
    """
    n_rows = design.n_rows
    response = np.asarray(design.response, dtype=float).reshape(n_rows, -1)
    name = design.response_names[0]
    if design.levels is not None:
        if len(design.levels) == n_rows:
            raise DataError(
                f"the response `{name}` has {n_rows} classes in {n_rows} rows: every row has its "
                "own, and nothing can be learned about any",
                hint="is it an identifier, or a number held as text?",
            )
        _warn_of_rare_classes(name, response[:, 0])
        return
    if covariance == "shared":
        raise DataError(
            f"latent_covariance='shared' is for classes, and the response `{name}` holds numbers",
            hint="latent_covariance='full' already is one covariance per expert for numbers",
        )
    columns = zip(response.T, design.response_names, strict=True)
    doubts = [_doubt(column, one) for column, one in columns]
    if not any(doubts):
        warn_of_response(design, CONTINUOUS)


def _warn_of_rare_classes(name: str, codes: Float[np.ndarray, " rows"]) -> None:
    """Warn of many classes of which most have hardly a row, and of the time that they take."""
    counts = np.unique(codes, return_counts=True)[1]
    rare = int((counts < FEW_ROWS).sum())
    if len(counts) > MANY_CLASSES and 2 * rare > len(counts):
        warn(
            f"{rare} of the {len(counts)} classes of `{name}` have fewer than {FEW_ROWS} rows, of "
            "which little can be learned, and a pass takes time with the cube of the number of "
            f"classes; put rare ones together: data[{name!r}].where(data.groupby({name!r})"
            f"[{name!r}].transform('size') >= {FEW_ROWS}, 'other')",
            DesignWarning,
        )


def _doubt(column: Float[np.ndarray, " rows"], name: str) -> bool:
    """Warn of numbers that look like codes of classes; whether they do."""
    found = np.unique(column)
    few = bool(len(found) <= FEW_VALUES and (found == np.round(found)).all())
    if few:
        listed = ", ".join(f"{value:g}" for value in found)
        warn(
            f"the response `{name}` has the values {listed} only, and is taken as a number; "
            f"write C({name}) on the left of the formula if these are classes",
            DesignWarning,
        )
    return few


def latents_of(design: Design, latent_dim: int | None) -> int:
    """Length of the latent vector: as many as sticks, or as responses, unless it is given."""
    if latent_dim is None:
        return len(design.levels) - 1 if design.levels else len(design.response_names)
    check_count("latent_dim", latent_dim)
    return int(latent_dim)
