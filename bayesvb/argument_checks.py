"""Checks of arguments at the border: each message names the argument, the value and the remedy.

An argument has the same meaning in every public function. `CHECKS` defines its valid values, and
`checked` enforces them before anything else happens.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Collection, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, ParamSpec, TypeVar

import numpy as np

from bayesvb.errors import DataError, warn_renamed

P = ParamSpec("P")

R = TypeVar("R")

Check = Callable[[str, object], None]
"""Raises `DataError` unless an argument, given by name and value, is valid."""

MOST = 10_000
"""Restarts, components and threads, of which there are tens."""

MOST_DRAWS = 10_000_000
"""Draws, passes and replications."""

LONGEST = 80
"""Characters of a value that a message shows."""


FAMILIES_ELSEWHERE = {
    **dict.fromkeys(("binary", "logistic", "logit"), "did you mean 'bernoulli'?"),
    **dict.fromkeys(("nbinom", "nb", "negative_binomial"), "did you mean 'negbinomial'?"),
    **dict.fromkeys(("normal", "lm"), "did you mean 'gaussian'?"),
    **dict.fromkeys(("ordered", "cumulative", "polr"), "did you mean 'ordinal'?"),
    **dict.fromkeys(("t", "robust"), "did you mean 'student'?"),
    "lognormal": "write log(y) ~ ... with family='gaussian'",
    "quasipoisson": "did you mean 'negbinomial'?",
    **dict.fromkeys(
        ("quasibinomial", "beta_binomial"), "family='binomial' with (1 | i), i the number of a row"
    ),
    **dict.fromkeys(("exponential", "survival", "cox"), "did you mean 'weibull'?"),
    **dict.fromkeys(("inverse_gaussian", "inverse.gaussian"), "did you mean 'gamma'?"),
    **dict.fromkeys(
        ("tweedie", "hurdle_gamma"), "family='gamma' with the part zero(...): y ~ x | zero(1)"
    ),
    "censored": "write cens(y, status) ~ ... with family='gaussian' or 'student'",
    **dict.fromkeys(
        ("multinomial", "categorical"), "classes are fitted by bayesvb.ConditionalMixtureNetwork"
    ),
    **dict.fromkeys(
        ("zip", "zero_inflated_poisson"),
        "family='poisson' with the part zero(...): y ~ x | zero(1)",
    ),
    **dict.fromkeys(
        ("zinb", "zero_inflated_negbinomial"),
        "family='negbinomial' with the part zero(...): y ~ x | zero(1)",
    ),
}
"""Hints for names of families in other software."""


_ODDS = "an odds ratio has target='odds', comparison='ratio'"
_SURVIVAL = "the probability of a longer time has target='probability', above=365"
VALUES_ELSEWHERE = {
    "family": FAMILIES_ELSEWHERE,
    "comparison": {
        **dict.fromkeys(("odds ratio", "oddsratio", "odds", "or", "lnor", "lnoravg"), _ODDS),
        "differenceavg": "write comparison='difference', average_by=True",
        **dict.fromkeys(("ratioavg", "rr"), "write comparison='ratio', average_by=True"),
    },
    "target": dict.fromkeys(("survival", "exceedance", "sf"), _SURVIVAL),
}
"""Hints for values of arguments in other software."""


def check_choice(name: str, value: object, allowed: Collection[str]) -> None:
    """Raise unless ``value`` is one of ``allowed``."""
    if isinstance(value, str) and value in allowed:
        return
    near = get_close_matches(str(value)[:LONGEST], list(allowed), 1)
    hint = f"did you mean {near[0]!r}?" if near else None
    hint = VALUES_ELSEWHERE.get(name, {}).get(str(value)[:LONGEST].lower(), hint)
    listed = ", ".join(repr(option) for option in allowed)
    raise DataError(f"{name}={shown(value)} is not known; it is one of {listed}", hint=hint)


def check_count(
    name: str, value: object, *, least: int = 1, most: int | None = None, what: str = ""
) -> None:
    """Raise unless ``value`` is a whole number in the range."""
    if isinstance(value, bool) or not isinstance(value, int | np.integer):
        raise DataError(f"{name}={shown(value)} must be a whole number")
    if value < least:
        raise DataError(f"{name}={shown(value)} must be at least {least}")
    if most is not None and value > most:
        raise DataError(f"{name}={shown(value)} is more than the {most} {what}".rstrip())


def check_positive(name: str, value: object) -> None:
    """Raise unless ``value`` is a positive, finite number."""
    if not 0.0 < as_double(value) < np.inf:
        raise DataError(f"{name}={shown(value)} must be a positive, finite number")


def as_double(value: object) -> float:
    """A real number as a double; not a number for truth values and whatever else it may be."""
    real = isinstance(value, int | float | np.integer | np.floating)
    if not real or isinstance(value, bool):
        return float("nan")
    try:
        return float(value)  # type: ignore[arg-type]
    except OverflowError:
        return float("inf")


def fresh_seed(seed: int | None) -> int:
    """The seed, or one of fresh entropy for None."""
    if seed is None:
        return int(np.random.SeedSequence().generate_state(1)[0])
    check_count("seed", seed, least=0, most=2**63 - 1, what="of the largest seed that a file holds")
    return int(seed)


def seed_from_rng(arguments: Mapping[str, Any]) -> dict[str, object]:
    """Return arguments with ``seed`` for ``rng``, as Scientific Python's SPEC 7 calls it.

    A whole number is the seed itself; of a generator one is drawn, which advances it.

    Raises
    ------
    DataError
        If both are given, or ``rng`` makes no generator.

    Examples
    --------
    >>> seed_from_rng({"draws": 100, "rng": 1})
    {'draws': 100, 'seed': 1}
    """
    left = {name: value for name, value in arguments.items() if name != "rng"}
    rng = arguments["rng"]
    if left.get("seed") is not None and rng is not None:
        raise DataError("seed= and rng= are both given", hint="give one of them")
    if rng is None or (isinstance(rng, int | np.integer) and not isinstance(rng, bool)):
        return left if rng is None else {**left, "seed": int(rng)}
    try:
        drawn = np.random.default_rng(rng).integers(2**63 - 1)
    except (TypeError, ValueError) as error:
        hint = "give a whole number, a numpy Generator or None"
        raise DataError(f"rng={shown(rng)} is not a generator", hint=hint) from error
    return {**left, "seed": int(drawn)}


def shown(value: object) -> str:
    """A value as a message shows it: its type too where it is long, and on one line."""
    plain = value.item() if isinstance(value, np.generic) else value  # its repr names numpy
    text = " ".join(repr(plain).split())
    return text if len(text) <= LONGEST else f"{type(value).__name__} {text[:LONGEST]}..."


def check_seconds(name: str, value: object) -> None:
    """Raise unless ``value`` is a finite number that is not negative."""
    if not 0.0 <= as_double(value) < np.inf:
        raise DataError(f"{name}={shown(value)} must be a number of seconds, not negative")


def check_probability(name: str, value: object) -> None:
    """Raise unless ``value`` is a number between 0 and 1."""
    if not 0.0 < as_double(value) < 1.0:
        raise DataError(f"{name}={shown(value)} must lie between 0 and 1", hint="write 0.9 for 90%")


def check_text(name: str, value: object) -> None:
    """Raise unless ``value`` is text."""
    if not isinstance(value, str):
        raise DataError(f"{name}={shown(value)} must be a string")


def check_flag(name: str, value: object) -> None:
    """Raise unless ``value`` is True or False."""
    if not isinstance(value, bool | np.bool_):
        raise DataError(f"{name}={shown(value)} must be True or False")


def check_callable(name: str, value: object) -> None:
    """Raise unless ``value`` can be called."""
    if not callable(value):
        raise DataError(f"{name}={shown(value)} must be a function")


def check_progress(name: str, value: object) -> None:
    """Raise unless ``value`` is True, False or can be called."""
    if not (isinstance(value, bool) or callable(value)):
        raise DataError(f"{name}={shown(value)} must be True, or a function")


def check_names(name: str, value: object) -> None:
    """Raise unless ``value`` is a mapping from names."""
    if not isinstance(value, Mapping) or not all(isinstance(key, str) for key in value):
        raise DataError(f"{name}={shown(value)} must be a mapping from names: {{'a': ..., ...}}")


def check_seed(name: str, value: object) -> None:
    """Raise unless ``value`` can be the seed of random numbers, or is a generator of them."""
    if not isinstance(value, np.random.Generator):
        check_count(name, value, least=0, most=2**63 - 1, what="of the largest seed")


def check_any_fits(name: str, value: object) -> None:
    """Raise unless ``value`` is a fit, or a mapping from names to fits."""
    if not isinstance(value, Mapping):
        check_fit(name, value)
        return
    for key, one in value.items():
        check_fit(f"{name}[{shown(key)}]", one)


def check_named_fits(name: str, value: object) -> None:
    """Raise unless ``value`` is a mapping from names to fits."""
    check_names(name, value)
    check_any_fits(name, value)


def check_compared(name: str, value: object) -> None:
    """Raise unless ``value`` is a list of fits, or a mapping from names to fits or results."""
    if isinstance(value, list | tuple):
        for number, one in enumerate(value):
            check_fit(f"{name}[{number}]", one)
        return
    check_names(name, value)
    assert isinstance(value, Mapping)
    for key, one in value.items():
        if not hasattr(one, "n_data_points"):  # of a result of ArviZ
            check_fit(f"{name}[{shown(key)}]", one)


def check_fit(name: str, value: object) -> None:
    """Raise unless ``value`` is what ``model.fit()`` returns."""
    if not all(hasattr(value, own) for own in ("model", "variational_draws", "traces")):
        raise DataError(f"{name}={shown(value)} must be a fit", hint="model.fit() returns one")


def check_start(name: str, value: object) -> None:
    """Raise unless ``value`` is a fit, or the name of a start."""
    if not isinstance(value, str):
        check_fit(name, value)


def check_flag_or_text(name: str, value: object) -> None:
    """Raise unless ``value`` is True, False or text."""
    if not isinstance(value, bool | np.bool_ | str):
        raise DataError(f"{name}={shown(value)} must be True, False, or a string")


def check_columns(name: str, value: object) -> None:
    """Raise unless ``value`` is True, False, a name of a column, or a list of names."""
    names = value if isinstance(value, list | tuple) else [value]
    named = bool(names) and all(isinstance(one, str) for one in names)
    if not named and not isinstance(value, bool):
        raise DataError(f"{name}={shown(value)} must be the name of a column, or a list of names")


def check_table(name: str, value: object) -> None:
    """Raise unless ``value`` has columns, as a data frame."""
    if not hasattr(value, "columns"):
        raise DataError(f"{name}={shown(value)} must be a data frame")


def check_listed(name: str, value: object) -> None:
    """Raise unless ``value`` is a list of values, or an array of one axis."""
    axes = getattr(value, "ndim", 1 if isinstance(value, Sequence | range) else 0)
    if isinstance(value, str | bytes) or axes != 1:
        raise DataError(f"{name}={shown(value)} must be a list of values")


def check_audit(name: str, value: object) -> None:
    """Raise unless ``value`` is what ``bvb.sbc()`` returns."""
    if not (hasattr(value, "ranks") and hasattr(value, "replications")):
        raise DataError(f"{name}={shown(value)} must be a result of bvb.sbc()")


def check_selection(name: str, value: object) -> None:
    """Raise unless ``value`` is what ``bvb.select()`` returns."""
    if not all(hasattr(value, own) for own in ("table", "doubts", "criterion", "chosen")):
        raise DataError(f"{name}={shown(value)} must be a result of bvb.select()")


def check_effects(name: str, value: object) -> None:
    """Raise unless ``value`` was returned by a function of ``bvb.effects``."""
    if not all(hasattr(value, own) for own in ("summary", "draws", "held")):
        raise DataError(f"{name}={shown(value)} must be a result of bvb.effects.predictions()")


def check_texts(name: str, value: object) -> None:
    """Raise unless ``value`` is a list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(one, str) for one in value):
        raise DataError(f"{name}={shown(value)} must be a list of texts", hint=f'{name}=["..."]')


