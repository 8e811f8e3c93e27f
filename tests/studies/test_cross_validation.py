"""Cross-validation: scores of fits that have not seen the rows, and errors of their means."""

from dataclasses import replace

import matplotlib
import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm

import bayesvb as bvb
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.evaluation.crps import crps, pinball
from bayesvb.studies.cross_validated import mean_and_error, resampled_error

QUICK = {"restarts": 1, "draws": 30, "covariance": "mean-field", "seed": 1}


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    x = rng.normal(size=45)
    label = np.where(x + 0.5 * rng.normal(size=45) > 0.8, "rare", "common")
    frame = pd.DataFrame({"x": x, "y": x + 0.3 * rng.normal(size=45), "label": label})
    return frame.assign(site=np.arange(45) % 9)


def line(data, formula="y ~ x"):
    return bvb.DensityRegression(formula, data, n_components=1)


def flat_line(rows):
    return line(rows, "y ~ 1")


@pytest.fixture(scope="module")
def found(data):
    models = {"flat": flat_line, "line": line(data)}
    return bvb.cross_validate(models, data, 3, repeats=2, n_jobs=1, **QUICK)


def test_scores_are_those_of_fits_to_the_other_folds(found, data):
    rows = found.rows[(found.rows["model"] == "line") & (found.rows["repeat"] == 2)]
    for _, own in rows.groupby("fold"):
        test = data.loc[own["row"]]
        fit = line(data.drop(index=own["row"])).fit(**QUICK)  # one component has no start to draw
        assert np.allclose(own["log_density"], fit.log_density(test), atol=1e-8)
        distribution, y = fit.predictive(test), test["y"].to_numpy()
        assert np.allclose(own["crps"], crps(distribution, y), atol=1e-8)
        low, high = distribution.quantile(np.array([0.05, 0.95]))
        assert np.array_equal(own["coverage 0.9"], ((low <= y) & (y <= high)).astype(float))
        assert np.allclose(own["pinball 0.95"], np.maximum(0.95 * (y - high), 0.05 * (high - y)))
        assert np.allclose(own["pit"], distribution.cdf(y))


def test_every_row_is_left_out_once_a_repetition_with_the_same_rows_for_all(found, data):
    counts = found.rows.groupby(["model", "repeat"])["row"]
    assert (counts.nunique() == 45).all() and (counts.size() == 45).all()
    folds = found.rows.pivot(index=["repeat", "row"], columns="model", values="fold")
    assert (folds["flat"] == folds["line"]).all()
    by_repeat = folds["line"].unstack("repeat")
    assert (by_repeat[1] != by_repeat[2]).any()
    assert (found.fits["n"] + found.fits["n_test"] == 45).all()


def test_the_better_model_is_found_and_differences_are_of_pairs(found):
    assert found.best == "line"
    gaps = found.differences().set_index("score")
    wide = found.rows.pivot(index=["repeat", "row"], columns="model", values="log_density")
    each = (wide["flat"] - wide["line"]).groupby("row").mean()
    assert np.isclose(gaps["difference"]["log_density"], each.mean())
    assert np.isclose(gaps["se"]["log_density"], each.sem())
    assert gaps["difference"]["log_density"] < -2 * gaps["se"]["log_density"] < 0
    assert gaps["difference"]["crps"] > 0
    back = found.differences("flat").set_index("score")
    assert np.isclose(back["difference"]["crps"], -gaps["difference"]["crps"])
    assert np.isclose(back["se_resampled"]["crps"], gaps["se_resampled"]["crps"])


@pytest.mark.heavy
def test_numbers_are_the_same_for_any_number_of_processes(data):
    models = {"line": line(data), "two": bvb.DensityRegression("y ~ x", data, n_components=2)}
    one, two = (bvb.cross_validate(models, folds=2, n_jobs=n, **QUICK) for n in (1, 2))
    pd.testing.assert_frame_equal(one.rows, two.rows, check_exact=True)
    pd.testing.assert_frame_equal(one.scores, two.scores, check_exact=True)


