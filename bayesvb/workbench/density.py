"""Density regression: how the whole distribution of a response changes with covariates."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import Scales, mixture_of, source_of
from bayesvb.blocks import Block, Source
from bayesvb.design import Design, Rows
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.gates import GATES
from bayesvb.models.mixture import Mixture
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.normal_mixture import NormalMixture
from bayesvb.options import check_choice, check_count
from bayesvb.priors import Priors, check_priors
from bayesvb.student_mixture import StudentMixture
from bayesvb.workbench import density_draws, density_prediction
from bayesvb.workbench.base import blank_sums
from bayesvb.workbench.density_priors import prior_table
from bayesvb.workbench.gated_mixture import AbstractGatedMixture
from bayesvb.workbench.reading import read

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, init=False, repr=False)
class DensityRegression(AbstractGatedMixture):
    r"""How the whole distribution of a response changes with covariates.

    A mixture of Gaussian linear regressions whose weights depend on covariates:

    .. math:: p(y \mid x) = \sum_k \pi_k(x)\, N(y \mid x^\top \beta_k, \sigma_k^2).

    Parameters
    ----------
    formula : str
        ``"y ~ x1 + x2 | gating(x1)"``: terms of the experts, then terms of the weights. Without a
        second part the weights have the terms of the experts.
    data : table
        pandas, polars or pyarrow, or a mapping of columns.
    n_components : int
        Number of components, at most one per row.
    gate : {"softmax", "softmax-jensen", "softmax-bouchard", "stick-breaking", "dirichlet"}
        How the weights depend on covariates; ``"dirichlet"`` means not at all. The three softmax
        gates are one model with three bounds, the first of them the tightest.
    priors : Priors, optional
        Weakly informative on the standardised scale if left out; see ``prior_table``.
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row. A row of weight two counts as two.
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

    title = "Mixture of Gaussian linear experts, variational posterior (CAVI)"
    family = "mixture of Gaussian linear experts"
    prior_class = Priors

    formula: Formula
    design: Design
    n_components: int
    gate: str
    priors: Priors
    weights: Float[np.ndarray, " rows"] | None
    scales: Scales
    source: Source

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int = 5,
        gate: str = "softmax",
        priors: Priors | None = None,
        weights: object = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_choice("gate", gate, tuple(GATES))
        check_priors(priors, Priors)
        parsed = parse_formula(formula)
        design, weight = read(parsed, data, weights, context=context, missing=missing)
        n_rows = len(design.frame)
        check_count("n_components", n_components, most=n_rows, what="rows that are complete")
        priors = priors or Priors()
        response = np.asarray(design.response, dtype=float)
        scales = Scales.of(
            design.matrices, design.terms, response, weight=weight, active=priors.standardize
        )
        source = source_of(scales, design.matrices, response, weight)
        self._keep(parsed, design, int(n_components), gate, priors, weight, scales, source)

    @property
    def core(self) -> Mixture:
        """The model on the standardised scale."""
        return mixture_of(
            self.design.terms,
            self.scales,
            self.priors,
            n_components=self.n_components,
            gate=self.gate,
        )

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale."""
        return self.scales.block(rows.matrices, rows.response)

    def options(self) -> dict[str, object]:
        """Arguments that make this model again."""
        return {
            "n_components": self.n_components,
            "gate": self.gate,
            "priors": vars(self.priors),
        }

    def relabelled(self, core: Mixture, order: Sequence[int]) -> Mixture:
        """The mixture whose components have this order."""
        blank = core.start(blank_sums(core, self.source))
        return core.permuted(order, blank)[0]

    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Coefficients, noise and shares."""
        return density_draws.named_draws(self, fit)

    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """Responses by name."""
        return dict(
            zip(self.design.response_names, np.asarray(self.design.response).T, strict=True)
        )

    def predictive(self, fit: Fit, data: object, response: str | None) -> StudentMixture:
        """Predictive distribution of one response at the complete rows."""
        return density_prediction.predictive(self, fit, self.rows(data), response)

    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Prediction for every row of the data."""
        return density_prediction.prediction(self, fit, self.rows(data), kind, options)

    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive density of each row's observed responses."""
        return density_prediction.log_density(self, fit, self.rows(data, response=True))

    def drawn_mixture(self, fit: Drawn, block: Block, response: int) -> NormalMixture:
        """Mixture of one response for every draw and row."""
        return density_draws.drawn_mixture(self, fit, block, response)

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data; one row per parameter."""
        return prior_table(self)

    def headings(self, fit: Fit) -> dict[str, str]:
        """Titles of the coefficient tables."""
        return {"mean": "mean", "gating": f"gating ({fit.core.coefficient_meaning()})"}

    def description(self) -> str:
        """First line of what is printed of the model."""
        plural = "" if self.n_components == 1 else "s"
        return f"Density regression, {self.n_components} component{plural}, {self.gate} gate"
