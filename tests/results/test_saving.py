"""A fit as one file, and back."""

import json
import os
import pickle
import subprocess
import warnings

import numpy as np
import pandas as pd
import pytest
import xarray as xr
from numpy.testing import assert_array_equal

import bayesvb as bvb
from bayesvb.engines import restarts as engine
from bayesvb.errors import DataError, FormulaError
from bayesvb.estimators import loading as saving
from bayesvb.evaluation.elpd import read_elpd
from bayesvb.gates import GATES
from bayesvb.results.base import with_fields
from bayesvb.storage import netcdf as storage
from bayesvb.storage.arviz_objects import group_names, import_arviz

OTHER = os.environ.get("BAYESVB_OTHER_PYTHON")


def fit_of(data, formula="y ~ x + z | gating(x)", **options):
    model = bvb.DensityRegression(formula, data, **{"n_components": 2, **options})
    return model.fit(seed=1, restarts=2, draws=60, tol=0.01)


def quietly(function, *arguments):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)
        return function(*arguments)


def assert_same(back, fit, new):
    """Everything that a reader of either can see is the same to the last bit."""
    assert str(back) == str(fit)
    assert str(back.model) == str(fit.model)
    pd.testing.assert_frame_equal(back.summary(), fit.summary())
    pd.testing.assert_frame_equal(back.components(), fit.components())
    pd.testing.assert_frame_equal(back.responsibilities(), fit.responsibilities())
    pd.testing.assert_frame_equal(back.restarts, fit.restarts)
    pd.testing.assert_series_equal(back.elbo_trace, fit.elbo_trace)
    assert list(back.traces) == list(fit.traces)
    for data in (None, new):
        for kind in ("mean", "sd", "quantile", "component"):
            here, there = (one.predict(data, kind, missing="keep") for one in (fit, back))
            assert_array_equal(here, there)
            assert here.index.equals(there.index)
        assert_array_equal(back.log_density(data), fit.log_density(data))
    assert read_elpd(quietly(back.loo)).elpd == read_elpd(quietly(fit.loo)).elpd
    assert (back.seed, back.n_iter, back.seconds) == (fit.seed, fit.n_iter, fit.seconds)
    assert (back.converged, back.order) == (fit.converged, fit.order)
    assert back.khat == fit.khat or np.isnan(fit.khat)


@pytest.fixture
def data(regimes):
    """Rows with levels, ordered levels, whole numbers, truth values, and some missing."""
    letters = np.array(["b", "a", "größe ≤ 3"])
    data = regimes.assign(
        group=pd.Categorical(letters[np.arange(150) % 3]),
        size=pd.Categorical(np.arange(150) % 2, categories=[1, 0], ordered=True),
        count=np.arange(150) % 7,
        flag=np.arange(150) % 5 == 0,
        text=letters[np.arange(150) % 3],
    )
    data.loc[[3, 77], "x"] = np.nan
    return data


FORMULAS = {
    "factors": "y ~ x + group + size | gating(text)",
    "splines": "y ~ bs(x, df=4) | gating(z)",
    "transforms": "y ~ np.exp(x / 4) + scale(z) + poly(count, 2) + flag | gating(1)",
    "interactions": "y ~ x * C(count, levels=[0, 1, 2, 3, 4, 5, 6]) | gating(x)",
    "no intercept": "y ~ 0 + x + z | gating(0 + x)",
    "transformed response": "np.log(y + 10) ~ x",
    "dot": "y ~ . - group - size - text | gating(x)",
    "all": "np.log(y + 10) ~ 0 + np.exp(x / 4) + scale(z) + poly(count, 2) + flag + x : size"
    " | gating(bs(x, df=4) + text)",
}
QUICK = ("all",)


