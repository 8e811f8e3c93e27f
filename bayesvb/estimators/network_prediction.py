"""Predictions of a conditional mixture network at new rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.argument_checks import check_choice, check_count
from bayesvb.data.blocks import BLOCK_ROWS, Block
from bayesvb.data.sources import InMemorySource
from bayesvb.distributions.base import AbstractComponentMixture
from bayesvb.distributions.intervals import tails
from bayesvb.distributions.prediction import KINDS, PredictionOptions, interval_probability
from bayesvb.errors import DataError
from bayesvb.estimators.mixture import AbstractGatedMixture
from bayesvb.models.ensemble import thinned
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count, log_lik_blocks
from bayesvb.results.summary import intervals

if TYPE_CHECKING:
    from bayesvb.formula.design import Rows
    from bayesvb.results.base import AbstractFit
    from bayesvb.variational.local import Draws

CLASS_KINDS = ("probability", "class")
"""Predictions of a response of classes."""

INTERVAL_DRAWS = 250
"""Default number of draws for intervals of probabilities."""


class AbstractNetwork(AbstractGatedMixture):
    """A public model whose components feed a latent vector."""

    latent_dim: int


def check_kind_of_numbers(model: AbstractNetwork, kind: str) -> None:
    """Raise for a kind of prediction that only classes have."""
    if kind in CLASS_KINDS:
        name = model.design.response_names[0]
        raise DataError(
            f"kind={kind!r} needs classes, but the response `{name}` holds numbers",
            hint=f"kind='density', or write C({name}) on the left to make classes of it",
        )


def predict_classes(
    model: AbstractNetwork,
    fit: AbstractFit,
    rows: Rows,
    kind: str,
    options: PredictionOptions,
) -> pd.Series | pd.DataFrame:
    """Prediction of one kind of a response of classes for every row, NaN where a value is missing.

    Raises
    ------
    DataError
        If the kind is unknown or of numbers, or does not use an option that was given.
    """
    if kind in KINDS and kind not in (*CLASS_KINDS, "component"):
        raise DataError(
            f"kind={kind!r} needs a numeric response, but the response holds classes",
            hint="kind='probability' or kind='class'",
        )
    check_choice("kind", kind, (*CLASS_KINDS, "component"))
    _refuse_unread(kind, options.given())
    if options.prob is not None:
        return probability_intervals(model, fit, rows, options.prob, options.n)
    if kind == "component":
        labels = pd.RangeIndex(1, model.n_components + 1, name="component")
        return _placed(gate_weights(model, fit, rows), rows, labels)
    classes = class_probabilities(model, fit, rows)
    if kind == "probability":
        return _placed(classes, rows, pd.Index(model.design.class_labels, name="level"))
    codes = np.full(len(rows.index), -1)
    codes[rows.complete] = classes.argmax(axis=0)
    likely = pd.Categorical.from_codes(codes, categories=model.design.classes.values)  # type: ignore[union-attr]
    return pd.Series(likely, rows.index, name="class")


def _refuse_unread(kind: str, given: Mapping[str, object]) -> None:
    """An option that a kind of classes does not use is an error, as it is with numbers."""
    read = {"prob": "prob", "n": "prob"} if kind == "probability" else {}
    for name, value in given.items():
        if name not in read:
            raise DataError(f"kind={kind!r} does not use {name}={value!r}", hint="omit it")
        if read[name] not in given:
            raise DataError(
                f"kind={kind!r} reads {name}={value!r} only with {read[name]}",
                hint=f"add {read[name]}=0.9 for 90% intervals, or omit {name}",
            )


def _placed(
    values: Float[np.ndarray, "columns complete"], rows: Rows, columns: pd.Index
) -> pd.DataFrame:
    """Values of the complete rows in their places."""
    table = np.full((len(rows.index), len(values)), np.nan)
    table[rows.complete] = values.T
    return pd.DataFrame(table, rows.index, columns)


def blocks(model: AbstractNetwork, rows: Rows) -> Iterator[Block]:
    """Standardised rows, some at a time."""
    return model.block(rows).split(BLOCK_ROWS)


def gate_weights(
    model: AbstractNetwork, fit: AbstractFit, rows: Rows
) -> Float[np.ndarray, "experts complete"]:
    """Posterior mean of the gate's weights, averaged over combined restarts."""
    draws = fit.predictive_draws if fit.is_sampled else None
    weights = [
        fit.mixture.mean_weights(fit.q, block)
        if draws is None
        else np.exp(fit.mixture.log_weights(draws, block)).mean(axis=0)
        for block in blocks(model, rows)
    ]
    return np.concatenate(weights, axis=1)


