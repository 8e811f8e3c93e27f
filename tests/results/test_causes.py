"""One cause has one remedy, before its symptoms, which have none of their own."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb

FOLLOWS = "first: it may explain this."


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    rng = np.random.default_rng(11)
    x, z, noise = rng.normal(size=(3, 400))
    site = np.arange(400) % 10
    slope = np.linspace(-1.5, 1.5, 10)[rng.permutation(10)][site]
    return pd.DataFrame({"x": x, "z": z, "noise": noise, "site": site, "slope": slope})


def table_of(rows: pd.DataFrame, y: pd.Series, formula: str = "y ~ x + z", n_components: int = 1):
    model = bvb.DensityRegression(formula, rows.assign(y=y), n_components=n_components)
    return model.fit(seed=1, restarts=4, draws=60).check()


WRONG = {
    "slopes of groups": (
        lambda d: d.x + d.slope * d.x + d.noise, "y ~ x + (1 | site)", "Interactions",
        "`(0 + x | site)`"),
    "bend": (lambda d: d.x + 0.6 * d.x**2 + d.noise, "y ~ x + z", "Mean by x", "`s(x)`"),
    "product": (lambda d: d.x + 0.8 * d.x * d.z + d.noise, "y ~ x + z", "Interactions", "`x:z`"),
    "spread": (lambda d: d.x + np.exp(0.7 * d.z) * d.noise, "y ~ x + z", "Spread by z",
               "sigma(z)"),
    "log scale": (lambda d: np.exp(0.5 * d.x + 0.5 * d.noise), "y ~ x + z", "Skewness",
                  "`log(y)`."),
    "two regressions": (lambda d: np.where(d.noise > 0.2, 3.0 * d.x, -2.0 - d.x) + 0.3 * d.z,
                        "y ~ x", "One more component", "`n_components=2`"),
}  # fmt: skip


@pytest.mark.filterwarnings("ignore:`:bayesvb.errors.DesignWarning")
@pytest.mark.parametrize("name", WRONG)
@pytest.mark.quick(name=("bend", "spread"))
def test_the_cause_comes_first_and_its_symptoms_have_no_remedy_of_their_own(name, rows):
    law, formula, check, words = WRONG[name]
    table = table_of(rows, pd.Series(law(rows)), formula)
    bad = table[(table["grade"] == "problem") & (table["group"] == "fit")]
    assert bad.index[0] == check, bad[["number", "remedy"]].to_string()
    assert words in bad["remedy"].iloc[0]
    own = bad["remedy"][~bad["remedy"].str.endswith(FOLLOWS)]
    assert len(bad) >= 3 and len(own) <= 2, own.to_string()


@pytest.mark.filterwarnings("ignore:`:bayesvb.errors.DesignWarning")
def test_a_response_that_is_cut_off_comes_before_all_misfits(rows):
    table = table_of(rows, np.maximum(rows["x"] + rows["noise"], -1.0))
    assert table.index[0] == "Repeated value" and "exactly -1" in table["remedy"].iloc[0]


@pytest.mark.heavy
def test_two_causes_have_two_remedies(rows):
    table = table_of(rows, rows["x"] ** 2 + 0.9 * rows["x"] * rows["z"] + rows["noise"])
    own = table[(table["grade"] == "problem") & ~table["remedy"].str.endswith(FOLLOWS)]
    assert {"Mean by x", "Interactions"} <= set(own.index)


def test_a_cause_is_printed_once_with_its_symptoms(rows):
    table = table_of(rows, rows["x"] + 0.6 * rows["x"] ** 2 + rows["noise"])
    text = " ".join(str(table).split())
    assert text.count("Fix *Mean by x* first") <= 2  # of problems, of notes
    assert text.index("Mean by x:") < text.index("Fix *Mean by x* first")
