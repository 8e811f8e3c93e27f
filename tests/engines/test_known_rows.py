"""Ascents beside rows that left their statistics: monotone, stationary, with their information."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

import bayesvb as bvb
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.base import one_pass
from bayesvb.engines.cavi import cavi
from bayesvb.engines.known_rows import BesideKnownRows, KnownInformation, response_beside
from bayesvb.estimators.base import empty_stats
from bayesvb.gates import GATES
from bayesvb.sensitivity.covariance import linear_response


def simulated(n, seed):
    rng = np.random.default_rng(seed)
    x, second = rng.normal(size=n), rng.random(n)
    second = second < 1.0 / (1.0 + np.exp(-2.0 * x))
    y = np.where(second, 3.0 + 1.5 * x, -2.0 - 0.5 * x)
    y += np.where(second, 0.4, 0.7) * rng.normal(size=n)
    return pd.DataFrame({"x": x, "z": rng.normal(size=n), "y": y})


def halves(gate="softmax", n=600, **options):
    model = bvb.DensityRegression(
        "y ~ x + z", simulated(n, 1), n_components=2, gate=gate, **options
    )
    whole = model.source.whole()
    parts = [InMemorySource.of(whole.part(*ends)) for ends in ((0, n // 2), (n // 2, n))]
    fit = model.over(parts[0]).fit(seed=1, restarts=2, tol=1e-7, covariance="mean-field")
    return model, parts, fit


def beside(fit):
    bound = fit.elbo + fit.model.log_jacobian * fit.model.source.total_weight
    return BesideKnownRows.of(fit.core, fit.stats, bound)


@pytest.mark.heavy
@pytest.mark.parametrize("gate", GATES)
def test_bound_rises_to_a_stationary_point_near_that_of_all_rows(gate):
    model, parts, fit = halves(gate)
    one = beside(fit)
    found = cavi(one, parts[1], fit.stats, tol=1e-8)
    assert found.converged
    assert np.diff(found.trace).min() > -1e-9 * abs(found.trace[0])
    here = one_pass(one, parts[1], found.stats)
    moved = here.following.to_vector() - found.stats.to_vector()
    assert np.abs(moved).max() < 1e-3 * np.abs(found.stats.to_vector()).max()
    together = cavi(fit.core, model.source, found.stats, tol=1e-8)
    if gate != "softmax-bouchard":  # whose bound is looser the surer coefficients are
        assert -4.0 < found.bound - together.bound < 2.0


@pytest.mark.parametrize("gate", ["softmax", "stick-breaking", "dirichlet"])
def test_without_new_rows_nothing_moves(gate):
    _, parts, fit = halves(gate, n=300)
    one, empty = beside(fit), InMemorySource((parts[1].empty(),))
    here = one_pass(one, empty, fit.stats)
    known = fit.elbo + fit.model.log_jacobian * fit.model.source.total_weight
    assert here.bound == pytest.approx(known, rel=1e-9)


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_runs_stop_by_the_rule_of_the_model(family):
    """The rule depends on whether iterations of the experts are exact."""
    rows = simulated(40, 1)
    rows["count"] = rows["y"].abs().round()
    response = {"gaussian": "y", "poisson": "count"}[family]
    model = bvb.DensityRegression(f"{response} ~ x", rows, family=family, n_components=2)
    known = BesideKnownRows(model.core, empty_stats(model.core, model.source))
    assert known.is_conjugate == model.core.is_conjugate == (family == "gaussian")


def test_curvatures_add_up():
    model, parts, fit = halves("stick-breaking", n=1000)
    before = linear_response(fit.core, parts[0], fit.stats)
    one = beside(fit)
    found = cavi(one, parts[1], fit.stats, tol=1e-8)
    known = KnownInformation.of(fit.core, fit.stats, before, parts[1].empty())
    both = response_beside(one, parts[1], found.stats, known)
    together = cavi(fit.core, model.source, found.stats, tol=1e-8)
    exact = linear_response(fit.core, model.source, together.stats)
    ratio = np.diag(both.covariance) / np.diag(exact.covariance)
    assert 0.9 < np.sqrt(ratio.min()) and np.sqrt(ratio.max()) < 1.1
    alone = np.diag(linear_response(one, parts[1], found.stats).covariance)
    hidden = np.diag(exact.covariance).argmax()
    assert alone[hidden] < 0.98 * exact.covariance[hidden, hidden]


def test_new_rows_do_not_lessen_the_information_of_known_ones():
    """Nor where complete information has changed by more than the known rows keep of it."""
    _, parts, fit = halves(n=160)
    before, one = linear_response(fit.core, parts[0], fit.stats), beside(fit)
    stats = cavi(one, parts[1], fit.stats, tol=1e-4).stats
    known = KnownInformation.of(fit.core, fit.stats, before, parts[1].empty())
    observed = known.seen_from(fit.core.coordinates(fit.core.update(stats))).observed
    for excess in (1.0, 1.2):
        changed = replace(known, complete=excess * known.complete)
        both = response_beside(one, parts[1], stats, changed)
        gained = np.linalg.eigvalsh(np.linalg.inv(observed) - both.covariance)
        assert gained.min() > -1e-9 * gained.max()
        assert gained.max() > 0.0
        failed = response_beside(one, parts[1], stats, changed, least=-np.inf).failure is not None
        assert failed is (excess > 1.0)
