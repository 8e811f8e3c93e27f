"""Exact posterior of one sample compared with the approximate one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.distributions.intervals import PROB
from bayesvb.results.capabilities import HasExactPosterior

from ..cells.numerals import percent, significant
from ..cells.plain import Summary
from .dots import Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

NAMES = {"mu": "mean", "sigma": "standard deviation"}

POSTERIORS = {"exact": "exact", "factorised": "approximate"}


def exact_panel(fit: AbstractFit) -> Summary | None:
    """Both intervals of mean and standard deviation, in exact posterior standard deviations."""
    if not isinstance(fit.model, HasExactPosterior):
        return None
    frame = fit.model.exact(fit)
    columns = frame[["mean", "sd", "lower", "upper"]]
    values = {key: row.tolist() for key, row in zip(frame.index, columns.to_numpy(), strict=True)}
    dots = []
    for part, label in NAMES.items():
        centre, unit = values[part, "exact"][:2]
        for series, (posterior, note) in enumerate(POSTERIORS.items(), start=1):
            mean, _, low, high = values[part, posterior]
            dots.append(
                Dot(label=label, note=note, estimate=mean, interval=(low, high),
                    decimals=significant([high - low], 2), scale=(centre, unit), series=series)
            )  # fmt: skip
    return dot_panel(
        dots,
        title="Exact and approximate posterior",
        caption="Bars in posterior standard deviations from the exact mean: "
        f"{percent(PROB)} intervals. The approximation takes mean and precision as independent.",
        heads=("Parameter", "Estimate"),
    )
