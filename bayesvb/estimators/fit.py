"""The public result of a fit: the posterior, and the methods that tell of it and use it."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

from bayesvb.argument_checks import check_choice, checked
from bayesvb.distributions.intervals import PROB
from bayesvb.distributions.prediction import PredictionOptions
from bayesvb.estimators.rows_told import AbstractRowsFit
from bayesvb.formula.missing import OF_NEW_ROWS
from bayesvb.results.other_names import meant

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.distributions.prediction import Values
    from bayesvb.distributions.recalibration import Recalibration


@dataclass(frozen=True, eq=False, repr=False)
class Fit(AbstractRowsFit):
    """A fitted model, in the units of the data; components are numbered by share, largest first.

    Intervals have the linear-response covariance where there is one: a mean-field posterior is
    narrower than the exact one. The fields are those of ``AbstractFit``.
    """

    if not TYPE_CHECKING:  # what is not there is an error for type checkers too

        def __getattr__(self, name: str) -> Any:
            """Raise an error that says what the name of another package is called here."""
            if hasattr(type(self), name):  # a property failed: say why, not that it is missing
                return object.__getattribute__(self, name)
            there = None if name.startswith("_") else meant(name, dir(type(self)))
            hint = f"\nhint: write {there}" if there else ""
            raise AttributeError(f"a fit has no attribute {name!r}{hint}", name=name, obj=self)

    @property
    def posterior(self) -> Any:
        """Draws in the data's units as an xarray Dataset (chain, draw, ...)."""
        from bayesvb.results.arviz_groups import posterior_of

        return posterior_of(self)

    @property
    def idata(self) -> Any:
        """ArviZ object: InferenceData on ArviZ 0.x, DataTree on ArviZ 1.x.

        Made anew on each access. Groups with one number per draw and row are left out beyond 1 GiB.
        """
        from bayesvb.results.arviz_groups import arviz_object

        return arviz_object(self)

    @property
    def khat(self) -> float:
        """Pareto k of the approximation: below 0.5 good, to 0.7 usable, NaN if it is exact."""
        from bayesvb.results.importance import pareto_k

        return pareto_k(self)

    @cached_property
    def recalibrations(self) -> tuple[Recalibration, ...]:
        """Map of each response that puts predictions right on average over rows."""
        from bayesvb.results.recalibration import recalibrations

        return recalibrations(self)

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
        calibrated: bool | str = False,
        observed: object = None,
        new_groups: str | None = None,
        new_levels: str = "error",
        supported: bool = False,
        transform: str | None = None,
        missing: str = "warn",
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data, with the data's index.

        Parameters
        ----------
        data : table, optional
            The rows used in the fit if left out.
        kind : str, optional
            ``"mean"``, ``"sd"``, ``"interval"`` (``prob``), ``"quantile"`` (``q``), ``"cdf"``
            (``at``), ``"density"`` (``at``), ``"component"`` or ``"draws"`` (``n``, ``seed``);
            of classes ``"probability"`` (``prob``, ``n``), ``"class"`` or ``"component"``.
            The mean, or of classes the probability, if left out.
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
        calibrated : bool or {"jackknife+"}
            True: quantiles, intervals, cdf and density put right on average over rows by the
            leave-one-out PIT values (``Recalibration``). ``"jackknife+"``: intervals from the fit
            without each row, which cover with at least ``2 prob - 1`` whatever the truth. Of a
            model with ``group`` True leaves out whole groups: right on average over rows of groups
            that were not seen.
        observed : table, optional
            Of a model with ``group``: rows of the same groups whose responses are known, as the
            first visits of a subject. Components then have the probabilities that these leave
            them; a group without any has the weights of its covariates, as all have otherwise.
        new_groups : {"marginal", "typical"}, optional
            A group of ``(x | g)`` that was not in the data of the fit. ``"marginal"``: predictions
            integrate over the distribution of groups, so that intervals contain the variance
            between groups. ``"typical"``: the effect of the group is zero. ``"marginal"`` if left
            out, with a warning where every group is new: labels may be written differently.
            ``"sample"`` and ``"population"`` are older names of the two.
        new_levels : {"error", "missing", "population"}
            A level of another column that was not there: a DataError, a row that counts as one
            with a missing value, or what rows are on average over the levels that were there.
            Unless it is an error, rows that are infinite, or in which a transform is not defined,
            count as missing too: no row keeps the others from being predicted.
        supported : bool
            Whether a column ``supported`` is to say if the components that a prediction leans on
            have rows of the fit nearby; see ``docs/intervals.md``.
        transform : {"inverse", "exp", "expm1", "exp2", "exp10", "expit"}, optional
            Predict this function of the response: ``"inverse"`` is the one that undoes the formula,
            ``exp`` of ``log(y)``. Quantiles, intervals, draws, densities and ``at`` are those of
            the result, exactly. Its mean and sd are exact given the parameters; of these the median
            over the draws, as their average is infinite after logarithms.
        missing : {"warn", "keep", "raise"}
            Rows that lack a value are NaN in the result, with a warning that counts them and names
            the columns, or without; or they are refused.

        Returns
        -------
        pandas.Series or pandas.DataFrame
            In the units of the formula's response, of ``log(y)`` if the formula says so, unless
            ``transform`` is given.

        Raises
        ------
        DataError
            For an unknown kind or option, levels that the fit never saw, or values that are
            missing, with ``missing="raise"``.
        """
        from bayesvb.results.back_transformation import asked_for
        from bayesvb.results.local_support import with_support
        from bayesvb.results.observed_groups import predict_with

        check_choice("missing", missing, OF_NEW_ROWS)
        if data is not None:
            self.model.design.missing_in(data).tell(missing)
        kind = kind or ("probability" if self.model.design.levels else "mean")
        told = self._with_unseen(new_groups, new_levels)
        options = asked_for(self, PredictionOptions(prob, q, at, n, seed, response), transform)
        if observed is not None:
            found = predict_with(told, data, kind, options, observed, calibrated=calibrated)
        else:
            found = self._predicted_by(told, data, kind, options, calibrated=calibrated)
        return with_support(told, data, found) if supported else found

    def _predicted_by(
        self,
        told: Fit,
        data: object,
        kind: str,
        options: PredictionOptions,
        *,
        calibrated: bool | str,
    ) -> pd.Series | pd.DataFrame:
        """Prediction by the fit that knows what to make of unseen levels."""
        from bayesvb.results.back_transformation import MOMENTS, moment
        from bayesvb.results.jackknife_plus import JACKKNIFE, jackknife_plus
        from bayesvb.results.recalibration import check_recalibrated

        if calibrated == JACKKNIFE:
            return jackknife_plus(told, data, kind, options)
        if calibrated is not False:
            check_recalibrated(self, calibrated, kind)
            names = self.model.design.response_names
            number = names.index(options.response) if options.response in names else 0
            options = replace(options, recalibration=self.recalibrations[number])
        elif options.transformation is not None and kind in MOMENTS:
            return moment(told, data, kind, options)
        return told.model.predictions(told, data, kind, options)

    def classification_table(self) -> pd.DataFrame:
        """How surely rows, or groups of rows, belong to their most likely component.

        Returns
        -------
        pandas.DataFrame
            One row per component: ``rows`` (or ``groups``) whose most likely one it is, their
            ``percent`` of all, and, in columns named by the components, the mean probability of
            each component among them: near one on the diagonal if they are told apart.
            ``attrs["relative_entropy"]`` is 1 if all memberships are sure, 0 if none says anything.

        Raises
        ------
        DataError
            If the model has no components.
        """
        from bayesvb.results.memberships import modal_table

        return modal_table(self)

    def waic(self) -> Any:
        """Widely applicable information criterion, as ArviZ's result object."""
        from bayesvb.results.criteria import waic

        return waic(self)

    @checked
    def loo(
        self, method: str | None = None, *, groups: object = None, corrected: bool = False
    ) -> Any:
        """Leave-one-out cross-validation, as ArviZ's result object.

        Parameters
        ----------
        method : {"linear-response", "exact", "psis", "folds"}, optional
            ``"linear-response"``: the posterior without each row, to first order in what the other
            rows answer, without draws; the few rows that change more are refitted. ``"exact"``
            refits without every row. ``"psis"``: ratios of likelihoods over draws, as ArviZ makes
            of ``idata``, which are nats off where components are superfluous. ``"folds"``: an
            ascent goes on without a fifth of the rows at a time, the default of networks, in which
            a row decides where others belong.
        groups : str or array of shape (rows,), optional
            Leave out all rows of a subject, a site or a block together: a column that the formula
            reads, or one label per row.
        corrected : bool
            With ``"psis"``, weigh draws by the ratio of the exact to the approximate posterior as
            well: the Pareto k of a row then judges both.

        Returns
        -------
        ELPDData
            Of more than 20 000 rows, 5 000 chosen at random are left out; the others lose what
            these lose on average.

        Raises
        ------
        DataError
            For a method that the model does not have, or groups that are none.

        References
        ----------
        Giordano, Stephenson, Liu, Jordan, Broderick (2019), A Swiss army infinitesimal jackknife,
        AISTATS. Vehtari, Gelman, Gabry (2017), arXiv:1507.04544, for ``"psis"``.
        """
        from bayesvb.results.criteria import loo

        return loo(self, method=method, groups=groups, corrected=corrected)

    @checked
    def check(self, *, groups: object = None, order: object = None) -> pd.DataFrame:
        """The verdict on the fit: every check with its grade and what to do, as in the report.

        Whether data are as the fit says (group ``"fit"``): tests on what each row would be
        predicted without itself, against covariates, predictions, row order and shape, their
        p-values adjusted for their number (Holm), so that of 100 right fits at most 5 get a
        ``"problem"``. Whether it was computed well (``"computation"``). Whether least
        squares, or multinomial regression, would do better (``"accuracy"``).

        Parameters
        ----------
        groups : str or sequence, optional
            Rows that belong together, by a column that the formula reads or a label per row:
            whether they are similar is tested too.
        order : str or sequence, optional
            What the rows are ordered by, a column that the formula reads or a value per row:
            autocorrelation along it is then a problem and not a note. A column of dates in the
            formula orders rows without being named here.

        Returns
        -------
        pandas.DataFrame
            Index check; columns group, grade (``"ok"``, ``"note"``, ``"problem"``), number,
            measure (what the number is), p_value (adjusted; NaN of what is no test), threshold
            and remedy. ``attrs["verdict"]`` is the worst grade.

        Raises
        ------
        DataError
            If the groups or the order are not one label per row.
        """
        from bayesvb.results.checks.table import check

        return check(self, groups=groups, order=order)

    @checked
    def with_covariance(self, covariance: str, *, cluster: object = None) -> Fit:
        """The same fit with other draws, for all that is made of draws.

        Parameters
        ----------
        covariance : {"linear-response", "mean-field", "importance", "exact", "robust"}
            ``"importance"``: drawn by smoothed importance weights, which makes up for what
            the approximation lacks; a DataError where their Pareto k is above 0.7 or too few draws
            have weight. ``"exact"``: importance sampling, else chains by parallel tempering or
            Hamiltonian Monte Carlo, for few rows; see ``docs/intervals.md``. ``"robust"``:
            by how the fit changes without each row or cluster (infinitesimal jackknife), right
            also where the model is wrong or rows of a cluster are alike; intervals are those of a
            Student t with one degree of freedom less than there are clusters.
        cluster : str or array of shape (rows,), optional
            With ``"robust"``, rows that are alike, a subject's or a site's: a column that the
            formula reads, or one label per row. Every row is its own cluster if left out.

        Raises
        ------
        DataError
            If the covariance is not to be had, or the labels are none of clusters.

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
        """One row per coefficient, noise and share.

        Parameters
        ----------
        prob : float
            Probability of the equal-tailed intervals.
        covariance : str, optional
            As in ``with_covariance``; the fit's own if left out. ``attrs`` of the table say it.
        cluster : str or array of shape (rows,), optional
            As in ``with_covariance``, for ``covariance="robust"``.
        robust : bool
            Median and median absolute deviation of the draws (times 1.48, the standard deviation
            of a normal) in place of mean and standard deviation, which a few draws decide where a
            component has hardly a row, or a prior scale is learned from one coefficient.

        Returns
        -------
        pandas.DataFrame
            Index (part, component, term), columns mean, sd (median and mad if ``robust``), lower,
            upper and p_positive, the posterior probability of a coefficient to be positive; of
            draws in several chains ``r_hat`` and ``ess_bulk`` as well.
        """
        from bayesvb.results.summary import coefficient_table

        own = covariance is None and cluster is None
        fit = self if own else self.with_covariance(covariance or self.covariance, cluster=cluster)
        table = coefficient_table(fit, prob, robust=robust)
        del table.attrs["robust"]  # of what is printed
        return table.rename(columns={"mean": "median", "sd": "mad"}) if robust else table

    def influence(self) -> pd.DataFrame:
        """How the fit would change without each row, the others answering to first order.

        Returns
        -------
        pandas.DataFrame
            Index of the rows used. ``cooks_distance``: squared change of all coefficients together,
            by their covariance and per coefficient. ``leverage``: derivative of the row's
            predictive mean in its own response; their sum is how many parameters the fit spends.
            ``prediction``: largest change of a conditional mean, in its standard deviations. Then,
            for every parameter of ``summary``, its change in its standard deviations; the row is
            left out with its whole case weight. Of combined restarts those of the heaviest. Of a
            model with ``group`` a row is a whole group, which has no leverage (NaN).

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

    def prior_sensitivity(self) -> pd.DataFrame:
        """How every parameter would change with every number of the prior, without a new fit.

        Returns
        -------
        pandas.DataFrame
            Index number (of the prior), part, component and term; ``value`` of the number, changes
            of the parameter where it is ``halved`` or ``doubled``, and the ``derivative`` per
            doubling, all in standard deviations of the parameter. Numbers that the fit does not
            depend on are left out. Of combined restarts those of the heaviest.

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
    def update(
        self,
        data: object,
        *,
        weights: object = None,
        forgetting: float = 1.0,
        tol: float = 1e-3,
        max_iter: int = 2000,
    ) -> Fit:
        """A new fit that has seen these rows too; none of the earlier ones is gone over again.

        What was learned is kept as sums over rows, and new sums are added to them: with one
        component the fit of all rows in these units, with several one in which the earlier rows
        stay where they were. Units, levels and labels are those of this fit.

        Parameters
        ----------
        data : table
            Rows with the columns of the formula, its response included, in memory or read in
            blocks. Those that lack a value are left out.
        weights : str or sequence of float, optional
            Case weights, as of the model.
        forgetting : float
            What all earlier rows count from now on, at most 1: 0.9 forgets a tenth of them at each
            update, for processes that drift.
        tol : float
            Stop when all further sweeps together would raise the bound by less than this.
        max_iter : int
            Passes over the new rows.

        Raises
        ------
        DataError
            For levels that were not there, or a fit whose statistics do not stand for its rows.

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

        found = updated(
            self, data, weights=weights, forgetting=forgetting, tol=tol, max_iter=max_iter
        )
        return cast(Fit, found)
