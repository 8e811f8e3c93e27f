"""A fit read back from its netCDF file; nothing in the file is executed.

Loading rebuilds the design from the formula and the stored rows, and the posterior from the stored
statistics. The ArviZ groups are in the same file, so that ArviZ opens it too.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import fields, replace
from typing import Any, cast

import numpy as np
import pandas as pd

from bayesvb.argument_checks import RENAMED, checked
from bayesvb.data.column_units import UNITS
from bayesvb.data.covariate_model import CovariateModel
from bayesvb.data.partly_kept import PartlyKept
from bayesvb.data.statistics import SufficientStats
from bayesvb.engines import DEFAULT_METHOD, ENGINES
from bayesvb.engines.chains import STATISTICS
from bayesvb.engines.sampler_record import SamplerRecord
from bayesvb.errors import BayesVBError, DataError, FormulaError
from bayesvb.estimators.base import AbstractEstimator, empty_stats
from bayesvb.estimators.fit import Fit
from bayesvb.estimators.imputation import pool_members, with_completed_rows
from bayesvb.estimators.kept_sample import restored
from bayesvb.estimators.older_files import (
    has_group_columns,
    named_findings,
    warn_of_curves,
    with_further_predictors,
    with_independent_groups,
    with_packed_groups,
    without_lone_gate,
)
from bayesvb.estimators.saved_schema import (
    Description,
    check_arrays,
    check_description,
    check_same_shapes,
    check_state,
)
from bayesvb.linear.structure import only_columns
from bayesvb.results.base import Member, replace_draws
from bayesvb.results.exact_draws import automatic_draws
from bayesvb.results.importance import of_one_restart
from bayesvb.results.leave_one_out import RowsLeftOut
from bayesvb.results.named_draws import count
from bayesvb.results.reduced_draws import sampled_draws
from bayesvb.results.saving import FRAME, STATE
from bayesvb.results.simulation_calibration import SimulationCalibration
from bayesvb.results.stacking import stacked
from bayesvb.sensitivity.covariance import LinearResponse
from bayesvb.sensitivity.robust import RobustCovariance
from bayesvb.storage.arviz_objects import GROUPS
from bayesvb.storage.inspection import PlainFile
from bayesvb.storage.json_schema import parsed_json
from bayesvb.storage.netcdf import decoded_frame, read_plain
from bayesvb.variational.model import AnyModel

AS_WRITTEN = ("seconds", "seed", "tol", "max_iter", "start_code")
"""Fields that a file has as they are, the last three in later versions."""


@checked
def load(path: str | os.PathLike[str], *, context: Mapping[str, object] | None = None) -> Fit:
    """Fit that ``fit.save(path)`` wrote; nothing in the file is executed.

    Parameters
    ----------
    path : str or path
    context : mapping, optional
        Functions of your own that the formula calls, as at the first fit.

    Raises
    ------
    DataError
        If the file does not exist, is damaged, or comes from another program or a later version.
    FormulaError
        If the formula needs a ``context`` that was not given.

    Warns
    -----
    FileWarning
        If the file has no checksum, as files of version 0.1, or if scales of smooth curves had
        another prior when the fit was saved.

    Examples
    --------
    >>> import bayesvb as bvb, tempfile, pathlib
    >>> model = bvb.DensityRegression("waiting ~ eruptions", bvb.datasets.load("faithful"))
    >>> fit = model.fit(seed=1, restarts=1)
    >>> path = fit.save(pathlib.Path(tempfile.mkdtemp()) / "faithful.nc")
    >>> bvb.load(path).elbo == fit.elbo
    True
    """
    from bayesvb.estimators import MODELS

    file = read_plain(path)
    with _as_no_fit(path, "does not hold a fit"):
        record = parsed_json(_description(file))
        state = file.numbers(STATE)
        schema, columns = file.text(f"{FRAME}/schema"), file.numbers(FRAME)
        _check_names(file)
        model_name, method = str(record["model"]), str(record.get("method", DEFAULT_METHOD))
    if model_name not in MODELS:
        raise DataError(
            f"path={str(path)!r} holds a fit of {model_name!r}, which this version does not have",
            hint=f"a later version wrote it; this one reads {', '.join(MODELS)}",
        )
    if method not in ENGINES:
        raise DataError(
            f"path={str(path)!r} holds a fit by method={method!r}, which this version does not "
            "have",
            hint=f"this version has {', '.join(ENGINES)}",
        )
    with _as_no_fit(path, "does not hold a fit as this version writes it"):
        check_description(record)
        check_state(state, record)
        frame = decoded_frame(schema, columns, most=state["complete"].size)
        frame.attrs[UNITS] = record.get("units", {})
        model = _model(record, state, frame, context)
        scales = _named(state, "scales.")
        if "read_from" in record:
            model = restored(model, scales, _named(state, "sample."), record["read_from"])
        else:
            model = model.in_given_scales(scales)
        if "all_rows" in state:
            count, weight = state["all_rows"]
            model = model.over(PartlyKept(model.source, int(count), float(weight)))
        fit = _rebuilt(record, state, model)
    warn_of_curves(record["options"], fit.core)
    return fit


@contextmanager
def _as_no_fit(path: str | os.PathLike[str], why: str) -> Iterator[None]:
    """Raise errors in the content of a file as one message; formulas have their own."""
    try:
        yield
    except FormulaError:
        raise
    except WRONG as error:
        said = error.why if isinstance(error, BayesVBError) else f"{error}"
        raise DataError(
            f"path={str(path)!r} {why}: {said or type(error).__name__}",
            hint="a later version may have written it",
        ) from error


WRONG = (
    ArithmeticError, AttributeError, LookupError, MemoryError, RuntimeError, TypeError, ValueError,
    ImportError, OSError,
)  # fmt: skip
"""Errors that a description which was tampered with can raise when its model is built."""


def _description(file: PlainFile) -> str:
    record = file.attribute("fit")
    if not isinstance(record, str):
        raise KeyError("fit")
    return record


def _check_names(file: PlainFile) -> None:
    """Refuse groups that no fit has."""
    strange = [name for name in file.groups if name not in (*GROUPS, FRAME, STATE)]
    if strange:
        raise DataError(f"it has a group {strange[0]!r}")


def _model(
    record: Description,
    state: Mapping[str, np.ndarray],
    frame: pd.DataFrame,
    context: Mapping[str, object] | None,
) -> AbstractEstimator:
    from bayesvb.estimators import MODELS
    from bayesvb.estimators.rebuilding import built

    options, formula = _renamed(record["options"]), record["formula"]
    if "|" in formula and not record.get("correlated_groups"):
        formula = with_independent_groups(formula)
    if context is not None:
        options["context"] = context
    try:
        with only_columns() if has_group_columns(state) else nullcontext():
            return built(
                MODELS[record["model"]],
                formula,
                frame,
                options=options,
                complete=state["complete"] > 0,
                missing=record.get("missing"),
                weights=_padded(state.get("weights"), len(frame)),
            )
    except FormulaError as error:
        if context is not None:
            raise
        hint = "functions of your own must be given again: load(path, context={...})"
        raise FormulaError(error.formula, error.why, error.at, hint) from error


def _padded(weights: np.ndarray | None, n_rows: int) -> np.ndarray | None:
    """Case weights of all rows of the file: those behind a sample count once, until they go."""
    if weights is None or len(weights) > n_rows:
        return weights
    return np.concatenate([weights, np.ones(n_rows - len(weights))])


COEFFICIENT_UNITS = {"conjugate": "noise", "semi-conjugate": "response"}
"""``Priors.coefficient_units`` by the name that it had in files of version 0.1."""


def _renamed(options: Description) -> dict[str, object]:
    """Options of a file under their present names; absent ones keep their former meaning."""
    options = {RENAMED.get(name, name): value for name, value in options.items()}
    priors = {RENAMED.get(name, name): value for name, value in options.get("priors", {}).items()}
    if "family" in priors:
        priors["coefficient_units"] = COEFFICIENT_UNITS[priors.pop("family")]
    if "coefficient_units" in priors:
        priors.setdefault("scales", "fixed")
    if "scale_rate" in priors:
        for name in ("gating_scale_rate", "group_scale_rate"):
            priors.setdefault(name, priors["scale_rate"])
    return {**options, "priors": priors} if priors else options


def _rebuilt(record: Description, state: Mapping[str, np.ndarray], model: AbstractEstimator) -> Fit:
    """Fit from its stored parts."""
    parts = [
        Member(number=part["number"], weight=part["weight"], fit=_one(record, part, state, imputed))
        for part in record["parts"]
        for imputed in [_with_imputed(model, _named(state, f"part{part['number']}.imputed."))]
    ]
    if record["combined"] and model.design.imputed:
        return cast(Fit, pool_members(parts, cast(Any, model)))
    return cast(Fit, stacked(parts)) if record["combined"] else cast(Fit, parts[0].fit)


def _with_imputed(model: AbstractEstimator, values: Mapping[str, np.ndarray]) -> AbstractEstimator:
    """The model of one completed table, where missing values are imputed."""
    lacking = model.design.imputed
    if not lacking:
        return model
    check_arrays(
        values, {str(j): (int(lacking[name].sum()),) for j, name in enumerate(lacking)}, "part"
    )
    covariates = CovariateModel.from_frame(model.design.given[list(lacking)])
    imputed = {name: values[str(j)] for j, name in enumerate(lacking)}
    frame = covariates.from_numbers(model.design.complete_frame, imputed)
    return with_completed_rows(cast(Any, model), frame)


def _one(
    record: Description,
    part: Description,
    state: Mapping[str, np.ndarray],
    model: AbstractEstimator,
) -> Fit:
    """Fit of one restart."""
    restarts, prefix = _table(record["restarts"], part), f"part{part['number']}."
    method, options = record.get("method", DEFAULT_METHOD), record.get("method_options", {})
    core = _in_order(_core(model, method, options, restarts), part["order"], model)
    blank = core.first_stats(empty_stats(core, model.source))
    state = with_further_predictors(with_packed_groups(state, prefix), prefix)
    state = without_lone_gate(state, prefix, core, blank)
    stats = filled(blank, state, f"{prefix}sums.")
    q, variational_draws = core.update(stats), _named(state, f"{prefix}draws.")
    _check_draws(core, q, variational_draws)
    _check_chains(variational_draws, part.get("n_chains", 1))
    fit = Fit.from_draws(
        model=model,
        core=core,
        stats=stats,
        order=tuple(part["order"]),
        variational_draws=variational_draws,
        engine_log_q=state.get(f"{prefix}engine_log_q"),
        response=LinearResponse(state[f"{prefix}response"], **part["response"]),
        restarts=restarts,
        traces={_key(key): state[f"trace.{key}"] for key in record["traces"]},
        **{name: part[name] for name in ("converged", "n_iter")},
        **{name: record[name] for name in AS_WRITTEN if name in record},
        method=method,
        method_options=options,
        n_chains=part.get("n_chains", 1),
        sample_stats=_sample_stats(_named(state, f"{prefix}sample_stats."), variational_draws),
        findings=named_findings(part.get("findings", {})),
        held_out=state.get(f"{prefix}held_out"),
        sbc=_sbc(record),
        robust=_robust(part, state, prefix),
    )
    fit = _moved(fit, record["covariance"], part.get("sampler"), _named(state, f"{prefix}sampled."))
    fit = replace(fit, make_draws=automatic_draws if record.get("automatic") else None)
    return _with_findings(fit, _named(state, f"{prefix}left_out."))


def _sbc(record: Description) -> SimulationCalibration | None:
    """Simulation-based calibration of the model, where it was made."""
    known = record.get("audit")
    return None if known is None else SimulationCalibration.of_description(known)


def _robust(
    part: Description, state: Mapping[str, np.ndarray], prefix: str
) -> RobustCovariance | None:
    """Robust covariance of one restart, where it was made."""
    known = part.get("robust")
    return None if known is None else RobustCovariance(state[f"{prefix}robust"], **known)


def _check_chains(draws: Mapping[str, np.ndarray], n_chains: int) -> None:
    """Raise unless draws divide into this number of chains."""
    n_draws = len(next(iter(draws.values())))
    if n_draws < n_chains or n_draws % n_chains:
        raise DataError(f"{n_draws} draws do not divide into {n_chains} chains")


def _sample_stats(
    statistics: Mapping[str, np.ndarray], draws: Mapping[str, np.ndarray]
) -> dict[str, np.ndarray]:
    """Statistics of the sampler, of which a file has numbers only."""
    if statistics:
        names = (*STATISTICS, "tree_depth")
        check_arrays(statistics, dict.fromkeys(names, (count(draws),)), "sample_stats")
        return {**statistics, "diverging": statistics["diverging"].astype(bool)}
    return {}


def _moved(
    fit: Fit, covariance: str, sampler: Mapping[str, object] | None, draws: Mapping[str, np.ndarray]
) -> Fit:
    """The fit with the draws that it had: draws of a sampler are stored, others are made again."""
    if sampler is None:
        return cast(Fit, of_one_restart(fit, covariance))
    moved = cast(Fit, of_one_restart(fit, fit.own_covariance))
    record = SamplerRecord.from_description(sampler)
    if covariance == moved.covariance:
        _check_chains(moved.draws, record.n_chains)
        return replace_draws(moved, replace(moved.given_draws, sampler=record))
    _check_draws(moved.core, moved.q, draws)
    _check_chains(draws, record.n_chains)
    return replace_draws(moved, sampled_draws(moved, dict(draws), record, covariance))


def _in_order(core: AnyModel, order: Sequence[int], model: AbstractEstimator) -> AnyModel:
    """The core with its components in this order, refused if it is of another number of them."""
    n_components = getattr(model, "n_components", len(order))
    if n_components != len(order):
        raise DataError(f"fit.parts.order has {len(order)} of {n_components} components")
    return model.relabelled(core, order)


def _check_draws(core: AnyModel, posterior: object, draws: Mapping[str, np.ndarray]) -> None:
    """Raise if draws do not belong to this posterior."""
    check_same_shapes(draws, core.draws(posterior, 1, np.random.default_rng(0)), "draws", skipped=1)
    if len({len(values) for values in draws.values()}) != 1 or not count(draws):
        raise DataError("draws differ in number")
    if not all(np.isfinite(values).all() for values in draws.values()):
        raise DataError("draws are not finite")


def _with_findings(fit: Fit, left_out: Mapping[str, np.ndarray]) -> Fit:
    """The fit with the predictions of rows without them that it had when it was saved."""
    if left_out:
        chosen = left_out["at"].shape if "at" in left_out else ()
        responses = left_out["cdf"].shape[:1] if "cdf" in left_out else ()
        shapes = {one.name: chosen for one in fields(RowsLeftOut)} | {"cdf": responses + chosen}
        check_arrays(left_out, shapes, "leave-one-out predictions")
        flags = {name: left_out[name].astype(bool) for name in ("refitted", "doubtful")}
        fit.cache["leave-one-out predictions"] = RowsLeftOut(**{**left_out, **flags})
    return fit


def _core(
    model: AbstractEstimator, method: str, options: Mapping[str, object], restarts: pd.DataFrame
) -> AnyModel:
    """Core of the restart that is marked as best."""
    core = ENGINES[method].with_options(**options).model_for(model.core)
    best = restarts[restarts["best"]].iloc[0]
    starts = core.starts(len(restarts))
    return {**starts.models, **starts.priors}.get(best.get("prior") or best["initialisation"], core)


def _table(columns: Mapping[str, object], part: Mapping[str, object]) -> pd.DataFrame:
    """Table of the restarts; the one of a part is marked."""
    from bayesvb.data.former_columns import RENAMED as COLUMNS
    from bayesvb.data.former_columns import FormerColumns

    table = FormerColumns({COLUMNS.get(name, name): values for name, values in columns.items()})
    table.index = pd.RangeIndex(1, len(table) + 1, name="restart")
    return table.assign(best=table.index == part.get("restart", part["number"]))


def _named(state: Mapping[str, np.ndarray], prefix: str) -> dict[str, np.ndarray]:
    """Arrays whose names begin so, without it."""
    return {name[len(prefix) :]: array for name, array in state.items() if name.startswith(prefix)}


def _key(text: str) -> int | str:
    return int(text) if text.isdigit() else text


def filled(blank: object, state: Mapping[str, np.ndarray], prefix: str) -> SufficientStats:
    """Statistics of the shapes of ``blank`` with the stored numbers."""
    assert isinstance(blank, SufficientStats)
    leaves = [state[prefix + name] for name, _ in blank.leaves()]
    for (name, blank_leaf), leaf in zip(blank.leaves(), leaves, strict=True):
        if np.shape(leaf) != np.shape(blank_leaf) or not np.isfinite(leaf).all():
            raise DataError(f"{prefix}{name} has shape {np.shape(leaf)}, or is not finite")
    return blank.with_vector(np.concatenate([np.ravel(leaf) for leaf in leaves]))
