"""Products of powers in terms, and which of them divide which."""

import pytest

from bayesvb.formula.columns import ColumnRole
from bayesvb.formula.monomials import degree, is_marginal, is_polynomial, monomials


def written(*factors):
    """Monomials of factors in which capitals stand for aliases of columns."""
    codes = []
    for code in factors:
        for name in "XZG":
            code = code.replace(name, ColumnRole(name.lower(), "value").alias)
        codes.append(code)
    return monomials(codes)


def readable(found):
    return {" ".join(f"{name}{power}" for name, power in sorted(one)) for one in found}


@pytest.mark.parametrize(
    ("factors", "expected"),
    [
        (["X"], {"x1"}),
        (["X", "G"], {"g1 x1"}),
        (["C(G)", "X"], {"g1 x1"}),
        (["I(X**2)"], {"x2"}),
        (["I(X**2 * Z)", "G"], {"g1 x2 z1"}),
        (["I(-(X - 3)**2 / 4)"], {"", "x1", "x2"}),
        (["I(X + Z)"], {"x1", "z1"}),
        (["center(X)"], {"x1"}),
        (["poly(X, 2)"], {"x1", "x2"}),
        (["poly(X, degree=2, raw=True)"], {"x1", "x2"}),
        (["np.power(X, 3)"], {"x3"}),
        (["np.square(X)"], {"x2"}),
        (["I(np.pi * X)"], {"x1"}),
    ],
)
def test_products_of_powers(factors, expected):
    assert readable(written(*factors)) == expected


@pytest.mark.parametrize(
    "code", ["log(X)", "bs(X, df=4)", "I(X > 2)", "I(X**0.5)", "I(2**X)", "I(X / Z)", "I(X**99)"]
)
def test_what_is_no_polynomial_is_a_variable_of_its_own(code):
    (one,) = written(code)
    assert len(one) == 1
    assert not is_marginal(written("X"), written(code))


def test_products_of_long_sums_end():
    found = written("I((X + Z + 1)**9)", "I((X + Z + 1)**9)")
    assert degree(found) == 1


ORDER = ["X", "I(X**2)", "I(X**3)", "I(X**2 * Z)"]


@pytest.mark.parametrize("lower", ORDER)
@pytest.mark.parametrize("higher", ORDER)
def test_marginal_is_an_order(lower, higher):
    one, two = written(lower), written(higher)
    assert not (is_marginal(one, two) and is_marginal(two, one))
    if is_marginal(one, two):
        assert degree(one) < degree(two)


def test_terms_that_a_shift_adds_are_marginal():
    cube = written("I(X**2)", "Z")
    for code in ("X", "Z", "I(X**2)", "I(X * Z)"):
        assert is_marginal(written(code), cube)
    for code in ("I(X**3)", "I(Z**2)", "G", "I(X**2 * Z)", "log(X)"):
        assert not is_marginal(written(code), cube)


def test_sums_are_not_marginal_to_what_they_are_sums_of():
    assert not is_marginal(written("X"), written("I(X + Z)"))
    assert is_polynomial(written("I(X * Z)")) and not is_polynomial(written("I(X + Z)"))