def check_text_or_texts(name: str, value: object) -> None:
    """Raise unless ``value`` is a text, or a list of texts."""
    if not isinstance(value, str):
        check_texts(name, value)


def check_labels(name: str, value: object) -> None:
    """Raise unless ``value`` maps names of columns to labels."""
    if not isinstance(value, Mapping) or not all(
        isinstance(key, str) and isinstance(label, str) for key, label in value.items()
    ):
        raise DataError(
            f"{name}={shown(value)} must map columns to labels",
            hint=f'{name}={{"x": "Age (years)"}}',
        )


def _whole(least: int, most: int) -> Check:
    return functools.partial(check_count, least=least, most=most, what="that are possible")


CHECKS: Mapping[str, Check] = {
    "along": check_text,
    "average_by": check_columns,
    "browser": check_flag,
    "calibration": check_audit,
    "checkpoint_every": check_seconds,
    "combine": check_text,
    "context": check_names,
    "corrected": check_flag,
    "covariance": check_text,
    "date": check_text,
    "draws": _whole(1, MOST_DRAWS),
    "edition": check_text,
    "eps": check_positive,
    "fit": check_fit,
    "fits": check_named_fits,
    "forgetting": check_positive,
    "folds": _whole(2, MOST_DRAWS),
    "jacobian": check_flag,
    "kind": check_text,
    "latent_dim": _whole(1, MOST),
    "max_iter": _whole(1, 10**12),
    "labels": check_labels,
    "loo": check_flag,
    "method": check_text,
    "missing": check_text,
    "n_experts": _whole(1, MOST),
    "n_jobs": _whole(1, MOST),
    "name": check_text,
    "notes": check_texts,
    "part": check_text,
    "port": _whole(0, 2**16 - 1),
    "prob": check_probability,
    "progress": check_callable,
    "question": check_text,
    "quiet": check_flag,
    "recalibrate": check_flag_or_text,
    "ratio": check_flag,
    "repeats": _whole(1, MOST),
    "replications": _whole(1, MOST_DRAWS),
    "response": check_text,
    "restarts": _whole(1, MOST),
    "robust": check_flag,
    "scale": check_flag,
    "score": check_text,
    "seconds": check_positive,
    "seed": check_seed,
    "selection": check_selection,
    "source": check_text,
    "start": check_start,
    "statement": check_text_or_texts,
    "supported": check_flag,
    "table": check_table,
    "target": check_text,
    "tol": check_positive,
    "transform": check_text,
    "value": check_text,
    "wrt": check_text,
}
"""Check of an argument of this name, in every public function, if it is given."""


