"""One model of the same rows, whatever they are read from: a table, Parquet, a list, Dask, sites.

Every family, gate and kind of term has the same columns, scales, bound, coefficients, predictions
and draws from each source, or one error. Two families are defined here: what they ask of the
response is heard from every source.
"""

from itertools import pairwise, product

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.data.parquet_frames import ParquetFrames
from bayesvb.data.scaling import Scaling
from bayesvb.distributions.response import Response
from bayesvb.errors import DataError
from bayesvb.estimators.sites.rounds import model_at_site
from bayesvb.experts import EXPERTS
from bayesvb.experts.linear import LinearExperts
from bayesvb.formula.passes import representatives
from bayesvb.gates import GATES

pytestmark = [
    pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning"),
    pytest.mark.filterwarnings("ignore::bayesvb.errors.DesignWarning"),
]

TOL = 1e-10
SAMPLE = 40
ROWS = 120
FEW = {"seed": 1, "restarts": 1, "draws": 25, "max_iter": 2, "covariance": "mean-field"}


class OwnUnit(LinearExperts):
    """A family whose response keeps its unit: neither moments nor medians have a part in it."""

    @staticmethod
    def response_scaling(response, *, centred, active=True, **_):
        return Scaling(np.full(1, 0.25), np.full(1, 2.0), None)


class ByMedians(LinearExperts):
    """A family whose response is standardised by medians."""

    @staticmethod
    def response_scaling(response, *, centred, active=True, **weight):
        return Scaling.of_response_by_medians(response, centred=centred, active=active, **weight)


STRANGERS = {"own unit": OwnUnit, "by medians": ByMedians}


@pytest.fixture(autouse=True)
def families(monkeypatch):
    """The strangers are known, and few rows of a stream are in memory."""
    for name, kind in STRANGERS.items():
        monkeypatch.setitem(EXPERTS, name, kind.from_prior)
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", SAMPLE)


