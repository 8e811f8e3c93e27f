"""Gaussian mixtures against scikit-learn (reference/gaussian_mixture/make.py made the values)."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import digamma, softmax

from bayesvb.data.blocks import Block
from bayesvb.data.sources import InMemorySource
from bayesvb.engines.cavi import cavi
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

REFERENCE = json.loads(
    (Path(__file__).parents[1] / "reference/gaussian_mixture/expected.json").read_text(
        encoding="utf-8"
    )
)["cases"]
NAMES = [f"{c['form']}-{len(c['x'][0])}d-{c['iterations'] or 'converged'}" for c in REFERENCE]
SAME = [c["form"] == "full" or len(c["x"][0]) == 1 for c in REFERENCE]


def cases(request):
    """Cases of the same formulas in both, or those with the other log-determinant."""
    some = [number for number, same in enumerate(SAME) if same == request]
    ids = [NAMES[number] for number in some]
    return pytest.mark.parametrize("case", [REFERENCE[number] for number in some], ids=ids)


def model_of(case):
    prior = case["prior"]
    mean, scatter = np.array(prior["mean"]), np.array(prior["scatter"])
    dof = prior["dof"]
    if case["form"] == "diagonal":  # scikit-learn's gamma has shape dof / 2 for every variable
        dof = dof + len(mean) - 1.0
    experts = GAUSSIAN_EXPERTS[case["form"]](mean, prior["mean_precision"], dof, scatter)
    return Mixture(experts, DirichletGate(Dirichlet(np.full(len(case["weights"]), 0.7))))


def fitted(case, *, accelerate=False):
    """After the same number of sweeps, or after none changes the posterior."""
    model, x = model_of(case), np.array(case["x"]).T.copy()
    block = Block({"variables": x}, np.zeros((0, x.shape[1])))
    partition = np.eye(len(case["weights"]))[case["label"]].T.copy()
    stats = model.first_stats(model.partition_stats(block, partition))
    if case["iterations"]:
        for _ in range(case["iterations"]):
            stats = model.e_step(model.update(stats), block).stats
        return model, block, model.update(stats)
    ascent = cavi(
        model, InMemorySource((block,)), stats, tol=0.0, max_iter=20_000, accelerate=accelerate
    )
    return model, block, model.update(ascent.stats)


def covariances(posterior):
    """Inverses of the expected precisions."""
    if hasattr(posterior, "scatter"):
        return posterior.scatter / posterior.dof[:, None, None]
    return posterior.rate / posterior.shape[:, None]


@cases(True)
def test_parameters_are_those_of_scikit_learn(case):
    model, block, q = fitted(case)
    assert_same(case, q, model.responsibilities(q, block))


def assert_same(case, q, responsibilities):
    n_experts = len(case["weights"])
    assert_allclose(q.gate.mean, case["weights"], rtol=1e-6)
    assert_allclose(q.experts.mean.reshape(n_experts, -1), case["means"], rtol=1e-6, atol=1e-6)
    found = covariances(q.experts).reshape(n_experts, -1)
    assert_allclose(found, case["covariances"], rtol=1e-6, atol=1e-6)
    assert_allclose(responsibilities[:, :5].T, case["responsibilities"], atol=1e-6)


def excess(dof, dims):
    """What a row's log density has too little of where a Wishart's log-determinant is taken.

    ``sum_i digamma((nu + 1 - i) / 2) / 2 - D digamma(nu / 2) / 2``: nothing for one variable.
    """
    wishart = sum(digamma((dof + 1.0 - i) / 2.0) for i in range(1, dims + 1))
    return 0.5 * (wishart - dims * digamma(dof / 2.0))


def swept(case, *, shifted):
    """Sweeps written out, the known difference added to the log densities or not."""
    model, x = model_of(case), np.array(case["x"]).T.copy()
    block = Block({"variables": x}, np.zeros((0, x.shape[1])))
    r = np.eye(len(case["weights"]))[case["label"]].T.copy()
    for _ in range(1 + (case["iterations"] or 2000)):
        q = model.update(model.first_stats(model.partition_stats(block, r)))
        terms = (
            model.experts.local(q.experts, block).expected_log_density
            + q.gate.expected_log[:, None]
        )
        if shifted:
            terms = terms + excess(2.0 * q.experts.shape, len(x))[:, None]
        r = softmax(terms, axis=0)
    return q, r


@cases(False)
def test_diagonal_forms_of_several_variables_differ_by_the_log_determinant(case):
    assert_same(case, *swept(case, shifted=True))
    with pytest.raises(AssertionError):
        assert_same(case, *swept(case, shifted=False))


def test_the_log_determinants_agree_for_one_variable():
    assert excess(3.7, 1) == 0.0
    assert excess(3.7, 2) == pytest.approx(0.5 * (digamma(1.35) - digamma(1.85)))


@pytest.mark.parametrize(
    "case", [c for c in REFERENCE if c["form"] == "full"], ids=lambda c: f"{len(c['x'][0])}d"
)
def test_degrees_of_freedom_are_those_of_scikit_learn(case):
    """``nu_0 + N_k``: a mistake of one is found here."""
    q = fitted(case)[2].experts
    assert_allclose(q.dof, case["dof"], rtol=1e-6)
    assert_allclose(q.mean_precision, case["mean_precision"], rtol=1e-6)
