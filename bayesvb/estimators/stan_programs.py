"""Models as Stan programs: text, data and our posterior, for a sceptic to run.

The program is for the standardised data: its target is ``model.log_joint``, constants included, and
its parameters have the names of ``fit.draws``.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np

from bayesvb.argument_checks import shown
from bayesvb.data.blocks import Block
from bayesvb.data.parts import GATING, MEAN
from bayesvb.data.response_columns import INTERVAL, TRIALS
from bayesvb.errors import DataError
from bayesvb.experts.linear_independent import IndependentLinearExperts
from bayesvb.experts.weibull import is_seen
from bayesvb.models.mixture import Mixture
from bayesvb.results.all_rows import check_all_rows

if TYPE_CHECKING:
    from bayesvb.results.base import AbstractFit


Numbers = dict[str, object]
"""Data of a program by name."""


@dataclass(frozen=True, kw_only=True)
class _Parameter:
    """A further parameter of each component.

    Attributes
    ----------
    name : str
        Of its draws, and in the program.
    declaration : str
    data : str
        Declaration of the numbers of its prior.
    prior : str
        Statements for component ``k``.
    numbers : callable
        Returns the numbers of the prior of these experts.
    """

    name: str
    declaration: str
    data: str
    prior: str
    numbers: Callable[[Any], Numbers]


@dataclass(frozen=True, kw_only=True)
class _Family:
    """Statements of a family.

    Attributes
    ----------
    response : str
        Declarations of the responses and of what belongs to them.
    log_density : str
        Of row ``n`` under component ``k``.
    further : _Parameter, optional
    spread : str
        Prior standard deviation of a coefficient.
    numbers : callable
        Returns the declared responses of these rows.
    columns : tuple of str
        Columns besides the response that the program reads.
    """

    response: str
    log_density: str
    further: _Parameter | None = None
    spread: str = "prior_sd[p]"
    numbers: Callable[[object, Block], Numbers]
    columns: tuple[str, ...] = ()


def _values(experts: object, block: Block) -> Numbers:
    return {"y": block.response[0].tolist()}


def _counts(experts: object, block: Block) -> Numbers:
    return {"y": block.response[0].astype(int).tolist()}


def _successes(experts: Any, block: Block) -> Numbers:
    trials = np.broadcast_to(experts.trials(block), block.n_rows)
    return {**_counts(experts, block), "trials": trials.astype(int).tolist()}


def _times(experts: object, block: Block) -> Numbers:
    return {**_values(experts, block), "is_seen": is_seen(block).astype(int).tolist()}


def _levels(experts: Any, block: Block) -> Numbers:
    return {"y": (experts.places(block) + 1).tolist()}


def _log_normal(name: str) -> _Parameter:
    """A positive parameter whose logarithm has a normal prior."""
    return _Parameter(
        name=name,
        declaration=f"vector<lower=0>[K] {name};",
        data="real log_mean; real log_sd;",
        prior=f"target += lognormal_lpdf({name}[k] | log_mean, log_sd);",
        numbers=lambda experts: {
            "log_mean": float(experts.dispersion.centre), "log_sd": float(experts.dispersion.sd)
        },
    )  # fmt: skip


PRECISION = _Parameter(
    name="precision",
    declaration="vector<lower=0>[K] precision;",
    data="real noise_shape; real noise_rate;",
    prior="target += gamma_lpdf(precision[k] | noise_shape, noise_rate);",
    numbers=lambda experts: {
        "noise_shape": float(experts.prior.shape), "noise_rate": float(experts.prior.rate[0])
    },
)  # fmt: skip
"""Precision of the noise, in units of which coefficients have their prior."""

INCREMENTS = _Parameter(
    name="increments",
    declaration="matrix[K, T] increments;",
    data="int T; vector[T] increment_sd;",
    prior="""threshold[k, 1] = 0;
    for (t in 1:T) {
      target += normal_lpdf(increments[k, t] | 0, increment_sd[t]);
      threshold[k, t + 1] = threshold[k, t] + exp(increments[k, t]);
    }""",
    numbers=lambda experts: {
        "T": len(experts.increments.mean),
        "increment_sd": _sds(experts.increments.precision).tolist(),
    },
)
"""Logs of the distances between thresholds, the first of which is 0."""


PREDICTOR = "dot_product(X[n], coefficients[k])"
COUNTS = "array[N] int y;"
TIMES = f"shape[k], exp({PREDICTOR})"

FAMILIES: Mapping[str, _Family] = {
    "gaussian": _Family(
        response="vector[N] y;",
        log_density=f"normal_lpdf(y[n] | {PREDICTOR}, 1 / sqrt(precision[k]))",
        further=PRECISION,
        spread="prior_sd[p] / sqrt(precision[k])",
        numbers=_values,
    ),
    "bernoulli": _Family(
        response=COUNTS, log_density=f"bernoulli_logit_lpmf(y[n] | {PREDICTOR})", numbers=_counts
    ),
    "binomial": _Family(
        response=f"{COUNTS} array[N] int trials;",
        log_density=f"binomial_logit_lpmf(y[n] | trials[n], {PREDICTOR})",
        numbers=_successes,
        columns=(TRIALS,),
    ),
    "poisson": _Family(
        response=COUNTS, log_density=f"poisson_log_lpmf(y[n] | {PREDICTOR})", numbers=_counts
    ),
    "negbinomial": _Family(
        response=COUNTS,
        log_density=f"neg_binomial_2_log_lpmf(y[n] | {PREDICTOR}, dispersion[k])",
        further=_log_normal("dispersion"),
        numbers=_counts,
    ),
    "gamma": _Family(
        response="vector[N] y;",
        log_density=f"gamma_lpdf(y[n] | shape[k], shape[k] * exp(-{PREDICTOR}))",
        further=_log_normal("shape"),
        numbers=_values,
    ),
    "weibull": _Family(
        response="vector[N] y; array[N] int is_seen;",
        log_density=f"is_seen[n] * weibull_lpdf(y[n] | {TIMES})"
        f" + (1 - is_seen[n]) * weibull_lccdf(y[n] | {TIMES})",
        further=_log_normal("shape"),
        numbers=_times,
        columns=(INTERVAL,),
    ),
    **{
        name: _Family(
            response=COUNTS,
            log_density=f"ordered_{link}_lpmf(y[n] | {PREDICTOR}, threshold[k])",
            further=INCREMENTS,
            numbers=_levels,
        )
        for name, link in (("ordinal", "logistic"), ("ordinal-probit", "probit"))
    },
}
"""Families that have a program."""


PROGRAM = """\
data {
  int N; int P; int K;
  matrix[N, P] X;
  RESPONSE
  vector[N] weight;
  vector[P] prior_mean; vector[P] prior_sd;
@further   FURTHER_DATA
@gate   int Q; matrix[N, Q] Z; vector[Q] gate_sd;
  real log_unit;
}
parameters {
  matrix[K, P] coefficients;
@further   FURTHER
@gate   matrix[K, Q] gate;
}
model {
@increments   array[K] vector[T + 1] threshold;
  for (k in 1:K) {
    for (p in 1:P) {
      target += normal_lpdf(coefficients[k, p] | prior_mean[p], SPREAD);
    }
@further     FURTHER_PRIOR
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
"""The program: lines with a mark are of models with a further parameter, increments, or a gate."""


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
        why = f"a fit that {fit.combination} does not have a single posterior"
    elif type(core) is not Mixture:
        why = "learned scales (smooth terms, group-level effects) are not supported"
    elif set(rows.designs) - {MEAN, GATING, *family.columns} or rows.offset is not None:
        why = "further parts of the formula and offsets have no program"
    elif len(model.design.response_names) != 1 or model.grouping is not None:
        why = "several responses and groups that share a component have no program"
    elif gated and not model.gate.startswith("softmax"):
        why = f"gate={model.gate!r} has no program"
    if why is not None or family is None:
        hint = "model.fit('nuts') samples the posterior where it is available"
        if gated and type(core) is not Mixture:
            hint = "of linear terms priors=bvb.Priors(scales='fixed') learns none"
        raise DataError(f"this model has no Stan program: {why}", hint=hint)
    if isinstance(cast(Mixture, core).experts, IndependentLinearExperts):
        family = replace(family, spread="prior_sd[p]")
    return family, gated


def _program(family: _Family, gated: bool) -> str:
    """Stan program, without the lines of what this model does not have."""
    further = family.further
    marks = {"@further": bool(further), "@increments": further is INCREMENTS, "@gate": gated}
    lines = []
    for line in PROGRAM.splitlines():
        mark, _, rest = line.partition(" ")
        if marks.get(mark, True):
            lines.append(rest if mark in marks else line)
    text = "\n".join(lines) + "\n"
    words = {"RESPONSE": family.response, "SPREAD": family.spread}
    if further is not None:
        words["FURTHER_DATA"], words["FURTHER_PRIOR"] = (
            further.data,
            further.prior.replace("\n", "\n    "),
        )
        words["FURTHER"] = further.declaration
    for name, statement in {**words, "LOG_DENSITY": family.log_density}.items():
        text = text.replace(name, statement)
    return text


def _data(fit: AbstractFit, family: _Family, gated: bool) -> Numbers:
    """Standardised rows and the numbers of the prior."""
    block, core = fit.model.source.whole(), cast(Mixture, fit.core)
    experts = core.experts
    x = block.designs[MEAN]
    data: Numbers = {
        "N": block.n_rows, "P": len(x), "K": fit.core.n_components, "X": x.T.tolist(),
        **family.numbers(experts, block),
        "weight": block.weighted(np.ones((1, block.n_rows)))[0].tolist(),
        "prior_mean": np.reshape(experts.prior.mean, -1).tolist(),
        "prior_sd": _sds(experts.prior.precision).tolist(),
        "log_unit": float(fit.model.log_jacobian),
    }  # fmt: skip
    if family.further is not None:
        data |= family.further.numbers(experts)
    if gated:
        z, gate = block.designs[GATING], core.gate.prior
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
    if family.further is not None:
        values = fit.draws[family.further.name]
        draws[family.further.name] = values[:, :, 0] if family.further is PRECISION else values
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
