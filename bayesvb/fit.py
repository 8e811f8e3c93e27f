"""The result of a fit: values and methods that delegate."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.models.base import Draws
from bayesvb.models.mixture import Mixture, MixturePosterior, MixtureSums
from bayesvb.student_mixture import StudentMixture
from bayesvb.summary import PROB

if TYPE_CHECKING:
    from pathlib import Path

    import pandas as pd

    from bayesvb.predict import Values
    from bayesvb.workbench import DensityRegression


@dataclass(frozen=True, eq=False)
class Fit:
    """A fitted model, in the units of the data; components are numbered by share, largest first.

    Intervals are those of a mean-field posterior, which is narrower than the exact one.

    Attributes
    ----------
    model : DensityRegression
        What was fitted, with its data.
    mixture : Mixture
        The model on the standardised scale, its components in the order of the labels.
    sums : MixtureSums
        Expected sufficient statistics at the end: the state of the fit.
    order : tuple of int
        Number that each component had during the ascent.
    draws : Mapping of str to ndarray
        Draws from the variational posterior on the standardised scale.
    restarts : pandas.DataFrame
        One row per restart: start, elbo, n_iter, converged, rows, seconds, best.
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
    """

    model: DensityRegression
    mixture: Mixture
    sums: MixtureSums
    order: tuple[int, ...]
    draws: Draws
    restarts: pd.DataFrame
    traces: Mapping[int | str, Float[np.ndarray, " sweeps"]]
    converged: bool
    n_iter: int
    seconds: float
    seed: int

    @property
    def q(self) -> MixturePosterior:
        """Variational posterior on the standardised scale."""
        return self.mixture.update(self.sums)

    @property
    def elbo(self) -> float:
        """Lower bound on the log evidence of the data in their units."""
        return float(self.elbo_trace.iloc[-1])

    @property
    def elbo_trace(self) -> pd.Series:
        """Lower bound after every accepted sweep of the run that was kept."""
        import pandas as pd

        key: int | str = "final" if "final" in self.traces else self.best_restart
        trace = self.traces[key]
        return pd.Series(trace, index=pd.RangeIndex(1, len(trace) + 1, name="sweep"), name="elbo")

    @property
    def best_restart(self) -> int:
        """Number of the restart with the largest bound."""
        return int(self.restarts.index[self.restarts["best"]][0])

    @property
    def posterior(self) -> Any:
        """Draws in the data's units as an xarray Dataset (chain, draw, ...)."""
        from bayesvb.arviz import group, to_arviz
        from bayesvb.posterior_draws import named_draws

        named = named_draws(self)
        tree = to_arviz({"posterior": named.values}, dims=named.dims, coords=named.coords)
        return group(tree, "posterior")

    @property
    def idata(self) -> Any:
        """ArviZ object: InferenceData on ArviZ 0.x, DataTree on ArviZ 1.x.

        Made anew on each access: keep it in a variable. Groups with one number per draw and row
        are left out, with a warning, beyond 1 GiB.
        """
        from bayesvb.idata import arviz_object

        return arviz_object(self)

    @property
    def khat(self) -> float:
        """Pareto k of the approximation: below 0.5 good, to 0.7 usable, NaN if it is exact.

        References
        ----------
        Yao, Vehtari, Simpson, Gelman (2018), Yes, but did it work?, arXiv:1802.02538, section 3.
        """
        from bayesvb.criteria import khat
        from bayesvb.posterior_draws import log_joint

        joint = log_joint(self.mixture, self.model.source, self.draws, self.model.scales)
        return khat(joint - self.mixture.log_posterior(self.q, self.draws))

    def waic(self) -> Any:
        """Widely applicable information criterion, as ArviZ's result object."""
        from bayesvb.criteria import waic
        from bayesvb.idata import log_lik_blocks_of

        return waic(log_lik_blocks_of(self), labels=self.model.design.index)

    def loo(self) -> Any:
        """PSIS leave-one-out cross-validation, as ArviZ's result object."""
        from bayesvb.criteria import loo
        from bayesvb.idata import log_lik_blocks_of

        return loo(log_lik_blocks_of(self), labels=self.model.design.index)

    def summary(self, prob: float = PROB) -> pd.DataFrame:
        """One row per coefficient, noise and share.

        Parameters
        ----------
        prob : float
            Probability of the equal-tailed intervals.

        Returns
        -------
        pandas.DataFrame
            Index (part, component, term), columns mean, sd, lower, upper and p_positive, the
            posterior probability of a coefficient to be positive.
        """
        from bayesvb.summary import coefficient_table

        return coefficient_table(self, prob)

    def components(self, prob: float = PROB) -> pd.DataFrame:
        """One row per component.

        Returns
        -------
        pandas.DataFrame
            ``share`` with its interval, ``rows`` (rows whose most likely component it is),
            ``separation`` (mean probability of the component among these rows), ``sigma`` with
            its interval.
        """
        from bayesvb.summary import component_table

        return component_table(self, prob)

    def responsibilities(self) -> pd.DataFrame:
        """Probability of each component given the row's response; the rows used in the fit."""
        import pandas as pd

        q = self.q
        blocks = [self.mixture.responsibilities(q, b).T for b in self.model.source.blocks]
        labels = pd.RangeIndex(1, self.model.n_components + 1, name="component")
        return pd.DataFrame(np.concatenate(blocks), self.model.design.index, labels)

    def predictive(self, data: object = None, *, response: str | None = None) -> StudentMixture:
        """Predictive distribution of the response for each complete row of ``data``.

        Parameters
        ----------
        data : table, optional
            The rows used in the fit if left out.
        response : str, optional
            Which one, if there are several.
        """
        from bayesvb.prediction import predictive

        return predictive(self, self.model.rows(data), response)

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
            (``at``), ``"density"`` (``at``), ``"component"`` or ``"draws"`` (``n``, ``seed``).
        prob : float, optional
            Probability of the central interval, 0.89 if left out.
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
        from bayesvb.predict import predict
        from bayesvb.prediction import predictive

        rows = self.model.rows(data)
        distribution = predictive(self, rows, response)
        options: dict[str, Any] = {"prob": prob, "q": q, "at": at, "n": n, "seed": seed}
        return predict(distribution, rows.index, rows.complete, kind=kind, **options)

    def log_density(self, data: object = None) -> pd.Series:
        """Log posterior-predictive density of each row's observed response(s).

        Rows that lack a value are NaN.
        """
        from bayesvb.prediction import log_density

        return log_density(self, self.model.rows(data, response=True))

    def weights_at(
        self, data: object = None, *, draws: int | None = None
    ) -> Float[np.ndarray, "draws rows experts"]:
        """Draws of the component weights at each complete row of ``data``.

        Raises
        ------
        DataError
            If more draws are asked for than the fit has.
        """
        n_draws = len(self.draws["gate"])
        if draws is not None and not 1 <= draws <= n_draws:
            raise DataError(f"draws={draws!r} must be between 1 and {n_draws}")
        block = self.model.block(self.model.rows(data))
        weights = np.exp(self.mixture.gate.log_weights(self.draws["gate"][:draws], block))
        whole = np.broadcast_to(weights, (*weights.shape[:2], block.n_rows))
        return np.moveaxis(whole, 1, 2)

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
