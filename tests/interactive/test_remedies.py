"""A remedy that can be clicked leads to a request that can be read, and differs."""

import pytest

import bayesvb as bvb
from bayesvb.interactive.reading import read
from bayesvb.interactive.remedies import remedies
from bayesvb.interactive.request import Request
from bayesvb.results.checks.base import Check

MCYCLE = bvb.datasets.load("mcycle")

SENTENCES = {
    # remedy, formula -> labels and formulas that are offered
    "Add the part `sigma(times)`.": ("accel ~ times", ["accel ~ times | sigma(times)"]),
    "Bend: `s(times)` for `times`, or fit `n_components=3` and `gating(times)`.": (
        "accel ~ times",
        ["accel ~ s(times)", "accel ~ times", "accel ~ times | gating(times)"],
    ),
    "The basis is too small: fit `s(times, k=20)`.": (
        "accel ~ s(times, k=5) | gating(times)",
        ["accel ~ s(times, k=20) | gating(times)"],
    ),
    "The noise has heavy tails: fit `family=\"student\"`.": ("accel ~ times", ["accel ~ times"]),
    "Fit `log(accel)`.": ("accel ~ times", []),  # of negative numbers
    "Add `` `a b` `` to `gating(...)`.": ("accel ~ times", []),
}  # fmt: skip


@pytest.mark.parametrize("sentence", SENTENCES)
def test_a_remedy_changes_the_request(sentence):
    formula, offered = SENTENCES[sentence]
    request = Request(formula=formula)
    check = Check("One", "fit", "problem", 1.0, "", 0.0, "", sentence, "")
    made = remedies([check], request, MCYCLE).get("One", [])
    assert [remedy.request.formula for remedy in made] == offered
    assert all(remedy.request != request for remedy in made)
    assert all(read(remedy.request, MCYCLE).readable for remedy in made)
