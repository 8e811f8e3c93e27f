"""Terms against columns: which columns a formula reads, and the matrices that it makes of them.

Each column goes by another name while the formula package evaluates the terms. So a column may be
called `log`, or carry blanks, and C(k) may see whole numbers where k itself is a double.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.errors import BayesVBError, DataError, FormulaError
from bayesvb.expressions import Expression, Use
from bayesvb.formula import Formula
from bayesvb.frames import nearest
from bayesvb.tokens import Piece, tokens
from bayesvb.vocabulary import CONTRASTS, PLAIN, call_hint, known_call
from bayesvb.wilkinson import expression_of, read_terms

__all__ = ["RESPONSE", "Slot", "Terms", "evaluate", "place", "terms_of"]

RESPONSE = "response"
ALIAS = re.compile(r"_bvb_(lookup|value|levels|hashed)_([0-9a-f]*)_")


@dataclass(frozen=True, order=True)
class Slot:
    """A column in one of its roles: alone, in arithmetic, or inside C() or hashed()."""

    column: str
    role: Literal["lookup", "value", "levels", "hashed"]

    @property
    def alias(self) -> str:
        """Its name during evaluation, from which it can be read back."""
        return f"_bvb_{self.role}_{self.column.encode().hex()}_"

    def __str__(self) -> str:
        """As the formula writes it."""
        bare = self.role == "lookup" or self.column.isidentifier()
        return self.column if bare else f"`{self.column}`"


def slots_in(code: str) -> list[Slot]:
    """The slots whose aliases occur in a text."""
    return [Slot(bytes.fromhex(name).decode(), role) for role, name in ALIAS.findall(code)]


def restored(code: str) -> str:
    """A text with the columns' own names."""
    return ALIAS.sub(lambda found: str(slots_in(found[0])[0]), code)


@dataclass(frozen=True)
class Terms:
    """The terms of each part as the formula package has them, and the slots that they read.

    A part whose text repeats that of an earlier part is not listed: `source` names that one.
    """

    lists: Mapping[str, Any]
    source: Mapping[str, str]

    def factors(self, part: str) -> list[str]:
        """Expressions of the part, in order of appearance."""
        found = (f.expr for term in self.lists[part] for f in term.factors)
        return list(dict.fromkeys(found))

    def slots(self, *parts: str) -> list[Slot]:
        """Slots that parts read, each once."""
        found = (slot for part in parts for expr in self.factors(part) for slot in slots_in(expr))
        return list(dict.fromkeys(found))


def terms_of(
    formula: Formula, columns: Sequence[str], *, dot: Sequence[str], context: Mapping[str, object]
) -> Terms:
    """The formula's terms, after each name in them has been found.

    Parameters
    ----------
    formula : Formula
        Parsed formula.
    columns : sequence of str
        Columns of the data.
    dot : sequence of str
        Columns that `.` stands for, those of the response apart.
    context : mapping
        Functions and constants that the formula may use besides the allow-list.

    Raises
    ------
    FormulaError
        If a name is neither a column, nor allowed, nor in the context.
    """
    rename = _Renamer(formula.text, frozenset(columns), context)
    lists: dict[str, Any] = {}
    taken: set[str] = set()
    if formula.response is not None:
        code = rename.part(formula.response)
        taken = {slot.column for slot in slots_in(code)}
        lists[RESPONSE] = _read(formula.response, code, (), intercept=False)
    available = [Slot(column, "lookup").alias for column in dot if column not in taken]
    source: dict[str, str] = {}
    for part, text in formula.parts.items():
        twin = next((other for other in source if formula.parts[other] == text), None)
        source[part] = twin or part
        if twin is None:
            code = rename.part(text)
            code = f"{code} - 1" if part == "variables" else code
            lists[part] = _read(text, code, available, intercept=part != "variables")
    terms = Terms(lists, source)
    _check_names(formula, terms, columns, taken)
    return terms


def _read(text: str, code: str, available: Sequence[str], *, intercept: bool) -> Any:
    return read_terms(Piece(text, 0, len(text)), code, available=available, intercept=intercept)


