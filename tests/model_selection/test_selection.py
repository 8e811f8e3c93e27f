"""How many components a model needs."""

import warnings
from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.engines.settled_response import SettledResponse, settled_response
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.estimators.near_start import NAME, near_start
from bayesvb.estimators.rebuilding import rebuilt
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.results.comparison import ranked, simplest
from bayesvb.results.leave_one_out import Fitted, leave_one_out
from bayesvb.results.limits import LIMITS
from bayesvb.sensitivity.covariance import withheld

QUICK = {"restarts": 2, "draws": 100, "covariance": "mean-field"}


def two_humps(seed, n=1000):
    rng = np.random.default_rng(seed)
    upper = rng.uniform(size=n) < 0.4
    return pd.DataFrame({"y": np.where(upper, 3.0, -2.0) + rng.normal(size=n)})


@pytest.fixture(scope="module")
def humps():
    model = bvb.DensityRegression("y ~ 1", two_humps(1, 200), gate="dirichlet")
    return bvb.select(model, [3, 1, 2], seed=1, n_jobs=2, **QUICK)


@pytest.mark.heavy
@pytest.mark.parametrize("seed", [1, 2])
def test_two_humps_are_two_components(seed):
    data = two_humps(seed)
    density = bvb.DensityRegression("y ~ 1", data)
    assert bvb.select(density, range(1, 5), seed=seed, **QUICK).chosen == 2
    mixture = bvb.GaussianMixture("~ y", data)
    found = bvb.select(mixture, range(1, 5), "waic", seed=seed, **QUICK)
    assert found.chosen == 2
    assert found.table.loc[4, "occupied"] <= 3


def test_occupied_components_are_counted_without_draws(monkeypatch):
    """Fits of few rows draw from the exact posterior, which takes longer than all else."""

    def fail(*_):
        raise AssertionError("parameters were drawn")

    monkeypatch.setattr(bvb.DensityRegression, "named_draws", fail)
    model = bvb.DensityRegression("y ~ 1", two_humps(1, 60))
    assert bvb.select(model, [1, 2], seed=1, restarts=1).table["occupied"].max() <= 2


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_the_table_says_what_the_fits_say(humps):
    table = humps.table
    assert table.index.tolist() == [1, 2, 3] and table.index.name == "n_components"
    assert table.columns.tolist() == [
        "elbo", "elpd", "se", "elpd_diff", "dse", "p", "occupied", "seconds", "warning", "best",
        "chosen",
    ]  # fmt: skip
    assert table["best"].sum() == table["chosen"].sum() == 1
    assert table.loc[table["best"], ["elpd_diff", "dse"]].to_numpy().tolist() == [[0.0, 0.0]]
    for number, fit in humps.fits.items():
        assert fit.model.n_components == number and fit.seed == humps.seed
        loo = read_elpd(fit.loo())
        row = table.loc[number]
        assert (row["elpd"], row["se"], row["p"]) == (loo.elpd, loo.se, loo.p)
        assert row["elbo"] == fit.elbo
        assert row["occupied"] == (fit.components()["share"] > 0.01).sum()
    assert humps.best is humps.fits[humps.chosen]


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_the_differences_are_those_of_compare(humps):
    table = bvb.compare({str(number): fit for number, fit in humps.fits.items()})
    for number in humps.fits:
        for column in ("elpd_diff", "dse"):
            mine = humps.table.loc[number, column]
            assert mine == pytest.approx(table.loc[str(number), column], abs=1e-8)


def test_a_fit_is_that_of_the_model_itself(humps):
    data = humps.fits[2].model.design.frame
    model = bvb.DensityRegression("y ~ 1", data, gate="dirichlet", n_components=2)
    assert model.fit(seed=1, **QUICK).elbo == humps.fits[2].elbo


def test_numbers_do_not_depend_on_jobs(humps):
    model = humps.fits[1].model
    alone = bvb.select(model, [1, 2, 3], seed=1, n_jobs=1, **QUICK)
    pd.testing.assert_frame_equal(
        alone.table.drop(columns="seconds"), humps.table.drop(columns="seconds"), check_exact=True
    )


