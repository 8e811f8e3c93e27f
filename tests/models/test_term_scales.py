"""Blocks of coefficients that share a prior precision."""

import numpy as np
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.factors.gamma import Gamma
from bayesvb.models.term_scales import ScaleCoordinates, TermScales

SCALES = TermScales.of([(1,), (2, 3)], np.array([0.04, 1.0, 0.25, 0.75]), 5)


def test_precisions_of_blocks_are_those_of_their_columns():
    assert_allclose(SCALES.by_term(np.array([2.0, 3.0])), [0.04, 2.0, 3.0, 3.0])
    many = SCALES.by_term(np.array([[2.0, 3.0], [4.0, 5.0]]))
    assert_allclose(many, [[0.04, 2.0, 3.0, 3.0], [0.04, 4.0, 5.0, 5.0]])


def test_squares_are_summed_and_coefficients_counted_by_block():
    assert_allclose(SCALES.by_block(np.array([7.0, 1.0, 2.0, 3.0])), [1.0, 5.0])
    assert_array_equal(SCALES.counts, [5.0, 10.0])


def test_ascents_set_out_from_the_fixed_precisions():
    assert_allclose(SCALES.start, [1.0, 0.5])
    assert TermScales.of([], np.array([0.04]), 3).start.shape == (0,)


def test_coordinates_are_standardised_logarithms(rng):
    own = ScaleCoordinates(Gamma(np.array([3.0, 40.0]), np.array([2.0, 0.1])))
    standard = own.standard(own.posterior.draws(100_000, rng))
    assert_allclose(standard.mean(axis=0), 0.0, atol=0.02)
    assert_allclose(standard.std(axis=0), 1.0, atol=0.02)
    assert_allclose(own.standard(own.parameters(standard)), standard, atol=1e-9)