@pytest.mark.heavy
def test_orthogonal_columns_come_back(data, tmp_path):
    fit = fit_of(data, "y ~ x * group + I(z**2) + z | gating(x * z)")
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_same(back, fit, data.iloc[:20])
    assert_array_equal(
        back.model.scales.parts["gating"].basis, fit.model.scales.parts["gating"].basis
    )


@pytest.mark.parametrize("group", [None, "text"])
@pytest.mark.heavy
def test_files_without_a_basis_keep_columns_that_are_scaled_one_by_one(data, group, tmp_path):
    model = bvb.DensityRegression("y ~ x * z | gating(1)", data, n_components=2, group=group)
    before = with_fields(model.in_given_scales({}), scales_given=False)
    fit = before.fit(seed=1, restarts=2, draws=60)
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert back.model.scales.parts["mean"].basis is None
    assert back.elbo == fit.elbo
    here, there = (one.predict(data.iloc[:20], missing="keep") for one in (fit, back))
    assert_array_equal(here, there)
    assert not np.allclose(back.predict(), model.fit(seed=1, restarts=2, draws=60).predict())


@pytest.mark.parametrize(
    "formula",
    [
        pytest.param(formula, id=name, marks=[pytest.mark.heavy] * (name not in QUICK))
        for name, formula in FORMULAS.items()
    ],
)
@pytest.mark.heavy
def test_every_formula_comes_back(data, formula, tmp_path):
    fit = fit_of(data, formula)
    path = fit.save(tmp_path / "fit.nc")
    assert path == tmp_path / "fit.nc"
    back = bvb.load(path)
    assert_same(back, fit, data.iloc[::-1])
    assert back.model.design.n_missing == fit.model.design.n_missing
    assert_array_equal(back.model.design.complete, fit.model.design.complete)
    pd.testing.assert_frame_equal(back.model.design.frame, fit.model.design.frame)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", GATES)
@pytest.mark.parametrize("n_components", [1, 2])
def test_every_gate_comes_back(regimes, gate, n_components, tmp_path):
    priors = bvb.Priors(gating_sd=2.0, concentration=0.5, standardize=n_components > 1)
    fit = fit_of(regimes, gate=gate, n_components=n_components, priors=priors)
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_same(back, fit, regimes.head(9))
    assert back.model.priors == fit.model.priors and back.model.priors.gating_sd == 2.0


@pytest.mark.heavy
def test_case_weights_come_back(data, tmp_path):
    data["w"] = np.arange(150) % 3 + 0.5
    fit = fit_of(data, weights="w")
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_same(back, fit, data)
    assert_array_equal(back.model.weights, data["w"][fit.model.design.complete])


@pytest.mark.heavy
def test_several_responses_come_back(regimes, tmp_path):
    fit = fit_of(regimes.assign(u=np.cos(np.arange(150))), "y + u ~ x")
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert str(back) == str(fit)
    assert_array_equal(back.predict(response="u"), fit.predict(response="u"))
    assert_array_equal(back.log_density(), fit.log_density())


@pytest.mark.parametrize(
    "index",
    [
        pytest.param(pd.Index([5, 5, 6] * 50, name="id"), marks=pytest.mark.heavy),
        pd.MultiIndex.from_product([range(50), ["a", "b", "b"]]),
    ],
    ids=["not unique", "levels"],
)
@pytest.mark.heavy
def test_any_index_comes_back(regimes, index, tmp_path):
    fit = fit_of(regimes.set_index(index))
    assert_same(bvb.load(fit.save(tmp_path / "fit.nc")), fit, regimes)


@pytest.mark.heavy
def test_a_fit_of_many_rows_keeps_its_final_trace(regimes, tmp_path, monkeypatch):
    monkeypatch.setattr(engine, "MANY_ROWS", 80)
    fit = fit_of(regimes)
    back = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert list(back.traces) == [1, 2, "final"]
    assert_same(back, fit, regimes)


