"""Where fits set out: every start divides every row, however odd the rows."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from bayesvb.data.blocks import Block
from bayesvb.engines.partitions import (
    FEW_COMPONENTS,
    OWN_SHARE,
    STARTS,
    NearestCentre,
    ResidualSlices,
    distinct_columns,
    features,
    residual_start,
)


def block(rng, n_rows=60, responses=1):
    x = rng.normal(size=n_rows)
    design = np.vstack([np.ones(n_rows), x])
    y = np.sign(x) * 5.0 + rng.normal(size=(responses, n_rows))
    return Block({"mean": design, "gating": design}, y)


def repeated(rng):
    return block(rng, 3).take(np.zeros(40, dtype=int) + np.arange(40) % 3)


def nothing_varies(rng):
    design = np.ones((1, 20))
    return Block({"mean": design, "gating": design}, np.zeros((1, 20)))


def no_covariates(rng):
    design = np.ones((1, 30))
    return Block({"mean": design, "gating": design}, rng.normal(size=(1, 30)))


ROWS = {
    "ordinary": block,
    "two responses": lambda rng: block(rng, responses=2),
    "fewer rows than components": lambda rng: block(rng, 4),
    "repeated rows": repeated,
    "no covariates": no_covariates,
    "nothing varies": nothing_varies,
    "one row": lambda rng: block(rng, 1),
}


ALL = STARTS | FEW_COMPONENTS


@pytest.mark.parametrize("kind", ALL)
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize("n_components", [1, 2, 7])
def test_every_start_divides_every_row(kind, rows, n_components, rng):
    if kind == "two components" and n_components == 1:
        pytest.skip("one component has no two of them")
    sample = ROWS[rows](rng)
    start = ALL[kind](sample, n_components, rng)
    labels = start.labels(sample)
    assert labels.shape == (sample.n_rows,)
    assert ((labels >= 0) & (labels < n_components)).all()
    partition = start.responsibilities(sample)
    assert partition.shape == (n_components, sample.n_rows)
    assert_allclose(partition.sum(axis=0), 1.0, rtol=1e-14)
    assert_array_equal(partition.argmax(axis=0), labels)
    assert (partition.max(axis=0) >= OWN_SHARE).all()


@pytest.mark.parametrize("kind", STARTS)
def test_a_start_is_the_same_block_by_block(kind, rng):
    sample = block(rng)
    start = STARTS[kind](sample, 4, rng)
    pieces = [start.labels(piece) for piece in sample.split(7)]
    assert_array_equal(np.concatenate(pieces), start.labels(sample))


@pytest.mark.parametrize("kind", STARTS)
def test_starts_come_from_the_generator_alone(kind, rng):
    sample = block(rng)
    again = [STARTS[kind](sample, 5, np.random.default_rng(3)).labels(sample) for _ in range(2)]
    assert_array_equal(*again)
    other = STARTS[kind](sample, 5, np.random.default_rng(4)).labels(sample)
    assert not np.array_equal(again[0], other)


def test_kmeans_finds_two_heaps(rng):
    heaps = np.repeat([-8.0, 8.0], 25)
    design = np.ones((1, 50))
    sample = Block({"mean": design, "gating": design}, (heaps + rng.normal(size=50))[None])
    labels = STARTS["k-means"](sample, 2, rng).labels(sample)
    assert len(set(labels[:25])) == len(set(labels[25:])) == 1
    assert labels[0] != labels[-1]


def test_slices_of_residuals_are_about_equally_large(rng):
    sample = block(rng, 100)
    start = residual_start(sample, 4, rng)
    assert isinstance(start, ResidualSlices)
    assert np.bincount(start.labels(sample), minlength=4).tolist() == [25, 25, 25, 25]


def test_covariates_of_two_parts_count_once_and_constants_not_at_all(rng):
    sample = block(rng)
    assert features(sample).shape == (5, 60)
    assert distinct_columns(sample).tolist() == [0, 2]


def test_columns_that_differ_in_signs_of_zeros_only_are_one(rng):
    zeros = np.array([[0.0, 1.0, 0.0, 2.0], [-0.0, 1.0, 0.0, 2.0], [0.0, 1.0, 3.0, 2.0]])
    sample = Block({"mean": zeros}, rng.normal(size=(1, 4)))
    assert distinct_columns(sample).tolist() == [0, 1, 3]


def test_rows_go_to_the_nearest_centre(rng):
    """Centres at different distances from the origin, as a product of vectors would not see."""
    rows = block(rng, 200)
    columns = np.array([0, 2])
    centres = np.array([[-5.0, 0.0], [5.0, 1.0], [0.5, 0.2], [20.0, 9.0]])
    points = features(rows)[columns].T
    distance = np.linalg.norm(points[:, None] - centres, axis=2)
    found = NearestCentre(columns, centres, 4).labels(rows)
    assert_array_equal(found, distance.argmin(axis=1))
    assert len(np.unique(found)) >= 3