@pytest.mark.parametrize(
    ("differences", "errors", "chosen"),
    [
        ([-50.0, -12.9, 0.0], [9.0, 6.5, 0.0], 2),
        ([-50.0, -13.1, 0.0], [9.0, 6.5, 0.0], 3),
        ([-50.0, -3.9, 0.0], [9.0, 0.1, 0.0], 2),
        ([-50.0, -4.1, 0.0], [9.0, 0.1, 0.0], 3),
        ([-5.0, -1.0, 0.0], [5.0, 0.5, 0.0], 1),
        ([0.0, -1.0, -2.0], [0.0, 9.0, 9.0], 1),
    ],
)
def test_the_simplest_within_two_standard_errors_is_chosen(differences, errors, chosen):
    table = pd.DataFrame({"elpd_diff": differences, "dse": errors}, index=[1, 2, 3])
    assert simplest(table) == chosen
    assert simplest(table[::-1]) == chosen


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_an_elpd_that_is_too_hopeful_is_no_yardstick(humps):
    plain = {number: read_elpd(fit.loo()) for number, fit in humps.fits.items()}
    raised = plain[3].pointwise + 1.0
    results = plain | {3: replace(plain[3], pointwise=raised)}
    assert ranked(results)["chosen"].idxmax() == 3
    table = ranked(results, hopeful=[3])
    pd.testing.assert_frame_equal(table.loc[:2], ranked({1: plain[1], 2: plain[2]}))
    assert table["warning"][3] and not table["chosen"][3] and table["elpd_diff"][3] > 0.0


@pytest.mark.filterwarnings("ignore:Pareto k of")
def test_a_fit_whose_linear_response_failed_is_not_chosen(monkeypatch):
    def of_few_only(core, *arguments):
        if core.n_components == 2:
            return SettledResponse(withheld("the moon was full"))
        return settled_response(core, *arguments)

    monkeypatch.setattr("bayesvb.estimators.fitting.settled_response", of_few_only)
    model = bvb.DensityRegression("y ~ 1", two_humps(1, 200))
    found = bvb.select(model, [1, 2], "waic", seed=1, restarts=2, draws=100)
    assert found.chosen == 1 and found.table["elpd_diff"][2] > 50.0
    assert found.table["warning"][2]
    assert str(found).endswith("because they have no linear response: 2.")
    alone = bvb.select(model, [2], "waic", seed=1, restarts=2, draws=100)
    assert alone.chosen == 2
    assert "linear response" not in str(alone)
    without_draws = bvb.select(model, [1, 2], seed=1, restarts=2, draws=100)
    assert without_draws.chosen == 2 and not without_draws.table["warning"].any()
    assert "linear response" not in str(without_draws)


@pytest.mark.parametrize("n_doubtful", [0, 1, 150])
def test_a_number_in_doubt_is_named_with_how_much(humps, monkeypatch, n_doubtful):
    def of_two(fit):
        found = leave_one_out(Fitted.of(fit), np.arange(200))
        doubtful = found.at < n_doubtful * (fit.model.size == 2)
        return replace(found, seen=found.log_density + 0.05, doubtful=doubtful)

    monkeypatch.setattr("bayesvb.results.base.AbstractFit.rows_left_out", property(of_two))
    with warnings.catch_warnings(record=True) as said:
        warnings.simplefilter("always")
        found = bvb.select(humps.best.model, [1, 2], seed=1, n_jobs=1, **QUICK)
    lost = found.best.rows_left_out
    nats = np.abs(lost.seen - lost.log_density)[:n_doubtful].sum()
    assert (nats > LIMITS.equal_elpd) == (n_doubtful == 150)
    assert found.table["warning"].tolist() == [False, nats > LIMITS.equal_elpd]
    if nats > LIMITS.equal_elpd:
        (one,) = said
        assert str(one.message).startswith(
            f"n_components = 2 is unreliable: {n_doubtful} rows change"
        )
        assert f"{nats:.1f} nats" in found.doubts[2]
        assert str(found).endswith(f"In doubt, n_components = 2: {found.doubts[2]}.")
    else:
        assert not said and not found.doubts and "oubt" not in str(found)


