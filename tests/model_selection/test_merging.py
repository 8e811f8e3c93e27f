"""Components merged by their sums: lower bounds, and streams without superfluous components."""

import warnings
from functools import partial

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

import bayesvb as bvb
from bayesvb.engines.base import Budget
from bayesvb.engines.cavi import Cavi
from bayesvb.errors import DataError
from bayesvb.model_selection.merging import _mergers, _State
from bayesvb.numerics.streams import Streams

QUICK = {"seed": 1, "restarts": 2, "draws": 50, "combine": "best", "covariance": "mean-field"}
SUMS = ("softmax", "softmax-jensen", "dirichlet")


def lines(n, n_lines, seed=0):
    """Rows of one line or two, whose weights are constant."""
    rng = np.random.default_rng(seed)
    x, noise = rng.normal(size=(2, n))
    second = (n_lines == 2) & (rng.random(n) < 0.4)
    return pd.DataFrame({"x": x, "y": np.where(second, 4.0 - x, 1.0 + x) + 0.5 * noise})


def streamed(n_lines, n_components, gate, formula="y ~ x | gating(1)", n=1600):
    """A fit after three updates, so that only sums of most rows are left."""
    rows = lines(n, n_lines)
    model = bvb.DensityRegression(formula, rows[: n // 4], n_components=n_components, gate=gate)
    fit = model.fit(**QUICK)
    for block in range(1, 4):
        fit = fit.update(rows[block * n // 4 : (block + 1) * n // 4], new_starts=0)
    return fit


def elbo(core, q, source):
    return source.map_reduce(partial(core.e_step, q)).bound - core.kl(q)


def bound_of_sums(model, sums, known):
    """Bound of the merged model at the posterior of the merged sums, and this posterior."""
    stats = model.core.with_first_scales(sums)
    q = model.core.update(stats)
    return known + model.core.expected_sum(stats, q) - model.core.kl(q), q


@pytest.mark.parametrize("seed", range(3))
def test_bounds_of_mergers_are_below_the_elbo_over_the_rows(seed):
    rng = np.random.default_rng(seed)
    centre = rng.normal(scale=2.0, size=(3, 2))[rng.integers(0, 3, 200)]
    data = pd.DataFrame(centre + rng.normal(size=(200, 2)), columns=["a", "b"])
    fit = bvb.GaussianMixture("~ a + b", data, n_components=3).fit(**QUICK)
    bound = fit.elbo + fit.model.log_jacobian * 200
    smaller = fit.model.resized(2)
    found = list(_mergers(_State(fit.model, fit.core, fit.stats, fit.order, bound)))
    assert len(found) == 6
    for sums, known in found:
        below, q = bound_of_sums(smaller, sums, known)
        assert below <= elbo(smaller.core, q, fit.model.source) + 1e-8


@pytest.mark.parametrize("gate", SUMS)
def test_the_bound_of_duplicates_is_the_elbo(gate):
    """Three components that share all rows evenly: two of them explain these rows as well."""
    rows = lines(300, 1)
    model = bvb.DensityRegression("y ~ x | gating(1)", rows, n_components=3, gate=gate)
    core, source = model.core, model.source

    def thirds(block):
        return core.partition_stats(block, np.full((3, block.n_rows), 1.0 / 3.0))

    start = core.first_stats(source.map_reduce(thirds))
    place = Streams(0).branch("test")
    ascent = Cavi().run(core, source, start, Budget(1e-9, 200), place)
    state = _State(model, core, ascent.stats, (0, 1, 2), ascent.bound)
    smaller = model.resized(2)
    for sums, known in _mergers(state):
        below, q = bound_of_sums(smaller, sums, known)
        exact = elbo(smaller.core, q, source)
        # The quadratic form of softmax gates holds to second order.
        assert_allclose(below, exact, atol=0.01 if gate == "dirichlet" else 0.5)


@pytest.mark.parametrize("gate", SUMS)
@pytest.mark.parametrize("formula", ["y ~ x | gating(1)", "y ~ x | gating(x)"])
def test_a_stream_loses_components_that_it_does_not_need(gate, formula):
    if gate == "dirichlet" and "gating(x)" in formula:
        pytest.skip("weights of this gate are constant")
    fit = streamed(1, 3, gate, formula)
    left = bvb.prune(fit)
    assert fit.core.n_components == 3 and left.model.n_components == left.core.n_components == 1
    assert left.elbo >= fit.elbo
    new = lines(2000, 1, seed=1)
    assert left.log_density(new).mean() > fit.log_density(new).mean() - 1e-3
    assert left.model.all_rows is None and left.model.source.n_rows == 1600
    assert bvb.prune(left) is left
    again = left.update(new)
    alone = bvb.DensityRegression("y ~ x", pd.concat([lines(1600, 1), new]), n_components=1)
    assert_allclose(
        again.log_density(new).mean(), alone.fit(**QUICK).log_density(new).mean(), atol=1e-4
    )


@pytest.mark.parametrize("gate", SUMS)
def test_a_stream_keeps_components_that_it_needs(gate):
    fit = streamed(2, 2, gate)
    assert bvb.prune(fit) is fit


@pytest.mark.parametrize("gate", ["stick-breaking", "softmax-bouchard"])
def test_gates_whose_sums_do_not_add_up_are_refused(gate):
    with pytest.raises(DataError, match="cannot be pruned without its rows"):
        bvb.prune(streamed(1, 3, gate))


def test_experts_that_are_not_conjugate_are_refused():
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": rng.normal(size=400), "n": rng.poisson(3.0, 400)})
    model = bvb.DensityRegression("n ~ x", rows[:200], n_components=2, family="poisson")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        fit = model.fit(**QUICK).update(rows[200:], new_starts=0)
    with pytest.raises(DataError, match="not conjugate"):
        bvb.prune(fit)
