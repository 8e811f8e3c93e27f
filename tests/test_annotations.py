"""Annotations are checked in each test, where the tests run with `--jaxtyping-packages`."""

import jaxtyping
import pytest

from bayesvb.numerics.linalg import one_by_one


def is_refused(number: object) -> bool:
    try:
        one_by_one(number, 2)
    except jaxtyping.TypeCheckError:
        return True
    return False


@pytest.mark.parametrize("time", ["first", "second"])  # calls are counted in each test from one
def test_a_wrong_type_is_refused(request, time):
    if not request.config.getoption("--jaxtyping-packages", None):
        pytest.skip("annotations are not checked")
    refused = [call for call in range(1, 40) if is_refused(1.5)]
    assert refused == [1, 2, 3, 4, 5, 6, 7, 8, 16, 32]
