"""A fit that another fit starts from, and fits that are ended before they converge."""

import multiprocessing

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.engines.progress import StoppingProgress
from bayesvb.errors import ConvergenceWarning, DataError
from bayesvb.numerics.forking import can_fork, forks_in_children

FEW = {"seed": 1, "draws": 25, "covariance": "mean-field"}

rng = np.random.default_rng(3)
ROWS = pd.DataFrame({"x": rng.normal(size=80), "z": rng.normal(size=80)})
ROWS["y"] = np.where(rng.random(80) < 0.6, ROWS["x"], 2.0 - ROWS["x"]) + 0.3 * rng.normal(size=80)
ROWS["class"] = np.where(ROWS["x"] + rng.normal(size=80) > 0.0, "high", "low")
ROWS["n"] = rng.poisson(np.exp(0.5 * ROWS["x"]))
ROWS["who"] = np.arange(80) // 4

MODELS = {
    "softmax": lambda rows: bvb.DensityRegression("y ~ x", rows, n_components=3),
    "sticks": lambda rows: bvb.DensityRegression(
        "y ~ s(x, k=5) | gating(z)", rows, n_components=3, gate="stick-breaking"
    ),
    "line": lambda rows: bvb.DensityRegression("y ~ x + (1 | who)", rows, n_components=1),
    "counts": lambda rows: bvb.DensityRegression("n ~ x", rows, n_components=2, family="poisson"),
    "subjects": lambda rows: bvb.DensityRegression(
        "y ~ x | gating(1)", rows, n_components=2, group="who"
    ),
    "mixture": lambda rows: bvb.GaussianMixture("~ x + y", rows, n_components=3),
    "components": lambda rows: bvb.BayesianPCA("~ x + y + z", rows),
    "network": lambda rows: bvb.ConditionalMixtureNetwork("`class` ~ x + z", rows, n_experts=2),
    "normal": lambda rows: bvb.Normal("y ~ 1", rows),
}


def rerun(code, **given):
    """The fit that these lines make."""
    scope = {"data": ROWS, **given}
    exec(code, scope)
    return scope["fit"]


def cut_short(model, passes=6, **options):
    return model.fit(restarts=1, max_iter=passes, **{**FEW, **options})


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.quick(name=("softmax", "sticks", "normal"))
@pytest.mark.parametrize("name", MODELS)
def test_a_fit_that_was_cut_short_is_continued_to_an_optimum(name):
    model = MODELS[name](ROWS)
    cut = cut_short(model)
    on = model.fit(restarts=1, start=cut, **FEW)
    rounding = 1e-9 * abs(cut.elbo)
    assert on.converged and on.elbo >= cut.elbo - rounding
    if name not in ("normal", "components"):
        assert on.restarts["initialisation"].tolist() == ["previous fit"]
    assert rerun(on.code()).elbo == on.elbo
    again = model.fit(restarts=1, start=on, **FEW)
    assert rerun(again.code()).elbo == again.elbo
    assert again.elbo == pytest.approx(on.elbo, abs=0.05)  # fifty times tol
    assert again.elbo >= on.elbo - rounding


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_a_fit_of_some_rows_is_extended_to_all():
    some = cut_short(MODELS["softmax"](ROWS[::2]), 60)
    full = MODELS["softmax"](ROWS)
    on = full.fit(restarts=2, start=some, **FEW)
    assert on.converged and on.restarts["initialisation"].iloc[0] == "previous fit"
    assert len(on.restarts) == 2 and np.isfinite(on.predict(ROWS[:3])).all()
    assert "start: the fit that the first restart continued" in on.code()


@pytest.mark.filterwarnings("ignore::UserWarning")
def test_code_of_a_saved_fit_makes_the_fit_that_it_continued(tmp_path):
    model = bvb.DensityRegression("y ~ x", ROWS, n_components=2, weights=np.arange(80) % 3 + 1.0)
    fit = model.fit(restarts=2, start=cut_short(model, seed=7), **FEW)
    fit.save(tmp_path / "fit.nc")
    code = bvb.load(tmp_path / "fit.nc").code(weights="w")
    assert rerun(code, data=ROWS.assign(w=np.arange(80) % 3 + 1.0)).elbo == fit.elbo
    assert rerun(fit.code(), weights=model.weights).elbo == fit.elbo


def test_a_fit_of_other_parameters_is_refused():
    normal = MODELS["normal"](ROWS).fit(**FEW)
    with pytest.raises(DataError, match="start is a fit of Normal, and this model is a Density"):
        MODELS["softmax"](ROWS).fit(start=normal)
    line = bvb.DensityRegression("y ~ x", ROWS, n_components=1)
    other = bvb.DensityRegression("y ~ x + z", ROWS, n_components=1)
    fit = line.fit(**FEW)
    with pytest.raises(DataError, match=r"(?s)y ~ x \| gating.*hint: start from a fit with the"):
        other.fit(start=fit)
    with pytest.raises(DataError, match="start=3 must be a fit"):
        line.fit(start=3)
    with pytest.raises(DataError, match="start='a fit' is not an option of CAVI"):
        line.fit(start="a fit")
    with pytest.raises(DataError, match="cannot be combined with start="):
        line.fit(start=fit, checkpoint="runs.ckpt")


ENGINES = {"cavi": {}, "em": {}, "svi": {"batch": 20, "passes": 50}}


@pytest.mark.parametrize("method", ENGINES)
def test_progress_ends_a_fit_that_is_marked(method):
    calls = []

    def told(run, passes, bound):
        calls.append((run, passes))
        return len(calls) == 2

    model = MODELS["softmax"](ROWS)
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = model.fit(method, restarts=3, n_jobs=1, progress=told, **ENGINES[method], **FEW)
    assert len(calls) == 2 and fit.is_interrupted and not fit.converged
    assert fit.n_iter <= 4 and len(fit.restarts) == 1 and np.isfinite(fit.elbo)
    assert "interrupted" in fit.code()
    with pytest.raises(DataError, match="interrupted"):
        fit.shell()


def test_time_ends_a_fit_once():
    now = iter([0.0, 0.5, 2.0, 3.0])
    watch = StoppingProgress(None, 1.0, clock=lambda: next(now))
    watch(0, 1, -1.0)
    with pytest.raises(KeyboardInterrupt):
        watch(0, 2, -1.0)
    watch(0, 3, -1.0)  # silent afterwards
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = MODELS["softmax"](ROWS).fit(seconds=1e-9, n_jobs=1, **FEW)
    assert fit.is_interrupted and fit.elbo > -np.inf
    assert not StoppingProgress(lambda *told: 7)(0, 1, -1.0)  # a number is not True
    with pytest.raises(DataError, match="seconds=-1 must be a positive"):
        MODELS["softmax"](ROWS).fit(seconds=-1)


def test_a_child_may_fork_if_it_is_told_so(monkeypatch):
    if not can_fork():
        pytest.skip("no process can be forked here")
    monkeypatch.setattr(multiprocessing, "parent_process", lambda: object())
    assert not can_fork()
    with forks_in_children(allowed=True):
        assert can_fork()
    assert not can_fork()


@pytest.mark.parametrize("n_jobs", [None, 2])
def test_the_number_of_processes_is_the_permission(n_jobs, monkeypatch):
    asked = []
    monkeypatch.setattr("bayesvb.estimators.base.forks_in_children", noting(asked))
    MODELS["normal"](ROWS).fit(n_jobs=n_jobs, **FEW)
    assert asked == [n_jobs is not None]


def noting(asked):
    def made(*, allowed):
        asked.append(allowed)
        return forks_in_children(allowed=allowed)

    return made