@pytest.mark.heavy
def test_classes_have_accuracy_brier_and_probabilities_whose_calibration_is_measured(data):
    model = bvb.ConditionalMixtureNetwork("label ~ x", data, n_experts=2)
    found = bvb.cross_validate(model, folds=2, n_jobs=1, max_iter=30, **QUICK)
    rows = found.rows.set_index("row")
    truth = data["label"].loc[rows.index]
    assert (rows["class"] == truth).all()
    p = rows[["p[common]", "p[rare]"]]
    assert np.allclose(p.sum(axis=1), 1.0)
    own = np.where(truth == "rare", p["p[rare]"], p["p[common]"])
    assert np.allclose(rows["log_density"], np.log(own))
    assert np.allclose(rows["brier"], 2.0 * (1.0 - own) ** 2)
    assert np.array_equal(rows["accuracy"], (own > 0.5).astype(float))
    sizes = rows.groupby("fold")["class"].value_counts().unstack(fill_value=0)
    assert (sizes.max() - sizes.min() <= 1).all()
    scores = found.scores.set_index("score")
    assert 0.0 < scores["mean"]["ece"] < 0.5 and np.isnan(scores["se"]["ece"])


def test_groups_are_left_out_together_and_errors_are_clustered(data):
    found = bvb.cross_validate({"line": line(data)}, data, 3, "site", n_jobs=1, **QUICK)
    assert (found.rows.groupby("group")["fold"].nunique() == 1).all()
    own = found.rows
    assert (data["site"].loc[own["row"]].to_numpy() == own["group"]).all()
    deviation = own["log_density"] - own["log_density"].mean()
    sums = deviation.groupby(own["group"]).sum()
    expected = np.sqrt(9 / 8 * (sums**2).sum()) / 45
    assert np.isclose(found.scores.set_index("score")["se"]["log_density"], expected)


def test_subjects_of_a_growth_mixture_are_scored_as_wholes(data):
    grown = bvb.DensityRegression("y ~ x | gating(1)", data, n_components=2, group="site")
    found = bvb.cross_validate({"rows": line(data), "grown": grown}, data, 3, n_jobs=1, **QUICK)
    assert found.score_names == ("log_density",)
    assert (found.rows.groupby("model")["row"].nunique() == 9).all()
    own = found.rows[found.rows["model"] == "rows"].set_index("row")
    test = data[data["site"].isin(own.index[own["fold"] == 1])]
    fit = line(data.drop(index=test.index)).fit(**QUICK)
    by_site = fit.log_density(test).groupby(test["site"]).sum()
    assert np.allclose(own["log_density"].loc[by_site.index], by_site)


def test_rows_that_a_model_cannot_use_are_left_to_none(data):
    holes = data.assign(z=data["x"].where(data.index % 5 > 0))
    models = {"x": line(holes), "z": line(holes, "y ~ z")}
    found = bvb.cross_validate(models, folds=2, n_jobs=1, **QUICK)
    assert found.dropped == 9 and "9 rows with missing values" in str(found)
    assert sorted(set(found.rows["row"])) == [i for i in range(45) if i % 5]
    again = bvb.cross_validate(models, holes, folds=2, n_jobs=1, **QUICK)
    pd.testing.assert_frame_equal(found.rows, again.rows)


