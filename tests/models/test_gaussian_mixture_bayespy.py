"""Bounds of Gaussian mixtures against BayesPy (reference/gaussian_mixture/make_bayespy.py)."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import multigammaln

from bayesvb.data.blocks import Block
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference/gaussian_mixture/bayespy.json").read_text(
        encoding="utf-8"
    )
)["cases"]


def cases(form):
    some = [case for case in REFERENCE if case["form"] == form]
    return pytest.mark.parametrize("case", some, ids=[f"{len(c['x'][0])}d" for c in some])


def set_up(case, form):
    """Model, rows, and the statistics of the partition that the other implementation had."""
    prior, x = case["prior"], np.array(case["x"]).T.copy()
    r = np.array(case.get("responsibilities", case["start"])).T.copy()
    experts = GAUSSIAN_EXPERTS[form](
        np.array(prior["mean"]), prior["mean_precision"], prior["dof"], np.array(prior["scatter"])
    )
    gate = DirichletGate(Dirichlet(np.full(len(r), prior["concentration"])))
    model, block = Mixture(experts, gate), Block({"variables": x}, np.zeros((0, x.shape[1])))
    return model, block, r, model.first_stats(model.partition_stats(block, r))


def bounds(case, form):
    """After every sweep."""
    model, block, _, stats = set_up(case, form)
    found = []
    for _ in case["bounds"]:
        posterior = model.update(stats)
        sweep = model.e_step(posterior, block)
        found.append(sweep.bound - model.kl(posterior))
        stats = sweep.stats
    return found


@cases("diagonal")
def test_bounds_of_every_sweep_are_those_of_bayespy(case):
    """Constants included: the posteriors are of the same family."""
    assert_allclose(bounds(case, "diagonal"), case["bounds"], rtol=1e-10)


def test_one_variable_is_the_same_for_full_covariances():
    (case,) = (c for c in REFERENCE if len(c["x"][0]) == 1)
    assert_allclose(bounds(case, "full"), case["bounds"], rtol=1e-10)


def cost_of_independence(dof, dims):
    """Smallest ``KL(q(mu) q(Lambda) || NW(m, beta, W, nu))``, whatever ``m``, ``beta`` and ``W``.

    At ``q(Lambda) = W(nu + 1, W nu / (nu + 1))`` and ``q(mu) = N(m, (beta nu W)^-1)``.
    """
    ratio = np.log(dof / 2.0) - 1.0 + (dof + 1.0) * np.log1p(1.0 / dof)
    return dims / 2.0 * ratio - multigammaln((dof + 1.0) / 2.0, dims) + multigammaln(dof / 2, dims)


@cases("full")
def test_the_bound_is_that_of_bayespy_up_to_the_cost_of_its_independence(case):
    """BayesPy has ``q(mu) q(Lambda)``, which costs a known constant at given responsibilities."""
    model, block, r, stats = set_up(case, "full")
    posterior = model.update(stats)
    terms = model.experts.local(posterior.experts, block).expected_log_density
    log_weights = posterior.gate.expected_log
    found = (r * (terms + log_weights[:, None] - np.log(r))).sum() - model.kl(posterior)
    cost = sum(cost_of_independence(dof, len(case["x"][0])) for dof in posterior.experts.dof)
    assert cost > 0.01
    assert found - cost == pytest.approx(case["bounds"][-1], rel=1e-10)
