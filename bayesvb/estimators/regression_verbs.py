"""What functions of statistical software usually give of a fit: coefficients, residuals, plots."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.argument_checks import checked
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import AbstractFit

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False)
class AbstractRegressionFit(AbstractFit):
    """A fit that answers to the names that R and statsmodels have for such questions.

    The fields are those of ``AbstractFit``.
    """

    @property
    def nobs(self) -> int:
        """Rows used; those without case weight do not count where all rows are at hand."""
        weights, n_rows = self.model.weights, fitted_rows(self.model).n_rows
        some_at_hand = n_rows != self.model.design.n_rows
        return int(n_rows if weights is None or some_at_hand else np.count_nonzero(weights))

    def coef(self) -> pd.Series:
        """Coefficients: posterior means, or estimates of an engine that finds points.

        Returns
        -------
        pandas.Series
            Index (part, component, term), as in ``summary``, of every parameter that has a sign
            and is not fixed; without a response, of all that ``summary`` shows.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> fit = model.fit(seed=1, restarts=1)
        >>> fit.coef()["mean"].round(0).tolist()
        [33.0, 11.0]
        """
        from bayesvb.results.coefficients import coef

        return coef(self)

    def vcov(self) -> pd.DataFrame:
        """Covariance of the coefficients: that of the draws, with ``fit.covariance``.

        Returns
        -------
        pandas.DataFrame
            Rows and columns as in ``coef``; NaN of point estimates without standard errors.
        """
        from bayesvb.results.coefficients import vcov

        return vcov(self)

    def fitted(self) -> pd.Series | pd.DataFrame:
        """Predictive means of the rows used; of classes their probabilities.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            A column for each response, or class, if there are several.

        Raises
        ------
        DataError
            If the model explains no response.
        """
        from bayesvb.results.residuals import fitted

        return fitted(self)

    @checked
    def residuals(self, kind: str = "quantile") -> pd.Series | pd.DataFrame:
        """Residuals of the rows used.

        Parameters
        ----------
        kind : {"quantile", "response"}
            ``"quantile"``: normal scores of the leave-one-out PIT values, standard normal if the
            model is right whatever its noise, at most 4 in size. ``"response"``: what was observed
            less ``fitted``; of classes one for the observed one, less the probabilities.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            A column for each response, or class, if there are several.

        Raises
        ------
        DataError
            For an unknown kind, for quantile residuals of classes, or without a response.

        References
        ----------
        Dunn, Smyth (1996), Randomized quantile residuals, Journal of Computational and Graphical
        Statistics 5(3).
        """
        from bayesvb.results.residuals import residuals

        return residuals(self, kind)

    def pit(self) -> Any:
        """Leave-one-out probability integral transform of each row's response.

        The predictive distribution function of the response, without the row, at its value:
        uniform where the model is right. Of rows that come in groups, it is given those of the
        same group before it, whose memberships they tell of, by the posterior of the fit: such
        values are independent of one another, too.

        Returns
        -------
        pandas.Series
            Index of the rows used; of several responses a DataFrame.

        Raises
        ------
        DataError
            If the model has no numeric response.
        """
        from bayesvb.results.pit import pit

        return pit(self)

    def calibration(self) -> pd.DataFrame:
        """How often what the fit calls probable happens, of rows that were left out.

        Returns
        -------
        pandas.DataFrame
            Of numbers, for each probability of a central interval (``expected``): the share of
            rows inside (``observed``), and its standard error if predictions are calibrated;
            ``attrs["p_value"]`` of the hypothesis that PIT values are uniform. Of classes, for
            each class and bin of its probability: mean probability (``expected``), share
            (``observed``), where the share would lie in nine of ten calibrated cases, ``rows``;
            ``attrs["ece"]``, the calibration error. Of more than 5000 rows of numbers a choice.

        Raises
        ------
        DataError
            If the model explains no response.
        """
        from bayesvb.results.calibration_table import calibration

        return calibration(self)

    @checked
    def pp_check(self, n: int = 50, *, response: str | None = None, ax: Any = None) -> Any:
        """Posterior predictive check: replicated data sets beside the data.

        See ``bayesvb.plots.replicates``, whose arguments these are.
        """
        from bayesvb.plots.diagnostics import replicates

        return replicates(self, n, response=response, ax=ax)

    @checked
    def plot(self, along: str | None = None) -> Any:
        """Figures of the fit on one grid: what it says, and how it stands to its data.

        See ``bayesvb.plots.overview``, whose argument this is.
        """
        from bayesvb.plots.overview import overview

        return overview(self, along)
