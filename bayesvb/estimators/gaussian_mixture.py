"""Mixture of Gaussians: the joint distribution of several variables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, cast

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice, check_count, checked
from bayesvb.data.blocks import Block
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import variables_block
from bayesvb.distributions.multivariate_student import (
    NORMAL_DOF,
    AbstractJointStudent,
    JointStudent,
)
from bayesvb.distributions.prediction import KINDS, PredictionOptions, predict
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.errors import DataError
from bayesvb.estimators.gating import SHARE
from bayesvb.estimators.mixture import AbstractMixture
from bayesvb.estimators.model_rows import RowKind, RowOptions, model_rows
from bayesvb.estimators.priors import GaussianPriors, check_priors
from bayesvb.estimators.row_scales import complete_block, variables_scaling
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.experts.gaussian_base import AbstractGaussianExperts
from bayesvb.factors.dirichlet import Dirichlet
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula, parse_formula
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.models.mixture import Mixture, MixtureStats
from bayesvb.numerics.arrays import DrawRows, RowVector
from bayesvb.results.base import AbstractFit
from bayesvb.results.named_draws import HasDraws, NamedDraws
from bayesvb.results.summary import prior_frame
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

JOINT_KINDS = ("density", "component", "class")
"""Predictions of a whole row; with ``response=`` every kind of one variable given the others."""


MEAN = ParameterText(
    symbol="μ",
    meaning="mean of each variable in each component",
    heading="Means",
    caption="Mean of each variable in each component, in units of the variable",
    forest=True,
)

SD = ParameterText(
    symbol="sd",
    meaning="standard deviation of each variable in each component",
    heading="Standard deviations",
    caption="Standard deviation of each variable in each component, in units of the variable",
)

CORRELATION = ParameterText(
    symbol="ρ",
    meaning="correlation of each pair of variables in each component",
    heading="Correlations",
    caption="Correlation of each pair of variables in each component",
    forest=True,
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class GaussianMixture(AbstractMixture):
    r"""Joint distribution of several variables as a mixture of Gaussians.

    .. math:: p(x) = \sum_k \pi_k\, N(x \mid \mu_k, \Sigma_k),

    with a normal-Wishart prior on each mean and precision matrix and a Dirichlet prior on the
    weights. Superfluous components empty themselves.

    Parameters
    ----------
    formula : str
        ``"~ a + b"``, or ``"~ ."`` for all numeric columns.
    data : table
        pandas, polars or pyarrow, or a mapping of columns; or rows that are not all in memory, see
        ``docs/large-data.md``.
    n_components : int
        Largest number of components, at most one per row.
    covariance : {"full", "diagonal"}
        Form of the covariance matrices.
    priors : GaussianPriors, optional
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row.
    weight_type : {"frequency", "sampling"}
        ``"frequency"``: a row of weight two counts as two rows. ``"sampling"``: it represents twice
        as much of the population, as in surveys; weights are scaled to sum to the number of rows;
        intervals do not account for unequal weights.
    missing : {"drop", "raise"}
        What to do with rows that lack a value; dropped rows are counted.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows the error and its correction.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.2. Lin (2016), Variational
    Inference (slides), eqs 22-45, whose predictive degrees of freedom need the index k.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> data = bvb.datasets.load("faithful")
    >>> fit = bvb.GaussianMixture("~ eruptions + waiting", data).fit(seed=1)
    >>> int((fit.components()["share"] > 0.05).sum())
    2
    """

    title = "Mixture of Gaussians"
    likelihood_name = "mixture of Gaussians"
    order_rule = "Components are sorted by share."
    prior_class = GaussianPriors
    prunable = True
    formula_template = "gaussian"
    factor_words = "the components, their weights, and the component of each row"
    reference = "Bishop (2006), Pattern Recognition and Machine Learning, section 10.2."
    own_kinds = JOINT_KINDS

    formula: Formula
    design: Design
    n_components: int
    covariance: str
    priors: GaussianPriors
    weights: RowVector | None
    weight_type: str
    scaling: Scaling
    source: AbstractSource

    @checked
    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int = 5,
        covariance: str = "full",
        priors: GaussianPriors | None = None,
        weights: object = None,
        weight_type: str = "frequency",
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, GaussianPriors)
        check_choice("covariance", covariance, tuple(GAUSSIAN_EXPERTS))
        parsed = parse_formula(formula, parts=("variables",), one_sided=True)
        priors, rows = (
            priors or GaussianPriors(),
            RowOptions(weights, weight_type, missing, context),
        )
        scaling = partial(variables_scaling, priors.standardize)
        model_data = model_rows(
            parsed, data, rows, RowKind(scaling, complete_block, response="none")
        )
        n_rows, design = model_data.design.n_rows, model_data.design
        check_count("n_components", n_components, most=n_rows, what="rows that are complete")
        number, known = int(n_components), (model_data.scales, model_data.source)
        self._keep(parsed, design, number, covariance, priors, *model_data.weights, *known)
        self._keep_rows(model_data.all_rows)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.design.terms["variables"]

    @property
    def core(self) -> Mixture:
        return gaussians_of(
            len(self.variables),
            self.priors,
            n_components=self.n_components,
            covariance=self.covariance,
        )

    @property
    def log_jacobian(self) -> float:
        """Log of the product of the variables' units."""
        return float(np.log(self.scaling.scale).sum())

    def options(self) -> dict[str, object]:
        return {
            "n_components": self.n_components,
            "covariance": self.covariance,
            "priors": vars(self.priors),
            **self.weight_options(),
        }

    def block(self, rows: Rows) -> Block:
        return variables_block(self.scaling, rows.matrices["variables"])

    def ordered(
        self, core: AnyModel, stats: MixtureStats
    ) -> tuple[AnyModel, MixtureStats, tuple[int, ...]]:
        """Components sorted by share, the largest first."""
        order = tuple(np.argsort(-stats.gate.weight, kind="stable").tolist())
        return *cast(Mixture, core).permuted(order, stats), order

    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Means, covariances, standard deviations, correlations and shares in the data's units."""
        draws, scaling, names = fit.draws, self.scaling, list(self.variables)
        scale = scaling.scale
        covariance = fit.core.experts.covariances(draws) * np.outer(scale, scale)
        sd = np.sqrt(np.diagonal(covariance, axis1=-2, axis2=-1))
        first, second = np.tril_indices(len(names), -1)
        given = draws["mean"] * scale + scaling.centre
        whole = ("component", "feature", "feature_other")
        parameters = [
            NamedParameter("mean", given, whole[:2], MEAN, part="mean"),
            NamedParameter("covariance", covariance, whole),
            NamedParameter("sd", sd, whole[:2], SD, part="sd"),
        ]
        if len(first) and self.covariance == "full":
            spread = sd[..., first] * sd[..., second]
            correlation = NamedParameter(
                name="correlation",
                values=covariance[..., first, second] / spread,
                dims=("component", "pair"),
                text=CORRELATION,
                part="correlation",
                signed=True,
                coords={
                    "pair": [f"{names[i]}, {names[j]}" for i, j in zip(second, first, strict=True)]
                },
            )
            parameters.append(correlation)
        share = NamedParameter("share", draws["gate"], ("component",), SHARE, part="share")
        coords = {
            "component": range(1, self.n_components + 1),
            "feature": names,
            "feature_other": names,
        }
        return NamedDraws.of([*parameters, share], coords)

    def observed(self) -> dict[str, RowVector]:
        """Variables by name."""
        return dict(zip(self.variables, self.design.matrices["variables"].T, strict=True))

    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        """One replicated row per draw and row, by variable."""
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * self.scaling.scale[:, None] + self.scaling.centre[:, None]
        return {name: drawn[:, i] for i, name in enumerate(self.variables)}

    def joint(self, fit: AbstractFit) -> AbstractJointStudent:
        """Predictive distribution of a row, in the data's units.

        With draws of an engine, the components of all draws, draw by draw.
        """
        joint = (
            _joint_of_draws(fit)
            if fit.is_sampled
            else _experts(fit).joint_predictive(fit.q.experts, fit.q.gate.mean)
        )
        return joint.affine(self.scaling.centre, self.scaling.scale)

    def predictive(self, fit: AbstractFit, data: object, response: str | None) -> Any:
        """Joint predictive distribution, or the conditional one of a variable given the others."""
        joint = self.joint(fit)
        return joint if response is None else self._conditional(joint, self.rows(data), response)

    def _conditional(
        self, joint: AbstractJointStudent, rows: Rows, response: str
    ) -> StudentMixture:
        """Distribution of one variable given the others of each row."""
        check_choice("response", response, self.variables)
        x = np.ascontiguousarray(rows.matrices["variables"].T)
        return joint.conditional(self.variables.index(response), x)

    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        """Density, component probabilities, class or a variable given the others."""
        rows, joint = self.rows(data), self.joint(fit)
        if options.response is not None:
            one = self._conditional(joint, rows, options.response)
            return predict(one, rows.index, rows.complete, kind, options)
        if kind in KINDS and kind not in JOINT_KINDS:
            raise DataError(
                f"kind={kind!r} predicts one variable given the others",
                hint=f"name it: response={self.variables[0]!r}",
            )
        check_choice("kind", kind, JOINT_KINDS)
        for name, value in options.given().items():
            raise DataError(f"kind={kind!r} does not use {name}={value!r}")
        x = np.ascontiguousarray(rows.matrices["variables"].T)
        if kind == "density":
            return filled(np.exp(joint.log_density(x)), rows, "density")
        labels = pd.RangeIndex(1, self.n_components + 1, name="component")
        table = np.full((len(rows.index), self.n_components), np.nan)
        responsibilities = joint.responsibilities(x)
        stacked = responsibilities.reshape(
            len(responsibilities) // self.n_components, self.n_components, x.shape[1]
        )
        table[rows.complete] = stacked.sum(axis=0).T
        if kind == "component":
            return pd.DataFrame(table, rows.index, labels)
        likely = filled(table[rows.complete].argmax(axis=1) + 1.0, rows, "class")
        return likely.astype("Int64")

    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        rows = self.rows(data)
        x = np.ascontiguousarray(rows.matrices["variables"].T)
        return filled(self.joint(fit).log_density(x), rows, "log_density")

    def prior_table(self) -> pd.DataFrame:
        """Priors of the means, standard deviations and weights, in the units of the data.

        Returns
        -------
        pandas.DataFrame
            Index (part, term); ``prior`` in words, its ``location`` and ``scale``. The covariance
            is integrated out of the prior of a mean, which leaves a Student t.
        """
        priors, scaling = self.priors, self.scaling
        dof = priors.covariance_rows + 2.0
        typical = priors.covariance_scale * (priors.covariance_rows / dof) ** 0.5
        rows = []
        for name, centre, unit in zip(self.variables, scaling.centre, scaling.scale, strict=True):
            scale = typical / priors.mean_precision**0.5 * unit
            rows.append(PriorRow("mean", name, f"Student t({dof:g})", float(centre), float(scale)))
        for name, unit in zip(self.variables, scaling.scale, strict=True):
            words = f"inverse Wishart, equivalent to {priors.covariance_rows:g} rows"
            rows.append(PriorRow("sd", name, words, float(priors.covariance_scale * unit), np.nan))
        concentration = priors.concentration or 1.0 / self.n_components
        share = 1.0 / self.n_components
        rows.append(PriorRow("share", "", f"Dirichlet({concentration:.3g})", share, np.nan))
        return prior_frame(rows)

    def headings(self, fit: AbstractFit) -> dict[str, str]:
        return {"mean": "means", "sd": "standard deviations", "correlation": "correlations"}

    def description(self) -> str:
        plural = "" if self.n_components == 1 else "s"
        return f"Mixture of {self.n_components} Gaussian{plural}, {self.covariance} covariances"