@pytest.mark.parametrize("unit", [None, "who"])
def test_a_level_that_training_rows_lack_costs_its_rows_and_not_their_fold(data, unit):
    rare = data.assign(g=np.where(data.index == 7, "rare", "often"), who=np.arange(45) // 3)
    rare.loc[rare.index[::2], "g"] = np.where(rare.index[::2] == 7, "rare", "else")
    model = bvb.DensityRegression("y ~ x + g | 1", rare, n_components=1, group=unit)
    found = bvb.cross_validate(model, folds=3, n_jobs=1, **QUICK)
    assert (found.fits["failure"] == "").all()
    missing, whole = (7, rare.index) if unit is None else (2, rare["who"].unique())
    assert sorted(found.rows["row"]) == [label for label in whole if label != missing]
    lost = 1 if unit is None else 3
    assert found.fits["n_unknown"].sum() == lost and found.fits["n_test"].sum() == 45 - lost
    assert f"{lost} held-out row" in str(found)
    if unit is None:
        groups = bvb.DensityRegression("y ~ x + (1 | g) | 1", rare, n_components=1)
        all_rows = bvb.cross_validate(groups, folds=3, n_jobs=1, **QUICK)
        assert len(all_rows.rows) == 45 and "held-out row" not in str(all_rows)


def test_scores_stand_beside_their_own_rows_where_some_have_none(data):
    rare = data.assign(g=np.where(data.index == 7, "rare", "often"))
    found = bvb.cross_validate(
        {"levels": line(rare, "y ~ x + g"), "line": line(rare)}, folds=3, n_jobs=1, **QUICK
    ).rows.pivot(index="row", columns="model", values="log_density")
    # One level is left in training, so the factor changes nothing: scores are those of the line.
    np.testing.assert_allclose(*found.dropna().to_numpy().T, atol=0.5)
    assert found["levels"].isna().sum() == 1 and np.isnan(found.loc[7, "levels"])


def shifted(table, by, without):
    """Scores of one model as those of another: higher everywhere, and some rows without."""
    own = table[table["model"] == "line"]
    own = own.assign(model="shifted", log_density=own["log_density"] + by)
    return pd.concat([table, own[~own["row"].isin(without)]], ignore_index=True)


@pytest.mark.parametrize(
    ("by", "n_lost", "best"), [(0.5, 1, "shifted"), (-0.01, 1, "line"), (0.5, 9, "line")]
)
def test_a_model_that_lacks_a_row_is_compared_over_the_others(found, by, n_lost, best):
    """The rows that it lacks are those that are hardest for all: own means would flatter it."""
    line_rows = found.rows[found.rows["model"] == "line"]
    hardest = line_rows.groupby("row")["log_density"].mean().nsmallest(n_lost).index
    lacking = replace(found, rows=shifted(found.rows, by, hardest))
    means = lacking.scores.set_index(["model", "score"])["mean"]
    assert means["shifted", "log_density"] > means["line", "log_density"]
    assert lacking.best == lacking.table().index[0] == best
    told = f"{best} is the best over the 44 rows that all candidates scored" in str(lacking)
    assert told == (n_lost == 1)


@pytest.mark.heavy
def test_a_fit_that_fails_is_named_and_is_not_the_best(data):
    def fails(rows):
        return line(rows) if 0 in rows.index and 1 in rows.index else line(rows, "y ~ nothing")

    models = {"flat": flat_line, "fails": fails}
    found = bvb.cross_validate(models, data, folds=9, n_jobs=1, **QUICK)
    failed = found.fits[found.fits["failure"] != ""]
    assert set(failed["model"]) == {"fails"} and 1 <= len(failed) <= 2
    assert found.best == "flat" and f"fails: {len(failed)} fits failed" in str(found)
    with pytest.raises(DataError, match="none of 3 fits could be made"):
        bvb.cross_validate({"fails": fails}, data, folds=3, n_jobs=1, restarts="x", seed=1)
    with pytest.raises(DataError, match=r"not an option of CAVI.*hint: its entries are arguments"):
        bvb.cross_validate({"a": line}, data, folds=3, n_jobs=1, fit={"restarts": 1}, seed=1)


WRONG = {
    "other responses": (lambda d: {"a": line(d), "b": line(d, "x ~ y")}, {}, "'b' explains x"),
    "a transform": (lambda d: {"a": line(d), "b": line(d, "np.exp(y) ~ x")}, {}, "explains"),
    "no data": (lambda d: {"a": flat_line}, {}, "data=None, but"),
    "other data": (lambda d: {"a": line(d), "b": line(d[:40])}, {}, "give data="),
    "changed data": (lambda d: {"a": line(d), "b": line(d.assign(y=-d["y"]))}, {}, "give data="),
    "weights": (lambda d: bvb.DensityRegression("y ~ x", d, weights="site"), {}, "case weights"),
    "data for folds": (lambda d: line(d), {"data": 5}, "cannot read data"),
    "no such group": (lambda d: line(d), {"groups": "place"}, "place"),
    "short groups": (lambda d: line(d), {"groups": [1, 2]}, "45 rows"),
    "level": (lambda d: line(d), {"probs": [1.5]}, "probs"),
    "folds": (lambda d: line(d), {"folds": 50}, "folds=50"),
    "nothing": (lambda d: {}, {}, "models"),
}


@pytest.mark.parametrize("case", WRONG)
def test_wrong_arguments_are_named(case, data):
    models, arguments, message = WRONG[case]
    with pytest.raises(DataError, match=message):
        bvb.cross_validate(models(data), **{"n_jobs": 1, **QUICK, **arguments})


def test_ctrl_c_keeps_what_is_done(data):
    def progress(done, n):
        assert n == 3
        if done == 2:
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="2 of 3 fits"):
        found = bvb.cross_validate(line(data), folds=3, n_jobs=1, progress=progress, **QUICK)
    assert found.scores["rows"].eq(30).all()


