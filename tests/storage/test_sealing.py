import pytest
from hypothesis import given
from hypothesis import strategies as st

from bayesvb.errors import DataError
from bayesvb.storage.sealing import LENGTH, seal, unseal


@given(content=st.binary(max_size=300))
def test_the_content_comes_back(content):
    assert unseal(seal(content)) == (content, True)


@given(content=st.binary(min_size=1, max_size=60), at=st.integers(0, 10**6))
def test_no_flipped_bit_goes_unseen(content, at):
    sealed = bytearray(seal(content))
    position = at % (8 * len(sealed))
    sealed[position // 8] ^= 1 << position % 8
    try:
        found, checked = unseal(bytes(sealed))
    except DataError:
        return
    assert not checked  # the seal itself is hurt, and so missing
    assert position // 8 >= len(content)
    assert found == bytes(sealed)


def test_a_seal_of_other_bytes_is_refused():
    with pytest.raises(DataError, match="changed or damaged"):
        unseal(b"others" + seal(b"content")[-LENGTH:])
