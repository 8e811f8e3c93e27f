"""Calibration: whether events that the fit calls 80% probable happen in 80 of 100 rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float, Int

from bayesvb.evaluation.calibration import Calibration, Coverage, PitEcdf, calibration, coverage
from bayesvb.evaluation.reliability import SETS, Reliability, reliability
from bayesvb.formula.design import Design
from bayesvb.numerics.streams import Streams
from bayesvb.results.class_evaluation import HeldOutClasses, held_out_events
from bayesvb.results.criteria import answers
from bayesvb.results.subsampling import RowSample, pits_at, pits_seen, sample

from ..cells.numerals import numeral, percent
from ..cells.plain import Summary
from ..cells.tables import table
from ..figures.ecdf import ecdf_canvas
from ..figures.plot import Canvas, number_axis, plotted, row_axis
from ..figures.reliability import panels
from ..rows.bins import bins
from ..rows.contrasts import main_covariate
from ..rows.new_groups import TAIL, new_group_coverage
from ..rows.profiles import quantiles_moved
from ..rows.sampling import ROWS_CHECKED, choice_words, predictive_at, regresses

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


def short(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """Coverage of the intervals of each response; for events, whether rows are held out."""
    if not regresses(fit):
        return None
    chosen = sample(fit, ROWS_CHECKED)
    if fit.model.response.is_binary:
        return {**_events(fit, chosen), "p_value": _reliability(fit, chosen)[1].p_value}
    pits = zip(fit.model.observed(), pits_at(fit, chosen.at), strict=True)
    return {
        **_rows(chosen),
        "left_out": _left_out(fit),
        "new_groups": _new_groups(fit),
        **_in_intervals(fit.model.design),
        "responses": [
            {
                "name": name,
                "coverage": _coverage(coverage(pit)),
                "coverage_by": _coverage_by(fit, _groups(fit, chosen.at, name, along), pit),
            }
            for name, pit in pits
        ],
    }


def summary(fit: AbstractFit, along: str | None = None) -> Summary | None:
    """PIT, coverage and CRPS of each response."""
    if not regresses(fit):
        return None
    chosen = sample(fit, ROWS_CHECKED)
    if fit.model.response.is_binary:
        return _of_events(fit, chosen)
    given = {name: values[chosen.at] for name, values in fit.model.observed().items()}
    pits = pits_at(fit, chosen.at)
    found = {
        name: calibration(predictive_at(fit, chosen.at, name), values, pit=pit)
        for (name, values), pit in zip(given.items(), pits, strict=True)
    }
    return {
        **_rows(chosen),
        "left_out": _left_out(fit),
        "new_groups": _new_groups(fit),
        "weighted": fit.model.weights is not None,
        "discrete": fit.model.response.is_discrete,
        **({"noun": "level"} if fit.model.response.level_names else {}),
        **_in_intervals(fit.model.design),
        "responses": [
            {
                "name": name,
                **_of(one, given[name]),
                **_coverage_and_bins(fit, _groups(fit, chosen.at, name, along), one.pit),
            }
            for name, one in found.items()
        ],
    }


def _new_groups(fit: AbstractFit) -> Summary | None:
    """Coverage for held-out groups, in per cent."""
    found = new_group_coverage(fit)
    if found is None:
        return None
    return {
        "observed": 100.0 * found.share,
        "deviation": (found.share - 1.0 + 2.0 * TAIL) / (found.standard_error or 1.0),
        "n_groups": found.n_groups,
    }


def _rows(chosen: RowSample) -> Summary:
    return {"n_rows": len(chosen.at), "rows_note": choice_words(chosen)}


def _events(fit: AbstractFit, chosen: RowSample) -> Summary:
    """Rows of a binary response, which has no intervals."""
    left_out = "" if fit.model.grouping is not None else "row"
    return {**_rows(chosen), "left_out": left_out, "responses": []}


def _in_intervals(design: Design) -> Summary:
    """Whether rows are censored, where some are known up to an interval; nothing elsewhere."""
    return {} if design.interval is None else {"censored": design.is_censored}


def _reliability(fit: AbstractFit, chosen: RowSample) -> tuple[HeldOutClasses, Reliability]:
    """Probabilities of 0 and 1 of held-out rows, and their agreement with the events."""
    found = held_out_events(fit, chosen.at)
    rng = Streams(fit.seed).reliability(len(chosen.at))
    return found, reliability(found.probabilities, found.codes, rng)


def _of_events(fit: AbstractFit, chosen: RowSample) -> Summary:
    """Reliability of the probabilities of 1: PIT values of zeros and ones say nothing."""
    found, curves = _reliability(fit, chosen)
    one = curves.curves[1]
    return {
        **_events(fit, chosen),
        "weighted": fit.model.weights is not None,
        "sets": SETS,
        "p_value": curves.p_value,
        "squared_error": one.brier,
        "miscalibration": one.miscalibration,
        "discrimination": one.discrimination,
        "reliability": panels(("0", "1"), curves, found),
    }


def _left_out(fit: AbstractFit) -> str:
    """Method of leave-one-out of the PIT values: single rows, folds, or none (empty).

    Rows of groups are predicted from the earlier rows of their group.
    """
    if fit.model.grouping is not None:
        return "before"
    parts = [member.fit for member in fit.parts]
    if all(answers(part) for part in parts):
        return "row"
    left_out = all(part.core.follows_rows for part in parts) and not pits_seen(fit)
    return "fold" if left_out else ""


def _of(one: Calibration, values: Float[np.ndarray, " rows"]) -> Summary:
    alone = _unconditional_crps(values)
    mean = float(one.crps.mean())
    finite = bool(np.isfinite(mean))  # it is not where tails are heavier than any moment
    return {
        "p_value": one.p_value,
        "inside": one.ecdf.inside,
        "crps": mean if finite else None,
        "crps_se": one.crps.std(ddof=1) / np.sqrt(len(values)) if finite else None,
        "crps_without_covariates": alone,
        "crps_skill": 1.0 - mean / alone if finite and alone > 0.0 else None,
        "ecdf": _ecdf(one.ecdf),
        "coverage": _coverage(one.coverage),
    }


def _unconditional_crps(values: Float[np.ndarray, " rows"]) -> float:
    """CRPS of predicting every row by the distribution of all of them: half Gini's difference."""
    n = len(values)
    ranks = 2.0 * np.arange(1, n + 1) - n - 1.0
    return float((ranks @ np.sort(values)) / n**2)


