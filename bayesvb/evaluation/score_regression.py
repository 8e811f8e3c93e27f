"""Do scores depend on covariates? Tests by regression, given the estimates of the fit."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre
from scipy.special import fdtrc

from bayesvb.evaluation.within_groups import WithinGroups
from bayesvb.numerics.arrays import RowColumns, RowVector
from bayesvb.numerics.order_statistics import mid_ranks

DEPENDENT = 1e-6
"""Relative length below which a column counts as a combination of others."""


def added_columns(
    scores: RowVector, columns: RowColumns, fitted: RowColumns
) -> tuple[float, float] | None:
    """Share of the variance that columns explain beyond others, and the p-value of the F test.

    Estimated terms are orthogonal to the scores of a linear regression, so that these columns are
    partialled out; with more components the test is conservative. None if the columns are
    combinations of the fit's columns, or few degrees of freedom are left.

    Parameters
    ----------
    scores : array, shape (rows,)
    columns : array, shape (rows, columns)
        Columns that are tested.
    fitted : array, shape (rows, columns)
        Columns of estimated terms, including a constant.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> x, ones = rng.normal(size=(200, 1)), np.ones((200, 1))
    >>> share, p = added_columns(0.5 * x[:, 0] + rng.normal(size=200), x, ones)
    >>> bool(share > 0.1 and p < 1e-4)
    True
    """
    return added_beyond(scores, columns, Estimated.of(fitted))


def added_beyond(
    scores: RowVector, columns: RowColumns, estimated: Estimated
) -> tuple[float, float] | None:
    """Test of these columns, given estimated ones that serve many tests."""
    rest, added = estimated.rest(scores), span(estimated.beyond(columns))
    n_added = added.shape[1]
    free = len(scores) - estimated.n_coefficients - n_added
    whole = float(rest @ rest)
    # Degrees of freedom that must remain for a test.
    if n_added == 0 or free < 10 or whole <= 0.0:
        return None
    explained = float(np.sum((added.T @ rest) ** 2))
    ratio = (explained / n_added) / max((whole - explained) / free, 1e-300)
    return explained / whole, float(fdtrc(n_added, free, ratio))


@dataclass(frozen=True)
class Estimated:
    """Estimated terms of a fit, which are partialled out of scores and columns before a test.

    Attributes
    ----------
    columns : ndarray, shape (rows, columns)
        Orthonormal, and cleared of the effects of groups.
    groups : WithinGroups, optional
        Effects of groups without columns.
    """

    columns: RowColumns
    groups: WithinGroups | None = None

    @classmethod
    def of(cls, columns: RowColumns, groups: WithinGroups | None = None) -> Estimated:
        """Columns of the fit, as they are."""
        return cls(np.empty((len(columns), 0)), groups).together(columns)

    @property
    def n_coefficients(self) -> int:
        """Coefficients that have been estimated."""
        return len(self.columns.T) + (self.groups.n_coefficients if self.groups else 0)

    def together(self, columns: RowColumns) -> Estimated:
        """Estimated columns and further ones."""
        return Estimated(np.column_stack([self.columns, span(self.beyond(columns))]), self.groups)

    def rest(self, values: Float[np.ndarray, "rows ..."]) -> Float[np.ndarray, "rows ..."]:
        """Residuals of values after regression on the estimated columns."""
        left = self.groups.rest(values) if self.groups else values
        return np.asarray(left - self.columns @ (self.columns.T @ left))

    def beyond(self, columns: RowColumns) -> RowColumns:
        """Residuals of columns, without the columns that the estimated ones explain."""
        rest = self.rest(columns)
        left = np.linalg.norm(rest, axis=0) > DEPENDENT * np.linalg.norm(columns, axis=0)
        return np.asarray(rest[:, left])


def span(columns: RowColumns) -> RowColumns:
    """Orthonormal columns with the same span."""
    lengths = np.linalg.norm(columns, axis=0)
    columns = columns[:, lengths > 0.0] / lengths[lengths > 0.0]
    if columns.shape[1] == 0:
        return columns
    left, values, _ = np.linalg.svd(columns, full_matrices=False)
    basis: RowColumns = left[:, values > DEPENDENT * values[0]]
    return basis


def powers(values: RowVector) -> RowColumns:
    """A number and its square, centred and scaled."""
    standard = standardised(values)
    return np.column_stack([standard, standard**2])


def waves(values: RowVector) -> RowColumns:
    """Legendre polynomials of the ranks: bends that no outlying value hides."""
    ranks = (2.0 * mid_ranks(values) - 1.0) / len(values) - 1.0
    # Highest degree of the polynomials in ranks: shapes with up to two bends.
    return np.asarray(legendre.legvander(ranks, 3)[:, 1:])


def standardised(values: RowVector) -> RowVector:
    """Mean zero, standard deviation one; zeros if all values are the same."""
    spread = float(values.std())
    centred = values - values.mean()
    constant = spread <= 1e-12 * max(1.0, float(np.abs(values).max()))
    return np.asarray(0.0 * centred if constant else centred / spread)
