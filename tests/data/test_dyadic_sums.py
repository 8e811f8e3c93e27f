"""Sums in dyadic order: the same bits however the terms are spread over workers."""

from itertools import pairwise

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.data.dyadic_sums import joined, partial_sums, total
from bayesvb.data.statistics import BoundGap

TERMS = st.lists(st.floats(-1e6, 1e6), min_size=1, max_size=40)


def terms_of(values):
    return [BoundGap(value) for value in values]


@given(TERMS, st.lists(st.integers(0, 40), max_size=6))
def test_spreading_terms_changes_no_bit(values, cuts):
    terms = terms_of(values)
    ends = [0, *sorted(min(cut, len(terms)) for cut in cuts), len(terms)]
    sums = []
    for start, stop in pairwise(ends):
        sums = joined(sums, partial_sums(terms[start:stop], start))
    assert total(sums).value == total(partial_sums(terms)).value


@given(TERMS)
def test_sums_are_those_of_the_terms(values):
    found = total(partial_sums(terms_of(values))).value
    assert np.isclose(found, sum(values), rtol=1e-9, atol=1e-6)


def test_up_to_three_terms_are_added_from_the_left():
    values = [0.1, 0.2, 0.3]
    assert total(partial_sums(terms_of(values))).value == (0.1 + 0.2) + 0.3


def test_few_sums_are_kept():
    assert len(partial_sums(terms_of([1.0] * 1000))) < 11
