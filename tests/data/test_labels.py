"""Labels keep their identity when another table holds them in another type."""

import datetime

import numpy as np
import pandas as pd
import pytest

from bayesvb.data.labels import match_labels
from bayesvb.errors import DataError

DATE = pd.Timestamp("2020-01-31")

SAME = {
    "numbers for text": ([3, 4], ["4", "3"]),
    "text for numbers": (["4", "3"], [3, 4]),
    "fractions for text": ([3.0, 4.0], ["4", "3"]),
    "text of fractions for numbers": (["4.0", "3.0"], [3, 4]),
    "text with leading zeros for numbers": (["004", "03"], [3, 4]),
    "numbers for text with leading zeros": ([3, 4], ["004", "003"]),
    "truth values for text": ([True, False], ["False", "True"]),
    "text for truth values, as R writes them": (["FALSE", "TRUE"], [True, False]),
    "numbers for truth values": ([0, 1], [True, False]),
    "truth values for numbers": ([True, False], [0, 1]),
    "text of numbers for truth values": (["0", "1"], [True, False]),
    "dates for text": ([DATE, DATE + pd.Timedelta(days=1)], ["2020-02-01", "2020-01-31"]),
    "text for days of the calendar": (
        ["2020-02-01", "2020-01-31"],
        [datetime.date(2020, 1, 31), datetime.date(2020, 2, 1)],
    ),
}
"""Two labels, and the same two in another type and order."""


@pytest.mark.parametrize("case", SAME)
def test_labels_of_another_type_are_the_same(case):
    labels, known = map(pd.Index, SAME[case])
    assert match_labels(labels, known, "id").tolist() == [1, 0]


def test_labels_of_one_type_are_compared_as_they_are():
    known = pd.Index(["7", "007", "a"])
    assert match_labels(pd.Index(["007", "07", "A"]), known, "id").tolist() == [1, -1, -1]


def test_a_value_that_no_label_writes_is_absent():
    assert match_labels(pd.Index([5, 1]), pd.Index(["a", "1", ""]), "id").tolist() == [-1, 1]


def test_a_number_that_two_texts_write_is_refused():
    with pytest.raises(DataError, match="`id`: 7 matches several levels: '7', '007'"):
        match_labels(pd.Index([7]), pd.Index(["7", "007"]), "id")


def test_long_numbers_are_not_rounded():
    """Doubles conflate these two."""
    known = pd.Index(["9007199254740993", "9007199254740992"])
    assert match_labels(pd.Index(np.array([2**53, 2**53 + 1])), known, "id").tolist() == [1, 0]
