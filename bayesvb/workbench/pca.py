"""Bayesian principal component analysis: a few hidden scores behind several variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import gapped_block, gapped_source, principal_components_of
from bayesvb.blocks import Block, Source
from bayesvb.design import Design, Rows
from bayesvb.errors import DataError
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.models.pca import PcaSums, PrincipalComponents
from bayesvb.models.pca_start import PrincipalAxes
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.options import check_choice, check_count
from bayesvb.parts import Draws
from bayesvb.priors import PcaPriors, check_priors
from bayesvb.scaling import Scaling
from bayesvb.student_mixture import StudentMixture
from bayesvb.workbench import pca_meaning
from bayesvb.workbench.generative import AbstractGenerative
from bayesvb.workbench.reading import read

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, init=False, repr=False)
class BayesianPCA(AbstractGenerative):
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
        pandas, polars or pyarrow, or a mapping of columns.
    n_components : int, optional
        Largest number of components; one less than variables, or than rows, if left out.
    scale : bool
        Divide each variable by its own standard deviation rather than all by one number. The
        noise then is the same for all variables in units of their standard deviations.
    priors : PcaPriors, optional
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row.
    missing : {"keep", "drop", "raise"}
        What to do with rows that lack a value: use what they have, leave them out and count them,
        or refuse. A row without any value is always left out.
    context : mapping, optional
        Functions that the formula may call besides the usual ones.

    Raises
    ------
    FormulaError, DataError, PriorError
        The message shows what is wrong and what to write.

    Notes
    -----
    Components are sorted by the norm of their mean loadings on the scale of the model, and turned
    so that the loading of largest size there is positive. They are not rotated further: the prior
    of the scores and the relevances make the axes orthogonal, up to missing values.

    References
    ----------
    Agarwal, Bishop (2003), Improved Variational Approximation for Bayesian PCA, with the signs of
    its eqs 58, 59 and 107-118 and the expectation of eq. 39 put right.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> fit = bvb.BayesianPCA("~ .", bvb.datasets.load("iris")).fit(seed=1)
    >>> fit.components()["variance"].round(2).tolist()
    [0.92, 0.05, 0.01]
    """

    title = "Bayesian principal component analysis, variational posterior (CAVI)"
    family = "principal components"
    prior_class = PcaPriors
    own_kinds = pca_meaning.ROW_KINDS
    corrected = (
        "Intervals of centre and noise have the scores integrated out; those of loadings take the "
        "scores as given: much narrower."
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
    weights: Float[np.ndarray, " rows"] | None
    scaling: Scaling
    source: Source
    axes: PrincipalAxes

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int | None = None,
        scale: bool = False,
        priors: PcaPriors | None = None,
        weights: object = None,
        missing: str = "keep",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, PcaPriors)
        check_choice("missing", missing, ("keep", "drop", "raise"))
        if not isinstance(scale, bool):
            raise DataError(f"scale={scale!r} must be True or False")
        parsed = parse_formula(formula, parts=("variables",), one_sided=True)
        design, weight = read(
            parsed, data, weights, response="none", context=context, missing=missing, warn=False
        )
        matrix = design.matrices["variables"]
        pca_meaning.warn_of_constants(matrix, design.terms["variables"])
        number = _number_of_components(n_components, matrix)
        priors = priors or PcaPriors()
        scaling = Scaling.of_gapped(
            matrix, common=not scale, weight=weight, active=priors.standardize
        )
        source = gapped_source(scaling, matrix, weight)
        axes = PrincipalAxes.of(source)
        self._keep(parsed, design, number, scale, missing, priors, weight, scaling, source, axes)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.design.terms["variables"]

    @property
    def n_gaps(self) -> int:
        """Number of missing values in the rows used."""
        return int(np.isnan(self.design.matrices["variables"]).sum())

    @property
    def core(self) -> PrincipalComponents:
        """The model on its own scale; densities are in the units of the data."""
        return principal_components_of(self.scaling, self.axes, self.priors, self.n_components)

    @property
    def log_unit(self) -> float:
        """Nothing: rows differ in how many values they have, so the core counts the units."""
        return 0.0

    def options(self) -> dict[str, object]:
        """Arguments that make this model again."""
        return {
            "n_components": self.n_components,
            "scale": self.scale,
            "missing": self.missing,
            "priors": vars(self.priors),
        }

    def block(self, rows: Rows) -> Block:
        """Rows on the scale of the model."""
        matrix = rows.matrices["variables"]
        return gapped_block(self.scaling, matrix, gapped=bool(np.isnan(matrix).any()))

    def ordered(
        self, core: PrincipalComponents, sums: PcaSums
    ) -> tuple[PrincipalComponents, PcaSums, tuple[int, ...]]:
        """Components sorted by the norm of their mean loadings, the largest loading positive."""
        loadings = core.update(sums).loadings.mean[:, :-1]
        order = tuple(np.argsort(-(loadings**2).sum(axis=0), kind="stable").tolist())
        largest = np.take_along_axis(loadings, np.abs(loadings).argmax(axis=0)[None], axis=0)[0]
        sign = np.where(largest < 0.0, -1.0, 1.0)
        return core, core.permuted(order, sign[list(order)], sums), order

    def relabelled(self, core: PrincipalComponents, order: Sequence[int]) -> PrincipalComponents:
        """The same model: its components are exchangeable a priori."""
        return core

    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Loadings, centre, noise and relevances."""
        return pca_meaning.named_draws(self, fit)

    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """Variables by name, NaN where a value is missing."""
        return dict(zip(self.variables, self.design.matrices["variables"].T, strict=True))

    def replicates(
        self, fit: Drawn, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated row per draw and row, by variable, missing where the data are."""
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * self.scaling.scale[:, None] + self.scaling.centre[:, None]
        seen = block.designs.get("observed")
        if seen is not None:
            drawn[:, seen == 0.0] = np.nan
        return {name: drawn[:, i] for i, name in enumerate(self.variables)}

    def predictive(self, fit: Fit, data: object, response: str | None) -> StudentMixture:
        """Predictive distribution of one variable given the others of each row."""
        return pca_meaning.predictive(self, fit, self.rows(data), response)

    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Scores, reconstruction, imputation, density, or a variable given the others."""
        return pca_meaning.prediction(self, fit, self.rows(data), kind, options)

    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive density of the observed values of each row."""
        return pca_meaning.log_density(self, fit, self.rows(data))

    def moments(self, fit: Fit) -> tuple[pd.Series, pd.DataFrame]:
        """Mean and covariance of a new row under the posterior: exact, not from draws."""
        return pca_meaning.moments(self, fit)

    def effective(self, fit: Fit) -> int:
        """Number of components whose loadings rise above their uncertainty; see ``components``."""
        return int(np.count_nonzero(fit.q.effective > 1.0))

    def components(self, fit: Fit, prob: float) -> pd.DataFrame:
        """Size, relevance and signal of every component; see ``pca_meaning.component_table``."""
        return pca_meaning.component_table(self, fit)

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data; one row per parameter."""
        return pca_meaning.prior_table(self)

    def headings(self, fit: Fit) -> dict[str, str]:
        """Titles of the tables."""
        return {"loadings": "loadings", "centre": "centre", "sigma": "noise"}

    def notes(self, fit: Fit) -> list[str]:
        """How many components count, and what was missing."""
        return pca_meaning.notes(self, fit)

    def description(self) -> str:
        """First line of what is printed of the model."""
        scale = "each variable by its own" if self.scale else "all variables by one"
        return f"Bayesian PCA, at most {self.n_components} components, scale: {scale}"


def _number_of_components(given: int | None, matrix: Float[np.ndarray, "rows dims"]) -> int:
    """The number asked for, or the largest there can be."""
    n_rows, n_dims = matrix.shape
    if n_dims < 2:
        raise DataError("there is one variable only", hint="components need two or more")
    if given is None:
        return int(min(n_dims, n_rows)) - 1
    check_count("n_components", given, most=n_dims - 1, what="that these variables can have")
    check_count("n_components", given, most=n_rows - 1, what="that these rows can have")
    return int(given)
