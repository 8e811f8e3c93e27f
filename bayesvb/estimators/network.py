"""Conditional mixture network: classes, or numbers, through a layer of linear experts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_count, checked
from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.sources import AbstractSource
from bayesvb.data.standardised_blocks import Scales
from bayesvb.data.streamed_rows import in_memory_source
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.distributions.normal_mixture import NormalMixture
from bayesvb.distributions.prediction import PredictionOptions, predict
from bayesvb.estimators import network_prediction
from bayesvb.estimators.gating import gate_parameters, share_parameter
from bayesvb.estimators.model_rows import RowKind, RowOptions, model_rows
from bayesvb.estimators.network_assembly import (
    Output,
    check_family,
    check_response,
    class_output,
    gaussian_output,
    latents_of,
    network_of,
    with_products,
)
from bayesvb.estimators.prior_rows import name_margins
from bayesvb.estimators.priors import NetworkPriors, check_priors
from bayesvb.estimators.row_scales import network_block, network_scales
from bayesvb.experts.regression import in_units
from bayesvb.formula.design import Design, Rows
from bayesvb.formula.parser import Formula, parse_formula
from bayesvb.formula.passes.design_rows import encoded_design
from bayesvb.models.network.model import Network
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.base import AbstractFit
from bayesvb.results.named_draws import HasDraws, NamedDraws
from bayesvb.results.summary import prior_frame
from bayesvb.variational.descriptions import NamedParameter, ParameterText, PriorRow
from bayesvb.variational.local import Draws


@dataclass(frozen=True, eq=False, init=False, repr=False)
class ConditionalMixtureNetwork(network_prediction.AbstractNetwork):
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
        pandas, polars or pyarrow, or a mapping of columns; or rows that are not all in memory, see
        ``docs/large-data.md``.
    n_experts : int
        Number of experts, at most one per row.
    latent_dim : int, optional
        Length of the latent vector; by default the number of classes less one, or of responses.
    latent_covariance : {"full", "diagonal", "shared"}
        Covariance of a row's latent vector given its class: of its own, of its own with
        independent entries, or one for all rows of an expert (classes only).
    latent_posterior : {"conditional", "mean-field"}
        Whether the latent vector depends on the row's expert, or is independent of it.
    priors : NetworkPriors, optional
        By default the priors of the paper on the standardised scale; see ``prior_table``. Restarts
        alternate between its coefficient variance, a tenth of it and ten times it.
    weights : str or sequence of float, optional
        Case weights: a column's name, or one number per row. A row of weight two counts as two.
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

    title = "Conditional mixture network"
    likelihood_name = "conditional mixture network"
    size_name = "n_experts"
    prior_class = NetworkPriors
    formula_template = "network"
    factor_words = "experts, gate, output layer, and the latent vector and component of each row"
    reference = (
        "Heins et al. (2024), Gradient-free variational learning with "
        "conditional mixture networks, arXiv:2408.16429."
    )
    default_combination = "stack"
    own_kinds = network_prediction.CLASS_KINDS

    formula: Formula
    design: Design
    n_components: int
    latent_dim: int
    latent_covariance: str
    latent_posterior: str
    priors: NetworkPriors
    weights: RowVector | None
    weight_type: str
    scales: Scales
    source: AbstractSource

    @checked
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
        weight_type: str = "frequency",
        missing: str = "drop",
        context: Mapping[str, object] | None = None,
    ) -> None:
        check_priors(priors, NetworkPriors)
        check_family(latent_covariance, latent_posterior)
        parsed = parse_formula(formula)
        priors, rows = priors or NetworkPriors(), RowOptions(weights, weight_type, missing, context)
        kind_of_rows = RowKind(
            partial(network_scales, priors.standardize),
            network_block,
            response="any",
            kept=with_products,
        )
        model_data = model_rows(parsed, data, rows, kind_of_rows)
        check_response(model_data.design, latent_covariance)
        n_rows, design = model_data.design.n_rows, model_data.design
        check_count("n_experts", n_experts, most=n_rows, what="rows that are complete")
        kind = latents_of(design, latent_dim), latent_covariance, latent_posterior
        known = *model_data.weights, model_data.scales, model_data.source
        self._keep(parsed, design, int(n_experts), *kind, priors, *known)
        self._keep_rows(model_data.all_rows)

    @property
    def n_experts(self) -> int:
        """Number of experts: the components."""
        return self.n_components

    @property
    def log_jacobian(self) -> float:
        return self.log_unit

    @property
    def core(self) -> Network:
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
            len(self.design.terms[MEAN]),
            self.scales.parts[GATING],
            self.priors,
            n_experts=self.n_components,
        )

    def source_in(self, scales: Scales) -> AbstractSource:
        rows = encoded_design(self.design, self.weights)
        return with_products(in_memory_source(partial(network_block, scales), rows))

    def block(self, rows: Rows) -> Block:
        """Complete rows on the standardised scale; classes as codes."""
        response = rows.response
        if response is not None:
            response = np.asarray(response, dtype=float)
            response = response[:, None] if response.ndim == 1 else response
        return self.scales.block(rows.matrices, response)

    def options(self) -> dict[str, object]:
        return {
            "n_experts": self.n_components,
            "latent_dim": self.latent_dim,
            "latent_covariance": self.latent_covariance,
            "latent_posterior": self.latent_posterior,
            "priors": vars(self.priors),
            **self.weight_options(),
        }

    def named_draws(self, fit: HasDraws) -> NamedDraws:
        """Coefficients of experts, gate and output layer, noise and shares.

        ``beta`` are coefficients of the latent vector per unit of a term, ``sigma`` standard
        deviations of latent noise: the latent vector has no unit, and any invertible map of it
        leaves the predictions unchanged. ``gamma`` are the coefficients of the gate: log odds of
        stopping at a stick. ``output`` maps the latent vector to log odds of stopping at a class,
        or to the response in its units, with noise ``output_sd``.
        """
        draws, design, parts = fit.draws, self.design, self.scales.parts
        latents = [f"latent {i + 1}" for i in range(self.latent_dim)]
        beta = NamedParameter(
            name="beta",
            values=design.at_zero(MEAN, parts[MEAN].coefficients(draws["coefficients"])),
            dims=("component", "latent", "term_mean"),
            text=EXPERT,
            part=MEAN,
            signed=True,
        )
        noise = 1.0 / np.sqrt(draws["precision"])
        sigma = NamedParameter("sigma", noise, ("component", "latent"), LATENT, part="sigma")
        gate = gate_parameters(fit.core, draws, parts[GATING], design)
        share = share_parameter(fit.core, self.source, draws)
        coords = {
            "component": range(1, self.n_components + 1),
            "latent": latents,
            "term_mean": design.terms[MEAN],
            "term_output": [*latents, "Intercept"],
        }
        return NamedDraws.of([beta, sigma, *gate, *_output(self, draws), share], coords)

    def observed(self) -> dict[str, RowVector]:
        """Responses by name; of classes their codes."""
        given = self.design.responses
        return dict(zip(self.design.response_names, given.T, strict=True))

    def predictive(
        self, fit: AbstractFit, data: object, response: str | None
    ) -> AbstractComponentMixture:
        return network_prediction.predictive(self, fit, self.rows(data), response)

    def predictions(
        self, fit: AbstractFit, data: object, kind: str, options: PredictionOptions
    ) -> pd.Series | pd.DataFrame:
        """Probabilities, with intervals if ``prob`` is given, and classes; or what numbers allow.

        Intervals are equal-tailed, over ``n`` draws of the parameters, by default 250: columns
        (level, statistic) with the statistics mean, lower and upper.
        """
        rows = self.rows(data)
        if self.design.levels:
            return network_prediction.predict_classes(self, fit, rows, kind, options)
        network_prediction.check_kind_of_numbers(self, kind)
        distribution = network_prediction.predictive(self, fit, rows, options.response)
        if kind == "component":
            distribution = distribution.by_label(self.n_components)
        return predict(distribution, rows.index, rows.complete, kind, options)

    def drawn_mixture(self, fit: HasDraws, block: Block, response: int) -> NormalMixture:
        """Mixture of one numeric response for every draw and row, latent vectors summed out.

        Axes (experts, draws, rows), in the data's units. The response is linear in the latent
        vector: ``N(b' A_k x + b_0, b' diag(sigma_k^2) b + s^2)`` given the expert.
        """
        draws = fit.draws
        slope = draws["output"][:, response, :-1]
        coefficients = np.einsum("si,skit->skt", slope, draws["coefficients"])
        location = coefficients @ block.designs[MEAN] + draws["output"][:, response, -1:, None]
        variance = (slope[:, None] ** 2 / draws["precision"]).sum(axis=2)
        variance += 1.0 / draws["output_precision"][:, response, None]
        weights = np.exp(fit.core.log_weights(draws, block))
        scale = np.sqrt(variance)[:, :, None]
        return NormalMixture(*in_units(self.scales.response, response, weights, location, scale))

    def probability_draws(
        self,
        fit: AbstractFit,
        data: object = None,
        *,
        draws: int | None = None,
        few_points: bool = False,
    ) -> Float[np.ndarray, "draws rows classes"]:
        """Class probabilities of each complete row under the (first) draws of the parameters.

        Equal to the probabilities of the likelihood; with ``few_points`` faster, with an error of
        about 0.001. ``fit.predict(data, kind="probability", prob=0.9)`` returns quantiles of the
        latter.
        """
        rows = self.rows(data)
        return network_prediction.probability_draws(self, fit, rows, draws, few_points)

    def log_density(self, fit: AbstractFit, data: object) -> pd.Series:
        return network_prediction.log_density(self, fit, self.rows(data, response=True))

    def prior_table(self) -> pd.DataFrame:
        """Prior of every parameter.

        Returns
        -------
        pandas.DataFrame
            Index (part, term); ``prior`` in words, its ``location`` and ``scale``. Coefficients of
            the experts are per unit of the term, in units of the latent vector, which has none of
            its own; noise is integrated out, which leaves a Student t. Intercepts of sticks have
            centres that differ by stick.
        """
        output = _labels(self) if self.design.levels else _numbers(self)
        rows = [*_experts(self), *_gate(self), *output]
        return prior_frame(name_margins(rows, self.design, self.scales))

    def headings(self, fit: AbstractFit) -> dict[str, str]:
        """No table of coefficients is printed; see ``notes``."""
        return {}

    def notes(self, fit: AbstractFit) -> list[str]:
        """Notes on the meaning of coefficients of a network, and where to find them."""
        meaning = fit.mixture.coefficient_meaning() if self.n_components > 1 else ""
        apart = self.n_components > 1 and not fit.mixture.gate_coefficients(fit.draws)
        return [
            *([f"Gating: {meaning}."] if apart else []),
            "Coefficients are in fit.summary(). Experts and output layer are identified only up to",
            "a map of the latent vector: read predictions and bvb.effects, not coefficients.",
        ]

    def description(self) -> str:
        plural = "" if self.n_components == 1 else "s"
        levels = self.design.levels
        task = f"classification into {len(levels)}" if levels else "regression"
        experts = f"{self.n_components} expert{plural}"
        return f"Conditional mixture network, {task}, {experts}, {self.latent_dim} latent"


EXPERT = ParameterText(
    symbol="A",
    meaning="coefficients of each component's latent vector per unit of the term; the latent "
    "vector has no unit",
    heading="Experts",
    caption="Coefficients of the latent vector, per unit of the term; latent vectors have no unit, "
    "and maps of them leave all predictions as they are",
    identified=False,
)

LATENT = ParameterText(
    symbol="σ",
    meaning="standard deviation of each entry of the latent vector around its line",
    heading="Latent noise",
    caption="Standard deviation of each entry of the latent vector",
    identified=False,
)

OUTPUT = ParameterText(
    symbol="B",
    meaning="from the latent vector to log odds of classes, or to the response",
    heading="Output layer",
    caption="Coefficients of the response, or of the log odds of stopping at a class that is "
    "reached, per unit of the latent vector",
    identified=False,
)

OUTPUT_SD = ParameterText(
    symbol="s",
    meaning="standard deviation of the response given the latent vector",
    heading="Noise",
    caption="Standard deviation of the response given the latent vector, in its units",
)


def _output(model: ConditionalMixtureNetwork, draws: Draws) -> list[NamedParameter]:
    """Coefficients and noise of the output layer."""
    levels, response = model.design.levels, model.scales.response
    over = "level" if levels else "response"
    coords = {over: levels[:-1] if levels else model.design.response_names}
    coefficients = np.asarray(draws["output"])
    if not levels:
        coefficients = coefficients * response.scale[:, None]
        coefficients[..., -1] += response.centre
    output = NamedParameter(
        "output", coefficients, (over, "term_output"), OUTPUT, "output", signed=True, coords=coords
    )
    if levels:
        return [output]
    noise = response.scale / np.sqrt(draws["output_precision"])
    return [output, NamedParameter("output_sd", noise, (over,), OUTPUT_SD, "output_sd")]


def _experts(model: ConditionalMixtureNetwork) -> list[PriorRow]:
    priors, scaling = model.priors, model.scales.parts[MEAN]
    noise = np.sqrt(priors.latent_rate / priors.latent_shape)
    sds = np.full(len(scaling.scale), np.sqrt(priors.coefficient_variance) * noise)
    words = f"Student t({2.0 * priors.latent_shape:g})"
    rows: list[PriorRow] = [
        PriorRow(MEAN, term, words, 0.0, float(sd))
        for term, sd in zip(model.design.terms[MEAN], scaling.spread(sds), strict=True)
    ]
    law = f"1/sigma^2 ~ Gamma({priors.latent_shape:g}, {priors.latent_rate:g})"
    return [*rows, PriorRow("sigma", "", law, float(noise), np.nan)]


def _gate(model: ConditionalMixtureNetwork) -> list[PriorRow]:
    if model.size == 1:  # the only weight is one
        return []
    priors, scaling = model.priors, model.scales.parts[GATING]
    sds = scaling.spread(np.full(len(scaling.scale), np.sqrt(priors.gating_variance)))
    return [
        _stick(GATING, term, float(sd), centred=number == scaling.intercept and _even(model))
        for number, (term, sd) in enumerate(zip(model.design.terms[GATING], sds, strict=True))
    ]


def _even(model: ConditionalMixtureNetwork) -> bool:
    return model.priors.equal_prior_weights


def _stick(part: str, term: str, sd: float, *, centred: bool) -> PriorRow:
    if centred:
        return PriorRow(part, term, "Normal, equal prior weights", np.nan, sd)
    return PriorRow(part, term, "Normal", 0.0, sd)


def _labels(model: ConditionalMixtureNetwork) -> list[PriorRow]:
    sd = float(np.sqrt(model.priors.output_variance))
    return [
        _stick("output", "latent", sd, centred=False),
        _stick("output", "Intercept", sd, centred=_even(model)),
    ]


def _numbers(model: ConditionalMixtureNetwork) -> list[PriorRow]:
    priors, response = model.priors, model.scales.response
    noise = np.sqrt(priors.noise_rate / priors.noise_shape)
    words = f"Student t({2.0 * priors.noise_shape:g})"
    rows: list[PriorRow] = []
    for name, centre, unit in zip(
        model.design.response_names, response.centre, response.scale, strict=True
    ):
        of = "" if len(response.scale) == 1 else f"{name}: "
        sd = float(np.sqrt(priors.output_variance) * noise * unit)
        rate = priors.noise_rate * unit * unit
        law = f"1/output_sd^2 ~ Gamma({priors.noise_shape:g}, {rate:.3g})"
        rows += [
            PriorRow("output", f"{of}latent", words, 0.0, sd),
            PriorRow("output", f"{of}Intercept", words, float(centre), sd),
            PriorRow("output_sd", of.rstrip(": "), law, float(noise * unit), np.nan),
        ]
    return rows
