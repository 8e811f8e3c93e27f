"""Numeric responses of all rows, in memory or read in blocks, and what standardises them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_moments import ColumnMoments, Vector
from bayesvb.numerics.arrays import RowVector
from bayesvb.numerics.order_statistics import NORMAL_MAD, Weighted, median
from bayesvb.numerics.special import ROUNDING

Responses = tuple[Float[np.ndarray, "rows responses"], RowVector | None]
"""Responses of some rows, and their case weights."""


@dataclass(frozen=True, eq=False)
class AllResponses:
    """Responses of all rows, offsets subtracted: a family derives its scaling from them.

    Attributes
    ----------
    moments : ColumnMoments
        Of each response, by case weight.
    read : callable
        Iterates over the responses of all rows, with their case weights.
    """

    moments: ColumnMoments
    read: Callable[[], Iterator[Responses]]

    @classmethod
    def from_matrix(
        cls, matrix: Float[np.ndarray, "rows responses"], weight: RowVector | None = None
    ) -> AllResponses:
        """Responses of rows in memory."""
        return cls(ColumnMoments.of(matrix, weight), lambda: iter([(matrix, weight)]))

    def median_moments(self, *, centred: bool) -> tuple[Vector, Vector]:
        """Medians and median absolute deviations times 1.4826; from zero if not ``centred``.

        A row of weight w enters as w rows would. Up to half of the rows may be anything. The price
        is that more than half of the rows with one value have no median deviation: such a response
        has its standard deviation, which outliers inflate.

        References
        ----------
        Hampel (1974), The influence curve and its role in robust estimation,
        doi:10.1080/01621459.1974.10482962, section 5.
        """
        spread = self.moments.scales(centred=centred)[1]
        centre = np.zeros_like(spread)
        for column in range(len(spread)):
            if centred:
                centre[column] = median(partial(self._column, column))
            deviation = median(partial(self._deviations, column, centre[column]))
            if deviation > ROUNDING * abs(centre[column]):
                spread[column] = NORMAL_MAD * deviation
        return centre, spread

    def _column(self, column: int) -> Iterator[Weighted]:
        """One response of the rows that have weight."""
        for matrix, weight in self.read():
            values = matrix[:, column]
            if weight is None:
                yield values, None
            else:
                yield values[weight > 0.0], weight[weight > 0.0]

    def _deviations(self, column: int, centre: float) -> Iterator[Weighted]:
        """Absolute deviations of one response."""
        for values, weight in self._column(column):
            yield np.abs(values - centre), weight
