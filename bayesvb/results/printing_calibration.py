"""What is printed of a simulation-based calibration."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import pandas as pd

NAMED = 3
"""Quantities, and reasons of failure, that are named at most."""


@runtime_checkable
class Audit(Protocol):
    """What is said of the ranks; see ``SimulationCalibration``."""

    @property
    def ranks(self) -> pd.DataFrame:
        """Draws below the truth."""

    @property
    def replications(self) -> pd.DataFrame:
        """One row for each that was made."""

    @property
    def coverage(self) -> pd.DataFrame:
        """By kind and probability."""

    @property
    def kinds(self) -> tuple[str, ...]:
        """Kinds of quantities, in order."""

    @property
    def uneven(self) -> list[tuple[str, str]]:
        """Quantities whose ranks are not uniform."""

    @property
    def planned(self) -> int:
        """Replications that were asked for."""

    @property
    def parameters_from(self) -> str:
        """Prior or posterior."""

    @property
    def formula(self) -> str:
        """Of the model."""

    @property
    def description(self) -> str:
        """Of the model."""

    @property
    def method(self) -> str:
        """Key of the engine."""


def calibration_text(found: Audit) -> str:
    """Coverage by kind, the verdict on the ranks, and what failed."""
    lines = [
        f"Simulation-based calibration, parameters from the {found.parameters_from}",
        f"{found.description}: {found.formula}",
        f"{len(found.ranks)} of {found.planned} replications, {drawn_by(found)}",
        "",
        *coverage_columns(found).to_string().splitlines(),
        "Coverage in % of central intervals, Monte Carlo standard error behind it.",
        verdict(found),
        *troubles(found),
    ]
    return "\n".join(lines)


def drawn_by(found: Audit) -> str:
    """The engine, and what its draws were made with."""
    fits = found.replications[found.replications["problem"] == ""]
    counted = fits["covariance"].value_counts()
    named = ", ".join(
        str(name) if len(counted) == 1 else f"{name} ({n})" for name, n in counted.items()
    )
    return f"method {found.method}, draws {named}"


def coverage_columns(found: Audit) -> pd.DataFrame:
    """Coverage in % with its standard error, one row per kind, one column per interval."""
    table = found.coverage
    each = 100.0 * table[["coverage", "se"]].to_numpy(dtype=float)
    cells = [f"{share:.1f} ({se:.1f})" for share, se in each]
    wide = pd.Series(cells, table.index).unstack("prob").loc[list(found.kinds)]
    wide.columns = [f"{100 * float(prob):.0f}%" for prob in wide.columns]
    return wide.rename_axis(index=None)


def verdict(found: Audit) -> str:
    """Whether the ranks look uniform."""
    n, uneven = found.ranks.shape[1], found.uneven
    if not uneven:
        return (
            f"Ranks of all {n} quantities are uniform as far as {len(found.ranks)} replications "
            "tell (5% level)."
        )
    named = [f"{kind} at {place}" for kind, place in uneven[:NAMED]]
    more = f" and {len(uneven) - NAMED} more" if len(uneven) > NAMED else ""
    return (
        f"Ranks of {len(uneven)} of {n} quantities are not uniform (5% level for all together): "
        f"{'; '.join(named)}{more}."
    )


def troubles(found: Audit) -> list[str]:
    """Replications that were not made, failed, or count although they did not converge."""
    lines, made = [], len(found.replications)
    if made < found.planned:
        lines.append(f"Interrupted: {found.planned - made} replications were not made.")
    failed = found.replications[found.replications["problem"] != ""]
    if len(failed):
        reasons = failed["problem"].value_counts()
        shown = "; ".join(f"{reason} ({n})" for reason, n in reasons.head(NAMED).items())
        lines.append(f"{len(failed)} replications have no fit and are in no number above: {shown}.")
    unsettled = found.replications["problem"].eq("") & ~found.replications["converged"]
    if unsettled.any():
        lines.append(f"{int(unsettled.sum())} fits did not converge; their ranks count.")
    return lines
