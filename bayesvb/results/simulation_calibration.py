"""Simulation-based calibration: ranks of the truth among draws, their tests, print and plot."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

import numpy as np
import pandas as pd

from bayesvb.drawing import marks
from bayesvb.drawing.palette import dash, palette_of
from bayesvb.evaluation.calibration import PitEcdf, coverage, pit_ecdf, uniformity_p_value
from bayesvb.evaluation.family_wise import holm
from bayesvb.results.limits import LIMITS

if TYPE_CHECKING:
    from jaxtyping import Float
    from matplotlib.axes import Axes

PROBS = (0.5, 0.8, 0.9)
"""Probabilities of the central intervals whose coverage is counted."""

LEVEL = 0.05
"""Probability of calling ranks uneven that are uniform, for all quantities together."""


@dataclass(frozen=True, eq=False, repr=False)
class SimulationCalibration:
    """Ranks of true quantities among posterior draws, over simulated data sets.

    If the posterior that an engine returns were exact, each rank would be uniform.

    Attributes
    ----------
    ranks : pandas.DataFrame
        Number of draws below the truth; one row per replication that has a fit, one column per
        quantity (kind, place).
    replications : pandas.DataFrame
        One row per completed replication: draws, converged, covariance (source of the
        draws), seconds, and problem, which is empty if the fit succeeded.
    parameters_from : {"prior", "posterior"}
        Distribution of the true parameters.
    planned : int
        Requested number of replications.
    formula, description : str
        Of the model.
    method : str
        Key of the engine.
    options : mapping
        Further arguments of ``fit``.
    seed : int
    """

    ranks: pd.DataFrame
    replications: pd.DataFrame
    parameters_from: str
    planned: int
    formula: str
    description: str
    method: str
    options: Mapping[str, object]
    seed: int

    @cached_property
    def fractions(self) -> pd.DataFrame:
        """Ranks between 0 and 1: half a draw is added, and divided by one more than the draws."""
        draws = self.replications["draws"].loc[self.ranks.index]
        return (self.ranks + 0.5).div(draws + 1.0, axis=0)

    @property
    def coverage(self) -> pd.DataFrame:
        """Share of the truths inside central intervals, by kind of quantity.

        Returns
        -------
        pandas.DataFrame
            Index (kind, prob): ``coverage``, the mean over places and replications; ``se``, its
            Monte Carlo standard error, in which places of one replication are not independent;
            ``deviation``, coverage less ``prob``.
        """
        rows: dict[tuple[str, float], dict[str, float]] = {}
        for kind in self.kinds:
            off = (self.fractions[kind] - 0.5).abs().to_numpy()
            for prob in PROBS:
                each = (off <= 0.5 * prob).mean(axis=1)
                share, n = float(each.mean()), len(each)
                spread = float(each.std(ddof=1)) if n > 1 else np.nan
                least = np.sqrt(prob * (1.0 - prob) / off.size)  # as if all were independent
                rows[kind, prob] = {
                    "coverage": share,
                    "se": max(spread / np.sqrt(n), least),
                    "deviation": share - prob,
                }
        table = pd.DataFrame.from_dict(rows, orient="index")
        table.index = pd.MultiIndex.from_tuples(rows, names=["kind", "prob"])
        return table

    def table(self) -> pd.DataFrame:
        """One row per quantity.

        Returns
        -------
        pandas.DataFrame
            Index (kind, place): ``mean_rank``, the mean of the ranks as fractions, 0.5 if they are
            uniform (more: the draws are too low), with its standard error ``se`` if they are;
            coverage of central intervals, ``cover_50`` and so on; ``p_value`` of uniform ranks,
            adjusted for the number of quantities (Holm).
        """
        values = self.fractions
        n = len(values)
        table = pd.DataFrame({"mean_rank": values.mean(), "se": 1.0 / np.sqrt(12.0 * n)})
        covers = np.stack([coverage(self._of(name), PROBS).observed for name in self.quantities])
        for number, prob in enumerate(PROBS):
            table[f"cover_{100 * prob:.0f}"] = covers[:, number]
        table["p_value"] = self._p_values
        return table

    @property
    def ecdf(self) -> pd.DataFrame:
        """ECDF of the ranks minus the uniform one, with simultaneous bands of 95%.

        Returns
        -------
        pandas.DataFrame
            One row per quantity and point: ``kind``, ``place``, ``point``, ``difference``,
            ``lower``, ``upper``. Uniform ranks of one quantity leave the band nowhere with
            probability 95%.
        """
        frames = []
        for (kind, place), one in self.ecdfs.items():
            columns = {
                "kind": kind,
                "place": place,
                "point": one.points,
                "difference": one.difference,
                "lower": one.lower,
                "upper": one.upper,
            }
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def ecdfs(self) -> dict[tuple[str, str], PitEcdf]:
        """ECDF of each quantity's ranks with its band; by kind and place."""
        return {name: pit_ecdf(self._of(name)) for name in self.quantities}

    @property
    def quantities(self) -> list[tuple[str, str]]:
        """Kind and place of every quantity."""
        return [(str(name[0]), str(name[1])) for name in self.ranks.columns]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of quantities, in order."""
        return tuple(dict.fromkeys(self.ranks.columns.get_level_values("kind")))

    @property
    def uneven(self) -> list[tuple[str, str]]:
        """Quantities whose ranks are not uniform, at 5% for all of them together."""
        return [name for name in self.quantities if float(self._p_values[name]) < LEVEL]

    @property
    def failed(self) -> pd.DataFrame:
        """Replications without a fit."""
        return self.replications[self.replications["problem"] != ""]

    def described(self) -> dict[str, object]:
        """All that it holds, JSON-able."""
        settings = {one.name: getattr(self, one.name) for one in fields(self)}
        return settings | {
            "options": {name: as_text(value) for name, value in self.options.items()},
            "ranks": self.ranks.to_numpy().tolist(),
            "ranked": self.ranks.index.tolist(),
            "quantities": self.quantities,
            "replications": self.replications.reset_index().to_dict(orient="list"),
        }

    @classmethod
    def of_description(cls, record: Mapping[str, Any]) -> SimulationCalibration:
        """The record that ``described`` itself so."""
        names = pd.MultiIndex.from_tuples(map(tuple, record["quantities"]), names=["kind", "place"])
        ranked = pd.Index(record["ranked"], name="replication")
        rest = {
            name: value for name, value in record.items() if name not in ("ranked", "quantities")
        }
        tables = {
            "ranks": pd.DataFrame(record["ranks"], ranked, names),
            "replications": pd.DataFrame(record["replications"]).set_index("replication"),
        }
        return cls(**{**rest, **tables})

    def plot(self, ax: Axes | None = None) -> Axes:
        """ECDF of the ranks of every quantity minus the uniform one, with the band.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of the picture; by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        return rank_plot(self.ecdfs, ax)

    @cached_property
    def _p_values(self) -> pd.Series:
        values = np.array([uniformity_p_value(self._of(name)) for name in self.quantities])
        return pd.Series(holm(values), self.ranks.columns)

    def _of(self, name: tuple[str, str]) -> Float[np.ndarray, " replications"]:
        return np.asarray(self.fractions[name], dtype=float)

    def __str__(self) -> str:
        return calibration_text(self)

    __repr__ = __str__


