"""What a fit writes: its file, its page, a table and two paragraphs for a paper, its print."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.argument_checks import checked
from bayesvb.distributions.intervals import PROB
from bayesvb.estimators.regression_verbs import AbstractRegressionFit

if TYPE_CHECKING:
    from bayesvb.results.simulation_calibration import SimulationCalibration


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

        return fit_text(self)

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayesvb.results.notebook import text_html

        return text_html(str(self))
