"""Fits to rows that are read in blocks: saved and loaded, updated, with fewer components."""

import functools
import itertools

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.errors import DataError
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.formula.passes import representatives

QUICK = {"seed": 1, "restarts": 1, "draws": 50, "max_iter": 12}

pytestmark = pytest.mark.filterwarnings("ignore::bayesvb.errors.ConvergenceWarning")

Density = functools.partial(bvb.DensityRegression, n_components=2)
LEARNED = "y ~ s(v, k=5) + bs(z, df=4) + poly(x, 2) + (x | g) + offset(z) | gating(scale(x) + d)"
STATE = {
    "learned": (Density, LEARNED, {"weights": "w"}),
    "student": (Density, "y ~ x", {"family": "student", "n_components": 1}),
    "products": (Density, "y ~ x * z + I(x**2)", {}),
    "mixture": (bvb.GaussianMixture, "~ y + x", {"n_components": 2, "weights": "w"}),
    "normal": (bvb.Normal, "y ~ 1", {}),
    "components": (bvb.BayesianPCA, "~ y + x + z", {}),
    "network": (bvb.ConditionalMixtureNetwork, "C(h) ~ x", {"n_experts": 2}),
}
QUICKER = {"mixture"}
EVERY = [pytest.param(k, marks=[] if k in QUICKER else [pytest.mark.heavy]) for k in STATE]


def rows(n_rows=500, seed=0):
    """Two lines; the last level, the last date and the ends are rare."""
    rng = np.random.default_rng(seed)
    x, z = rng.normal(size=n_rows), rng.random(n_rows)
    y = np.where(rng.random(n_rows) < 0.5, 1.0 + x, -1.0 - z) + 0.4 * rng.normal(size=n_rows)
    frame = pd.DataFrame(
        {"y": y, "x": x, "z": z, "v": rng.normal(size=n_rows), "w": rng.integers(1, 4, n_rows)}
    )
    frame["g"] = np.where(
        np.arange(n_rows) == 3, "rare", np.array(["a", "b"])[rng.integers(2, size=n_rows)]
    )
    frame["h"] = 1 + (y > 0.0)
    frame["d"] = pd.Timestamp("2020-01-01") + pd.to_timedelta(np.arange(n_rows), unit="D")
    frame.loc[::9, "z"] = np.nan
    return frame


def pieces(frame):
    """Three tables."""
    cuts = np.linspace(0, len(frame), 4).astype(int)
    return [frame.iloc[a:b] for a, b in itertools.pairwise(cuts)]


@functools.cache
def fitted(name):
    """A fit, a sample of whose rows is in memory."""
    kind, formula, options = STATE[name]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(representatives, "SAMPLE_ROWS", 150)
        model = kind(formula, lambda: pieces(rows()), **options)
    assert model.design.n_rows == 150
    few = {"covariance": "mean-field"} if name in ("learned", "student") else {}
    return model.fit(**QUICK, **few)


@pytest.mark.parametrize("name", EVERY)
@pytest.mark.heavy
def test_a_file_brings_the_fit_back(name, tmp_path):
    fit = fitted(name)
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert str(back) == str(fit)
    assert back.elbo == fit.elbo
    new = rows(40, seed=3).dropna()
    assert_array_equal(back.log_density(new), fit.log_density(new))
    pd.testing.assert_frame_equal(back.summary(), fit.summary(), rtol=1e-12)
    pd.testing.assert_frame_equal(back.model.design.frame, fit.model.design.frame)
    again = bvb.load(back.save(tmp_path / "again.nc"))
    assert_array_equal(again.log_density(new), fit.log_density(new))


@pytest.mark.filterwarnings("ignore:Pareto k", "ignore:.* of 150 rows change the fit")
def test_what_is_of_the_sample_is_of_the_sample_in_the_file(tmp_path):
    fit = fitted("mixture")
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    found, before = (read_elpd(one.loo("linear-response")).pointwise for one in (back, fit))
    assert_allclose(found, before, rtol=1e-9)
    assert_array_equal(back.predict(kind="density"), fit.predict(kind="density"))
    assert len(back.predict(kind="density")) == 150


def test_rows_that_are_gone_cannot_be_fitted_again(tmp_path):
    back = bvb.load(fitted("mixture").save(tmp_path / "fit.nc"))
    with pytest.raises(DataError, match="all 500 rows of the fit, of which only 150 are kept"):
        back.model.fit(**QUICK)


BROKEN = {
    "counts": lambda state: state.update({"counts": np.array([500.0, 0.0, 1e3, 9e9, 3.0])}),
    "number of counts": lambda state: state.update({"counts": np.ones(4)}),
    "learned": lambda state: state.update({"learned": np.zeros(3)}),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_state_that_does_not_go_with_the_rows_is_refused(what):
    from bayesvb.estimators.kept_sample import restored
    from bayesvb.results.all_rows import rows_to_keep, sample_state

    model = fitted("mixture").model
    kept = bvb.GaussianMixture("~ y + x", rows_to_keep(model), n_components=2)
    state = {name.removeprefix("sample."): one for name, one in sample_state(model).items()}
    scales = model.given_scales()
    assert restored(kept, scales, state, "a function").all_rows.n_rows == 500
    BROKEN[what](state)
    with pytest.raises(DataError):
        restored(kept, scales, state, "a function")


@pytest.mark.parametrize(
    "model",
    [
        lambda data: bvb.DensityRegression("y ~ x + g", data, n_components=1),
        lambda data: bvb.GaussianMixture("~ y + x", data, n_components=1),
        lambda data: bvb.Normal("y ~ 1", data),
    ],
)
def test_with_one_component_an_update_is_the_fit_of_all_rows(model, monkeypatch, tmp_path):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 150)
    options = {"seed": 1, "restarts": 1, "tol": 1e-10, "draws": 50}
    frame, later = rows(), rows(60, seed=5)
    fit, whole = model(lambda: pieces(frame)).fit(**options), model(frame).fit(**options)
    found, expected = fit.update(later, tol=1e-10), whole.update(later, tol=1e-10)
    assert_allclose(found.stats.to_vector(), expected.stats.to_vector(), rtol=1e-8, atol=1e-9)
    assert found.elbo == pytest.approx(expected.elbo, abs=1e-6)
    assert found.model.source.n_rows == 560
    back = bvb.load(found.save(tmp_path / "fit.nc"))
    assert back.model.source.n_rows == 560
    new = rows(40, seed=3).dropna()
    assert_array_equal(back.log_density(new), found.log_density(new))


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:leave-one-out prefers")
def test_components_that_are_not_needed_go_as_with_rows_in_memory(monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 150)
    options = {"seed": 1, "restarts": 1, "draws": 50}
    frame = rows()
    kind = functools.partial(bvb.GaussianMixture, "~ y + x", n_components=4)
    found = bvb.prune(kind(lambda: pieces(frame)).fit(**options))
    expected = bvb.prune(kind(frame).fit(**options))
    assert found.model.n_components == expected.model.n_components < 4
    assert found.elbo == pytest.approx(expected.elbo, abs=1e-8)
    assert found.restarts["rows"].iloc[-1] == 500


@pytest.mark.heavy
@pytest.mark.filterwarnings("ignore:n_components = ")
def test_the_number_of_components_is_chosen_by_the_sample(monkeypatch):
    monkeypatch.setattr(representatives, "SAMPLE_ROWS", 150)
    model = bvb.DensityRegression("y ~ x", lambda: pieces(rows()))
    found = bvb.select(model, [1, 2], seed=1, restarts=1, draws=50)
    assert found.chosen == 2 and not found.students
