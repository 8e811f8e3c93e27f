"""R-hat and effective sample size, against their definitions and what is known of them."""

import numpy as np
import pytest

from bayesvb.evaluation.mixing import mixing


@pytest.fixture
def chains():
    return np.random.default_rng(1).normal(size=(4, 250, 6))


def test_independent_draws_agree_and_count_fully(chains):
    found = mixing(chains)
    assert (found["r_hat"] < 1.02).all()
    assert ((found["ess_bulk"] > 600) & (found["ess_bulk"] < 1500)).all()


def test_chains_in_different_places_are_told(chains):
    chains[0, :, 2] += 2.0
    found = mixing(chains)["r_hat"]
    assert found[2] > 1.1 and (np.delete(found, 2) < 1.02).all()


def test_correlated_draws_count_less(chains):
    slow = np.cumsum(chains, axis=1) / 10.0
    assert (mixing(slow)["ess_bulk"] < 100).all()


def test_what_never_varies_has_none(chains):
    chains[..., 0] = 3.0
    found = mixing(chains)
    assert np.isnan(found["r_hat"][0]) and np.isnan(found["ess_bulk"][0])
    assert np.isfinite(found["r_hat"][1:]).all()