def class_probabilities(
    model: AbstractNetwork, fit: AbstractFit, rows: Rows
) -> Float[np.ndarray, "classes complete"]:
    """Predictive probabilities, averaged over combined restarts by their weights."""
    none = np.empty((len(model.design.class_labels), 0))
    given = [block for block in blocks(model, rows) if block.n_rows]
    draws = fit.predictive_draws if fit.is_sampled else None
    probabilities = [
        fit.classifier.probabilities(fit.q, block)
        if draws is None
        else fit.classifier.drawn_probabilities(draws, block).mean(axis=0)
        for block in given
    ]
    return np.concatenate([none, *probabilities], axis=1)


def probability_draws(
    model: AbstractNetwork, fit: AbstractFit, rows: Rows, n: int | None, few_points: bool
) -> Float[np.ndarray, "draws complete classes"]:
    """Class probabilities under each draw of the parameters, the latent vector summed out."""
    draws = {name: values[:n] for name, values in fit.draws.items()}
    pieces = [
        fit.classifier.drawn_probabilities(draws, block, few_points)
        for block in blocks(model, rows)
    ]
    return np.moveaxis(np.concatenate(pieces, axis=2), 1, 2)


def probability_intervals(
    model: AbstractNetwork, fit: AbstractFit, rows: Rows, prob: float, n: int | None
) -> pd.DataFrame:
    """Probability of each class with its equal-tailed interval, columns (level, statistic).

    ``mean`` is the predictive probability; the ends are quantiles over ``n`` draws of the
    parameters, of which combined restarts have their shares.
    """
    ends = tails(interval_probability(prob))
    most = count(fit.draws)
    n_draws = min(INTERVAL_DRAWS, most) if n is None else n
    check_count("n", n_draws, most=most, what="draws of the fit")
    draws = thinned(fit.draws, int(n_draws))
    quantiles = _quantiles(model, fit, rows, draws, ends)
    mean = class_probabilities(model, fit, rows)
    levels = model.design.class_labels
    labels = pd.MultiIndex.from_product(
        [levels, ("mean", "lower", "upper")], names=["level", "statistic"]
    )
    values = np.stack([mean, *quantiles], axis=1).reshape(len(labels), -1)
    table = _placed(values, rows, labels)
    table.attrs = intervals(fit)
    return table


def _quantiles(
    model: AbstractNetwork,
    fit: AbstractFit,
    rows: Rows,
    draws: Draws,
    ends: tuple[float, float],
) -> Float[np.ndarray, "ends classes complete"]:
    """Quantiles over draws, of so few rows at a time that their draws need little memory."""
    n_levels = len(model.design.class_labels)
    entries = count(draws) * max(model.n_components * model.latent_dim, n_levels)
    pieces = [
        np.quantile(fit.classifier.drawn_probabilities(draws, block, few_points=True), ends, axis=0)
        for block in model.block(rows).split(max(LIMITS.entries_in_memory // entries, 1))
    ]
    return np.concatenate(pieces, axis=2)


def predictive(
    model: AbstractNetwork, fit: AbstractFit, rows: Rows, response: str | None
) -> AbstractComponentMixture:
    """Predictive distribution of one numeric response at the complete rows, in its units."""
    if model.design.levels:
        raise DataError(
            "a categorical response has probabilities, not a density",
            hint="fit.predict(data, kind='probability'), or bvb.effects.predictions(fit, 'x')",
        )
    return model.predictive_at(fit, rows, response)


def log_density(model: AbstractNetwork, fit: AbstractFit, rows: Rows) -> pd.Series:
    """Log predictive probability of each row's class, or density of its number(s).

    Several numbers are described jointly, which has no closed form: the exact density is averaged
    over the draws of the parameters.
    """
    values = np.full(len(rows.index), np.nan)
    given = np.asarray(rows.response)
    if model.design.levels and not (fit.members or fit.is_sampled):
        each = [fit.core.log_predictive(fit.q, one) for one in blocks(model, rows) if one.n_rows]
        density = np.concatenate([np.empty(0), *each])
    elif model.design.levels:
        probabilities = class_probabilities(model, fit, rows)
        with np.errstate(divide="ignore"):  # a probability may round to zero
            density = np.log(probabilities[given.astype(int), np.arange(len(given))])
    elif given.shape[1] == 1:
        density = predictive(model, fit, rows, None).log_density(given[:, 0].astype(float))
    else:
        density = _joint(model, fit, rows)
    values[rows.complete] = density
    return pd.Series(values, rows.index, name="log_density")


def _joint(model: AbstractNetwork, fit: AbstractFit, rows: Rows) -> Float[np.ndarray, " complete"]:
    """Log of the mean, over draws, of the density of all responses together."""
    pieces = log_lik_blocks(
        fit.core, InMemorySource((model.block(rows),)), fit.draws, model.log_jacobian
    )
    log_densities = [logsumexp(piece, axis=0) - np.log(count(fit.draws)) for piece in pieces]
    return np.concatenate(log_densities)
