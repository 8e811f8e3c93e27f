"""Fixtures of estimators."""

import pytest

from bayesvb.formula import own_columns


@pytest.fixture(scope="module")
def few_columns():
    """Groups of which more than five stay apart from the columns."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(own_columns, "MOST_COLUMNS", 5)
        yield
