"""Choice of the number of components: one fit for each number, ranked by predictive accuracy."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bayesvb.argument_checks import check_choice, check_count, checked, fresh_seed
from bayesvb.data.line_width import table_text, wrapped_text
from bayesvb.drawing.marks import new_axes
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.component_choice import (
    criteria,
    fits_in_order,
    hopeful,
    warn_of_doubts,
    warn_of_interruption,
)
from bayesvb.estimators.mixture import AbstractMixture
from bayesvb.estimators.near_start import near_start
from bayesvb.estimators.rebuilding import rebuilt
from bayesvb.model_selection.alternatives import student_alternative, unimodal_noise
from bayesvb.results.all_rows import is_sample
from bayesvb.results.comparison import ranked
from bayesvb.results.limits import LIMITS
from bayesvb.results.printing import text_html

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from bayesvb.estimators.fit import Fit
    from bayesvb.evaluation.elpd import Elpd
    from bayesvb.results.simulation_calibration import SimulationCalibration

CRITERIA = ("loo", "waic")

SHARES = ("share", "variance")
"""Columns of ``fit.components()`` that may hold shares; the first present one is used."""


@dataclass(frozen=True, eq=False, repr=False)
class Selection:
    """Fits with different numbers of components, side by side.

    Attributes
    ----------
    table : pandas.DataFrame
        One row per number of components, ascending. ``elbo``; ``elpd``, the expected log predictive
        density, with ``se``; ``elpd_diff``, elpd less the largest one, with ``dse``, the standard
        error of the difference (n in the denominator, as in ``compare``); ``p``, the effective
        number of parameters; ``occupied``, components with a share above 1%; ``seconds``;
        ``warning`` of a criterion that is unreliable; ``best``, the largest elpd; ``chosen``, the
        smallest number whose elpd is within two ``dse``, or within 4 nats, of the largest. If the
        criterion uses draws (WAIC; LOO of a model without linear response), a fit whose linear
        response failed while others have theirs can be neither: its draws are too narrow, its elpd
        too large.
    doubts : mapping of int to str
        How much the elpd of a number may be off, where that is more than 4 nats.
    fits : mapping of int to Fit
    criterion : {"loo", "waic"}
    seed : int
        Seed of every fit.
    students : mapping of int to Fit
        Fits with ``family="student"``, from the chosen number downwards until one predicts worse;
        none of a model without Gaussian experts, or of more rows than are kept in memory, and none
        if one component is chosen.
    notes : tuple of str
        Whether Student experts need fewer components or predict better, and whether the predictive
        density of the chosen fit is unimodal, so that its components describe skewed noise.
    """

    table: pd.DataFrame
    doubts: Mapping[int, str]
    fits: Mapping[int, Fit]
    criterion: str
    seed: int
    students: Mapping[int, Fit] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    @property
    def chosen(self) -> int:
        """Number of components of the fit that is chosen."""
        return int(self.table.index[self.table["chosen"]][0])

    @property
    def best(self) -> Fit:
        """The fit that is chosen."""
        return self.fits[self.chosen]

    @checked
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Expected log predictive density by number of components, with one standard error.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes of the picture; by default a new figure, which notebooks show.

        Returns
        -------
        matplotlib.axes.Axes
        """
        axes = new_axes((6.0, 3.6)) if ax is None else ax
        numbers, table = self.table.index.to_numpy(), self.table
        axes.errorbar(numbers, table["elpd"], yerr=table["se"], fmt="o-", capsize=3, color="C0")
        at = (self.chosen, float(table["elpd"][self.chosen]))
        axes.plot(*at, "o", ms=13, mfc="none", mec="C3", mew=2)
        axes.annotate("chosen", at, xytext=(10, -16), textcoords="offset points", color="C3")
        axes.set_xticks(numbers)
        axes.set_xlabel("number of components")
        axes.set_ylabel(f"elpd ({self.criterion.upper()}), one standard error")
        return axes

    @checked
    def report(
        self,
        path: str | Path,
        *,
        format: str | None = None,
        edition: str | None = None,
        question: str | None = None,
        along: str | None = None,
        labels: Mapping[str, str] | None = None,
        source: str | None = None,
        notes: Sequence[str] = (),
        calibration: SimulationCalibration | None = None,
    ) -> Path:
        """Write a report that begins with the choice, and reports the chosen fit.

        Arguments as of ``Fit.report``.
        """
        from bayesvb.reports import report

        written: Path = report(
            self.best,
            path,
            format=format,
            edition=edition,
            question=question,
            along=along,
            labels=labels,
            source=source,
            notes=notes,
            calibration=calibration,
            selection=self,
        )
        return written

    def __str__(self) -> str:
        marks = {name: np.where(self.table[name], "*", "") for name in ("best", "chosen")}
        shown = self.table.assign(**marks).drop(columns="warning")
        lines = [
            f"Number of components by {self.criterion.upper()}: {self.chosen}",
            *table_text(shown.reset_index(), float_format=lambda x: f"{x:.1f}").splitlines(),
            "Chosen: the fewest components within two standard errors (dse) of the largest elpd, "
            f"or within {LIMITS.equal_elpd:g}.",
        ]
        doubtful = [str(k) for k in self.table.index[self.table["warning"]] if k not in self.doubts]
        if doubtful:
            lines.append(f"The criterion is unreliable for n_components = {', '.join(doubtful)}.")
        lines += [f"In doubt, n_components = {k}: {why}." for k, why in self.doubts.items()]
        left_out = ", ".join(map(str, hopeful(self.fits, self.criterion)))
        if left_out:
            lines.append(f"Not candidates, because they have no linear response: {left_out}.")
        lines += self.notes
        return wrapped_text("\n".join(lines))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return text_html(str(self))


