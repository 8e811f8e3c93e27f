"""Terms that are made orthogonal, and their margins, by the columns of the design."""

import numpy as np
import pandas as pd
import pytest

from bayesvb.formula import marginality
from bayesvb.formula.design import build_design
from bayesvb.formula.monomials import is_marginal
from bayesvb.formula.parser import parse_formula


@pytest.fixture
def frame(rng):
    return pd.DataFrame(
        {
            "y": rng.normal(size=60),
            "x": rng.normal(size=60),
            "z": rng.normal(size=60),
            "g": np.resize(list("abc"), 60),
            "h": np.resize(list("uuvv"), 60),
        }
    )


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        ("x + z", []),
        ("x + h", []),
        ("bs(x, df=4) + log(z + 9)", []),
        ("s(x, k=5) + (1 | g)", []),
        ("g", [(("g[T.b]", "g[T.c]"), ())]),
        ("x * z", [(("x:z",), ("x", "z"))]),
        ("x:z", []),
        ("I(x**2) + x", [(("I(x ** 2)",), ("x",))]),
        ("h * x", [(("h[T.v]:x",), ("h[T.v]", "x"))]),
        ("poly(x, 2, raw=True)", [(("poly(x, 2, raw=True)[0]", "poly(x, 2, raw=True)[1]"), ())]),
        ("s(x, k=4) + h + h:x", [(("h[u]:x", "h[v]:x"), ("h[T.v]", "s(x).line"))]),
        (
            "x + {x**3} + {x**2}",
            [(("x ** 2",), ("x",)), (("x ** 3",), ("x", "x ** 2"))],
        ),
    ],
)
@pytest.mark.filterwarnings("ignore:the formula has columns that are sums")
def test_terms_and_their_margins(frame, terms, expected):
    design = build_design(parse_formula(f"y ~ {terms}"), frame)
    names = design.terms["mean"]
    found = [
        (tuple(names[j] for j in one.columns), tuple(sorted(names[j] for j in one.margins)))
        for one in design.orthogonal["mean"]
    ]
    assert found == expected
    assert design.orthogonal["gating"] == design.orthogonal["mean"]


def test_margins_are_of_the_same_part(frame):
    design = build_design(parse_formula("y ~ x + z | gating(x:z)"), frame)
    assert design.orthogonal == {"mean": (), "gating": ()}


def test_terms_are_compared_only_with_terms_in_their_variables(monkeypatch):
    compared = []
    monkeypatch.setattr(
        marginality, "is_marginal", lambda *terms: compared.append(terms) or is_marginal(*terms)
    )
    frame = pd.DataFrame(np.random.default_rng(1).normal(size=(50, 21)))
    frame = frame.rename(columns=lambda j: f"x{j}" if j else "y")
    design = build_design(parse_formula("y ~ (.)**2"), frame, warn=False)
    assert len(design.orthogonal["mean"]) == 190
    assert len(compared) == 2 * (20 + 3 * 190)  # of both parts, each also with itself
