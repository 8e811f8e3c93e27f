"""Predictive mixtures of vectors: densities, marginals, conditionals, draws, units."""

import numpy as np
import pytest
import scipy.stats
from numpy.testing import assert_allclose
from scipy.integrate import quad
from scipy.special import logsumexp

from bayesvb.data.blocks import Block
from bayesvb.distributions.multivariate_student import IndependentStudents, JointStudent
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

DOF = np.array([2.5, 7.0, 40.0])
WEIGHTS = np.array([0.5, 0.3, 0.2])
FORMS = ("full", "diagonal")
every_form = pytest.mark.parametrize("form", FORMS)


def joint(form, dims, rng):
    location = 1.5 * rng.normal(size=(3, dims))
    root = rng.normal(size=(3, dims, dims + 1))
    if form == "full":
        return JointStudent(WEIGHTS, location, root @ np.swapaxes(root, 1, 2), DOF)
    return IndependentStudents(WEIGHTS, location, rng.uniform(0.3, 2.0, (3, dims)), DOF)


def by_scipy(law, x):
    """Log density of each component, from the parameters alone."""
    if isinstance(law, JointStudent):
        laws = map(scipy.stats.multivariate_t, law.location, law.scale, law.dof)
        return np.array([np.atleast_1d(one.logpdf(x.T)) for one in laws])
    return np.array(
        [
            scipy.stats.t(law.dof[k], law.location[k], law.scale[k]).logpdf(x.T).sum(axis=1)
            for k in range(len(law.dof))
        ]
    )


@every_form
@pytest.mark.parametrize("dims", [1, 2, 5])
def test_the_density_is_that_of_scipy(form, dims, rng):
    law, x = joint(form, dims, rng), 3.0 * rng.normal(size=(dims, 30))
    components = by_scipy(law, x)
    expected = components + np.log(WEIGHTS)[:, None]
    assert_allclose(law.component_log_density(x), components, rtol=1e-11, atol=1e-11)
    assert_allclose(law.log_density(x), logsumexp(expected, axis=0), rtol=1e-11)
    shares = np.exp(expected - logsumexp(expected, axis=0))
    assert_allclose(law.responsibilities(x), shares, rtol=1e-9, atol=1e-14)


def test_the_density_keeps_its_digits_for_many_degrees_of_freedom():
    eye = np.eye(3)[None]
    x = np.array([[0.5], [1.0], [-2.0]])
    normal = scipy.stats.multivariate_normal(np.zeros(3)).logpdf(x[:, 0])
    for dof in (1e6, 1e9):
        law = JointStudent(np.ones(1), np.zeros((1, 3)), eye, np.array([dof]))
        # the first correction to the normal is ((d^2 - 2 d - 2 n d ...) / dof), below 20 / dof
        assert law.log_density(x)[0] == pytest.approx(normal, abs=20.0 / dof + 1e-12)


@every_form
def test_marginals_are_integrals_of_the_joint_density(form, rng):
    law = joint(form, 2, rng)
    for at in (-2.0, 0.3, 4.0):
        found = law.marginal(1).log_density(np.array([at]))[0]

        def density(t, at=at):
            return float(np.exp(law.log_density(np.array([[t], [at]]))[0]))

        expected = quad(density, -np.inf, np.inf, epsabs=1e-12, epsrel=1e-9, limit=400)[0]
        assert np.exp(found) == pytest.approx(expected, rel=1e-7)


@every_form
def test_a_subset_is_the_marginal_of_some_variables_in_their_order(form, rng):
    law, x = joint(form, 4, rng), rng.normal(size=(4, 10))
    whole = law.subset([3, 0, 2, 1])
    assert_allclose(whole.log_density(x[[3, 0, 2, 1]]), law.log_density(x), rtol=1e-11)
    one = law.subset([2]).log_density(x[2:3])
    expected = [law.marginal(2).log_density(value[None])[0] for value in x[2]]
    assert_allclose(one, expected, rtol=1e-11)


@every_form
@pytest.mark.parametrize("dims", [1, 2, 4])
def test_joint_is_marginal_times_conditional(form, dims, rng):
    law, x = joint(form, dims, rng), 2.0 * rng.normal(size=(dims, 25))
    for variable in range(dims):
        others = [i for i in range(dims) if i != variable]
        rest = law.subset(others).log_density(x[others]) if others else 0.0
        given = law.conditional(variable, x).log_density(x[variable])
        assert_allclose(rest + given, law.log_density(x), rtol=1e-10, atol=1e-12)


@every_form
def test_the_variable_itself_is_not_read(form, rng):
    law, x = joint(form, 3, rng), rng.normal(size=(3, 8))
    blind = x.copy()
    blind[1] = np.nan
    one, other = law.conditional(1, x), law.conditional(1, blind)
    for name in ("weights", "location", "scale"):
        assert_allclose(getattr(one, name), getattr(other, name))


@every_form
def test_conditional_distribution_functions_of_draws_are_uniform_and_marginals_fit(form, rng):
    law = joint(form, 3, rng)
    x = law.draws(4000, rng)
    assert x.shape == (3, 4000)
    for variable in range(3):
        pit = law.conditional(variable, x).cdf(x[variable])
        assert scipy.stats.kstest(pit, "uniform").pvalue > 1e-3
        marginal = law.marginal(variable)
        values = np.array([marginal.cdf(value[None])[0] for value in x[variable, :1500]])
        assert scipy.stats.kstest(values, "uniform").pvalue > 1e-3


@every_form
def test_units_change_the_density_by_the_jacobian(form, rng):
    law, x = joint(form, 3, rng), rng.normal(size=(3, 12))
    shift, factor = np.array([1.0, -2.0, 0.5]), np.array([2.0, -0.1, 30.0])
    moved = law.affine(shift, factor)
    y = shift[:, None] + factor[:, None] * x
    expected = law.log_density(x) - np.log(np.abs(factor)).sum()
    assert_allclose(moved.log_density(y), expected, rtol=1e-10, atol=1e-12)
    for variable in range(3):
        one, other = law.conditional(variable, x), moved.conditional(variable, y)
        below = one.cdf(x[variable])
        found = other.cdf(y[variable])
        assert_allclose(found, below if factor[variable] > 0 else 1.0 - below, atol=1e-10)


@every_form
def test_the_predictive_of_a_fit_is_the_mean_density_over_draws(form, rng):
    """Also that of one variable, through the mixture's own ``predictive``."""
    x = np.concatenate([rng.normal(size=(2, 40)) - 2.0, rng.normal(size=(2, 40)) + 2.0], axis=1)
    block = Block({"variables": x}, np.zeros((0, 80)))
    experts = GAUSSIAN_EXPERTS[form](np.zeros(2), 0.5, 3.0, np.eye(2))
    model = Mixture(experts, DirichletGate(Dirichlet(np.ones(2))))
    partition = np.repeat(np.eye(2), 40, axis=1)
    q = model.update(model.first_stats(model.partition_stats(block, partition)))
    for _ in range(20):
        q = model.update(model.e_step(q, block).stats)
    law = experts.joint_predictive(q.experts, q.gate.mean)
    values = np.exp(model.log_lik(model.draws(q, 20_000, rng), block))
    error = 4.5 * values.std(axis=0) / np.sqrt(len(values)) + 1e-9
    assert (np.abs(np.exp(law.log_density(x)) - values.mean(axis=0)) < error).all()
    found = model.predictive(q, block, response=1)
    expected = [law.marginal(1).log_density(value[None])[0] for value in x[1]]
    assert_allclose(found.log_density(x[1]), expected, rtol=1e-12)
