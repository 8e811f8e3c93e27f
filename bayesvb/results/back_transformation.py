"""Predictions of a response before the formula transformed it: which function, which moments."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
from jaxtyping import Float

from bayesvb.argument_checks import check_choice
from bayesvb.data.blocks import Block
from bayesvb.data.response_columns import INTERVAL
from bayesvb.distributions.location_scale import AbstractLocationScaleMixture
from bayesvb.distributions.prediction import PredictionOptions, options_read
from bayesvb.distributions.transformations import (
    TRANSFORMATIONS,
    UNDOES,
    AbstractTransformation,
    Moments,
    inverse_of,
    written_function,
)
from bayesvb.distributions.transformed import Transformed, no_moments
from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowVector
from bayesvb.results.capabilities import HasDrawnDistributions, scales_of
from bayesvb.results.exact_draws import IntegratesScales, integrated_core
from bayesvb.results.groups import units_of
from bayesvb.results.limits import LIMITS
from bayesvb.results.named_draws import count

if TYPE_CHECKING:
    from bayesvb.distributions.base import AbstractRowDistribution
    from bayesvb.formula.design import Rows
    from bayesvb.results.base import AbstractFit, AbstractPublicModel

INVERSE = "inverse"
"""Value of ``transform`` that stands for the inverse of the function in the formula."""

MOMENTS = ("mean", "sd")
"""Kinds of prediction that are moments."""


def transformation_of(
    model: AbstractPublicModel, transform: str | None, response: str
) -> tuple[AbstractTransformation | None, str]:
    """Transformation that inverts a transformed response, and the name of the result.

    Raises
    ------
    DataError
        If it is not known, or the response is not a transformed number.
    """
    if transform is None:
        return None, response
    check_choice("transform", transform, (INVERSE, *TRANSFORMATIONS))
    if model.response.kind != "continuous":
        raise DataError(
            f"transform={transform!r} needs a continuous response",
            hint="omit transform",
        )
    if transform != INVERSE:
        undoing, inside = written_function(response)
        name = inside if undoing == transform else f"{transform}({response})"
        return TRANSFORMATIONS[transform], name
    transformation, original = inverse_of(response)
    if transformation is None:
        raise DataError(
            f"transform='{INVERSE}' cannot undo `{response}`",
            hint=f"it can undo {', '.join(UNDOES)} of a column or of a linear function of one, as "
            "log(y + 1); or name the function, transform='exp'",
        )
    return transformation, original


def transformed(
    fit: AbstractFit, predicted: AbstractRowDistribution, transform: str | None, response: str
) -> tuple[AbstractRowDistribution, str, RowVector]:
    """Distributions of the transformed response, its name, and its observed values."""
    values, name = transformation_of(fit.model, transform, response)
    observed = np.asarray(fit.model.observed()[response], dtype=float)
    if values is None:
        return predicted, name, observed
    return Transformed(predicted, values), name, values.apply(observed)


def response_of(model: AbstractPublicModel, response: str | None) -> str:
    """The response that is named, or the only one.

    Raises
    ------
    DataError
        If there are several, or none of this name.
    """
    names = model.design.response_names
    if response is None and len(names) == 1:
        return str(names[0])
    if response not in names:
        raise DataError(
            f"response={response!r} is not one of the responses",
            hint=f"name one of {', '.join(names)}" if names else "there is none",
        )
    return str(response)


def asked_for(
    fit: AbstractFit, options: PredictionOptions, transform: str | None
) -> PredictionOptions:
    """Options of a prediction, with the function that the response is to be transformed by."""
    if transform is None:
        return options
    names = fit.model.design.response_names
    response = response_of(fit.model, options.response) if names else ""
    values, _ = transformation_of(fit.model, transform, response)
    return replace(options, transformation=values)


def moment(fit: AbstractFit, data: object, kind: str, options: PredictionOptions) -> pd.Series:
    r"""Mean or standard deviation of the transformed response, for every row of the data.

    Given the parameters both are exact: moments of a mixture of log-normals, if a logarithm is
    undone. Their average over the parameters is infinite then, as the predictive distribution of
    logarithms has the tails of a Student t. The median over the draws is returned instead; of
    combined restarts, each median enters by the law of total variance. With one component,
    moments of a new group integrate over the distribution of groups given each draw.

    Raises
    ------
    DataError
        If the model's distribution given its parameters is not known, or its moments are infinite.
    """
    options_read(kind, options)
    transformation = options.transformation
    if not isinstance(fit.model, HasDrawnDistributions) or transformation is None:
        raise no_moments(kind)
    number = fit.model.design.response_names.index(response_of(fit.model, options.response))
    rows = fit.model.rows(data)
    typical = rows
    if data is not None and isinstance(fit.core, IntegratesScales):
        typical = fit.model.design.of_typical_groups.new(data)
    each = [_medians(part.fit, (rows, typical), number, transformation) for part in fit.parts]
    weights = np.array([part.weight for part in fit.parts])
    means, sds = np.stack([one[0] for one in each]), np.stack([one[1] for one in each])
    mean = weights @ means
    with np.errstate(over="ignore", invalid="ignore"):
        spread = np.sqrt(weights @ (sds**2 + (means - mean) ** 2))
    result = mean if kind == "mean" else np.where(np.isfinite(mean), spread, np.inf)
    values = np.full(len(rows.index), np.nan)
    values[rows.complete] = result
    return pd.Series(values, rows.index, name=kind)


def _medians(
    fit: AbstractFit, rows: tuple[Rows, Rows], response: int, transformation: AbstractTransformation
) -> Moments:
    """Medians over draws of mean and standard deviation at each row, a few rows at a time.

    The rows come twice: as they are, and with new groups at the typical one.
    """
    marginal, block = (fit.model.block(one) for one in rows)
    size = max(LIMITS.entries_in_memory // (count(fit.draws) * fit.core.n_components), 1)
    model = fit.model
    assert isinstance(model, HasDrawnDistributions)
    medians: list[Moments] = [(np.empty(0), np.empty(0))]
    for start in range(0, block.n_rows, size):
        part = block.part(start, min(start + size, block.n_rows))
        drawn = model.drawn_mixture(fit, part, response)
        if rows[0] is not rows[1]:
            drawn = _over_groups(fit, drawn, part, marginal.part(start, start + part.n_rows))
        assert isinstance(drawn, AbstractLocationScaleMixture)
        both = transformation.moments(drawn)
        medians.append((np.median(both[0], axis=0), np.median(both[1], axis=0)))
    means, sds = zip(*medians, strict=True)
    return np.concatenate(means), np.concatenate(sds)


def _over_groups(fit: AbstractFit, drawn: Any, typical: Block, marginal: Block) -> Any:
    """Normal distributions given each draw, widened by the effects of new groups."""
    variance = integrated_core(fit).effect_variance(fit.draws, marginal, typical)
    variance = variance * scales_of(fit).response.scale[0] ** 2
    return replace(drawn, scale=np.sqrt(drawn.scale**2 + variance))


def named_by_unit(
    fit: AbstractFit, predicted: Any, kind: str, transform: str | None, response: str | None
) -> Any:
    """Return a prediction that names its unit, where the formula or ``transform`` changes it."""
    responses = (response,) if response else fit.model.design.response_names
    names = [transformation_of(fit.model, transform, name)[1] for name in responses]
    if transform is None and all(inverse_of(name)[0] is None for name in names):
        return predicted
    label = f"{kind} of {', '.join(names)}"
    if hasattr(predicted, "columns"):
        return predicted.rename_axis(columns=label)
    return predicted.rename(label)


def log_jacobian(model: AbstractPublicModel) -> Float[np.ndarray, " units"]:
    """Gain of log densities for each unit, on the scale of the response in the data.

    Zero where the formula takes the response as it is, and where a row has the probability of an
    interval.
    """
    total = np.zeros(model.design.n_rows)
    for name, values in model.observed().items():
        total += np.where(model.design.hidden, 0.0, jacobian_of(name, values))
    grouping = units_of(model).grouping
    return total if grouping is None else np.bincount(grouping.number, total)


def jacobian_of(response: str, values: RowVector) -> RowVector:
    """``log dy/dz`` at each value of a response ``y`` that a formula makes of ``z``."""
    inverse, _ = inverse_of(response)
    if inverse is None:
        return np.zeros(len(values))
    return np.asarray(-inverse.log_slope(values))


def row_jacobian(fit: AbstractFit, rows: Rows) -> RowVector:
    """Gain of the log densities of rows on the scale of the data; 0 for log probabilities."""
    names, observed = fit.model.design.response_names, np.asarray(rows.response, dtype=float)
    columns = observed.reshape(len(observed), -1).T
    each = [jacobian_of(name, values) for name, values in zip(names, columns, strict=True)]
    log_slope = np.asarray(np.sum(each, axis=0))
    ends = rows.matrices.get(INTERVAL)
    return log_slope if ends is None else np.where(ends.any(axis=1), 0.0, log_slope)


def data_scale(fit: AbstractFit, data: object, scores: pd.Series) -> pd.Series:
    """Log densities of rows, of the response before the formula transformed it.

    Raises
    ------
    DataError
        If rows are scored by group, or the response is not numeric.
    """
    if not fit.model.response.is_numeric or units_of(fit.model).grouping is not None:
        raise DataError(
            "jacobian=True needs densities of single rows of a numeric response",
            hint="omit jacobian; bvb.compare(fits, jacobian=True) compares models with group=",
        )
    rows = fit.model.rows(data, response=True)
    values, names = scores.copy(), fit.model.design.response_names
    values[rows.complete] += row_jacobian(fit, rows)
    return values.rename(
        str(scores.name).replace(", ".join(names), ", ".join(untransformed(names)))
    )


def original(response: str, values: RowVector) -> RowVector:
    """Values of a response before the formula transformed it."""
    inverse, _ = inverse_of(response)
    return values if inverse is None else inverse.apply(values)


def before_formula(predicted: AbstractRowDistribution, response: str) -> AbstractRowDistribution:
    """Distributions of a response before the formula transformed it."""
    inverse, _ = inverse_of(response)
    return predicted if inverse is None else Transformed(predicted, inverse)


def untransformed(responses: Sequence[str]) -> tuple[str, ...]:
    """Names of responses before formulas transformed them."""
    return tuple(inverse_of(name)[1] for name in responses)
