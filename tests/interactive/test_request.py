"""A request, its JSON and its lines of code say the same."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from bayesvb.errors import DataError
from bayesvb.estimators import MODELS
from bayesvb.estimators.shell_line import OF_FITS, OF_MODELS
from bayesvb.interactive.model_controls import fit_controls, model_controls, prior_controls
from bayesvb.interactive.request import Request

formulas = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
words = st.text("abc de", min_size=1, max_size=5).map(str.strip).filter(bool)
VALUES = {
    "count": lambda control: st.integers(1, 12),
    "number": lambda control: st.floats(0.001, 1e6) | st.integers(1, 9),
    "choice": lambda control: st.sampled_from(control.choices),
    "flag": lambda control: st.just(not control.default),
    "column": lambda control: words,
    "levels": lambda control: st.lists(words, min_size=2, max_size=3),
}


IN_SHELL = {*OF_MODELS, "weights"}
"""Arguments that have an option of the command line."""


def some(controls, names):
    """Values of some of the controls of a model."""
    each = {name: VALUES[controls[name].kind](controls[name]) for name in controls if name in names}
    return st.fixed_dictionaries({}, optional=each)


def values(model, priors):
    """Values of requests of a model."""
    return st.fixed_dictionaries({
        "formula": formulas,
        "model": st.just(model),
        "options": some(model_controls(model), model_controls(model) if priors else IN_SHELL),
        "priors": some(prior_controls(model), prior_controls(model)) if priors else st.just({}),
        "arguments": some(fit_controls(model), fit_controls(model) if priors else OF_FITS),
        "order": words if priors else st.just(""),
        "seed": st.integers(0, 2**32 - 1),
    })  # fmt: skip


all_values = st.one_of(*[values(model, priors=True) for model in MODELS])
without_priors = st.one_of(*[values(model, priors=False) for model in MODELS])


@settings(max_examples=30)
@given(all_values)
def test_every_line_and_its_json_are_read_back(given_values):
    request = Request.from_values(given_values)
    assert Request.from_values(json.loads(request.to_json())) == request
    assert Request.from_line(request.python("data = None")) == request


@settings(max_examples=30)
@given(without_priors, formulas)
def test_lines_of_a_shell_are_read_back(given_values, source):
    request = Request.from_values(given_values)
    line = request.shell(source)
    assert Request.from_line(line) == Request.from_line(f"  $ {line}\n") == request


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "": "neither Python nor a line of a shell|no call of",
        "rm -rf /": "neither Python",
        "bayesvb fit 'y ~ x": "cannot be read",
        "bayesvb fit 'y ~ x'": "cannot be read",
        "bayesvb fit y~x data.csv --jump 3": "'--jump' is not an option",
        "bayesvb fit y~x data.csv --components many": "n_components",
        "bvb.Poisson('y ~ 1', data)": "no call of BayesianPCA",
        "bayesvb fit y~x data.csv --model poisson": "--model='poisson'",
        "bvb.Normal('y ~ 1', data, priors=bvb.NormalPriors(noise=1))": "priors='noise'",
        "bvb.DensityRegression()": "without a formula",
        "bvb.DensityRegression(open('/etc/passwd').read(), data)": "is not a constant",
        "bvb.DensityRegression('y ~ x', data, priors=1)": "priors=1 is not a call",
        "bvb.DensityRegression('y ~ x', data, missing='keep')": "missing='keep'",
        "bvb.DensityRegression('y ~ x', data, context={})": "options='context'",
        "bvb.DensityRegression('y ~ x', data).fit().check(order=t)": "names no column",
        "bvb.DensityRegression('y ~ x', data).fit(n_jobs=2)": "arguments='n_jobs'",
        "bvb.DensityRegression('y ~ x', data).fit(restarts=0)": "restarts=0",
        "bvb.DensityRegression('y ~ x', data, gate='open')": "gate='open'",
        "(" * 3000: "neither Python",
    }.items(),
)
@pytest.mark.usefixtures("unchecked")
def test_other_lines_are_errors_that_say_why(line, said):
    with pytest.raises(DataError, match=said):
        Request.from_line(line)


def test_a_line_without_a_number_of_components_has_that_of_the_model():
    request = Request.from_line("bvb.DensityRegression('y ~ x', data).fit(seed=3)")
    assert (request.size, request.seed, request.options) == (5, 3, {})
    assert Request.from_line("bvb.Normal('y ~ 1', data).fit()").size is None


@pytest.mark.parametrize("values", [[], {"gate": "softmax"}, {"formula": "y~x", "exec": 1}])
def test_values_of_something_else_are_an_error(values):
    with pytest.raises(DataError, match="a request"):
        Request.from_values(values)
