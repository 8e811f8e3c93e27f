"""Intervals from censored, survival and rounded responses."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.errors import BayesVBError, DataError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula

NAN, INF = np.nan, np.inf
DATA = pd.DataFrame(
    {
        "y": [1.0, 2.0, 3.0, 4.0],
        "s": ["none", "Right", "left", "interval"],
        "code": [0, 1, -1, 2],
        "cut": [True, False, False, True],
        "d": [1, 0, 1, 0],
        "u": [NAN, NAN, NAN, 6.0],
        "x": [0.0, 1.0, 3.0, 2.0],
    }
)


def design(text, data=DATA):
    return build_design(parse_formula(text, calls=True), data)


def ends(text):
    """Ends of the interval of every row."""
    found = design(text)
    y, (below, above) = found.response[:, 0], found.matrices["interval"].T
    return np.stack([y - below, y + above]).round(12).tolist()


LOG = np.log([1.0, 2.0, 3.0, 4.0, 6.0]).round(12)
INTERVALS = {
    "cens(y, s, u) ~ x": [[1, 2, -INF, 4], [1, INF, 3, 6]],
    "cens(y, code, u) ~ x": [[1, 2, -INF, 4], [1, INF, 3, 6]],
    "cens(log(y), s, log(u)) ~ x": [[LOG[0], LOG[1], -INF, LOG[3]], [LOG[0], INF, LOG[2], LOG[4]]],
    "cens(y, cut) ~ x": [[1, 2, 3, 4], [INF, 2, 3, INF]],
    "cens(y, y > 3) ~ x": [[1, 2, 3, 4], [1, 2, 3, INF]],
    "Surv(y, d) ~ x": [[1, 2, 3, 4], [1, INF, 3, INF]],
    "Surv(y, s == 'none') ~ x": [[1, 2, 3, 4], [1, INF, INF, INF]],
    "rounded(y, 0.5) ~ x": [[0.75, 1.75, 2.75, 3.75], [1.25, 2.25, 3.25, 4.25]],
}


@pytest.mark.parametrize("text", INTERVALS)
def test_a_row_is_an_interval(text):
    assert ends(text) == INTERVALS[text]


def test_the_response_is_named_by_its_first_argument_and_covariates_lack_the_rest():
    found = design("cens(log(y), s, log(u)) ~ x")
    assert found.response_names == ("log(y)",) and found.covariates == ("x",)
    assert found.n_missing == 0  # an upper end is needed in few rows
    new = found.new(pd.DataFrame({"x": [1.0]}))
    assert new.response is None and "interval" not in new.matrices


WRONG = {
    "cens(y, s) ~ x": (DATA, "cens(y, s, upper)"),
    "cens(y, s, u) ~ x": (DATA.assign(u=NAN), "no finite value"),
    "cens(y, s, y2=u) ~ x": (DATA.assign(u=1.0), "less than `y`"),
    "cens(y, s)~x": (DATA.assign(s="cut"), "'none', 'right', 'left', 'interval'"),
    "cens(y,s) ~ x": (DATA.assign(s="seen"), "cens(y, s != 'seen')"),
    "cens(y, code) ~ x": (DATA.assign(code=3), "not 0, 1, -1 or 2"),
    "Surv(y, d) ~ x": (DATA.assign(d=[1, 2, 1, 2]), "Surv(y, d == 2)"),
    "Surv(y, s) ~ x": (DATA, "Surv(time, s == 'none')"),
    "rounded(y, -1) ~ x": (DATA, "not positive"),
    "rounded(y, y) ~ x": (DATA, "same argument twice"),
}


@pytest.mark.parametrize("text", WRONG)
def test_numbers_that_contradict_each_other_are_refused(text):
    data, remedy = WRONG[text]
    with pytest.raises(DataError) as caught:
        design(text, data)
    assert remedy in str(caught.value)


@pytest.mark.parametrize("text", ["log(cens(y, s)) ~ x", "y ~ cens(x, s)"])
def test_transforms_stand_inside(text):
    with pytest.raises(BayesVBError, match="transforms inside"):
        design(text)


TRIALS = pd.DataFrame({"k": [0, 2, 5], "n": [3, 2, 9], "x": [0.0, 1.0, 3.0]})


@pytest.mark.parametrize("text", ["cbind(k, n - k) ~ x", "k | trials(n) ~ x", "trials(k, n) ~ x"])
def test_a_row_is_successes_in_trials(text):
    found = design(text, TRIALS)
    assert found.response_names == ("k",)
    assert found.response[:, 0].tolist() == [0.0, 2.0, 5.0]
    assert found.matrices["trials"][:, 0].tolist() == [3.0, 2.0, 9.0]


def test_the_number_of_trials_may_be_one_constant():
    assert design("k | trials(9) ~ x", TRIALS).matrices["trials"][:, 0].tolist() == [9.0] * 3


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("k | trials(4) ~ x", "`k` is more than `4`, the number of trials, in 1 of 3 rows"),
        ("n | trials(k) ~ x", r"in 2 of 3 rows(.|\n)*n . trials\(n \+ k\)"),
        ("cbind(n, k - n) ~ x", "the number of failures `k - n` is negative in 2 of 3 rows"),
        ("k | trials(n + 0.5) ~ x", "not a whole number"),
    ],
)
def test_numbers_that_are_no_trials_are_named(text, words):
    with pytest.raises(DataError, match=words):
        design(text, TRIALS)
