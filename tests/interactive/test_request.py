"""A request, its JSON and its lines of code say the same."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import DataError
from bayesvb.experts import EXPERTS
from bayesvb.gates import GATES
from bayesvb.interactive.request import Request

formulas = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\0"), max_size=30)
requests = st.builds(
    Request,
    formula=formulas,
    n_components=st.integers(1, 12),
    gate=st.sampled_from(sorted(GATES)),
    family=st.sampled_from(sorted(EXPERTS)),
    seed=st.integers(0, 2**32 - 1),
)


@given(requests, formulas)
def test_every_line_and_its_json_are_read_back(request, source):
    assert Request.from_json(request.to_json()) == request
    assert Request.from_line(request.python("data = None")) == request
    assert Request.from_line(request.shell(source)) == request
    assert Request.from_line(f"  $ {request.shell(source)}\n") == request


@pytest.mark.parametrize(
    ("line", "said"),
    {
        "": "neither Python nor a line of a shell|no call of DensityRegression",
        "rm -rf /": "neither Python",
        "bayesvb fit 'y ~ x": "cannot be read",
        "bayesvb fit 'y ~ x'": "cannot be read",
        "bayesvb fit y~x data.csv --jump 3": "'--jump' is not an option",
        "bayesvb fit y~x data.csv --components many": "n_components",
        "bvb.Normal('y ~ 1', data)": "no call of DensityRegression",
        "bvb.DensityRegression()": "without a formula",
        "bvb.DensityRegression(open('/etc/passwd').read(), data)": "is not a constant",
        "bvb.DensityRegression('y ~ x', data, priors=1)": "a request has",
        "bvb.DensityRegression('y ~ x', data, gate='open')": "gate='open'",
        "(" * 3000: "neither Python",
    }.items(),
)
@pytest.mark.usefixtures("unchecked")
def test_other_lines_are_errors_that_say_why(line, said):
    with pytest.raises(DataError, match=said):
        Request.from_line(line)


@pytest.mark.parametrize("text", ["", "[]", '{"gate": "softmax"}', '{"formula": "y~x", "exec": 1}'])
def test_json_of_something_else_is_an_error(text):
    with pytest.raises(DataError, match="a request"):
        Request.from_json(text)
