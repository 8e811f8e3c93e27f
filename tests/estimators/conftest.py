"""Fixtures of estimators."""

import pytest

from bayesvb.formula import group_columns, own_columns


@pytest.fixture(scope="module")
def few_columns():
    """Groups of which more than five stay apart from the columns."""
    with pytest.MonkeyPatch.context() as patch:
        for module in (group_columns, own_columns):
            patch.setattr(module, "MOST_GROUPS", 5)
        yield
