"""Shared code of public models with components: their tables."""

from __future__ import annotations

import abc
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import Scales
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.base import AbstractComponentMixture, AbstractDrawnMixture
from bayesvb.distributions.pooled_draws import PooledDraws
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator, empty_stats
from bayesvb.estimators.component_tables import (
    component_table,
    responsibilities_of,
    responsibility_table,
)
from bayesvb.estimators.fit_request import COMBINATIONS
from bayesvb.estimators.gating import expected_shares, weights_at
from bayesvb.models.component_model import ComponentModel
from bayesvb.models.ensemble import matching
from bayesvb.models.mixture import Mixture, MixtureStats
from bayesvb.numerics.arrays import DrawRows, ExpertVector
from bayesvb.results.all_rows import check_all_rows, is_sample
from bayesvb.results.base import AbstractFit, with_fields
from bayesvb.results.exact_draws import integrated_core, is_integrated
from bayesvb.results.named_draws import HasDraws, ModelDraws
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

if TYPE_CHECKING:
    from bayesvb.formula.design import Rows
    from bayesvb.models.network.model import Network


ModelT = TypeVar("ModelT", bound="AbstractGatedMixture")


class AbstractMixture(AbstractEstimator):
    """A public model whose rows come from one of several components."""

    n_components: int

    @property
    @abc.abstractmethod
    def core(self) -> Mixture | Network:
        """The mixture on the standardised scale."""

    def aligned(
        self, fit: AbstractFit, core: AnyModel, stats: SufficientStats
    ) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
        """Components in the order in which they share most rows with the components of the fit."""
        reference = self.source.map_rows(responsibilities_of(fit))
        mixture = cast(Mixture, core)
        responsibilities = self.source.map_rows(
            partial(mixture.responsibilities, core.update(stats))
        )
        order = matching(reference.T, responsibilities.T)
        return *mixture.permuted(order, cast(MixtureStats, stats)), order

    def relabelled(self, core: AnyModel, order: Sequence[int]) -> AnyModel:
        blank = core.first_stats(empty_stats(core, self.source))
        return cast(Mixture, core).permuted(order, blank)[0]

    def with_components(self, n_components: int) -> AbstractMixture:
        """The model with another number of components, on the same rows."""
        from bayesvb.estimators.rebuilding import rebuilt

        return cast(AbstractMixture, rebuilt(self, **{self.size_name: n_components}))

    def resized(self, n_components: int) -> AbstractMixture:
        """The model with another number of components, which changes nothing about its rows."""
        return with_fields(self, n_components=n_components)

    def expected_shares(self, fit: AbstractFit) -> ExpertVector:
        """Weights of the components under the variational posterior, averaged over the rows."""
        return expected_shares(fit.mixture, self.all_rows or self.source, fit.q)

    def components(self, fit: AbstractFit, prob: float) -> pd.DataFrame:
        """Share, size and membership probability of every component, and its noise if any."""
        return component_table(self, fit, prob)

    def responsibilities(self, fit: AbstractFit, data: object = None) -> pd.DataFrame:
        return responsibility_table(self, fit, data)


class AbstractGatedMixture(AbstractMixture):
    """A public model whose component weights depend on covariates."""

    order_rule = "Components are sorted by share."
    combinations = COMBINATIONS

    scales: Scales

    chooses_size: bool = False
    """Whether ``fit`` chooses the number of components, up to the number that it has."""

    @property
    def log_unit(self) -> float:
        """Log of the product of the responses' units; zero for classes."""
        return float(np.log(self.scales.response.scale).sum())

    @abc.abstractmethod
    def source_in(self, scales: Scales) -> AbstractSource:
        """Rows in memory in other units."""

    def in_given_scales(self: ModelT, numbers: Mapping[str, Float[np.ndarray, "_ _"]]) -> ModelT:
        """Model of the same rows in other units, such as the units of more rows.

        Without numbers each column of the model is one of the design, as it was before columns
        of terms were made orthogonal.

        Raises
        ------
        DataError
            If not all rows are in memory.
        """
        if not (numbers or self.scales.combines):
            return self
        check_all_rows(self, "a model in given scales", "they are changed to them")
        scales = self.scales.with_numbers(numbers or self.scales.each_column)
        return with_fields(self, scales=scales, source=self.source_in(scales), scales_given=True)

    def given_scales(self) -> dict[str, Float[np.ndarray, "_ _"]]:
        """Numbers of the scales by part, unless rows that are standardised column by column say."""
        given = getattr(self, "scales_given", False) or is_sample(self) or self.design.imputed
        return self.scales.numbers if given or self.scales.combines else {}

    def ordered(
        self, core: AnyModel, stats: SufficientStats
    ) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
        """Components sorted by share, the largest first; as they are of a completed table."""
        if self.completed or self.size == 1:
            return core, cast(Any, stats), tuple(range(self.size))
        mixture = cast(Mixture, core)
        sizes = expected_shares(
            cast(ComponentModel, core), self.all_rows or self.source, core.update(stats)
        )
        order = tuple(np.argsort(-sizes, kind="stable").tolist())
        return *mixture.permuted(order, cast(MixtureStats, stats)), order

    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        """One replicated response per draw and row, in the data's units; of classes their codes."""
        response = self.scales.response
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * response.scale[:, None] + response.centre[:, None]
        offset = self.scales.shift(block.ungrouped().offset)
        if offset is not None:
            drawn += offset
        return {name: drawn[:, i] for i, name in enumerate(self.design.response_names)}

    def predictive_at(
        self, fit: AbstractFit, rows: Rows, response: str | None
    ) -> AbstractComponentMixture:
        """Predictive distribution of one numeric response at the complete rows, in its units."""
        names, scaling = self.design.response_names, self.scales.response
        if response is None and len(names) > 1:
            raise DataError("response=None, but the model has several", hint=f"name one of {names}")
        if response is not None and str(response) not in names:
            raise DataError(f"response={response!r} is not one of {', '.join(names)}")
        number = 0 if response is None else names.index(response)
        if fit.is_sampled:
            return self._averaged_over_draws(fit, rows, number)
        pieces: list[AbstractComponentMixture] = [
            integrated_core(fit).exact_predictive(block)
            if is_integrated(fit)
            else fit.mixture.predictive(fit.q, block, number)
            for block in self.block(rows).split(BLOCK_ROWS)
        ]
        whole = pieces[0].joined(pieces[1:])
        shift = self.scales.shift(rows.offset)
        centre = scaling.centre[number] if shift is None else scaling.centre[number] + shift
        return whole.affine(centre, float(scaling.scale[number]))

    def _averaged_over_draws(self, fit: AbstractFit, rows: Rows, response: int) -> PooledDraws:
        """Average over the engine's draws of the distribution of one response."""
        some = ModelDraws(fit.core, fit.predictive_draws)
        pieces = [
            PooledDraws.of(self.drawn_mixture(some, block, response))
            for block in self.block(rows).split(BLOCK_ROWS)
        ]
        return pieces[0].joined(pieces[1:])

    @abc.abstractmethod
    def drawn_mixture(self, fit: HasDraws, block: Block, response: int) -> AbstractDrawnMixture:
        """Mixture of one numeric response for every draw and row, in the data's units."""

    def weights_at(
        self, fit: AbstractFit, data: object, draws: int | None
    ) -> Float[np.ndarray, "draws rows experts"]:
        return weights_at(self, fit, self.rows(data), draws)
