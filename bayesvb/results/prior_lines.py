"""The table of priors as it is printed: coefficients of one term that have one prior in one row."""

from __future__ import annotations

import re

import pandas as pd

NUMBERED = re.compile(r"(?<=\))(\.\d+|\[.*\])$")
"""What tells the coefficients of ``s(x)`` or ``(1 | g)`` apart, at the end of their names."""

FEWEST = 4
"""Coefficients from which on they stand in one row."""


def folded(table: pd.DataFrame) -> pd.DataFrame:
    """The table with one row for the coefficients of a smooth, or of groups, with one prior.

    Examples
    --------
    >>> import pandas as pd
    >>> names = ["x", *(f"s(z).{number}" for number in range(1, 9))]
    >>> table = pd.DataFrame({"prior": "Normal"}, index=pd.Index(names, name="term"))
    >>> folded(table).index.tolist()
    ['x', 's(z): 8 coefficients']
    """
    flat, last = table.reset_index(), str(table.index.names[-1])
    terms = flat[last].astype(str)
    stem = terms.str.replace(NUMBERED, "", regex=True)
    rows = flat.assign(**{last: stem}).itertuples(index=False)
    told = pd.Series([repr(row) for row in rows], index=flat.index)
    run = (told.ne(told.shift()) | stem.eq(terms)).cumsum()
    size = run.groupby(run).transform("size")
    whole = stem.ne(terms) & (size >= FEWEST)
    flat[last] = terms.where(~whole, stem + ": " + size.astype(str) + " coefficients")
    return flat[~(whole & run.duplicated())].set_index(list(table.index.names))
