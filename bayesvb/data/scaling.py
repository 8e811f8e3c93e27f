"""Standardisation of design columns and responses, and the exact way back to the data's units.

Models work on columns with mean zero and standard deviation one. As coefficients change linearly
with such a change of units, draws of them are brought back exactly.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from jaxtyping import Float

from bayesvb.data.column_moments import ColumnMoments
from bayesvb.data.orthogonal_terms import Basis, OrthogonalTerm, orthogonal_basis
from bayesvb.data.responses import AllResponses
from bayesvb.errors import DataError
from bayesvb.numerics.special import ROUNDING
from bayesvb.numerics.student_cdf import FARTHEST

INTERCEPT = "Intercept"
"""Name of the intercept's column."""


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
    def of_moments(
        cls,
        moments: ColumnMoments,
        names: Sequence[str],
        *,
        active: bool = True,
        together: Sequence[Sequence[int]] = (),
        orthogonal: Sequence[OrthogonalTerm] = (),
    ) -> Scaling:
        """Scaling of a design matrix with these moments; the identity if not ``active``.

        Parameters
        ----------
        moments : ColumnMoments
            With products of columns where terms are made orthogonal.
        names : sequence of str
        active : bool
        together : sequence of sequence of int
            Sets of columns with one unit: their meaning lies in their ratios, which a scale for
            each would change. They are not centred, and divided by the root of the sum of their
            mean squares: coefficients with variance one then give a function of the rows with mean
            variance one, as for any other column.
        orthogonal : sequence of OrthogonalTerm
            Terms whose columns are made orthogonal, each behind its margins.
        """
        intercept = names.index(INTERCEPT) if INTERCEPT in names else None
        centre, scale = moments.scales(centred=intercept is not None)
        if intercept is not None:
            centre[intercept], scale[intercept] = 0.0, 1.0
        roots = moments.scales(centred=False)[1]
        for places in map(list, together):
            sizes = np.where(moments.largest[places] == 0.0, 0.0, roots[places])
            centre[places], scale[places] = 0.0, float(np.hypot.reduce(sizes)) or 1.0
        scaling = cls._if_active(centre, scale, intercept, active=active)
        return scaling._with_orthogonal(moments, orthogonal) if active and orthogonal else scaling

    def _with_orthogonal(self, moments: ColumnMoments, terms: Sequence[OrthogonalTerm]) -> Scaling:
        """The scaling whose columns of these terms are orthogonal in rows with these moments."""
        assert moments.triangle is not None
        root, unit = moments.triangle, np.sqrt(moments.weight or 1.0)
        if self.intercept is None:
            root = np.vstack([root, unit * moments.mean])
        smallest = ROUNDING * moments.root / self.scale
        return replace(self, basis=orthogonal_basis(root / unit / self.scale, terms, smallest))

    @classmethod
    def of_response(cls, response: AllResponses, *, centred: bool, active: bool = True) -> Scaling:
        """Scaling of responses by mean and standard deviation.

        Parameters
        ----------
        response : AllResponses
        centred : bool
            Whether an intercept can take the shift; without one the centre is zero.
        active : bool
            Whether anything is standardised; the identity if not.
        """
        return cls.of_columns(response.moments, centred=centred, active=active)

    @classmethod
    def of_columns(
        cls, moments: ColumnMoments, *, centred: bool = True, active: bool = True
    ) -> Scaling:
        """Scaling of columns that have no intercept among them, by their moments."""
        return cls._if_active(*moments.scales(centred=centred), active=active)

    @classmethod
    def of_response_by_medians(
        cls, response: AllResponses, *, centred: bool, active: bool = True
    ) -> Scaling:
        """Scaling of responses that outliers do not move, as they move ``of_response``.

        Median and median absolute deviation, times 1.4826 so that it is the standard deviation of
        normal responses; see ``AllResponses.median_moments``.

        Raises
        ------
        DataError
            If the square of a response in units of its scale overflows.
        """
        if not active:
            return cls.of_response(response, centred=centred, active=False)
        centre, scale = response.median_moments(centred=centred)
        farthest = float((response.moments.largest / scale).max(initial=0.0))
        if not farthest < FARTHEST:
            raise DataError(
                f"a response is {farthest:.3g} median absolute deviations from the median, beyond "
                "double precision",
                hint="correct it, or remove its row",
            )
        return cls(centre, scale, None)

    @classmethod
    def of_gapped_moments(
        cls, each: Sequence[ColumnMoments], *, common: bool, active: bool = True
    ) -> Scaling:
        """Scaling of variables with missing entries, each with the moments of its values.

        Parameters
        ----------
        each : sequence of ColumnMoments
            One for each variable, of the rows that have it.
        common : bool
            One scale for all variables, the root of their mean variance, instead of one each.
        active : bool
            Whether anything is standardised; the identity if not.
        """
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
        """Scaling of the same columns with other centres, scales, and basis; see ``numbers``.

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
