"""Standard deviations of groups and noise, and their shares of the variance."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.reports.sections.posterior import summary as posterior_summary
from bayesvb.results.variance_components import VarianceParts, variance_lines

N_GROUPS, SIZE = 40, 8


def grouped() -> pd.DataFrame:
    rng = np.random.default_rng(1)
    g = np.repeat(np.arange(N_GROUPS), SIZE)
    x = rng.normal(2.0, 1.5, len(g))
    effects, slopes = rng.normal(size=N_GROUPS), 0.4 * rng.normal(size=N_GROUPS)
    y = x + effects[g] + slopes[g] * (x - 2.0) + rng.normal(size=len(g))
    levels = {"b": (y > 2.0).astype(int), "level": np.digitize(y, [1.0, 3.0])}
    return pd.DataFrame({"y": y, "x": x, "g": g.astype(str), **levels})


DATA = grouped()
FEW = DATA[DATA["g"].astype(int) < 12]


def components(formula: str, data: pd.DataFrame = DATA, **options: object) -> pd.DataFrame:
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **options})
    return model.fit(seed=1, restarts=1, draws=400).variance_components()


def test_they_are_those_of_the_analysis_of_variance():
    data = DATA.assign(y=DATA["y"] - DATA["x"])
    found = components("y ~ (1 | g)", data)
    means = data.groupby("g")["y"].transform("mean")
    within = ((data["y"] - means) ** 2).sum() / (len(data) - N_GROUPS)
    between = SIZE * ((means - data["y"].mean()) ** 2).sum() / SIZE / (N_GROUPS - 1)
    sd = np.sqrt((between - within) / SIZE)
    estimate = found["estimate"]
    assert_allclose(estimate["sd"], [sd, np.sqrt(within)], rtol=0.05)
    assert_allclose(estimate["icc"], sd**2 / (sd**2 + within), rtol=0.05)
    assert_allclose(estimate["share"].sum(), 1.0)
    assert estimate["share", "fixed effects", ""] == 0.0
    some = found[found.index.get_level_values("term") != "fixed effects"]
    assert (some["lower"] < some["estimate"]).all() and (some["estimate"] < some["upper"]).all()


def test_levels_of_a_factor_have_a_standard_deviation_each():
    data = FEW.assign(level=np.where(FEW["x"] > 2.0, "high", "low"))
    first, every = components("y ~ (level | g)", data), components("y ~ (0 + level | g)", data)
    levels = [f"level = {name}" for name in ("high", "low")]
    found = [first["estimate"]["sd", "(1 | g)", level] for level in levels]
    other = [every["estimate"]["sd", f"(level[{level}] | g)", ""] for level in ("high", "low")]
    assert_allclose(found, other, rtol=0.1)
    shares = [one["estimate"]["icc"] for one in (first, every)]
    assert_allclose(*shares, atol=0.05)
    assert list(shares[0].index.unique("at")) == levels


def test_shares_do_not_depend_on_units():
    one, other = (
        components("y ~ x + (x | g)", FEW.assign(y=unit * FEW["y"])) for unit in (1.0, 10.0)
    )
    one, other = one["estimate"], other["estimate"]
    for quantity, unit in (("sd", 10.0), ("correlation", 1.0), ("icc", 1.0), ("share", 1.0)):
        assert_allclose(other[quantity], unit * one[quantity], rtol=1e-6)
    assert 0.2 < one["sd", "(x | g)", ""] < 0.8
    assert_allclose(one["share"].sum(), 1.0)


def test_levels_are_at_zero_and_at_the_mean_of_the_covariate():
    """The model is the same one wherever the covariate has its zero, and so is its table."""
    moved = FEW.assign(x=FEW["x"] - FEW["x"].mean())
    one, other = (components("y ~ x + (x | g)", data)["estimate"] for data in (FEW, moved))
    (zero, mean), (at_zero,) = one["icc"].index.unique("at"), other["icc"].index.unique("at")
    assert (zero, mean, at_zero) == ("x = 0", f"x = {FEW['x'].mean():.4g}", "x = 0")
    for quantity, term in (("sd", "(1 | g)"), ("correlation", "(1, x | g)")):
        assert_allclose(one[quantity, term, mean], other[quantity, term, at_zero], rtol=1e-6)
        assert abs(one[quantity, term, zero] - one[quantity, term, mean]) > 0.05
    for quantity in ("share", "sd"):
        terms = [t for t in one[quantity].index if not t[1]]
        assert_allclose(one[quantity][terms], other[quantity][terms], rtol=1e-6)


@pytest.mark.parametrize(
    ("family", "response", "latent"),
    [
        ("student", "y", None),
        ("bernoulli", "b", np.pi / np.sqrt(3.0)),
        ("ordinal", "level", np.pi / np.sqrt(3.0)),
        ("ordinal-probit", "level", 1.0),
    ],
)
def test_other_noise(family, response, latent):
    found = components(f"{response} ~ x + (1 | g)", FEW, family=family)
    assert_allclose(found["estimate"]["share"].sum(), 1.0)
    assert 0.5 < found.loc[("sd", "(1 | g)", ""), "estimate"] < 2.5
    if latent is not None:
        assert_allclose(found.loc[("sd", "residual", ""), "estimate"], latent)


def test_noise_of_infinite_variance_is_all_of_it():
    fit = bvb.DensityRegression("y ~ x + (1 | g)", FEW, n_components=1).fit(seed=1, draws=50)
    parts = VarianceParts.from_fit(fit)
    noise = np.where(np.arange(len(parts.noise)) < 5, np.inf, parts.noise)
    shares = replace(parts, noise=noise).shares()
    assert_allclose(np.sum(list(shares.values()), axis=0), 1.0)
    assert_allclose(shares["share", "residual", ""][:5], 1.0)


@pytest.mark.heavy
def test_a_spread_that_changes_counts_with_its_mean_over_rows():
    found = components("y ~ x + (1 | g) | sigma(x)", DATA[DATA["g"].astype(int) < 8])
    assert_allclose(found["estimate"]["share"].sum(), 1.0)
    assert 0.7 < found.loc[("sd", "residual", ""), "estimate"] < 1.4


def test_what_has_none_is_refused():
    with pytest.raises(DataError, match="no groups"):
        components("y ~ x")
    with pytest.raises(DataError, match="several components"):
        components("y ~ x + (1 | g) | 1", FEW, n_components=2)


def test_sentences_and_reports_have_the_shares():
    fit = bvb.DensityRegression("y ~ x + (x | g)", FEW, n_components=1).fit(seed=1, draws=100)
    shares, intraclass = variance_lines(fit)
    table = fit.variance_components()["estimate"]
    assert f"residual {table['share', 'residual', '']:.0%}" in shares
    assert f"{table['icc', '(1 + x | g)', 'x = 0']:.2f}" in intraclass and "at x = 0" in intraclass
    page = posterior_summary(fit)["variances"]
    assert [row["heads"] for row in page["rows"]] == [list(label) for label in table.index]
