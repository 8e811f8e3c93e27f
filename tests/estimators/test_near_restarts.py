"""What restarts with nearly the best bound predict, beside the one that is kept."""

from dataclasses import replace

import numpy as np
import pytest

import bayesvb as bvb
from bayesvb.estimators.near_restarts import apart
from bayesvb.evaluation.unseen_optima import SAME
from bayesvb.results.base import NEAR_BEST, PREDICTS_APART
from bayesvb.results.checks.computation import computation_checks


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


def test_only_rivals_are_compared():
    below = [0.0, 0.5 * SAME, 1.0, NEAR_BEST + 0.1]
    (distance,) = apart(search(-np.array(below), [0.0, 0.0, 0.3, 0.7])).values()
    assert distance[:3] == pytest.approx([0.0, 0.0, 0.3]) and np.isnan(distance[3])


def test_nothing_is_compared_where_there_is_one_optimum_or_no_density():
    assert apart(search([0.0], [0.0])) == {}
    one = Law()
    one.n_components = 1
    assert apart(search([0.0, -1.0], [0.0, 0.0], one)) == {}
    silent = Law()
    silent.log_predictive = lambda posterior, block: None
    assert apart(search([0.0, -1.0], [0.0, 0.0], silent)) == {}


def test_distances_are_saved_with_the_fit_and_judged(regimes_fit, tmp_path):
    assert regimes_fit.restarts[PREDICTS_APART].iloc[0] >= 0.0
    again = bvb.load(regimes_fit.save(tmp_path / "fit.nc"))
    assert again.restarts[PREDICTS_APART].equals(regimes_fit.restarts[PREDICTS_APART])
    for distance, grade in ((0.01, "ok"), (0.1, "note"), (0.3, "problem")):
        restarts = regimes_fit.restarts.assign(**{PREDICTS_APART: [0.0, distance]})
        found = {
            one.name: one for one in computation_checks(replace(regimes_fit, restarts=restarts))
        }
        assert found["Restarts predict alike"].grade == grade