def _check_names(
    formula: Formula, terms: Terms, columns: Sequence[str], response: set[str]
) -> None:
    """Every column that a term reads must be there; none of the response's on the right."""
    known = set(columns)
    for part in terms.lists:
        for slot in terms.slots(part):
            if slot.column not in known:
                why = f"`{slot.column}` is neither a column of the data nor a known function"
                raise FormulaError(
                    formula.text,
                    why,
                    place(formula.text, slot.column),
                    nearest(slot.column, list(columns)),
                )
            if part != RESPONSE and slot.column in response:
                at = formula.text.index("~")
                raise FormulaError(
                    formula.text,
                    f"`{slot.column}` stands on both sides of `~`",
                    place(formula.text, slot.column, after=at),
                )


@dataclass(frozen=True)
class _Renamer:
    """Gives each column of a part the name that it has during evaluation."""

    text: str
    columns: frozenset[str]
    context: Mapping[str, object]

    def part(self, text: str) -> str:
        """The part with aliases for columns."""
        return "".join(self.pieces(text))

    def pieces(self, text: str) -> Iterator[str]:
        at = 0
        for token in tokens(text):
            yield text[at : token.start]
            at = token.stop
            if token.kind == "name" and token.text != ".":
                yield Slot(token.text.strip("`"), "lookup").alias
            elif token.kind == "python":
                expression, _ = expression_of(self.text, token)
                yield f"{{{self.code(expression)}}}"
            else:
                yield token.text
        yield text[at:]

    def code(self, expression: Expression) -> str:
        return expression.renamed(self.name)

    def name(self, use: Use) -> str:
        if use.role == "call":
            if not known_call(use.name) and not callable(self.context.get(use.name)):
                raise FormulaError(
                    self.text,
                    f"`{use.name}` is neither a column of the data nor a known function",
                    place(self.text, use.name),
                    call_hint(use.name),
                )
            return use.name
        known = use.name in CONTRASTS or use.name in self.context
        if use.name not in self.columns and known:
            return use.name
        return Slot(use.name, use.role).alias


def place(text: str, name: str, *, after: int = 0) -> tuple[int, int] | None:
    """Where a name stands in the formula."""
    found = re.compile(rf"(?<![\w.]){re.escape(name)}(?![\w.])").search(text, after)
    return (found.start(), found.end() - 1) if found else None


def evaluate(
    lists: Any, table: pd.DataFrame, *, text: str, context: Mapping[str, object]
) -> tuple[dict[str, Float[np.ndarray, "rows terms"]], dict[str, tuple[str, ...]], Any]:
    """Matrix and column names of each part, and the record which makes the same of new data.

    Raises
    ------
    FormulaError, DataError
        If a term cannot be computed, with the reason that its function gave.
    """
    from formulaic.errors import DataMismatchWarning, FormulaicError

    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore", RuntimeWarning)
        warnings.simplefilter("error", DataMismatchWarning)
        try:
            made = lists.get_model_matrix(
                table, context={**PLAIN, **context}, output="numpy", na_action="ignore"
            )
        except DataMismatchWarning as warning:
            listed = restored(str(warning)).partition("{")[2].partition("}")[0]
            raise DataError(f"there are levels outside those of C(): {listed}") from None
        except BayesVBError:
            raise
        except (FormulaicError, ValueError, TypeError, ArithmeticError, LookupError) as error:
            raise _explained(error, table, text) from error
    parts = made._to_dict()
    matrices = {
        part: np.ascontiguousarray(np.asarray(matrix), dtype=np.float64)
        for part, matrix in parts.items()
    }
    names = {
        part: tuple(restored(str(name)) for name in matrix.model_spec.column_names)
        for part, matrix in parts.items()
    }
    return matrices, names, made.model_spec


def _explained(error: Exception, table: pd.DataFrame, text: str) -> BayesVBError:
    """What a transform said, or that it was given text."""
    message = str(error)
    found = re.search(r"factor `(.+?)`\. \[\w+: (.*)\]", message, re.S)
    code, why = (found[1], found[2]) if found else ("", message)
    words = [
        slot
        for slot in slots_in(code)
        if slot.role == "value" and isinstance(table[slot.alias].dtype, pd.CategoricalDtype)
    ]
    if words:
        return DataError(
            f"`{restored(code)}` needs numbers, and `{words[0].column}` holds text",
            hint="compare it with a level, I(g == 'a'), or use it as it is",
        )
    clip = "pass extrapolation='clip' or 'extend' to bs(), or use cr()"
    shown = restored(code)
    return FormulaError(
        text,
        f"cannot compute `{shown}`: {restored(why)}" if code else restored(why),
        place(text, shown.partition("(")[0]) if code else None,
        clip if "beyond upper" in why else None,
    )