def _ecdf(ecdf: PitEcdf) -> Summary:
    canvas = ecdf_canvas([ecdf])
    where = "inside" if ecdf.inside else "outside"
    farthest = float(ecdf.difference[np.abs(ecdf.difference).argmax()])
    caption = (
        f"Share of PIT values up to each value, minus the same share of uniform ones, with a band "
        f"that calibrated predictions leave nowhere with probability {percent(ecdf.prob)}. "
        "A slope up: too many observations there; S-shapes: intervals too narrow or too wide."
    )
    alt = f"PIT ECDF difference, {where} its band; largest deviation {numeral(farthest)}."
    return plotted(canvas, x="PIT value", y="ECDF minus uniform", alt=alt, caption=caption)


def _coverage(cover: Coverage) -> Summary:
    columns = {
        "expected": 100.0 * cover.prob,
        "observed": 100.0 * cover.observed,
        "se": 100.0 * cover.standard_error,
        "deviation": (cover.observed - cover.prob) / cover.standard_error,
    }
    index = pd.Index([f"middle {percent(float(p))}" for p in cover.prob], name="interval")
    titles = {"expected": "expected (%)", "observed": "observed (%)", "se": "se (%)",
              "deviation": "deviation (se)"}  # fmt: skip
    caption = (
        "Rows inside central predictive intervals, with the standard error of a calibrated share."
    )
    return table(pd.DataFrame(columns, index=index), caption, titles=titles,
                 decimals={**dict.fromkeys(columns, 1), "expected": 0})  # fmt: skip


