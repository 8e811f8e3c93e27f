"""Restarts that are combined: where they stop, and which of them rows are left out of with care."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import bayesvb as bvb
from bayesvb.engines import cavi as ascent
from bayesvb.engines import restarts
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.engines.em import Em
from bayesvb.engines.folds import continued, extrapolated_density, folds, held_out_density
from bayesvb.errors import ConvergenceWarning
from bayesvb.estimators import weighing
from bayesvb.estimators.weighing import apart
from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.numerics.streams import Streams
from bayesvb.results.base import PREDICTION_DISTANCE
from bayesvb.results.checks.computation import computation_checks
from bayesvb.results.limits import LIMITS

pytestmark = pytest.mark.filterwarnings(
    "ignore:.*unreliable", "ignore:the ELBO was still increasing"
)


@pytest.fixture(scope="module")
def rows():
    return bvb.datasets.SIMULATIONS["pinwheel"].sample(40, np.random.default_rng(3))


@pytest.fixture(scope="module")
def model(rows):
    return bvb.ConditionalMixtureNetwork("label ~ .", rows, n_experts=3)


@pytest.fixture(scope="module")
def usual(model):
    return fit_of(model)


def fit_of(model, **options):
    return model.fit(restarts=3, draws=25, seed=2, **options)


@pytest.mark.heavy
def test_combined_restarts_stop_by_nats_per_row(model, usual):
    """Those of a smaller tolerance, and the best restart alone, climb further."""
    fine = fit_of(model, tol=1e-6)
    best = fit_of(model, combine="best")
    assert usual.converged and fine.converged and best.converged
    passes = usual.restarts["n_iter"].sum()
    assert passes < fine.restarts["n_iter"].sum() and passes < best.restarts["n_iter"].sum()
    assert (fine.restarts["elbo"] > usual.restarts["elbo"] - 0.01).all()


@pytest.mark.heavy
def test_bounds_never_fall_where_passes_become_finer(usual):
    for trace in usual.traces.values():
        assert (np.diff(trace) >= -1e-9 * np.abs(trace[:-1])).all()


@pytest.mark.heavy
def test_passes_of_a_coarse_tolerance_lack_little(model, usual):
    """The bound of the model with one inner step is lower, by less than it may be."""
    block, own = model.source.whole(), usual.parts[0].fit.core
    q, coarse = own.update(usual.parts[0].fit.stats), own.within(3e-3)
    lost = (own.e_step(q, block).bound - coarse.e_step(q, block).bound) / block.n_rows
    assert 0.0 < lost < 3e-3
    assert own.within(5e-5) is own
    assert_allclose(coarse.log_predictive(q, block), own.log_predictive(q, block), atol=0.05)


@pytest.mark.heavy
def test_weights_are_those_of_whole_ascents_where_these_take_little_time(model, usual, monkeypatch):
    assert all(member.fit.held_out is not None for member in usual.parts)
    monkeypatch.setattr(weighing, "LITTLE_WORK", 0.0)
    short = fit_of(model)
    assert all(member.fit.held_out is None for member in short.parts)
    assert_array_equal(short.restarts["elpd_per_row"], usual.restarts["elpd_per_row"])
    counted = set(usual.restarts.index[usual.restarts["weight"] > 0.0])
    assert counted <= set(short.restarts.index[short.restarts["weight"] > 0.0])
    assert short.restarts["weight"].sum() == pytest.approx(1.0)


def test_stacking_weights_of_networks_have_a_prior_of_three_tenths_of_a_row(usual):
    """The maximum a posteriori: gradients of the log posterior are equal for all weights."""
    density = np.exp([member.fit.held_out for member in usual.parts])
    weights = np.array([member.weight for member in usual.parts])
    gradient = (density / (weights @ density)).sum(axis=1) + 0.3 / weights
    assert len(weights) == 3 and -np.log(density).mean(axis=1).max() > weighing.UNCERTAIN
    assert_allclose(gradient, gradient[0], rtol=1e-3)


@pytest.mark.heavy
def test_a_density_is_extrapolated_on_the_scale_of_log_passes(model, usual):
    fit = usual.parts[0].fit
    core, source, place = fit.core, model.source, Streams(2).branch("restart", 1)
    found = extrapolated_density(core, source, fit.stats, Cavi(), place)
    whole = held_out_density(core, source, fit.stats, Cavi(), place)
    seen = core.log_predictive(core.update(fit.stats), source.whole())
    assert np.abs(found - whole).mean() < 0.5 * np.abs(seen - whole).mean()
    rows, rest = next(iter(folds(source)))
    alike = held_out_density(core, source, fit.stats, Cavi(), place)
    q = core.update(continued(core, rest, fit.stats, Cavi(), place.branch("fold", 0)))
    assert_array_equal(alike[rows], core.log_predictive(q, source.take(rows)))


@pytest.mark.heavy
def test_the_same_bits_with_any_number_of_threads(model, usual):
    one, two = fit_of(model, n_jobs=1), usual
    assert_array_equal(one.restarts["elbo"], two.restarts["elbo"])
    assert_array_equal(one.restarts["weight"], two.restarts["weight"])
    for name, values in one.draws.items():
        assert_array_equal(values, two.draws[name])


@pytest.fixture(scope="module")
def nearly_certain():
    x = np.random.default_rng(4).normal(size=(40, 2))
    label = np.where(x[:, 0] > 0.0, "right", "left")
    return bvb.ConditionalMixtureNetwork(
        "label ~ .", {"a": x[:, 0], "b": x[:, 1], "label": label}, n_experts=2
    )


@pytest.mark.heavy
def test_restarts_that_are_nearly_certain_go_on_to_a_smaller_tolerance(nearly_certain, monkeypatch):
    usual = fit_of(nearly_certain)
    monkeypatch.setattr(weighing, "UNCERTAIN", np.finfo(float).tiny)
    any_loss = fit_of(nearly_certain)
    assert usual.restarts["n_iter"].sum() > any_loss.restarts["n_iter"].sum()
    number = usual.restarts["weight"].idxmax()
    assert usual.restarts["elbo"][number] > any_loss.restarts["elbo"][number]


@pytest.mark.heavy
def test_tolerances_go_by_the_loss_of_classes_alone(monkeypatch):
    """A density of numbers has a unit: in another one the same fit would seem more certain."""
    rng = np.random.default_rng(6)
    noise = {"x": rng.normal(size=60), "y": rng.normal(size=60)}
    model = bvb.ConditionalMixtureNetwork("y ~ x", noise, n_experts=2)
    assert not model.core.predicts_classes
    usual = fit_of(model, max_iter=40)
    monkeypatch.setattr(weighing, "UNCERTAIN", 1e3)
    assert_array_equal(fit_of(model, max_iter=40).restarts["weight"], usual.restarts["weight"])


def test_limits_shrink_with_the_loss():
    count = weighing.Count({0: 0.75, 1: 0.15, 2: 0.06, 3: 0.04}, uncertainty=0.25)
    assert count.large == [0, 1, 2]
    assert weighing.Count(count.weights).large == [0]
    assert weighing.Count({4: 0.1}).large == [4]
    assert count.tolerated(Budget(1e-3, 10, per_row=4e-4)) == Budget(1e-3, 10, per_row=1e-4)


def test_point_estimates_predict_classes_as_their_model_does(model, regimes):
    numbers = bvb.ConditionalMixtureNetwork("y ~ x", regimes, n_experts=2)
    for core in (model.core, numbers.core):
        assert Em().model_for(core).predicts_classes == core.predicts_classes


@pytest.mark.parametrize("share", [0.0, 0.2, 0.4, 0.6, 0.8, 0.97])
@pytest.mark.quick(share=(0.4,))
def test_after_an_interrupt_no_restart_goes_on_over_all_rows(share, regimes, monkeypatch):
    """Whenever Ctrl-C comes: each that counts has its bound on all rows, which is one pass."""
    passes, pressed, plain = [], [], ascent.one_pass

    def counted(model, source, stats):
        passes.append(source.n_rows)
        if len(passes) in pressed:
            raise KeyboardInterrupt
        return plain(model, source, stats)

    def fitted():
        passes.clear()
        return model.fit(seed=1, restarts=2, combine="average", draws=30, tol=1e-9, n_jobs=1,
                         max_iter=60)  # fmt: skip

    monkeypatch.setattr(restarts, "MANY_ROWS", 80)
    monkeypatch.setattr(ascent, "one_pass", counted)
    model = bvb.ConditionalMixtureNetwork("y ~ x + z | gating(x)", regimes, n_experts=2)
    fitted()
    assert {40, 150} <= set(passes), "both over a sample and over all rows"
    pressed.append(2 + int(share * len(passes)))
    with pytest.warns(ConvergenceWarning, match="interrupted"):
        fit = fitted()
    assert not fit.converged and np.isfinite(fit.elbo)
    assert len(passes) - pressed[0] <= 2 * max(len(fit.members), 1)


class Law:
    """A model whose log density of a row is its state."""

    n_components = 2

    def update(self, stats):
        return stats

    def log_predictive(self, posterior, block):
        return posterior + np.zeros(block)


class Rows:
    n_rows = 50

    def take(self, at):
        return len(at)


def search(scores, states, law=None):
    made = law or Law()
    runs = [
        type("Run", (), {"model": made, "score": score,
                         "ascent": type("Ascent", (), {"stats": state})})
        for score, state in zip(scores, states, strict=True)
    ]  # fmt: skip
    best = int(np.argmax(scores))
    return type("Search", (), {"runs": runs, "best": best, "screened": Rows()})


def test_only_rivals_are_compared(unchecked):
    below = [0.0, 0.5 * SAME, 1.0, LIMITS.rival + 0.1]
    (distance,) = apart(search(-np.array(below), [0.0, 0.0, 0.3, 0.7])).values()
    assert distance[:3] == pytest.approx([0.0, 0.0, 0.3]) and np.isnan(distance[3])


def test_nothing_is_compared_where_there_is_one_optimum_or_no_density(unchecked):
    assert apart(search([0.0], [0.0])) == {}
    one = Law()
    one.n_components = 1
    assert apart(search([0.0, -1.0], [0.0, 0.0], one)) == {}
    silent = Law()
    silent.log_predictive = lambda posterior, block: None
    assert apart(search([0.0, -1.0], [0.0, 0.0], silent)) == {}


def test_distances_are_saved_with_the_fit_and_judged(regimes_fit, tmp_path):
    assert regimes_fit.restarts[PREDICTION_DISTANCE].iloc[0] >= 0.0
    again = bvb.load(regimes_fit.save(tmp_path / "fit.nc"))
    assert again.restarts[PREDICTION_DISTANCE].equals(regimes_fit.restarts[PREDICTION_DISTANCE])
    for distance, grade in ((0.01, "ok"), (0.1, "note"), (0.3, "problem")):
        restarts = regimes_fit.restarts.assign(**{PREDICTION_DISTANCE: [0.0, distance]})
        found = {
            one.name: one for one in computation_checks(replace(regimes_fit, restarts=restarts))
        }
        assert found["Restart predictions"].grade == grade
