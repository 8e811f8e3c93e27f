"""Bayesian principal component analysis: a few hidden scores behind several variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Bool, Float
from scipy.special import logsumexp

from bayesvb.argument_checks import check_choice, check_count, checked
from bayesvb.data.blocks import Block
from bayesvb.data.line_width import PrintedTable
from bayesvb.data.partly_kept import holds_all_rows
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource, InMemorySource
from bayesvb.data.standardised_blocks import OBSERVED, gapped_block
from bayesvb.distributions.prediction import KINDS, PredictionOptions, predict
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError, DesignWarning, PriorError, warn
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.gaussian_mixture import filled
from bayesvb.estimators.model_rows import ModelRows, RowKind, RowOptions, model_rows
from bayesvb.estimators.priors import PcaPriors, check_priors
from bayesvb.estimators.row_scales import (
    VARIABLES,
    GappedScaling,
    block_with_gaps,
    gapped_scaling,
    without_constants,
)
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula, parse_formula
from bayesvb.models.pca.model import PcaStats, PrincipalComponents
from bayesvb.models.pca.prior import PcaPrior
from bayesvb.models.pca.scores import LatentPosterior
from bayesvb.models.pca.starts import PrincipalAxes
from bayesvb.numerics.arrays import DrawRows, RowVector
from bayesvb.results.all_rows import fitted_rows, is_sample
from bayesvb.results.base import AbstractFit, with_fields
from bayesvb.results.named_draws import HasDraws, NamedDraws, chunks, count
from bayesvb.results.summary import prior_frame
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

ROW_KINDS = ("scores", "scores-sd", "reconstruction", "impute", "density")
"""Predictions of a whole row; with ``response=`` every kind of one variable given the others."""


LOADINGS = ParameterText(
    symbol="w",
    meaning="change of each variable when the score of a component goes up by one, its standard "
    "deviation",
    heading="Loadings",
    caption="Change of each variable, in its units, when the score of a component goes up by one, "
    "its standard deviation",
)

CENTRE = ParameterText(
    symbol="m",
    meaning="mean of each variable",
    heading="Centre",
    caption="Mean of each variable, in units of the variable",
)

NOISE = ParameterText(
    symbol="σ",
    meaning="standard deviation of the residuals of the components",
    heading="Noise",
    caption="Standard deviation of the residuals of the components, in units of the variables",
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BayesianPCA(AbstractEstimator):
    r"""Principal components with uncertainty, whose number follows from the data.

    .. math:: t = W x + \mu + \epsilon, \quad x \sim N(0, I), \quad
        \epsilon \sim N(0, \sigma^2 I), \quad w_i \sim N(0, (\sigma^2 / \alpha_i) I).

    Columns of ``W`` that the data do not need shrink to nothing. Missing values do not enter: a
    row is informed by the variables that were observed, a variable by the rows where it was.

    Parameters
    ----------
    formula : str
        ``"~ a + b + c"``, or ``"~ ."`` for all numeric columns.
    data : table
        pandas, polars or pyarrow, or a mapping of columns; or rows that are not all in memory, see
        ``docs/large-data.md``.
    n_components : int, optional
        Largest number of components; by default one less than variables, or two less than rows if
        there are fewer rows.
    scale : bool
        Divide each variable by its own standard deviation rather than all by one number. The
        noise then is the same for all variables in units of their standard deviations.
    priors : PcaPriors, optional
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row.
    weight_type : {"frequency", "sampling"}
        ``"frequency"``: a row of weight two counts as two rows. ``"sampling"``: it represents twice
        as much of the population, as in surveys; weights are scaled to sum to the number of rows;
        intervals do not account for unequal weights.
    missing : {"keep", "drop", "raise"}
        Treatment of rows with missing values: use their observed values, drop and count them, or
        raise an error. A row without any value is always dropped.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows the error and its correction.

    Notes
    -----
    Components are sorted by the norm of their mean loadings on the scale of the model, and turned
    so that the loading of largest size there is positive. They are not rotated further: the prior
    of the scores and the relevances make the axes orthogonal, up to missing values.

    References
    ----------
    Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA, with corrected
    signs in its eqs 58, 59 and 107-118 and the corrected expectation of eq. 39.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> fit = bvb.BayesianPCA("~ .", bvb.datasets.load("iris")).fit(seed=1)
    >>> fit.components()["variance"].round(2).tolist()
    [0.92, 0.05, 0.01]
    """

    title = "Bayesian principal component analysis"
    likelihood_name = "principal components"
    prior_class = PcaPriors
    formula_template = "components"
    factor_words = "the loadings, their relevances, and the scores of each row"
    reference = "Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA."
    own_kinds = ROW_KINDS
    corrected = (
        "Intervals of centre, noise and loadings of effective components have the scores "
        "integrated out."
    )
    order_rule = (
        "Components are sorted by the norm of their loadings, the largest of which is positive."
    )

    formula: Formula
    design: Design
    n_components: int
    scale: bool
    missing: str
    priors: PcaPriors
    weights: RowVector | None
    weight_type: str
    scaling: Scaling
    source: AbstractSource
    axes: PrincipalAxes
    varying: Bool[np.ndarray, " dims"]

    @checked
    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int | None = None,
        scale: bool = False,
        priors: PcaPriors | None = None,
        weights: object = None,
        weight_type: str = "frequency",
        missing: str = "keep",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, PcaPriors)
        check_choice("missing", missing, ("keep", "drop", "raise"))
        if not isinstance(scale, bool):
            raise DataError(f"scale={scale!r} must be True or False")
        parsed = parse_formula(formula, parts=("variables",), one_sided=True)
        priors, rows = priors or PcaPriors(), RowOptions(weights, weight_type, missing, context)
        model_data = pca_rows(parsed, data, rows, common=not scale, active=priors.standardize)
        design, scaling = model_data.design, model_data.scales.scaling
        varying = model_data.scales.varying
        number = number_of_components(n_components, design.n_rows, varying)
        known = scaling, model_data.source, PrincipalAxes.of(model_data.fitted), varying
        self._keep(parsed, design, number, scale, missing, priors, *model_data.weights, *known)
        _ = self.core  # m0 and s0 belong to these variables and components, or an error says so
        self._keep_rows(model_data.all_rows)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.design.terms["variables"]

    @property
    def varying_variables(self) -> tuple[str, ...]:
        """Names of the variables that are not constant: only these inform the components."""
        return tuple(np.array(self.variables)[self.varying].tolist())

    @property
    def n_gaps(self) -> int:
        """Number of missing values in the rows used."""
        return int(np.isnan(self.design.matrices["variables"]).sum())

    @property
    def core(self) -> PrincipalComponents:
        """The model on its own scale; densities are in the units of the data."""
        centre = _prior_centre(self.priors.m0, self.variables, self.scaling, self.varying)
        prior = PcaPrior(
            float(self.priors.centre_precision),
            float(self.priors.noise_shape),
            float(self.priors.noise_rate),
            float(self.priors.relevance_shape),
            float(self.priors.relevance_rate),
            centre,
            _prior_scores(self.priors.s0, self.n_components),
        )
        unit = np.log(self.scaling.scale)
        return PrincipalComponents(prior, self.n_components, unit, self.axes, self.n_components)

    @property
    def log_jacobian(self) -> float:
        """Nothing: rows differ in how many values they have, so the core counts the units."""
        return 0.0

    def options(self) -> dict[str, object]:
        return {
            "n_components": self.n_components,
            "scale": self.scale,
            "missing": self.missing,
            "priors": vars(self.priors),
            **self.weight_options(),
        }

    def block(self, rows: Rows) -> Block:
        """Rows on the scale of the model."""
        matrix = without_constants(rows.matrices["variables"], self.varying)
        return gapped_block(self.scaling, matrix, gapped=bool(np.isnan(matrix).any()))

    def with_more_rows(
        self, source: AbstractSource, share: float, sign: float = 1.0
    ) -> tuple[BayesianPCA, AbstractSource] | None:
        """The model whose axes fit earlier rows and these, and rows that represent all of them.

        With ``sign=-1``, earlier rows without these. None if values are missing, or if the axes
        belong to some of the rows only.
        """
        kept = self.axes.n_rows, fitted_rows(self).total_weight
        if has_gaps(fitted_rows(self)) or has_gaps(source) or not np.isclose(*kept, rtol=1e-9):
            return None
        axes = PrincipalAxes.from_moments(
            share * self.axes.moments + sign * PrincipalAxes.of(source).moments
        )
        return with_fields(self, axes=axes), axes.rows()

    def given_scales(self) -> dict[str, Float[np.ndarray, "_ _"]]:
        """Units of all rows where those in memory are a sample; axes where they are some of all."""
        units = super().given_scales()
        if not is_sample(self) and holds_all_rows(self.source):
            return units
        axes = self.axes
        size = np.full(len(axes.centre), axes.n_rows)
        return {**units, "axes": np.vstack([size, axes.centre, axes.variance, axes.direction])}

    def in_given_scales(self, numbers: Mapping[str, Float[np.ndarray, "_ _"]]) -> BayesianPCA:
        """Model of the same rows with the axes of all rows, where a file holds them."""
        if "axes" not in numbers:
            return self
        n_dims = len(self.variables)
        axes = numbers["axes"]
        if axes.shape != (n_dims + 3, n_dims):
            raise ValueError(f"axes of the shape {axes.shape}, not {(n_dims + 3, n_dims)}")
        return with_fields(self, axes=PrincipalAxes(axes[2], axes[3:], float(axes[0, 0]), axes[1]))

    def ordered(
        self, core: AnyModel, stats: PcaStats
    ) -> tuple[PrincipalComponents, PcaStats, tuple[int, ...]]:
        """Components sorted by the norm of their mean loadings, the largest loading positive."""
        model = cast(PrincipalComponents, core)
        loadings = model.update(stats).loadings.mean[:, :-1]
        order = tuple(np.argsort(-(loadings**2).sum(axis=0), kind="stable").tolist())
        largest = np.take_along_axis(loadings, np.abs(loadings).argmax(axis=0)[None], axis=0)[0]
        sign = np.where(largest < 0.0, -1.0, 1.0)
        if model.prior.centre_scores:  # distinguish a component from its mirror image
            model, sign = self.relabelled(model, order), np.ones_like(sign)
        return model, model.permuted(order, sign[list(order)], stats), order

    def relabelled(self, core: AnyModel, order: Sequence[int]) -> PrincipalComponents:
        """Model with components in this order, which are exchangeable unless ``s0`` is given."""
        model = cast(PrincipalComponents, core)
        fixed = bool(model.prior.centre_scores)
        return replace(model, prior=model.prior.permuted(order)) if fixed else model

    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Loadings, centre, noise standard deviation and relevances in the data's units.

        ``loadings[i, j]`` is the change of variable ``j`` when score ``i`` goes up by one, its
        prior standard deviation. With a scale of its own, each variable has a noise of its own.
        """
        draws, scale, varying = fit.draws, self.scaling.scale[self.varying], self.varying
        sd = 1.0 / np.sqrt(draws["precision"])
        loadings = np.swapaxes(draws["loadings"], 1, 2)[..., varying] * scale
        centre = draws["centre"][:, varying] * scale + self.scaling.centre[varying]
        noise = sd[:, None] * scale if self.scale else sd * scale[0]
        of_each = ("feature",) if self.scale else ()
        both = ("component", "feature")
        parameters = [
            NamedParameter("loadings", loadings, both, LOADINGS, part="loadings", signed=True),
            NamedParameter("centre", centre, ("feature",), CENTRE, part="centre"),
            NamedParameter("sigma", noise, of_each, NOISE, part="sigma"),
            NamedParameter("relevance", draws["relevance"], ("component",)),
        ]
        coords = {"component": range(1, self.n_components + 1), "feature": self.varying_variables}
        return NamedDraws.of(parameters, coords)

    def observed(self) -> dict[str, RowVector]:
        """Variables that vary by name, NaN where a value is missing."""
        columns = self.design.matrices["variables"].T[self.varying]
        return dict(zip(self.varying_variables, columns, strict=True))

    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        """One replicated row per draw and row, by variable, missing where the data are."""
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * self.scaling.scale[:, None] + self.scaling.centre[:, None]
        seen = block.designs.get("observed")
        if seen is not None:
            drawn[:, seen == 0.0] = np.nan
        drawn = drawn[:, self.varying]
        return {name: drawn[:, i] for i, name in enumerate(self.varying_variables)}

    def predictive(self, fit: AbstractFit, data: object, response: str | None) -> StudentMixture:
        """Predictive distribution of one variable given the others of each row."""
        return _predictive(self, fit, self.rows(data), response)

    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        """Scores, reconstruction, imputation, density, or a variable given the others."""
        rows = self.rows(data)
        if options.response is not None:
            one = _predictive(self, fit, rows, options.response)
            return predict(one, rows.index, rows.complete, kind, options)
        if kind in KINDS and kind not in ROW_KINDS:
            raise DataError(
                f"kind={kind!r} predicts one variable given the others",
                hint=f"name it: response={self.variables[0]!r}",
            )
        check_choice("kind", kind, ROW_KINDS)
        for name in options.given():
            why = f"kind={kind!r} of a whole row does not use {name}"
            raise DataError(why, hint="omit it")
        if kind == "density":
            return filled(np.exp(_log_density(self, fit, rows)), rows, "density")
        return _of_rows(self, fit, rows, kind)

    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        """Log predictive density of the observed values of each row."""
        rows = self.rows(data)
        return filled(_log_density(self, fit, rows), rows, "log_density")

    def moments(self, fit: AbstractFit) -> tuple[pd.Series, pd.DataFrame]:
        """Mean and covariance of a new row under the posterior: exact, not from draws.

        Of the variables that vary.
        """
        q, scale, names = fit.q, self.scaling.scale, list(self.variables)
        mean = pd.Series(q.mean * scale + self.scaling.centre, names, name="mean")
        covariance = pd.DataFrame(q.covariance * np.outer(scale, scale), names, names)
        some = list(self.varying_variables)
        return mean[some], covariance.loc[some, some]

    def effective(self, fit: AbstractFit) -> int:
        """Number of components whose loadings rise above their uncertainty; see ``components``."""
        return int(np.count_nonzero(fit.q.effective > 1.0))

    def noise_from_prior(self, fit: AbstractFit) -> float:
        """Share of the noise that is the prior's: 1 where the components fit the rows exactly."""
        return self.core.noise_from_prior(fit.q)

    def components(self, fit: AbstractFit, prob: float) -> pd.DataFrame:
        """One row per component.

        Returns
        -------
        pandas.DataFrame
            ``norm`` of the mean loadings and ``variance``, the share of the predictive variance
            that the component explains, both on the scale of the model; ``relevance``, the mean of
            alpha, large where the component is not needed; ``signal``, the squared norm of the mean
            loadings over the posterior variance of the loadings; ``effective``, whether the signal
            is above one.
        """
        q = fit.q
        squares = (q.loadings.mean[:, :-1] ** 2).sum(axis=0)
        columns = {
            "norm": np.sqrt(squares),
            "variance": squares / np.diag(q.covariance)[self.varying].sum(),
            "relevance": q.expected_relevance,
            "signal": q.effective,
            "effective": q.effective > 1.0,
        }
        return PrintedTable(columns, pd.RangeIndex(1, len(squares) + 1, name="component"))

    def prior_table(self) -> pd.DataFrame:
        priors, scaling = self.priors, self.scaling
        words = f"Normal(0, sigma^2 / alpha), alpha ~ Gamma({priors.relevance_shape:g}, "
        words += f"{priors.relevance_rate:g})"
        typical = np.sqrt(priors.noise_rate / priors.noise_shape)
        rows = [PriorRow("loadings", "", words, 0.0, np.nan)]
        varying, centres, scales = self.varying, scaling.centre, scaling.scale
        names = self.varying_variables
        if self.core.prior.centre_mean:
            centres = centres + scales * self.core.prior.centre_mean
        for name, centre, unit in zip(names, centres[varying], scales[varying], strict=True):
            spread = float(unit * typical / np.sqrt(priors.centre_precision))
            student = f"Student t({2.0 * priors.noise_shape:g})"
            rows.append(PriorRow("centre", name, student, float(centre), spread))
        units = dict(zip(names, scales[varying], strict=True))
        for name, unit in (units if self.scale else {"": scales[0]}).items():
            rate = priors.noise_rate * unit * unit
            gamma = f"1/sigma^2 ~ Gamma({priors.noise_shape:g}, {rate:.3g})"
            rows.append(PriorRow("sigma", name, gamma, float(unit * typical), np.nan))
        return prior_frame(rows)

    def headings(self, fit: AbstractFit) -> dict[str, str]:
        return {"loadings": "loadings", "centre": "centre", "sigma": "noise"}

    def notes(self, fit: AbstractFit) -> list[str]:
        n_effective = self.effective(fit)
        said = [
            f"{n_effective} of {self.n_components} components are effective: their loadings are "
            "larger than their posterior sd.",
        ]
        if self.n_gaps:
            n_values = self.design.matrices["variables"].size
            where = " in the sample" if is_sample(self) else ""
            said.append(
                f"{self.n_gaps} of {n_values} values{where} are missing; rows count with the "
                "others."
            )
        return said

    def description(self) -> str:
        scale = "a scale for each variable" if self.scale else "one scale for all variables"
        return f"Bayesian PCA, at most {self.n_components} components, {scale}"