def _coverage_and_bins(
    fit: AbstractFit, groups: _Groups | None, pit: Float[np.ndarray, " rows"]
) -> Summary:
    """PIT values and coverage by bins of a covariate."""
    return {
        "bins": None if groups is None else _bins(fit, groups, pit),
        "coverage_by": _coverage_by(fit, groups, pit),
    }


def _coverage_by(
    fit: AbstractFit, groups: _Groups | None, pit: Float[np.ndarray, " rows"]
) -> Summary | None:
    """Share of the rows of each bin inside their 90% interval; None if counts or censored."""
    model = fit.model
    if groups is None or model.response.is_discrete or model.design.is_censored:
        return None
    inside = np.abs(pit - 0.5) <= 0.45
    n_rows = [len(rows) for rows in groups.rows.values()]
    frame = pd.DataFrame(
        {
            "rows": n_rows,
            "inside": [100.0 * float(inside[rows].mean()) for rows in groups.rows.values()],
            "error": [100.0 * np.sqrt(0.9 * 0.1 / n) for n in n_rows],
        },
        index=pd.Index(list(groups.rows), name=fit.model.design.label(groups.along)),
    )
    caption = (
        "Rows inside their 90% predictive interval, with the standard error of a share of 90%."
    )
    titles = {"inside": "inside (%)", "error": "se (%)"}
    return table(frame, caption, titles=titles, decimals={"inside": 1, "error": 1})


def _bins(fit: AbstractFit, found: _Groups, pit: Float[np.ndarray, " rows"]) -> Summary:
    """Quartiles of the PIT values by bins of a covariate."""
    along, groups = found.along, found.rows
    quartiles = np.array([np.quantile(pit[rows], [0.25, 0.5, 0.75]) for rows in groups.values()])
    bound_gap = np.array([2.0 * np.sqrt(0.25 / len(rows)) for rows in groups.values()])

    canvas = Canvas(number_axis(0.0, 1.0), row_axis(list(groups)))
    rows = -np.arange(float(len(groups)))
    canvas.boxes("shade", 0.5 - bound_gap, 0.5 + bound_gap, rows - 0.35, rows + 0.35)
    for place in (0.25, 0.5, 0.75):
        canvas.upright("axis", place)
    canvas.steps("thin", quartiles[:, 0], quartiles[:, 2], rows)
    canvas.dots("median", quartiles[:, 1], rows)
    caption = (
        f"PIT values by {along}: median (dot) and middle half (bar). The dots should be near 0.5, "
        "most of them within the shading (two standard errors), and the bars from 0.25 to 0.75. "
        "A dot too far to the right: the response is larger there than predicted; a bar too long: "
        "it varies more."
    )
    medians = ", ".join(numeral(float(one), 2) for one in quartiles[:, 1])
    alt = f"Quartiles of the PIT in {len(groups)} groups of rows by {along}; medians {medians}."
    label = fit.model.design.label(along)
    return plotted(canvas, x="PIT value", y=label, alt=alt, caption=caption)


@dataclass(frozen=True)
class _Groups:
    """Bins of a covariate: its name, and positions of the rows of each bin among those checked."""

    along: str
    rows: Mapping[str, Int[np.ndarray, " some"]]


def _groups(
    fit: AbstractFit, at: Int[np.ndarray, " rows"], name: str, along: str | None
) -> _Groups | None:
    """Bins of a covariate, or of that which moves a response most; None of fewer than two."""
    along = along or main_covariate(fit, quantiles_moved, name)
    found = [] if along is None else bins(fit.model.design, along, at)
    if along is None or len(found) < 2:
        return None
    return _Groups(along, {one.label: one.rows for one in found})
