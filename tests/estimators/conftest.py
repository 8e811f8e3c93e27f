"""Fixtures of estimators."""

import pytest

from bayesvb.linear.structure import LIMITS


@pytest.fixture(scope="module")
def few_columns():
    """Groups of which more than five stay apart from the columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(vars(LIMITS), "columns", 5)
        yield
