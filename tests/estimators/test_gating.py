"""One component: the weight 1, no coefficients of a gate, one start."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.data.blocks import Block
from bayesvb.estimators.gating import averaged, gate_class
from bayesvb.gates.dirichlet import DirichletGate
from bayesvb.gates.stick_breaking import StickBreakingGate


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    x, g = rng.normal(size=90), np.arange(90) % 6
    y = x + rng.normal(size=6)[g] + rng.normal(size=90)
    return pd.DataFrame({"x": x, "g": g, "z": rng.normal(size=90), "y": y})


def fit_of(data, formula, restarts=8, **options):
    model = bvb.DensityRegression(formula, data, n_components=1, **options)
    return model.fit(seed=1, restarts=restarts, draws=50)


def test_the_gating_formula_and_the_number_of_restarts_change_nothing(data):
    first = fit_of(data, "y ~ x + (1 | g)")
    assert len(first.restarts) == 1
    for formula, options in (
        ("y ~ x + (1 | g) | z", {"restarts": 3}),
        ("y ~ x + (1 | g) | 1", {"gate": "stick-breaking"}),
    ):
        other = fit_of(data, formula, **options)
        assert other.elbo == first.elbo
        pd.testing.assert_frame_equal(other.summary(), first.summary())


def test_no_table_has_a_gate(data, tmp_path):
    fit = fit_of(data, "y ~ x + (1 | g)")
    assert set(fit.model.source.whole().designs) == {"mean"}
    assert isinstance(fit.core.gate, DirichletGate) and fit.core.kl(fit.q) > 0.0
    assert "gamma" not in fit.posterior and "gating" not in fit.model.prior_table().index
    assert "restarts" not in str(fit) and "gating" not in fit.summary().index
    again = bvb.load(fit.save(tmp_path / "fit.nc"))
    assert_array_equal(again.draws["coefficients"], fit.draws["coefficients"])


def test_rows_that_lack_a_value_of_the_gating_formula_are_dropped(data):
    """Fits with one and with two components are to the same rows and can be compared."""
    lacking = data.assign(z=data.z.where(data.index > 4))
    assert fit_of(lacking, "y ~ x | z").nobs == 85


def test_members_of_a_group_may_differ_in_what_no_weight_depends_on(data):
    grouped = fit_of(data, "y ~ x", group="g")
    rows = fit_of(data, "y ~ x", priors=bvb.Priors(coefficient_units="noise"))
    assert grouped.elbo == pytest.approx(rows.elbo, rel=1e-10)
    assert_allclose(grouped.log_density(data).sum(), grouped.log_density().sum())


def test_several_components_have_the_gate_that_is_named():
    assert gate_class("stick-breaking", 2) is StickBreakingGate
    assert gate_class("stick-breaking", 1) is DirichletGate


@pytest.mark.parametrize("shape", [(2,), (5, 3)])
def test_rows_count_by_their_case_weight(shape, rng):
    weights, repeats = rng.uniform(size=(*shape, 6)), np.array([0, 1, 2, 3, 1, 5])
    rows = Block({}, np.zeros((1, 6)))
    weighted = Block({}, np.zeros((1, 6)), repeats.astype(float))
    assert_allclose(averaged(weights, rows), weights.mean(axis=-1))
    expected = np.repeat(weights, repeats, axis=-1).mean(axis=-1)
    assert_allclose(averaged(weights, weighted), expected)
    constant = weights[..., :1]  # of a gate whose weights are the same in every row
    assert_allclose(averaged(constant, weighted), constant[..., 0])
