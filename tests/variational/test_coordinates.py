"""Standard coordinates of a part without parameters, alone and beside a part that has some."""

import numpy as np
from numpy.testing import assert_array_equal

from bayesvb.factors import Normal
from bayesvb.variational.coordinates import JoinedCoordinates, NoCoordinates
from bayesvb.variational.linear_predictors import LogitCoordinates


class OfExperts(LogitCoordinates):
    """Coordinates of draws under a name, as those of experts are."""

    def standard(self, draws):
        return super().standard(draws["coefficients"])

    def parameters(self, standard):
        return {"coefficients": super().parameters(standard)}

    def log_volume(self, draws):
        return super().log_volume(draws["coefficients"])


def test_no_parameters_have_no_coordinates_and_no_statistics():
    none, draws = NoCoordinates(), np.empty((5, 0))
    assert none.expectations().shape == (0,)
    assert none.perturbations().shape == (0, 0)
    assert none.standard(draws).shape == none.parameters(draws).shape == (5, 0)
    assert none.moved(draws, np.empty((0, 0))).shape == (5, 0)
    assert_array_equal(none.log_volume(draws), np.zeros(5))


def test_a_part_without_parameters_leaves_those_of_the_other_as_they_are(rng):
    precision = np.tile(2.0 * np.eye(3), (2, 1, 1))
    own = OfExperts(Normal.from_precision(rng.normal(size=(2, 3)), precision))
    both = JoinedCoordinates(own, NoCoordinates())
    assert_array_equal(both.expectations(), own.expectations())
    assert_array_equal(both.perturbations(), own.perturbations())
    standard = rng.normal(size=(5, 6))
    draws = both.parameters(standard)
    assert draws["gate"].shape == (5, 0)
    assert_array_equal(draws["coefficients"], own.parameters(standard)["coefficients"])
    assert_array_equal(both.standard(draws), own.standard(draws))
    assert_array_equal(both.log_volume(draws), own.log_volume(draws))
