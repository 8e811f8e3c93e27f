"""Class probabilities with latent vectors, and for prediction parameters, integrated out.

The integrals are averages over fixed low-discrepancy points, the same for every row, so that
results repeat to the last bit and probabilities of a row sum to one.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np
from jaxtyping import Bool, Float, Int
from scipy.special import ndtr, stdtrit

from bayesvb.factors.normal import Normal
from bayesvb.models.network.output import LatentDraws, LatentPredictive
from bayesvb.models.network.stick_labels import StickLabels
from bayesvb.numerics.array_library import namespace
from bayesvb.numerics.arrays import (
    DrawExpertRows,
    DrawRows,
    ExpertRows,
    ExpertVector,
    PointVector,
    RowVector,
)
from bayesvb.numerics.compiled import compiled_sweep
from bayesvb.numerics.linalg import products, quadratic_weights
from bayesvb.numerics.pieces import AT_ONCE, pieces
from bayesvb.numerics.special import LARGEST_EXPONENT, balanced_points, log_total, normal_points

FEW_POINTS, FEW_DIMS = 64, 4
"""Points up to which those are taken that have the right covariance, and how many of them for each
dimension at least."""

LIKELIHOOD_POINTS = 64
"""Points for the latent vector of a row whose parameters are given."""

DRAWN_POINTS = 16
"""Points for quantiles and averages over drawn parameters, at least ``FEW_DIMS`` for each latent.
Their mean absolute error is 0.0003 (four latents, as of 64 Sobol points) to 0.0015 (two), of
averages over rows 0.00006: posterior standard deviations are some hundred times as large."""

LEAST_LOG_WEIGHT = -23.0
"""Log weight (1e-10) below which a component is omitted from the probabilities of a row."""

FEW_LEAST_LOG_WEIGHT = -16.0
"""Log weight (1e-7) where few points are taken, whose error is a thousand times as large."""

NEGLIGIBLE_SHARE = 1e-10
"""... unless the omitted ones could add more than this, relative to the others."""

MOST = 0.5
"""Proportion of non-negligible rows and components above which none is omitted."""

CERTAIN = 40.0
"""Logit whose probability differs from one by 4e-18."""

SMALLEST_PROBABILITY = 1e-100
"""Probability below which a row is computed again with logarithms."""

MOST_COMPILED, MOST_DRAWS = 256, 1 << 20
"""Experts, latents, sticks and points, and draws and rows, that the compiled core reads."""

Alike = list[tuple[Int[np.ndarray, " _"], Float[np.ndarray, " _"]]]
"""Rows with the same label, and the signs of their sticks."""


def student_points(
    n_points: int, n_latents: int, n_more: int, dof: ExpertVector
) -> tuple[Float[np.ndarray, "points latents experts"], Float[np.ndarray, "points more"]]:
    """Points of independent Student t with each expert's dof, and of further standard normals."""
    n_dims = n_latents + n_more
    few = FEW_DIMS * n_dims <= n_points <= FEW_POINTS
    normal = (balanced_points if few else normal_points)(n_dims, n_points)
    first = normal[: n_points // 2 if few else n_points, :n_latents, None]
    student = np.asarray(stdtrit(dof, ndtr(first)))
    if few:  # the others are the negatives of these
        student = np.concatenate([student, -student])
    return student, normal[:, n_latents:]


def class_probabilities(
    posterior: Normal, latents: LatentPredictive, n_points: int = 256, least_share: float = 0.0
) -> Float[np.ndarray, "classes rows"]:
    r"""``sum_k E[pi_k] E[sigma(psi_c) prod_{l<c} sigma(-psi_l)]`` over the posterior.

    Given the latent vector the logits are independent Gaussians under q, so one point has as many
    coordinates as latents and sticks, however many coefficients there are. Averages over
    ``n_points`` points; columns sum to one. Components whose weight in a row is less than
    ``least_share`` of even weights are omitted.
    """
    n_sticks, (n_latents, n_experts, n_rows) = len(posterior.mean), latents.location.shape
    scatter, shift = student_points(n_points, n_latents, n_sticks, latents.dof)
    points = np.ones((n_latents + 1, n_experts, n_points))
    points[:-1] = scatter.transpose(1, 2, 0)
    features = products(points.reshape(n_latents + 1, -1)).reshape(-1, n_experts, n_points)
    kept = np.nonzero(~(latents.weights < least_share / n_experts))
    result = np.zeros((n_sticks + 1, n_rows))
    for part in pieces(len(kept[0]), n_points, AT_ONCE):
        experts, rows = kept[0][part], kept[1][part]
        each = _runs(experts)
        mean, variance = _in_points(
            posterior, latents.location[:, experts, rows], latents.scale[:, experts, rows]
        )
        odds = (
            _odds_of_logits(_at_points(m, points, each), _at_points(v, features, each), normal)
            for m, v, normal in zip(mean, variance, shift.T, strict=True)
        )
        means = _stick_means(odds)
        means *= latents.weights[experts, rows]
        for _, pairs in each:
            result[:, rows[pairs]] += means[:, pairs]
    return result / result.sum(axis=0) if least_share else result


Runs = list[tuple[int, slice]]


def _runs(numbers: Int[np.ndarray, " pairs"]) -> Runs:
    """Distinct values of the numbers, which are sorted, with their positions."""
    starts = np.flatnonzero(np.diff(numbers, prepend=-1)).tolist()
    places = map(slice, starts, [*starts[1:], len(numbers)])
    return list(zip(numbers[starts].tolist(), places, strict=True))


def _at_points(
    weights: Float[np.ndarray, "features pairs"],
    points: Float[np.ndarray, "features experts points"],
    each: Runs,
) -> Float[np.ndarray, "pairs points"]:
    """Weighted sums of the features of the points of each pair's expert."""
    probabilities = np.empty((weights.shape[1], points.shape[2]))
    for k, pairs in each:
        np.matmul(weights[:, pairs].T, points[:, k], out=probabilities[pairs])
    return probabilities


def _in_points(
    posterior: Normal,
    location: Float[np.ndarray, "latents rows"],
    scale: Float[np.ndarray, "latents rows"],
) -> tuple[Float[np.ndarray, "sticks terms rows"], Float[np.ndarray, "sticks products rows"]]:
    """``E[psi]`` and ``V[psi]`` at ``x1 = location + scale t``, as weights of ``[t, 1]``.

    The second ones belong to the products of ``[t, 1]``.
    """
    ones = np.ones((1, location.shape[1]))
    centre, factor = np.vstack([location, ones]), np.vstack([scale, ones])
    mean = posterior.mean[:, :, None] * factor
    mean[:, -1] = posterior.mean @ centre
    pull = posterior.covariance @ centre
    variance = quadratic_weights(posterior.covariance)[:, :, None] * products(factor)
    variance[:, -len(factor) : -1] = 2.0 * pull[:, :-1] * scale
    variance[:, -1] = (pull * centre).sum(axis=1)
    return mean, variance


def _odds_of_logits(
    mean: Float[np.ndarray, "rows points"],
    variance: Float[np.ndarray, "rows points"],
    normal: PointVector,
) -> Float[np.ndarray, "rows points"]:
    """``exp(-psi)`` for ``psi = mean + sqrt(variance) normal``, written over the variance."""
    np.maximum(variance, 0.0, out=variance)
    logit = np.sqrt(variance, out=variance)
    logit *= normal
    logit += mean
    return _exp_of_minus(logit)


def _exp_of_minus(logit: Float[np.ndarray, "rows points"]) -> Float[np.ndarray, "rows points"]:
    """Exponentials that stay finite, in place."""
    np.negative(logit, out=logit)
    np.minimum(logit, 2.0 * LARGEST_EXPONENT, out=logit)
    return np.asarray(np.exp(logit, out=logit))


def _stick_means(
    odds: Iterable[Float[np.ndarray, "rows points"]],
) -> Float[np.ndarray, "classes rows"]:
    """``mean_s sigma(psi_c) prod_{l<c} sigma(-psi_l)`` from ``exp(-psi)`` of each stick in turn."""
    left, means = np.ones((1, 1)), []
    for passing in odds:
        average = np.full(passing.shape[1], 1.0 / passing.shape[1])
        stop = passing + 1.0
        np.divide(left, stop, out=stop)
        means.append(stop @ average)
        left = np.multiply(stop, passing, out=passing)
    return np.stack([*means, left @ average])


def label_log_lik(
    coefficients: Float[np.ndarray, "draws sticks terms"], latents: LatentDraws, labels: StickLabels
) -> DrawRows:
    """Log probability of each row's label for each draw, latent vector and component summed out.

    Given the parameters the latent vector is Gaussian; it is averaged over ``LIKELIHOOD_POINTS``
    fixed points, the same for all draws, so that differences between draws are not noise. Omitting
    components of negligible weight changes a result by at most ``NEGLIGIBLE_SHARE``.
    """
    if namespace(coefficients) is not np:
        terms = label_log_terms(coefficients, latents, labels)
        log_lik: DrawRows = log_total(terms, axis=1)
        return log_lik
    n_latents = coefficients.shape[2] - 1
    points = normal_points(n_latents, LIKELIHOOD_POINTS)
    sign, reach = 2.0 * labels.kappa, labels.reach > 0.0
    groups = _alike(sign, reach)
    result = np.empty((len(coefficients), sign.shape[1]))
    for s, stick in enumerate(coefficients):
        centre, spread = _logits(stick, latents.location[s], latents.variance[s], points)
        weights = np.exp(latents.log_weights[s])
        # Log weight (1e-13) below which a component is omitted from the likelihood of a row ...
        small = latents.log_weights[s] < -30.0
        left_out = (weights * small).sum(axis=0)  # no label is more probable than certain
        weights[small] = 0.0
        with np.errstate(all="ignore"):
            probability = _mean_products(weights, centre, spread, groups)
            result[s] = np.log(probability)
        far = np.abs(spread).max() > LARGEST_EXPONENT
        far = far | ((np.abs(centre) > LARGEST_EXPONENT).any(axis=1) & ~small).any(axis=0)
        least = np.maximum(SMALLEST_PROBABILITY, left_out / NEGLIGIBLE_SHARE)
        lost = np.flatnonzero(far | ~(probability > least))
        if len(lost):
            alike = _alike(sign[:, lost], reach[:, lost])
            terms = _log_terms(latents.log_weights[s][:, lost], centre[..., lost], spread, alike)
            result[s, lost] = log_total(terms, axis=0)
    return result


def label_log_terms(
    coefficients: Float[np.ndarray, "draws sticks terms"], latents: LatentDraws, labels: StickLabels
) -> DrawExpertRows:
    """Log of each component's weight times the probability of the label under it.

    All in logarithms and without omissions, for arrays of NumPy or of JAX; ``label_log_lik`` is the
    log sum of these.
    """
    points = normal_points(coefficients.shape[2] - 1, LIKELIHOOD_POINTS)
    groups = _alike(2.0 * labels.kappa, labels.reach > 0.0)
    each = []
    for s, stick in enumerate(coefficients):
        centre, spread = _logits(stick, latents.location[s], latents.variance[s], points)
        each.append(_log_terms(latents.log_weights[s], centre, spread, groups))
    terms: DrawExpertRows = namespace(coefficients).stack(each)
    return terms


def _logits(
    stick: Float[np.ndarray, "*experts sticks terms"],
    location: Float[np.ndarray, "experts latents rows"],
    variance: Float[np.ndarray, "experts latents"],
    points: Float[np.ndarray, "points latents"],
) -> tuple[Float[np.ndarray, "experts sticks rows"], Float[np.ndarray, "experts sticks points"]]:
    """Parts of the logits: of the rows, and of the points of the latent noise.

    The output layer belongs to one draw, or to each expert's draw.
    """
    slope, intercept = stick[..., :-1], stick[..., -1:]
    random_start = (namespace(variance).sqrt(variance)[:, None] * points).swapaxes(-1, -2)
    return slope @ location + intercept, slope @ random_start


def _mean_products(
    weights: ExpertRows,
    centre: Float[np.ndarray, "experts sticks rows"],
    spread: Float[np.ndarray, "experts sticks points"],
    groups: Alike,
) -> RowVector:
    """``sum_k pi_k mean_s prod_l sigma(+-psi_kls)``; zero or NaN for products that overflow.

    Since ``1 / sigma(psi) = 1 + exp(-centre) exp(-spread)``, exponentials are taken of rows and of
    points separately, not of every pair. Components of weight zero are skipped.
    """
    result = np.zeros(weights.shape[1])
    away, n_points = np.exp(-spread), spread.shape[-1]
    for alike, signs in groups:
        sticks = np.flatnonzero(signs)
        stops = signs[sticks, None] > 0.0
        rates = _one_and(np.exp(-signs[sticks, None] * centre[:, sticks][..., alike]))
        points = _one_and(np.where(stops, away[:, sticks], 1.0 / away[:, sticks]))
        for experts, rows in _together(weights[:, alike] > 0.0, n_points):
            product = _mean_product(rates[experts][..., rows], points[experts])
            product *= weights[experts][:, alike[rows]]
            result[alike[rows]] += product.sum(axis=0)
    return result


def _one_and(values: Float[np.ndarray, "*batch values"]) -> Float[np.ndarray, "*batch 2 values"]:
    """A row of ones above each row: a matrix product of two is ``1 + first second``."""
    return np.stack([np.ones(values.shape), values], axis=-2)


def _mean_product(
    rates: Float[np.ndarray, "experts sticks 2 rows"],
    points: Float[np.ndarray, "experts sticks 2 points"],
) -> ExpertRows:
    """``mean_s prod_l 1 / (1 + rate_l point_ls)`` from ``_one_and`` of both."""
    first, *others = rates.transpose(1, 0, 3, 2)
    inverse = first @ points[:, 0]
    for number, rate in enumerate(others, 1):
        inverse *= rate @ points[:, number]
    np.divide(1.0, inverse, out=inverse)
    return np.asarray(inverse @ np.full(points.shape[-1], 1.0 / points.shape[-1]))


def _alike(sign: Float[np.ndarray, "sticks rows"], reach: Bool[np.ndarray, "sticks rows"]) -> Alike:
    """Rows with the same label, and the signs of their sticks; 0 beyond."""
    patterns, label = np.unique(np.where(reach, sign, 0.0), axis=1, return_inverse=True)
    return [(np.flatnonzero(label == number), signs) for number, signs in enumerate(patterns.T)]


def _log_terms(
    log_weights: ExpertRows,
    centre: Float[np.ndarray, "experts sticks rows"],
    spread: Float[np.ndarray, "experts sticks points"],
    groups: Alike,
) -> ExpertRows:
    """``log pi_k mean_s prod_l sigma(+-psi_kls)`` over the sticks that a row reaches."""
    xp, result = namespace(centre), []
    for alike, signs in groups:
        inverse = 1.0
        passed: Any = 0.0
        for stick in np.flatnonzero(signs):  # sigma(psi) = exp(min(psi, 0)) / (1 + exp(-|psi|))
            psi = signs[stick] * (centre[:, stick][:, alike, None] + spread[:, stick, None])
            inverse = inverse * (1.0 + xp.exp(-xp.abs(psi)))
            passed = passed + xp.minimum(psi, 0.0)
        top = passed.max(axis=-1)
        mean = (xp.exp(passed - top[..., None]) / inverse).mean(axis=-1)
        result.append(top + xp.log(mean))
    order = np.argsort(np.concatenate([alike for alike, _ in groups]))
    terms: ExpertRows
    terms = log_weights + xp.concatenate(result, axis=1)[:, order]
    return terms


def drawn_points(n_latents: int, few_points: bool) -> Float[np.ndarray, "points latents"]:
    """Points for latent vectors of rows whose parameters are drawn."""
    if few_points:
        return balanced_points(n_latents, max(DRAWN_POINTS, FEW_DIMS * n_latents))
    return normal_points(n_latents, LIKELIHOOD_POINTS)


def drawn_probabilities(
    coefficients: Float[np.ndarray, "draws sticks terms"],
    latents: LatentDraws,
    few_points: bool = False,
) -> Float[np.ndarray, "draws classes rows"]:
    """Probability of every class for each draw, latent vector and component summed out.

    Averages over the points of ``label_log_lik``, so that a draw has one probability of a label.
    With ``few_points`` over ``DRAWN_POINTS``, where quantiles or averages over draws are computed.
    The probabilities of a row sum to one.
    """
    n_sticks, n_latents = coefficients.shape[1], coefficients.shape[2] - 1
    points = drawn_points(n_latents, few_points)
    n_experts, n_rows = latents.log_weights.shape[1:]
    least = FEW_LEAST_LOG_WEIGHT if few_points else LEAST_LOG_WEIGHT
    compiled = _compiled_probabilities(coefficients, latents, points, least)
    if compiled is not None:
        return compiled
    result = np.zeros((len(coefficients), n_sticks + 1, n_rows))
    # Several draws of few rows at once, as components of one draw are.
    for at in pieces(len(coefficients), n_experts * n_rows * len(points), AT_ONCE):
        location, variance = latents.location[at], latents.variance[at]
        repeated = np.repeat(coefficients[at], n_experts, axis=0)
        flat = location.reshape(len(repeated), *location.shape[2:])  # also of no rows
        centre, spread = _logits(repeated, flat, variance.reshape(len(repeated), n_latents), points)
        centre, moderate = _moderate(centre, spread)
        means = _stick_products if moderate else _stick_sums
        log_weights = latents.log_weights[at].reshape(len(repeated), n_rows)
        weights = np.where(log_weights > least, np.exp(log_weights), 0.0)
        # Here fewer components would take longer: those of each expert are computed one by one.
        kept = log_weights > LEAST_LOG_WEIGHT
        for pairs, rows in _together(kept, len(points)):
            found = means(centre[pairs][..., rows], spread[pairs])
            found *= weights[pairs, None][..., rows]
            n_draws, first = max(len(found) // n_experts, 1), (pairs.start or 0) // n_experts
            each = found.reshape(n_draws, -1, *found.shape[1:]).sum(axis=1)
            result[at][first : first + n_draws, :, rows] += each
    result /= result.sum(axis=1, keepdims=True)
    return result


def _compiled_probabilities(
    coefficients: Float[np.ndarray, "draws sticks terms"],
    latents: LatentDraws,
    points: Float[np.ndarray, "points latents"],
    least: float,
) -> Float[np.ndarray, "draws classes rows"] | None:
    """``drawn_probabilities`` by the compiled core; None if it is absent, or logits overflow."""
    run, (n_draws, n_experts, n_rows) = compiled_sweep("drawn"), latents.log_weights.shape
    n_sticks, (n_points, n_latents) = coefficients.shape[1], points.shape
    few = max(n_experts, n_latents, n_sticks, n_points) <= MOST_COMPILED
    if run is None or not few or max(n_draws, n_rows) > MOST_DRAWS:
        return None
    sizes = np.array([n_rows, n_draws, n_experts, n_latents, n_sticks, n_points], dtype=np.int64)
    limits = np.array([CERTAIN, least, 2.0 * LARGEST_EXPONENT])
    small = np.concatenate([x.ravel() for x in (limits, coefficients, latents.variance, points.T)])
    log_weights, location = map(np.ascontiguousarray, (latents.log_weights, latents.location))
    result = np.empty((n_draws, n_sticks + 1, n_rows))
    return result if run(sizes, small, log_weights, location, result) == 0.0 else None


def _together(
    kept: Bool[np.ndarray, "experts rows"], n_points: int
) -> Iterator[tuple[slice, slice | Int[np.ndarray, " _"]]]:
    """Experts and rows that are evaluated at once: all experts where most have some weight."""
    n_experts, n_rows = kept.shape
    if kept.sum() > MOST * kept.size:
        for part in pieces(n_rows, n_experts * n_points, AT_ONCE):
            yield slice(None), part
        return
    for k, one in enumerate(kept):
        rows = np.flatnonzero(one)
        for part in pieces(len(rows), n_points, AT_ONCE):
            yield slice(k, k + 1), rows[part]


def _moderate(
    centre: Float[np.ndarray, "experts sticks rows"],
    spread: Float[np.ndarray, "experts sticks points"],
) -> tuple[Float[np.ndarray, "experts sticks rows"], bool]:
    """Logits of the rows up to where all points are certain, and whether products stay in range.

    A logit of ``CERTAIN`` is a probability of one to the last bit: logits of rows beyond it by more
    than any point moves them back may as well be there.
    """
    reach = np.abs(spread).max(axis=2, keepdims=True)
    largest = float((CERTAIN + 2.0 * reach).sum(axis=1).max())
    # Products along the sticks stay between exp(-600) and exp(600), which are floats.
    return np.clip(centre, -CERTAIN - reach, CERTAIN + reach), largest <= 2.0 * LARGEST_EXPONENT


def _stick_products(
    centre: Float[np.ndarray, "experts sticks rows"],
    spread: Float[np.ndarray, "experts sticks points"],
) -> Float[np.ndarray, "experts classes rows"]:
    """``mean_s sigma(psi_cs) prod_{l<c} sigma(-psi_ls)`` for ``psi = centre + spread``.

    With ``o = exp(-psi)`` this is the product of ``o_l`` over the sticks before the class, divided
    by the product of ``1 + o_l`` up to its own. The first is a factor of the row times one of the
    point, and the latter goes into the weights of the average.
    """
    passing, away = np.exp(-centre), np.exp(-spread)
    rows, points = _one_and(passing).swapaxes(2, 3), _one_and(away)
    ahead = np.ones((len(centre), centre.shape[2]))
    average = np.full((len(spread), spread.shape[2], 1), 1.0 / spread.shape[2])
    result = np.empty((len(centre), centre.shape[1] + 1, centre.shape[2]))
    inverse = 1.0
    for stick in range(centre.shape[1]):
        stop = rows[:, stick] @ points[:, stick]
        inverse = np.divide(inverse, stop, out=stop)
        np.multiply((inverse @ average)[..., 0], ahead, out=result[:, stick])
        ahead = ahead * passing[:, stick]
        average *= away[:, stick, :, None]
    np.multiply((inverse @ average)[..., 0], ahead, out=result[:, -1])
    return result


def _stick_sums(
    centre: Float[np.ndarray, "experts sticks rows"],
    spread: Float[np.ndarray, "experts sticks points"],
) -> Float[np.ndarray, "experts classes rows"]:
    """Sums for logits whose exponentials leave the range of numbers."""
    return np.stack(
        [
            _stick_means(
                _exp_of_minus(row[:, None] + point) for row, point in zip(c, s, strict=True)
            )
            for c, s in zip(centre, spread, strict=True)
        ]
    )
