"""One Gaussian sample: the variational posterior and the exact one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from scipy import special

from bayesvb.argument_checks import check_choice, checked
from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.data.scaling import Scaling
from bayesvb.data.sources import AbstractSource
from bayesvb.data.statistics import SufficientStats
from bayesvb.distributions.intervals import PROB, tails
from bayesvb.distributions.normal_scale_mixture import SameForEveryRow
from bayesvb.distributions.prediction import PredictionOptions, predict
from bayesvb.distributions.student_mixture import StudentMixture
from bayesvb.engines.base import AbstractEngine
from bayesvb.errors import FormulaError
from bayesvb.estimators.base import AbstractEstimator
from bayesvb.estimators.gaussian_mixture import filled
from bayesvb.estimators.model_rows import RowKind, RowOptions, model_rows
from bayesvb.estimators.priors import NormalPriors, check_priors
from bayesvb.estimators.row_scales import sample_block, sample_scaling
from bayesvb.factors.normal_gamma import NormalGamma, ScalarGamma
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula, parse_formula
from bayesvb.models.normal import UnivariateGaussian
from bayesvb.numerics.arrays import DrawRows, RowVector
from bayesvb.results.base import AbstractFit
from bayesvb.results.named_draws import HasDraws, NamedDraws
from bayesvb.results.summary import prior_frame
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws
from bayesvb.variational.model import AnyModel

MU = ParameterText(
    symbol="μ",
    meaning="mean of the response",
    heading="Mean",
    caption="Mean of the response, in its units",
)

SIGMA = ParameterText(
    symbol="σ",
    meaning="standard deviation of the response",
    heading="Standard deviation",
    caption="Standard deviation of the response, in its units",
)


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normal(AbstractEstimator):
    r"""Mean and standard deviation of one sample, with independent factors a posteriori.

    .. math:: y \sim N(\mu, \sigma^2), \quad q(\mu, \sigma) = q(\mu)\, q(\sigma).

    The exact posterior is known, and shows the loss by the factorisation: see ``exact``,
    ``divergences`` and ``exact_predictive``.

    Parameters
    ----------
    formula : str
        ``"y ~ 1"``, or ``"log(y) ~ 1"``.
    data : table
        pandas, polars or pyarrow, or a mapping of columns; or rows that are not all in memory, see
        ``docs/large-data.md``.
    priors : NormalPriors, optional
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
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.1.3. Lin (2016), Variational
    Inference (slides), eqs 11-19, with corrected signs in eq. 11 and squares in eq. 19.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> fit = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful")).fit(seed=1)
    >>> fit.model.exact(fit)["mean"].round(1).tolist()
    [70.9, 70.9, 13.6, 13.6]
    """

    title = "One Gaussian sample"
    likelihood_name = "gaussian"
    prior_class = NormalPriors
    formula_template = "normal"
    factor_words = "mean and precision"
    reference = "Bishop (2006), Pattern Recognition and Machine Learning, section 10.1.3."

    formula: Formula
    design: Design
    priors: NormalPriors
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
        priors: NormalPriors | None = None,
        weights: object = None,
        weight_type: str = "frequency",
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, NormalPriors)
        parsed = parse_formula(formula, parts=(MEAN,))
        if parsed.parts[MEAN] != "1":
            hint = "write y ~ 1; DensityRegression takes covariates"
            raise FormulaError(parsed.text, "one sample has no covariates", hint=hint)
        priors, rows = priors or NormalPriors(), RowOptions(weights, weight_type, missing, context)
        scaling = partial(sample_scaling, priors.standardize)
        model_data = model_rows(parsed, data, rows, RowKind(scaling, sample_block))
        if len(model_data.design.response_names) > 1:
            hint = "GaussianMixture('~ a + b', n_components=1) takes several variables"
            raise FormulaError(parsed.text, "one sample has one response", hint=hint)
        self._keep(
            parsed,
            model_data.design,
            priors,
            *model_data.weights,
            model_data.scales,
            model_data.source,
        )
        self._keep_rows(model_data.all_rows)

    @property
    def core(self) -> UnivariateGaussian:
        return gaussian_of(self.priors)

    @property
    def log_jacobian(self) -> float:
        """Log of the response's unit."""
        return float(np.log(self.scaling.scale[0]))

    def options(self) -> dict[str, object]:
        return {"priors": vars(self.priors), **self.weight_options()}

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale; zeros for a response that is not known."""
        if rows.response is None:
            return Block({}, np.zeros((1, int(rows.complete.sum()))))
        return Block({}, self.scaling.rows_last(np.asarray(rows.response, dtype=float)))

    def headline(self, engine: AbstractEngine) -> str:
        """First line of the printed fit: every run converges at once."""
        if engine.maximises_bound:
            return f"{self.title}, factorised variational posterior"
        return super().headline(engine)

    def ordered(
        self, core: AnyModel, stats: SufficientStats
    ) -> tuple[AnyModel, SufficientStats, tuple[int, ...]]:
        """There is nothing to order."""
        return core, stats, (0,)

    def relabelled(self, core: AnyModel, order: Sequence[int]) -> AnyModel:
        """Core unchanged: it has no labels."""
        return core

    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """``mu`` and ``sigma`` in the data's units."""
        scale, centre = self.scaling.scale[0], self.scaling.centre[0]
        mean = fit.draws["mean"] * scale + centre
        sd = scale / np.sqrt(fit.draws["precision"])
        mu = NamedParameter("mu", mean, (), MU, part="mu", signed=True)
        return NamedDraws.of([mu, NamedParameter("sigma", sd, (), SIGMA, part="sigma")], {})

    def observed(self) -> dict[str, RowVector]:
        """The response by its name."""
        return {self.design.response_names[0]: np.asarray(self.design.response)[:, 0]}

    def replicates(
        self, fit: HasDraws, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, DrawRows]:
        drawn = self.core.responses(draws, block, rng)[:, 0]
        name = self.design.response_names[0]
        return {name: drawn * self.scaling.scale[0] + self.scaling.centre[0]}

    def predictive(self, fit: AbstractFit, data: object, response: str | None) -> SameForEveryRow:
        return _predictive(self, fit, self.rows(data), response)

    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        rows = self.rows(data)
        one = _predictive(self, fit, rows, options.response)
        return predict(one, rows.index, rows.complete, kind, options)

    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        rows = self.rows(data, response=True)
        y = np.asarray(rows.response, dtype=float)[:, 0]
        one = _predictive(self, fit, rows, None)
        return filled(one.log_density(y), rows, "log_density")

    def exact_posterior(self, fit: AbstractFit) -> NormalGamma:
        """The exact posterior, on the standardised scale."""
        return self.core.exact(fit.stats)

    def exact(self, fit: AbstractFit, prob: float = PROB) -> pd.DataFrame:
        """Both posteriors of both parameters, none from draws."""
        return _exact_table(self, fit, prob)

    def divergences(self, fit: AbstractFit) -> pd.Series:
        """Bound, exact log evidence, and the divergences between the posteriors both ways."""
        return _divergences(self, fit)

    def exact_predictive(self, fit: AbstractFit) -> StudentMixture:
        """Exact predictive distribution of one more value: a Student t."""
        one = self.core.exact_predictive(self.exact_posterior(fit))
        return one.affine(float(self.scaling.centre[0]), float(self.scaling.scale[0]))

    def prior_table(self) -> pd.DataFrame:
        priors = self.priors
        scale, centre = float(self.scaling.scale[0]), float(self.scaling.centre[0])
        typical = scale * (priors.noise_rate / priors.noise_shape) ** 0.5
        student = f"Student t({2.0 * priors.noise_shape:g})"
        gamma = f"1/sigma^2 ~ Gamma({priors.noise_shape:g}, {priors.noise_rate * scale**2:.3g})"
        rows = [
            PriorRow("mu", "", student, centre, typical / priors.mean_precision**0.5),
            PriorRow("sigma", "", gamma, typical, np.nan),
        ]
        return prior_frame(rows)

    def headings(self, fit: AbstractFit) -> dict[str, str]:
        """Titles of the tables."""
        return {"mu": "mean", "sigma": "standard deviation"}

    def notes(self, fit: AbstractFit) -> list[str]:
        """Note on the distance of the factorised posterior from the exact one."""
        table, cost = _exact_table(self, fit, 0.89), _divergences(self, fit)
        width = (table["upper"] - table["lower"]).unstack("posterior")
        share = width["factorised"] / width["exact"]
        return [
            f"The posterior is known here: its interval of mu has {share['mu']:.1%} of the exact "
            f"width, of sigma {share['sigma']:.1%}.",
            f"KL(q, exact) {cost['KL(q, exact)']:.2g} nats, "
            f"KL(exact, q) {cost['KL(exact, q)']:.2g}: see fit.model.exact(fit).",
        ]

    def description(self) -> str:
        return "One Gaussian sample"


