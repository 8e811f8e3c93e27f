"""Predictions of a conditional mixture network at new rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float
from scipy.special import logsumexp

from bayesvb.blocks import BLOCK_ROWS, Block, Source
from bayesvb.errors import DataError
from bayesvb.named_draws import count, log_lik_blocks
from bayesvb.options import check_choice
from bayesvb.predict import KINDS, predict
from bayesvb.student_mixture import StudentMixture
from bayesvb.workbench.density_prediction import by_label

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.design import Rows
    from bayesvb.fit import Fit
    from bayesvb.workbench.network import ConditionalMixtureNetwork

CLASS_KINDS = ("probability", "class")
"""Predictions of a response of classes."""


def prediction(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    """Prediction of one kind for every row, NaN where a value is missing."""
    if model.design.levels:
        return _of_classes(model, fit, rows, kind, options)
    if kind in CLASS_KINDS:
        name = model.design.response_names[0]
        raise DataError(
            f"kind={kind!r} is of classes, and the response `{name}` holds numbers",
            hint=f"kind='density', or write C({name}) on the left to make classes of it",
        )
    others = {name: value for name, value in options.items() if name != "response"}
    distribution = predictive(model, fit, rows, options["response"])
    if kind == "component":
        distribution = by_label(distribution, model.n_components)
    return predict(distribution, rows.index, rows.complete, kind=kind, **others)


def _of_classes(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows, kind: str, options: Mapping[str, Any]
) -> pd.Series | pd.DataFrame:
    import pandas as pd

    if kind in KINDS and kind != "component":
        raise DataError(
            f"kind={kind!r} is of numbers, and the response holds classes",
            hint="kind='probability' or kind='class'",
        )
    check_choice("kind", kind, (*CLASS_KINDS, "component"))
    unread = [name for name, value in options.items() if value is not None]
    if unread:
        raise DataError(
            f"kind={kind!r} does not read {unread[0]}={options[unread[0]]!r}", hint="leave it out"
        )
    if kind == "component":
        labels: Any = pd.RangeIndex(1, model.n_components + 1, name="component")
        return _placed(gate_weights(model, fit, rows), rows, labels)
    found = class_probabilities(model, fit, rows)
    if kind == "probability":
        return _placed(found, rows, pd.Index(model.design.levels or (), name="level"))
    codes = np.full(len(rows.index), -1)
    codes[rows.complete] = found.argmax(axis=0)
    likely = pd.Categorical.from_codes(codes, categories=model.design.classes.values)  # type: ignore[union-attr]
    return pd.Series(likely, rows.index, name="class")


def _placed(
    values: Float[np.ndarray, "columns complete"], rows: Rows, columns: pd.Index
) -> pd.DataFrame:
    """Values of the complete rows in their places."""
    import pandas as pd

    table = np.full((len(rows.index), len(values)), np.nan)
    table[rows.complete] = values.T
    return pd.DataFrame(table, rows.index, columns)


def blocks(model: ConditionalMixtureNetwork, rows: Rows) -> Iterator[Block]:
    """Standardised rows, some at a time."""
    return model.block(rows).split(BLOCK_ROWS)


def gate_weights(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows
) -> Float[np.ndarray, "experts complete"]:
    """Posterior mean of the gate's weights, averaged over combined restarts."""
    found = [fit.core.mean_weights(fit.q, block) for block in blocks(model, rows)]
    return np.concatenate(found, axis=1)


def class_probabilities(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows
) -> Float[np.ndarray, "classes complete"]:
    """Predictive probabilities, averaged over combined restarts by their weights."""
    found = [fit.core.probabilities(fit.q, block) for block in blocks(model, rows)]
    return np.concatenate(found, axis=1)


def probability_draws(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows, n: int | None
) -> Float[np.ndarray, "draws complete classes"]:
    """Class probabilities under each draw of the parameters, the latent vector summed out."""
    draws = {name: values[:n] for name, values in fit.draws.items()}
    pieces = [fit.core.drawn_probabilities(draws, block) for block in blocks(model, rows)]
    return np.moveaxis(np.concatenate(pieces, axis=2), 1, 2)


def predictive(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows, response: str | None
) -> StudentMixture:
    """Predictive distribution of one numeric response at the complete rows, in its units."""
    if model.design.levels:
        raise DataError(
            "a response of classes has probabilities, not a density",
            hint="fit.predict(data, kind='probability')",
        )
    names = model.design.response_names
    if response is None and len(names) > 1:
        raise DataError("response=None, and there are several", hint=f"name one of {names}")
    if response is not None:
        check_choice("response", response, names)
    number = 0 if response is None else names.index(response)
    pieces = [fit.core.predictive(fit.q, block, number) for block in blocks(model, rows)]
    whole = StudentMixture(
        weights=np.concatenate([piece.weights for piece in pieces], axis=1),
        location=np.concatenate([piece.location for piece in pieces], axis=1),
        scale=np.concatenate([piece.scale for piece in pieces], axis=1),
        dof=pieces[0].dof,
    )
    scaling = model.scales.response
    return whole.affine(float(scaling.centre[number]), float(scaling.scale[number]))


def log_density(model: ConditionalMixtureNetwork, fit: Fit, rows: Rows) -> pd.Series:
    """Log predictive probability of each row's class, or density of its number(s).

    Several numbers are described jointly, which has no closed form: the exact density is averaged
    over the draws of the parameters.
    """
    import pandas as pd

    values = np.full(len(rows.index), np.nan)
    given = np.asarray(rows.response)
    if model.design.levels:
        found = class_probabilities(model, fit, rows)
        density = np.log(found[given.astype(int), np.arange(len(given))])
    elif given.shape[1] == 1:
        density = predictive(model, fit, rows, None).log_density(given[:, 0].astype(float))
    else:
        density = _joint(model, fit, rows)
    values[rows.complete] = density
    return pd.Series(values, rows.index, name="log_density")


def _joint(
    model: ConditionalMixtureNetwork, fit: Fit, rows: Rows
) -> Float[np.ndarray, " complete"]:
    """Log of the mean, over draws, of the density of all responses together."""
    pieces = log_lik_blocks(fit.core, Source((model.block(rows),)), fit.draws, model.log_unit)
    found = [logsumexp(piece, axis=0) - np.log(count(fit.draws)) for piece in pieces]
    return np.concatenate(found)
