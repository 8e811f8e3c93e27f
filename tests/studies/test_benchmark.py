"""Benchmarks: the same folds for all, only rows that were not seen, failures as rows."""

from dataclasses import dataclass

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb import plots
from bayesvb.engines import ENGINES
from bayesvb.engines.base import AbstractEngine
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.studies.folds import fold_numbers, splits

QUICK = {"restarts": 1, "draws": 30, "covariance": "mean-field", "criteria": ()}


def line(rows):
    return bvb.DensityRegression("y ~ x", rows, n_components=1)


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=45)
    label = np.where(x + 0.5 * rng.normal(size=45) > 0.8, "rare", "common")
    frame = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=45), "label": label})
    return frame.assign(site=np.arange(45) % 9)


@pytest.fixture(scope="module")
def table(data):
    models = {"line": line, "flat": bvb.DensityRegression("y ~ 1", data, n_components=1)}
    return bvb.benchmark(models, data, folds=3, seeds=(1, 2), **{**QUICK, "criteria": ("waic",)})


def test_there_is_a_row_for_each_fit_and_lines_predict_lines_better(table):
    assert len(table) == 2 * 3 * 2
    assert not table.duplicated(["model", "method", "data", "seed", "fold"]).any()
    assert table["failure"].eq("").all() and table["converged"].all()
    assert (table["n"] + table["n_test"]).eq(45).all() and table["n_test"].eq(15).all()
    mean = table.groupby("model")[["lpd", "waic"]].mean()
    assert (mean.loc["line"] > mean.loc["flat"] + 0.5).all()
    assert table["accuracy"].isna().all()
    assert (table[["seconds", "passes"]] > 0).all(axis=None)


def test_scores_are_those_of_fits_to_the_other_folds_alone(data):
    seen = []

    def make(rows):
        seen.append(rows)
        return line(rows)

    found = bvb.benchmark({"line": make}, data, folds=3, **QUICK)
    training = [rows for rows in seen if len(rows) < 45]
    for (_, row), rows in zip(found.iterrows(), training, strict=True):
        test = data.drop(index=rows.index)
        fit = line(rows).fit(seed=1, n_jobs=1, restarts=1, draws=30, covariance="mean-field")
        assert row["lpd"] == fit.log_density(test).mean()
    assert sorted(i for rows in training for i in data.index.difference(rows.index)) == list(
        range(45)
    )


def test_folds_are_the_same_for_all_models_and_methods_and_the_seed_divides(data):
    left = {}
    for model in ("a", "b"):

        def make(rows, model=model):
            left.setdefault(model, []).append(tuple(rows.index))
            return line(rows)

        left[model] = []
        bvb.benchmark({model: make}, data, {"one": {"method": "cavi"}}, 3, (1, 2), **QUICK)
    own = {name: [rows for rows in each if len(rows) < 45] for name, each in left.items()}
    assert own["a"] == own["b"]
    assert own["a"][:3] != own["a"][3:]


@pytest.mark.heavy
def test_classes_are_scored_and_spread_evenly(data):
    model = bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2)
    found = bvb.benchmark({"net": model}, data, folds=3, max_iter=20, **QUICK)
    assert found["failure"].eq("").all()
    assert found["accuracy"].between(0.6, 1.0).all() and found["ece"].between(0.0, 0.5).all()
    assert (found["lpd"] > -0.69).all()


def test_what_fails_is_a_row_with_its_reason(data, monkeypatch):
    @dataclass(frozen=True)
    class Failing(AbstractEngine):
        """Ends with an error."""

        title = "failing"

        def run(self, model, source, start, budget, streams):
            raise ArithmeticError("no way from here")

    monkeypatch.setitem(ENGINES, "failing", Failing())
    found = bvb.benchmark({"line": line}, data, ("cavi", "failing"), 2, **QUICK)
    assert len(found) == 4
    bad = found[found["method"] == "failing"]
    assert bad["failure"].eq("ArithmeticError: no way from here").all()
    assert bad[["lpd", "seconds"]].isna().all(axis=None) and not bad["converged"].any()
    assert found.loc[found["method"] == "cavi", "lpd"].notna().all()


def test_several_data_sets_methods_with_arguments_and_pictures(data):
    ways = {"brief": {"method": "cavi", "max_iter": 1}, "cavi": {}}
    sets = {"all": data, "half": data.iloc[:20]}
    told = []
    found = bvb.benchmark(
        {"line": line}, sets, ways, 2, progress=lambda *of: told.append(of), **QUICK
    )
    assert set(found["data"]) == {"all", "half"} and told[-1] == (8, 8)
    passes = found.groupby("method")["passes"].max()
    assert passes["brief"] < passes["cavi"]
    matplotlib.use("Agg")
    axes = plots.benchmark(found)
    assert [text.get_text() for text in axes.get_yticklabels()] == ["all, line", "half, line"]
    drawn = axes.get_lines()[1].get_xdata()
    expected = found[found["method"] == "cavi"].groupby("data")["lpd"].mean()
    np.testing.assert_allclose(drawn, expected[["all", "half"]])
    assert plots.benchmark(found, "seconds").get_xscale() == "log"
    with pytest.raises(DataError, match="value="):
        plots.benchmark(found, "waic")
    plt.close("all")


def test_ctrl_c_keeps_what_is_done(data):
    def interrupt(done, of):
        raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="1 of 3 fits"):
        found = bvb.benchmark({"line": line}, data, folds=3, progress=interrupt, **QUICK)
    assert len(found) == 1


def test_folds_are_even_and_keep_groups_together(data):
    strata = np.array([0] * 7 + [1] * 13)
    numbers = fold_numbers(20, 4, np.random.default_rng(1), strata=strata)
    for stratum in (0, 1):
        sizes = np.bincount(numbers[strata == stratum], minlength=4)
        assert sizes.max() - sizes.min() <= 1
    assert np.bincount(numbers).tolist() == [5] * 4
    groups = data["site"]
    by_group = fold_numbers(45, 3, np.random.default_rng(1), groups=groups)
    assert pd.Series(by_group).groupby(groups).nunique().eq(1).all()
    for kept, left in splits(by_group, 3):
        assert not set(groups.iloc[kept]) & set(groups.iloc[left])
    found = bvb.benchmark({"line": line}, data, folds=3, groups="site", **QUICK)
    assert found["n_test"].eq(15).all()


def test_wrong_arguments_are_told(data, unchecked):
    wrong = {
        "models must be": {"models": {}},
        "folds=1": {"folds": 1},
        "folds=50 is more than the 45 rows": {"folds": 50},
        "folds=12 is more than the 9 groups": {"folds": 12, "groups": "site"},
        "groups='place' is not a column": {"groups": "place"},
        "seeds=1": {"seeds": 1},
        "seeds=-1 must be at least 0": {"seeds": (1, -1)},
        "seeds=1.5 must be a whole number": {"seeds": (1.5,)},
        "criteria='waic' must be several": {"criteria": "waic"},
        "methods=3 must be a mapping": {"methods": {"cavi": 3}},
        "methods='gibbs'": {"methods": ("gibbs",)},
        "criteria='aic'": {"criteria": ("aic",)},
        "a int makes no model": {"models": {"a": 1}},
    }
    for message, changes in wrong.items():
        with pytest.raises(DataError, match=message):
            bvb.benchmark(**{"models": {"line": line}, "data": data, **QUICK, **changes})
    weighted = bvb.DensityRegression("y ~ x", data, n_components=1, weights=np.ones(45))
    with pytest.raises(DataError, match="case weights"):
        bvb.benchmark({"w": weighted}, data, **QUICK)
