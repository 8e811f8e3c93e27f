"""Fits side by side."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.sections.comparison import comparison


@pytest.fixture(scope="module")
def one_line(regimes):
    return fit_of(regimes)


def fit_of(data, formula="y ~ x + z | gating(x)", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 1, **options})
    return model.fit(seed=1, restarts=1, draws=200)


@pytest.mark.filterwarnings("ignore:Pareto k")
def test_the_better_fit_comes_first(regimes_fit, one_line):
    table = bvb.compare({"one": one_line, "two": regimes_fit})
    assert table.index.tolist() == ["two", "one"]
    assert table["rank"].tolist() == [0, 1]
    assert table["elpd_diff"].iloc[0] == 0.0
    assert table["elpd_diff"].iloc[1] < -50.0
    assert table["weight"].sum() == pytest.approx(1.0)
    for name, fit in {"one": one_line, "two": regimes_fit}.items():
        loo = read_elpd(fit.loo())
        assert table.loc[name, "elpd"] == pytest.approx(loo.elpd, rel=1e-12)
        assert table.loc[name, "p"] == pytest.approx(loo.p, rel=1e-9)
        assert table.loc[name, "se"] == pytest.approx(loo.se, rel=1e-9)


@pytest.mark.parametrize("length", [3, 80])
@pytest.mark.filterwarnings("ignore:Pareto k")
def test_all_columns_are_printed_within_a_hundred_characters(regimes_fit, one_line, length):
    table = bvb.compare({"a" * length: one_line, "b" * length: regimes_fit})
    lines = str(table).splitlines()
    assert max(map(len, lines)) <= 100 and "..." not in str(table)
    assert set(table.columns) <= set(str(table).split())
    assert lines[-1] == "Rows are held out one at a time."
    assert repr(table) == str(table) and str(table) in table._repr_html_()
    assert type(table.round(1)) is pd.DataFrame


@pytest.mark.filterwarnings("ignore:Pareto k")
def test_the_order_given_does_not_matter(regimes_fit, one_line):
    here = bvb.compare({"a": one_line, "b": regimes_fit})
    there = bvb.compare({"b": regimes_fit, "a": one_line})
    np.testing.assert_allclose(
        here.drop(columns="warning").to_numpy(), there.drop(columns="warning").to_numpy(), atol=1e-6
    )


@pytest.mark.parametrize("number", [0, 1])
def test_one_fit_is_no_comparison(one_line, number):
    with pytest.raises(DataError, match=f"needs two fits or more; there are {number}"):
        bvb.compare(dict([("a", one_line)][:number]))


def test_fits_of_different_things_are_refused(regimes, one_line):
    positive = regimes.assign(y=np.exp(regimes["y"]))
    with pytest.raises(DataError, match=r"'b' explains log\(y\), 'a' explains y: their densities"):
        bvb.compare({"a": one_line, "b": fit_of(positive, "log(y) ~ x")})
    with pytest.raises(DataError, match=r"'b' uses 149 rows and 'a' uses 150.*\nhint: drop"):
        bvb.compare({"a": one_line, "b": fit_of(regimes.iloc[1:])})
    with pytest.raises(DataError, match=r"'b' and 'a' were fitted to different values"):
        bvb.compare({"a": one_line, "b": fit_of(regimes.assign(y=2.0 * regimes["y"]))})


@pytest.mark.parametrize("weights", [None, "w"])
def test_rows_in_another_order_are_matched_by_their_index(regimes, weights):
    """Differences of two fits are those of rows, so that their error is that of one order."""
    data = regimes.assign(w=1.0 + np.arange(len(regimes)) % 3)
    other = data.sample(frac=1.0, random_state=4)
    options = {"weights": weights}
    first = fit_of(data, "y ~ x", **options)
    here, there = (fit_of(rows, "y ~ x + z", **options) for rows in (data, other))
    expected, found = (bvb.compare({"a": first, "b": fit}) for fit in (here, there))
    np.testing.assert_allclose(
        found.drop(columns="warning"), expected.drop(columns="warning"), rtol=1e-3
    )
    np.testing.assert_allclose(found["dse"], expected["dse"], rtol=1e-4)
    page = comparison({"a": first, "b": there})
    at = page["table"]["titles"].index("se of difference")
    cells = sorted(row["cells"][at] for row in page["table"]["rows"])
    np.testing.assert_allclose(cells, np.sort(expected["dse"]), rtol=1e-4)


def test_rows_in_another_order_without_their_index_are_refused(regimes, one_line):
    other = regimes.sample(frac=1.0, random_state=4, ignore_index=True)
    with pytest.raises(DataError, match="leave the index of the data as it is when sorting"):
        bvb.compare({"a": one_line, "b": fit_of(other)})
    twice = regimes.set_axis(np.arange(len(regimes)) // 2)
    with pytest.raises(DataError, match="not the same rows"):
        bvb.compare({"a": fit_of(twice), "b": fit_of(twice[::-1])})


@pytest.mark.filterwarnings("ignore:Pareto k")
def test_stored_results_are_compared_as_their_fits_are(regimes, regimes_fit, one_line):
    fits = {"one": one_line, "two": regimes_fit}
    expected = bvb.compare(fits)
    stored = {name: fit.loo() for name, fit in fits.items()}
    for given in (stored, {**fits, "one": stored["one"]}):
        pd.testing.assert_frame_equal(bvb.compare(given), expected)
        assert bvb.compare(given).attrs == expected.attrs
    turned = fit_of(regimes[::-1])
    with pytest.raises(DataError, match="'other' and 'one' have rows with other labels"):
        bvb.compare({**stored, "other": turned.loo()})
    with pytest.raises(DataError, match="jacobian=True needs the responses"):
        bvb.compare(stored, jacobian=True)
    with pytest.raises(DataError, match="two results or more; there are 1"):
        bvb.compare({"one": stored["one"]})
    with pytest.raises(DataError, match=r"fits\['text'\]='no fit' must be a fit"):
        bvb.compare({**stored, "text": "no fit"})


@pytest.mark.filterwarnings("ignore:Pareto k")
def test_a_list_is_called_by_models_and_spellings_of_one_are_one(regimes, one_line):
    spelled = fit_of(regimes, "y~x+z|x")
    other = fit_of(regimes, "y ~ x", family="student")
    table = bvb.compare([one_line, spelled, other])
    assert set(table.index) == {
        "y ~ x + z | gating(x), n_components=1", "y ~ x, n_components=1, family='student'"
    }  # fmt: skip
    with pytest.raises(DataError, match="compare needs two fits or more; there are 1"):
        bvb.compare([one_line, spelled])
