"""Density regression: how the whole distribution of a response changes with covariates."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import pandas as pd

from bayesvb.argument_checks import check_choice, check_listed, checked
from bayesvb.data.blocks import Block
from bayesvb.data.frames import as_frame
from bayesvb.data.grouping import Grouping, grouped_source
from bayesvb.data.parts import GATING, MEAN, PARTS
from bayesvb.data.response_columns import INTERVAL
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import Scales
from bayesvb.data.streamed_rows import EncodedRows, in_memory_source
from bayesvb.distributions.base import (
    AbstractComponentMixture,
    AbstractDrawnMixture,
    joint_log_density,
)
from bayesvb.distributions.interval_scores import interval_log_scores
from bayesvb.distributions.level_predictions import predict_levels
from bayesvb.distributions.prediction import PredictionOptions, predict
from bayesvb.distributions.response import Response
from bayesvb.errors import DataError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.default_priors import complete_priors, default_priors
from bayesvb.estimators.gating import gate_class, gate_parameters, gate_prior, share_parameter
from bayesvb.estimators.group_effects import (
    check_groups_have_prior,
    drawn_effects,
    eliminates_groups,
    experts_of,
    further_terms,
    with_effects,
    with_possible_groups,
)
from bayesvb.estimators.groups import (
    check_constant,
    log_density_of_groups,
    most_components,
    source_of_groups,
    with_memberships,
)
from bayesvb.estimators.half_t import GROUP_SD_HEADING, group_sds, with_half_t
from bayesvb.estimators.identification import (
    check_family,
    check_identified,
    chooses_size,
    most_tried,
    response_kind,
    size_within,
)
from bayesvb.estimators.learned_scales import LearnedScales
from bayesvb.estimators.mixture import AbstractGatedMixture, AbstractMixture
from bayesvb.estimators.model_rows import (
    IMPUTE,
    MISSING,
    ModelRows,
    RowKind,
    RowOptions,
    model_rows,
)
from bayesvb.estimators.prior_rows import name_margins, prior_rows
from bayesvb.estimators.priors import Priors, check_priors
from bayesvb.estimators.row_scales import read_by, regression_block, regression_scales
from bayesvb.estimators.trials import with_trials
from bayesvb.experts.intervals import AbstractIntervalExperts
from bayesvb.experts.regression import (
    AnyExperts,
    RegressionUnits,
)
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula, parse_formula
from bayesvb.formula.passes.design_rows import encoded_design
from bayesvb.gates import GATES
from bayesvb.gates.base import GatePrior
from bayesvb.models.mixture import Mixture
from bayesvb.numerics.arrays import RowVector, TermRows
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import AbstractFit, with_fields
from bayesvb.results.exact_draws import is_integrated
from bayesvb.results.fit_call import changed_priors
from bayesvb.results.group_covariance import group_notes, joint_terms
from bayesvb.results.named_draws import HasDraws, NamedDraws
from bayesvb.results.response_notes import warn_of_response
from bayesvb.results.summary import prior_frame

if TYPE_CHECKING:
    from bayesvb.estimators.fit import Fit
    from bayesvb.estimators.fit_request import FitRequest
    from bayesvb.experts.grouped import GroupedExperts


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DensityRegression(AbstractGatedMixture):
    r"""Mixture of regressions: the whole distribution of a response given covariates.

    A mixture of linear regressions whose weights depend on covariates:

    .. math:: p(y \mid x) = \sum_k \pi_k(x)\, p(y \mid x^\top \beta_k, \sigma_k),

    each with Gaussian noise, ``N(y | x' beta, sigma^2)``, or, where a few rows may be wrong or
    tails are heavy, with Student-t noise, ``t_nu(y | x' beta, sigma)``.

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + x2 | gating(x1)"``: terms of the experts, then terms of the weights. Without a
        second part the weights have the terms of the experts. ``offset(z)`` in the first part is
        a known summand of the response, or of the linear predictor of a discrete response.
        ``"y ~ x1 | sigma(x1)"``: terms of the log standard deviation of Gaussian and Student
        components; ``"y ~ x1 | zero(x1)"``: terms of the log odds of a structural zero of Poisson
        and negative binomial counts, or of 0 for gamma and Weibull amounts. The weights are
        then constant unless ``gating(...)`` is written.
    data : table
        pandas, polars or pyarrow, or a mapping of columns. Rows that are not all in memory: a
        Parquet file, folder or pattern (``"data/*.parquet"``), a DuckDB relation, a polars
        LazyFrame, a function that yields tables; see ``docs/large-data.md``.
    n_components : int or None
        Number of components, at most one per row. None: ``fit`` tries one to five of Gaussian and
        Student components and returns the fewest whose leave-one-out density is near the largest,
        as ``bayesvb.select``; other families, and formulas with group-level terms, have one. A
        single component has the weight 1: the gating formula then only decides which rows are
        complete, and a fit has one start, whatever ``restarts`` says.
    gate : {"softmax", "softmax-jensen", "softmax-bouchard", "stick-breaking", "dirichlet"}
        How the weights depend on covariates; ``"dirichlet"`` means not at all. The three softmax
        gates are one model with three bounds, the first of them the tightest.
    family : str
        Distribution of the response in each component: ``"gaussian"``, ``"student"``,
        ``"bernoulli"``, ``"binomial"``, ``"poisson"``, ``"negbinomial"``, ``"gamma"``,
        ``"weibull"``, ``"ordinal"``, ``"ordinal-probit"`` or ``"sequential"``. The degrees of
        freedom of ``"student"`` are learned, one number for all components, unless ``priors`` fix
        them: ``Priors(dof=4)``.
        ``"bernoulli"``: a response of 0 and 1, whose log odds are linear; ``"binomial"``: successes
        in a number of trials, ``"k | trials(n) ~ x"`` or ``"cbind(k, n - k) ~ x"``; ``"poisson"``:
        counts, whose log mean is linear; see ``docs/responses.md``. Ordered levels: see
        ``docs/ordered.md``.
    priors : Priors, optional
        Weakly informative on the standardised scale by default; see ``prior_table``.
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row. A row of weight two counts as two.
    group : str, optional
        Column with the subject of each row: all rows of a subject come from one component, whose
        weights depend on covariates that are constant within the subject (growth mixtures, latent
        classes of trajectories). Subjects are then the units that are held out, counted and
        classified. Rows with a missing value are dropped one by one; rows of a subject may be
        anywhere in the data.
    levels : sequence, optional
        Levels of an ordered response from the lowest to the highest, if the column does not have
        an order of its own as whole numbers and ordered categories have.
    weight_type : {"frequency", "sampling"}
        ``"frequency"``: a row of weight two counts as two rows. ``"sampling"``: it stands for twice
        as much of the population, as in surveys; weights are scaled to sum to the number of rows,
        and intervals have the robust covariance.
    missing : {"drop", "raise", "impute"}
        What to do with rows that lack a value; dropped rows are counted. ``"impute"`` draws missing
        values of covariates from their distribution given the response and the other covariates,
        and pools the fits to 20 completed tables; rows without response are dropped.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows the error and its correction.

    References
    ----------
    Chuu (2018), A Variational Approach for Bayesian Density Regression. Where the report's
    equations are in error the corrected ones are used; the classes of the experts and gates name
    the differences.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> model = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2)
    >>> fit = model.fit(seed=1)
    >>> fit.predict({"eruptions": [2.0, 4.5]}).round(-1).tolist()
    [50.0, 80.0]
    """

    prior_class = Priors
    prunable = True
    formula_template = "density"
    reference = "Chuu (2018), A Variational Approach for Bayesian Density Regression."

    formula: Formula
    design: Design
    n_components: int
    gate: str
    family: str
    priors: Priors
    weights: RowVector | None
    weight_type: str
    scales: Scales
    source: AbstractSource
    grouping: Grouping | None
    levels: tuple[object, ...] | None
    chooses_size: bool

    @partial(checked, levels=check_listed)
    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int | None = 5,
        gate: str = "softmax",
        family: str = "gaussian",
        priors: Priors | None = None,
        weights: object = None,
        weight_type: str = "frequency",
        group: str | None = None,
        levels: Sequence[object] | None = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_choice("gate", gate, tuple(GATES))
        check_family(family)
        check_priors(priors, Priors)
        parsed = parse_formula(formula, parts=tuple(PARTS), offset=True, calls=True)
        chooses, size = chooses_size(n_components, family, parsed)
        priors = complete_priors(priors, family, size, parsed, group)
        kind = _row_kind(parsed, family, priors, size, gate=gate, group=group, levels=levels)
        options = RowOptions(weights, weight_type, missing, context, group)
        check_choice("missing", missing, MISSING)
        rows = _read_rows(parsed, data, options, kind)
        response = experts_of(family, priors, size, rows.design).response
        warn_of_response(rows.design, response)
        most = most_components(rows.design, rows.grouping)
        n_components = size_within(size, chooses, **most)
        check_identified(response, rows.design, n_components, gate, rows.grouping)
        self._keep(
            parsed, rows.design, int(n_components), gate, family, priors, *rows.weights,
            rows.scales, rows.source, rows.grouping, levels and tuple(levels), chooses,
        )  # fmt: skip
        self._keep_rows(rows.all_rows)
        if n_components == 1 and joint_terms(rows.design):
            _ = self.core  # refuses more variances and correlations than can be integrated over

    @property
    def factor_words(self) -> str:  # type: ignore[override]
        """Independent factors of the posterior in words; one component has no gate."""
        one = self.n_components == 1
        return super().factor_words if one else "coefficients of the experts and of the gate"

    @property
    def core(self) -> Mixture:
        gate = gate_class(self.gate, self.n_components).from_prior(
            self.n_components, self._gate_prior
        )
        experts = self.experts
        mixture = Mixture(experts if self.grouping is None else self._by_group(experts), gate)
        if self._scales is None:
            return mixture
        learned = self._scales.learned_by(mixture)
        return with_half_t(learned, self.priors, self.design, self.scales)

    @property
    def single_start(self) -> bool:
        """Whether all initial partitions are the same, as with one component."""
        return self.n_components == 1

    @property
    def log_jacobian(self) -> float:
        """Log Jacobian of a row; zero for groups and intervals, whose experts apply it per row."""
        return 0.0 if self.grouping is not None else self._log_unit_of(self.experts)

    def _log_unit_of(self, experts: AnyExperts) -> float:
        """Log of the unit of the response that the experts themselves do not apply."""
        return 0.0 if isinstance(experts, AbstractIntervalExperts) else self.log_unit

    @property
    def experts(self) -> AnyExperts:
        """Experts with their prior; they hold all that is particular to the family."""
        experts = experts_of(self.family, self.priors, self.n_components, self.design)
        if isinstance(experts, AbstractIntervalExperts):
            return experts.in_unit(self.log_unit)
        return experts

    def _by_group(self, experts: AnyExperts) -> GroupedExperts:
        """Experts of all rows of a group together."""
        from bayesvb.experts.grouped import GroupedExperts

        return GroupedExperts(experts, self._log_unit_of(experts))

    @property
    def response(self) -> Response:
        return self.experts.response

    @property
    def _gate_prior(self) -> GatePrior:
        """Prior values that gates may need."""
        prior = gate_prior(self.scales.parts[GATING], self.priors)
        return with_effects(prior, self.design, self.priors)

    @property
    def _scales(self) -> LearnedScales | None:
        """Scales of terms, if there are any to be learned."""
        if self.priors.scales == "fixed":
            return None
        of_gate = GATES[self.gate].learns_scales and self.n_components > 1
        experts, rows = self.experts, self.scales.rows
        further = {part: bool(terms) for part, terms in further_terms(self.design).items()}
        learns = {MEAN: experts.learns_scales, **further, GATING: of_gate}
        parts = tuple(part for part, learned in learns.items() if learned)
        scales = LearnedScales(self.design, self.priors, parts, self.n_components, rows, experts)
        return scales if scales.term_blocks else None

    @property
    def _units(self) -> RegressionUnits:
        """Names and units in which the experts describe themselves."""
        design = self.design
        effects = () if design.groups is None else design.groups.effects
        names = design.response_names
        further = further_terms(design)
        return RegressionUnits(design.terms[MEAN], names, self.scales, effects, further)

    @property
    def likelihood_name(self) -> str:
        component = self.experts.words
        return component if self.size == 1 else f"mixture of {component}s"

    @property
    def scale_words(self) -> str:
        """Description of the scales, by the experts, and of the bases."""
        shifted = self.scales.parts[MEAN].intercept is not None
        note = "" if shifted else " (deviations from zero: without an intercept nothing is shifted)"
        return f"{self.experts.scale_words}{note}{self.scales.basis_words}"

    @property
    def title(self) -> str:
        return self.likelihood_name[:1].upper() + self.likelihood_name[1:]

    def _fitted(self, request: FitRequest, streams: Streams, workers: int) -> Fit:
        """The fit of a search; of completed tables a pool of fits; or one of several numbers."""
        if request.method == "em" and request.options.get("prior") is False:
            check_groups_have_prior(self.design)
        if self.chooses_size:
            from bayesvb.estimators.component_choice import choose_components

            return choose_components(self, request, streams, workers)
        if self.design.imputed:
            from bayesvb.estimators.imputation import pool_imputations

            return pool_imputations(self, request, streams, workers)
        return super()._fitted(request, streams, workers)

    def over(self, source: AbstractSource) -> AbstractEstimator:
        if self.chooses_size:
            raise DataError(
                "n_components=None: the number of components depends on the rows",
                hint="give a number, such as bayesvb.select(model).chosen",
            )
        return super().over(source)

    def source_in(self, scales: Scales) -> AbstractSource:
        rows = encoded_design(self.design, self.weights)
        source = in_memory_source(partial(regression_block, scales), rows)
        source = read_by(self.n_components, source)
        return source_of_groups(source, self.design, self.grouping)

    def resized(self, n_components: int) -> AbstractMixture:
        check_identified(self.response, self.design, n_components, self.gate, self.grouping)
        given = Priors(**cast(Any, changed_priors(self)))
        rows = self.formula, self.grouping
        priors = complete_priors(given, self.family, n_components, *rows)
        return with_fields(super().resized(n_components), chooses_size=False, priors=priors)

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale; of groups, each as a group of its own."""
        given = EncodedRows(rows.matrices, rows.response, offset=rows.offset)
        return regression_block(self.scales, given)

    def regressors(self, block: Block) -> TermRows:
        """Columns of the experts' regressions without group effects, as for new groups.

        Standardised, as the block has them.
        """
        apart = {
            j for one in self.design.term_blocks[MEAN] if one.kind == "group" for j in one.columns
        }
        x = block.designs[MEAN]
        return x[[j for j in range(len(x)) if j not in apart]] if apart else x

    def block_of_groups(self, rows: Rows, grouping: Grouping) -> Block:
        """Groups of complete rows with responses, on the standardised scale."""
        block = self.block(rows)
        gating = rows.matrices.get(GATING) if self.n_components > 1 else None
        check_constant(grouping, gating, self.design.terms, None)
        return grouped_source(block, grouping).whole()

    def options(self) -> dict[str, object]:
        return {
            "n_components": None if self.chooses_size else self.n_components,
            "gate": self.gate,
            "family": self.family,
            "priors": vars(self.priors),
            **self.weight_options(),
            **({} if self.grouping is None else {"group": self.grouping.name}),
            **({} if self.levels is None else {"levels": list(self.levels)}),
            **({"missing": IMPUTE} if self.design.imputed else {}),
        }

    def default_priors(self, size: int) -> Priors:
        return default_priors(self.family, size, self.formula, self.grouping, self.priors)

    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Coefficients, noise and shares of the components in the data's units.

        ``beta`` are the coefficients of the experts, ``gamma`` the coefficients of the gate (for a
        softmax gate, log odds against component 1). In both, levels of groups refer to covariates
        of their slopes equal to zero. ``sigma`` are the noise standard deviations, ``share`` the
        weights averaged over (evenly thinned) rows; ``scale_mean``, ``scale_sigma``, ``scale_zero``
        and ``scale_gating`` the learned standard deviations of the coefficients of a term, on the
        standardised scale. ``beta_sigma`` are the coefficients of the log standard deviation in the
        part ``sigma``, ``beta_zero`` the coefficients of the log odds of a zero in the
        part ``zero``. If coefficients scatter around common ones, these are ``beta_common``, and
        the standard deviations ``scale_between`` and, for penalised terms, ``scale_common``.
        Effects of at most 500 groups without columns are ``beta_groups``.
        """
        names_by_part = {part.coefficients: name for name, part in PARTS.items()}
        coefficients, *noise = (
            replace(p, values=self.design.at_zero(names_by_part[p.name], p.values))
            if p.name in names_by_part
            else p
            for p in self.experts.parameters(fit.draws, self._units)
        )
        gate = gate_parameters(fit.core, fit.draws, self.scales.parts[GATING], self.design)
        share = share_parameter(fit.core, self.source, fit.draws)
        learned = self._scales
        scales = [] if learned is None else learned.parameters(fit.core, fit.draws, self._units)
        coords = {"component": range(1, self.n_components + 1)}
        given = (fit.core, fit.draws, self.design, self.scales)
        groups = [*drawn_effects(*given), *group_sds(*given)]
        return NamedDraws.of([coefficients, *gate, *noise, *groups, *scales, share], coords)

    def observed(self) -> dict[str, RowVector]:
        """Responses by name."""
        return dict(
            zip(self.design.response_names, np.asarray(self.design.response).T, strict=True)
        )

    def predictive(
        self, fit: AbstractFit, data: object, response: str | None
    ) -> AbstractComponentMixture:
        """Predictive distribution of one response at the complete rows.

        Rows without a number of trials are one trial, without the warning of ``predictions``:
        averages over covariates have no number of trials.
        """
        rows = with_trials(self.design, self.rows(data), data, warns=False)
        return self.predictive_at(fit, rows, response)

    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        rows = self.rows(data)
        if kind != "probability" or options.at is not None:  # else that of success in one trial
            rows = with_trials(self.design, rows, data)
        distribution = self.predictive_at(fit, rows, options.response)
        return self._predicted(distribution, rows, kind, options)

    def predict_with(
        self,
        fit: AbstractFit,
        data: object,
        kind: str,
        options: PredictionOptions,
        observed: object,
    ) -> pd.Series | pd.DataFrame:
        """Prediction of rows of groups of which some responses are known."""
        rows = self.rows(data)
        distribution = self.predictive_at(fit, rows, options.response)
        frame = self.design.frame if data is None else as_frame(data)
        updated = with_memberships(distribution, fit, frame, rows.complete, observed)
        return self._predicted(updated, rows, kind, options)

    def _predicted(
        self,
        distribution: AbstractComponentMixture,
        rows: Rows,
        kind: str,
        options: PredictionOptions,
    ) -> pd.Series | pd.DataFrame:
        """Requested prediction from the distribution of each complete row."""
        if kind == "component":
            distribution = distribution.by_label(self.n_components)
        order = self.design.order
        if order.values:
            return predict_levels(distribution, rows.index, rows.complete, kind, options, order)
        return predict(distribution, rows.index, rows.complete, kind, options)

    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        """Log predictive density of the observed responses, jointly where there are several.

        It is the density of the response as written in the formula: of ``log(y)``, not of ``y``, as
        the name of the Series says. Counts and levels have log probabilities. For a censored or
        rounded row it is the log probability of its interval, a number without unit. With
        ``group``, it is the joint density of all rows of a group.
        """
        if self.grouping is not None:
            return log_density_of_groups(fit, self.design.frame if data is None else data)
        rows = self.rows(data, response=True)
        values = np.full(len(rows.index), np.nan)
        names = self.design.response_names
        given = [self.predictive_at(fit, rows, name) for name in names]
        observed = np.asarray(rows.response, dtype=float).T
        interval, scale = rows.matrices.get(INTERVAL), self.response.score_name(names)
        if interval is None:
            values[rows.complete] = joint_log_density(given, observed)
            return pd.Series(values, rows.index, name=scale)
        values[rows.complete] = interval_log_scores(given[0], observed[0], interval.T)
        return pd.Series(values, rows.index, name=f"{scale}, log probability of intervals")

    def drawn_mixture(self, fit: HasDraws, block: Block, response: int) -> AbstractDrawnMixture:
        """Mixture of one response for every draw and row, in the data's units.

        Axes (experts, draws, rows). Each draw is evaluated by the restart that it is from.
        """
        weights, scaling = np.exp(fit.core.log_weights(fit.draws, block)), self.scales.response
        whole = fit.core if self.experts.line_laws(None) else self.experts
        drawn: AbstractDrawnMixture = whole.drawn(fit.draws, weights, block, response, scaling)
        return drawn

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter in the units of the data.

        Returns
        -------
        pandas.DataFrame
            Index (part, term); ``prior`` in words, and its ``location`` and ``scale``: the noise is
            integrated out of a conjugate prior of an expert's coefficients, which leaves a Student
            t. One component has no gate. If the scale of a term is learned, ``scale`` is the one at
            the centre of the prior of ``1 / scale^2``. The prior of a product or power applies to
            its residuals from the named terms.
        """
        learned, experts, gate_prior = self._scales, self.experts, self._gate_prior
        rows = prior_rows(self, learned, experts, gate_prior, self._units)
        return prior_frame(name_margins(rows, self.design, self.scales))

    def formula_names(self) -> dict[str, str]:
        """Gate, and the templates with its weights and with the density of one component."""
        return {
            "gate": self.gate,
            "gate_formula": GATES[self.gate].formula,
            "density_formula": self.experts.formula,
        }

    def headings(self, fit: AbstractFit) -> dict[str, str]:
        """Titles of the coefficient tables, and of the parameters that all components share."""
        named = [p for p in self.experts.parameters(fit.draws, self._units) if p.text is not None]
        shared = {p.part: f"{p.part} ({p.summary_words})" for p in named if not p.of_components}
        if self.n_components == 1:  # no table of components has its noise
            of_components = (p for p in named if p.of_components and not p.signed)
            shared |= {
                p.part: _heading(p.part, _of_one(p.text.meaning)) for p in of_components if p.text
            }
        lines = {p.part: f"{p.part} ({p.text.meaning})" for p in named if p.signed and p.text}
        lines |= {MEAN: MEAN, GATING: f"{GATING} ({fit.mixture.coefficient_meaning()})"}
        scales = {} if self._scales is None else self._scales.headings()
        return {**lines, **shared, **GROUP_SD_HEADING, **scales}

    def notes(self, fit: AbstractFit) -> list[str]:
        """Meaning of groups, and of weights without heading."""
        groups = group_notes(self.design, integrated=is_integrated(fit))
        if self.n_components == 1 or fit.mixture.gate_coefficients(fit.draws):
            return groups
        return [*groups, f"Weights of the components: {fit.mixture.coefficient_meaning()}."]

    def description(self) -> str:
        if self.n_components == 1:
            return self.title
        if self.chooses_size:
            most = most_tried(self.design, self.n_components)
            return f"{self.title}, fit chooses 1 to {most} components"
        return f"{self.title}, {self.n_components} components, {self.gate} gate"


def _row_kind(
    formula: Formula,
    family: str,
    priors: Priors,
    n_components: int,
    *,
    gate: str,
    group: str | None,
    levels: Sequence[object] | None,
) -> RowKind[Scales]:
    """State that a density regression derives from its rows."""
    return RowKind(
        partial(
            regression_scales,
            partial(experts_of, family, priors, n_components),
            priors.standardize,
        ),
        regression_block,
        response=response_kind(family, levels),
        eliminates_groups=eliminates_groups(formula, family, priors, n_components, group),
        prepared=partial(with_possible_groups, n_components=n_components, gate=gate),
        kept=partial(read_by, n_components),
    )


def _read_rows(
    formula: Formula, data: object, options: RowOptions, kind: RowKind[Scales]
) -> ModelRows[Scales]:
    """Rows of a model, with missing values of covariates drawn if they are to be imputed."""
    if options.missing != IMPUTE:
        return model_rows(formula, data, options, kind)
    from bayesvb.estimators.imputation import imputed_rows

    return imputed_rows(formula, data, options, kind)


def _heading(part: str, meaning: str) -> str:
    """Title of a table: the part with its meaning, which may begin with the name of the part."""
    return f"{part} ({re.sub(rf'^{part}[;:]? ', '', meaning)})"


def _of_one(meaning: str) -> str:
    """Meaning of a component's parameter if there is one component."""
    return meaning.replace("each component's", "the").replace(" of each component", "")