def as_text(value: object) -> object:
    """The value if JSON has such values, else in words."""
    return value if value is None or isinstance(value, bool | int | float | str) else str(value)


@runtime_checkable
class Audit(Protocol):
    """Results for the ranks; see ``SimulationCalibration``."""

    @property
    def ranks(self) -> pd.DataFrame:
        """Draws below the truth."""

    @property
    def replications(self) -> pd.DataFrame:
        """One row for each that was made."""

    @property
    def coverage(self) -> pd.DataFrame:
        """Coverage by kind and probability."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of quantities, in order."""

    @property
    def uneven(self) -> list[tuple[str, str]]:
        """Quantities whose ranks are not uniform."""

    @property
    def planned(self) -> int:
        """Requested number of replications."""

    @property
    def parameters_from(self) -> str:
        """Prior or posterior."""

    @property
    def formula(self) -> str:
        """Formula of the model."""

    @property
    def description(self) -> str:
        """Description of the model."""

    @property
    def method(self) -> str:
        """Key of the engine."""


def calibration_text(audit: Audit) -> str:
    """Coverage by kind, the verdict on the ranks, and what failed."""
    lines = [
        f"Simulation-based calibration, parameters from the {audit.parameters_from}",
        f"{audit.description}: {audit.formula}",
        f"{len(audit.ranks)} of {audit.planned} replications, {drawn_by(audit)}",
        "",
        *coverage_columns(audit).to_string().splitlines(),
        "Coverage in % of central intervals, Monte Carlo standard error behind it.",
        verdict(audit),
        *troubles(audit),
    ]
    return "\n".join(lines)


