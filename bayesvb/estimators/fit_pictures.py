"""Pictures of a fit, as its methods."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

from bayesvb.argument_checks import check_listed, checked
from bayesvb.distributions.intervals import PROB
from bayesvb.results.base import AbstractFit

if TYPE_CHECKING:
    from matplotlib.figure import Figure


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class PicturedFit(AbstractFit):
    """Fit with methods that draw it; ``Fit`` has all others."""

    @checked
    def pp_check(self, n: int = 50, *, response: str | None = None, ax: Any = None) -> object:
        """Posterior predictive check: replicated data sets and the data.

        See ``bayesvb.plots.replicates``, whose arguments these are.
        """
        from bayesvb.plots.diagnostics import replicates

        return replicates(self, n, response=response, ax=ax)

    @checked
    def plot(self, along: str | None = None) -> Figure:
        """Figure of the fit: its main result, and its agreement with the data.

        See ``bayesvb.plots.overview``, whose argument this is, and which returns the axes.
        """
        from bayesvb.plots.overview import overview

        figure: Figure = overview(self, along)[0].figure
        return figure

    @partial(checked, covariates=check_listed)
    def conditional_effects(
        self,
        covariates: Sequence[str] | None = None,
        *,
        target: str | None = None,
        prob: float = PROB,
        response: str | None = None,
    ) -> Figure:
        """Figure of predictions with intervals along each covariate.

        See ``bayesvb.plots.conditional_effects``, whose arguments these are, and which returns the
        axes; ``bayesvb.effects.predictions`` returns the numbers.
        """
        from bayesvb.plots.overview import conditional_effects

        figure: Figure = conditional_effects(
            self, covariates, target=target, prob=prob, response=response
        )[0].figure
        return figure

    @checked
    def plot_check(self, *, response: str | None = None) -> Figure:
        """Figure of six diagnostic pictures; each title describes a good picture.

        See ``bayesvb.plots.checks``, whose argument this is.
        """
        from bayesvb.plots.checks import checks

        return checks(self, response=response)
