"""Fits in files of earlier versions, in the form that they have today."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from jaxtyping import Shaped

from bayesvb.models.mixture import Mixture

__all__ = ["without_lone_gate"]

State = Mapping[str, Shaped[np.ndarray, "..."]]


def without_lone_gate(state: State, prefix: str, core: Any, blank: Any) -> State:
    """Arrays of a fit with one component, without the coefficients of a gate.

    Until version 0.2 a single component had the gate that the model named. Its coefficients kept
    their prior, independent of all other parameters, whose posterior stays as it was.

    Parameters
    ----------
    state : mapping of str to ndarray
        Arrays of the file.
    prefix : str
        Of the names of the restart's arrays.
    core : AbstractVariationalModel
        The model as it is now.
    blank : SufficientStats
        Statistics of no rows.
    """
    gate = f"{prefix}sums.gate."
    if not isinstance(core, Mixture) or core.n_components > 1 or f"{gate}weight" in state:
        return state
    kept = {name: array for name, array in state.items() if not name.startswith(gate)}
    kept[f"{gate}weight"] = np.asarray(state[f"{prefix}sums.experts.weight"])
    kept[f"{prefix}draws.gate"] = np.ones((len(state[f"{prefix}draws.gate"]), 1))
    posterior = core.update(blank)
    present, experts = core.coordinates(posterior), core.experts.coordinates(posterior.experts)
    for name in (f"{prefix}response", f"{prefix}robust"):
        whole = state.get(name)
        if whole is not None and present and experts and len(whole) > present.size:
            others = np.arange(len(whole) - present.size + experts.size, len(whole))
            at = np.concatenate([np.arange(experts.size), others])
            kept[name] = whole[np.ix_(at, at)]
    return kept
