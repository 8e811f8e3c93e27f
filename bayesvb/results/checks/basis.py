"""Has a smooth enough basis functions? Scores of neighbours along its covariate must not agree.

A basis that is too small leaves waves that are shorter than its functions, which polynomials of low
degree do not find. Sorted by the covariate, neighbouring rows then have similar scores.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float
from numpy.polynomial import legendre
from scipy import stats

from bayesvb.data.parts import MEAN
from bayesvb.evaluation.row_order import positive_autocorrelation
from bayesvb.evaluation.score_regression import Estimated
from bayesvb.numerics.streams import Streams
from bayesvb.results.checks.base import Misfit
from bayesvb.results.checks.causes import without_mean
from bayesvb.results.checks.pits import Observed
from bayesvb.results.checks.remedies import code, written

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit

LEAST_CORRELATION = 0.05
"""Autocorrelation along the covariate below which the basis is large enough."""

WAVES_A_KNOT = 3
"""Degrees of the polynomial by which the waves are taken out of the scores, for each knot."""

ROWS_A_WAVE = 6
"""Rows for each of these degrees, at least."""


def basis_tests(
    fit: AbstractFit,
    seen: Observed,
    numbers: dict[str, Float[np.ndarray, " rows"]],
    fitted: Estimated,
    whose: str,
) -> list[Misfit]:
    """Autocorrelation of the scores along the covariate of each smooth of the mean.

    Rows with the same value are in random order: their own order may mean something else. The test
    is that of ``k.check`` in the R package mgcv, whose ratio of mean squared differences is one
    less the autocorrelation at lag 1, with four lags more.

    References
    ----------
    Wood (2017), Generalized Additive Models: An Introduction with R, 2nd ed., section 5.9.
    """
    rng = Streams(fit.seed).branch("ties").rng("rows")
    tests = []
    knots = {one.variable: len(one.spline.knots) for one in fit.model.design.curves(MEAN)}
    for name, values in numbers.items():
        distinct = len(np.unique(values))
        if knots.get(name, distinct) >= distinct:
            continue
        order = np.lexsort((rng.random(len(values)), values))
        lag, p = positive_autocorrelation(seen.scores[order])
        more = code(f"s({written(name)}, k={min(2 * knots[name], distinct)})")
        remedy = f"The basis of `s({name})` is too small, k={knots[name]}: fit {more}."
        degree = min(WAVES_A_KNOT * knots[name], len(values) // ROWS_A_WAVE)
        ranks = (2.0 * stats.rankdata(values) - 1.0) / len(values) - 1.0
        waves = legendre.legvander(ranks, degree)[:, 1:]
        tests.append(
            Misfit(f"Basis of s({name}){whose}", lag, "autocorrelation along it", remedy,
                   "calibration", p, lag > LEAST_CORRELATION,
                   f"autocorrelation above {LEAST_CORRELATION:g}",
                   without=partial(without_mean, columns=waves, fitted=fitted))
        )  # fmt: skip
    return tests
