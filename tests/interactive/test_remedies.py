"""A remedy that can be clicked leads to a request that can be read, and differs."""

from dataclasses import replace

import pytest

import bayesvb as bvb
from bayesvb.interactive.reading import read
from bayesvb.interactive.remedies import remedies
from bayesvb.interactive.request import Request
from bayesvb.results.checks.base import Check
from bayesvb.results.checks.edits import Edit, Remedy

MCYCLE = bvb.datasets.load("mcycle")
PRIORS = bvb.DensityRegression("accel ~ times", MCYCLE, n_components=1).priors

EDITS = [
    # what a check proposes -> formulas and numbers of components that are offered
    (Edit(part="sigma", terms=("times",)), [("accel ~ times | sigma(times)", 1)]),
    (Edit(part="mean", terms=("s(times)",), replaced=("times",)), [("accel ~ s(times)", 1)]),
    (
        Edit(part="gating", terms=("times",), options={"n_components": 3}),
        [("accel ~ times | gating(times)", 3)],
    ),
    (Edit(options={"family": "student"}), [("accel ~ times", 1)]),
    (Edit(options={"family": "poisson"}), []),  # of negative numbers
    (Edit(part="mean", terms=("s(nothing)",)), []),
    (Edit(options={"n_components": 1}), []),  # as it is
    (Edit(options={"weight_type": "sampling"}), []),
    (Edit(arguments={"restarts": 20}), [("accel ~ times", 1)]),
    (Edit(arguments={"prior": True}), []),
    (Edit(options={"priors": replace(PRIORS, scales="fixed")}), [("accel ~ times", 1)]),
    (Edit(options={"priors": PRIORS}), []),
]


@pytest.mark.parametrize(("edit", "offered"), EDITS)
def test_a_remedy_changes_the_request(edit, offered):
    request = Request(formula="accel ~ times", options={"n_components": 1})
    model = bvb.DensityRegression(request.formula, MCYCLE, n_components=1)
    check = Check("One", "fit", "problem", 1.0, "", 0.0, "", Remedy.of("Fit ", edit, "."), "")
    made = remedies([check], request, model, MCYCLE).get("One", [])
    assert [(r.request.formula, r.request.size) for r in made] == offered
    assert all(remedy.request != request for remedy in made)
    assert all(read(remedy.request, MCYCLE).readable for remedy in made)
