"""Prior and posterior: how much the data taught about each parameter."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.numerics.streams import Streams
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import ModelDraws

from ..cells.numerals import percent
from ..cells.plain import Summary
from ..figures.plot import FEW_TICKS, Axis, Canvas, number_axis, panelled
from .replicates import density

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

Values = Float[np.ndarray, " draws"]

PANELS = 6
"""Parameters that are drawn: those about which the data said least."""

PRIOR_DRAWS = 4000

GRID = 128

REACH = 2.0
"""Widths of the posterior's range that a panel shows beyond it, where the prior is that wide."""

ROUNDING = 1e-12
"""Range relative to its values up to which a parameter is constant: share of a lone component."""

MUCH_WIDER = 10.0
"""Ratio of widths from which only the ratio is stated."""

HIGH = 0.5
"""Width of the posterior, relative to the prior's, from which the prior has a say."""


@dataclass(frozen=True)
class Pair:
    """Draws of one parameter from the prior and from the posterior."""

    name: str
    prior: Float[np.ndarray, " prior_draws"]
    posterior: Float[np.ndarray, " draws"]

    @property
    def ratio(self) -> float:
        """Interquartile range of the posterior, relative to the prior's."""
        wide = float(np.subtract(*np.quantile(self.prior, [0.75, 0.25])))
        return float(np.subtract(*np.quantile(self.posterior, [0.75, 0.25]))) / (wide or 1.0)


def summary(fit: AbstractFit) -> Summary | None:
    """Densities of the parameters that the data say least about; None without a prior."""
    if not fit.engine.prior_counts or fit.is_point_estimate:
        return None
    if "share" not in fit.named_draws.parts:
        return None
    # Two shares add up to one: what tells them apart is rounding, so their order stays.
    pairs = sorted(pairs_of(fit), key=lambda pair: -round(pair.ratio, 9))
    shown = pairs[:PANELS]
    if not shown:
        return None
    return {
        "n_shown": len(shown),
        "n_all": len(pairs),
        "n_held": sum(pair.ratio > HIGH for pair in pairs),
        "high": HIGH,
        "smallest_share_drawn": LIMITS.negligible_weight,
        "latent": not all(text.identified for text in fit.named_draws.texts.values()),
        "widest": {"name": shown[0].name, "ratio": shown[0].ratio},
        "figure": _figure(shown, len(pairs)),
    }


def pairs_of(fit: AbstractFit) -> list[Pair]:
    """Every parameter that the tables show and that is identified, of components not empty."""
    core = fit.model.relabelled(fit.model.core, fit.order)
    rng = Streams(fit.seed).rng("prior")
    given = fit.model.named_draws(ModelDraws(core, core.prior_draws(PRIOR_DRAWS, rng)))
    named = fit.named_draws
    shares = named.values["share"].mean(axis=0)
    pairs = []
    for name, part in named.parts.items():
        if name in named.single or not named.texts[name].identified:
            continue
        posterior, prior = named.values[name], given.values[name]
        dims = named.dims[name]
        for place in np.ndindex(posterior.shape[1:]):
            part_of, labels = part, [named.coords[d][k] for d, k in zip(dims, place, strict=True)]
            if dims and dims[0].startswith("component"):
                if shares[int(str(labels[0])) - 1] < LIMITS.negligible_weight:
                    continue
                part_of, labels = f"{part}[{labels[0]}]", labels[1:]
            title = ": ".join(
                [part_of, ", ".join(str(label) for label in labels)][: 1 + bool(labels)]
            )
            at = (slice(None), *place)
            if np.ptp(posterior[at]) > ROUNDING * np.abs(posterior[at]).max():
                pairs.append(Pair(title, prior[at], posterior[at]))
    return pairs


def _figure(pairs: list[Pair], n_all: int) -> Summary:
    panels = [(f"{pair.name}: {_relative(pair.ratio)}", _panel(pair)) for pair in pairs]
    more = f" The {len(pairs)} widest of {n_all}." if n_all > len(pairs) else ""
    caption = (
        "Density of the posterior (solid) and of the prior (dashed) of single parameters, in the "
        "units of the data; [k]: of component k. Percent: interquartile range of the posterior, "
        "relative to the prior's, the largest first; above 100% the prior is peaked at zero with "
        "heavy tails, as for a learned scale, and the data favour larger values. A flat dashed "
        "line: "
        f"the prior hardly matters.{more}"
    )
    alt = f"Prior and posterior density of {len(pairs)} parameters: " + "; ".join(
        f"{pair.name} {_relative(pair.ratio)}" for pair in pairs
    )
    legend = [("posterior", ""), ("prior", "dash")]
    return panelled(panels, x="", y="", alt=alt, caption=caption, legend=legend)


def _panel(pair: Pair) -> Canvas:
    """Densities of both."""
    low, high = np.quantile(pair.posterior, [0.001, 0.999])
    reach = REACH * (high - low)
    inner = np.quantile(pair.prior, [0.02, 0.98])
    ends = (max(low - reach, min(low, inner[0])), min(high + reach, max(high, inner[1])))
    points = np.linspace(*ends, GRID)
    curves = [
        density(values[None], points, _width(values, points))[0]
        for values in (pair.prior, pair.posterior)
    ]
    top = 1.06 * max(float(curve.max()) for curve in curves)
    canvas = Canvas(number_axis(*ends, most=FEW_TICKS), Axis(0.0, top))
    canvas.line("curve dash", points, curves[0])
    canvas.line("curve", points, curves[1])
    return canvas


def _relative(ratio: float) -> str:
    """Width of the posterior as a share of the prior's."""
    return percent(ratio) if ratio < MUCH_WIDER else f"over {percent(MUCH_WIDER)}"


def _width(values: Values, points: Float[np.ndarray, " points"]) -> float:
    """Silverman's bandwidth, but not much less than a step and not much of the panel."""
    quartiles = float(np.subtract(*np.quantile(values, [0.75, 0.25]))) / 1.34
    wide = 0.9 * min(float(values.std()), quartiles or np.inf) * len(values) ** -0.2
    step = float(points[1] - points[0])
    return float(np.clip(wide, 0.7 * step, 8.0 * step))