def test_it_can_be_read_and_seen(humps):
    text = str(humps)
    assert text.startswith("Number of components by LOO: 2\n")
    assert "n_components" in text and "within two standard errors" in text
    axes = humps.plot()
    assert axes.figure.number in plt.get_fignums()  # of a figure that notebooks show
    plt.close(axes.figure)
    assert axes.get_xlabel() == "number of components"
    assert [label.get_text() for label in axes.texts] == ["chosen"]
    marked = axes.lines[-1]
    assert list(marked.get_xdata()) == [2]
    assert humps.plot(ax=axes) is axes


def test_weights_context_and_missing_rows_come_along():
    data = two_humps(3, 80).assign(w=np.tile([1.0, 2.0], 40))
    data.loc[4, "y"] = np.nan
    model = bvb.DensityRegression("half(y) ~ 1", data, weights="w", context={"half": half})
    again = rebuilt(model, n_components=3)
    assert again.n_components == 3 and again.design.n_missing == 1
    np.testing.assert_array_equal(again.weights, model.weights)
    np.testing.assert_array_equal(again.design.response, model.design.response)
    assert bvb.select(model, [1], seed=1, **QUICK).chosen == 1


def half(y):
    return y / 2.0


def test_what_is_finished_before_an_interrupt_is_kept():
    model = bvb.DensityRegression("y ~ 1", two_humps(1, 100), gate="dirichlet")
    runs = []

    def progress(restart, passes, bound):
        if passes == 2:  # the first news of a run; one that goes on has made more
            runs.append(restart)
        if len(runs) > 2 * QUICK["restarts"]:  # the third fit
            raise KeyboardInterrupt

    with pytest.warns(ConvergenceWarning, match="interrupted; it contains n_components = 1, 2$"):
        found = bvb.select(model, range(1, 6), seed=1, n_jobs=1, progress=progress, **QUICK)
    assert list(found.fits) == found.table.index.tolist() == [1, 2]


def test_an_interrupt_before_anything_is_finished_goes_through():
    def progress(restart, passes, bound):
        raise KeyboardInterrupt

    model = bvb.DensityRegression("y ~ 1", two_humps(1, 100), gate="dirichlet")
    with pytest.raises(KeyboardInterrupt):
        bvb.select(model, [1, 2], seed=1, n_jobs=1, progress=progress, **QUICK)


def test_a_fit_starts_from_the_one_with_a_component_less(humps):
    table = humps.fits[3].restarts
    assert table["initialisation"].tolist()[-1] == NAME
    ended = table["elbo"].to_numpy()
    # Beside the humps a third component is empty: nothing else ends higher.
    assert ended[-1] == pytest.approx(ended.max(), abs=0.01)
    assert NAME not in humps.fits[2].restarts["initialisation"].tolist()  # one has no parts
    assert near_start(humps.fits[2], 4).probes > near_start(humps.fits[3], 4).probes == 1


def test_components_of_a_principal_component_analysis_are_counted():
    model = bvb.BayesianPCA("~ .", bvb.datasets.load("iris"))
    found = bvb.select(model, [1, 2], seed=1, **QUICK)
    assert found.table["occupied"].tolist() == [1, 2]


def test_errors_say_what_to_write(humps):
    model = humps.best.model
    with pytest.raises(DataError, match=r"criterion='lo' is not known.*\nhint: did you mean 'loo'"):
        bvb.select(model, criterion="lo")
    with pytest.raises(DataError, match=r"n_components=0 must be at least 1"):
        bvb.select(model, [0, 1])
    with pytest.raises(DataError, match=r"n_components=201 is more than the 200 rows"):
        bvb.select(model, [1, 201])
    with pytest.raises(DataError, match=r"holds no number"):
        bvb.select(model, [])
    normal = bvb.Normal("y ~ 1", two_humps(1, 20))
    with pytest.raises(DataError, match="Normal has no number of components"):
        bvb.select(normal)


def test_what_is_no_model_or_no_numbers_is_refused(humps, unchecked):
    with pytest.raises(DataError, match="model is a Fit, but must be a model before its fit"):
        bvb.select(humps.best)
    with pytest.raises(DataError, match=r"n_components=3 must be a list of numbers"):
        bvb.select(humps.best.model, 3)
