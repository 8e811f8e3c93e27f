"""The public result of a fit: the posterior, and the methods that describe and use it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_text, checked
from bayesvb.data.column_units import check_known, check_units
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.intervals import PROB
from bayesvb.distributions.prediction import PredictionOptions
from bayesvb.errors import warn_renamed, without_controls
from bayesvb.estimators.fit_pictures import PicturedFit
from bayesvb.estimators.fit_tables import TabulatedFit
from bayesvb.formula.missing import OF_NEW_ROWS
from bayesvb.formula.new_rows import NEW_GROUPS, NEW_GROUPS_ALIASES, NEW_LEVELS, Unseen
from bayesvb.numerics.arrays import DrawVector
from bayesvb.results.all_rows import fitted_rows
from bayesvb.results.base import with_fields
from bayesvb.results.named_draws import PosteriorDraws
from bayesvb.results.other_names import meant
from bayesvb.variational.model import AnyModel

if TYPE_CHECKING:
    from bayesvb.distributions.prediction import Values
    from bayesvb.distributions.recalibration import Recalibration
    from bayesvb.formula.design import Design
    from bayesvb.results.simulation_calibration import SimulationCalibration
    from bayesvb.variational.local import Draws


RENAMED: Mapping[str, str] = {
    "audit": "sbc",
    "audited": "with_sbc",
    "named": "named_draws",
    "only_points": "is_point_estimate",
    "q_draws": "variational_draws",
    "sampled": "is_sampled",
}
"""Attributes by their former names, which work with a DeprecationWarning."""


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class Fit(PicturedFit, TabulatedFit):
    """A fitted model, in the units of the data; components are numbered by share, largest first.

    Intervals are exact if there are few rows and importance sampling reaches the posterior,
    otherwise they have the linear-response covariance; see ``with_covariance``. The fields are
    documented in ``AbstractFit``; ``new_groups`` and ``new_levels`` mean the same in every method
    as in ``predict``.
    """

    @classmethod
    def from_draws(
        cls,
        *,
        core: AnyModel,
        stats: SufficientStats,
        variational_draws: Draws,
        engine_log_q: DrawVector | None = None,
        **fields: Any,
    ) -> Fit:
        """Fit of one restart whose intervals use these draws, of its posterior or of the engine.

        Parameters
        ----------
        core, stats, variational_draws, engine_log_q, **fields
            Fields of ``AbstractFit``, all but ``given_draws``.
        """
        if engine_log_q is None:
            q = core.update(stats)
            given, core = PosteriorDraws.from_posterior(core, q, variational_draws), core.knowing(q)
        else:
            given = PosteriorDraws(variational_draws, engine_log_q, "engine")
        return cls(
            core=core,
            stats=stats,
            given_draws=given,
            variational_draws=variational_draws,
            engine_log_q=engine_log_q,
            **fields,
        )

    if not TYPE_CHECKING:  # what is not there is an error for type checkers too

        def __getattr__(self, name: str) -> object:
            """Raise an error that gives the name here for a name of another package."""
            if name in RENAMED:
                warn_renamed(f"fit.{name}", f"fit.{RENAMED[name]}")
                return getattr(self, RENAMED[name])
            if hasattr(type(self), name):  # a property failed: say why, not that it is missing
                return object.__getattribute__(self, name)
            there = None if name.startswith("_") else meant(name, dir(type(self)))
            hint = f"\nhint: write {there}" if there else ""
            raise AttributeError(f"a fit has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def posterior(self) -> object:
        """Draws in the data's units as an xarray Dataset (chain, draw, ...)."""
        from bayesvb.results.arviz_groups import posterior_of

        return posterior_of(self)

    @property
    def idata(self) -> Any:
        """ArviZ object: InferenceData on ArviZ 0.x, DataTree on ArviZ 1.x; built on each access.

        Draw ``s`` of ``posterior``, ``log_likelihood``, ``log_prior``, ``posterior_predictive`` and
        ``sample_stats`` is the same draw of all parameters. ``log_prior`` is the density of the
        parameters on the standardised scale. ``prior`` and ``prior_predictive`` come from
        ``model.prior_predictive``, at most 500 rows. ``log_likelihood`` and
        ``posterior_predictive`` are omitted beyond 1 GiB.

        ``az.loo`` and ``az.waic`` weight these draws; ``fit.loo`` and ``fit.waic`` describe the
        predictive distribution of ``predict``, so that they differ where Pareto k is large.
        """
        from bayesvb.results.arviz_groups import arviz_object

        return arviz_object(self)

    @property
    def khat(self) -> float:
        """Pareto k-hat of the draws: below 0.5 good, up to 0.7 usable, NaN if nearly exact."""
        from bayesvb.results.importance import pareto_k

        return pareto_k(self)

    @property
    def recalibrations(self) -> tuple[Recalibration, ...]:
        """Map of each response that calibrates predictions on average over rows."""
        from bayesvb.results.calibration import recalibrations

        return self.cache.once("recalibrations", lambda: recalibrations(self))

    def components(self, prob: float = PROB) -> pd.DataFrame:
        """One row per component.

        Returns
        -------
        pandas.DataFrame
            ``share`` with its interval, ``rows`` (rows whose most likely component it is),
            ``membership_prob`` (mean probability of the component among these rows), ``sigma`` with
            its interval.
        """
        return self.model.components(self, prob)

    @property
    def nobs(self) -> int:
        """Number of rows used; rows without case weight do not count if all rows are in memory."""
        weights, n_rows = self.model.weights, fitted_rows(self.model).n_rows
        some_at_hand = n_rows != self.model.design.n_rows
        return int(n_rows if weights is None or some_at_hand else np.count_nonzero(weights))

    def coef(self) -> pd.Series:
        """Coefficients: posterior means, or point estimates.

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
        from bayesvb.results.summary import coef

        return coef(self)

    def vcov(self) -> pd.DataFrame:
        """Covariance of the coefficients in the draws, with ``fit.covariance``.

        Returns
        -------
        pandas.DataFrame
            Rows and columns as in ``coef``; NaN of point estimates without standard errors.
        """
        from bayesvb.results.summary import vcov

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
        from bayesvb.results.pit import fitted

        return fitted(self)

    @checked
    def residuals(self, kind: str = "quantile") -> pd.Series | pd.DataFrame:
        """Residuals of the rows used.

        Parameters
        ----------
        kind : {"quantile", "response"}
            ``"quantile"``: normal scores of the leave-one-out PIT values, standard normal if the
            model is right whatever its noise, at most 4 in size. ``"response"``: the observed value
            less ``fitted``; for classes one for the observed class, less the probabilities.

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
        from bayesvb.results.pit import residuals

        return residuals(self, kind)

    def pit(self) -> Any:
        """Leave-one-out probability integral transform of each row's response.

        The predictive distribution function of the response, without the row, at its value: uniform
        if the model is right. For rows of a group it is conditional on the earlier rows of the
        group, which inform its membership, by the posterior of the fit; such values are independent
        of one another, too.

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
        """Observed frequency of events by their predicted probability, for held-out rows.

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
        from bayesvb.results.calibration import calibration

        return calibration(self)

    @checked
    def predict(
        self,
        data: object = None,
        kind: str | None = None,
        *,
        prob: float | None = None,
        q: Values | None = None,
        at: Values | None = None,
        n: int | None = None,
        seed: int | None = None,
        response: str | None = None,
        recalibrate: bool | str = False,
        observed: object = None,
        new_groups: str | None = None,
        new_levels: str = "error",
        supported: bool = False,
        transform: str | None = None,
        missing: str = "warn",
        extrapolation: str = "warn",
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data, with the data's index.

        Parameters
        ----------
        data : table, optional
            By default the rows used in the fit.
        kind : str, optional
            ``"mean"``, ``"sd"``, ``"interval"`` (``prob``), ``"quantile"`` (``q``), ``"cdf"``
            (``at``), ``"density"`` (``at``), ``"component"`` or ``"draws"`` (``n``, ``seed``); for
            discrete responses ``"probability"`` of the values ``at``, by default 1; for classes
            ``"probability"`` (``prob``, ``n``), ``"class"`` or ``"component"``. The default is the
            mean, for classes the probability.
        prob : float, optional
            Probability of the central interval, by default 0.89; for classes only if given.
        q : float or sequence of float, optional
            Probabilities of the quantiles; by default 0.05, 0.5 and 0.95.
        at : float, sequence of float or Series, optional
            Values of the response; a Series gives every row its own.
        n, seed : int, optional
            Number of draws and their seed.
        response : str, optional
            Which response, if there are several.
        recalibrate : bool or {"jackknife+"}
            True: quantiles, intervals, cdf and density are calibrated on average over rows by the
            leave-one-out PIT values (``Recalibration``). ``"jackknife+"``: intervals from the fit
            without each row, which cover with at least ``2 prob - 1`` whatever the true
            distribution. With ``group``, True holds out whole groups: predictions are calibrated on
            average over rows of new groups.
        observed : table, optional
            Of a model with ``group``: rows of the same groups whose responses are known, as the
            first visits of a subject. Components then have the probabilities that these leave
            them; a group without any has the weights of its covariates, as all have otherwise.
        new_groups : {"marginal", "typical"}, optional
            A group of ``(x | g)`` that was not in the data of the fit. ``"marginal"``: predictions
            integrate over the distribution of groups, so that intervals contain the variance
            between groups. ``"typical"``: the effect of the group is zero. The default is
            ``"marginal"``, with a warning if every group is new: labels may be written differently.
            ``"sample"`` and ``"population"`` are older names of the two.
        new_levels : {"error", "missing", "population"}
            A level of another column that was not in the data. ``"error"``: a DataError.
            ``"missing"``: the row counts as one with a missing value. ``"population"``: average of
            rows over the known levels. Unless it is an error, rows that are infinite, or in which a
            transform is not defined, count as missing too: no row prevents the prediction of the
            others.
        supported : bool
            Add a column ``supported``: whether the components that determine a prediction have rows
            of the fit nearby; see ``docs/intervals.md``.
        transform : {"inverse", "exp", "expm1", "exp2", "exp10", "expit"}, optional
            Predict this function of the response: ``"inverse"`` is the inverse of the
            transformation in the formula, ``exp`` of ``log(y)`` and ``exp - 1`` of ``log(y + 1)``.
            Quantiles, intervals, draws, densities and ``at`` refer to the result, exactly. Its mean
            and sd are exact given the parameters; of these the median over the draws is returned,
            as their average is infinite after logarithms.
        missing : {"warn", "keep", "raise"}
            Rows that lack a value are NaN in the result, with a warning that counts them and names
            the columns, or without; or they are refused.

        extrapolation : {"warn", "keep"}
            Warn (``bayesvb.errors.ExtrapolationWarning``) if more than 10% of the new rows have a
            numeric covariate outside the range in the fit by more than 20% of that range, or not.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            In the units of the formula's response, of ``log(y)`` if the formula says so, unless
            ``transform`` is given; the name of the Series, or of the columns, says which.

        Raises
        ------
        DataError
            For an unknown kind or option, levels that are not in the data of the fit, or values
            that are missing, with ``missing="raise"``.
        """
        from bayesvb.results.back_transformation import asked_for, named_by_unit
        from bayesvb.results.extrapolation import POLICIES, warn_beyond
        from bayesvb.results.groups import predict_with
        from bayesvb.results.local_support import with_support

        check_choice("missing", missing, OF_NEW_ROWS)
        check_choice("extrapolation", extrapolation, POLICIES)
        if data is not None:
            self.model.design.missing_in(data).tell(missing)
        kind = kind or self.model.response.targets[0]
        fit = self._with_unseen(new_groups, new_levels)
        options = asked_for(self, PredictionOptions(prob, q, at, n, seed, response), transform)
        if observed is not None:
            prediction = predict_with(fit, data, kind, options, observed, recalibrate=recalibrate)
        else:
            prediction = self._predicted_by(fit, data, kind, options, recalibrate=recalibrate)
        if data is not None and extrapolation == "warn":
            warn_beyond(self.model.design, data)
        prediction = named_by_unit(self, prediction, kind, transform, response)
        return with_support(fit, data, prediction) if supported else prediction

    def _predicted_by(
        self,
        fit: Fit,
        data: object,
        kind: str,
        options: PredictionOptions,
        *,
        recalibrate: bool | str,
    ) -> pd.Series | pd.DataFrame:
        """Prediction by the fit that knows what to make of unseen levels."""
        if recalibrate is not False:
            from bayesvb.results.calibration import JACKKNIFE, check_recalibrated, jackknife_plus

            if recalibrate == JACKKNIFE:
                return jackknife_plus(fit, data, kind, options)
            check_recalibrated(self, recalibrate, kind)
            names = self.model.design.response_names
            number = names.index(options.response) if options.response in names else 0
            options = replace(options, recalibration=self.recalibrations[number])
        elif options.transformation is not None:
            from bayesvb.results.back_transformation import MOMENTS, moment

            if kind in MOMENTS:
                return moment(fit, data, kind, options)
        return fit.model.predictions(fit, data, kind, options)

    @checked
    def log_density(
        self,
        data: object = None,
        *,
        jacobian: bool = False,
        new_groups: str | None = None,
        new_levels: str = "error",
    ) -> pd.Series:
        """Log predictive density of each row's observed response(s); NaN where one is missing.

        It is the density of the response as written in the formula: of ``log(y)``, not of ``y``.
        The name of the Series states it. With ``jacobian=True`` it is the density of ``y``, as in
        ``bvb.compare``. ``new_groups`` and ``new_levels`` as of ``predict``.
        """
        fit = self._with_unseen(new_groups, new_levels)
        log_density = fit.model.log_density(fit, data)
        if not jacobian:
            return log_density
        from bayesvb.results.back_transformation import data_scale

        return data_scale(fit, data, log_density)

    @checked
    def responsibilities(
        self, data: object = None, *, new_groups: str | None = None, new_levels: str = "error"
    ) -> pd.DataFrame:
        """Probability of each component given the observed row, or all rows of the group.

        Of the rows used in the fit, or of other data with the response. ``new_groups`` and
        ``new_levels`` as of ``predict``.
        """
        fit = self._with_unseen(new_groups, new_levels)
        return fit.model.responsibilities(fit, data)

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
        ``new_levels`` leaves complete. Without their number of trials, rows are one trial.
        """
        fit = self._with_unseen(new_groups, new_levels)
        return fit.model.predictive(fit, data, response)

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

        A DataError if ``draws`` is larger than the number of draws of the fit. ``new_groups`` and
        ``new_levels`` as in ``predict``; rows are those that ``new_levels`` leaves complete.
        """
        fit = self._with_unseen(new_groups, new_levels)
        return np.asarray(fit.model.weights_at(fit, data, draws))

    def _with_unseen(self, new_groups: str | None, new_levels: str) -> Fit:
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

    def classification_table(self) -> pd.DataFrame:
        """Certainty of the most likely component of rows, or of groups of rows.

        Returns
        -------
        pandas.DataFrame
            One row per component: number of ``rows`` (or ``groups``) for which it is the most
            probable, their ``percent`` of all, and, in columns named by the components, the mean
            probability of each component among them: near one on the diagonal if components are
            well separated. ``attrs["relative_entropy"]`` is 1 if all memberships are certain, 0 if
            all are equal.

        Raises
        ------
        DataError
            If the model has no components.
        """
        from bayesvb.results.summary import modal_table

        return modal_table(self)

    def waic(self) -> Any:
        """Widely applicable information criterion, as ArviZ's result object."""
        from bayesvb.evaluation.elpd import elpd_data
        from bayesvb.results.criteria import waic

        return elpd_data(waic(self))

    @checked
    def loo(
        self, method: str | None = None, *, groups: object = None, corrected: bool = False
    ) -> Any:
        """Leave-one-out cross-validation, as ArviZ's result object.

        Parameters
        ----------
        method : {"linear-response", "exact", "psis", "folds"}, optional
            ``"linear-response"``: the posterior without each row, with a first-order approximation
            of the indirect effect of the other rows, without draws; the few rows with larger
            changes are refitted. ``"exact"`` refits without every row. ``"psis"``: ratios of
            likelihoods over mean-field draws, which are wrong by nats if components are
            superfluous. ``"folds"``: five-fold cross-validation, the default for networks, in which
            a single row changes the memberships of others.
        groups : str or array of shape (rows,), optional
            Hold out all rows of a subject, a site or a block together: a column that the formula
            reads, or one label per row.
        corrected : bool
            With ``"psis"``, weigh draws by the ratio of the exact to the approximate posterior as
            well: the Pareto k of a row then judges both.

        Returns
        -------
        ELPDData
            Of more than 20,000 rows, a random sample of 5,000 is held out; the others lose the
            sample's average.

        Raises
        ------
        DataError
            For a method that the model does not have, or groups that do not exist. Without a
            method, if the fit stopped before it converged: a first-order approximation would be
            wrong, and most rows would need a refit.

        References
        ----------
        Giordano, Stephenson, Liu, Jordan, Broderick (2019), A Swiss army infinitesimal jackknife,
        AISTATS. Vehtari, Gelman, Gabry (2017), arXiv:1507.04544, for ``"psis"``.
        """
        from bayesvb.evaluation.elpd import elpd_data
        from bayesvb.results.criteria import check_finished, loo

        if method is None and not corrected:
            check_finished(self)
        return elpd_data(loo(self, method=method, groups=groups, corrected=corrected))

    @checked
    def check(
        self, *, groups: object = None, order: object = None, only: object = None
    ) -> pd.DataFrame:
        """Grade of every check of the fit, with its remedy, as in the report.

        Does the model fit the data (group ``"fit"``)? Tests of leave-one-out predictions against
        covariates, predictions, row order, and shape, with p-values adjusted for their number
        (Holm): at most 5 of 100 right fits get a ``"problem"``. Was it computed well
        (``"computation"``)? Would least squares, or multinomial regression, predict better
        (``"accuracy"``)?

        Parameters
        ----------
        groups : str or sequence, optional
            Rows that belong together, by a column that the formula reads or a label per row:
            whether they are similar is tested too.
        order : str or sequence, optional
            Order of the rows, a column that the formula reads or a value per row: autocorrelation
            along it is then a problem and not a note. A column of dates in the formula orders rows
            without being named here.
        only : str or sequence of str, optional
            Groups of checks that are computed: ``"fit"``, ``"computation"``, ``"accuracy"``; by
            default all three. P-values are adjusted for the tests that are made.

        Returns
        -------
        pandas.DataFrame
            Index check; columns group, grade (``"ok"``, ``"note"``, ``"problem"``), number, measure
            (meaning of the number), p_value (adjusted; NaN if the check is not a test), threshold,
            remedy and edits. ``attrs["verdict"]`` is the worst grade. Edits are the changes that
            the remedy names, as data, alternatives of one another: each has ``options`` of the
            model, ``arguments`` of its fit, and ``formula(fit.model)``.

        Raises
        ------
        DataError
            If the groups or the order do not have one label per row, or the group of checks does
            not exist.
        """
        from bayesvb.results.checks.table import check

        return check(self, groups=groups, order=order, only=only)

    @checked
    def with_covariance(self, covariance: str, *, cluster: object = None) -> Fit:
        """Copy of the fit with other draws, for everything that is computed from draws.

        Parameters
        ----------
        covariance : {"auto", "linear-response", "mean-field", "importance", "exact", "robust"}
            ``"auto"``: the default of ``model.fit``. ``"importance"``: smoothed importance weights,
            which correct the approximation; a DataError if their Pareto k is above 0.7 or too few
            draws have weight. ``"exact"``: importance sampling, else chains by parallel tempering
            or Hamiltonian Monte Carlo, for few rows; see ``docs/intervals.md``. ``"robust"``: from
            the change of the fit without each row or cluster (infinitesimal jackknife), valid also
            if the model is wrong or rows of a cluster are correlated; intervals use a Student t
            with one degree of freedom less than there are clusters.
        cluster : str or array of shape (rows,), optional
            With ``"robust"``, label of correlated rows, as of a subject or a site: a column that
            the formula reads, or one label per row. By default every row is its own cluster.

        Raises
        ------
        DataError
            If the covariance is not available, or the labels are none of clusters.

        References
        ----------
        Giordano, Broderick (2024), The Bayesian infinitesimal jackknife for variance,
        arXiv:2305.06466. Cameron, Miller (2015), A practitioner's guide to cluster-robust
        inference, Journal of Human Resources 50(2), for the degrees of freedom.
        """
        from bayesvb.results.stacking import with_covariance

        return cast(Fit, with_covariance(self, covariance, cluster=cluster))

    @checked
    def summary(
        self,
        prob: float = PROB,
        *,
        covariance: str | None = None,
        cluster: object = None,
        robust: bool = False,
    ) -> pd.DataFrame:
        """Summary table: a row for each coefficient, noise standard deviation, and share.

        Parameters
        ----------
        prob : float
            Probability of the equal-tailed intervals.
        covariance : str, optional
            As in ``with_covariance``; by default the fit's own. ``attrs`` of the table name it.
        cluster : str or array of shape (rows,), optional
            As in ``with_covariance``, for ``covariance="robust"``.
        robust : bool
            Median and median absolute deviation of the draws (times 1.48, the standard deviation of
            a normal) instead of mean and standard deviation, which depend on a few draws if a
            component has few rows, or a prior scale is learned from one coefficient.

        Returns
        -------
        pandas.DataFrame
            Index (part, component, term), columns mean, sd (median and mad if ``robust``), lower,
            upper and p_positive, the posterior probability of a coefficient to be positive; of
            draws in several chains ``r_hat`` and ``ess_bulk`` as well. Coefficients on a
            logarithmic scale have their exponential: ``odds_ratio`` of ``family="bernoulli"``.
        """
        from bayesvb.data.line_width import PrintedTable
        from bayesvb.results.summary import coefficient_table

        is_default = covariance is None and cluster is None
        fit = (
            self
            if is_default
            else self.with_covariance(covariance or self.covariance, cluster=cluster)
        )
        table = coefficient_table(fit, prob, robust=robust)
        del table.attrs["robust"]  # of what is printed
        named = table.rename(columns={"mean": "median", "sd": "mad"}) if robust else table
        printed = PrintedTable(named)
        printed.attrs = table.attrs
        return printed

    def influence(self) -> pd.DataFrame:
        """Change of the fit without each row, by a first-order approximation.

        Returns
        -------
        pandas.DataFrame
            Index of the rows used. ``cooks_distance``: squared change of all coefficients together,
            by their covariance and per coefficient. ``leverage``: derivative of the row's
            predictive mean in its own response; their sum is the effective number of parameters.
            ``prediction``: largest change of a conditional mean, in its standard deviations. Then,
            for every parameter of ``summary``, its change in its standard deviations; the row is
            removed with its whole case weight. If restarts are combined, the one with the largest
            weight is used. In a model with ``group`` a row is a whole group, which has no leverage
            (NaN).

        Raises
        ------
        DataError
            If the model has no linear response.

        References
        ----------
        Cook (1977), Detection of influential observation in linear regression, Technometrics
        19(1). Wei, Hu, Fung (1998), Generalized leverage and its applications, Scandinavian
        Journal of Statistics 25(1). Giordano, Stephenson, Liu, Jordan, Broderick (2019), A Swiss
        army infinitesimal jackknife, AISTATS.
        """
        from bayesvb.results.influence import influence

        return influence(self)

    @checked
    def variance_components(self, *, prob: float = PROB) -> pd.DataFrame:
        """Standard deviations and correlations of group-level effects, and shares of the variance.

        Quantities that depend on the covariates of slopes, such as the standard deviation of the
        levels of ``(x | g)``, are given at zero and at the means of these covariates.

        - ``"sd"``: of each effect over groups, and of the noise, in units of the response or of its
          link (of a slope per unit of its covariate).
        - ``"correlation"``: of two effects of a group, where they have a full covariance.
        - ``"icc"``: intraclass correlation, the share of the variance given the covariates.
        - ``"share"``: of the variance of the response over rows, with the part of the coefficients
          that all groups share.

        Binary responses and proportions have a latent response with logistic noise, of variance
        pi^2 / 3; counts have neither intraclass correlations nor shares.

        Parameters
        ----------
        prob : float
            Probability of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index (quantity, term, at), ``at`` the values of covariates or empty; posterior mean
            ``estimate`` and central interval ``lower``, ``upper``.

        Raises
        ------
        DataError
            If the mean has no group-level effects, or their standard deviations are fixed, or
            there are several components or responses.

        References
        ----------
        Nakagawa, Johnson, Schielzeth (2017), The coefficient of determination R2 and intra-class
        correlation coefficient from generalized linear mixed-effects models revisited and
        expanded, J. R. Soc. Interface 14: 20170213.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("cps1985")
        >>> model = bvb.DensityRegression("log(wage) ~ (1 | sector)", data, n_components=1)
        >>> model.fit(seed=1).variance_components()["estimate"]["icc"].round(1).tolist()
        [0.1]
        """
        from bayesvb.results.variance_components import variance_components

        return variance_components(self, prob)

    def prior_sensitivity(self) -> pd.DataFrame:
        """Change of every parameter with every prior parameter, without a new fit.

        Returns
        -------
        pandas.DataFrame
            Index number (of the prior), part, component and term; ``value`` of the number, changes
            of the parameter where it is ``halved`` or ``doubled``, and the ``derivative`` per
            doubling, all in standard deviations of the parameter. Numbers on which the fit does not
            depend are omitted. If restarts are combined, the one with the largest weight is used.

        Raises
        ------
        DataError
            If the model has no linear response.

        References
        ----------
        Giordano, Broderick, Jordan (2018), Covariances, robustness, and variational Bayes, JMLR
        19(51), section 4.
        """
        from bayesvb.results.prior_sensitivity import prior_sensitivity

        return prior_sensitivity(self)

    @checked
    def prior_thresholds(self, prob: float = PROB) -> pd.DataFrame:
        """Value of each prior parameter at which the conclusion about an effect changes.

        Each number alone is moved by factors up to 1,000 to either side. The effect of the other
        prior is computed in full, the answer of the rows to first order: confirm a threshold that
        matters by a fit with that prior.

        Parameters
        ----------
        prob : float
            Probability of the intervals.

        Returns
        -------
        pandas.DataFrame
            Index part, component, term and number (of the prior); ``value`` of the number;
            ``zero_in_interval``, its nearest value at which the interval of the coefficient
            includes zero (``value`` itself if it does already), and ``sign_changes``, at which the
            posterior mean is zero. NaN if no factor up to 1,000 does that. If restarts are
            combined, the one with the largest weight is used.

        Raises
        ------
        DataError
            If the model has no linear response.

        See Also
        --------
        prior_sensitivity : Changes with numbers that are halved or doubled.

        References
        ----------
        Giordano, Broderick, Jordan (2018), Covariances, robustness, and variational Bayes, JMLR
        19(51), section 4.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("mcycle")
        >>> model = bvb.DensityRegression("accel ~ times", data, n_components=1)
        >>> table = model.fit(seed=1).prior_thresholds()
        >>> table.loc[("mean", 1, "times", "coefficient_sd"), "zero_in_interval"].round(2).item()
        0.04
        """
        from bayesvb.results.prior_thresholds import prior_thresholds

        return prior_thresholds(self, prob)

    @checked
    def update(
        self,
        data: object,
        *,
        weights: object = None,
        forgetting: float = 1.0,
        new_starts: int | None = None,
        tol: float = 1e-3,
        max_iter: int = 2000,
    ) -> Fit:
        """Fit updated with further rows; earlier rows are not read again.

        The fit keeps sums over rows, and new sums are added to them. With one component, and for
        `BayesianPCA` without missing values, the result is the fit of all rows in these units;
        otherwise components, and latent vectors or scores, of the earlier rows stay unchanged. Up
        to 10,000 rows of networks are kept in memory and read again, which ``new_starts=0`` omits.
        Units and levels are taken from this fit.

        Parameters
        ----------
        data : table
            Rows with the columns of the formula, its response included, in memory or read in
            blocks. Rows with missing values are dropped.
        weights : str or sequence of float, optional
            Case weights, as of the model.
        forgetting : float
            Weight of all earlier rows from now on, at most 1: 0.9 discounts them by a tenth at each
            update, for processes that drift.
        new_starts : int, optional
            New starts, for components that earlier rows did not need. If all rows are in memory,
            the larger ELBO wins. Otherwise starts see the rows of the first fit and the new ones,
            or the new ones alone with ``forgetting``: if the ELBO of these rows alone is larger
            than their part of the ELBO of the fit, new starts win, and all other rows are
            forgotten. Components then have new labels. By default 4 for mixtures and networks of up
            to 4,000 rows that are all in memory, and for `BayesianPCA` without missing values.
        tol : float
            Stop when all further sweeps together would raise the bound by less than this.
        max_iter : int
            Passes over the new rows.

        Raises
        ------
        DataError
            For levels or groups that were not there, or a fit whose statistics do not stand for its
            rows.

        References
        ----------
        Broderick, Boyd, Wibisono, Wilson, Jordan (2013), Streaming variational Bayes, NeurIPS 26.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data[:200], n_components=2)
        >>> later = model.fit(seed=1, restarts=2).update(data[200:])
        >>> later.predict({"eruptions": [2.0, 4.5]}).round(-1).tolist()
        [50.0, 80.0]
        """
        from bayesvb.estimators.updating import updated

        update = updated(
            self,
            data,
            weights=weights,
            forgetting=forgetting,
            new_starts=new_starts,
            tol=tol,
            max_iter=max_iter,
        )
        return cast(Fit, update)

    @checked
    def to_stan(self, folder: str | Path) -> dict[str, Path]:
        """Write the model as a Stan program, with its data and the posterior of this fit.

        For `DensityRegression` of one response of any ``family`` but student and sequential, with a
        softmax gate, priors of fixed scales, and no further part of the formula. Density and
        parameters match ``model.log_joint``: they belong to the standardised data, with the names
        of ``fit.draws``.

        Parameters
        ----------
        folder : path
            Made if it is not there.

        Returns
        -------
        dict of str to Path
            ``model.stan``, ``model.data.json`` and ``model.summary.json``: names, means and
            standard deviations of the parameters, in the form of posteriordb's reference
            posteriors. Components are not ordered in the program: chains may exchange their labels.

        Raises
        ------
        DataError
            If a part of the model has no program; the message names it.

        Examples
        --------
        >>> import bayesvb as bvb, tempfile
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> files = model.fit(seed=1).to_stan(tempfile.mkdtemp())
        >>> files["model.stan"].read_text().splitlines()[0]
        'data {'
        """
        from bayesvb.estimators.stan_programs import write_stan

        return write_stan(self, folder)

    def invariance(self) -> pd.DataFrame:
        """Whether the fit depends on units, reference levels or the order of the rows.

        The model is fitted again, as this fit was, to the rows in other forms that do not change
        it: in another order; with the numeric columns shifted, or in other units; with the levels
        of factors the other way round; with the response in other units. Columns within functions
        to which their unit matters, such as ``log(x)``, stay. Later reports state the result.

        Returns
        -------
        pandas.DataFrame
            Index change. ``elbo``: change of the ELBO. ``mean_log_density`` and ``largest``: mean
            and largest absolute change of the log predictive density of the rows used, in nats.
            ``moved``: whether the root mean square of these changes is above 0.01 nats. Then the
            prior is not invariant (``standardize=False``), or another initialisation has found
            another optimum: use more restarts, or ``combine="stack"``.

        Raises
        ------
        DataError
            If not all rows are in memory.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("cps1985").head(60)
        >>> model = bvb.DensityRegression("wage ~ education + gender", data, n_components=1)
        >>> model.fit(seed=1).invariance()["moved"].any().item()
        False
        """
        from bayesvb.estimators.invariance import invariance

        return invariance(self)

    @checked
    def refit(self, formula: str | None = None, data: object = None, **changes: object) -> Fit:
        """Fit the model again with another formula, other data or other arguments.

        Parameters
        ----------
        formula : str, optional
            Change of the formula, in which the dot stands for the present terms: ``"~ . + z"`` adds
            a term, ``"~ . - x"`` removes one, ``"log(y) ~ ."`` changes the response, ``"~ . |
            gating(x)"`` the gating. Parts that are not written stay unchanged.
        data : table, optional
            By default the rows of this fit, which have only the columns that its formula reads.
        **changes
            Arguments of the model, as ``n_components=3``, and of ``model.fit``, as ``seed=2``. All
            others are taken from this fit; default priors are recomputed for the new model.

        Returns
        -------
        Fit
            Without later changes of this fit: ``prune``, ``update``, ``with_covariance``.

        Raises
        ------
        FormulaError, DataError
            If the change cannot be read, a column is not available, or an argument is wrong.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ 1", data, n_components=1)
        >>> fit = model.fit(seed=1).refit("~ . + eruptions", data)
        >>> fit.coef()["mean"].round(0).tolist()
        [33.0, 11.0]
        """
        from bayesvb.estimators.refitting import refit

        result: Fit = refit(self, formula, data, changes)
        return result

    @checked
    def hypothesis(self, statement: str | Sequence[str], *, prob: float = PROB) -> pd.DataFrame:
        """Evaluate statements about coefficients, such as ``"x > z"``.

        Parameters
        ----------
        statement : str or sequence of str
            Combinations of coefficients by ``+ - * /``, ``exp`` and ``log``, alone or on both sides
            of ``>``, ``<`` or ``=``. A coefficient has the name of its term in ``summary``, of
            levels also without ``T.``: ``gender[female]``, ``x:gender[female]``. Names in
            backquotes may have any letters; ``x[2]`` is the coefficient of component 2,
            ``gating.x[2]`` a coefficient of another part.
        prob : float
            Probability of the central interval.

        Returns
        -------
        pandas.DataFrame
            One row per statement: ``estimate`` (posterior mean), ``sd``, ``lower`` and ``upper`` of
            the left side minus the right side, and the posterior ``probability`` of a statement
            with ``>`` or ``<``. It is a share of the draws: with 1,000 of them its standard error
            is at most 0.016.

        Raises
        ------
        DataError
            If the statement cannot be read, names no coefficient, or the fit has no draws.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> fit = model.fit(seed=1)
        >>> fit.hypothesis(["eruptions > 10", "eruptions > 20"])["probability"].round(2).tolist()
        [0.99, 0.0]
        """
        from bayesvb.results.hypotheses import hypothesis_table

        return hypothesis_table(self, statement, prob)

    @checked
    def r2(self, *, loo: bool = False, prob: float = PROB) -> pd.DataFrame:
        """Bayesian R2: variance of the fitted means divided by the predictive variance.

        Parameters
        ----------
        loo : bool
            Leave-one-out R2 instead: 1 minus the variance of the residuals from means given all
            other rows, divided by the variance of the response. Draws are of Bayesian bootstrap
            weights of the rows.
        prob : float
            Probability of the central interval.

        Returns
        -------
        pandas.DataFrame
            One row per response: ``estimate``, ``sd``, ``lower``, ``upper``. By default it is
            in-sample: compare models by ``fit.loo()``. A mixture can describe a response well, with
            a small R2, when its components overlap.

        Raises
        ------
        DataError
            If the response has no variance, or not all rows are in memory; with ``loo=True`` also
            if responses are censored.

        References
        ----------
        Gelman, Goodrich, Gabry and Vehtari (2019), R-squared for Bayesian regression models, The
        American Statistician 73(3), equation 3.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> model.fit(seed=1).r2()["estimate"].round(2).tolist()
        [0.81]
        """
        from bayesvb.results.bayesian_r2 import r2_table

        return r2_table(self, loo, prob)

    @checked
    def downdate(
        self, data: object, *, weights: object = None, tol: float = 1e-3, max_iter: int = 2000
    ) -> Fit:
        """Fit without these rows, from their sums only: the influence of a site, or of a batch.

        A site that shares a fit with others calls it with its own rows and obtains the fit of the
        other sites at once; no row of another site is needed. With one component, and for
        `BayesianPCA` without missing values, the result is the fit of the other rows in the units
        of this one. Otherwise the other rows stay in their components, and the error grows with the
        number of removed rows.

        Parameters
        ----------
        data : table
            Rows that the fit has seen.
        weights : str or sequence of float, optional
            Their case weights.
        tol, max_iter
            As of ``update``.

        Returns
        -------
        Fit
            Compare its ``summary()`` or predictions with this fit.

        Raises
        ------
        DataError
            For a fit whose statistics do not stand for its rows, or rows that it cannot have seen.

        See Also
        --------
        update : The inverse. influence : Single rows, where all are in memory.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> without = model.fit(seed=1).downdate(data[200:])
        >>> without.model.source.n_rows
        200
        """
        from bayesvb.estimators.downdating import downdated

        reduced = downdated(self, data, weights=weights, tol=tol, max_iter=max_iter)
        return cast(Fit, reduced)

    @checked
    def save(self, path: str | Path) -> Path:
        """Write the fit and its data to one netCDF file, which ``bayesvb.load`` reads."""
        from bayesvb.results.saving import save

        return save(self, path)

    @partial(checked, units=check_units)
    def with_units(self, units: Mapping[str, str]) -> Fit:
        """Copy of the fit whose plots and reports give these columns their units.

        Not needed if ``data.attrs["units"]`` had them before the fit. A file keeps them.

        Parameters
        ----------
        units : mapping of str to str
            Units by column of the data; those that are known of other columns stay.

        Raises
        ------
        DataError
            If the formula does not use a column, or a unit is not a text.

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

    def _with_design(self, design: Design) -> Fit:
        """Copy of the fit for a model with this design."""
        return replace(self, model=with_fields(self.model, design=design))

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
        """Write a self-contained HTML report about this fit, or its content in another format.

        ``format`` is ``"html"``, ``"markdown"``, ``"json"`` or ``"png"`` (the first screen as a
        picture, with Chromium or Chrome), by default from the ending of the path.
        ``edition="short"`` ends after two printed pages, and ``"full"`` opens the sections that
        follow. ``question`` is the heading, ``along`` the covariate of the main result and the
        picture, ``labels`` has labels by column. ``source`` names the source of the data, ``notes``
        are remarks of the author. With ``calibration``, a result of ``bayesvb.sbc``, there is a
        section on it; see ``with_sbc``.
        """
        from bayesvb.reports import report

        written: Path = report(
            self,
            path,
            format=format,
            edition=edition,
            question=question,
            along=along,
            labels=labels,
            source=source,
            notes=notes,
            calibration=calibration,
        )
        return written

    @partial(checked, data=check_text, weights=check_text)
    def code(self, data: str | None = None, *, weights: str | None = None) -> str:
        """Lines of Python that make this fit again, with the same numbers.

        Parameters
        ----------
        data : str, optional
            Code of the data frame, such as ``'pandas.read_csv("data.csv")'``; by default the lines
            use a variable ``data``.
        weights : str, optional
            Column of the case weights; by default the lines use a variable ``weights``.

        Raises
        ------
        DataError
            If ``data`` is not an expression of Python.

        See Also
        --------
        shell : The same fit on the command line.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> model = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful"))
        >>> print(model.fit(seed=1).code("bvb.datasets.load('faithful')"))
        import bayesvb as bvb
        <BLANKLINE>
        data = bvb.datasets.load('faithful')
        model = bvb.Normal(
            'waiting ~ 1',
            data,
        )
        fit = model.fit(restarts=1, draws=1000, seed=1)
        <BLANKLINE>
        """
        from bayesvb.results.fit_call import python_code

        return python_code(self, data, weights)

    @partial(checked, data=check_text, weights=check_text)
    def shell(self, data: str = "data.csv", *, weights: str | None = None) -> str:
        """Command that makes this fit again, with the same numbers.

        Parameters
        ----------
        data : str
            File of the data, or name of a shipped data set.
        weights : str, optional
            Column of the case weights, if the fit has any.

        Raises
        ------
        DataError
            If the command line has no option for an argument, or for a later change of the fit, or
            the column of the weights is not given.

        See Also
        --------
        code : The same fit in Python, with any arguments.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> data = bvb.datasets.load("faithful")
        >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=1)
        >>> print(model.fit(seed=1).shell("faithful"))
        bayesvb fit 'waiting ~ eruptions' faithful --components 1 --restarts 1 --seed 1
        """
        from bayesvb.estimators.shell_line import shell_line

        return shell_line(self, data, weights)

    @checked
    def report_text(
        self, *, along: str | None = None, labels: Mapping[str, str] | None = None
    ) -> str:
        r"""Methods and results in two paragraphs of plain text, for a paper.

        The second contains the main result of the report: how the response changes with the
        covariate of the largest effect, with intervals; then the density of held-out rows, and the
        checks with problems or notes.

        Parameters
        ----------
        along : str, optional
            Covariate of the first sentence, instead of the one with the largest effect.
        labels : mapping of str to str, optional
            Labels by column, instead of names.

        Raises
        ------
        DataError
            If the covariate, or the column of a label, does not exist.

        Examples
        --------
        >>> import bayesvb as bvb
        >>> model = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful"))
        >>> methods, results = model.fit(seed=1).report_text().split("\n\n")
        >>> methods.split(":")[0], results[:16]
        ('One Gaussian sample', 'The fit fails th')
        """
        from bayesvb.reports.paragraphs import paragraphs

        return without_controls(str(paragraphs(self, along, labels)))

    def __str__(self) -> str:
        from bayesvb.results.printing import fit_text

        return without_controls(fit_text(self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        from bayesvb.results.printing import text_html

        return text_html(str(self))
