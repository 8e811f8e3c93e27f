"""Warnings name the line of the caller, whatever lies between it and the place that warns."""

import ast
import contextlib
import functools
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import warn

ROOT = Path(__file__).resolve().parents[1]


def rows(n: int = 60) -> pd.DataFrame:
    rng = np.random.default_rng(4)
    x = rng.normal(size=n)
    return pd.DataFrame(
        {
            "x": x,
            "twice": 2.0 * x,
            "same": 1.0,
            "id": [f"row {i}" for i in range(n)],
            "late": pd.date_range("2024-01-01", periods=n),
            "yes": (x > 0.0).astype(float),
            "count": rng.poisson(2.0, n).astype(float),
            "y": x + rng.normal(size=n),
        }
    )


def fitted(formula: str = "y ~ x", **options: object) -> bvb.Fit:
    asked = {"seed": 1, "restarts": 1, "draws": 50, **options}
    return bvb.DensityRegression(formula, rows(), n_components=1).fit(**asked)


CASES: dict[str, Callable[[], object]] = {
    "a network whose response is a number": lambda: bvb.ConditionalMixtureNetwork(
        "yes ~ x", rows(), n_experts=1
    ),
    "a network of counts": lambda: bvb.ConditionalMixtureNetwork("count ~ x", rows(), n_experts=1),
    "counts": lambda: bvb.DensityRegression("count ~ x", rows()),
    "columns left out": lambda: bvb.DensityRegression(
        "y ~ .", rows()[["x", "same", "id", "y"]], n_components=1
    ),
    "columns that depend on each other": lambda: bvb.DensityRegression("y ~ x + twice", rows()),
    "principal components of a constant": lambda: bvb.BayesianPCA(
        "~ x + y + same",
        rows(),
        n_components=1,
    ),
    "passes that end too early": lambda: bvb.DensityRegression("y ~ x", rows(), n_components=3).fit(
        seed=1, restarts=1, draws=50, max_iter=2, covariance="mean-field"
    ),
    "the same by scikit-learn's names": lambda: _estimator().fit(rows()[["x"]], rows()["count"]),
}


def _estimator() -> object:
    from bayesvb.sklearn import DensityRegressor

    return DensityRegressor(n_components=1, restarts=1, random_state=1)


@pytest.mark.usefixtures("unchecked")  # the checks stand between the caller and the function
@pytest.mark.parametrize("case", CASES)
def test_a_warning_names_the_callers_file(case):
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        CASES[case]()
    ours = [one for one in said if issubclass(one.category, UserWarning)]
    assert ours and {one.filename for one in ours} == {__file__}


@contextlib.contextmanager
def _between() -> Iterator[None]:
    yield


def test_decorators_and_other_modules_in_between_are_passed_over():
    """A function of ours that is called through what is not ours by another of ours."""
    scope = {"__name__": "bayesvb.inner", "warn": warn}
    exec("def inner(): warn('look')", scope)
    through = functools.lru_cache(_between()(scope["inner"]))
    outer_scope = {"__name__": "bayesvb.outer", "through": through}
    exec("def outer(): through()", outer_scope)
    with pytest.warns(UserWarning, match="look") as said:
        outer_scope["outer"]()
    assert said[0].filename == __file__


def test_a_name_that_only_begins_as_ours_is_the_callers():
    scope = {"__name__": "bayesvb_study", "warn": warn}
    ours = {"__name__": "bayesvb.inner", "warn": warn}
    exec("def inner(): warn('look')", ours)
    scope["inner"] = ours["inner"]
    with pytest.warns(UserWarning, match="look") as said:
        exec(compile("inner()", "study.py", "exec"), scope)
    assert said[0].filename == "study.py"


def test_all_warnings_of_the_package_are_made_in_one_place():
    for folder in ("bayesvb", "reports", "datasets"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text(encoding="utf-8")
            calls = [
                node
                for node in (ast.walk(ast.parse(text)) if "warnings" in text else ())
                if isinstance(node, ast.Attribute)
                and node.attr in ("warn", "warn_explicit")
                and isinstance(node.value, ast.Name)
                and node.value.id == "warnings"
            ]
            assert not calls or path.name == "errors.py", path