def _prior_centre(
    m0: Mapping[str, float] | Sequence[float] | float | None,
    names: Sequence[str],
    scaling: Scaling,
    varying: Bool[np.ndarray, " dims"],
) -> tuple[float, ...]:
    """Prior mean of the centre on the scale of the model; empty if it is the mean of the data."""
    if m0 is None:
        return ()
    if isinstance(m0, Mapping):
        unknown = [name for name in m0 if name not in names]
        if unknown:
            raise PriorError(
                f"m0 names {unknown[0]!r}, which is not among the variables",
                hint=f"the variables are {', '.join(map(repr, names))}",
            )
        values = np.array(
            [m0.get(name, centre) for name, centre in zip(names, scaling.centre, strict=True)]
        )
    else:
        values = np.array(_of_length("m0", m0, len(names), "variable"))
    return tuple(np.where(varying, (values - scaling.centre) / scaling.scale, 0.0).tolist())


def _prior_scores(s0: Sequence[float] | float | None, n_components: int) -> tuple[float, ...]:
    """Scores of the prior centre; empty if they are zero."""
    if s0 is None:
        return ()
    scores = [s0] * n_components if isinstance(s0, float) else s0
    return tuple(_of_length("s0", scores, n_components, "component"))


def _of_length(
    name: str, values: Sequence[float] | float, length: int, what: str
) -> Sequence[float]:
    """The values, one for each variable or component."""
    n_values = 1 if isinstance(values, float) else len(values)
    if isinstance(values, float) or n_values != length:
        raise PriorError(f"{name} has {n_values} values, not one for each {what}: {length}")
    return values