NAMED = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)

SPELLINGS: Mapping[str, tuple[str, ...]] = {
    "above": ("threshold",),
    "average_by": ("avg_by",),
    "data": ("newdata", "new_data", "df", "dataframe", "frame", "X", "new"),
    "draws": ("n_samples", "num_samples", "samples", "n_draws", "ndraws", "nsamples"),
    "family": ("distribution", "likelihood"),
    "folds": ("cv", "k_fold", "n_folds", "n_splits", "K"),
    "formula": ("model", "fml"),
    "gate": ("gating", "link"),
    "group": ("groups", "subject", "id"),
    "groups": ("group", "subject", "cluster"),
    "kind": ("type", "what"),
    "max_iter": ("iter", "maxiter", "n_iter", "iterations", "max_iterations"),
    "method": ("engine", "algorithm"),
    "missing": ("na_action", "na"),
    "models": ("estimators", "model"),
    "n": ("n_samples", "num_samples", "samples", "n_draws", "ndraws", "nsamples", "draws", "size"),
    "n_components": ("k", "K", "n_clusters", "components", "n_mixtures"),
    "n_experts": ("n_components", "k", "K", "experts"),
    "n_jobs": ("cores", "n_cores", "jobs", "workers", "threads", "processes"),
    "prob": ("level", "ci_level", "conf_level", "hdi_prob", "credible_mass"),
    "progress": ("verbose", "callback"),
    "q": ("quantiles", "quantile", "probs", "probabilities", "percentiles", "tau"),
    "repeats": ("n_repeats", "repetitions"),
    "restarts": ("n_init", "starts", "nrep", "n_restarts"),
    "seed": ("random_state", "random_seed"),
    "tol": ("tolerance", "eps", "epsilon"),
    "weights": ("sample_weight", "w", "case_weights"),
}
"""Other spellings of an argument, by its name."""


