"""A fit as one self-contained HTML page."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from bayesvb.argument_checks import check_any_fits, checked
from bayesvb.errors import DataError
from bayesvb.storage.whole_files import check_writable, write_whole

from .page import html, page_summary

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit
    from bayesvb.results.simulation_calibration import SimulationCalibration

__all__ = ["report"]


@partial(checked, fit=check_any_fits)
def report(
    fit: AbstractFit | Mapping[str, AbstractFit],
    path: str | Path,
    *,
    date: str | None = None,
    calibration: SimulationCalibration | None = None,
) -> Path:
    """Path of the page that was written.

    The page needs no network and no script, follows the reader's light or dark scheme, and
    prints. Its numbers are also in it as JSON, in the element ``#summary``. The same fit gives the
    same bytes.

    Parameters
    ----------
    fit : Fit or mapping of str to Fit
        Several fits are compared first, then reported one after the other.
    path : str or Path
        Where to write; a page that is there is replaced when the new one is complete.
    date : str, optional
        Printed under the title; there is none otherwise.
    calibration : SimulationCalibration, optional
        What ``bayesvb.calibrate`` found of the model of a single fit, for a section of its own;
        several fits bring theirs with them, see ``Fit.audited``.

    Raises
    ------
    DataError
        If nothing can be written there, there is no fit, or the calibration is of another model.

    References
    ----------
    Kruschke (2021), Bayesian Analysis Reporting Guidelines, doi:10.1038/s41562-021-01177-7.
    Depaoli, van de Schoot (2017), Improving transparency and replication in Bayesian statistics,
    doi:10.1037/met0000065.
    """
    target = check_writable(path)
    fits = dict(fit) if isinstance(fit, Mapping) else {"": fit}
    if not fits:
        raise DataError("fit={} holds no fit", hint="give a fit, or {name: fit, ...}")
    if calibration is not None:
        if len(fits) > 1:
            raise DataError(
                f"calibration: of which of {len(fits)} fits?",
                hint="write {name: fit.audited(calibration), ...}",
            )
        fits = {name: one.audited(calibration) for name, one in fits.items()}
    page = html(page_summary({str(name): one for name, one in fits.items()}, date))
    return write_whole(page.encode(), target)
