"""Stage 3, encode: which terms of a part are marginal to which, by the columns of its matrix.

References
----------
Nelder (1977), A reformulation of linear models, Journal of the Royal Statistical Society A 140(1),
section 2.2, doi:10.2307/2344517.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Container, Iterator, Mapping, Sequence
from itertools import chain, combinations
from typing import Any

from bayesvb.data.orthogonal_terms import OrthogonalTerm
from bayesvb.formula.columns import ColumnRole, roles_in
from bayesvb.formula.monomials import (
    Monomials,
    degree,
    is_marginal,
    is_polynomial,
    monomials,
    variables,
)
from bayesvb.formula.term_blocks import CONSTANT

Places = tuple[int, ...]

ByVariables = Mapping[frozenset[str], Sequence[Places]]
"""Terms by the variables in them."""


def orthogonal_terms(
    columns_of: Mapping[Any, Sequence[int]],
    lines: Mapping[Places, Sequence[str]],
    levelled: Container[ColumnRole],
) -> tuple[OrthogonalTerm, ...]:
    """Terms whose columns are made orthogonal, each behind its margins.

    These are terms with margins, polynomials of several columns, and factors of several columns.
    The columns of a spline alone stay as they are: each has its place.

    Parameters
    ----------
    columns_of : mapping of term to sequence of int
        Terms of the formula package, under the aliases of their columns, with their places.
    lines : mapping of tuple of int to sequence of str
        Straight lines of smooths, which are margins only: places, and the expressions in them.
    levelled : container of ColumnRole
        The columns that have levels.
    """
    codes = {
        tuple(sorted(map(int, columns))): [factor.expr for factor in term.factors]
        for term, columns in columns_of.items()
        if str(term) != CONSTANT and len(columns)
    }
    known = {places: monomials(own) for places, own in (codes | dict(lines)).items()}
    by_variables = defaultdict(list)
    for places, own in known.items():
        by_variables[variables(own)].append(places)
    terms = []
    for places in sorted(codes, key=lambda one: (degree(known[one]), one)):
        margins = tuple(sorted(_margins(known, by_variables, places)))
        several = len(places) > 1 and (
            is_polynomial(known[places]) or _reads_levels(codes[places], levelled)
        )
        if margins or several:
            terms.append(OrthogonalTerm(places, margins))
    return tuple(terms)


def _margins(
    known: Mapping[Places, Monomials], by_variables: ByVariables, places: Places
) -> Iterator[int]:
    """Columns of the terms that are marginal to one."""
    for names in _subsets(variables(known[places]), by_variables):
        for other in by_variables.get(names, ()):
            if is_marginal(known[other], known[places]):
                yield from other


def _subsets(names: frozenset[str], known: ByVariables) -> Iterator[frozenset[str]]:
    """Known subsets of some variables: no other term is marginal to a term in these.

    A term has few variables and a formula may have thousands of terms, so subsets are looked up.
    """
    if 2 ** len(names) > len(known):
        return filter(names.issuperset, known)
    sizes = range(len(names) + 1)
    return map(frozenset, chain.from_iterable(combinations(names, size) for size in sizes))


def _reads_levels(codes: Sequence[str], levelled: Container[ColumnRole]) -> bool:
    """Whether an expression reads a column with levels."""
    roles = (role for code in codes for role in roles_in(code))
    return any(role.role != "value" and role in levelled for role in roles)
