"""Capabilities of some public models beyond the common contract."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesvb.data.blocks import Block
from bayesvb.data.grouping import Grouping
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import Scales
from bayesvb.distributions.base import AbstractDrawnMixture
from bayesvb.distributions.multivariate_student import AbstractJointStudent
from bayesvb.distributions.prediction import PredictionOptions
from bayesvb.factors.normal_gamma import NormalGamma
from bayesvb.formula.design import Rows
from bayesvb.numerics.arrays import DrawResponseRows, TermRows
from bayesvb.results.base import AbstractFit
from bayesvb.results.named_draws import HasDraws
from bayesvb.variational.local import Draws


@runtime_checkable
class HasExactPosterior(Protocol):
    """The exact posterior is known as well as the variational one."""

    scaling: Scaling

    def exact(self, fit: AbstractFit, prob: float = ...) -> pd.DataFrame:
        """Both posteriors of every parameter; index (parameter, posterior)."""

    def divergences(self, fit: AbstractFit) -> pd.Series:
        """Bound, exact log evidence, and the divergences between the posteriors both ways."""

    def exact_posterior(self, fit: AbstractFit) -> NormalGamma:
        """The exact posterior on the standardised scale."""


@runtime_checkable
class HasScales(Protocol):
    """Model that standardises columns and responses."""

    scales: Scales


def scales_of(fit: AbstractFit) -> Scales:
    """Centres and scales of the columns and responses of a fit."""
    assert isinstance(fit.model, HasScales)
    return fit.model.scales


@runtime_checkable
class HasComponents(Protocol):
    """The number of components is an option."""

    def with_components(self, n_components: int) -> object:
        """The model with another number of components, on the same rows."""

    def resized(self, n_components: int) -> object:
        """Model with another number of components, where the rows in memory are a sample."""


@runtime_checkable
class SummarisesRows(Protocol):
    """Sums that are kept of complete rows stand for them under any posterior."""

    def with_more_rows(
        self, source: AbstractSource, share: float, sign: float = ...
    ) -> tuple[Any, AbstractSource] | None:
        """The model that has seen these rows too, and weighted rows that stand for all of them.

        Earlier rows count for this ``share``, these ones for ``sign``. None where sums do not stand
        for the rows.
        """


@runtime_checkable
class HasJointDensity(Protocol):
    """All variables of a row are explained together."""

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""

    def joint(self, fit: AbstractFit) -> AbstractJointStudent:
        """Predictive distribution of a row, in the data's units."""


@runtime_checkable
class HasScores(Protocol):
    """Rows have scores on components that are effective or not."""

    scaling: Scaling

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""

    @property
    def n_gaps(self) -> int:
        """Number of missing values."""

    def effective(self, fit: AbstractFit) -> int:
        """Number of components whose loadings rise above their uncertainty."""

    def noise_from_prior(self, fit: AbstractFit) -> float:
        """Share of the noise that is the prior's."""

    def moments(self, fit: AbstractFit) -> tuple[pd.Series, pd.DataFrame]:
        """Mean and covariance of a new row under the posterior."""


@runtime_checkable
class HasResponses(Protocol):
    """A core that simulates data given parameters."""

    def responses(self, draws: Draws, block: Block, rng: np.random.Generator) -> DrawResponseRows:
        """One response per draw and row, standardised."""


@runtime_checkable
class HasDrawnDistributions(Protocol):
    """The distribution of a numeric response is known for every draw of the parameters.

    A response of classes has the ``drawn_probabilities`` of the core instead.
    """

    def drawn_mixture(self, fit: HasDraws, block: Block, response: int) -> AbstractDrawnMixture:
        """Distribution of one response given each draw, axes (experts, draws, rows)."""


@runtime_checkable
class HasGroups(Protocol):
    """Rows may come in groups, all of whose rows are from one component."""

    grouping: Grouping | None

    def block_of_groups(self, rows: Rows, grouping: Grouping) -> Block:
        """Groups of complete rows with responses, on the standardised scale."""

    def predict_with(
        self,
        fit: AbstractFit,
        data: object,
        kind: str,
        options: PredictionOptions,
        observed: object,
    ) -> pd.Series | pd.DataFrame:
        """Prediction of rows of groups of which some responses are known."""


@runtime_checkable
class HasRegressors(Protocol):
    """Components are regressions, each on the same covariates."""

    def regressors(self, block: Block) -> TermRows:
        """Columns that their lines are made of."""
