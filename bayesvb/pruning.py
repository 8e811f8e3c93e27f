"""Components taken out of a fit, with the lower bound as judge."""

from __future__ import annotations

import re
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from jaxtyping import Float

from bayesvb.blocks import Block, Source
from bayesvb.engines.cavi import Ascent, cavi
from bayesvb.errors import DataError
from bayesvb.linear_response import sampled_response
from bayesvb.models.mixture import Mixture
from bayesvb.named_draws import count
from bayesvb.options import check_count, check_positive, processors
from bayesvb.workbench.rebuilding import rebuilt

if TYPE_CHECKING:
    import pandas as pd

    from bayesvb.fit import Fit

LEAST_SHARE = 1e-8
"""Share of every row that each component left begins with: a row may have been another's alone."""

STREAM = 4
"""Of random numbers, for the draws of what is left."""


@dataclass(frozen=True)
class _State:
    """A converged ascent of a model, its components in the order of their labels."""

    model: Any
    core: Any
    sums: Any
    order: tuple[int, ...]
    score: float
    ascent: Ascent[Any]


def prune(fit: Fit, *, tol: float = 1e-6, max_iter: int = 2000, n_jobs: int | None = None) -> Fit:
    """The fit without the components that it does not need, by the lower bound.

    One component is taken out at a time, the smallest first, and the others ascend again from
    where they were. The smaller model is kept if its bound is not lower; the fit itself comes back
    if no component can be spared.

    Parameters
    ----------
    fit : Fit
        Of a ``DensityRegression`` or a ``GaussianMixture``.
    tol, max_iter, n_jobs
        As in ``model.fit``.

    Returns
    -------
    Fit
        Its ``model`` has fewer components, its ``restarts`` a row more: that of the last ascent.

    Raises
    ------
    DataError
        If the model is no mixture.

    Notes
    -----
    Bounds are compared as they are. A posterior of K components has K! copies with other labels,
    and log K! may be added to its bound to stand for them. Here it is not: the copies say the
    same, and an empty component would earn log K for nothing. For the gate whose bound misranks,
    the ``score`` of ``fit.restarts`` is compared.

    Examples
    --------
    >>> import bayesvb as bvb
    >>> model = bvb.GaussianMixture("~ .", bvb.datasets.load("faithful"), n_components=6)
    >>> bvb.prune(model.fit(seed=1, restarts=2)).model.n_components
    2
    """
    if fit.members:
        raise DataError(
            f"the fit combines {len(fit.members)} restarts, each with components of its own",
            hint="prune one: bvb.prune(fit.members[0].fit), or fit with combine='best'",
        )
    if not isinstance(fit.core, Mixture):
        raise DataError(
            f"a fit of {type(fit.model).__name__} has no components to prune",
            hint="fits of DensityRegression and GaussianMixture have",
        )
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    began = time.perf_counter()
    source = replace(fit.model.source, workers=n_jobs or processors())
    climb = partial(cavi, tol=float(tol), max_iter=max_iter)
    score = fit.elbo + fit.model.log_unit * source.total_weight + _slack(fit.core, source, fit.sums)
    best = Ascent(fit.sums, fit.elbo_trace.to_numpy(), fit.n_iter, fit.converged)
    first = state = _State(fit.model, fit.core, fit.sums, fit.order, score, best)
    while smaller := _smaller(state, source, climb):
        state = smaller
    return fit if state is first else _fitted(fit, state, source, began)


def number_before(fit: Fit) -> int | None:
    """Number of components before any were pruned; None if none were."""
    found = re.fullmatch(r"(\d+) components, pruned", str(fit.restarts["start"].iloc[-1]))
    return None if found is None else int(found[1])


def _smaller(state: _State, source: Source, climb: Any) -> _State | None:
    """One component less, the smallest one that can be spared; None if none can."""
    if state.core.n_components == 1:
        return None
    model: Any = rebuilt(state.model, **{state.model.size_name: state.core.n_components - 1})
    posterior = state.core.update(state.sums)
    for spared in reversed(range(state.core.n_components)):
        # in the order of the ascent, in which sticks are broken; labels go by share
        kept = [int(label) for label in np.argsort(state.order) if label != spared]
        begin = partial(_begin, model.core, state.core, posterior, kept)
        ascent = climb(model.core, source, model.core.start(source.map_reduce(begin)))
        score = ascent.bound + _slack(model.core, source, ascent.sums)
        if ascent.interrupted:
            raise KeyboardInterrupt
        if score >= state.score:
            core, sums, order = model.ordered(model.core, ascent.sums)
            return _State(model, core, sums, order, score, ascent)
    return None


def _begin(core: Mixture, old: Mixture, posterior: Any, kept: Sequence[int], block: Block) -> Any:
    """Sums of the partition that is left when a component is gone."""
    shares: Float[np.ndarray, "experts rows"] = old.responsibilities(posterior, block)[kept]
    shares = shares + LEAST_SHARE
    return core.begin(block, shares / shares.sum(axis=0))


def _slack(core: Any, source: Source, sums: Any) -> float:
    """What a bound that misranks is to be judged by in addition; see ``AbstractModel.slack``."""
    return float(source.map_reduce(partial(core.slack, core.update(sums))).value)


def _fitted(fit: Fit, state: _State, source: Source, began: float) -> Fit:
    """The fit of the model that is left, with the covariance of the first one."""
    q, ascent = state.core.update(state.sums), state.ascent
    rng = np.random.default_rng([fit.seed, STREAM])
    draws = state.core.draws(q, count(fit.q_draws), rng)
    response = fit.response
    if response.failure is None or response.n_iter:  # it was tried, and may go better or worse now
        response = sampled_response(state.core, source, state.sums, rng)
    seconds = time.perf_counter() - began
    restarts = _with_row(fit, state, seconds)
    trace = ascent.trace - state.model.log_unit * source.total_weight
    return replace(
        fit,
        model=state.model,
        core=state.core,
        sums=state.sums,
        order=state.order,
        draws=draws,
        log_q=state.core.log_posterior(q, draws),
        covariance="mean-field",
        q_draws=draws,
        response=response,
        restarts=restarts,
        traces={key: one for key, one in fit.traces.items() if key != "final"}
        | {len(restarts): trace},
        converged=ascent.converged,
        n_iter=ascent.n_iter,
        seconds=fit.seconds + seconds,
    ).with_covariance(response.label)


def _with_row(fit: Fit, state: _State, seconds: float) -> pd.DataFrame:
    """Restarts of the fit, and the ascent of what is left as the one that counts."""
    import pandas as pd

    units = state.model.log_unit * state.model.source.total_weight
    row: dict[Any, Any] = {
        "start": f"{number_before(fit) or fit.core.n_components} components, pruned",
        "elbo": state.ascent.bound - units,
        "score": state.score - units,
        "n_iter": state.ascent.n_iter,
        "converged": state.ascent.converged,
        "rows": state.model.source.n_rows,
        "seconds": seconds,
        "best": True,
    }
    records = [*fit.restarts.assign(best=False).to_dict(orient="records"), row]
    index = pd.RangeIndex(1, len(records) + 1, name="restart")
    return pd.DataFrame(records, index, columns=fit.restarts.columns)
