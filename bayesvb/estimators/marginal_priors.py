"""Priors of products and powers in words: which terms their columns are residualised on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from bayesvb.data.standardised_blocks import Scales
from bayesvb.formula.design import Design
from bayesvb.variational.descriptions import PriorRow


def name_margins(rows: Sequence[PriorRow], design: Design, scales: Scales) -> list[PriorRow]:
    """Rows of the prior table; those of terms with margins name them.

    Parameters
    ----------
    rows : sequence of PriorRow
    design : Design
    scales : Scales
        Parts without a basis have independent priors of the columns as they stand.
    """
    margins = {
        (part, label): words
        for part, scaling in scales.parts.items()
        if scaling.basis is not None
        for label, words in _margins(design, part)
    }
    return [
        replace(row, prior=f"{row.prior}, residualised on {margins[row.part, row.term]}")
        if (row.part, row.term) in margins
        else row
        for row in rows
    ]


def _margins(design: Design, part: str) -> Iterator[tuple[str, str]]:
    """Labels of the columns of terms with margins, and these margins."""
    names, responses = design.terms[part], design.response_names
    for term in design.orthogonal[part]:
        known = set(term.margins)
        blocks = [one for one in design.term_blocks[part] if known.issuperset(one.columns)]
        words = ", ".join(one.name for one in blocks)
        for name in (names[column] for column in term.columns if words):
            yield name, words
            yield from ((f"{response}: {name}", words) for response in responses)