def _predictive(
    model: BayesianPCA, fit: AbstractFit, rows: Rows, response: str | None
) -> StudentMixture:
    """One variable given the others of each row, whether it was observed or not.

    Under q the mean and the variance are exact; the form of a Student t with the degrees of
    freedom of the noise is an approximation, as products of loadings and scores are nearly normal
    only.
    """
    if response is None:
        raise DataError(
            "response=None names no variable to predict",
            hint=f"name one: response={model.variables[0]!r}",
        )
    check_choice("response", response, model.varying_variables)
    number = model.variables.index(response)
    loadings, block = fit.q.loadings, without(model.block(rows), number)
    latent = LatentPosterior.of(loadings, block)
    dof = 2.0 * loadings.shape
    scale = np.sqrt(latent.variance(loadings)[number] * (dof - 2.0) / dof)[None]
    location = latent.fitted(loadings)[number][None]
    one = StudentMixture(np.ones_like(location), location, scale, np.array([dof]))
    return one.affine(float(model.scaling.centre[number]), float(model.scaling.scale[number]))


def without(block: Block, variable: int) -> Block:
    """The rows as if this variable had not been observed."""
    t = block.designs["variables"].copy()
    seen = block.designs.get("observed", np.ones_like(t)).copy()
    t[variable], seen[variable] = 0.0, 0.0
    return replace(block, designs={"variables": t, "observed": seen})


