"""Rows folded into a fit: exact where it can be, near the fit of all rows, and honest about it."""

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.numerics.streams import Streams


def simulated(n, seed):
    rng = np.random.default_rng(seed)
    x, second = rng.normal(size=n), rng.random(n)
    second = second < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(second, 3.0 + 1.5 * x, -2.0 - 0.5 * x)
    y += np.where(second, 0.4, 0.7) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": y})


DATA = simulated(400, 3)
FIRST, LATER = DATA[:250], DATA[250:]


def joined(fit, later):
    """The model of a fit over its rows and later ones, in the units of the fit."""
    model = fit.model
    rows = model.rows(later, response=model.formula.response is not None)
    return model.over(InMemorySource.of(Block.joined([model.source.whole(), model.block(rows)])))


@pytest.mark.parametrize(
    "model",
    [
        bvb.DensityRegression("y ~ x + z", FIRST, n_components=1),
        bvb.DensityRegression("y + z ~ x | 1", FIRST, n_components=1),
        bvb.GaussianMixture("~ x + y", FIRST, n_components=1),
        bvb.Normal("y ~ 1", FIRST),
    ],
)
def test_with_one_component_it_is_the_fit_of_all_rows(model):
    fit = model.fit(seed=1, restarts=1, tol=1e-10)
    found = fit.update(LATER, tol=1e-10)
    whole = joined(fit, LATER).fit(seed=1, restarts=1, tol=1e-10)
    for (_, mine), (_, theirs) in zip(found.stats.leaves(), whole.stats.leaves(), strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-8, atol=1e-10)
    assert found.elbo == pytest.approx(whole.elbo, abs=1e-7)
    pd.testing.assert_frame_equal(found.summary(), whole.summary(), rtol=1e-6, atol=1e-8)
    assert fit.model.source.n_rows == 250
    assert found.model.source.n_rows == 400


@pytest.mark.heavy
@pytest.mark.parametrize("family", ["gaussian", "student"])
def test_mixtures_are_near_the_fit_of_all_rows(family):
    options = {"n_components": 2, "family": family}
    fit = bvb.DensityRegression("y ~ x", FIRST, **options).fit(seed=1, restarts=2)
    found = fit
    for part in (LATER[:50], LATER[50:100], LATER[100:]):
        found = found.update(part)
    whole = joined(fit, LATER).fit(seed=1, restarts=2)
    at = pd.DataFrame({"x": [-1.5, 0.0, 1.5]})
    sd = whole.predict(at, kind="sd")
    assert (np.abs(found.predict(at) - whole.predict(at)) < 0.05 * sd).all()
    assert found.log_density(DATA).mean() == pytest.approx(whole.log_density(DATA).mean(), abs=0.01)
    assert found.covariance == "linear-response"
    spread, other = (one.summary().loc["mean", "sd"].sort_values() for one in (found, whole))
    assert (np.abs(np.log(spread.to_numpy() / other.to_numpy())) < 0.2).all()


def test_forgetting_follows_a_drift():
    fit = bvb.DensityRegression("y ~ x", FIRST, n_components=1).fit(seed=1, restarts=1)
    moved = LATER.assign(y=LATER.y + 5.0)
    kept, drifting = (fit.update(moved, forgetting=share) for share in (1.0, 0.1))
    at = {"x": [0.0]}
    assert fit.predict(at)[0] + 1.0 < kept.predict(at)[0] < drifting.predict(at)[0] - 1.0
    assert drifting.model.source.total_weight == pytest.approx(25.0 + 150.0)
    assert kept.summary().loc["mean", "sd"].max() > 0.0


def test_rows_of_weight_two_are_two_rows():
    weighted = FIRST.assign(w=1.0)
    fit = bvb.DensityRegression("y ~ x", weighted, n_components=1, weights="w").fit(
        seed=1, restarts=1, tol=1e-9
    )
    twice = fit.update(LATER.assign(w=2.0), weights="w", tol=1e-9)
    again = fit.update(pd.concat([LATER, LATER]).assign(w=1.0), weights="w", tol=1e-9)
    assert twice.elbo == pytest.approx(again.elbo, abs=1e-6)
    with pytest.raises(DataError, match="weights=None"):
        fit.update(LATER)


