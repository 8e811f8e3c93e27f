"""Weibull experts: each component is a Bayesian Weibull regression of times, censored or not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from jaxtyping import Float

from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import INTERVAL
from bayesvb.distributions.response import Response
from bayesvb.distributions.weibull_mixture import (
    WEIBULL,
    DrawnWeibullMixture,
    WeibullMixture,
    cumulative_hazard,
)
from bayesvb.experts.dispersed_predictor import Nodes, RowSlopes
from bayesvb.experts.intervals import AbstractIntervalExperts
from bayesvb.experts.positive import AbstractPositiveExperts
from bayesvb.experts.predictor import Expected
from bayesvb.factors.log_grid import LogGrid
from bayesvb.factors.normal import Normal
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import DrawExpertRows, ExpertRows, RowMask
from bayesvb.variational.descriptions import ParameterText
from bayesvb.variational.supports import AbstractSupport

SHAPE = LogGrid(low=-3.0, high=3.0, centre=0.0, sd=1.0, n_nodes=96)
"""Shapes from 0.05 to 20, a priori 1, a constant hazard, with 95% between 0.14 and 7.1."""

LARGEST_LOG_HAZARD = 8.0
"""Log of an expected cumulative hazard from which on it grows linearly in its log: survival has a
probability of ``exp(-3,000)`` there. Hazards are doubly exponential in the log of the shape, as
``exp(a c + s c^2 / 2)``, and grow between two of the 96 nodes by at most ``exp(2 * 8 * 0.063)``,
2.7 times. Polynomials between nodes with growth of 30 times and more (64 nodes, 18) overshoot to
positive log densities, and an ELBO made of them rises without end where components shrink."""


@dataclass(frozen=True)
class WeibullExperts(AbstractIntervalExperts[Any, Any], AbstractPositiveExperts):
    r"""``P(Y > y) = exp(-(y exp(-u))^c)``: log scale ``u``, shape ``c`` of each component.

    A row that is seen has the expected log density, ``u ~ N(t, s)``,

    .. math:: \log c - c t + (c - 1) \log y - w, \qquad w = y^c e^{-c t + c^2 s / 2},

    exact, and a right-censored row ``-w``. It is an accelerated failure time model: ``exp(b)``
    multiplies all quantiles, and ``exp(-c b)`` the hazard. In this form coefficients and shape are
    nearly independent a posteriori; with ``u`` the log mean of ``y^c`` they are not.

    References
    ----------
    Kalbfleisch, Prentice (2002), The statistical analysis of failure time data, section 3.2.
    """

    words = "Weibull regression"
    formula = "weibull"
    response = Response(kind="positive", support=(0.0, np.inf), link="log")
    dispersion_name = "shape"
    dispersion_text = ParameterText(
        symbol="c",
        meaning="shape of each component; the hazard rises with time if the shape is above 1",
        heading="Shape",
        caption="Shape of each component; the hazard rises with time if the shape is above 1",
    )
    link_text = ParameterText(
        symbol="β",
        meaning="coefficients of each component's log scale, per unit of the term; exp(β) is a "
        "ratio of times, of the intercept the scale",
        heading="Components' log scales",
        caption="Coefficients of the components' log scales, per unit of the term",
        forest=True,
        ratio="time ratio",
    )

    law = WEIBULL
    mixture = WeibullMixture
    drawn_mixture = DrawnWeibullMixture

    prior: Normal
    log_unit: float = 0.0
    dispersion: LogGrid = SHAPE

    def expected_at(
        self,
        block: Block,
        mean: ExpertRows,
        variance: ExpertRows,
        value: Nodes,
        *,
        all_orders: bool = False,
    ) -> Expected:
        """All orders of the derivatives are at hand."""
        log_y, seen = np.log(block.response[0]), is_seen(block)
        log_density = value * (log_y - mean)
        exponent = log_density + 0.5 * value**2 * variance
        if exponent.max(initial=0.0) <= LARGEST_LOG_HAZARD:  # three passes over the nodes less
            hazard = beyond = np.exp(exponent)
        else:
            hazard = np.exp(np.minimum(exponent, LARGEST_LOG_HAZARD))
            beyond = hazard * (1.0 + np.maximum(exponent - LARGEST_LOG_HAZARD, 0.0))
        # In place: at 10,000 rows such a sum spends most of its time on new memory.
        log_density += np.log(value)
        log_density -= log_y
        log_density *= seen
        log_density -= beyond
        slope = hazard - seen
        slope *= value
        third = value**3 * hazard if all_orders else None
        fourth = -value * third if third is not None else None
        return Expected(log_density, slope, value**2 * hazard, third, fourth)

    def supports(self, n_components: int) -> dict[str, AbstractSupport]:  # type: ignore[override]
        """Supports of positive responses: censored rows have log probabilities of survival."""
        return AbstractPositiveExperts.supports(self, n_components)

    def log_density_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> DrawExpertRows:
        """Log density, or log probability of survival."""
        y, seen = block.response[0], is_seen(block)
        density = WEIBULL.log_density(y, predictor, values)
        survival = WEIBULL.log_survival(y, predictor, values)
        log_density: DrawExpertRows
        log_density = namespace(predictor).where(seen, density, survival)
        return log_density

    def slopes_of_rows(
        self, block: Block, predictor: DrawExpertRows, values: Float[np.ndarray, "draws experts 1"]
    ) -> RowSlopes:
        """Log density or log survival, and its derivatives in ``u`` and ``log(c)``."""
        y, seen = block.response[0], is_seen(block)
        hazard = cumulative_hazard(y, predictor, values)
        log_ratio = values * (np.log(y) - predictor)
        density = seen * (np.log(values) + log_ratio - np.log(y)) - hazard
        by_log_shape = seen * (1.0 + log_ratio) - hazard * log_ratio
        return density, values * (hazard - seen), by_log_shape


def is_seen(block: Block) -> RowMask:
    """Rows whose response is not censored."""
    ends = block.designs.get(INTERVAL)
    return np.ones(block.n_rows, dtype=bool) if ends is None else (ends == 0.0).all(axis=0)