def drawn_by(audit: Audit) -> str:
    """The engine, and what its draws were made with."""
    fits = audit.replications[audit.replications["problem"] == ""]
    counted = fits["covariance"].value_counts()
    named = ", ".join(
        str(name) if len(counted) == 1 else f"{name} ({n})" for name, n in counted.items()
    )
    return f"method {audit.method}, draws {named}"


def coverage_columns(audit: Audit) -> pd.DataFrame:
    """Coverage in % with its standard error, one row per kind, one column per interval."""
    table = audit.coverage
    each = 100.0 * table[["coverage", "se"]].to_numpy(dtype=float)
    cells = [f"{share:.1f} ({se:.1f})" for share, se in each]
    wide = pd.Series(cells, table.index).unstack("prob").loc[list(audit.kinds)]
    wide.columns = [f"{100 * float(prob):.0f}%" for prob in wide.columns]
    return wide.rename_axis(index=None)


def verdict(audit: Audit) -> str:
    """Whether the ranks look uniform."""
    n, uneven = audit.ranks.shape[1], audit.uneven
    if not uneven:
        return (
            f"Ranks of all {n} quantities are compatible with uniform ranks in "
            f"{len(audit.ranks)} replications (5% level)."
        )
    named = [f"{kind} at {place}" for kind, place in uneven[: LIMITS.named]]
    more = f" and {len(uneven) - LIMITS.named} more" if len(uneven) > LIMITS.named else ""
    return (
        f"Ranks of {len(uneven)} of {n} quantities are not uniform (5% level for all together): "
        f"{'; '.join(named)}{more}."
    )


def troubles(audit: Audit) -> list[str]:
    """Replications that were not made, failed, or count although they did not converge."""
    lines, made = [], len(audit.replications)
    if made < audit.planned:
        lines.append(f"Interrupted: {audit.planned - made} replications were not made.")
    failed = audit.replications[audit.replications["problem"] != ""]
    if len(failed):
        reasons = failed["problem"].value_counts()
        shown = "; ".join(f"{reason} ({n})" for reason, n in reasons.head(LIMITS.named).items())
        lines.append(f"{len(failed)} replications have no fit and are in no number above: {shown}.")
    unsettled = audit.replications["problem"].eq("") & ~audit.replications["converged"]
    if unsettled.any():
        lines.append(f"{int(unsettled.sum())} fits did not converge; their ranks count.")
    return lines


def rank_plot(ecdfs: Mapping[tuple[str, str], PitEcdf], ax: Axes | None = None) -> Axes:
    """Axes with all quantities, by kind and place, and the band.

    See ``SimulationCalibration.plot``.
    """
    kinds = list(dict.fromkeys(kind for kind, _ in ecdfs))
    axes = marks.new_axes((6.4, 4.0)) if ax is None else ax
    palette = palette_of(axes)
    marks.dress(axes, palette, x="rank of the truth, as a fraction", y="ECDF minus uniform")
    first = next(iter(ecdfs.values()))
    axes.fill_between(first.points, first.lower, first.upper, step="mid", color=palette.point,
                      alpha=0.25, linewidth=0)  # fmt: skip
    axes.axhline(0.0, color=palette.line, linewidth=1.0)
    seen: set[str] = set()
    for (kind, _), one in ecdfs.items():
        number = kinds.index(kind)
        label = None if kind in seen else kind
        axes.step(one.points, one.difference, where="mid", color=palette.colour(number),
                  linestyle=dash(number), linewidth=1.3, label=label)  # fmt: skip
        seen.add(kind)
    axes.set_xlim(0.0, 1.0)
    marks.legend(axes, palette)
    inside = sum(one.inside for one in ecdfs.values())
    marks.note(axes, f"{inside} of {len(ecdfs)} inside their band of 95%", palette)
    return axes