def gaussian_of(priors: NormalPriors) -> UnivariateGaussian:
    """One Gaussian sample with this prior."""
    law = ScalarGamma(float(priors.noise_shape), float(priors.noise_rate))
    return UnivariateGaussian(NormalGamma(0.0, float(priors.mean_precision), law))


Row = tuple[float, float, float, float]
"""Mean, standard deviation, and the ends of an interval."""


def _predictive(
    model: Normal, fit: AbstractFit, rows: Rows, response: str | None
) -> SameForEveryRow:
    """Predictive distribution under the factorised posterior."""
    if response is not None:
        check_choice("response", response, model.design.response_names)
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    one = model.core.predictive(fit.q).affine(centre, scale)
    return SameForEveryRow(one, int(rows.complete.sum()))


def _exact_table(model: Normal, fit: AbstractFit, prob: float) -> pd.DataFrame:
    """Factorised and exact posterior of both parameters.

    Returns
    -------
    pandas.DataFrame
        Index (part, posterior), columns mean, sd, lower and upper, equal-tailed. Not from draws.
    """
    ends = np.array(tails(prob))
    scale, centre = float(model.scaling.scale[0]), float(model.scaling.centre[0])
    q, exact = fit.q, model.exact_posterior(fit)
    dof = 2.0 * exact.precision.shape
    spread = 1.0 / np.sqrt(exact.strength * exact.precision.mean)
    width = np.sqrt(dof / (dof - 2.0)) if dof > 2.0 else np.inf
    sd = 1.0 / np.sqrt(q.mean_precision)
    rows: dict[tuple[str, str], Row] = {
        ("mu", "factorised"): (q.mean, sd, *(q.mean + sd * special.ndtri(ends))),
        ("mu", "exact"): (
            exact.mean,
            spread * width,
            *(exact.mean + spread * special.stdtrit(dof, ends)),
        ),
        ("sigma", "factorised"): _standard_deviation(q.precision, ends),
        ("sigma", "exact"): _standard_deviation(exact.precision, ends),
    }
    columns = ["mean", "sd", "lower", "upper"]
    index = pd.MultiIndex.from_tuples(rows, names=["part", "posterior"])
    values = scale * np.array(list(rows.values()))
    values[:2, [0, 2, 3]] += centre
    return pd.DataFrame(values, index, columns)


