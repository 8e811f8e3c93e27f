"""What density regression and networks have in common: a gate that depends on covariates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import Scales
from bayesvb.blocks import Block
from bayesvb.named_draws import Drawn
from bayesvb.parts import Draws
from bayesvb.workbench import density_prediction
from bayesvb.workbench.density_draws import expected_shares
from bayesvb.workbench.fitting import COMBINATIONS
from bayesvb.workbench.mixture_base import AbstractMixture

if TYPE_CHECKING:
    from bayesvb.fit import Fit


class AbstractGatedMixture(AbstractMixture):
    """A public model whose component weights depend on covariates."""

    order_rule = "Components are sorted by share."
    combinations = COMBINATIONS

    scales: Scales

    @property
    def log_unit(self) -> float:
        """Log of the product of the responses' units; zero for classes."""
        return float(np.log(self.scales.response.scale).sum())

    def ordered(self, core: Any, sums: Any) -> tuple[Any, Any, tuple[int, ...]]:
        """Components sorted by share, the largest first."""
        sizes = expected_shares(core, self.source, core.update(sums))
        order = tuple(np.argsort(-sizes, kind="stable").tolist())
        return *core.permuted(order, sums), order

    def replicates(
        self, fit: Drawn, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated response per draw and row, in the data's units; of classes their codes."""
        response = self.scales.response
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * response.scale[:, None] + response.centre[:, None]
        return {name: drawn[:, i] for i, name in enumerate(self.design.response_names)}

    def weights_at(
        self, fit: Fit, data: object, draws: int | None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the gate's weights at each complete row."""
        return density_prediction.weights_at(self, fit, self.rows(data), draws)
