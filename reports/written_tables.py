"""Parameters of a fit as a table for a paper: Markdown, LaTeX, HTML, or great_tables."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_choice
from bayesvb.errors import DataError
from bayesvb.results.printing import without_many
from bayesvb.results.summary import coefficient_table

from .cells.numerals import numeral, percent
from .cells.tables import after_uncertainty

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


NAMES = ("part", "component", "term")
"""Columns that say which parameter it is, on the left; numbers stand on the right."""


def written_table(fit: AbstractFit, form: str, prob: float) -> Any:
    """Parameters with standard deviation and interval, rounded by their uncertainty.

    Without rows that a reader does not need: the share of the only component, scales of priors that
    the table has as standard deviations of groups too, and the many coefficients of smooth curves
    and groups.

    Parameters
    ----------
    fit : Fit
    form : {"markdown", "latex", "html", "gt"}
    prob : float
        Probability of the intervals.

    Raises
    ------
    DataError
        If the form does not exist, or great_tables is not installed for "gt".
    """
    check_choice("format", form, tuple(FORMS))
    frame = coefficient_table(fit, prob)
    frame = frame[[_is_wanted(label, frame.index) for label in frame.index]]
    parts = frame.groupby(level="part", sort=False)
    frame = pd.concat([without_many(fit.model.design, rows, str(part)) for part, rows in parts])
    each = after_uncertainty(frame["sd"].fillna(0.0).to_numpy(), frame["mean"].to_numpy())
    rows = frame.reset_index()[list(NAMES)].astype(str)
    unsaid = {"component": {"", "1"}}
    rows = rows[[name for name in NAMES if set(rows[name]) - unsaid.get(name, {""})]]
    rows["estimate"] = [numeral(float(one), d) for one, d in zip(frame["mean"], each, strict=True)]
    rows["sd"] = _known(frame["sd"].to_numpy(), each)
    ends = (_known(frame[name].to_numpy(), each) for name in ("lower", "upper"))
    joined = [f"{low} to {high}" if low else "" for low, high in zip(*ends, strict=True)]
    rows[f"{percent(prob)} interval"] = joined
    for name in (name for name in frame if str(name).endswith("_ratio")):
        ratio = frame[name].to_numpy()
        places = after_uncertainty(np.nan_to_num(ratio * frame["sd"].to_numpy()), ratio)
        rows[str(name).replace("_", " ")] = _known(ratio, places)
    return FORMS[form](rows)


def _is_wanted(label: tuple[Any, ...], index: pd.Index) -> bool:
    """Whether a parameter says something that the other rows do not."""
    part, _, term = label
    if part == "share":
        return [other[0] for other in index].count("share") > 1
    return part != "scale" or ("sd of groups", term) not in {(one[0], one[2]) for one in index}


def _known(values: np.ndarray, decimals: list[int]) -> list[str]:
    """Numbers as text; nothing where there is none."""
    return [
        "" if np.isnan(one) else numeral(float(one), places)
        for one, places in zip(values, decimals, strict=True)
    ]


def _markdown(rows: pd.DataFrame) -> str:
    def line(cells: list[str]) -> str:
        return "| " + " | ".join(cell.replace("|", r"\|") for cell in cells) + " |"

    named = sum(name in NAMES for name in rows)
    rule = "|" + "---|" * named + "---:|" * (rows.shape[1] - named)
    return "\n".join(
        [line([str(name) for name in rows]), rule, *(line(list(row)) for row in rows.to_numpy())]
    )


def _latex(rows: pd.DataFrame) -> str:
    def line(cells: list[str]) -> str:
        return " & ".join(map(_for_latex, cells)) + r" \\"

    left = sum(name in NAMES for name in rows)
    form = "l" * left + "r" * (rows.shape[1] - left)
    head = [rf"\begin{{tabular}}{{{form}}}", r"\toprule", line([str(name) for name in rows])]
    lines = [line(list(row)) for row in rows.to_numpy()]
    return "\n".join([*head, r"\midrule", *lines, r"\bottomrule", r"\end{tabular}"])


LATEX = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "&": r"\&", "%": r"\%", "$": r"\$",
    "#": r"\#", "_": r"\_", "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "−": "$-$",
    "×": r"$\times$",
    **{power: f"$^{{{digit}}}$" for power, digit in zip("⁻⁰¹²³⁴⁵⁶⁷⁸⁹", "-0123456789", strict=True)},
}  # fmt: skip
"""Signs that mean something to LaTeX, or that its fonts may lack."""


def _for_latex(text: str) -> str:
    return "".join(LATEX.get(sign, sign) for sign in text)


def _html(rows: pd.DataFrame) -> str:
    return rows.to_html(index=False, border=0)


def _gt(rows: pd.DataFrame) -> Any:
    try:
        from great_tables import GT
    except ModuleNotFoundError:
        raise DataError(
            'format="gt" needs the package great_tables', hint="pip install great_tables"
        ) from None
    numbers = [str(name) for name in rows if name not in NAMES]
    return GT(rows, rowname_col="term", groupname_col="part").cols_align("right", numbers)


FORMS: dict[str, Callable[[pd.DataFrame], Any]] = {
    "markdown": _markdown,
    "latex": _latex,
    "html": _html,
    "gt": _gt,
}
"""Name of a form -> what writes the rows in it."""
