"""What a fit says of single rows: densities, memberships, predictive distributions and weights."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, checked
from bayesvb.estimators.written import AbstractWrittenFit
from bayesvb.formula.new_rows import NEW_GROUPS, NEW_GROUPS_ALIASES, NEW_LEVELS, Unseen

if TYPE_CHECKING:
    import pandas as pd

RowsFitT = TypeVar("RowsFitT", bound="AbstractRowsFit")


@dataclass(frozen=True, eq=False, repr=False)
class AbstractRowsFit(AbstractWrittenFit):
    """A fit that is asked of rows, some of whose groups or levels it may not have seen.

    The fields are those of ``AbstractFit``; ``new_groups`` and ``new_levels`` are everywhere those
    of ``Fit.predict``.
    """

    @checked
    def log_density(
        self, data: object = None, *, new_groups: str | None = None, new_levels: str = "error"
    ) -> pd.Series:
        """Log predictive density of each row's observed response(s); NaN where one is missing.

        ``new_groups`` and ``new_levels`` as of ``predict``.
        """
        told = self._with_unseen(new_groups, new_levels)
        return told.model.log_density(told, data)

    @checked
    def responsibilities(
        self, data: object = None, *, new_groups: str | None = None, new_levels: str = "error"
    ) -> pd.DataFrame:
        """Probability of each component given the observed row, or all rows of the group.

        Of the rows used in the fit, or of other data with the response. ``new_groups`` and
        ``new_levels`` as of ``predict``.
        """
        told = self._with_unseen(new_groups, new_levels)
        return told.model.responsibilities(told, data)

    @checked
    def predictive(
        self,
        data: object = None,
        *,
        response: str | None = None,
        new_groups: str | None = None,
        new_levels: str = "error",
    ) -> Any:
        """Predictive distribution for each complete row of ``data``.

        ``response``, ``new_groups`` and ``new_levels`` as of ``predict``; rows are those that
        ``new_levels`` leaves complete.
        """
        told = self._with_unseen(new_groups, new_levels)
        return told.model.predictive(told, data, response)

    @checked
    def weights_at(
        self,
        data: object = None,
        *,
        draws: int | None = None,
        new_groups: str | None = None,
        new_levels: str = "error",
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the component weights at each complete row of ``data``.

        A DataError if more ``draws`` are asked for than the fit has. ``new_groups`` and
        ``new_levels`` as of ``predict``; rows are those that ``new_levels`` leaves complete.
        """
        told = self._with_unseen(new_groups, new_levels)
        return np.asarray(told.model.weights_at(told, data, draws))

    def _with_unseen(self: RowsFitT, new_groups: str | None, new_levels: str) -> RowsFitT:
        """The fit whose model makes this of levels that were not in its data."""
        if new_groups is not None:
            if isinstance(new_groups, str):
                new_groups = NEW_GROUPS_ALIASES.get(new_groups, new_groups)
            check_choice("new_groups", new_groups, NEW_GROUPS)
        check_choice("new_levels", new_levels, NEW_LEVELS)
        unseen = Unseen(new_groups, new_levels)
        if unseen == self.model.design.unseen:
            return self
        return self._with_design(self.model.design.with_unseen(unseen))
