"""Parameter spaces of all models: the names, shapes and values of their draws."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import softmax

from bayesvb.models.scaled_coordinates import SCALE_DRAWS


@pytest.fixture
def core(case, table):
    core = case.model(table).core
    if core.parameter_space() is None:
        pytest.skip("a part of the model does not tell the support of its parameters")
    return core


@pytest.fixture
def draws(core, rng):
    return core.prior_draws(20, rng)


def test_draws_have_the_names_and_shapes_of_the_space_and_lie_in_it(core, draws):
    supports = core.parameter_space().supports
    assert list(supports) == list(draws)
    for name, support in supports.items():
        assert (20, *support.shape) == draws[name].shape, name
        assert support.contains(draws[name]), name


def test_vectors_stand_for_draws(core, draws, rng):
    space = core.parameter_space()
    vectors = space.vectors(draws)
    assert vectors.shape == (20, space.size) and np.isfinite(vectors).all()
    again, log_volume = space.draws(vectors)
    for name, values in draws.items():
        scale = np.abs(values).max(axis=tuple(range(1, values.ndim)), keepdims=True)
        assert_allclose(again[name] / scale, values / scale, rtol=1e-6, atol=1e-9)
    each = [support.constrained(support.free(draws[k]))[1] for k, support in space.supports.items()]
    assert_allclose(log_volume, sum(each), rtol=1e-9)


# Labels


@pytest.fixture
def fitted(case, core, table):
    model = case.model(table)
    rows = model.source.take(np.arange(model.source.n_rows))
    partition = softmax(3.0 * np.random.default_rng(5).normal(size=(core.n_components, 90)), axis=0)
    posterior = core.update(core.first_stats(core.partition_stats(rows, partition)))
    return posterior, rows


def test_relabelled_draws_have_the_same_density_and_keep_their_labels(core, draws, fitted):
    posterior, rows = fitted
    found, changed = core.relabelled_draws(draws, posterior, rows)
    assert 0 <= changed <= 20
    assert_allclose(core.log_prior(found), core.log_prior(draws), rtol=1e-10)
    likelihood = core.log_lik(draws, rows)
    assert_allclose(core.log_lik(found, rows), likelihood, rtol=1e-7, atol=1e-9)
    again, none = core.relabelled_draws(found, posterior, rows)
    assert none == 0
    for name in draws:
        assert_array_equal(again[name], found[name])


def test_draws_of_other_labels_get_those_of_the_posterior_where_labels_are_exchangeable(
    case, core, fitted, rng
):
    posterior, rows = fitted
    drawn = core.draws(posterior, 20, rng)
    usual, swapped = core.relabelled_draws(drawn, posterior, rows)
    exchangeable = getattr(getattr(core, "gate", None), "exchangeable", False)
    if not exchangeable or core.n_components == 1:
        return
    turned = {k: v if k in SCALE_DRAWS else v[:, ::-1].copy() for k, v in drawn.items()}
    found, changed = core.relabelled_draws(turned, posterior, rows)
    assert changed + swapped == 20
    assert changed >= 16  # the two Weibull components of this partition are nearly one
    for name in drawn:
        assert_array_equal(found[name], usual[name])


def test_principal_components_have_the_signs_and_order_of_the_posterior(case, core, fitted, rng):
    if case.kind != "BayesianPCA":
        return
    posterior, rows = fitted
    drawn = core.draws(posterior, 20, rng)
    usual, _ = core.relabelled_draws(drawn, posterior, rows)
    turned = {
        **drawn,
        "loadings": -drawn["loadings"][..., ::-1],
        "relevance": drawn["relevance"][:, ::-1],
    }
    found, changed = core.relabelled_draws(turned, posterior, rows)
    assert changed >= 18
    assert_array_equal(found["loadings"], usual["loadings"])
    assert_array_equal(found["relevance"], usual["relevance"])