def _standard_deviation(law: ScalarGamma, ends: np.ndarray) -> Row:
    """Moments and interval of ``1 / sqrt(lambda)``."""
    a, b = law.shape, law.rate
    mean = np.sqrt(b) * special.poch(a, -0.5) if a > 0.5 else np.inf
    variance = b / (a - 1.0) - mean**2 if a > 1.0 else np.inf
    lower, upper = (1.0 / np.sqrt(special.gammaincinv(a, 1.0 - ends) / b)).tolist()
    return float(mean), float(np.sqrt(max(variance, 0.0))), lower, upper


def _divergences(model: Normal, fit: AbstractFit) -> pd.Series:
    """Loss by the factorisation.

    Returns
    -------
    pandas.Series
        ``bound`` and ``log evidence`` of the data in their units; ``KL(q, exact)``, the gap
        between the two, which the fit made as small as it can be; and ``KL(exact, q)``, the
        divergence the other way round, which it did not look at.
    """
    q, exact, core = fit.q, model.exact_posterior(fit), model.core
    units = model.log_jacobian * model.source.total_weight
    values = {
        "bound": core.bound(q, fit.stats) - units,
        "log evidence": core.log_evidence(fit.stats) - units,
        "KL(q, exact)": q.kl(exact),
        "KL(exact, q)": exact.kl(q),
    }
    return pd.Series(values, name="nats")
