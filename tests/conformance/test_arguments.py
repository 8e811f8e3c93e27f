"""Wrong arguments of every public model: the error names the argument and its value."""

import inspect

import numpy as np
import pytest

from bayesvb.errors import BayesVBError, DataError
from bayesvb.estimators import MODELS

CONSTRUCTOR: dict[str, list[tuple[object, str]]] = {
    "n_components": [
        (0, "n_components=0 must be at least 1"),
        (91, "n_components=91 is more than"),
    ],
    "n_experts": [(0, "n_experts=0 must be at least 1"), (91, "n_experts=91 is more than the 90")],
    "latent_dim": [(0, "latent_dim=0 must be at least 1")],
    "gate": [("sofmax", "gate='sofmax' is not known.*did you mean 'softmax'")],
    "family": [
        ("gausian", "family='gausian' is not known.*did you mean 'gaussian'"),
        ("inverse_gaussian", "did you mean 'gamma'"),
        ("tweedie", r"'gamma' with the part zero"),
        ("exponential", "did you mean 'weibull'"),
        ("censored", r"write cens\(y, status\)"),
    ],
    "covariance": [("ful", "covariance='ful' is not known.*did you mean 'full'")],
    "latent_covariance": [("ful", "latent_covariance='ful' is not known.*did you mean 'full'")],
    "latent_posterior": [("meanfield", "'meanfield' is not known.*did you mean 'mean-field'")],
    "scale": [("yes", "scale='yes' must be True or False")],
    "priors": [("flat", r"priors='flat' are not \w*Priors\nhint: write priors=")],
    "weights": [
        ("w", "weights='w' is not a column of the data\nhint: the columns are y, x, z"),
        ([-1.0] + [1.0] * 89, "1 weights are negative.*row 0: -1.0\nhint: "),
        ([0.0] * 90, "all weights are zero.*hint: "),
        ([1.0] * 89, r"weights have shape \(89,\).*90 rows"),
    ],
    "weight_type": [("sample", "weight_type='sample' is not known.*'sampling'")],
    "missing": [("skip", "missing='skip' is not known")],
    "group": [("w", "group='w' is not a column of the data\nhint: the columns are `y`, `x`, `z`")],
    "levels": [
        (["a"], r"levels=\['a'\]"),
        ("abc", "levels='abc' must be a list"),
    ],
    "context": [],
}
"""Argument of a constructor -> wrong values, and what is said of them."""

FIT: dict[str, list[tuple[object, str]]] = {
    "method": [("mcmc", "method='mcmc' is not known.*'cavi'")],
    "checkpoint": [("no/such/folder/state", "path='no/such/folder/state': the folder .* does not")],
    "checkpoint_every": [(-1.0, "checkpoint_every=-1.0 must be a number of seconds")],
    "combine": [("mean", "combine='mean' is not known.*'best'")],
    "covariance": [("full", "covariance='full' is not known.*'mean-field'")],
    "restarts": [(0, "restarts=0 must be at least 1")],
    "draws": [(24, "draws=24 must be at least 25")],
    "seed": [(-1, "seed=-1 must be at least 0"), (2**63, "seed=9223372036854775808 is more than")],
    "tol": [(0.0, "tol=0.0 must be a positive"), (np.nan, "tol=nan must be a positive")],
    "max_iter": [(0, "max_iter=0 must be at least 1")],
    "n_jobs": [(0, "n_jobs=0 must be at least 1")],
    "seconds": [(0.0, "seconds=0.0 must be a positive")],
    "start": [(3, "start=3 must be a fit")],
    "options": [({"max_itr": 5}, "is not an option of CAVI")],
}
"""Argument of a fit -> wrong values, and what is said of them."""


def refused(kind: type[Exception], words: str):
    return pytest.raises(kind, match=f"(?s){words}")


def test_every_argument_has_wrong_values(case):
    """But for formula, data, context and progress, which have tests of their own."""
    given = set(inspect.signature(MODELS[case.kind].__init__).parameters)
    assert given - {"self", "formula", "data"} <= set(CONSTRUCTOR)
    asked = set(inspect.signature(MODELS[case.kind].fit).parameters)
    assert asked - {"self", "progress"} <= set(FIT)


def test_wrong_arguments_of_the_model_are_named(case, table, unchecked):
    accepted = inspect.signature(MODELS[case.kind].__init__).parameters
    for name in sorted(set(CONSTRUCTOR) & set(accepted)):
        for value, words in CONSTRUCTOR[name]:
            if case.kind == "BayesianPCA" and value == 91:
                words = "n_components=91 is more than the"
            with refused(BayesVBError, words):
                case.model(table, **{name: value})


def test_wrong_arguments_of_the_fit_are_named(case, table):
    model = case.model(table)
    for name, wrong in FIT.items():
        for value, words in wrong:
            with refused(DataError, words):
                model.fit(**{name: value})


def test_wrong_questions_to_a_fit_are_named(case, table):
    fit = case.brief_fit(case.model(table))
    number = case.number or {}
    with refused(DataError, "medain"):
        fit.predict(kind="medain", **number)
    with refused(BayesVBError, "u7|response"):
        fit.predict(response="u7")
    if case.number is None:
        return
    for options, words in (
        ({"kind": "density"}, "at"),
        ({"kind": "quantile", "q": 5}, "q = 5"),
        ({"kind": "mean", "q": 0.5}, "q"),
        ({"kind": "interval", "prob": 95.0}, "prob"),
        ({"kind": "draws", "n": 0}, "n = 0"),
    ):
        if options["kind"] not in fit.model.own_kinds or number:
            with refused(DataError, words):
                fit.predict(**options, **number)