@pytest.mark.heavy
def test_a_loaded_fit_is_saved_again_as_the_same(data, tmp_path):
    fit = fit_of(data, FORMULAS["factors"])
    once = bvb.load(fit.save(tmp_path / "once.nc"))
    assert_same(bvb.load(once.save(tmp_path / "twice.nc")), fit, data)


@pytest.mark.heavy
def test_functions_of_your_own_must_be_given_again(regimes, tmp_path):
    context = {"double": lambda x: 2.0 * x}
    fit = fit_of(regimes, "y ~ double(x)", context=context)
    path = fit.save(tmp_path / "fit.nc")
    with pytest.raises(
        FormulaError, match=r"(?s)double.*\nhint: .*load\(path, context=\{\.\.\.\}\)"
    ):
        bvb.load(path)
    assert_same(bvb.load(path, context=context), fit, regimes)


def test_loading_unpickles_nothing(saved, monkeypatch):
    def refuse(*arguments, **options):
        raise AssertionError("a file was unpickled")

    for name in ("load", "loads", "Unpickler"):
        monkeypatch.setattr(pickle, name, refuse)
    bvb.load(saved)


@pytest.fixture(scope="module")
def saved(regimes_fit, tmp_path_factory):
    """A fit in a file that is read only."""
    return regimes_fit.save(tmp_path_factory.mktemp("saved") / "fit.nc")


def test_a_formula_in_a_file_cannot_run_code(saved, tmp_path):
    tree = storage.read_tree(saved)
    told = json.loads(tree.attrs["fit"])
    told["formula"] = "y ~ __import__('os').system('true')"
    tree.attrs["fit"] = json.dumps(told)
    with pytest.raises(FormulaError):
        bvb.load(storage.write_tree(tree, tmp_path / "evil.nc"))


def test_arviz_opens_the_file(regimes_fit, saved):
    tree = xr.open_datatree(saved, engine="h5netcdf")
    assert {"posterior", "sample_stats", "observed_data", "constant_data"} <= set(tree.children)
    assert_array_equal(tree["posterior/beta"], regimes_fit.posterior["beta"])
    tree.close()
    az = import_arviz()
    assert "posterior" in group_names(quietly(az.from_netcdf, saved))


# -- what cannot be saved or loaded --------------------------------------------------------------


@pytest.mark.heavy
def test_paths_that_take_no_file(regimes_fit, tmp_path):
    with pytest.raises(DataError, match=r"the folder .* does not exist\nhint: "):
        regimes_fit.save(tmp_path / "absent" / "fit.nc")
    with pytest.raises(DataError, match=r"is a folder\nhint: "):
        regimes_fit.save(tmp_path)
    with pytest.raises(DataError, match=r"absent\.nc"):
        bvb.load(tmp_path / "absent.nc")


def test_files_that_are_not_ours(tmp_path, saved):
    (tmp_path / "text.nc").write_text("y ~ x")
    with pytest.raises(DataError, match=r"text.nc.*not a bayesvb file"):
        bvb.load(tmp_path / "text.nc")
    xr.Dataset({"a": ("x", [1.0])}).to_netcdf(tmp_path / "other.nc", engine="h5netcdf")
    with pytest.raises(DataError, match=r"other\.nc"):
        bvb.load(tmp_path / "other.nc")
    tree = storage.read_tree(saved)
    del tree["fit_state"]
    with pytest.raises(DataError, match=r"bare.nc.*does not hold a fit"):
        bvb.load(storage.write_tree(tree, tmp_path / "bare.nc"))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"model": "Tomorrow"}, "holds a fit of 'Tomorrow'.*\nhint: a later version wrote it"),
        (
            {"options": {"n_components": 2, "depth": 3}},
            "does not hold a fit.*depth.*\nhint: a later",
        ),
        ({"traces": ["9"]}, "does not hold a fit as this version writes it.*trace.9"),
    ],
)
@pytest.mark.heavy
def test_descriptions_that_make_no_fit(saved, tmp_path, change, why):
    tree = storage.read_tree(saved)
    tree.attrs["fit"] = json.dumps(json.loads(tree.attrs["fit"]) | change)
    with pytest.raises(DataError, match=f"changed.nc.*{why}"):
        bvb.load(storage.write_tree(tree, tmp_path / "changed.nc"))