def _of_rows(model: BayesianPCA, fit: AbstractFit, rows: Rows, kind: str) -> pd.DataFrame:
    """Scores, their standard deviations, reconstruction or imputation."""
    loadings = fit.q.loadings
    latent = LatentPosterior.of(loadings, model.block(rows))
    columns: pd.Index[Any] = pd.Index(model.variables)
    if kind in ("scores", "scores-sd"):
        columns = pd.RangeIndex(1, len(latent.mean) + 1, name="component")
        sd = np.sqrt(np.diagonal(latent.covariance, axis1=1, axis2=2))[latent.patterns.number]
        values = latent.mean.T if kind == "scores" else sd
    else:
        values = latent.fitted(loadings).T * model.scaling.scale + model.scaling.centre
        if kind == "impute":
            given = rows.matrices["variables"]
            values = np.where(np.isnan(given), values, given)
    table = np.full((len(rows.index), len(columns)), np.nan)
    table[rows.complete] = values
    return pd.DataFrame(table, index=rows.index, columns=columns)


def _log_density(
    model: BayesianPCA, fit: AbstractFit, rows: Rows
) -> Float[np.ndarray, " complete"]:
    """Log of the mean over draws of the density, the scores integrated out."""
    n_draws, core = count(fit.variational_draws), fit.core
    pieces = [
        logsumexp(core.log_lik(fit.variational_draws, block), axis=0) - np.log(n_draws)
        for block in chunks(core, InMemorySource((model.block(rows),)), n_draws)
    ]
    return np.concatenate(pieces)


