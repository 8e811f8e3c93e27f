"""Clusters of a mixture by their sizes, means and spreads, and the variables that separate them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float, Int

from bayesvb.data.column_units import measured
from bayesvb.distributions.intervals import PROB

from ..cells.names import called
from ..cells.numerals import counted, enumerated, numeral, percent, significant

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

SEPARATED = 0.5
"""Share of the variance of a variable between clusters from which on it separates them."""

MOST_LISTED = 4
"""Clusters whose sizes and means a sentence lists."""


@dataclass(frozen=True, kw_only=True)
class ClusterProfile:
    """Components that hold rows, the largest first.

    Attributes
    ----------
    names : tuple of str
        The variables.
    number : ndarray, shape (clusters,)
        Numbers of the components, from 1.
    share : ndarray, shape (clusters,)
        Mixing proportions.
    mean, sd : ndarray, shape (clusters, variables)
        Posterior means, in units of the data.
    """

    names: tuple[str, ...]
    number: Int[np.ndarray, " clusters"]
    share: Float[np.ndarray, " clusters"]
    mean: Float[np.ndarray, "clusters variables"]
    sd: Float[np.ndarray, "clusters variables"]

    @classmethod
    def from_fit(cls, fit: AbstractFit, names: tuple[str, ...]) -> ClusterProfile:
        """Return the clusters of a mixture of these variables."""
        frame, values = fit.components(), fit.named_draws.values
        held = np.flatnonzero(frame["rows"].to_numpy() > 0)
        return cls(
            names=names,
            number=held + 1,
            share=frame["share"].to_numpy(dtype=float)[held],
            mean=values["mean"].mean(axis=0)[held],
            sd=values["sd"].mean(axis=0)[held],
        )

    @property
    def centre(self) -> Float[np.ndarray, " variables"]:
        """Means of the variables over all clusters."""
        return np.average(self.mean, axis=0, weights=self.share)

    @property
    def between(self) -> Float[np.ndarray, " variables"]:
        """Variances of the variables between clusters."""
        return np.average((self.mean - self.centre) ** 2, axis=0, weights=self.share)

    @property
    def total(self) -> Float[np.ndarray, " variables"]:
        """Variances of the variables between and within clusters."""
        return np.asarray(self.between + np.average(self.sd**2, axis=0, weights=self.share))

    @property
    def separation(self) -> Float[np.ndarray, " variables"]:
        """Share of the variance of each variable that lies between clusters (eta squared)."""
        return np.asarray(self.between / self.total)

    @property
    def order(self) -> Int[np.ndarray, " variables"]:
        """Variables from the one that separates the clusters best."""
        return np.argsort(-self.separation, kind="stable")


def cluster_sentence(fit: AbstractFit, profile: ClusterProfile) -> str:
    """Number and sizes of two or more clusters, and the variable that separates them best."""
    n_held, n_all = len(profile.number), len(fit.components())
    first = fit.components().iloc[profile.number[0] - 1]
    interval = "" if fit.is_point_estimate else (
        f" ({percent(PROB)} interval {percent(float(first['share_lower']))} to "
        f"{percent(float(first['share_upper']))})"
    )  # fmt: skip
    sizes = [percent(float(one)) for one in profile.share]
    rest = enumerated(sizes[1:]) if n_held <= MOST_LISTED else f"others down to {sizes[-1]}"
    of = "" if n_held == n_all else f" (of {counted(n_all, 'component')} of the model)"
    lead = f"{numeral(n_held)} clusters{of} hold {sizes[0]}{interval}, {rest} of the rows"
    best = int(profile.order[0])
    separation = float(profile.separation[best])
    name = called(fit.model.design, profile.names[best])
    if separation < SEPARATED:
        return (
            f"{lead}; no single variable separates them: {name} does most, with "
            f"{percent(separation)} of its variance between clusters"
        )
    return f"{lead}; {name} separates them best{_means(fit, profile, best)}"


def _means(fit: AbstractFit, profile: ClusterProfile, variable: int) -> str:
    """Means of a variable in the clusters, in their order."""
    if len(profile.number) > MOST_LISTED:
        return ""
    decimals = significant(profile.sd[:, variable], 2)
    means = enumerated([numeral(float(one), decimals) for one in profile.mean[:, variable]])
    name = profile.names[variable]
    return f", with means of {measured(means, name, fit.model.design.known_units)}"
