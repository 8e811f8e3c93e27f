"""What a formula may compute, and what it may not."""

import ast

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import FormulaError
from bayesvb.formula.allowed_functions import (
    CONSTANTS,
    CONTR,
    ELEMENTWISE,
    OF_ONE_VALUE,
    TRANSFORMS,
)
from bayesvb.formula.design import build_design
from bayesvb.formula.expressions import read_expression
from bayesvb.formula.parser import parse_formula

DATA = pd.DataFrame(
    {
        "y": np.linspace(-1, 2, 12) ** 2,
        "x": np.linspace(0.1, 0.9, 12),
        "z": np.cos(np.arange(12.0)) / 2,
        "g": list("abcabcabcabc"),
    }
)

ALLOWED = [
    "log(x)",
    "np.log(x)",
    "sqrt(x)",
    "abs(z)",
    "I(x**2)",
    "I(-x + 2*z/3 - z % 2)",
    "I(2**x)",
    "I(x > 0.5)",
    "I((x > 0.5) & (z < 0))",
    "I(~(x > 0.5))",
    "I(g == 'a')",
    "np.where(x > 0.5, x, 0)",
    "np.clip(x, 0.2, 0.8)",
    "np.maximum(x, z)",
    "I(np.pi * x)",
    "sin(2 * pi * x)",
    "bs(x, df=4)",
    "bs(x, knots=[0.3, 0.6], degree=2, lower_bound=0, upper_bound=1)",
    "cr(x, df=4, constraints='center')",
    "poly(x, 2)",
    "poly(x, degree=2, raw=True)",
    "scale(log(x))",
    "center(x)",
    "standardize(x)",
    "C(g)",
    "C(g, contr.sum)",
    "C(g, contr.treatment('b'))",
    "C(g, Treatment('b'))",
    "C(g, levels=['c', 'b', 'a'])",
    "C(g, {'a against b': [1, -1, 0]})",
    "hashed(g, levels=3)",
]


@pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning")
@pytest.mark.parametrize("code", [*ALLOWED, "{x + z}", "{log(x)}"])
def test_what_is_allowed_is_computed(code):
    design = build_design(parse_formula(f"y ~ {code} | 1"), DATA)
    assert design.matrices["mean"].shape[1] > 1
    assert np.isfinite(design.matrices["mean"]).all()


@pytest.mark.parametrize("name", sorted(set(ELEMENTWISE)))
def test_each_numpy_function_of_the_list_works_row_by_row(name):
    arguments = ", ".join(["x"] * ELEMENTWISE[name])
    read_expression(f"np.{name}({arguments})", text="", start=0)
    values = np.array([1.25, 1.5, 1.75]) if name == "arccosh" else np.array([0.25, 0.5, 0.75])
    whole = getattr(np, name)(*[values] * ELEMENTWISE[name])
    each = [getattr(np, name)(*[value] * ELEMENTWISE[name]) for value in values]
    np.testing.assert_allclose(whole, each, rtol=1e-15)


# Code -> characters that are marked.
REFUSED = {
    "__import__('os')": "__import__",
    "I(__import__('os').getpid() + 0*x)": "__import__('os').getpid",
    "I(x.__class__)": "x.__class__",
    "I(x.values)": "x.values",
    "x.str.upper()": "x.str.upper",
    "x.clip(0, 1)": "x.clip",
    "np.load('file')": "np.load",
    "np.fromfile('file')": "np.fromfile",
    "np.mean(x)": "np.mean",
    "np.random.normal(x)": "np.random.normal",
    "np.linalg.norm(x)": "np.linalg.norm",
    "np.lib(x)": "np.lib",
    "np.log.reduce(x)": "np.log.reduce",
    "np.log(x, x)": "np.log(x, x)",
    "np.log(x, out=x)": "np.log(x, out=x)",
    "np.log(*x)": "np.log(*x)",
    "log(x, z)": "log(x, z)",
    "contr.mro()": "contr.mro",
    "I(lambda: 1)": "lambda: 1",
    "I([i for i in x])": "[i for i in x]",
    "I((i for i in x))": "(i for i in x)",
    "I(x[0])": "x[0]",
    "I(x if x else z)": "x if x else z",
    "I(x and z)": "x and z",
    "I(not x)": "not x",
    "I(0 < x < 1)": "0 < x < 1",
    "I(w := x)": "w := x",
    "I(f'{x}')": "f'{x}'",
    "I('a' * 99999999)": "'a'",
    "I([0] * 99999999)": "[0]",
    "I(9**9**9)": "9**9**9",
    "I((9**9)**(9**9))": "(9**9)**(9**9)",
    "I(1 << 99999)": "1 << 99999",
    "f(x)(z)": "f(x)",
    "(lambda: 1)()": "lambda: 1",
    "C(g, *x)": "*x",
    "C(g, **x)": "**x",
    "scale(x, _state=1)": "_state=1",
    "scale(x, _context=1)": "_context=1",
    "I(`a b`.c)": "`a b`.c",
    "I(x.`a b`)": "x.`a b`",
    "bs(x,, df=3)": "bs(x,, df=3)",
    "I(await x)": "await x",
    "I(b'a')": "b'a'",
    "I(1j * x)": "1j",
    "I(x @ z)": "x @ z",
    "I(...)": "...",
    "scale(x, center='a\"b')": "'a\"b'",
    'C(g, levels=["it\'s"])': '"it\'s"',
    "C(g, levels=['a\\x00'])": "'a\\x00'",
    "C(g, levels=['a`b`c'])": "'a`b`c'",
}


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_refused_is_marked(code):
    text = f"y ~ z + {code}"
    with pytest.raises(FormulaError) as caught:
        read_expression(code, text=text, start=8)
    assert caught.value.at is not None
    start, last = caught.value.at
    assert text[start : last + 1] == REFUSED[code]