def has_gaps(source: AbstractSource) -> bool:
    """Whether rows say which of their values are missing."""
    return OBSERVED in source.empty().designs


def pca_rows(
    formula: Formula, data: object, rows: RowOptions, *, common: bool, active: bool
) -> ModelRows[GappedScaling]:
    """Variables in their scaling, wherever the rows are.

    Parameters
    ----------
    formula : Formula
    data : table
    rows : RowOptions
    common : bool
        One scale for all variables instead of one each.
    active : bool
        Whether they are standardised.

    Raises
    ------
    DataError
        If the data cannot be used.

    Warns
    -----
    DesignWarning
        Of variables that never vary.
    """
    scaling = partial(gapped_scaling, common, active)
    kind = RowKind(scaling, block_with_gaps, response="none", warn=False)
    model_data = model_rows(formula, data, rows, kind)
    _warn_of_constants(model_data.scales.varying, model_data.design.terms[VARIABLES])
    return model_data


def number_of_components(given: int | None, n_rows: int, varying: Bool[np.ndarray, " dims"]) -> int:
    """Number of components as given, or the largest that leaves the noise determined.

    Centre and ``n_rows - 1`` components fit every row exactly: the noise precision then grows
    without bound, as far as its prior lets it.
    """
    n_varying = int(varying.sum())
    if len(varying) < 2:
        raise DataError("there is one variable only", hint="components need two or more")
    number = max(min(n_varying - 1, n_rows - 2), 1) if given is None else given
    n_dims = len(varying)
    check_count("n_components", number, most=n_dims - 1, what="that these variables can have")
    check_count("n_components", number, most=n_rows - 1, what="that these rows can have")
    if number == n_rows - 1:
        remedy = f"use n_components={n_rows - 2} or fewer" if n_rows > 2 else "give 3 rows or more"
        warn(
            f"n_components={number} fits {n_rows} rows exactly, so that they do not determine the "
            f"noise: {remedy}",
            DesignWarning,
        )
    return int(number)


def _warn_of_constants(varying: Bool[np.ndarray, " dims"], names: Sequence[str]) -> None:
    """Warn of variables that never vary."""
    if not varying.all():
        listed = ", ".join(f"`{names[i]}`" for i in np.flatnonzero(~varying).tolist())
        warn(
            f"constant variables are not part of components, noise and densities: {listed}",
            DesignWarning,
        )