RENAMED: Mapping[str, str] = {
    "calibrated": "recalibrate",
    "coefficients_in": "coefficient_units",
    "even_sticks": "equal_prior_weights",
    "weights_are": "weight_type",
}
"""Arguments by their former names, which work with a DeprecationWarning."""


ALSO: Mapping[str, tuple[str, ...]] = {
    "variables": ("wrt", "contrast"),
    "by": ("average_by",),
    "newdata": ("data",),
    "conf_level": ("prob",),
}
"""Arguments by the names of another package (marginaleffects), which work without a warning."""


def with_new_names(function: str, given: Mapping[str, R], names: Collection[str]) -> dict[str, R]:
    """Return the arguments, those with another or a former name under the present one."""
    renamed = dict(given)
    for other, ours in ALSO.items():
        for name in ours:
            if other in renamed and other not in names and name in names and name not in renamed:
                renamed[name] = renamed.pop(other)
    for old, new in RENAMED.items():
        if old in renamed and old not in names and new in names and new not in renamed:
            warn_renamed(f"{_called(function)}({old}=)", f"{new}=")
            renamed[new] = renamed.pop(old)
    return renamed


def check_spelling(
    function: str, given: Collection[str], names: Sequence[str], *, open_ended: bool = False
) -> None:
    """Raise if an argument has another name here, or, unless any name will do, is none at all."""
    for name in (one for one in given if one not in names):
        meant = [candidate for candidate in names if name in SPELLINGS.get(candidate, ())]
        if not meant and open_ended:
            continue
        near = meant or get_close_matches(name, names, 1)
        listed = ", ".join(candidate for candidate in names if candidate != "self")
        raise DataError(
            f"{_called(function)}() has no argument {name}=",
            hint=f"it is called {near[0]}= here" if near else f"its arguments are {listed}",
        )


