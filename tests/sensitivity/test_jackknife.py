"""How the centre of a posterior moves without rows: against least squares and against refits."""

from dataclasses import dataclass, replace
from functools import partial
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import statsmodels.api as sm
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.errors import DataError
from bayesvb.numerics.streams import Streams
from bayesvb.results.leave_one_out import group_sums
from bayesvb.sensitivity import jackknife as module
from bayesvb.sensitivity.covariance import withheld
from bayesvb.sensitivity.deletion import Deletion
from bayesvb.sensitivity.jackknife import Jackknife
from bayesvb.sensitivity.solvers import DenseSensitivity

FLAT = bvb.Priors(coefficient_sd=1e4, scales="fixed")


def rows(n, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.uniform(-2.0, 2.0, n)
    first = rng.uniform(size=n) < 1.0 / (1.0 + np.exp(-x))
    y = np.where(first, 1.5 + 1.5 * x, -1.5 - x) + 0.5 * rng.standard_normal(n)
    return pd.DataFrame({"x": x, "y": y})


def fit_of(data, n_components, **options):
    model = bvb.DensityRegression("y ~ x", data, n_components=n_components, **options)
    return model.fit(seed=1, restarts=3, draws=50, tol=1e-11, max_iter=5000)


def jackknife_of(fit):
    rng = np.random.default_rng(0)
    return Jackknife(Deletion.of(fit.core, fit.model.source, fit.stats, rng))


def test_one_component_loses_rows_as_least_squares_does():
    data = rows(40)
    fit = fit_of(data, 1, priors=FLAT)
    own = jackknife_of(fit)
    changes = own.changes(-group_sums(own.deletion, np.arange(40)))
    draws = own.draws(np.concatenate([np.zeros((1, own.size)), changes]))["coefficients"]
    design = fit.model.source.take(np.arange(40))
    ols = sm.OLS(design.response[0], design.designs["mean"].T).fit()
    found = draws[1:, 0, 0] - draws[0, 0, 0]
    assert_allclose(found, -ols.get_influence().dfbeta, atol=1e-6)


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking", "dirichlet"])
def test_changes_are_those_of_refits_without_the_row(gate):
    data = rows(150)
    fit = fit_of(data, 2, gate=gate)
    own, at = jackknife_of(fit), np.array([3, 70, 141])
    changes = own.changes(-group_sums(own.deletion, np.arange(150)))
    for row in at:
        rest = fit.model.source.without(np.array([row]))
        sums = rest.map_reduce(partial(fit.core.e_step, fit.q)).stats
        start = fit.core.global_step(fit.q, sums)
        budget, streams = Budget(tol=1e-12, max_iter=3000), Streams(1).branch("test")
        ascent = fit.engine.run(fit.core, rest, start, budget, streams)
        exact = own.centre(fit.core.update(ascent.stats))
        assert np.linalg.norm(changes[row] - exact) < 0.12 * np.linalg.norm(exact) + 2e-3


def test_many_small_changes_are_linear_and_nearly_the_same(monkeypatch):
    own = jackknife_of(fit_of(rows(150), 2))
    direct = -group_sums(own.deletion, np.arange(150))
    whole = own.changes(direct)
    monkeypatch.setattr(module, "CURVED", 5)
    some = own.changes(direct)
    assert (np.abs(some - whole).max(axis=1) < 1e-12).sum() >= 5
    off = np.linalg.norm(some - whole, axis=1)
    assert 0.0 < off.max() < 0.1 * np.linalg.norm(whole, axis=1).max()


def test_the_posterior_has_curvature_one_in_its_standard_coordinates():
    own = jackknife_of(fit_of(rows(150), 1, priors=FLAT))
    # Coefficients are normal given the noise; log tau has a gamma law, normal up to 1 / rows.
    assert_allclose(own._curvatures()[0], np.eye(own.size), atol=0.03)


def test_curvatures_are_second_derivatives_of_both_log_densities():
    own = jackknife_of(fit_of(rows(60), 2))
    turn = np.linalg.qr(np.random.default_rng(1).normal(size=(own.size, own.size)))[0]
    step = 0.05 * turn[:, :4].T
    sides = own._log_densities(step) + own._log_densities(-step)
    along = (2.0 * own._log_densities(np.zeros((1, own.size))) - sides) / 0.05**2
    expected = np.einsum("di,lij,dj->ld", turn[:, :4].T, own._curvatures(), turn[:, :4].T)
    assert_allclose(along, expected, atol=2e-3)


def of_solver(own):
    """Covariance of the coordinates by the solver of the statistics, with no linear response."""
    found = replace(own, response=withheld("the moon was full")).covariance
    return found, np.sqrt(np.diag(found))


@pytest.mark.parametrize("n_components", [1, 2])
def test_the_covariance_is_that_of_the_dense_solver(n_components):
    fit = fit_of(rows(200), n_components)
    own = jackknife_of(fit)
    assert isinstance(own.deletion.derivative, DenseSensitivity)
    expected, sds = of_solver(own)
    for found in (own.covariance, fit.response.covariance):
        assert_allclose(found / np.outer(sds, sds), expected / np.outer(sds, sds), atol=1e-6)


def test_the_covariance_of_a_fit_is_not_computed_again(monkeypatch):
    fit = fit_of(rows(60), 2)
    monkeypatch.setattr(module, "linear_response", pytest.fail)
    assert fit.one_restart.jackknife.covariance is fit.response.covariance


def test_of_one_component_it_is_a_closed_form():
    data = rows(120).assign(g=np.arange(120) % 9)
    data["y"] += 0.6 * np.random.default_rng(2).normal(size=9)[data.g]
    model = bvb.DensityRegression("y ~ x + (1 | g)", data, n_components=1)
    own = jackknife_of(model.fit(seed=1, restarts=2, draws=30, tol=1e-11, max_iter=5000))
    found = own.covariance
    expected, sds = of_solver(own)
    assert np.abs(found / np.outer(sds, sds) - expected / np.outer(sds, sds)).max() < 1e-5
    assert (found != expected).any()


def test_of_what_no_row_informs_the_prior_is_all_that_is_known():
    fit = fit_of(rows(60), 1, priors=bvb.Priors(scales="fixed"))
    information = jackknife_of(fit).prior_information
    assert information.shape == (3, 3)  # one component has no gate
    assert np.diag(information)[:2].max() < 1e-3  # coefficients of the line
    values = np.linalg.eigvalsh(information)
    assert values[0] > -1e-12


def test_changes_that_leave_no_data_are_shortened():
    fit = fit_of(rows(60), 2)
    own = jackknife_of(fit)
    far = own.changes(-0.999 * own.deletion.stats.to_vector()[None])
    assert np.isfinite(far).all()
    wide = replace(
        own.deletion,
        derivative=replace(
            own.deletion.derivative, rows=0.99999 * np.eye(own.deletion.derivative.n_entries)
        ),
    )
    assert np.isfinite(Jackknife(wide).changes(-group_sums(wide, np.arange(60)))).all()


def test_differences_are_made_in_the_entries_that_change_only(monkeypatch):
    fit = fit_of(rows(60), 2, family="student")
    own = jackknife_of(fit)
    change = np.zeros((3, own.deletion.derivative.n_entries))
    change[:, [0, 3, 5]] = np.random.default_rng(1).normal(size=(3, 3))
    assert_allclose(own._linear(change), change @ own.derivative.T, rtol=1e-8, atol=1e-12)
    whole, centres = own.derivative.shape[1], []
    monkeypatch.setattr(Jackknife, "centre", lambda *_: centres.append(1) or np.zeros(own.size))
    own._linear(change)
    assert len(centres) == 2 * 3 < 2 * whole


def test_changes_are_the_same_a_part_at_a_time():
    fit = fit_of(rows(60), 2)
    own = jackknife_of(fit)
    direct = -group_sums(own.deletion, np.arange(60))
    parts = [direct[:7], direct[7:8], direct[8:]]
    assert_allclose(own.linear(iter(parts)), own.linear([direct]), rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize(
    ("formula", "options"),
    [
        ("y ~ x", {"n_components": 1, "priors": bvb.Priors(coefficient_units="noise")}),
        ("y ~ x", {"n_components": 3, "gate": "softmax"}),
        ("y + z ~ x", {"n_components": 2, "gate": "stick-breaking", "weights": "w"}),
        ("y ~ x + (1 | g) | x + (1 | g)", {"n_components": 2}),
        ("y ~ x", {"n_components": 2, "family": "student"}),
        ("y ~ x", {"n_components": 2, "gate": "dirichlet"}),
    ],
)
def test_slopes_of_the_centre_are_those_of_differences(formula, options):
    data = rows(120).assign(g=np.arange(120) % 6, w=np.linspace(0.5, 2.0, 120))
    data["z"] = data.x**2 + data.y
    fit = bvb.DensityRegression(formula, data, **options).fit(seed=1, restarts=1, draws=50)
    own = jackknife_of(fit)
    entries = np.arange(own.deletion.derivative.n_entries)[1::2]
    known, expected = own._of_expectations(entries), own._central(entries)
    assert (known is None) == ("family" in options)
    found = own._differences(entries)
    assert_allclose(found, expected, rtol=1e-6, atol=1e-7 * np.abs(expected).max())


def test_singular_statistics_have_no_neighbours_on_one_side():
    """Equal columns: their sums of squares change by different amounts, also where they add up."""

    @dataclass(frozen=True)
    class Sums:
        at: np.ndarray

        def to_vector(self):
            return self.at

        def with_vector(self, at):
            return Sums(at)

    def update(stats):
        a, b, c = stats.at[-3:]
        if a * c < b * b:
            raise np.linalg.LinAlgError("no root")

    def check(at):
        deletion = SimpleNamespace(stats=Sums(at), model=SimpleNamespace(update=update))
        Jackknife._check_neighbours(SimpleNamespace(deletion=deletion, centre=lambda q: None))

    check(np.array([0.0, 0.0, 2.0, 1.0, 2.0]))
    with pytest.raises(DataError, match="not a differentiable function"):
        check(np.array([0.0, 0.0, 1.0, 1.0, 1.0]))