def test_a_failed_save_leaves_the_file_before_it(regimes_fit, tmp_path, monkeypatch):
    path = regimes_fit.save(tmp_path / "fit.nc")
    before = path.read_bytes()

    def half(descriptor):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", half)
    with pytest.raises(DataError, match="No space left"):
        regimes_fit.save(path)
    assert path.read_bytes() == before
    assert [p.name for p in tmp_path.iterdir()] == ["fit.nc"]


@pytest.mark.skipif(OTHER is None, reason="BAYESVB_OTHER_PYTHON names no second interpreter")
def test_a_fit_is_the_same_under_the_other_arviz_line(data, tmp_path):
    fit = fit_of(data, FORMULAS["factors"])
    path = fit.save(tmp_path / "fit.nc")
    script = """
import json, sys, warnings
import bayesvb as bvb
from bayesvb.storage.arviz_objects import arviz_line
from bayesvb.evaluation.elpd import read_elpd
fit = bvb.load(sys.argv[1])
warnings.simplefilter("ignore", UserWarning)
loo = read_elpd(fit.loo())
told = {"line": arviz_line(), "kind": type(fit.idata).__name__, "loo": loo.elpd, "elbo": fit.elbo}
told |= {"mean": fit.predict().tolist(), "density": float(fit.log_density().sum())}
print(json.dumps(told))
"""
    command = [str(OTHER), "-W", "error", "-c", script, str(path)]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    there = json.loads(done.stdout)
    assert there["kind"] == ("DataTree" if there["line"] else "InferenceData")
    assert there["elbo"] == fit.elbo
    # the lines round the length of the Pareto tail differently
    assert there["loo"] == pytest.approx(read_elpd(quietly(fit.loo)).elpd, abs=0.02)
    np.testing.assert_allclose(there["mean"], fit.predict(), rtol=1e-10)
    assert there["density"] == pytest.approx(float(fit.log_density().sum()), rel=1e-10)


def test_statistics_are_filled_in_the_order_of_their_names(regimes_fit):
    state = {f"sums.{name}": leaf for name, leaf in regimes_fit.stats.leaves()}
    blank = 0.0 * regimes_fit.stats
    assert_array_equal(
        saving.filled(blank, state, "sums.").to_vector(), regimes_fit.stats.to_vector()
    )


def test_files_from_before_a_rate_of_groups_have_one_rate(regimes, tmp_path, monkeypatch):
    model = bvb.DensityRegression("y ~ x", regimes, n_components=2)
    known = dict(vars(model.priors))
    rate = known.pop("group_scale_rate") / 2.0
    options = {**model.options(), "priors": {**known, "scale_rate": rate}}
    monkeypatch.setattr(type(model), "options", lambda self: options)
    fit = model.fit(seed=1, restarts=1, draws=50)
    assert bvb.load(fit.save(tmp_path / "fit.nc")).model.priors.group_scale_rate == rate


def test_files_from_before_learned_scales_have_fixed_ones(regimes, tmp_path, monkeypatch):
    model = bvb.DensityRegression(
        "y ~ x", regimes, n_components=2, priors=bvb.Priors(scales="fixed")
    )
    fit = model.fit(seed=1, restarts=1, draws=50)
    new = ("scales", "scale_shape", "scale_rate")
    known = {name: value for name, value in vars(model.priors).items() if name not in new}
    told = {**model.options(), "priors": known}
    monkeypatch.setattr(type(model), "options", lambda self: told)
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert again.model.priors == model.priors
    pd.testing.assert_frame_equal(again.summary(), fit.summary(), check_exact=True)