def test_the_mark_is_right_after_letters_of_several_bytes():
    with pytest.raises(FormulaError) as caught:
        parse_formula("y ~ log(größe) + I(`größe µ`*x.a)")
    start, last = caught.value.at
    assert "y ~ log(größe) + I(`größe µ`*x.a)"[start : last + 1] == "x.a"


@pytest.mark.parametrize("code", [c for c in REFUSED if c[0] != "("])
def test_a_formula_with_refused_code_never_gets_as_far_as_the_data(code):
    with pytest.raises(FormulaError):
        parse_formula(f"y ~ {code}")
    with pytest.raises(FormulaError):
        parse_formula(f"{code} ~ x")
    with pytest.raises(FormulaError):
        parse_formula(f"y ~ x | gating({code})")


@pytest.mark.parametrize("name", ["open", "eval", "exec", "print", "getattr", "vars", "input"])
def test_builtins_are_not_known(name):
    with pytest.raises(FormulaError, match=f"`{name}` is neither"):
        build_design(parse_formula(f"y ~ {name}('x')"), DATA)
    with pytest.raises(FormulaError, match=f"`{name}` is neither"):
        build_design(parse_formula(f"y ~ I({name})"), DATA)


HINTS = {
    "ns(x, df=3)": "cr(x, df=4, constraints='center')",
    "lag(x)": "depends on the order of the rows",
    "Q('x')": "backquotes",
    "factor(g)": "C(x)",
    "arctan2(x, z)": "np.arctan2",
    "mean(x)": "center(x) or scale(x)",
    "lgo(x)": "did you mean log(...)?",
    "double(x)": "context={'double': double}",
}


@pytest.mark.parametrize("code", HINTS)
def test_unknown_functions_come_with_a_hint(code):
    with pytest.raises(FormulaError) as caught:
        build_design(parse_formula(f"y ~ {code}"), DATA)
    assert HINTS[code] in caught.value.hint


def test_functions_and_constants_are_handed_in_by_name():
    def double(x):
        return 2 * x

    context = {"double": double, "shift": 3.0}
    design = build_design(parse_formula("y ~ double(x) | I(x - shift)"), DATA, context=context)
    np.testing.assert_array_equal(design.matrices["mean"][:, 1], 2 * DATA["x"])
    np.testing.assert_array_equal(design.matrices["gating"][:, 1], DATA["x"] - 3)
    again = design.new(DATA.head(3))
    np.testing.assert_array_equal(again.matrices["mean"], design.matrices["mean"][:3])


def test_a_constant_of_the_context_cannot_be_called():
    with pytest.raises(FormulaError, match="`shift` is neither"):
        build_design(parse_formula("y ~ shift(x)"), DATA, context={"shift": 3.0})


def test_the_names_of_an_expression_come_with_their_role_and_place():
    code = "C(g, contr.sum) + log(`a b`) + np.log(x)"
    uses = read_expression(code, text=code, start=0).uses
    assert [(use.name, use.role) for use in uses] == [
        ("C", "call"), ("g", "levels"), ("log", "call"), ("a b", "value"), ("x", "value"),
    ]  # fmt: skip
    assert [code[use.start : use.stop] for use in uses] == ["C", "g", "log", "`a b`", "x"]


def test_renaming_touches_names_only():
    expression = read_expression("log(`a b`) + a - log(x)", text="", start=0)
    renamed = expression.renamed(["log", "Q", "Q", "log", "Q"])
    assert renamed == "log(Q) + Q - log(Q)"


@given(st.text(alphabet="xg.np()[]{}'\"\\`_ ,*=:+-<lambdforiI019", max_size=30))
def test_accepted_code_holds_only_harmless_syntax(code):
    try:
        expression = read_expression(code, text=code, start=0)
    except FormulaError:
        return
    tree = ast.parse(expression.renamed(["x"] * len(expression.uses)), mode="eval")
    allowed = {*CONSTANTS, *ELEMENTWISE, *CONTR}
    for node in ast.walk(tree):
        assert not isinstance(node, ast.Subscript | ast.Lambda | ast.ListComp | ast.Starred)
        if isinstance(node, ast.Attribute):
            assert isinstance(node.value, ast.Name) and node.attr in allowed
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            assert not set(node.value) & set("\"'`\\")


def test_functions_without_a_prefix_are_what_the_formula_package_or_we_provide():
    from formulaic.transforms import TRANSFORMS as THEIRS

    from bayesvb.formula.allowed_functions import PLAIN

    assert {*OF_ONE_VALUE, *TRANSFORMS} <= {*THEIRS, *PLAIN}


def test_a_column_with_a_dot_is_named_in_the_hint():
    with pytest.raises(FormulaError) as caught:
        parse_formula("log(MPG.city) ~ x")
    assert caught.value.hint.endswith("backquotes: `MPG.city`")
