"""Audit: whether the posterior of this model is calibrated on simulated data, if it was tested."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from bayesvb.results.simulation_calibration import (
    LEVEL,
    PROBS,
    SimulationCalibration,
    troubles,
    verdict,
)

from ..cells.numerals import PROBABILITY, percent
from ..cells.plain import Summary
from ..cells.tables import ColumnDecimals, table
from ..figures.ecdf import ecdf_canvas
from ..figures.plot import panelled

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def summary(fit: AbstractFit) -> Summary | None:
    """Coverage by kind of quantity, ECDFs of the ranks, and what failed."""
    audit = fit.sbc
    if audit is None:
        return None
    made = audit.replications
    return {
        "parameters_from": audit.parameters_from,
        "replications": len(audit.ranks),
        "planned": audit.planned,
        "failed": len(audit.failed),
        "unsettled": int((made["problem"].eq("") & ~made["converged"]).sum()),
        "method": audit.method,
        "other_method": audit.method != fit.method,
        "covariance": sorted(set(made["covariance"]) - {""}),
        "seed": audit.seed,
        "uneven": [f"{kind} at {place}" for kind, place in audit.uneven],
        "quantities": audit.ranks.shape[1],
        "level": LEVEL,
        "verdict": verdict(audit),
        "troubles": troubles(audit),
        "coverage": _coverage(audit),
        "ecdf": _ecdf(audit),
        "table": _table(audit),
    }


def _coverage(audit: SimulationCalibration) -> Summary:
    found, columns = audit.coverage, {}
    for prob in PROBS:
        one = found.xs(prob, level="prob").loc[list(audit.kinds)]
        columns[f"{percent(prob)}"] = 100.0 * one["coverage"]
        columns[f"se at {percent(prob)}"] = 100.0 * one["se"]
    caption = (
        "Central intervals that hold the true quantity (%), on average over rows, and the Monte "
        "Carlo standard error."
    )
    frame = pd.DataFrame(columns).rename_axis(index="quantity")
    titles = {name: name.split(" at ")[0] for name in columns if name.startswith("se")}
    return table(frame, caption, titles=titles, decimals=dict.fromkeys(columns, 1))


def _table(audit: SimulationCalibration) -> Summary:
    covers = [f"cover_{100 * prob:.0f}" for prob in PROBS]
    frame = audit.table()[["mean_rank", "se", *covers, "p_value"]]
    frame = frame.assign(**{name: 100.0 * frame[name] for name in covers})
    titles = {"mean_rank": "mean rank", "p_value": "p-value (Holm)", "kind": "quantity"}
    titles |= {name: f"{percent(p)}" for name, p in zip(covers, PROBS, strict=True)}
    caption = (
        "Each quantity: mean of its rank as a fraction of the draws (0.5 if right, more where the "
        "draws are too low), its standard error, coverage (%), and the p-value of uniform ranks."
    )
    decimals: ColumnDecimals = {
        "mean_rank": 2, "se": 2, "p_value": PROBABILITY, **dict.fromkeys(covers, 1)
    }  # fmt: skip
    return table(frame, caption, titles=titles, decimals=decimals)


def _ecdf(audit: SimulationCalibration) -> Summary:
    panels = [
        (kind, ecdf_canvas([one for (own, _), one in audit.ecdfs.items() if own == kind]))
        for kind in audit.kinds
    ]
    inside = sum(one.inside for one in audit.ecdfs.values())
    caption = (
        "Share of ranks up to each value, minus the same share of uniform ones; a line per row, a "
        "band per panel that uniform ranks of one line leave nowhere with probability "
        f"{percent(next(iter(audit.ecdfs.values())).prob)}. Above it first and then below: "
        "intervals are too narrow; below first and then above: too wide; on one side: off centre."
    )
    alt = f"ECDFs of the ranks of {len(audit.ecdfs)} quantities, {inside} of them inside the band."
    return panelled(
        panels,
        x="rank of the truth, as a fraction",
        y="ECDF minus uniform",
        alt=alt,
        caption=caption,
    )
