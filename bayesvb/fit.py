"""The result of a fit: values and methods that delegate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float

from bayesvb.engines.held_out import without_folds
from bayesvb.linear_response import LinearResponse
from bayesvb.parts import Draws
from bayesvb.run_tables import trace_series
from bayesvb.stacking import Member
from bayesvb.summary import PROB

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from bayesvb.predict import Values


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, in the units of the data; components are numbered by share, largest first.

    Intervals have the linear-response covariance where there is one: a mean-field posterior is
    narrower than the exact one.

    Attributes
    ----------
    model : AbstractWorkbench
        What was fitted, with its data.
    core : AbstractModel
        The model on the standardised scale, its components in the order of the labels.
    sums : Stats
        Expected sufficient statistics at the end: the state of the fit.
    order : tuple of int
        Number that each component had during the ascent.
    draws : Mapping of str to ndarray
        Draws that intervals go by, on the standardised scale.
    log_q : ndarray, shape (draws,)
        Log density of the draws under the approximation that they are from.
    covariance : {"linear-response", "mean-field", "importance"}
        What the draws were made with.
    q_draws : Mapping of str to ndarray
        Draws from the variational posterior itself.
    response : LinearResponse
        Covariance of all parameters beyond mean-field, or why there is none.
    restarts : pandas.DataFrame
        One row per restart: start, elbo, n_iter, converged, rows, seconds, best; ``elpd_per_row``
        and ``weight`` if they are combined. The largest elbo is kept; with ``softmax-bouchard`` the
        largest ``score``, a tighter bound of the same q.
    traces : Mapping of int to ndarray
        Lower bound after every accepted sweep, by restart; ``"final"`` of a fit whose restarts
        went over a sample of the rows.
    converged : bool
    n_iter : int
        Passes over the rows of the run that was kept.
    seconds : float
        Time of all restarts and draws.
    seed : int
        Makes the same fit again.
    members : tuple of Member
        Restarts that are combined, the heaviest first; empty for a fit of one restart. ``core``,
        ``sums`` and ``draws`` are then of all of them together, bound and trace of the heaviest.
    """

    model: Any
    core: Any
    sums: Any
    order: tuple[int, ...]
    draws: Draws
    log_q: Float[np.ndarray, " draws"]
    covariance: str
    q_draws: Draws
    response: LinearResponse
    restarts: pd.DataFrame
    traces: Mapping[int | str, Float[np.ndarray, " sweeps"]]
    converged: bool
    n_iter: int
    seconds: float
    seed: int
    members: tuple[Member, ...] = ()

    @property
    def parts(self) -> tuple[Member, ...]:
        """Restarts that the fit combines; if it is of one restart, that one with weight one."""
        return self.members or (Member(self.best_restart, 1.0, self),)

    @property
    def q(self) -> Any:
        """Variational posterior on the standardised scale."""
        return self.core.update(self.sums)

    @property
    def elbo(self) -> float:
        """Lower bound on the log evidence of the data in their units."""
        return float(self.elbo_trace.iloc[-1])

    @property
    def elbo_trace(self) -> pd.Series:
        """Lower bound after every accepted sweep of the run that was kept."""
        return trace_series(self.traces, self.best_restart)

    @property
    def best_restart(self) -> int:
        """Number of the restart that was kept."""
        return int(self.restarts.index[self.restarts["best"]][0])

    @cached_property
    def without_folds(self) -> tuple[Any, ...]:
        """Statistics of ascents that went on without each fifth of the rows; for one restart."""
        return without_folds(self.core, self.model.source, self.sums)

    @property
    def posterior(self) -> Any:
        """Draws in the data's units as an xarray Dataset (chain, draw, ...)."""
        from bayesvb.idata import posterior_of

        return posterior_of(self)

    @property
    def idata(self) -> Any:
        """ArviZ object: InferenceData on ArviZ 0.x, DataTree on ArviZ 1.x.

        Made anew on each access. Groups with one number per draw and row are left out beyond 1 GiB.
        """
        from bayesvb.idata import arviz_object

        return arviz_object(self)

    @property
    def khat(self) -> float:
        """Pareto k of the approximation: below 0.5 good, to 0.7 usable, NaN if it is exact."""
        from bayesvb.trust import pareto_k

        return pareto_k(self)

    def waic(self) -> Any:
        """Widely applicable information criterion, as ArviZ's result object."""
        from bayesvb.trust import waic

        return waic(self)

    def loo(self, *, corrected: bool = False) -> Any:
        """PSIS leave-one-out cross-validation, as ArviZ's result object.

        Networks go on without a fifth of the rows at a time instead: their draws flatter.

        Parameters
        ----------
        corrected : bool
            Weigh draws by the ratio of the exact to the approximate posterior as well: the Pareto k
            of a row then judges both. Without, the result is that of ArviZ on ``idata``,
            which does not know case weights.
        """
        from bayesvb.trust import loo

        return loo(self, corrected=corrected)

    def with_covariance(self, covariance: str) -> Fit:
        """The same fit with other draws, for all that is made of draws.

        Parameters
        ----------
        covariance : {"linear-response", "mean-field", "importance"}
            ``"importance"``: drawn again by smoothed importance weights, which makes up for what
            the approximation lacks; a DataError where their Pareto k is above 0.7.
        """
        from bayesvb.trust import with_covariance

        return with_covariance(self, covariance)

    def summary(self, prob: float = PROB, *, covariance: str | None = None) -> pd.DataFrame:
        """One row per coefficient, noise and share.

        Parameters
        ----------
        prob : float
            Probability of the equal-tailed intervals.
        covariance : str, optional
            As in ``with_covariance``; the fit's own if left out. ``attrs`` of the table say it.

        Returns
        -------
        pandas.DataFrame
            Index (part, component, term), columns mean, sd, lower, upper and p_positive, the
            posterior probability of a coefficient to be positive.
        """
        from bayesvb.summary import coefficient_table

        fit = self if covariance is None else self.with_covariance(covariance)
        return coefficient_table(fit, prob)

    def components(self, prob: float = PROB) -> pd.DataFrame:
        """One row per component.

        Returns
        -------
        pandas.DataFrame
            ``share`` with its interval, ``rows`` (rows whose most likely component it is),
            ``separation`` (mean probability of the component among these rows), ``sigma`` with
            its interval.
        """
        return cast("pd.DataFrame", self.model.components(self, prob))

    def responsibilities(self) -> pd.DataFrame:
        """Probability of each component given the observed row; the rows used in the fit."""
        return cast("pd.DataFrame", self.model.responsibilities(self))

    def predictive(self, data: object = None, *, response: str | None = None) -> Any:
        """Predictive distribution for each complete row of ``data``; see ``predict``."""
        return self.model.predictive(self, data, response)

    def predict(
        self,
        data: object = None,
        kind: str = "mean",
        *,
        prob: float | None = None,
        q: Values | None = None,
        at: Values | None = None,
        n: int | None = None,
        seed: int | None = None,
        response: str | None = None,
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data, with the data's index.

        Parameters
        ----------
        data : table, optional
            The rows used in the fit if left out. A row that lacks a value is NaN in the result.
        kind : str
            ``"mean"``, ``"sd"``, ``"interval"`` (``prob``), ``"quantile"`` (``q``), ``"cdf"``
            (``at``), ``"density"`` (``at``), ``"component"`` or ``"draws"`` (``n``, ``seed``);
            of classes ``"probability"`` (``prob``, ``n``), ``"class"`` or ``"component"``.
        prob : float, optional
            Probability of the central interval, 0.89 if left out; for classes only if given.
        q : float or sequence of float, optional
            Probabilities of the quantiles; 0.05, 0.5 and 0.95 if left out.
        at : float, sequence of float or Series, optional
            Values of the response; a Series gives every row its own.
        n, seed : int, optional
            Number of draws and their seed.
        response : str, optional
            Which response, if there are several.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            In the units of the formula's response: of ``log(y)`` if the formula says so.

        Raises
        ------
        DataError
            For an unknown kind or option, or levels that the fit never saw.
        """
        options = {"prob": prob, "q": q, "at": at, "n": n, "seed": seed, "response": response}
        predicted: pd.Series | pd.DataFrame = self.model.predict(self, data, kind, options)
        return predicted

    def log_density(self, data: object = None) -> pd.Series:
        """Log predictive density of each row's observed response(s); NaN where one is missing."""
        return cast("pd.Series", self.model.log_density(self, data))

    def weights_at(
        self, data: object = None, *, draws: int | None = None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the component weights at each complete row of ``data``.

        A DataError if more ``draws`` are asked for than the fit has.
        """
        return np.asarray(self.model.weights_at(self, data, draws))

    def save(self, path: str | Path) -> Path:
        """Write all to one netCDF file, the data included; ``bayesvb.load`` reads it back."""
        from bayesvb.saving import save

        return save(self, path)

    def report(self, path: str | Path) -> Path:
        """Write a self-contained HTML page about this fit."""
        from bayesvb.reports import report

        written: Path = report(self, path)
        return written

    def __str__(self) -> str:
        from bayesvb.printing import fit_text

        return fit_text(self)

    __repr__ = __str__
