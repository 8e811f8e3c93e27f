"""Stage 1, parse: functions that a formula may call, transforms and functions of a row's values."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from difflib import get_close_matches

import numpy as np

# numpy functions of one value per row, with the number of their arguments: one more would be the
# output array, and write into the data.
ELEMENTWISE: Mapping[str, int] = {
    **dict.fromkeys(
        "abs absolute arccos arccosh arcsin arcsinh arctan arctanh cbrt ceil cos cosh deg2rad exp"
        " exp2 expm1 fabs floor isfinite isnan log log10 log1p log2 logical_not negative positive"
        " rad2deg reciprocal rint sign sin sinh sqrt square tan tanh trunc".split(),
        1,
    ),
    **dict.fromkeys(
        "arctan2 equal floor_divide fmax fmin fmod greater greater_equal hypot less less_equal"
        " logaddexp logical_and logical_or logical_xor maximum minimum mod not_equal power"
        " remainder".split(),
        2,
    ),
    **dict.fromkeys(["clip", "where"], 3),
}

CONSTANTS = ("pi", "e", "euler_gamma")

# Functions without a prefix. Those that the formula package lacks are handed to it.
PLAIN: Mapping[str, Callable[..., object]] = {
    "abs": np.abs, "ceil": np.ceil, "cos": np.cos, "expm1": np.expm1, "floor": np.floor,
    "log1p": np.log1p, "sin": np.sin, "sqrt": np.sqrt, "tan": np.tan, "tanh": np.tanh,
}  # fmt: skip

NUMBERS: Mapping[str, float] = {"pi": np.pi}

OF_ONE_VALUE = {"log", "log10", "log2", "exp", "exp10", "exp2", *PLAIN}

TRANSFORMS = {"I", "C", "bs", "cc", "cr", "cs", "poly", "center", "scale", "standardize", "hashed"}

CONTRASTS = {"Treatment", "Poly", "Sum", "Helmert", "Diff"}

CONTR = ("treatment", "SAS", "sum", "helmert", "diff", "poly", "custom")

# Known from elsewhere: what to write here.
ELSEWHERE: Mapping[str, str] = {
    "cens": "it is all that stands left of `~`, transforms inside: cens(log(y), status) ~ x",
    "Surv": "it is all that stands left of `~`, transforms inside: Surv(log(time), event) ~ x",
    "rounded": "it is all that stands left of `~`, transforms inside: rounded(log(y), 0.5) ~ x",
    "lag": "it depends on the order of the rows: make the column in the data first",
    "Q": "write the column in backquotes: `my column`",
    "ns": "a natural cubic spline is cr(x, df=4, constraints='center')",
    "rcs": "a natural cubic spline is cr(x, df=4, constraints='center')",
    "s": "a smooth curve is a term of its own, right of `~`: y ~ s(x) + z",
    "cbind": "several responses are joined by +: y1 + y2 ~ x",
    **dict.fromkeys(
        ("t2", "ti"),
        "a surface is te(x, z), which has a penalty for each direction: y ~ te(x, z) + w",
    ),
    "te": "a surface is a term of its own, right of `~`: y ~ te(x, z) + w",
    "factor": "write C(x)",
    "ar": "correlation of consecutive errors is not a term: add the previous response as a column, "
    "y ~ x + lag_y, or s(time); for rows of one unit (1 | unit)",
    "offset": "an offset is a term of its own, right of `~`: y ~ offset(z) + x",
    "pow": "write x**2 inside I(), or np.power(x, 2)",
    "mean": "statistics of a column would change with new data: write center(x) or scale(x)",
    "min": "for the smaller of two values in each row write np.minimum(a, b)",
    "max": "for the larger of two values in each row write np.maximum(a, b)",
}


def known_call(name: str) -> bool:
    """Whether a formula may call a function of this name without being handed one."""
    return name in OF_ONE_VALUE or name in TRANSFORMS or name in CONTRASTS


def call_hint(name: str) -> str:
    """Hint for a function that does not exist."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    if name in ELEMENTWISE:
        return f"write np.{name}(...)"
    near = get_close_matches(name, [*OF_ONE_VALUE, *TRANSFORMS], 1, 0.6)
    text = f"a function of your own is handed in: context={{{name!r}: {name}}}"
    return f"did you mean {near[0]}(...)? {text}" if near else text


def numpy_hint(name: str) -> str:
    """Hint for a NumPy function that is not allowed."""
    if name in ELSEWHERE:
        return ELSEWHERE[name]
    near = get_close_matches(name, [*ELEMENTWISE, *CONSTANTS], 1, 0.6)
    meant = f"did you mean np.{near[0]}? " if near else ""
    return f"{meant}allowed are functions of each row's own values"