def table(n_rows=ROWS, seed=0):
    """Two lines; a factor, groups, weights, an offset, and a value that is missing."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n_rows), rng.random(n_rows)
    g, s = rng.choice(["a", "b", "c"], n_rows), rng.choice(list("pqrstu"), n_rows)
    upper = rng.random(n_rows) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(upper, 1.0 + x, -1.0 - z) + (s == "p") + 0.4 * rng.normal(size=n_rows)
    frame = pd.DataFrame({"y": y, "x": x, "z": z, "g": g, "s": s, "o": z**2, "k": y > 0.0})
    frame = frame.assign(w=rng.integers(0, 4, n_rows).astype(float), h=np.where(y > 0, "u", "l"))
    frame = frame.assign(b=(y > 0.0).astype(float))
    frame.loc[5, "x"] = np.nan
    return frame


def pieces(frame, n_pieces=3):
    cuts = np.linspace(0, len(frame), n_pieces + 1).astype(int)
    return [frame.iloc[a:b] for a, b in pairwise(cuts)]


def as_parquet(frame, path):
    frame.to_parquet(path / "rows.parquet", row_group_size=len(frame) // 3)
    return path / "rows.parquet"


def as_dask(frame, path):
    pytest.importorskip("distributed", reason='needs pip install "bayesvb[dask]"')
    return pytest.importorskip("dask.dataframe").from_pandas(frame, npartitions=3)


READERS = {"list": lambda frame, path: pieces(frame), "parquet": as_parquet, "dask": as_dask}

TERMS = {
    "covariate": ("y ~ x | 1", {}),
    "without intercept": ("y ~ 0 + x | 1", {}),
    "factor": ("y ~ x + g | 1", {}),
    "interaction": ("y ~ x * g + I(x**2) | 1", {}),
    "smooth": ("y ~ s(x, k=5) | 1", {}),
    "smooth by factor": ("y ~ s(x, k=4, by=g) | z", {}),
    "surface": ("y ~ te(x, z, k=3) + s(z, bs='cc', period=(-4, 4), k=3) | 1", {}),
    "splines": ("y ~ bs(x, df=4) + poly(z, 2) | 1", {}),
    "learned": ("y ~ center(x) + scale(np.exp(z)) | standardize(x)", {}),
    "groups": ("y ~ x + (1 | s) | 1", {}),
    "slopes": ("y ~ x + (x | s) | 1", {}),
    "offset": ("y ~ x + offset(o) | 1", {}),
    "case weights": ("y ~ x + g | x", {"weights": "w"}),
    "gating": ("y ~ 1 | x * g", {}),
    "gating with groups": ("y ~ x | s(z, k=4) + (1 | s)", {}),
    "same parts": ("y ~ x + z", {}),
    "a dot": ("y ~ . - h - k - o - w - b", {}),
    "all at once": ("y ~ s(x, k=5) + g + (1 | s) + offset(o) | x", {"weights": "w"}),
    "unscaled": ("y ~ x | z", {"priors": bvb.Priors(standardize=False)}),
    "fixed scales": ("y ~ x + g | z", {"priors": bvb.Priors(scales="fixed")}),
}

FAMILIES = {
    "gaussian": {"family": "gaussian"},
    "in units of the response": {
        "family": "gaussian",
        "priors": bvb.Priors(coefficient_units="response", scales="fixed"),
    },
    "student": {"family": "student"},
    "own unit": {"family": "own unit"},
    "by medians": {"family": "by medians"},
    "binomial": {"family": "binomial"},
    "negbinomial": {"family": "negbinomial"},
}


SHOWN = "offset", "case weights"
"""Terms with every family; the quick tests have the second of them."""

GAUSSIAN_ONLY = "all at once", "a dot", "splines", "surface", "smooth", "slopes", "case weights"
"""Terms that the quick tests have with Gaussian components only."""


def every_case():
    """All terms of one family, then every pair of family, gate and term with some third.

    A fault of reading shows in one of the three, or in how two of them go together. A
    quarter of the 660 triples holds every pair.
    """
    others = [name for name in FAMILIES if name != "gaussian"]
    triples = {("gaussian", "softmax", term) for term in TERMS}
    triples |= {("gaussian", gate, "gating") for gate in GATES}
    triples |= {(family, "softmax", term) for family in others for term in SHOWN}
    for (row, family), (column, term) in product(enumerate(FAMILIES), enumerate(TERMS)):
        triples.add((family, list(GATES)[(row + column) % len(GATES)], term))
    for family, gate, term in sorted(triples):
        if term == "unscaled" and family == "in units of the response":
            continue
        of_gaussian = (gate == "softmax" and term in GAUSSIAN_ONLY) or term == "gating"
        quick = of_gaussian if family == "gaussian" else (gate, term) == ("softmax", "case weights")
        marks = [] if quick else [pytest.mark.heavy]
        yield pytest.param(family, gate, term, marks=marks, id=f"{family}-{gate}-{term}")


def made(data, family, gate, term):
    formula, options = TERMS[term]
    named = FAMILIES.get(family, {"family": family})
    arguments = {**options, **named, "gate": gate, "n_components": 2}
    if family in ("bernoulli", "binomial", "poisson", "negbinomial", "gamma"):
        left = "b | trials(b + 2)" if family == "binomial" else "b"
        formula = formula.replace("y ~", f"{left} ~").replace("- b", "- y")
    return bvb.DensityRegression(formula, data, **arguments)


def assert_same_rows(found, expected):
    """Columns, scales and standardised rows are the same."""
    assert found.design.terms == expected.design.terms
    assert found.design.n_missing == expected.design.n_missing
    assert found.design.n_fitted == expected.design.n_fitted
    for name, numbers in expected.scales.numbers.items():
        assert_allclose(found.scales.numbers[name], numbers, rtol=TOL, atol=TOL, err_msg=name)
    assert_allclose(found.scales.rows, expected.scales.rows)
    rows, whole = ((one.all_rows or one.source).whole() for one in (found, expected))
    for part, matrix in whole.designs.items():
        assert_allclose(rows.designs[part], matrix, rtol=TOL, atol=TOL, err_msg=part)
    assert_allclose(rows.response, whole.response, rtol=TOL, atol=TOL)
    for mine, theirs in ((rows.weight, whole.weight), (rows.offset, whole.offset)):
        assert (mine is None) == (theirs is None)
        if theirs is not None:
            assert_allclose(mine, theirs)


def assert_same_fit(found, expected):
    """Bound, statistics, coefficients, draws and predictions are the same."""
    assert_allclose(found.elbo, expected.elbo, rtol=TOL)
    one, other = (fit.stats.to_vector() for fit in (found, expected))
    assert_allclose(one, other, rtol=TOL, atol=TOL * np.abs(other).max())
    for name, values in expected.draws.items():
        assert_allclose(found.draws[name], values, rtol=1e-8, atol=1e-8, err_msg=name)
    assert_allclose(found.coef(), expected.coef(), rtol=1e-8, atol=1e-8)
    new = table().iloc[:8]
    each = [fit.predict(new, missing="keep") for fit in (found, expected)]
    assert_allclose(*each, rtol=1e-8)
    assert_allclose(found.log_density(new), expected.log_density(new), rtol=1e-8)


@pytest.mark.parametrize("family, gate, term", list(every_case()))
def test_every_source_makes_the_same_fit(family, gate, term, tmp_path):
    frame = table()
    expected = made(frame, family, gate, term)
    model = made(as_parquet(frame, tmp_path), family, gate, term)
    assert model.design.n_rows == SAMPLE < ROWS
    assert_same_rows(model, expected)
    assert_same_fit(model.fit(**FEW), expected.fit(**FEW))


@pytest.mark.parametrize("read", READERS.values(), ids=list(READERS))
@pytest.mark.parametrize("family", STRANGERS)
def test_every_reader_gives_the_same_rows(family, read, tmp_path):
    case = family, "softmax", "all at once"
    expected = made(table(), *case)
    assert_same_rows(made(read(table(), tmp_path), *case), expected)


def test_there_are_several_blocks(tmp_path):
    frames = ParquetFrames.of(as_parquet(table(), tmp_path))
    assert [len(one) for one in frames.each(["y"])] == [ROWS // 3] * 3


class Counts(OwnUnit):
    """A family of whole numbers."""

    response = Response(kind="count", support=(0.0, np.inf))


BY_QUANTILES = (
    "smooth", "surface", "smooth by factor", "splines", "all at once", "learned", "slopes",
    "gating with groups",
)  # fmt: skip
"""Terms that sites learn from pooled quantiles, which are not those of all rows."""


def sums_at_sites(model, sites, weights):
    """Sums over the rows of all sites once these have agreed on scales, and the model of one."""
    agreed = None
    for _ in range(2):
        parts = [bvb.site_statistics(model, rows, agreed, weights=weights) for rows in sites]
        agreed = bvb.merge_site_statistics(parts)
    models = [model_at_site(model, rows, weights, agreed) for rows in sites]
    return sum(map(first_sums, models)), models[0]


def first_sums(model):
    """Statistics of all rows, each of them equally of all components."""
    source = model.all_rows or model.source
    assert source.in_memory
    block = source.whole()
    size = model.n_components
    return model.core.partition_stats(block, np.full((size, block.n_rows), 1.0 / size)).to_vector()


SITE_CASES = [
    (family, term)
    for family in ("gaussian", "own unit")
    for term in TERMS
    if term not in BY_QUANTILES and term != "a dot"
]
SITE_CASES += [("bernoulli", "gating"), ("poisson", "interaction"), ("poisson", "case weights")]


@pytest.mark.parametrize("family, term", SITE_CASES)
@pytest.mark.quick(term=("interaction", "groups", "case weights"))
def test_sums_of_sites_are_sums_of_all_rows(family, term):
    number, frame = np.resize([0, 1, 2], ROWS), table()
    sites = [frame[(number == site) & (frame["g"] != g)] for site, g in enumerate("abc")]
    expected = made(pd.concat(sites), family, "softmax", term)
    model = made(sites[1], family, "softmax", term)
    sums, model = sums_at_sites(model, sites, TERMS[term][1].get("weights"))
    for name, numbers in expected.scales.numbers.items():
        assert_allclose(model.scales.numbers[name], numbers, rtol=TOL, atol=TOL, err_msg=name)
    whole = first_sums(expected)
    assert_allclose(sums, whole, rtol=TOL, atol=TOL * np.abs(whole).max())


@pytest.mark.parametrize("value", [-1.0, 0.5])
def test_a_family_refuses_the_same_values_from_every_source(value, tmp_path, monkeypatch):
    monkeypatch.setitem(EXPERTS, "counts", Counts.from_prior)
    frame = table().assign(y=lambda rows: rows["k"] + 1.0)
    options = {"family": "counts", "n_components": 2}
    bvb.DensityRegression("y ~ x", as_parquet(frame, tmp_path), **options)
    for row in (3, ROWS - 2):  # one of them is not in the sample
        wrong = frame.assign(y=frame["y"].where(frame.index != row, value))
        for data in (wrong, pieces(wrong), as_parquet(wrong, tmp_path)):
            with pytest.raises(DataError, match=f"`y` holds {value:g}, and must be a whole number"):
                bvb.DensityRegression("y ~ x", data, **options)


def test_a_model_of_one_component_grows_where_its_rows_are_read_in_blocks():
    rows = pieces(table())
    grown = bvb.DensityRegression("y ~ x | z", rows, n_components=1).with_components(2)
    expected = bvb.DensityRegression("y ~ x | z", rows, n_components=2)
    assert_same_fit(grown.fit(**FEW), expected.fit(**FEW))
    lone = bvb.DensityRegression("b ~ x", rows, n_components=1, family="bernoulli")
    with pytest.raises(DataError, match="not identified"):
        lone.with_components(2)
