"""Names of columns in text: their labels, of which long ones are cut in the middle."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from bayesvb.distributions.response import Response
    from bayesvb.formula.design import Design

LONGEST = 60
"""Characters of a name in a sentence or a picture; tables have it in full."""


def called(design: Design, name: str) -> str:
    """Label of a column, or its name, short enough for a sentence."""
    return cut(design.called(name))


def level_scale(response: Response) -> str:
    """Numbers that stand for the levels of an ordered response, in brackets; empty for others."""
    order = response.order
    if not order.values or order.are_numbers:
        return ""
    return f" ({order.labels[0]} = 1 to {order.labels[-1]} = {len(order)})"


def cut(text: str, most: int = LONGEST) -> str:
    """Text of at most ``most`` characters, without its middle if it is longer.

    Examples
    --------
    >>> cut("household income"), cut("household income before taxes", 20)
    ('household income', 'household…fore taxes')
    """
    if len(text) <= most:
        return text
    first = (most - 1) // 2
    return f"{text[:first].rstrip()}…{text[len(text) - (most - 1 - first) :].lstrip()}"
