"""Stratified samples: each cell has a row in it, with its weight, and sums are close to those."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from bayesvb.data.blocks import Block
from bayesvb.data.parts import MEAN
from bayesvb.data.sources import InMemorySource
from bayesvb.engines import stratified
from bayesvb.engines.stratified import divide_rows, draw_samples


def rows_with(n_rows, n_columns=1, weight=None):
    """Rows of a source of this size, drawn once for all."""
    rng = np.random.default_rng(1)
    x, noise = rng.normal(size=(n_columns, n_rows)), rng.normal(size=(1, n_rows))
    return InMemorySource.of(Block({MEAN: x}, x[:1] + noise, weight))


@pytest.mark.parametrize(("n_rows", "n_cells"), [(12, 12), (100, 7), (1000, 64)])
def test_cells_hold_each_row_once_and_are_of_equal_size(n_rows, n_cells, rng):
    order, ends = divide_rows(rng.normal(size=(n_rows, 3)).round(1), n_cells)
    sizes = np.diff(ends, prepend=0)
    assert sorted(order) == list(range(n_rows)) and len(ends) == n_cells
    assert sizes.min() >= 1 and sizes.max() <= 2 * -(-n_rows // n_cells)


def test_weights_of_the_samples_are_of_a_sample_and_of_all_rows():
    weight = np.random.default_rng(2).integers(0, 4, 5000).astype(float)
    source = rows_with(5000, weight=weight)
    first, same, larger = draw_samples(source, 50, np.random.default_rng(3))
    assert [one.n_rows for one in (first, same, larger)] == [50, 50, 500]
    assert first.total_weight == pytest.approx(weight.sum() / 100.0)
    assert same.total_weight == pytest.approx(larger.total_weight) == pytest.approx(weight.sum())
    assert_allclose(first.whole().response, same.whole().response)


def test_sums_are_closer_than_in_a_random_sample():
    source, rng = rows_with(20_000), np.random.default_rng(4)
    truth = (source.whole().response ** 2).mean()

    def error(sample):
        block = sample.whole()
        return float((block.weighted(block.response**2).sum() / sample.total_weight) - truth)

    drawn = [error(draw_samples(source, 1000, rng)[1]) for _ in range(10)]
    at_random = [error(source.standing_for_all(1000, rng)) for _ in range(10)]
    assert np.std(drawn) < 0.5 * np.std(at_random)


def test_rows_of_many_features_are_drawn_at_random(monkeypatch):
    source = rows_with(500, stratified.MOST_FEATURES)
    (sample,) = draw_samples(source, 40, np.random.default_rng(5))
    assert sample.n_rows == 40 and sample.whole().weight is None
