"""Conditional mixture network: classes, or numbers, through a layer of linear experts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.assembly import Scales
from bayesvb.blocks import Block, Source
from bayesvb.design import Design, Rows
from bayesvb.fit import Fit
from bayesvb.formula import Formula, parse_formula
from bayesvb.models.network import Network
from bayesvb.named_draws import Drawn, NamedDraws
from bayesvb.network_assembly import (
    Output,
    class_output,
    gaussian_output,
    network_of,
    network_scales,
    network_source,
)
from bayesvb.normal_mixture import NormalMixture
from bayesvb.options import check_count
from bayesvb.priors import NetworkPriors, check_priors
from bayesvb.student_mixture import StudentMixture
from bayesvb.workbench import network_draws, network_prediction
from bayesvb.workbench.base import blank_sums
from bayesvb.workbench.gated_mixture import AbstractGatedMixture
from bayesvb.workbench.network_checks import check_family, check_response, latents_of
from bayesvb.workbench.network_priors import prior_table
from bayesvb.workbench.reading import read

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConditionalMixtureNetwork(AbstractGatedMixture):
    r"""Classes of a response, or its distribution, through a layer of linear experts.

    A gate chooses an expert, the expert draws a short latent vector, and an output layer turns it
    into the response:

    .. math:: p(y \mid x) = \sum_k \pi_k(x) \int N(u \mid A_k x, \Sigma_k)\, p(y \mid u)\, du.

    A response of classes is classified, by sticks of the latent vector; numbers are regressed,
    linear in it with Gaussian noise.

    Parameters
    ----------
    formula : str
        ``"g ~ x1 + x2 | gating(x1)"``: terms of the experts, then terms of the gate. Without a
        second part the gate has the terms of the experts. ``.`` stands for all other columns, and
        ``C(g)`` on the left makes classes of numbers.
    data : table
        pandas, polars or pyarrow, or a mapping of columns.
    n_experts : int
        Number of experts, at most one per row.
    latent_dim : int, optional
        Length of the latent vector: classes less one if left out, or the number of responses.
    latent_covariance : {"full", "diagonal", "shared"}
        Covariance of a row's latent vector given its class: of its own, of its own with
        independent entries, or one for all rows of an expert (classes only).
    latent_posterior : {"conditional", "mean-field"}
        Whether the latent vector depends on the row's expert, or is independent of it.
    priors : NetworkPriors, optional
        Those of the paper on the standardised scale if left out; see ``prior_table``. Restarts
        take turns in its coefficient variance, a tenth of it and ten times it; from 1000 rows on
        also a hundred times it.
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

    Warns
    -----
    DesignWarning
        If a numeric response has so few values that classes were probably meant.

    References
    ----------
    Heins et al. (2024), Gradient-free variational learning with conditional mixture networks,
    arXiv:2408.16429. ``Network`` and its parts name where the paper's equations are corrected.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> iris = bvb.datasets.load("iris")
    >>> fit = bvb.ConditionalMixtureNetwork("label ~ .", iris, n_experts=3).fit(seed=1, restarts=2)
    >>> float(fit.predict(kind="probability").sum(axis=1).round(6).iloc[0])
    1.0
    >>> fit.predict(kind="probability", prob=0.9).loc[0, "setosa"].index.tolist()
    ['mean', 'lower', 'upper']
    """

    title = "Conditional mixture network, variational posterior (CAVI)"
    family = "conditional mixture network"
    size_name = "n_experts"
    prior_class = NetworkPriors
    default_combination = "stack"
    own_kinds = network_prediction.CLASS_KINDS

    formula: Formula
    design: Design
    n_components: int
    latent_dim: int
    latent_covariance: str
    latent_posterior: str
    priors: NetworkPriors
    weights: Float[np.ndarray, " rows"] | None
    scales: Scales
    source: Source

    def __init__(
        self,
        formula: str,
        data: object,
        *,
        n_experts: int = 10,
        latent_dim: int | None = None,
        latent_covariance: str = "full",
        latent_posterior: str = "conditional",
        priors: NetworkPriors | None = None,
        weights: object = None,
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, NetworkPriors)
        check_family(latent_covariance, latent_posterior)
        parsed = parse_formula(formula)
        design, weight = read(
            parsed, data, weights, response="any", context=context, missing=missing
        )
        check_count("n_experts", n_experts, most=len(design.frame), what="rows that are complete")
        response = check_response(design, latent_covariance)
        latents = latents_of(design, latent_dim)
        priors = priors or NetworkPriors()
        scales = network_scales(
            design.matrices,
            design.terms,
            response,
            weight,
            classes=design.levels is not None,
            active=priors.standardize,
        )
        source = network_source(scales, design.matrices, response, weight)
        kind = (latents, latent_covariance, latent_posterior)
        self._keep(parsed, design, int(n_experts), *kind, priors, weight, scales, source)

    @property
    def n_experts(self) -> int:
        """Number of experts: the components."""
        return self.n_components

    @property
    def core(self) -> Network:
        """The network on the standardised scale."""
        kind = {"covariance": self.latent_covariance, "posterior": self.latent_posterior}
        levels = self.design.levels
        output: Output
        if levels:
            output = class_output(len(levels), self.latent_dim, self.priors, **kind)
        else:
            n_responses = len(self.design.response_names)
            output = gaussian_output(n_responses, self.latent_dim, self.priors, **kind)
        return network_of(
            output,
            len(self.design.terms["mean"]),
            self.scales.parts["gating"],
            self.priors,
            n_experts=self.n_components,
            n_rows=self.source.total_weight,
        )

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale; classes as codes."""
        response = rows.response
        if response is not None:
            response = np.asarray(response, dtype=float).reshape(len(response), -1)
        return self.scales.block(rows.matrices, response)

    def options(self) -> dict[str, object]:
        """Arguments that make this model again."""
        return {
            "n_experts": self.n_components,
            "latent_dim": self.latent_dim,
            "latent_covariance": self.latent_covariance,
            "latent_posterior": self.latent_posterior,
            "priors": vars(self.priors),
        }

    def relabelled(self, core: Network, order: Sequence[int]) -> Network:
        """The network whose components have this order."""
        return core.permuted(order, blank_sums(core, self.source))[0]

    def named_draws(self, fit: Drawn) -> NamedDraws:
        """Coefficients of experts, gate and output layer, noise and shares."""
        return network_draws.named_draws(self, fit)

    def observed(self) -> dict[str, Float[np.ndarray, " rows"]]:
        """Responses by name; of classes their codes."""
        given = np.asarray(self.design.response, dtype=float).reshape(len(self.design.frame), -1)
        return dict(zip(self.design.response_names, given.T, strict=True))

    def predictive(self, fit: Fit, data: object, response: str | None) -> StudentMixture:
        """Predictive distribution of one numeric response at the complete rows."""
        return network_prediction.predictive(self, fit, self.rows(data), response)

    def predict(
        self, fit: Fit, data: object, kind: str, options: Mapping[str, Any]
    ) -> pd.Series | pd.DataFrame:
        """Probabilities, with intervals if ``prob`` is given, and classes; or what numbers allow.

        Intervals are equal-tailed, over ``n`` draws of the parameters, 250 if left out: columns
        (level, statistic) with the statistics mean, lower and upper.
        """
        return network_prediction.prediction(self, fit, self.rows(data), kind, options)

    def drawn_mixture(self, fit: Drawn, block: Block, response: int) -> NormalMixture:
        """Mixture of one numeric response for every draw and row."""
        return network_draws.drawn_mixture(self, fit, block, response)

    def probability_draws(
        self, fit: Fit, data: object = None, *, draws: int | None = None
    ) -> Float[np.ndarray, "draws rows classes"]:
        """Class probabilities of each complete row under the (first) draws of the parameters.

        ``fit.predict(data, kind="probability", prob=0.9)`` has their quantiles.
        """
        return network_prediction.probability_draws(self, fit, self.rows(data), draws)

    def log_density(self, fit: Fit, data: object) -> pd.Series:
        """Log predictive probability of each row's class, or density of its numbers."""
        return network_prediction.log_density(self, fit, self.rows(data, response=True))

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter, in the units of the data where it has any."""
        return prior_table(self)

    def headings(self, fit: Fit) -> dict[str, str]:
        """No table of coefficients is printed; see ``notes``."""
        return {}

    def notes(self, fit: Fit) -> list[str]:
        """What coefficients of a network are, and where they can be found."""
        return [
            "Coefficients are in fit.summary(). Those of experts and output layer are identified "
            "only up to a",
            "map of the latent vector: read predictions and bvb.effects, not coefficients.",
        ]

    def description(self) -> str:
        """First line of what is printed of the model."""
        plural = "" if self.n_components == 1 else "s"
        levels = self.design.levels
        task = f"classification into {len(levels)}" if levels else "regression"
        experts = f"{self.n_components} expert{plural}"
        return f"Conditional mixture network, {task}, {experts}, {self.latent_dim} latent"
