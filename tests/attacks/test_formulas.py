"""Formulas put together from pieces that formulas have, and from some that they never have."""

import os
import time
import warnings
from contextlib import suppress

import numpy as np
import pandas as pd
import pytest
from hypothesis import HealthCheck, event, given, settings
from hypothesis import strategies as st

from bayesvb.errors import BayesVBError, DataError
from bayesvb.formula.design import build_design
from bayesvb.formula.parser import parse_formula
from bayesvb.interactive import reading
from bayesvb.interactive.request import Request

ATTACKS = int(os.environ.get("BAYESVB_ATTACKS", "1"))

SECONDS = 2.0
"""Within which every formula is read or refused."""

PIECES = """y x z g k b log zz a . ~ | + - * ** / : %in% in ^ , ( ) [ ] { } 0 1 2 9 ² 1e9 1e308
99999999 0x10 1j ... 'a' " ' ` I( I(x) I(x**2) C( C(g) bs( bs(x,df=5) poly(x,2) poly( cr(
cc(x,df=4) hashed( scale( center(x) np. np.log( exp( log(x) gating( gating(x) gate( precision( s(
s(x,k=5) (1|g) (x|g) offset(z) offset( = == < > & ! @ # $ ; \\ \ud800 \u2028 \u202e \x00 \x1b[0m é
ᛟ ⧛ lambda None True if else and or not knots= df= degree= levels= contr.sum Treatment(
_bvb_lookup_78_ __class__ .real x.T x[0] **{} %% ~~ || 9**9 1/0 1//0 pi np.pi
I(9**9)**""".split()

WHOLE = [
    "", "y ~ ", "y ~ x | ", "y ~ x + ", "~ x + ", "log(y) ~ bs(x, df=4) + C(g) ", "y ~ (x + z)**2 ",
]  # fmt: skip

OFTEN = {"deadline": None, "database": None, "suppress_health_check": list(HealthCheck)}

formulas = st.builds(
    lambda start, pieces, gap: start + gap.join(pieces),
    st.sampled_from(WHOLE),
    st.lists(st.sampled_from([*PIECES, "`a b`"]), max_size=10),
    st.sampled_from(["", " ", " + "]),
)


def the_data():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {name: rng.uniform(1, 2, 20) for name in ("y", "x", "z", "a", "a b", "log")}
    )
    return frame.assign(g=list("pq") * 10, k=np.arange(20) % 4, b=np.arange(20) % 3 == 0)


DATA = the_data()


def read(formula, *, one_sided=False):
    """Read a formula and make its matrices; the errors of the package are no failure."""
    begin = time.perf_counter()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            parsed = parse_formula(formula, one_sided=one_sided)
            build_design(parsed, DATA, response="none" if one_sided else "any")
    except BayesVBError as error:
        assert len(str(error)) < 10_000
        return "refused"
    assert time.perf_counter() - begin < 10 * SECONDS  # other tests run beside it
    return "read"


SEEDS = [
    "y ~ ( contr.treatment ] 0 *", "y ~ (x+'a'z)**2² |9 .Nne", "y ~ I(I(9**9)**I(9**9)+x)",
    "y ~ x %in% .", "{x + ", "[x) g", "y ~ I(9 ** ...)", "\ud800", "y ~ **²", "y ~ x**(-1)",
    "y ~ bs(x, df=5, degree=20)", "y ~ " + "~" * 200, "y ~ x" + "|" * 200, "y ~ s(x, k=10**9)",
    "y ~ s(x, k=100000)", "y ~ (1 | g) + (x | g)", "y ~ I([x]):g", "y ~ I((x, 0)):g",
    "y ~ I('_bvb_value_6_')", "y ~ C(g, levels=['_bvb_value_6_'])",
    "y ~ " + "(" * 39 + "x" + ")" * 39,
]  # fmt: skip


@pytest.mark.parametrize("formula", SEEDS, ids=lambda text: ascii(text[:30]))
def test_formulas_that_once_failed_are_read_or_refused(formula):
    read(formula)
    read(formula, one_sided=True)


@pytest.mark.heavy
@settings(max_examples=2000 * ATTACKS, **OFTEN)
@given(formula=formulas, one_sided=st.booleans())
def test_any_formula_is_read_or_refused(formula, one_sided):
    event(read(formula, one_sided=one_sided))


@pytest.mark.heavy
@settings(max_examples=500 * ATTACKS, **OFTEN)
@given(formula=st.text(max_size=200))
def test_any_text_is_read_or_refused(formula):
    event(read(formula))


@pytest.mark.filterwarnings("ignore")
@settings(max_examples=40 * ATTACKS, **OFTEN)
@given(formulas)
def test_the_workbench_says_something_of_every_formula_and_never_raises(formula):
    began = time.perf_counter()
    with suppress(DataError):  # of characters that are none of a text
        result = reading.read(Request(formula=formula, options={"n_components": 1}), the_data())
        assert result.readable or result.message
        assert "report this defect" not in result.hint
    assert time.perf_counter() - began < SECONDS
