"""Mixture of Gaussians: the joint distribution of several variables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import gaussians_of, variables_block, variables_source
from bayesvb.blocks import Block, Source
from bayesvb.design import Design, Rows
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.joint_student import AbstractJointStudent
from bayesvb.models.mixture import Mixture, MixtureSums
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.options import check_choice, check_count
from bayesvb.parts import Draws
from bayesvb.priors import GaussianPriors, check_priors
from bayesvb.scaling import Scaling
from bayesvb.workbench import gaussian_meaning
from bayesvb.workbench.base import blank_sums
from bayesvb.workbench.mixture_base import AbstractMixture
from bayesvb.workbench.reading import read

if TYPE_CHECKING:
    import pandas as pd


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
        pandas, polars or pyarrow, or a mapping of columns.
    n_components : int
        Largest number of components, at most one per row.
    covariance : {"full", "diagonal"}
        Form of the covariance matrices.
    priors : GaussianPriors, optional
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

    title = "Mixture of Gaussians, variational posterior (CAVI)"
    family = "mixture of Gaussians"
    order_rule = "Components are sorted by share."
    prior_class = GaussianPriors
    own_kinds = gaussian_meaning.JOINT_KINDS

    formula: Formula
    design: Design
    n_components: int
    covariance: str
    priors: GaussianPriors
    weights: Float[np.ndarray, " rows"] | None
    scaling: Scaling
    source: Source

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_components: int = 5,
        covariance: str = "full",
        priors: GaussianPriors | None = None,
        weights: object = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, GaussianPriors)
        check_choice("covariance", covariance, tuple(GAUSSIAN_EXPERTS))
        parsed = parse_formula(formula, parts=("variables",), one_sided=True)
        design, weight = read(
            parsed, data, weights, response="none", context=context, missing=missing
        )
        n_rows = len(design.frame)
        check_count("n_components", n_components, most=n_rows, what="rows that are complete")
        priors = priors or GaussianPriors()
        matrix = design.matrices["variables"]
        scaling = Scaling.of_variables(matrix, weight=weight, active=priors.standardize)
        source = variables_source(scaling, matrix, weight)
        self._keep(parsed, design, int(n_components), covariance, priors, weight, scaling, source)

    @property
    def variables(self) -> tuple[str, ...]:
        """Names of the variables."""
        return self.design.terms["variables"]

    @property
    def core(self) -> Mixture:
        """The model on the standardised scale."""
        return gaussians_of(
            len(self.variables),
            self.priors,
            n_components=self.n_components,
            covariance=self.covariance,
        )

    @property
    def log_unit(self) -> float:
        """Log of the product of the variables' units."""
        return float(np.log(self.scaling.scale).sum())

    def options(self) -> dict[str, object]:
        """Arguments that make this model again."""
        return {
            "n_components": self.n_components,
            "covariance": self.covariance,
            "priors": vars(self.priors),
        }

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale."""
        return variables_block(self.scaling, rows.matrices["variables"])

    def ordered(
        self, core: Mixture, sums: MixtureSums
    ) -> tuple[Mixture, MixtureSums, tuple[int, ...]]:
        """Components sorted by share, the largest first."""
        order = tuple(np.argsort(-sums.gate.weight, kind="stable").tolist())
        return *core.permuted(order, sums), order

    def relabelled(self, core: Mixture, order: Sequence[int]) -> Mixture:
        """The mixture whose components have this order."""
        return core.permuted(order, blank_sums(core, self.source))[0]

    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Means, covariances and shares."""
        return gaussian_meaning.named_draws(self, fit)

    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """Variables by name."""
        return dict(zip(self.variables, self.design.matrices["variables"].T, strict=True))

    def replicates(
        self, fit: Drawn, draws: Draws, block: Block, rng: np.random.Generator
    ) -> dict[str, Float[np.ndarray, "draws rows"]]:
        """One replicated row per draw and row, by variable."""
        drawn = fit.core.responses(draws, block, rng)
        drawn = drawn * self.scaling.scale[:, None] + self.scaling.centre[:, None]
        return {name: drawn[:, i] for i, name in enumerate(self.variables)}

    def joint(self, fit: Fit) -> AbstractJointStudent:
        """Predictive distribution of a row, in the data's units."""
        posterior = fit.q
        joint = fit.core.experts.joint_predictive(posterior.experts, posterior.gate.mean)
        result: AbstractJointStudent = joint.affine(self.scaling.centre, self.scaling.scale)
        return result

    def predictive(self, fit: Fit, data: object, response: str | None) -> Any:
        """Joint predictive distribution, or that of one variable given the row's others."""
        return gaussian_meaning.predictive(self, fit, self.rows(data), response)

    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Density, component probabilities, class or a variable given the others."""
        return gaussian_meaning.prediction(self, fit, self.rows(data), kind, options)

    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive density of each row."""
        return gaussian_meaning.log_density(self, fit, self.rows(data))

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data; one row per parameter."""
        return gaussian_meaning.prior_table(self)

    def headings(self, fit: Fit) -> dict[str, str]:
        """Titles of the tables."""
        return {"mean": "means", "sd": "standard deviations", "correlation": "correlations"}

    def description(self) -> str:
        """First line of what is printed of the model."""
        plural = "" if self.n_components == 1 else "s"
        return f"Mixture of {self.n_components} Gaussian{plural}, {self.covariance} covariances"
