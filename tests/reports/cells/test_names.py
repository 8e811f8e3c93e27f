"""Long names lose their middle, short ones nothing."""

from hypothesis import given
from hypothesis import strategies as st

from bayesvb.reports.cells.names import cut


@given(st.text("ab c", max_size=90), st.integers(3, 60))
def test_a_name_has_its_ends_and_at_most_so_many_characters(text, most):
    found = cut(text, most)
    assert len(found) <= most
    if len(text) <= most:
        assert found == text
    else:
        first, last = found.split("…")
        assert text.startswith(first) and text.endswith(last)
        assert cut(found, most) == found