@checked
def select(
    model: AbstractEstimator,
    n_components: Iterable[int] = range(1, 9),
    criterion: str = "loo",
    *,
    seed: int | None = None,
    restarts: int = 8,
    n_jobs: int | None = None,
    **options: object,
) -> Selection:
    """Fit a model with several numbers of components, and choose one.

    Parameters
    ----------
    model : DensityRegression, GaussianMixture or any model with ``n_components``
        Its own number does not matter.
    n_components : iterable of int
        Numbers to try.
    criterion : {"loo", "waic"}
        Estimate of the expected log predictive density.
    seed : int, optional
        Seed of every fit; by default a new one is drawn, and kept.
    restarts : int
        Runs of each fit.
    n_jobs : int, optional
        Processes of each fit, as of ``model.fit``. It changes nothing else.
    **options
        Further arguments of ``model.fit``: ``draws``, ``tol``, ``max_iter``, ``covariance``,
        ``progress``. WAIC is made of the draws: mean-field ones are too narrow, and it is then too
        hopeful, the more so the more components there are.

    Returns
    -------
    Selection

    Raises
    ------
    DataError
        If the model has no number of components, or a number does not go with the data.

    Warns
    -----
    ConvergenceWarning
        If Ctrl-C ended it: fits that were finished are kept, if there are any.
    UserWarning
        If the LOO of a number is in doubt by more than 4 nats, with how much it may be off.

    References
    ----------
    Vehtari, Gelman, Gabry (2017), Practical Bayesian model evaluation using leave-one-out
    cross-validation and WAIC, doi:10.1007/s11222-016-9696-4, section 5, for the standard error of a
    difference. Sivula, Magnusson, Matamoros, Vehtari (2020), Uncertainty in Bayesian leave-one-out
    cross-validation based model comparison, arXiv:2008.10296, for differences that are too small
    for it; the limit of 4 nats is the R package loo's (``loo_compare``, column ``diag_diff``).

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.DensityRegression("waiting ~ 1", bvb.datasets.load("faithful"))
    >>> bvb.select(model, range(1, 4), seed=1, restarts=2).chosen
    2
    """
    check_choice("criterion", criterion, CRITERIA)
    if n_jobs is not None:
        check_count("n_jobs", n_jobs)
    seed = fresh_seed(seed)
    models = {k: rebuilt(model, **{model.size_name: k}) for k in _numbers(model, n_components)}
    options = {"seed": seed, "restarts": restarts, "n_jobs": n_jobs, **options}
    fits = fits_in_order(models, lambda one: one.fit(**options), {})
    if not fits:
        raise KeyboardInterrupt
    interrupted = len(fits) < len(models)
    if interrupted:
        warn_of_interruption(fits)
    selection, results = _ranked(fits, criterion, seed)
    if interrupted:
        return selection
    return _with_alternatives(selection, results, options)