def _called(qualified: str) -> str:
    """A function's name as it is called, a class's for its `__init__`."""
    return qualified.removesuffix(".__init__").split(".")[-1]


def _unbound(
    function: Callable[..., object], names: Sequence[str], args: Sequence[object], error: TypeError
) -> str:
    """Why a call does not fit a function, with its name and, where it is plain, the remedy."""
    called = _called(function.__qualname__)
    formula_at = names.index("formula") if "formula" in names else len(args)
    if formula_at < len(args) and not isinstance(args[formula_at], str) and "data" in names:
        return f"{called}(): {error}\nhint: the formula comes before the data, as text"
    if names[:1] == ["model"] and args and isinstance(args[0], str):
        made = f"bayesvb.DensityRegression({args[0]!r}, data)"
        return f"{called}(): {error}\nhint: the model comes first, made of formula and data: {made}"
    return f"{called}(): {error}"


def checked(function: Callable[P, R], /, **others: Check) -> Callable[P, R]:
    """The function, which refuses arguments that `CHECKS` does not allow.

    An argument whose default is None may be None.

    Parameters
    ----------
    function : callable
    **others
        Checks of arguments that mean something else here.

    Examples
    --------
    >>> @checked
    ... def interval(prob=0.89):
    ...     return prob
    >>> interval(prob="0.9")
    Traceback (most recent call last):
    bayesvb.errors.DataError: prob='0.9' must lie between 0 and 1
    hint: write 0.9 for 90%
    """
    signature = inspect.signature(function)
    names = [one.name for one in signature.parameters.values() if one.kind in NAMED]
    open_ended = len(names) < len(signature.parameters)
    defaults = {name: one.default for name, one in signature.parameters.items()}
    by_name = {name: CHECKS[name] for name in defaults if name in CHECKS} | others
    takes_seed = "rng" not in defaults and ("seed" in defaults or open_ended)

    @functools.wraps(function)
    def holding(*args: P.args, **kwargs: P.kwargs) -> R:
        if "rng" in kwargs and takes_seed:
            kwargs = seed_from_rng(kwargs)  # type: ignore[assignment]
        if not kwargs.keys() <= defaults.keys():
            kwargs = with_new_names(function.__qualname__, kwargs, names)  # type: ignore[assignment]
            check_spelling(function.__qualname__, kwargs, names, open_ended=open_ended)
        try:
            given = signature.bind(*args, **kwargs).arguments
        except TypeError as error:  # which does not say whose argument it is
            raise TypeError(_unbound(function, names, args, error)) from None
        for name, check in by_name.items():
            if name in given and not (given[name] is None and defaults[name] is None):
                check(name, given[name])
        return function(*args, **kwargs)

    return holding
