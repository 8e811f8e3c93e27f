"""Robust covariance of a fit: right where the model is not, or where rows come in clusters."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
from jaxtyping import Float

from bayesvb.errors import DataError
from bayesvb.numerics.arrays import RowIntegers, RowVector
from bayesvb.numerics.runtime import single_threaded_blas
from bayesvb.numerics.streams import Streams
from bayesvb.results.all_rows import check_all_rows, is_sample
from bayesvb.results.base import AbstractFit, replace_draws
from bayesvb.results.groups import group_numbers, units_of
from bayesvb.results.named_draws import PosteriorDraws

if TYPE_CHECKING:
    from bayesvb.sensitivity.jackknife import Jackknife
    from bayesvb.sensitivity.robust import RobustCovariance


def with_complete_draws(fit: AbstractFit) -> AbstractFit:
    """The fit of one restart with draws that hold effects of groups: itself if these are too many.

    Statistics stay by group; coordinates and derivatives contain all coefficients.
    """
    core = fit.core.with_complete_draws()
    if core is fit.core:
        return fit

    def complete() -> AbstractFit:
        variational_draws, _ = fit.core.knowing(fit.q).completed(fit.variational_draws)
        draws, of_effects = fit.core.completed(fit.draws)
        given = PosteriorDraws(draws, fit.log_q + of_effects, fit.covariance)
        return replace_draws(replace(fit, core=core, variational_draws=variational_draws), given)

    return fit.cache.once("complete draws", complete)


def has_jackknife(fit: AbstractFit) -> bool:
    """Whether the centre of one restart's posterior answers to its rows, and memory holds how."""
    return answers_to_rows(fit) and with_complete_draws(fit).one_restart.has_deletion


def answers_to_rows(fit: AbstractFit) -> bool:
    """Whether the centre of one restart's posterior has a derivative in its rows."""
    from bayesvb.results.leave_one_out import has_log_predictive

    if not fit.engine.maximises_bound or fit.core.follows_rows or is_sample(fit.model):
        return False
    core = fit.core.with_complete_draws()
    if not core.draws_complete:
        return False
    known = has_log_predictive(core, fit.model.source, fit.stats)
    return known and core.coordinates(core.update(fit.stats)) is not None


def default_covariance(fit: AbstractFit) -> str:
    """Default source of the draws of one restart: robust under sampling weights."""
    corrected = not fit.is_sampled and fit.response.failure is None
    sampling = fit.model.weight_type == "sampling" and corrected
    return "robust" if sampling and has_jackknife(fit) else fit.own_covariance


def jackknife(fit: AbstractFit, what: str) -> Jackknife:
    """The jackknife of one restart.

    Raises
    ------
    DataError
        If there is none, naming the request, or if it would not fit into memory.
    """
    from bayesvb.sensitivity.deletion import check_answers

    check_all_rows(fit.model, what, "it needs the influence of each row")
    check_answers(fit.core.with_complete_draws(), what)
    if not answers_to_rows(fit):
        raise DataError(
            f"{type(fit.model).__name__} fitted by {fit.engine.title} with these priors has no "
            f"{what}",
            hint="it is available for a DensityRegression with covariance='linear-response'",
        )
    return with_complete_draws(fit).one_restart.jackknife


def robust_covariance(fit: AbstractFit, clusters: RowIntegers | None) -> RobustCovariance:
    r"""Covariance of the centre of one restart's posterior over samples of rows, or of clusters.

    .. math:: \frac{C}{C-1} \sum_c \Delta_c \Delta_c' + \Sigma P_0 \Sigma

    with ``Delta_c`` the change of the centre without cluster ``c``, ``Sigma`` the linear-response
    covariance and ``P_0`` the curvature of the log prior. The second term is the uncertainty that
    the prior leaves; it keeps parameters without data from seeming to be known. If the
    model is right the sum is ``Sigma`` again, on average.
    """
    from bayesvb.results.leave_one_out import group_sums
    from bayesvb.sensitivity.robust import RobustCovariance

    sensitivity = jackknife(fit, "robust covariance")
    rows = np.arange(fit.model.source.n_rows)
    weights, sums = units_of(fit.model).weights, group_sums(sensitivity.deletion, rows)
    n_clusters, copies = float(len(rows)), np.ones(len(rows))
    if clusters is not None:
        sums = _by_cluster(sums, clusters, weights)
        n_clusters, copies = float(len(sums)), np.ones(len(sums))
    elif weights is not None:
        kept = weights > 0.0
        sums, n_clusters, copies = sums[kept], float(kept.sum()), np.ones(int(kept.sum()))
        if fit.model.weight_type == "frequency":
            copies, n_clusters = weights[kept], float(weights.sum())
            sums = sums / copies[:, None]
    with single_threaded_blas():
        change = sensitivity.changes(-sums) * np.sqrt(copies)[:, None]
        spread = change.T @ change * (n_clusters / (n_clusters - 1.0))
        prior = sensitivity.covariance @ sensitivity.prior_information @ sensitivity.covariance
    return RobustCovariance(spread + prior, n_clusters, clusters is not None)


def _by_cluster(
    sums: Float[np.ndarray, "rows entries"], clusters: RowIntegers, weights: RowVector | None
) -> Float[np.ndarray, "clusters entries"]:
    """Sums of the rows of each cluster that has any weight."""
    result = np.zeros((int(clusters.max()) + 1, sums.shape[1]))
    np.add.at(result, clusters, sums)
    weight = np.ones(len(clusters)) if weights is None else weights
    result = result[np.bincount(clusters, weight) > 0.0]
    if len(result) < 2:
        raise DataError(
            "cluster has a single cluster with positive weight",
            hint="at least two clusters are needed",
        )
    return result


def cluster_numbers(fit: AbstractFit, cluster: object) -> RowIntegers | None:
    """Number of each row's cluster; None where rows are their own."""
    if cluster is None:
        return None
    numbers = group_numbers(cluster, fit.model.design, name="cluster")
    grouping = units_of(fit.model).grouping
    if grouping is None:
        return numbers
    values = numbers[grouping.first]
    if (numbers != values[grouping.number]).any():
        raise DataError(
            f"cluster has several labels within a group of `{grouping.name}`",
            hint="put each group into one cluster; with cluster=None each group is a cluster",
        )
    return np.unique(values, return_inverse=True)[1]


def moved(fit: AbstractFit, robust: RobustCovariance) -> AbstractFit:
    """The fit of one restart with draws that have this covariance; the same ones each time."""
    rng = Streams(fit.seed).branch("robust").rng("scales")
    one = with_complete_draws(fit)
    with single_threaded_blas():
        draws, log_q = robust.move(one.core, one.q, one.variational_draws, rng)
    result = PosteriorDraws(draws, log_q, "robust")
    return replace_draws(replace(fit, robust=robust), result)