def test_it_prints_a_table_and_draws_differences(found):
    text = str(found)
    assert text.splitlines()[0].startswith("Cross-validation, 3 folds, 2 times, 45 rows")
    assert "se_resampled" in text and "<table" in found._repr_html_()
    assert list(found.table().index) == ["line", "flat"]
    with matplotlib.rc_context({"backend": "agg"}):
        axes = found.plot("crps")
        assert [one.get_text() for one in axes.get_yticklabels()] == ["flat", "line"]
        with pytest.raises(DataError, match="score"):
            found.plot("coverage 0.9")
        plt.close("all")


@pytest.mark.heavy
def test_the_error_of_a_mean_is_that_of_its_clusters():
    rng = np.random.default_rng(1)
    clusters, means = np.repeat(np.arange(50), 4), []
    for _ in range(400):
        shared = rng.normal(size=50)[clusters] + 0.5 * rng.normal(size=200)
        means.append(mean_and_error(shared[None], clusters)[:2])
    found = np.array(means)
    assert np.isclose(found[:, 0].std(), found[:, 1].mean(), rtol=0.12)
    each = rng.normal(size=30)
    twice = np.stack([each, each])
    assert np.allclose(
        mean_and_error(twice, np.arange(30))[:2], (each.mean(), each.std(ddof=1) / 30**0.5)
    )


def test_the_error_over_training_rows_is_that_of_nadeau_and_bengio():
    scores, folds = np.array([[1.0, 1.0, 2.0, 2.0, 6.0, 6.0]]), np.array([[0, 0, 1, 1, 2, 2]])
    spread = np.var([1.0, 2.0, 6.0], ddof=1)
    assert np.isclose(resampled_error(scores, folds), np.sqrt(spread * (1 / 3 + 1 / 2)))


def test_twice_the_integral_of_the_pinball_loss_is_the_crps_of_a_normal():
    p = (np.arange(4000) + 0.5) / 4000
    loss = 2.0 * pinball(np.array([0.3]), norm.ppf(p)[:, None], p).mean()
    exact = 0.3 * (2 * norm.cdf(0.3) - 1) + 2 * norm.pdf(0.3) - 1 / np.sqrt(np.pi)
    assert np.isclose(loss, exact, atol=1e-4)
