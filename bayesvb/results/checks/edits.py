"""Changes of a model or a fit, as data, and the sentences that are made of them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from bayesvb.data.parts import GATING, MEAN
from bayesvb.formula.formula_changes import with_terms
from bayesvb.formula.parser import RESPONSE
from bayesvb.results.fit_call import argument

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractPublicModel


def code(term: str) -> str:
    """A term between backticks, two of them where it has some itself, as in Markdown."""
    return f"`` {term} ``" if "`" in term else f"`{term}`"


@dataclass(frozen=True, kw_only=True)
class Edit:
    """A change of a model, or of the arguments of its fit.

    Attributes
    ----------
    part : str
        Part of the formula that changes, ``"response"`` for the left side; empty if none does.
    terms : tuple of str
        Terms that it gets; the part is added if the formula lacks it.
    replaced : tuple of str
        Terms that these replace.
    options : Mapping of str to value
        Arguments of the model that change.
    arguments : Mapping of str to value
        Arguments of ``model.fit`` that change.

    Examples
    --------
    >>> Edit(part="gating", terms=("age",), options={"n_components": 3})
    n_components=3, gating(age)
    """

    part: str = ""
    terms: tuple[str, ...] = ()
    replaced: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)
    arguments: Mapping[str, object] = field(default_factory=dict)

    @property
    def pieces(self) -> tuple[str, ...]:
        """Code of each argument, and of the terms."""
        given = {**self.options, **self.arguments}.items()
        named = [
            f'{name}="{value}"' if isinstance(value, str) else argument(name, value)
            for name, value in given
        ]
        if self.part in (MEAN, RESPONSE):
            named += self.terms
        elif self.part:
            named.append(f"{self.part}({' + '.join(self.terms)})")
        return tuple(named)

    @property
    def code(self) -> str:
        """The pieces as a sentence has them."""
        return " and ".join(map(code, self.pieces))

    def formula(self, model: AbstractPublicModel) -> str:
        """Formula of the model after the change."""
        formula, has_several = model.formula, model.size > 1
        if not self.part:
            return formula.canonical(gate=formula.gating_given)
        present = formula.response if self.part == RESPONSE else formula.parts.get(self.part)
        if self.part == GATING and not (formula.gating_given or has_several):
            present = None  # one component has no gate, whatever it would be by default
        text = with_terms(present or "1", self.terms, self.replaced)
        # An unwritten gate has the terms of the mean, and is constant beside a further part.
        further = self.part not in (MEAN, RESPONSE) and has_several
        return formula.canonical(gate=formula.gating_given or further, changed={self.part: text})

    def __repr__(self) -> str:
        return ", ".join(self.pieces)


class Remedy(str):
    """A sentence that says what to do, made of the edits that do it.

    Text that is made of it otherwise is plain, and has no edits.

    Attributes
    ----------
    edits : tuple of Edit
        Alternatives, in the order of the sentence.
    """

    edits: tuple[Edit, ...] = ()

    @classmethod
    def of(cls, *pieces: str | Edit | tuple[str, Edit]) -> Remedy:
        """Sentence of these pieces: text, an edit as its code, or an edit in other words.

        Examples
        --------
        >>> more = Edit(options={"n_components": 3})
        >>> Remedy.of("The noise is skewed towards low values: fit ", more, ".")
        'The noise is skewed towards low values: fit `n_components=3`.'
        """
        text, edits = "", list[Edit]()
        for piece in pieces:
            if isinstance(piece, str):
                text += piece
                continue
            words, edit = piece if isinstance(piece, tuple) else (piece.code, piece)
            text += words
            edits.append(edit)
        made = cls(text)
        made.edits = tuple(edits)
        return made
