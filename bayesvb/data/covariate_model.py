"""Joint model of incomplete covariates: each one given the others, on normal scores.

A numeric column is linear in the normal scores of the others, and a column of levels has a
discriminant model of them; draws keep the range and the steps of the values that were observed.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy.special import logsumexp, ndtri

from bayesvb.data.frames import kind_of, numbers
from bayesvb.numerics.arrays import Floats, RowColumns, RowIntegers, RowMask, RowVector

MOST_LEVELS = 20
"""Levels of a column up to which it helps to predict others: each of them costs a coefficient."""


@dataclass(frozen=True, eq=False)
class NumericValues:
    """Observed values of a numeric column and their normal scores.

    Attributes
    ----------
    values, scores : ndarray, shape (distinct,)
        Distinct values in their order, and the mean normal score of each.
    whole : bool
        Whether all values are whole numbers.
    """

    values: Float[np.ndarray, " distinct"]
    scores: Float[np.ndarray, " distinct"]
    whole: bool

    @classmethod
    def from_observed(cls, observed: Float[np.ndarray, " observed"]) -> NumericValues:
        """Return the values with their scores (Blom 1958).

        Examples
        --------
        >>> NumericValues.from_observed(np.array([1.0, 5.0, 2.0])).scores.round(2).tolist()
        [-0.87, 0.0, 0.87]
        """
        values, counts = np.unique(observed, return_counts=True)
        ranks = np.cumsum(counts) - (counts - 1.0) / 2.0
        scores = ndtri((ranks - 0.375) / (len(observed) + 0.25))
        return cls(values, scores, bool((values == np.round(values)).all()))

    def to_scores(self, column: RowVector) -> RowVector:
        """Normal scores of values."""
        return np.asarray(np.interp(column, self.values, self.scores))

    def from_scores(self, scores: Floats) -> Floats:
        """Values at normal scores, within the observed range."""
        values = np.asarray(np.interp(scores, self.scores, self.values))
        return np.asarray(np.round(values)) if self.whole else values


@dataclass(frozen=True, eq=False)
class CovariateModel:
    """Model of each covariate given all others, from which missing values are drawn.

    Attributes
    ----------
    missing : mapping of str to ndarray of bool, shape (rows,)
        Columns that lack values, and in which rows.
    numeric : mapping of str to NumericValues
        Numeric covariates.
    levels : mapping of str to Index
        Levels that were observed of all other covariates.
    """

    missing: Mapping[str, RowMask]
    numeric: Mapping[str, NumericValues] = field(repr=False)
    levels: Mapping[str, pd.Index] = field(repr=False)

    @classmethod
    def from_frame(cls, frame: pd.DataFrame) -> CovariateModel:
        """Return the model of the columns of a table, each with at least one value."""
        numeric, levels = {}, {}
        for name in map(str, frame.columns):
            observed = frame[name].dropna()
            if kind_of(frame[name], name) == "number":
                numeric[name] = NumericValues.from_observed(numbers(observed, name))
            else:
                levels[name] = pd.Index(observed.unique())
        missing = {str(name): frame[name].isna().to_numpy() for name in frame}
        lacking = {name: absent for name, absent in missing.items() if absent.any()}
        return cls(lacking, numeric, levels)

    def fill_in(self, frame: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
        """Return the table with observed values of a column, at random, where it lacks one."""
        objects = [name for name in self.numeric if frame[name].dtype == object]
        frame = frame.assign(**{name: numbers(frame[name], name) for name in objects})
        for name, absent in self.missing.items():
            observed = frame[name].to_numpy()[~absent]
            frame = put_in(frame, name, absent, rng.choice(observed, int(absent.sum())))
        return frame

    def propose(
        self, frame: pd.DataFrame, name: str, n: int, rng: np.random.Generator
    ) -> np.ndarray:
        """Draw values of a column where it lacks one, given the others and drawn parameters.

        Parameters are drawn given the completed table: where the response decides which values are
        missing, complete rows have another distribution of covariates.

        Parameters
        ----------
        frame : pandas.DataFrame
            Table without missing values.
        name : str
            Column.
        n : int
            Draws for each row.
        rng : numpy.random.Generator

        Returns
        -------
        ndarray, shape (n, missing)
        """
        absent, others = self.missing[name], self._predictors(frame, name)
        if name in self.numeric:
            values = self.numeric[name]
            scores = values.to_scores(numbers(frame[name], name))
            drawn = _draw_linear(others, scores, others[absent], n, rng)
            return np.asarray(values.from_scores(drawn))
        codes = self.levels[name].get_indexer(pd.Index(frame[name]))
        chosen = _draw_levels(others, codes, others[absent], n, rng)
        return np.asarray(self.levels[name].to_numpy()[chosen])

    def to_numbers(self, frame: pd.DataFrame) -> dict[str, Float[np.ndarray, " missing"]]:
        """Values of a completed table where it lacked one, levels as their place among those."""
        arrays = {name: frame[name][absent] for name, absent in self.missing.items()}
        return {
            name: numbers(values, name)
            if name in self.numeric
            else self.levels[name].get_indexer(pd.Index(values)).astype(float)
            for name, values in arrays.items()
        }

    def from_numbers(
        self, frame: pd.DataFrame, imputed: Mapping[str, Float[np.ndarray, " missing"]]
    ) -> pd.DataFrame:
        """Return the table that was completed with these values, as ``to_numbers`` wrote them."""
        for name, absent in self.missing.items():
            values: np.ndarray = imputed[name]
            if name in self.levels:
                values = self.levels[name].to_numpy()[values.astype(int)]
            frame = put_in(frame, name, absent, values)
        return frame

    def _predictors(self, frame: pd.DataFrame, name: str) -> RowColumns:
        """Normal scores and indicators of all other columns."""
        predictors = [
            model.to_scores(numbers(frame[one], one))
            for one, model in self.numeric.items()
            if one != name
        ]
        for one, levels in self.levels.items():
            if one != name and len(levels) <= MOST_LEVELS:
                codes = levels.get_indexer(pd.Index(frame[one]))
                predictors += [(codes == code).astype(float) for code in range(1, len(levels))]
        return np.column_stack(predictors) if predictors else np.empty((len(frame), 0))


def put_in(frame: pd.DataFrame, name: str, rows: RowMask, values: np.ndarray) -> pd.DataFrame:
    """Return the table with these values in these rows of a column."""
    column = frame[name].copy()
    column.iloc[np.flatnonzero(rows)] = pd.array(values).astype(column.dtype)
    return frame.assign(**{name: column})


def _draw_linear(
    x: RowColumns,
    y: RowVector,
    new: Float[np.ndarray, "missing _"],
    n: int,
    rng: np.random.Generator,
) -> Float[np.ndarray, "n missing"]:
    """Draw responses of a linear regression at new rows, with one draw of its parameters."""
    x, new = (np.column_stack([np.ones(len(one)), one]) for one in (x, new))
    # Prior precision of coefficients between normal scores, in units of the noise.
    precision = x.T @ x + 1e-3 * np.eye(x.shape[1])
    centre = np.linalg.solve(precision, x.T @ y)
    # One degree of freedom at least: with as many columns as rows the ridge alone is known.
    freedom = max(len(y) - x.shape[1], 1)
    sd = np.sqrt(((y - x @ centre) ** 2).sum() / rng.chisquare(freedom))
    root = np.linalg.cholesky(precision)
    coefficients = centre + sd * np.linalg.solve(root.T, rng.standard_normal(len(centre)))
    return np.asarray(new @ coefficients + sd * rng.standard_normal((n, len(new))))


def _draw_levels(
    x: RowColumns,
    codes: RowIntegers,
    new: Float[np.ndarray, "missing _"],
    n: int,
    rng: np.random.Generator,
) -> Int[np.ndarray, "n missing"]:
    """Draw levels at new rows from a discriminant model with one draw of shares and centres."""
    member = np.eye(codes.max() + 1)[codes]
    counts = member.sum(axis=0) + 0.5 * (member.sum(axis=0) == 0.0)
    logits = np.log(rng.dirichlet(counts))[:, None] + np.zeros(len(new))
    if x.shape[1]:
        means = (member.T @ x) / counts[:, None]
        within = x - means[codes]
        covariance = (within.T @ within + np.eye(x.shape[1])) / (len(x) + 1.0)
        root = np.linalg.cholesky(covariance)
        noise = rng.standard_normal(means.shape) @ root.T
        means = means + noise / np.sqrt(counts)[:, None]
        distances = np.linalg.solve(root, (new[None] - means[:, None]).reshape(-1, x.shape[1]).T)
        logits = logits - 0.5 * (distances**2).sum(axis=0).reshape(len(means), len(new))
    shares = np.exp(logits - logsumexp(logits, axis=0))
    below = rng.random((n, len(new)))[:, None] > np.cumsum(shares, axis=0)[:-1]
    return np.asarray(below.sum(axis=1))
