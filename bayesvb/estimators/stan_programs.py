"""Models as Stan programs: text, data and our posterior, for a sceptic to run.

The program is that of the standardised data: its target is ``model.log_joint``, constants
included, and its parameters are those of ``fit.draws`` by name.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from bayesvb.argument_checks import shown
from bayesvb.data.parts import GATING, MEAN
from bayesvb.errors import DataError
from bayesvb.models.mixture import Mixture
from bayesvb.results.all_rows import check_all_rows

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


@dataclass(frozen=True, kw_only=True)
class _Family:
    """Statements of a family.

    Attributes
    ----------
    response : str
        Type of the responses.
    log_density : str
        Of row ``n`` under component ``k``.
    has_noise : bool
        Whether each component has a precision, in units of which coefficients have their prior.
    """

    response: str
    log_density: str
    has_noise: bool = False


PREDICTOR = "dot_product(X[n], coefficients[k])"

FAMILIES: Mapping[str, _Family] = {
    "gaussian": _Family(
        response="vector[N] y",
        log_density=f"normal_lpdf(y[n] | {PREDICTOR}, 1 / sqrt(precision[k]))",
        has_noise=True,
    ),
    "bernoulli": _Family(
        response="array[N] int y", log_density=f"bernoulli_logit_lpmf(y[n] | {PREDICTOR})"
    ),
    "poisson": _Family(
        response="array[N] int y", log_density=f"poisson_log_lpmf(y[n] | {PREDICTOR})"
    ),
}
"""Families that have a program."""


PROGRAM = """\
data {
  int N; int P; int K;
  matrix[N, P] X;
  RESPONSE;
  vector[N] weight;
  vector[P] prior_mean; vector[P] prior_sd;
@noise   real noise_shape; real noise_rate;
@gate   int Q; matrix[N, Q] Z; vector[Q] gate_sd;
  real log_unit;
}
parameters {
  matrix[K, P] coefficients;
@noise   vector<lower=0>[K] precision;
@gate   matrix[K, Q] gate;
}
model {
  for (k in 1:K) {
    for (p in 1:P) {
      target += normal_lpdf(coefficients[k, p] | prior_mean[p], SPREAD);
    }
@noise     target += gamma_lpdf(precision[k] | noise_shape, noise_rate);
@gate     for (q in 1:Q) {
@gate       target += normal_lpdf(gate[k, q] | 0, gate_sd[q]);
@gate     }
  }
  for (n in 1:N) {
    vector[K] term = rep_vector(0, K);
@gate     for (k in 1:K) {
@gate       term[k] = dot_product(Z[n], gate[k]);
@gate     }
@gate     term = log_softmax(term);
    for (k in 1:K) {
      term[k] = term[k] + LOG_DENSITY;
    }
    target += weight[n] * (log_sum_exp(term) - log_unit);
  }
}
"""
"""The program: lines with a mark are of models with a noise, or with a gate."""


def write_stan(fit: AbstractFit, folder: str | Path) -> dict[str, Path]:
    """Write program, data and posterior; see ``Fit.to_stan``."""
    model = fit.model
    check_all_rows(model, "to_stan", "its data are the rows")
    family, has_gate = _supported(fit)
    content = {
        "model.stan": _program(family, has_gate),
        "model.data.json": json.dumps(_data(fit, family, has_gate)),
        "model.summary.json": json.dumps(_posterior(fit, family, has_gate)),
    }
    try:
        place = Path(folder)
        place.mkdir(parents=True, exist_ok=True)
        for name, text in content.items():
            (place / name).write_text(text, encoding="utf-8")
    except (TypeError, ValueError, OSError) as error:
        raise DataError(
            f"folder={shown(folder)} cannot be written to: {type(error).__name__}",
            hint="name a folder that may be made: folder='stan'",
        ) from error
    return {name: place / name for name in content}


def _supported(fit: AbstractFit) -> tuple[_Family, bool]:
    """Statements of the family, and whether there is a gate.

    Raises
    ------
    DataError
        If the model has a part that has no statements here.
    """
    model: Any = fit.model
    core, rows = fit.core, model.source.empty()
    family = FAMILIES.get(getattr(model, "family", ""))
    gated = core.n_components > 1
    why = None
    if family is None:
        why = f"programs are of family={', '.join(map(repr, FAMILIES))}"
    elif fit.members:
        why = f"a fit that combines {len(fit.members)} restarts is no one posterior"
    elif type(core) is not Mixture:
        why = "learned scales, which smooth terms and group-level effects have, have no program"
    elif set(rows.designs) - {MEAN, GATING} or rows.offset is not None:
        why = "further parts of the formula and offsets have no program"
    elif len(model.design.response_names) != 1 or model.grouping is not None:
        why = "several responses and groups that share a component have no program"
    elif gated and not model.gate.startswith("softmax"):
        why = f"gate={model.gate!r} has no program"
    if why is not None or family is None:
        raise DataError(
            f"this model has no Stan program: {why}",
            hint="with several components fit with priors=bvb.Priors(scales='fixed')",
        )
    return family, gated


def _program(family: _Family, gated: bool) -> str:
    """Stan program, without the lines of what this model does not have."""
    dropped = {"@noise": not family.has_noise, "@gate": not gated}
    lines = [line for line in PROGRAM.splitlines() if not dropped.get(line.split(" ")[0], False)]
    text = "\n".join(line.removeprefix("@noise ").removeprefix("@gate ") for line in lines) + "\n"
    spread = "prior_sd[p] / sqrt(precision[k])" if family.has_noise else "prior_sd[p]"
    for name, words in (
        ("RESPONSE", family.response), ("SPREAD", spread), ("LOG_DENSITY", family.log_density),
    ):  # fmt: skip
        text = text.replace(name, words)
    return text


def _data(fit: AbstractFit, family: _Family, gated: bool) -> dict[str, object]:
    """Standardised rows and the numbers of the prior."""
    block, prior = fit.model.source.whole(), fit.core.experts.prior
    x, mean = block.designs[MEAN], np.reshape(prior.mean, -1)
    whole = family.response.startswith("array")
    data: dict[str, object] = {
        "N": block.n_rows, "P": len(x), "K": fit.core.n_components, "X": x.T.tolist(),
        "y": (block.response[0].astype(int) if whole else block.response[0]).tolist(),
        "weight": block.weighted(np.ones((1, block.n_rows)))[0].tolist(),
        "prior_mean": mean.tolist(), "prior_sd": _sds(prior.precision).tolist(),
        "log_unit": float(fit.model.log_jacobian),
    }  # fmt: skip
    if family.has_noise:
        data |= {"noise_shape": float(prior.shape), "noise_rate": float(prior.rate[0])}
    if gated:
        z, gate = block.designs[GATING], fit.core.gate.prior
        data |= {"Q": len(z), "Z": z.T.tolist(), "gate_sd": _sds(gate.precision).tolist()}
    return data


def _sds(precision: np.ndarray) -> np.ndarray:
    """Prior standard deviations of independent coefficients."""
    diagonal: np.ndarray = np.diagonal(precision)
    assert np.array_equal(precision, np.diag(diagonal))
    return np.asarray(1.0 / np.sqrt(diagonal))


def _posterior(fit: AbstractFit, family: _Family, gated: bool) -> dict[str, object]:
    """Means and standard deviations of the program's parameters, as posteriordb names them."""
    draws = {"coefficients": fit.draws["coefficients"][:, :, 0]}
    if family.has_noise:
        draws["precision"] = fit.draws["precision"][:, :, 0]
    if gated:
        draws["gate"] = fit.draws["gate"]
    names, columns = [], []
    for name, values in draws.items():
        for at in np.ndindex(values.shape[1:]):
            names.append(f"{name}[{','.join(str(i + 1) for i in at)}]")
            columns.append(values[(slice(None), *at)])
    table = np.stack(columns)
    return {
        "names": names,
        "mean": table.mean(axis=1).tolist(),
        "sd": table.std(axis=1, ddof=1).tolist(),
        "covariance": fit.covariance,
    }
