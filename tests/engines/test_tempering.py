"""Chains have the exact posterior, with one power and with several, and end well on Ctrl-C."""

import numpy as np
import pytest

import bayesvb.engines.tempering as tempering
from bayesvb.engines.hamiltonian import Hamiltonian, StepSize, Walkers, inverse_mass_root
from bayesvb.engines.tempering import FEWEST_KEPT, POWERS, Ladders
from bayesvb.evaluation.mixing import mixing
from bayesvb.variational.reduced_space import AbstractReducedSpace


class TwoRegimes(AbstractReducedSpace):
    """Two normal laws with weights 0.7 and 0.3, ten standard deviations apart; a flat prior."""

    size = 2
    few_rows = 0

    def vectors(self, draws):
        return draws["v"]

    def log_lik(self, vectors):
        return self.log_lik_slopes(vectors)[0]

    def log_lik_slopes(self, vectors):
        ends = np.array([[-1.5, 0.0], [1.5, 0.0]])
        shift = vectors - ends[:, None]
        each = np.log([[0.7], [0.3]]) - (shift**2).sum(axis=2) / 0.18
        total = np.logaddexp(*each)
        share = np.exp(each - total)[:, :, None]
        return total, -(share * shift).sum(axis=0) / 0.09

    def log_prior_slopes(self, vectors):
        return -0.5 * (vectors**2).sum(axis=1) / 9.0, -vectors / 9.0

    def complete(self, vectors, rng):
        return {"v": vectors}, np.zeros(len(vectors))

    def log_joint(self, vectors, draws):
        return self.log_density(vectors)


@pytest.mark.parametrize("powers", [(1.0,), POWERS])
@pytest.mark.heavy
def test_the_slope_of_one_line_is_that_of_the_closed_form(powers, one_line):
    model, mean, sd = one_line
    space = model.core.reduced_space(model.source.whole())
    starts = 0.3 * np.random.default_rng(1).standard_normal((300, space.size))
    found = Ladders(space, powers).sample(starts, 150, np.random.default_rng(2))
    draws, _ = space.complete(found.vectors.reshape(-1, space.size), np.random.default_rng(0))
    slope = draws["coefficients"][:, 0, 0, 1]
    mixed = mixing(slope.reshape(16, 150, 1))
    effective = mixed["ess_bulk"][0]
    assert mixed["r_hat"][0] < 1.03 and effective > 500.0
    assert abs(slope.mean() - mean) < 4.0 * sd / np.sqrt(effective)
    assert abs(slope.std() / sd - 1.0) < 4.0 / np.sqrt(effective)


def test_tempering_finds_the_weights_of_regimes_that_hmc_cannot_reach():
    """All chains start in one regime. Its weight is 0.7; the standard error here is 0.02."""
    starts = np.array([-1.5, 0.0]) + 0.3 * np.random.default_rng(0).standard_normal((200, 2))
    powers = (1.0, 0.5, 0.25, 0.1)
    shares = []
    for each in ((1.0,), powers):
        found = Ladders(TwoRegimes(), each).sample(starts, 400, np.random.default_rng(5))
        shares.append((found.vectors[:, :, 0] < 0.0).mean())
    assert shares[0] > 0.99
    assert abs(shares[1] - 0.7) < 0.08


def test_the_same_seed_gives_the_same_bits():
    space, starts = TwoRegimes(), np.random.default_rng(0).standard_normal((100, 2))
    one, again = (
        Ladders(space, n_ladders=4).sample(starts, 10, np.random.default_rng(3)) for _ in range(2)
    )
    assert np.array_equal(one.vectors, again.vectors)


@pytest.mark.parametrize("steps, ends", [(FEWEST_KEPT + 5, True), (FEWEST_KEPT - 1, False)])
def test_an_interrupt_keeps_the_draws_so_far_if_they_are_enough(monkeypatch, steps, ends):
    calls = {"left": sum(tempering.WARM_UP) + steps}
    advance = Ladders._advance

    def interrupted(self, *args, **kwargs):
        if not calls["left"]:
            raise KeyboardInterrupt
        calls["left"] -= 1
        return advance(self, *args, **kwargs)

    monkeypatch.setattr(Ladders, "_advance", interrupted)
    starts = np.random.default_rng(0).standard_normal((100, 2))
    ladders = Ladders(TwoRegimes(), n_ladders=2)
    if not ends:
        with pytest.raises(KeyboardInterrupt):
            ladders.sample(starts, 200, np.random.default_rng(1))
        return
    found = ladders.sample(starts, 200, np.random.default_rng(1))
    assert found.interrupted
    assert found.vectors.shape == (2, steps, 2)
    assert found.log_density.shape == (2, steps)


def test_the_step_adapts_to_its_goal():
    space, powers = TwoRegimes(), np.ones(64)
    rng = np.random.default_rng(0)
    walkers = Walkers.at(space, np.tile([-1.5, 0.0], (64, 1)))
    moves, step = Hamiltonian(space, powers, 0.3 * np.eye(2)), StepSize.first(-3.0, 0.8)
    rates = []
    for number in range(120):
        walkers, rate = moves.transition(walkers, step.log_step, number, rng)
        step = step.adapted(rate)
        rates.append(rate)
    assert abs(np.mean(rates[60:]) - 0.8) < 0.08


def test_masses_are_the_covariance_where_the_law_is_normal():
    rng = np.random.default_rng(1)
    covariance = np.array([[2.0, 0.6], [0.6, 0.5]])
    vectors = rng.multivariate_normal(np.zeros(2), covariance, 4000)
    gradients = -vectors @ np.linalg.inv(covariance)
    root = inverse_mass_root(vectors, gradients)
    assert np.abs(root @ root.T / covariance - 1.0).max() < 0.05
    vectors[0] *= 1e3  # one draw far out inflates the covariance of places 200-fold
    far = inverse_mass_root(vectors, -vectors @ np.linalg.inv(covariance))
    assert np.isfinite(far).all()
