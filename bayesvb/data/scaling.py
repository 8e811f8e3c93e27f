"""Standardisation of design columns and responses, and the exact way back to the data's units.

Models work on columns with mean zero and standard deviation one. As coefficients change linearly
with such a change of units, draws of them are brought back exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_moments import ROUNDING, ColumnMoments
from bayesvb.data.orthogonal_terms import Basis, OrthogonalTerm, orthogonal_basis
from bayesvb.errors import DataError
from bayesvb.numerics.medians import median

INTERCEPT = "Intercept"
"""Name of the intercept's column."""

NORMAL_MAD = 1.482602218505602
"""Standard deviation of a normal distribution over its median absolute deviation."""

FARTHEST = 1e150
"""Scales from the middle of which the square is still a number."""


@dataclass(frozen=True)
class Scaling:
    """``(column - centre) / scale`` for the columns of one matrix, or combinations of these.

    Attributes
    ----------
    centre, scale : ndarray, shape (columns,)
        Zero and one for the intercept; without an intercept nothing is centred, because the shift
        could not be given back to a coefficient.
    intercept : int or None
        Position of the intercept.
    basis : ndarray, shape (columns, columns), or None
        Each column combines the standardised columns to one column of the model; None for these
        themselves. See ``orthogonal_terms``.
    """

    centre: Float[np.ndarray, " columns"]
    scale: Float[np.ndarray, " columns"]
    intercept: int | None
    basis: Basis | None = None

    @classmethod
    def of(
        cls,
        matrix: Float[np.ndarray, "rows columns"],
        names: Sequence[str],
        *,
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool = True,
        together: Sequence[Sequence[int]] = (),
        orthogonal: Sequence[OrthogonalTerm] = (),
    ) -> Scaling:
        """Scaling of a design matrix; the identity if not ``active``.

        Parameters
        ----------
        matrix : ndarray, shape (rows, columns)
        names : sequence of str
        weight : ndarray, shape (rows,), optional
            Case weights.
        active : bool
        together : sequence of sequence of int
            Sets of columns with one unit: what they mean lies in their ratios, which a scale for
            each would change. They are not centred, and divided by the root of the sum of their
            mean squares: coefficients with variance one are then a function of the rows with
            mean variance one, as that of any other column is.
        orthogonal : sequence of OrthogonalTerm
            Terms whose columns are made orthogonal, each behind its margins.
        """
        found = ColumnMoments.of(matrix, weight, products=len(orthogonal) > 0)
        return cls.of_moments(found, names, active=active, together=together, orthogonal=orthogonal)

    @classmethod
    def of_moments(
        cls,
        found: ColumnMoments,
        names: Sequence[str],
        *,
        active: bool = True,
        together: Sequence[Sequence[int]] = (),
        orthogonal: Sequence[OrthogonalTerm] = (),
    ) -> Scaling:
        """Scaling of a design matrix with these moments; see ``of``."""
        intercept = names.index(INTERCEPT) if INTERCEPT in names else None
        centre, scale = found.scales(centred=intercept is not None)
        if intercept is not None:
            centre[intercept], scale[intercept] = 0.0, 1.0
        roots = found.scales(centred=False)[1]
        for places in map(list, together):
            own = np.where(found.largest[places] == 0.0, 0.0, roots[places])
            centre[places], scale[places] = 0.0, float(np.hypot.reduce(own)) or 1.0
        scaling = cls._if_active(centre, scale, intercept, active=active)
        return scaling._with_orthogonal(found, orthogonal) if active and orthogonal else scaling

    def _with_orthogonal(self, found: ColumnMoments, terms: Sequence[OrthogonalTerm]) -> Scaling:
        """The scaling whose columns of these terms are orthogonal in rows with these moments."""
        assert found.triangle is not None
        root, unit = found.triangle, np.sqrt(found.weight or 1.0)
        if self.intercept is None:
            root = np.vstack([root, unit * found.mean])
        smallest = ROUNDING * found.root / self.scale
        return replace(self, basis=orthogonal_basis(root / unit / self.scale, terms, smallest))

    @classmethod
    def of_response(
        cls,
        matrix: Float[np.ndarray, "rows responses"],
        *,
        centred: bool,
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool = True,
    ) -> Scaling:
        """Scaling of responses; centred only if an intercept can take the shift."""
        return cls.of_response_moments(
            ColumnMoments.of(matrix, weight), centred=centred, active=active
        )

    @classmethod
    def of_response_moments(
        cls, found: ColumnMoments, *, centred: bool, active: bool = True
    ) -> Scaling:
        """Scaling of responses with these moments; see ``of_response``."""
        return cls._if_active(*found.scales(centred=centred), active=active)

    @classmethod
    def of_response_by_medians(
        cls,
        matrix: Float[np.ndarray, "rows responses"],
        *,
        centred: bool,
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool = True,
    ) -> Scaling:
        """Scaling of responses that gross errors do not move, as they move ``of_response``.

        Median and median absolute deviation, times 1.4826 so that it is the standard deviation of
        normal responses; see ``median_moments``.

        Raises
        ------
        DataError
            If a response is so many scales away that its square overflows.
        """
        centre, scale = median_moments(matrix, weight, centred=centred)
        farthest = float((np.abs(matrix).max(axis=0, initial=0.0) / scale).max(initial=0.0))
        if active and not farthest < FARTHEST:
            raise DataError(
                f"a response is {farthest:.3g} times the median deviation of the others",
                hint="no computation can hold both: correct it, or leave its row out",
            )
        return cls._if_active(centre, scale, active=active)

    @classmethod
    def of_variables(
        cls,
        matrix: Float[np.ndarray, "rows columns"],
        *,
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool = True,
    ) -> Scaling:
        """Scaling of the variables of a model without a response: centre and unit variance."""
        return cls.of_response(matrix, centred=True, weight=weight, active=active)

    @classmethod
    def of_gapped(
        cls,
        matrix: Float[np.ndarray, "rows columns"],
        *,
        common: bool,
        weight: Float[np.ndarray, " rows"] | None = None,
        active: bool = True,
    ) -> Scaling:
        """Scaling of variables with missing entries (NaN), which do not enter.

        Parameters
        ----------
        matrix : ndarray, shape (rows, columns)
        common : bool
            One scale for all variables, the root of their mean variance, in place of one each.
        weight : ndarray, shape (rows,), optional
            Case weights.
        active : bool
        """
        each = []
        for column in matrix.T:
            seen = ~np.isnan(column)
            share = None if weight is None else weight[seen]
            each.append(ColumnMoments.of(column[seen, None], share))
        return cls.of_gapped_moments(each, common=common, active=active)

    @classmethod
    def of_gapped_moments(
        cls, each: Sequence[ColumnMoments], *, common: bool, active: bool = True
    ) -> Scaling:
        """Scaling of variables with these moments, one column each; see ``of_gapped``."""
        pieces = [one.scales(centred=True) for one in each]
        centre, scale = (np.concatenate(values) for values in zip(*pieces, strict=True))
        if common:
            flat = np.concatenate([one.highest == one.lowest for one in each])
            spread, largest = np.where(flat, 0.0, scale), float(scale.max())
            scale[:] = largest * np.sqrt(np.mean((spread / largest) ** 2)) or 1.0
        return cls._if_active(centre, scale, active=active)

    @classmethod
    def _if_active(
        cls,
        centre: Float[np.ndarray, " columns"],
        scale: Float[np.ndarray, " columns"],
        intercept: int | None = None,
        *,
        active: bool,
    ) -> Scaling:
        """Scaling with these numbers, or the identity if nothing is to be standardised."""
        if not active:
            centre, scale = np.zeros_like(centre), np.ones_like(scale)
        return cls(centre, scale, intercept)

    @property
    def numbers(self) -> Float[np.ndarray, "_ columns"]:
        """Centres, scales and, where there is one, the basis, as rows."""
        basis = [] if self.basis is None else [self.basis]
        return np.vstack([self.centre, self.scale, *basis])

    def with_numbers(self, numbers: Float[np.ndarray, "_ _"]) -> Scaling:
        """The same columns with other centres, scales and basis; see ``numbers``.

        Raises
        ------
        ValueError
            If the columns are not as many, a scale is not positive, or the basis has no inverse.
        """
        centre, scale, *basis = np.asarray(numbers, dtype=float)
        if centre.shape != self.centre.shape or not (scale > 0.0).all():
            raise ValueError(f"there are {len(self.centre)} columns")
        if not basis:
            return Scaling(centre, scale, self.intercept)
        if len(basis) != len(centre) or not abs(np.linalg.slogdet(basis)[0]) > 0.0:
            raise ValueError(f"the basis is not one of {len(self.centre)} columns")
        return Scaling(centre, scale, self.intercept, np.array(basis))

    def with_numbers_kept(self, column: int) -> Scaling:
        """The scaling that leaves a column as it is: of numbers that stand for something else."""
        centre, scale = self.centre.copy(), self.scale.copy()
        centre[column], scale[column] = 0.0, 1.0
        return Scaling(centre, scale, self.intercept)

    def rows_last(
        self, matrix: Float[np.ndarray, "rows columns"]
    ) -> Float[np.ndarray, "columns rows"]:
        """Columns of the model in the layout of a block."""
        standard = np.subtract(matrix.T, self.centre[:, None], order="C")
        standard /= self.scale[:, None]
        if self.basis is not None:
            changed = np.flatnonzero((self.basis != np.eye(len(self.basis))).any(axis=0))
            standard[changed] = self.basis[:, changed].T @ standard
        return np.asarray(standard)

    def coefficients(
        self, standard: Float[np.ndarray, "*batch columns"]
    ) -> Float[np.ndarray, "*batch columns"]:
        """Coefficients of the columns as given, for the same linear predictor."""
        given = (standard if self.basis is None else standard @ self.basis.T) / self.scale
        if self.intercept is not None:
            given[..., self.intercept] -= (given * self.centre).sum(axis=-1)
        return np.asarray(given)

    def spread(self, sds: Float[np.ndarray, " columns"]) -> Float[np.ndarray, " columns"]:
        """Standard deviations, for the columns as given, of independent standard coefficients."""
        change = self.coefficients(np.diag(sds))
        size = np.abs(change).max(axis=0)  # squares of extreme units overflow
        size[size == 0.0] = 1.0
        change /= size
        return np.asarray(size * np.sqrt((change * change).sum(axis=0)))


