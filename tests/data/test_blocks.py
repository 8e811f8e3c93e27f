import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.engines.partitions import features
from bayesvb.numerics.linalg import products


def rows(rng, n_rows, *, weighted=False):
    designs = {"mean": rng.normal(size=(3, n_rows)), "gating": rng.normal(size=(2, n_rows))}
    weight = rng.gamma(1.0, size=n_rows) if weighted else None
    return Block(designs, rng.normal(size=(1, n_rows)), weight)


@given(n_rows=st.integers(0, 40), size=st.integers(1, 50), weighted=st.booleans())
def test_blocks_cover_all_rows_in_order(n_rows, size, weighted):
    block = rows(np.random.default_rng(n_rows), n_rows, weighted=weighted)
    parts = list(block.split(size))
    assert all(part.n_rows <= size for part in parts)
    for name, design in block.designs.items():
        assert_array_equal(np.concatenate([p.designs[name] for p in parts], axis=1), design)
    assert_array_equal(np.concatenate([p.response for p in parts], axis=1), block.response)
    if weighted:
        assert_array_equal(np.concatenate([p.weight for p in parts]), block.weight)
    assert sum(part.n_rows for part in parts) == block.n_rows == n_rows


def test_kept_products_are_those_of_the_rows_and_no_features(rng):
    block = rows(rng, 10)
    twins = Block(block.designs | {"twin": block.designs["mean"]}, block.response)
    kept = twins.with_products()
    for part in (kept, kept.part(2, 7), kept.take(np.array([8, 1])), kept.with_products()):
        for name in twins.designs:
            assert_array_equal(part.products(name), products(part.designs[name]))
    assert kept.products("twin") is kept.products("mean") is not block.products("mean")
    assert len(kept.with_products().designs) == len(kept.designs) == 6
    assert_array_equal(features(kept), features(twins))


def test_rows_are_joined_with_rows_whose_products_were_not_kept(rng):
    plain = rows(rng, 4)
    kept = plain.with_products()
    assert Block.joined([kept, kept]).designs.keys() == kept.designs.keys()
    for pair in ([kept, plain], [plain, kept]):
        assert Block.joined(pair).designs.keys() == plain.designs.keys()


def test_designs_that_are_one_array_stay_one(rng):
    block = rows(rng, 10)
    one = Block({"mean": block.designs["mean"], "gating": block.designs["mean"]}, block.response)
    two = Block(
        {"mean": block.designs["mean"], "gating": 1.0 * block.designs["mean"]}, one.response
    )

    def changed(block):
        kept = block.with_products()
        parts = list(kept.split(4))
        return kept, parts[1], kept.take(np.array([8, 1])), Block.joined(parts)

    for same, other in zip(changed(one), changed(two), strict=True):
        assert same.designs["mean"] is same.designs["gating"]
        assert same.products("mean") is same.products("gating")
        assert other.designs["mean"] is not other.designs["gating"]
        for name in one.designs:
            assert_array_equal(same.designs[name], other.designs[name])
            assert_array_equal(same.products(name), other.products(name))


def test_a_part_is_a_view(rng):
    block = rows(rng, 10, weighted=True)
    part = block.part(2, 5)
    assert np.shares_memory(part.designs["gating"], block.designs["gating"])
    assert np.shares_memory(part.response, block.response)
    assert np.shares_memory(part.weight, block.weight)


@pytest.mark.parametrize("weighted", [False, True])
def test_rows_taken_from_joined_blocks_are_those_of_the_whole(rng, weighted):
    block = rows(rng, 20, weighted=weighted)
    joined = Block.joined(list(block.split(6)))
    chosen = rng.permutation(20)[:9]
    for one, other in ((joined, block), (joined.take(chosen), block.take(chosen))):
        assert one.designs.keys() == other.designs.keys()
        assert_array_equal(one.designs["mean"], other.designs["mean"])
        assert_array_equal(one.response, other.response)
        assert (one.weight is None) == (not weighted)
        assert_array_equal(one.weight, other.weight)
    assert_array_equal(joined.take(chosen).designs["gating"], block.designs["gating"][:, chosen])
    assert_array_equal(joined.take(chosen).response, block.response[:, chosen])


def test_weights_multiply_and_count(rng):
    block = rows(rng, 12, weighted=True)
    values = rng.normal(size=(4, 12))
    assert_array_equal(block.weighted(values), values * block.weight)
    plain = rows(rng, 12)
    assert_array_equal(plain.weighted(values), values)


def test_an_offset_goes_with_its_rows(rng):
    block = rows(rng, 20)
    offset = rng.normal(size=20)
    known = Block(block.designs, block.response, block.weight, offset)
    chosen = np.array([7, 0, 3])
    assert_array_equal(known.take(chosen).offset, offset[chosen])
    assert_array_equal(known.part(4, 9).offset, offset[4:9])
    assert_array_equal(known.with_products().offset, offset)
    assert_array_equal(Block.joined(list(known.split(6))).offset, offset)
    assert Block.joined(list(block.split(6))).offset is None
