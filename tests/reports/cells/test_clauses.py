"""What the checks of a fit do to its first sentence, state by state."""

import pytest

from bayesvb.reports.cells.clauses import Clause, written
from bayesvb.results.checks.base import Check

MEAN = Clause("y rises by 2", "y changes by 2", "x", "y")
SPREAD = Clause("its sd rises by 1", covariate="x", response="y", of_spread=True)
DOUBTED = "The fit fails the check {}, so this may be wrong: y changes by 2."
PLAIN, SHORT = "y rises by 2; its sd rises by 1.", "y rises by 2."


def check(name, group="fit", grade="problem"):
    return Check(name, group, grade, 1.0, "", 0.0, "", "do this", "calibration")


@pytest.mark.parametrize(
    ("checks", "expected"),
    [
        ([], PLAIN),
        ([check("Mean by x", grade="note"), check("Convergence", "computation", "note")], PLAIN),
        ([check("Mean by x")], f"{DOUBTED.format('Mean by x')[:-1]}; its sd rises by 1."),
        ([check("Mean by x"), check("Tails")], DOUBTED.format("Mean by x")),
        ([check("Spread by x")], SHORT),
        ([check("Spread by x"), check("Tails")], f"Provisional: {SHORT}"),
        ([check("Mean by z")], f"Provisional: {PLAIN}"),
        ([check("Spread by z")], f"Provisional: {PLAIN}"),
        ([check("Compared with least squares", "accuracy")], PLAIN),
        ([check("Convergence", "computation")], "Not converged: no finding."),
        ([check("Chains agree", "computation")], "Not converged: no finding."),
        ([check("Mean by x"), check("Convergence", "computation")], "Not converged: no finding."),
    ],
)
def test_each_state_of_the_checks_has_its_sentence(checks, expected):
    found = written([[MEAN, SPREAD]], checks, ["y"])
    assert found == [expected]
    if "no finding" in expected:
        assert not any(sign.isdigit() for sign in found[0])


def test_a_constant_spread_and_a_sentence_of_another_response_stay_as_they_are():
    assert written([[MEAN]], [check("Spread by x")], ["y"]) == [SHORT]
    other = Clause("z falls by 3", "z changes by 3", "x", "z")
    found = written([[MEAN], [other]], [check("Mean by x of z")], ["y", "z"])
    doubted = "The fit of z fails the check Mean by x, so this may be wrong: z changes by 3."
    assert found == [SHORT, doubted]
    assert written([], [check("Convergence", "computation")], ["y"]) == []


def test_the_first_checks_are_named_before_the_sentence_and_others_counted():
    lead = Clause("From x = 1 to 2 y rises", "From x = 1 to 2 y changes", "x", "y")
    names = ("Mean by x", "Serial correlation", "Enough rows", "A check that is not known")
    found = written([[lead]], [check(name) for name in names], ["y"])
    assert found == [
        "The fit fails the checks Mean by x, Serial correlation and 2 more, so this may be wrong: "
        "from x = 1 to 2 y changes."
    ]
    assert written([[lead]], [check("Tails")], ["y"]) == ["Provisional: from x = 1 to 2 y rises."]
