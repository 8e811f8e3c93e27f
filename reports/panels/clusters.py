"""Profile of the clusters of a mixture: mean and standard deviation of each variable."""

from __future__ import annotations

from typing import TYPE_CHECKING

from bayesvb.results.capabilities import HasJointDensity

from ..cells.numerals import counted, percent, significant
from ..cells.plain import Summary
from ..rows.cluster_profiles import ClusterProfile
from .dots import Dot, dot_panel

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

MOST_LINES = 10
"""Lines of the panel: more do not fit on a screen."""


def clusters_panel(fit: AbstractFit) -> Summary | None:
    """Means and standard deviations by cluster, the variable that separates them best first."""
    if not isinstance(fit.model, HasJointDensity):
        return None
    profile = ClusterProfile.from_fit(fit, fit.model.variables)
    if len(profile.number) < 2:
        return None
    shown = profile.order[: max(MOST_LINES // len(profile.number), 1)].tolist()
    shares = [percent(float(profile.separation[j])) for j in shown]
    left = len(profile.names) - len(shown)
    return dot_panel(
        [dot for j in shown for dot in _lines(fit, profile, j)],
        title="Profile of the clusters",
        caption="Dot: mean; bar: one standard deviation either way; line: mean of all rows. "
        "Variables by the share of their variance between clusters: "
        f"{', '.join(shares)}.",
        heads=("Variable", "Mean"),
        more=f"{counted(left, 'more variable')} that {'separates' if left == 1 else 'separate'} "
        "clusters less"
        if left
        else "",
    )


def _lines(fit: AbstractFit, profile: ClusterProfile, variable: int) -> list[Dot]:
    """One variable in each cluster, on its scale in standard deviations."""
    scale = float(profile.centre[variable]), float(profile.total[variable]) ** 0.5
    decimals = significant(profile.sd[:, variable], 2)
    return [
        Dot(
            label=fit.model.design.label(profile.names[variable]),
            note=f"cluster {number}, {percent(float(share))}",
            estimate=float(mean),
            sd=float(sd),
            decimals=decimals,
            scale=scale,
            series=int(number),
        )
        for number, share, mean, sd in zip(
            profile.number, profile.share, profile.mean[:, variable], profile.sd[:, variable],
            strict=True,
        )
    ]  # fmt: skip
