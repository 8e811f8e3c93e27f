"""Components with hardly any rows: what is said of their parameters is the prior."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

OCCUPIED = 0.01
"""Share from which a component is told of: the coefficients of an empty one are its prior's."""


def empty_components(fit: AbstractFit) -> frozenset[object]:
    """Labels of the components with a smaller share than ``OCCUPIED``; none without shares."""
    if not fit.model.order_rule:
        return frozenset()
    table = fit.components()
    if "share" not in table:
        return frozenset()
    return frozenset(table.index[table["share"] < OCCUPIED])


def empty_words(fit: AbstractFit) -> str:
    """What is said where their parameters are left out; nothing if there are none."""
    empty = empty_components(fit)
    found = sorted(empty, key=lambda label: (len(str(label)), str(label)))  # 9 before 10
    if not found:
        return ""
    listed = ", ".join(map(str, found))
    if len(found) == 1:
        return (
            f"Component {listed} has less than {OCCUPIED:.0%} of the rows: its parameters are the "
            "prior's."
        )
    return (
        f"Components {listed} have less than {OCCUPIED:.0%} of the rows each: their parameters are "
        "the prior's."
    )
