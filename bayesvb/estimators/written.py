"""What a fit writes: its file, its page, a table and two paragraphs for a paper, its print."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from bayesvb.argument_checks import checked
from bayesvb.data.column_units import check_known, check_units
from bayesvb.distributions.intervals import PROB
from bayesvb.errors import without_controls
from bayesvb.estimators.regression_verbs import AbstractRegressionFit
from bayesvb.results.other_fields import with_fields

if TYPE_CHECKING:
    from bayesvb.formula.design import Design
    from bayesvb.results.simulation_calibration import SimulationCalibration

WrittenFitT = TypeVar("WrittenFitT", bound="AbstractWrittenFit")


@dataclass(frozen=True, eq=False, repr=False)
class AbstractWrittenFit(AbstractRegressionFit):
    """A fit that can be written.

    The fields are those of ``AbstractFit``.
    """

    @checked
    def save(self, path: str | Path) -> Path:
        """Write all to one netCDF file, the data included; ``bayesvb.load`` reads it back."""
        from bayesvb.results.saving import save

        return save(self, path)

    @partial(checked, units=check_units)
    def with_units(self: WrittenFitT, units: Mapping[str, str]) -> WrittenFitT:
        """The same fit, whose plots and pages give these columns their units.

        Not needed where ``data.attrs["units"]`` has told them before the fit. A file keeps them.

        Parameters
        ----------
        units : mapping of str to str
            Units by column of the data; those that are known of other columns stay.

        Raises
        ------
        DataError
            If the formula does not read a column, or a unit is no text.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> model = bvb.Normal("y ~ 1", {"y": [1.0, 2.0, 4.0]})
        >>> fit = model.fit(seed=1).with_units({"y": "kg"})
        >>> dict(fit.model.design.units)
        {'y': 'kg'}
        """
        design = self.model.design
        check_known(units, tuple(map(str, design.frame.columns)))
        return self._with_design(replace(design, units={**design.units, **units}))

    def _with_design(self: WrittenFitT, design: Design) -> WrittenFitT:
        """The same fit of a model with this design."""
        return replace(self, model=with_fields(self.model, design=design))

    @checked
    def report(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        calibration: SimulationCalibration | None = None,
    ) -> Path:
        """Write a self-contained HTML page about this fit, or what it says in another format.

        ``format`` is ``"html"``, ``"markdown"`` or ``"json"``, by the ending of the path if left
        out (``.md``, ``.json``). With ``calibration``, what ``bayesvb.calibrate`` found, a section
        on it; see ``audited``.
        """
        from bayesvb.reports import report

        written: Path = report(self, path, format=format, calibration=calibration)
        return written

    def report_text(self) -> str:
        r"""Methods and results in two paragraphs of plain text, for a paper.

        The second says what a report says first: how the response changes with the covariate that
        moves it most, with intervals; then the density of rows left out, and the checks that are
        not in order.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> model = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful"))
        >>> methods, results = model.fit(seed=1).report_text().split("\n\n")
        >>> methods.split(":")[0], results[:16]
        ('One Gaussian sample', 'waiting has mean')
        """
        from bayesvb.reports.paragraphs import paragraphs

        return str(paragraphs(self))

    @checked
    def table(self, format: str = "markdown", *, prob: float = PROB) -> str:
        """All parameters with standard deviation and interval, as a table for a paper.

        Numbers have two significant digits of their standard deviation.

        Parameters
        ----------
        format : {"markdown", "latex", "html"}
            LaTeX needs the package booktabs.
        prob : float
            Probability of the intervals.

        Raises
        ------
        DataError
            If there is no such format, or the probability is none.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> fit = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful")).fit(seed=1)
        >>> fit.table().splitlines()[2][:12]
        '| mu | 70.89'
        """
        from bayesvb.reports.written_tables import written_table

        return str(written_table(self, format, prob))

    def __str__(self) -> str:
        from bayesvb.results.printing import fit_text

        return without_controls(fit_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayesvb.results.notebook import text_html

        return text_html(str(self))