def moments(
    matrix: Float[np.ndarray, "rows columns"],
    weight: Float[np.ndarray, " rows"] | None = None,
    *,
    centred: bool,
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]:
    """Means and standard deviations; zeros and root mean squares if not ``centred``.

    A row of weight w enters as w rows would; the divisor is the sum of the weights. A column
    without spread gets the scale 1.
    """
    return ColumnMoments.of(matrix, weight).scales(centred=centred)


def median_moments(
    matrix: Float[np.ndarray, "rows columns"],
    weight: Float[np.ndarray, " rows"] | None = None,
    *,
    centred: bool,
) -> tuple[Float[np.ndarray, " columns"], Float[np.ndarray, " columns"]]:
    """Medians, and median absolute deviations from them times 1.4826; from zero if not ``centred``.

    A row of weight w enters as w rows would. Up to half of the rows may be anything. The price is
    that more than half of the rows with one value have no median deviation: such a column has
    the scale of ``moments``, which outliers inflate.

    References
    ----------
    Hampel (1974), The influence curve and its role in robust estimation,
    doi:10.1080/01621459.1974.10482962, section 5.
    """
    if weight is not None:
        matrix, weight = matrix[weight > 0.0], weight[weight > 0.0]
    spread = moments(matrix, weight, centred=centred)[1]
    centre = np.zeros(matrix.shape[1])
    for column, values in enumerate(matrix.T):
        if centred:
            centre[column] = median(values, weight)
        deviation = median(np.abs(values - centre[column]), weight)
        if deviation > ROUNDING * abs(centre[column]):
            spread[column] = NORMAL_MAD * deviation
    return centre, spread
