"""One Gaussian sample: the variational answer, and the exact one beside it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import gaussian_of
from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.design import Design, Rows
from bayesvb.errors import FormulaError
from bayesvb.factors.normal_gamma import NormalGamma
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.models.univariate import SampleSums, UnivariateGaussian
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.parts import Draws
from bayesvb.priors import NormalPriors, check_priors
from bayesvb.scale_mixture import SameForEveryRow
from bayesvb.scaling import Scaling
from bayesvb.student_mixture import StudentMixture
from bayesvb.summary import PROB
from bayesvb.workbench import normal_meaning
from bayesvb.workbench.generative import AbstractGenerative
from bayesvb.workbench.reading import read

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, init=False, repr=False)
class Normal(AbstractGenerative):
    r"""Mean and standard deviation of one sample, as if they were independent a posteriori.

    .. math:: y \sim N(\mu, \sigma^2), \quad q(\mu, \sigma) = q(\mu)\, q(\sigma).

    The exact posterior is known here, and what the factorised one loses can be seen: see
    ``exact``, ``divergences`` and ``exact_predictive``.

    Parameters
    ----------
    formula : str
        ``"y ~ 1"``, or ``"log(y) ~ 1"``.
    data : table
        pandas, polars or pyarrow, or a mapping of columns.
    priors : NormalPriors, optional
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row.
    missing : {"drop", "raise"}
        What to do with rows that lack a value; dropped rows are counted.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows what is wrong and what to write.

    References
    ----------
    Bishop (2006), Pattern Recognition and Machine Learning, section 10.1.3. Lin (2016), Variational
    Inference (slides), eqs 11-19, with the signs of eq. 11 and the squares of eq. 19 put right.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> fit = bvb.Normal("waiting ~ 1", bvb.datasets.load("faithful")).fit(seed=1)
    >>> fit.model.exact(fit)["mean"].round(1).tolist()
    [70.9, 70.9, 13.6, 13.6]
    """

    title = "One Gaussian sample, factorised variational posterior"
    family = "gaussian"
    prior_class = NormalPriors

    formula: Formula
    design: Design
    priors: NormalPriors
    weights: Float[np.ndarray, " rows"] | None
    scaling: Scaling
    source: Source

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        priors: NormalPriors | None = None,
        weights: object = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, NormalPriors)
        parsed = parse_formula(formula, parts=("mean",))
        if parsed.parts["mean"] != "1":
            hint = "write y ~ 1; DensityRegression takes covariates"
            raise FormulaError(parsed.text, "one sample has no covariates", hint=hint)
        design, weight = read(parsed, data, weights, context=context, missing=missing)
        if len(design.response_names) > 1:
            hint = "GaussianMixture('~ a + b', n_components=1) takes several variables"
            raise FormulaError(parsed.text, "one sample has one response", hint=hint)
        priors = priors or NormalPriors()
        response = np.asarray(design.response, dtype=float)
        scaling = Scaling.of_response(
            response, centred=True, weight=weight, active=priors.standardize
        )
        whole = Block({}, scaling.rows_last(response), weight)
        source = Source(tuple(whole.split(BLOCK_ROWS)))
        self._keep(parsed, design, priors, weight, scaling, source)

    @property
    def core(self) -> UnivariateGaussian:
        """The model on the standardised scale."""
        return gaussian_of(self.priors)

    @property
    def log_unit(self) -> float:
        """Log of the response's unit."""
        return float(np.log(self.scaling.scale[0]))

    def options(self) -> dict[str, object]:
        """Arguments that make this model again."""
        return {"priors": vars(self.priors)}

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale; zeros for a response that is not known."""
        if rows.response is None:
            return Block({}, np.zeros((1, int(rows.complete.sum()))))
        return Block({}, self.scaling.rows_last(np.asarray(rows.response, dtype=float)))

    def ordered(
        self, core: UnivariateGaussian, sums: SampleSums
    ) -> tuple[UnivariateGaussian, SampleSums, tuple[int, ...]]:
        """There is nothing to order."""
        return core, sums, (0,)

    def relabelled(self, core: UnivariateGaussian, order: Sequence[int]) -> UnivariateGaussian:
        """The same model."""
        return core

    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Mean and standard deviation."""
        return normal_meaning.named_draws(self, fit)

    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """The response by its name."""
        return {self.design.response_names[0]: np.asarray(self.design.response)[:, 0]}

    def replicates(
        self, fit: Drawn, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated response per draw and row."""
        noise = rng.standard_normal((len(draws["mean"]), block.n_rows))
        drawn = draws["mean"][:, None] + noise / np.sqrt(draws["precision"][:, None])
        name = self.design.response_names[0]
        return {name: drawn * self.scaling.scale[0] + self.scaling.centre[0]}

    def predictive(self, fit: Fit, data: object, response: str | None) -> SameForEveryRow:
        """Predictive distribution, the same for every row."""
        return normal_meaning.predictive(self, fit, self.rows(data), response)

    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data."""
        return normal_meaning.prediction(self, fit, self.rows(data), kind, options)

    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive density of each row's response."""
        return normal_meaning.log_density(self, fit, self.rows(data, response=True))

    def exact_posterior(self, fit: Fit) -> NormalGamma:
        """The exact posterior, on the standardised scale."""
        return self.core.exact(fit.sums)

    def exact(self, fit: Fit, prob: float = PROB) -> pd.DataFrame:
        """Both posteriors of both parameters, none from draws; see ``normal_meaning``."""
        return normal_meaning.exact_table(self, fit, prob)

    def divergences(self, fit: Fit) -> pd.Series:
        """Bound, exact log evidence, and the divergences between the posteriors both ways."""
        return normal_meaning.divergences(self, fit)

    def exact_predictive(self, fit: Fit) -> StudentMixture:
        """Exact predictive distribution of one more value: a Student t."""
        one = self.core.exact_predictive(self.exact_posterior(fit))
        return one.affine(float(self.scaling.centre[0]), float(self.scaling.scale[0]))

    def prior_table(self) -> pd.DataFrame:
        """Prior of both parameters, in the units of the data."""
        return normal_meaning.prior_table(self)

    def headings(self, fit: Fit) -> dict[str, str]:
        """Titles of the tables."""
        return {"mu": "mean", "sigma": "standard deviation"}

    def notes(self, fit: Fit) -> list[str]:
        """How far the factorised posterior is from the exact one."""
        return normal_meaning.notes(self, fit)

    def description(self) -> str:
        """First line of what is printed of the model."""
        return "One Gaussian sample"
