"""Gaussian mixtures against scikit-learn (reference/gaussian_mixture/make.py made the values)."""

import json
from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.blocks import Block, Source
from bayesvb.engines.cavi import cavi
from bayesvb.experts import GAUSSIAN_EXPERTS
from bayesvb.factors import Dirichlet
from bayesvb.gates import DirichletGate
from bayesvb.models.mixture import Mixture

REFERENCE = json.loads(
    (Path(__file__).parent / "reference/gaussian_mixture/expected.json").read_text(encoding="utf-8")
)["cases"]
NAMES = [f"{c['form']}-{len(c['x'][0])}d-{c['iterations'] or 'converged'}" for c in REFERENCE]
every_case = pytest.mark.parametrize("case", REFERENCE, ids=NAMES)


def model_of(case):
    prior = case["prior"]
    mean, scatter = np.array(prior["mean"]), np.array(prior["scatter"])
    dof = prior["dof"]
    experts = GAUSSIAN_EXPERTS[case["form"]].from_prior(mean, prior["mean_precision"], dof, scatter)
    return Mixture(experts, DirichletGate(Dirichlet(np.full(len(case["weights"]), 0.7))))


def fitted(case, *, accelerate=False):
    """After the same number of sweeps, or after none changes the posterior."""
    model, x = model_of(case), np.array(case["x"]).T.copy()
    block = Block({"variables": x}, np.zeros((0, x.shape[1])))
    partition = np.eye(len(case["weights"]))[case["label"]].T.copy()
    sums = model.start(model.begin(block, partition))
    if case["iterations"]:
        for _ in range(case["iterations"]):
            sums = model.local(model.update(sums), block).sums
        return model, block, model.update(sums)
    ascent = cavi(model, Source((block,)), sums, tol=0.0, max_iter=20_000, accelerate=accelerate)
    return model, block, model.update(ascent.sums)


def covariances(posterior):
    """Inverses of the expected precisions."""
    if hasattr(posterior, "scatter"):
        return posterior.scatter / posterior.dof[:, None, None]
    return posterior.rate / posterior.shape[:, None]


@every_case
def test_parameters_are_those_of_scikit_learn(case):
    model, block, q = fitted(case)
    n_experts = len(case["weights"])
    assert_allclose(q.gate.mean, case["weights"], rtol=1e-6)
    assert_allclose(q.experts.mean.reshape(n_experts, -1), case["means"], rtol=1e-6, atol=1e-6)
    found = covariances(q.experts).reshape(n_experts, -1)
    assert_allclose(found, case["covariances"], rtol=1e-6, atol=1e-6)
    found = model.responsibilities(q, block)[:, :5].T
    assert_allclose(found, case["responsibilities"], atol=1e-6)


@pytest.mark.parametrize(
    "case", [c for c in REFERENCE if c["form"] == "full"], ids=lambda c: f"{len(c['x'][0])}d"
)
def test_degrees_of_freedom_are_those_of_scikit_learn(case):
    """``nu_0 + N_k``: a mistake of one is found here."""
    q = fitted(case)[2].experts
    assert_allclose(q.dof, case["dof"], rtol=1e-6)
    assert_allclose(q.mean_precision, case["mean_precision"], rtol=1e-6)
