"""Models of which point estimates are made."""

from __future__ import annotations

import abc
from typing import ClassVar

import numpy as np
from jaxtyping import Bool

from bayesvb.data.blocks import Block
from bayesvb.variational.likelihood import AbstractLikelihood
from bayesvb.variational.model import AbstractVariationalModel, PosteriorT, StatsT


class AbstractPointModel(AbstractVariationalModel[PosteriorT, StatsT]):
    """A model whose prior has powers: the posterior of very many copies of its rows is a point."""

    without_information: ClassVar[str] = "the observed information is not available for this model"
    """Reason why point estimates have no standard errors if there are no coordinates."""

    @abc.abstractmethod
    def with_prior_power(self, power: float) -> AbstractPointModel[PosteriorT, StatsT]:
        """Model whose prior is this one's to a power, for rows that count as often.

        Densities are of coefficients, log precisions and log odds. With a power of zero the prior
        only keeps matrices regular, and its weight relative to the rows is negligible; coordinates
        then exclude directions of which the likelihood is independent.

        Raises
        ------
        NotImplementedError
            If point estimates are not available; the message gives the reason.
        """

    def for_points(self) -> AbstractPointModel[PosteriorT, StatsT]:
        """The model of which point estimates are made: itself as a rule.

        Parameters whose mode does not estimate their size, such as scales, are fixed in it.
        """
        return self

    def likelihood(self) -> AbstractLikelihood[StatsT] | None:
        """Log likelihood that a point without prior maximises; None where EM steps get there."""
        return None

    def collapsed(self, posterior: PosteriorT, block: Block) -> Bool[np.ndarray, " components"]:
        """Components with negligible residual variance relative to these rows: no maximum."""
        return np.zeros(self.n_components, dtype=bool)

    @abc.abstractmethod
    def separated(self, posterior: PosteriorT, block: Block) -> bool:
        """Whether covariates separate the components of these rows: coefficients then diverge."""
