"""Likelihoods of one linear predictor and a positive parameter, such as a shape."""

from __future__ import annotations

import abc
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.blocks import Block
from bayesvb.data.statistics import SufficientStats
from bayesvb.experts.predictor import (
    AbstractPredictorExperts,
    Expected,
    PredictorLocalPosterior,
    Rows,
    in_moments,
    local_posterior,
    with_offset,
)
from bayesvb.experts.predictor_coordinates import PredictorCoordinates
from bayesvb.experts.regression import RegressionUnits
from bayesvb.factors.log_grid import GridLaw, LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.variational.coordinates import AbstractCoordinates, entries
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.linear_predictors import LogitCoordinates, LogitStats, logit_moments
from bayesvb.variational.local import Draws
from bayesvb.variational.row_derivatives import PartDerivatives, RowScalars, consecutive

__all__ = ["AbstractDispersedExperts", "DispersedPosterior"]


@dataclass(frozen=True)
class DispersedStats(SufficientStats):
    """Sums over rows, per expert.

    Attributes
    ----------
    coefficients : LogitStats
    nodes : ndarray, shape (experts, nodes)
        Expected log density at each node of the positive parameter.
    """

    coefficients: LogitStats
    nodes: Float[np.ndarray, "*many experts nodes"]


@dataclass(frozen=True)
class DispersedPosterior:
    """Posterior of coefficients and positive parameters, independent of each other.

    Attributes
    ----------
    coefficients : Normal
    dispersion : GridLaw
        Of the positive parameter of each expert.
    """

    coefficients: Normal
    dispersion: GridLaw


@dataclass(frozen=True)
class DispersedLocalPosterior(PredictorLocalPosterior):
    """Expected log density of these rows, also at each node of the positive parameter."""

    nodes: Float[np.ndarray, "nodes experts rows"]

    def sufficient_stats(
        self, responsibilities: Float[np.ndarray, "experts rows"]
    ) -> DispersedStats:
        """Sums of the predictor, and of the log density at each node."""
        nodes = np.vecdot(self.nodes, responsibilities).T
        return DispersedStats(super().sufficient_stats(responsibilities), nodes)

    def row_stats(self, responsibilities: Float[np.ndarray, "experts rows"]) -> DispersedStats:
        """Contribution of each row to the sums."""
        nodes = np.moveaxis(self.nodes * responsibilities, (0, 2), (2, 0))
        return DispersedStats(super().row_stats(responsibilities), nodes)


class AbstractDispersedExperts(AbstractPredictorExperts):
    r"""Experts ``p(y | u, phi)`` of one linear predictor and a positive parameter of each expert.

    The posterior is ``q(b) q(phi)``: Gaussian coefficients by natural-gradient steps, as of
    ``AbstractPredictorExperts``, with the log density averaged over ``phi``, and a free-form
    ``q(phi)`` by exact coordinate updates, see ``LogGrid``. The expectations of the interpolation
    weights at the nodes belong to the sums ``sum_n r_nk e_nk(phi_j)``, so linear response covers
    the covariance of coefficients and ``phi``, which ``q`` leaves out.

    A family is a subclass with ``expected_at``, ``values_at_nodes`` and its distributions.
    """

    dispersion: ClassVar[LogGrid]
    """Prior of the positive parameter, and its nodes."""

    dispersion_name: ClassVar[str]
    """Name of its draws."""

    dispersion_text: ClassVar[ParameterText]
    """Name and meaning of the positive parameter."""

    @abc.abstractmethod
    def expected_at(
        self, block: Block, mean: Rows, variance: Rows, value: float, *, all_orders: bool = False
    ) -> Expected:
        """Expected log density given a value of the positive parameter."""

    def values_at_nodes(
        self, block: Block, mean: Rows, variance: Rows
    ) -> Float[np.ndarray, "nodes experts rows"]:
        """Expected log density at all nodes."""
        each = [self.expected_at(block, mean, variance, one) for one in self.dispersion.values]
        return np.stack([one.value for one in each])

    def expected(
        self, y: Float[np.ndarray, " rows"], mean: Rows, variance: Rows, *, all_orders: bool = False
    ) -> Expected:
        """Expected log density is ``expected_at``."""
        raise NotImplementedError

    def log_mass(
        self, y: Float[np.ndarray, " rows"], predictor: Float[np.ndarray, "draws experts rows"]
    ) -> Float[np.ndarray, "draws experts rows"]:
        """Log density is ``log_lik``."""
        raise NotImplementedError