@pytest.mark.heavy
def test_a_file_keeps_what_was_learned(tmp_path):
    model = bvb.DensityRegression("y ~ x", FIRST, n_components=2)
    fit = model.fit(seed=1, restarts=1, draws=100).update(LATER)
    back = bvb.load(fit.save(tmp_path / "a.nc"))
    assert back.elbo == fit.elbo
    assert back.model.source.n_rows == 400
    assert str(back) == str(fit)
    for name, values in fit.idata.posterior.items():
        np.testing.assert_array_equal(back.idata.posterior[name], values)
    pd.testing.assert_frame_equal(back.model.prior_table(), fit.model.prior_table())
    assert back.update(LATER).elbo == pytest.approx(fit.update(LATER).elbo, rel=1e-12)
    assert "400 rows (250 of them kept)" in str(back)
    assert "log_likelihood" not in back.idata


def test_what_needs_every_row_says_that_they_are_gone():
    fit = bvb.DensityRegression("y ~ x", FIRST, n_components=2).fit(seed=1, restarts=1, draws=100)
    later = fit.update(LATER)
    for ask in ("loo", "waic", "pit", "check", "influence", "prior_sensitivity"):
        with pytest.raises(DataError, match=r"only 250 are kept|needs all rows in memory"):
            getattr(later, ask)()
    for study in (bvb.cross_validate, lambda model: bvb.select(model, [1, 2])):
        with pytest.raises(DataError, match="needs all rows in memory"):
            study(later.model)  # it would be made of the first rows alone
    assert list(later.components()) == [
        "share", "share_lower", "share_upper", "sigma", "sigma_lower", "sigma_upper"
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("options", "fitted", "words"),
    [
        ({}, {"combine": "average"}, "combines"),
        ({}, {"method": "em"}, "EM"),
        ({"priors": bvb.Priors(coefficient_units="response")}, {}, "sums over rows"),
        ({"weights": "w", "weight_type": "sampling"}, {}, "sampling weights"),
        ({"group": "g"}, {"tol": 0.1}, "subject"),
    ],
)
def test_fits_that_are_no_sums_are_refused(options, fitted, words):
    data = FIRST.assign(w=1.0 + np.arange(250) % 3, g=np.arange(250) // 5)
    formula = "y ~ x | 1" if "group" in options else "y ~ x"
    model = bvb.DensityRegression(formula, data, n_components=2, **options)
    fit = model.fit(**{"seed": 1, "restarts": 2, "draws": 50, **fitted})
    with pytest.raises(DataError, match=words):
        fit.update(data)


@pytest.mark.parametrize(
    "model",
    [
        lambda data: bvb.DensityRegression("y ~ x", data, n_components=2, weights="w"),
        pytest.param(
            lambda data: bvb.GaussianMixture("~ y + x", data, n_components=2, weights="w"),
            marks=pytest.mark.heavy,
        ),
        lambda data: bvb.Normal("y ~ 1", data, weights="w"),
    ],
)
def test_new_rows_may_be_read_in_blocks(model):
    first, later = (one.assign(w=1.0 + np.arange(len(one)) % 2) for one in (FIRST, LATER))
    later.loc[later.index[5], "y"] = np.nan
    fit = model(first).fit(seed=1, restarts=1, draws=50, covariance="mean-field")
    found = fit.update([later[:70], later[70:]], weights="w")
    expected = fit.update(later, weights="w", new_starts=0)
    np.testing.assert_allclose(found.stats.to_vector(), expected.stats.to_vector(), rtol=1e-10)
    assert found.model.source.n_rows == expected.model.source.n_rows == 399
    assert found.model.source.total_weight == expected.model.source.total_weight


def test_new_rows_that_cannot_be_used_are_refused():
    fit = bvb.DensityRegression("y ~ x", FIRST, n_components=1).fit(seed=1, restarts=1, draws=50)
    with pytest.raises(DataError, match="no complete row"):
        fit.update([LATER.assign(y=np.nan)])
    with pytest.raises(DataError, match="name their column"):
        fit.update([LATER], weights=np.ones(150))
    with pytest.raises(DataError, match="lacks `x`"):
        fit.update([LATER.drop(columns="x")])


@pytest.mark.parametrize("in_blocks", [False, True])
def test_groups_without_rows_in_the_fit_are_refused(in_blocks):
    """Their effects are no parameters: rows would count as if the effects were zero."""
    data = FIRST.head(60).assign(site=np.arange(60) % 5)
    fit = bvb.DensityRegression("y ~ x + (1 | site)", data, n_components=1).fit(
        seed=1, restarts=1, draws=25, covariance="mean-field"
    )
    more = LATER.head(20).assign(site=np.arange(20) % 5)
    assert fit.update([more] if in_blocks else more).model.source.n_rows == 80
    more.iloc[3, -1] = 7
    with pytest.raises(DataError, match=r"`site` has groups that are not in the data .*: 7"):
        fit.update([more] if in_blocks else more)


def test_wrong_arguments_are_named():
    fit = bvb.DensityRegression("y ~ x", FIRST, n_components=1).fit(seed=1, restarts=1, draws=50)
    with pytest.raises(DataError, match=r"forgetting=1\.5 must not be above 1"):
        fit.update(LATER, forgetting=1.5)
    with pytest.raises(DataError, match="forgetting"):
        fit.update(LATER, forgetting=0.0)
    with pytest.raises(DataError, match="no complete row"):
        fit.update(LATER.assign(y=np.nan))
    with pytest.raises(DataError, match="z"):
        bvb.DensityRegression("y ~ x + z", FIRST, n_components=1).fit(
            seed=1, restarts=1, draws=50
        ).update(LATER.drop(columns="z"))


@pytest.mark.parametrize("column", ["x", "y"])
@pytest.mark.parametrize("stream", [False, True], ids=["memory", "blocks"])
@pytest.mark.parametrize(
    "model",
    [
        bvb.DensityRegression("y ~ x", FIRST, n_components=1),
        bvb.GaussianMixture("~ x + y", FIRST, n_components=1),
    ],
    ids=["density", "gaussians"],
)
def test_values_beside_which_earlier_rows_vanish_are_refused(model, stream, column):
    """A sum of squares of 1e16 holds no digit of the rows before: 1e100 was folded in silently."""
    fit = model.fit(seed=1, restarts=1, draws=25)
    for size, refused in ((1e100, True), (1e9, True), (1e5, False)):
        rows = LATER.copy()
        rows.loc[300, column] = size
        given = [rows] if stream else rows
        if refused:
            row = 50 if stream else 300
            with pytest.raises(DataError, match=f"`{column}` in row {row} is .* deviations from"):
                fit.update(given)
        else:
            assert np.isfinite(fit.update(given).elbo)


def test_principal_components_of_complete_rows_are_those_of_all_rows(tmp_path):
    """In the units of the first rows, after a file too; the covariance is that of all rows."""
    data = DATA[["x", "z", "y"]].head(90)
    fit = bvb.BayesianPCA("~ .", data[:30]).fit(seed=1, restarts=1, tol=1e-6)
    once = fit.update(data[30:50], tol=1e-6)
    later = bvb.load(once.save(tmp_path / "fit.nc")).update(data[50:], tol=1e-6)
    whole = fit.model.over(
        InMemorySource.of(fit.model.block(fit.model.rows(data)))
    ).fit(seed=1, restarts=2, tol=1e-6)  # fmt: skip
    assert later.elbo == pytest.approx(whole.elbo, abs=1e-4)
    np.testing.assert_allclose(later.log_density(data), whole.log_density(data), atol=0.05)
    own, theirs = (np.diag(one.response.covariance) for one in (later, whole))
    np.testing.assert_allclose(own, theirs, rtol=0.05)  # in directions that are nearly idle
    assert later.model.source.n_rows == 90


def test_scores_of_earlier_rows_stay_where_values_are_missing():
    data = DATA[["x", "z", "y"]].mask(np.random.default_rng(0).random((400, 3)) < 0.1)
    fit = bvb.BayesianPCA("~ .", data[:200]).fit(seed=1, restarts=1)
    later = fit.update(data[200:])
    whole = bvb.BayesianPCA("~ .", data).fit(seed=1, restarts=1)
    assert later.elbo < whole.elbo
    assert later.log_density(data).mean() > whole.log_density(data).mean() - 0.05
    assert later.covariance == "linear-response"


@pytest.mark.parametrize("response", [pytest.param("y", marks=pytest.mark.heavy), "k"])
def test_networks_learn_on(response):
    """The bound is below that of all rows by what earlier rows would gain if they could move."""
    data = DATA.assign(k=np.where(DATA["y"] > 1.0, "a", "b")).head(60)
    model = bvb.ConditionalMixtureNetwork(f"{response} ~ x", data[:40], n_experts=2)
    fit = model.fit(seed=1, restarts=1, combine="best", tol=1e-2, draws=25)
    assert fit.update(data[:1], weights=[1e-9]).elbo == pytest.approx(fit.elbo, abs=0.05)
    later = fit.update(data[40:], new_starts=0)
    rows = InMemorySource.of(model.block(model.rows(data, response=True)))
    run = Cavi().run(fit.core, rows, later.stats, Budget(1e-3, 100), Streams(1).branch("test"))
    bounds = run.trace[[0, -1]] - 60.0 * model.log_jacobian
    assert bounds[1] - 1.0 < later.elbo < bounds[0] + 1e-6
    with pytest.warns(ConvergenceWarning, match="a network of 60 rows is updated: .* first 4,000"):
        later.update(data[:1])


def test_networks_read_rows_that_are_in_memory_again():
    """The bound is that of all rows together."""
    data = DATA.assign(k=np.where(DATA["y"] > 1.0, "a", "b")).head(60)
    model = bvb.ConditionalMixtureNetwork("k ~ x", data[:40], n_experts=2)
    fit = model.fit(seed=1, restarts=1, combine="best", tol=1e-2, draws=25)
    later = fit.update(data[40:50], new_starts=1).update(data[50:])
    rows = InMemorySource.of(model.block(model.rows(data, response=True)))
    run = Cavi().run(later.core, rows, later.stats, Budget(1e-3, 100), Streams(1).branch("test"))
    assert run.bound - 60.0 * model.log_jacobian == pytest.approx(later.elbo, abs=0.01)
    assert later.model.source.n_rows == 60


@pytest.mark.heavy
def test_new_starts_find_components_that_the_first_rows_did_not_need():
    """In the first 150 eruptions two components have a smaller bound than one."""
    data = bvb.datasets.load("faithful")
    model = bvb.DensityRegression("waiting ~ eruptions", data[:150], n_components=2)
    fit = model.fit(seed=1, restarts=8, tol=0.1, draws=50)
    batch = bvb.DensityRegression("waiting ~ eruptions", data, n_components=2).fit(
        seed=1, restarts=4, draws=50
    )
    later, stays = (fit.update(data[150:], new_starts=starts) for starts in (None, 0))
    best, new, old = (one.log_density(data).mean() for one in (batch, later, stays))
    assert new > best - 0.02
    assert old < best - 0.05


@pytest.mark.heavy
def test_new_starts_find_experts_that_the_first_rows_did_not_need():
    """Later rows have classes in other places: a network keeps the borders of the first rows."""
    rng = np.random.default_rng(1)
    x = np.sort(rng.uniform(-3.0, 3.0, 300))
    data = pd.DataFrame({"x": x, "k": np.where(np.sin(2.0 * x) > rng.logistic(size=300) / 6, 1, 0)})
    data["k"] = data["k"].map({0: "a", 1: "b"})
    few = {"seed": 1, "restarts": 2, "combine": "best", "draws": 25, "covariance": "mean-field"}
    fit = bvb.ConditionalMixtureNetwork("k ~ x", data[:150], n_experts=4).fit(**few)
    batch = bvb.ConditionalMixtureNetwork("k ~ x", data, n_experts=4).fit(**few)
    later, stays = (fit.update(data[150:], new_starts=starts) for starts in (None, 0))
    best, new, old = (one.log_density(data).mean() for one in (batch, later, stays))
    assert new > best - 0.02
    assert old < best - 0.2


def three_lines(n, share, seed):
    """Two lines, and a third one of this share of the rows."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, n))
    which = np.where(rng.random(n) < share, 2, rng.choice(2, n))
    y = np.choose(which, [1.0 + x, -1.0 - x, 6.0 + 2.0 * x]) + 0.5 * noise
    return pd.DataFrame({"x": x, "y": y})


@pytest.fixture(scope="module")
def two_of_three():
    """Three components for two lines, after 100 rows that are gone."""
    model = bvb.DensityRegression("y ~ x | 1", three_lines(100, 0.0, 1), n_components=3)
    fit = model.fit(seed=1, restarts=1, draws=25, covariance="mean-field")
    return fit.update(three_lines(100, 0.0, 2), new_starts=0)


@pytest.mark.parametrize("forgetting", [1.0, pytest.param(0.9, marks=pytest.mark.heavy)])
def test_other_rows_are_forgotten_where_those_at_hand_need_another_component(
    two_of_three, forgetting
):
    """Without new starts the third line stays a part of the second."""
    new = three_lines(150, 0.3, 4)
    later = two_of_three.update(new, new_starts=2, forgetting=forgetting)
    assert later.model.source.n_rows == (250 if forgetting == 1.0 else 150)
    assert later.model.source.total_weight == later.model.source.n_rows
    stays = two_of_three.update(new, new_starts=0).log_density(new).mean()
    assert later.log_density(new).mean() > stays + 0.2


def test_no_row_is_forgotten_where_new_starts_find_nothing(two_of_three):
    more = three_lines(100, 0.0, 3)
    assert two_of_three.update(more, new_starts=1).model.source.n_rows == 300
    with pytest.raises(DataError, match="new_starts=2 needs new rows in memory"):
        two_of_three.update([more], new_starts=2)