def _ranked(
    fits: Mapping[int, Fit], criterion: str, seed: int
) -> tuple[Selection, dict[int, Elpd]]:
    """The selection of these fits, and their criteria; warns of unreliable ones."""
    results, doubts = criteria(fits, criterion)
    warn_of_doubts(doubts)
    return Selection(_table(fits, results, criterion), doubts, dict(fits), criterion, seed), results


def _with_alternatives(
    selection: Selection, results: Mapping[int, Elpd], options: Mapping[str, object]
) -> Selection:
    """The selection with Student experts, and notes on the components of the chosen fit."""
    chosen, model = selection.chosen, selection.best.model
    if chosen == 1 or getattr(model, "family", "") != "gaussian":
        return selection

    def fit_student(number: int) -> Fit | None:
        student = rebuilt(cast(Any, selection.fits[number].model), family="student")
        near = near_start(selection.fits[number], number)
        known = {number: student.starting_near(near)}
        return fits_in_order(known, lambda one: one.fit(**options), {}).get(number)

    students: dict[int, Fit] = {}
    text = ""
    if not is_sample(model):  # which cannot be made again with another family
        students, text = student_alternative(selection.fits, results, chosen, fit_student)
    notes = tuple(note for note in (text, unimodal_noise(selection.best)) if note)
    return replace(selection, students=students, notes=notes)


def _numbers(model: object, n_components: Iterable[int]) -> list[int]:
    """Numbers to try, ascending."""
    if not isinstance(model, AbstractEstimator):
        raise DataError(
            f"model is a {type(model).__name__}, but must be a model before its fit",
            hint="give bayesvb.DensityRegression(...) or bayesvb.GaussianMixture(...)",
        )
    if model.size_name not in model.options():
        raise DataError(f"{type(model).__name__} has no number of components to select")
    if isinstance(n_components, str) or not isinstance(n_components, Iterable):
        raise DataError(
            f"n_components={n_components!r} must be a list of numbers", hint="write range(1, 9)"
        )
    numbers = list(n_components)
    for number in numbers:
        check_count("n_components", number)
    if not numbers:
        raise DataError(f"n_components={n_components!r} holds no number", hint="write range(1, 9)")
    return sorted({int(number) for number in numbers})


def _table(fits: Mapping[int, Fit], results: Mapping[int, Elpd], criterion: str) -> pd.DataFrame:
    """Criterion, size and time of each fit."""
    table = ranked(results, hopeful(fits, criterion))
    table.insert(0, "elbo", [fit.elbo for fit in fits.values()])
    table.insert(6, "occupied", [_occupied(fit) for fit in fits.values()])
    table.insert(7, "seconds", [fit.seconds for fit in fits.values()])
    return table


def _occupied(fit: Fit) -> int:
    """Components with more than a negligible share."""
    if isinstance(fit.model, AbstractMixture) and not fit.is_sampled:
        # Not from the table of components: fits of few rows would draw from the exact posterior.
        shares = fit.model.expected_shares(fit)
    else:
        table = fit.components()
        shares = next(table[name] for name in SHARES if name in table).to_numpy()
    return int((shares > LIMITS.negligible_weight).sum())
