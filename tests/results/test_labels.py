"""Labels, numbers and thresholds agree: print, summary, page, ArviZ, of all kinds of model."""

import warnings

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.reports.sections import accuracy, posterior
from bayesvb.results.summary import coefficient_table, empty_components, empty_words

pytestmark = pytest.mark.heavy

FEW = {"seed": 1, "restarts": 2, "draws": 60}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(2)
    frame = pd.DataFrame({"x": rng.normal(size=80), "g": rng.choice(["a", "b"], 80)})
    frame["y"] = 2.0 * frame["x"] + (frame["g"] == "a") + rng.normal(size=80)
    frame["k"] = np.where(frame["x"] + rng.normal(size=80) > 0, "u", "v")
    return frame


KINDS = {
    "density": lambda d: bvb.DensityRegression("y ~ x + g", d, n_components=4),
    "student": lambda d: bvb.DensityRegression("y ~ x", d, n_components=1, family="student"),
    "sticks": lambda d: bvb.DensityRegression("y ~ x", d, n_components=2, gate="stick-breaking"),
    "network": lambda d: bvb.ConditionalMixtureNetwork("k ~ x + y", d, n_experts=3),
    "joint": lambda d: bvb.GaussianMixture("~ x + y", d, n_components=2),
    "components": lambda d: bvb.BayesianPCA("~ x + y", d),
    "normal": lambda d: bvb.Normal("y ~ 1", d),
}


@pytest.fixture(scope="module", params=KINDS)
def fit(request, data):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return KINDS[request.param](data).fit(**FEW)


def test_the_arviz_object_has_the_means_and_labels_of_the_summary(fit):
    table, drawn = fit.summary(), fit.posterior
    for name, part in fit.named_draws.parts.items():
        own = table.loc[[part], "mean"].to_numpy()
        means = drawn[name].mean(("chain", "draw")).to_numpy().ravel()
        assert np.isin(np.round(own, 10), np.round(means, 10)).all(), name
        labels = table.loc[[part]].index.get_level_values("component")
        if "component" in drawn[name].dims:
            assert set(labels) <= set(drawn[name]["component"].to_numpy().tolist())


def told(fit):
    """The summary, with medians of parameters of whose draws a few decide the mean."""
    table, robust = fit.summary(), coefficient_table(fit, robust=None).attrs["robust"]
    if robust:
        table.loc[robust, "mean"] = fit.summary(robust=True).loc[robust, "median"]
    return table


def test_the_page_has_the_rows_and_numbers_of_the_summary(fit):
    table, found = told(fit), posterior.summary(fit)
    alone = (
        "share" in fit.named_draws.values and fit.core.n_components == 1
    )  # a share of one is no news
    names = [name for name in fit.named_draws.texts if not (alone and name == "share")]
    for one, name in zip(found["parts"], names, strict=True):
        rows = table.loc[[fit.named_draws.parts[name]]]
        tables = [part for part in (one["table"], one["empty"]) if part is not None]
        shown = [row["cells"][0] for part in tables for row in part["rows"]]
        whole = sum(part["n_rows"] for part in tables)
        assert whole == len(rows)
        assert sorted(shown) == pytest.approx(sorted(rows["mean"]), nan_ok=True) or whole > 150


def test_what_is_printed_stands_in_the_summary(fit):
    table, text = told(fit), str(fit)
    lines = [line.split() for line in text.splitlines()]
    for part, title in fit.model.headings(fit).items():
        if part not in table.index.get_level_values("part"):
            continue
        assert title in text
        kept = table.loc[[part]]
        empty = kept.index.get_level_values("component").isin(empty_components(fit))
        for (_, component, term), row in kept[~empty].head(3).iterrows():
            number = f"{row['mean']:.4g}"
            number_of = () if fit.model.size == 1 else (component,)
            labels = {str(one) for one in (*number_of, *str(term).split()) if str(one) != ""}
            assert any(number in line and labels <= set(line) for line in lines), (part, number)


def test_empty_components_are_folded_in_print(fit):
    empty, words = empty_components(fit), empty_words(fit)
    assert (words in str(fit)) if empty else words == ""


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_pareto_k_is_told_only_of_ratios_of_draws(fit):
    criterion, page = fit.loo(), accuracy.summary(fit)
    loo = read_elpd(criterion)
    line = next(line for line in str(fit).splitlines() if line.startswith("LOO"))
    ratios = loo.method == "psis"
    assert ("Pareto" in str(criterion)) == ratios == (loo.pareto_k is not None)
    assert ("Pareto" in line) == ratios
    if ratios:
        assert f"{loo.good_k:.2g}" in line
    if page is not None:
        assert (page["k"] is not None) == ratios and page["good_k"] == loo.good_k


def test_nothing_is_judged_that_means_nothing_one_by_one(fit):
    judged = "Pareto k-hat" in fit.check().index
    assert not (judged and not fit.named_draws.identified)
    assert ("k-hat" in str(fit)) <= fit.named_draws.identified
