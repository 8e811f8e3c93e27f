"""Simulation designs: data from a known law, so that a fit can be judged against the truth."""

from __future__ import annotations

import abc
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd
from jaxtyping import Float, Int
from scipy import special

from bayesvb.errors import DataError

from .laws import AbstractLaw

__all__ = ["AbstractClassSimulation", "AbstractSimulation", "Simulation", "read_columns"]


class AbstractSimulation(abc.ABC):
    """Design that can be sampled and whose conditional law of the response is known."""

    @abc.abstractmethod
    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        """Frame of n independent rows, the response in the last column.

        Parameters
        ----------
        n : int
            Number of rows, at least one.
        rng : numpy.random.Generator
            The only source of randomness.
        """

    @abc.abstractmethod
    def log_density(self, frame: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """True log density, or log probability of a class, of each row's response.

        It is conditional on the covariates of the row.

        Parameters
        ----------
        frame : pandas.DataFrame
            Covariates and response, named as in `sample`.

        Raises
        ------
        DataError
            If a column is missing.
        """


@dataclass(frozen=True)
class Simulation(AbstractSimulation):
    """Design with a real response and a closed-form conditional law.

    Parameters
    ----------
    covariates : tuple of str
        Names of the covariates, independent and identically distributed.
    draw : callable
        ``draw(rng, n)``: n values of one covariate.
    law : callable
        Law of the response given the covariates, which are its positional arguments.
    response : str
        Name of the response.

    Examples
    --------
    >>> import numpy as np
    >>> from bayesvb.datasets import SIMULATIONS
    >>> rng = np.random.default_rng(1)
    >>> frame = SIMULATIONS["bimodal"].sample(3, rng)
    >>> SIMULATIONS["bimodal"].log_density(frame).shape
    (3,)
    """

    covariates: tuple[str, ...]
    draw: Callable[[np.random.Generator, int], np.ndarray]
    law: Callable[..., AbstractLaw]
    response: str = "y"

    def sample(self, n: int, rng: np.random.Generator) -> pd.DataFrame:
        columns = {name: self.draw(rng, n) for name in self.covariates}
        return pd.DataFrame({**columns, self.response: self.law(*columns.values()).sample(rng)})

    def conditional(self, frame: pd.DataFrame) -> AbstractLaw:
        """Law of the response in each row, from the covariates alone."""
        return self.law(*read_columns(frame, self.covariates).T)

    def log_density(self, frame: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """True log density of each row's response given its covariates."""
        return self.conditional(frame).log_density(read_columns(frame, (self.response,))[:, 0])

    def cdf(self, frame: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """True conditional distribution function at each row's response."""
        return self.conditional(frame).cdf(read_columns(frame, (self.response,))[:, 0])

    def mean(self, frame: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """True conditional mean in each row; reads the covariates only."""
        return self.conditional(frame).mean()

    def quantile(self, frame: pd.DataFrame, q: float) -> Float[np.ndarray, " rows"]:
        """True conditional quantile in each row; reads the covariates only.

        Raises
        ------
        DataError
            If `q` is not strictly between zero and one, or a covariate is missing.
        """
        if not 0 < q < 1:
            raise DataError(f"q = {q} is not a probability between 0 and 1 (both excluded)")
        return self.conditional(frame).quantile(q)


class AbstractClassSimulation(AbstractSimulation):
    """Design with a class label as response and known class probabilities."""

    @property
    @abc.abstractmethod
    def labels(self) -> tuple[str, ...]:
        """Class labels, in the order of the columns of `probabilities`."""

    @abc.abstractmethod
    def log_class_densities(self, frame: pd.DataFrame) -> Float[np.ndarray, "rows classes"]:
        """Log density of each row's covariates in each class; classes are equally likely."""

    def probabilities(self, frame: pd.DataFrame) -> pd.DataFrame:
        """True class probabilities given the covariates: index of `frame`, one column per label."""
        values = special.softmax(self.log_class_densities(frame), axis=1)
        return pd.DataFrame(values, index=frame.index, columns=list(self.labels))

    def log_density(self, frame: pd.DataFrame) -> Float[np.ndarray, " rows"]:
        """True log probability of each row's label given its covariates."""
        if "label" not in frame:
            raise DataError("the data have no column 'label'")
        code = pd.Index(self.labels).get_indexer(pd.Index(frame["label"].astype(str)))
        if (code < 0).any():
            strange = frame["label"].iloc[int(np.argmin(code))]
            raise DataError(f"label {strange!r} is no class of this design: {self.labels}")
        log_p = special.log_softmax(self.log_class_densities(frame), axis=1)
        result: np.ndarray = log_p[np.arange(code.size), code]
        return result

    def labelled(
        self, points: Float[np.ndarray, "rows terms"], code: Int[np.ndarray, " rows"]
    ) -> pd.DataFrame:
        """Frame with columns x1, x2, ... and a categorical label."""
        frame = pd.DataFrame(points, columns=[f"x{i}" for i in range(1, points.shape[1] + 1)])
        label = pd.Categorical(np.array(self.labels)[code], categories=list(self.labels))
        return frame.assign(label=label)


def read_columns(frame: pd.DataFrame, names: Sequence[str]) -> Float[np.ndarray, "rows terms"]:
    """Columns of the frame as float64."""
    missing = [name for name in names if name not in frame]
    if missing:
        raise DataError(
            f"the data have no column {missing[0]!r}",
            hint=f"this simulation reads {', '.join(names)}",
        )
    return np.asarray(frame[list(names)].to_numpy(dtype=float))