def _experts(fit: AbstractFit) -> AbstractGaussianExperts[object]:
    """Gaussian experts of a fit."""
    return cast(AbstractGaussianExperts[object], cast(Mixture, fit.core).experts)


def _joint_of_draws(fit: AbstractFit) -> JointStudent:
    """Average over draws of their mixtures of Gaussians, on the standardised scale."""
    draws = fit.predictive_draws
    covariance = _experts(fit).covariances(draws)
    n_dims = covariance.shape[-1]
    weights = (draws["gate"] / len(covariance)).ravel()
    return JointStudent(
        weights=weights,
        location=draws["mean"].reshape(-1, n_dims),
        scale=covariance.reshape(-1, n_dims, n_dims),
        dof=np.full(len(weights), NORMAL_DOF),
    )


def gaussians_of(
    n_dims: int, priors: GaussianPriors, *, n_components: int, covariance: str
) -> Mixture:
    """Mixture of Gaussians with these priors and constant weights."""
    scatter = priors.covariance_scale**2 * priors.covariance_rows * np.eye(n_dims)
    experts = GAUSSIAN_EXPERTS[covariance](
        np.zeros(n_dims),
        float(priors.mean_precision),
        priors.covariance_rows + n_dims + 1.0,
        scatter,
    )
    concentration = priors.concentration or 1.0 / n_components
    return Mixture(experts, DirichletGate(Dirichlet(np.full(n_components, float(concentration)))))


def filled(values: Float[np.ndarray, " complete"], rows: Rows, name: str) -> pd.Series:
    """Values of the complete rows in their places."""
    whole = np.full(len(rows.index), np.nan)
    whole[rows.complete] = values
    return pd.Series(whole, rows.index, name=name)
