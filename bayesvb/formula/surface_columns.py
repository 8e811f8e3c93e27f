"""Stage 3, encode: a smooth surface over two covariates, ``te(x, z)``.

With the line ``x`` and the wiggles ``w(x)`` of each covariate the surface has the columns ``x``,
``z`` and ``x z``, and three sets of wiggles with a prior scale each: along the first covariate,
``w(x)`` and ``w(x) z``; along the second, ``w(z)`` and ``x w(z)``; along both, ``w(x) w(z)``. So it
may be smooth in one direction and not in the other, whatever the units.

References
----------
Wood, Scheipl, Faraway (2013), Straightforward intermediate rank tensor product smoothing in mixed
models, Statistics and Computing 23, section 3: the decomposition of ``t2``.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from bayesvb.formula.smooth_margins import Margin, row_products
from bayesvb.formula.term_blocks import TermBlock
from bayesvb.formula.term_columns import AbstractTermColumns, TermData
from bayesvb.numerics.arrays import RowColumns


@dataclass(frozen=True, eq=False)
class SurfaceColumns(AbstractTermColumns):
    """A surface with the functions of its covariates.

    Attributes
    ----------
    margins : tuple of Margin
        The two covariates.
    """

    margins: tuple[Margin, ...]

    @property
    def name(self) -> str:
        """Name of the term, as the formula writes it."""
        return f"te({', '.join(margin.variable for margin in self.margins)})"

    @property
    def lines(self) -> tuple[tuple[int, ...], ...]:
        """Covariates of each column that does not bend: of one, of the other, of the product."""
        straight = [(number,) for number in (0, 1) if self.margins[number].basis.n_lines]
        return (*straight, (0, 1)) if len(straight) == 2 else tuple(straight)

    @property
    def _sets(self) -> tuple[tuple[str, int], ...]:
        """Name and number of columns of each set of wiggles."""
        (a, p), (b, q) = ((one.basis.n_wiggles, one.basis.n_lines) for one in self.margins)
        first, second = (one.variable for one in self.margins)
        sizes = {first: a * (1 + q), second: b * (1 + p), f"{first}:{second}": a * b}
        return tuple((f"{self.name}:{name}", size) for name, size in sizes.items())

    @property
    def names(self) -> tuple[str, ...]:
        """The lines, then the wiggles set by set."""
        variables = [margin.variable for margin in self.margins]
        lines = (f"{self.name}.{':'.join(variables[i] for i in line)}" for line in self.lines)
        wiggles = (f"{name}.{i}" for name, size in self._sets for i in range(1, size + 1))
        return (*lines, *wiggles)

    @property
    def term_blocks(self) -> tuple[TermBlock, ...]:
        """Each line, and each set of wiggles."""
        lines = [TermBlock(self.names[i], (i,), "covariate") for i in range(len(self.lines))]
        each = zip(self._sets, self.together, strict=True)
        return (*lines, *(TermBlock(name, places, "smooth") for (name, _), places in each))

    @property
    def together(self) -> tuple[tuple[int, ...], ...]:
        """The sets of wiggles."""
        ends = np.cumsum([len(self.lines), *(size for _, size in self._sets)]).tolist()
        return tuple(tuple(range(*pair)) for pair in pairwise(ends))

    def matrix(self, data: TermData) -> RowColumns:
        each = list(zip(self.margins, data.numbers, strict=True))
        x, z = (one.basis.unpenalised(values) / one.spread for one, values in each)
        u, v = (one.basis.wiggles(values) for one, values in each)
        along = [u, row_products(u, z), v, row_products(x, v), row_products(u, v)]
        return np.hstack([x, z, row_products(x, z), *along])
